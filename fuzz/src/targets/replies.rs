//! Replies of providers: whole ones and streams, in every dialect of `base`.

use std::sync::{Arc, LazyLock};

use tapster::machinery::reading::{JsonTree, ReplyAssembler, ReplyReading};
use tapster_client::sse::Splitter;

use super::{Verdict, shipped};

static READINGS: LazyLock<Vec<Arc<ReplyReading>>> = LazyLock::new(|| {
    let rules = shipped("base");
    let readings = rules.readings();
    readings.dialects().filter_map(|dialect| readings.get(dialect).cloned()).collect()
});

pub(super) fn reply(input: &[u8]) -> Verdict {
    let mut anything = false;
    let mut splitter = Splitter::new(4 << 20);
    let mut events = Vec::new();
    let mut cut = input.chunks(7).all(|part| splitter.push(part, &mut events).is_ok());
    splitter.end(&mut events);
    for reading in READINGS.iter() {
        if let Ok(tree) = JsonTree::parse(input) {
            let mut whole = ReplyAssembler::new(reading);
            whole.whole(&tree);
            anything |= whole.has_anything();
            let _ = (whole.refused(), whole.finish());
        }
        let mut streamed = ReplyAssembler::new(reading);
        for event in &events {
            if streamed.is_end(&event.data) {
                break;
            }
            if let Ok(tree) = JsonTree::parse(event.data.as_bytes()) {
                streamed.event(&event.name, &tree, &mut |_| {});
            }
            cut &= !streamed.is_over();
        }
        anything |= streamed.has_anything();
        let _ = streamed.finish();
    }
    Ok(anything && cut)
}
