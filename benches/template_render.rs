//! What a slot/layout template costs over a long history: thirty slots, each a loop over all turns, newest first, under
//! a ceiling of 400 tokens, and 8,000 for all. Rendering may not cost what printing all turns costs.

#![expect(clippy::panic, reason = "a bench that panics has failed; the table is for people")]
#![allow(missing_docs, reason = "criterion's macros make public items")]

mod rivals;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::json;
use tapster::Value;
use tapster::machinery::pack::RuleFile;
use tapster::template::{
    Budget, Inputs, QuarterRuler, RenderLimits, RenderedTemplate, SourceProvider, SourceValue, Template, TemplateContract, render,
};

/// Numbers of turns, and what the program that the contract comes from was recorded to take for them, in milliseconds.
const TURNS: [(usize, Option<f64>); 3] = [(1_000, Some(77.0)), (10_000, Some(790.0)), (100_000, None)];

fn template() -> Template {
    let slot = |n: usize| {
        let loops = json!({
            "kind": "forEach", "source": { "source": "turns", "args": { "order": "desc" } }, "fillDir": "prepend",
            "budget": { "maxTokens": 400 },
            "map": [{ "kind": "message", "role": "user", "content": "[{{item.turnNo}}] {{item.authorName}}: {{item.content}}" }],
        });
        (format!("history_{n}"), json!({ "priority": n, "plan": [loops] }))
    };
    let slots: serde_json::Map<_, _> = (0..30).map(slot).collect();
    let layout: Vec<_> = (0..30).map(|n| json!({ "kind": "slot", "name": format!("history_{n}") })).collect();
    let text = json!({ "id": "bench", "task": "bench", "name": "bench", "version": 1, "layout": layout, "slots": slots }).to_string();
    let file = RuleFile { name: "bench.json".to_owned(), path_in_pack: "bench.json".to_owned(), bytes: text.into_bytes() };
    match tapster::open_template(&file, &TemplateContract::default()) {
        Ok(opened) => opened.template,
        Err(rejected) => panic!("{:?}", rejected.report.items()),
    }
}

/// Turns of 20 to 100 words, by a fixed sequence.
fn turns(count: usize) -> Value {
    const WORDS: [&str; 12] = ["the", "lantern", "turns", "slowly", "over", "a", "grey", "harbour", "while", "Marit", "counts", "ships"];
    let mut state = 7_u64;
    let mut next = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let turn = |n: usize| {
        let words: Vec<&str> = (0..20 + next(81)).filter_map(|_| WORDS.get(usize::try_from(next(12)).unwrap_or(0)).copied()).collect();
        json!({ "turnNo": n + 1, "authorName": if n.is_multiple_of(2) { "Marit" } else { "Odd" }, "content": words.join(" ") })
    };
    let mut turns: Vec<_> = (0..count).map(turn).collect();
    Value::from(&serde_json::Value::from(std::mem::take(&mut turns)))
}

struct Turns(Value);

impl SourceProvider for Turns {
    fn resolve(&self, name: &str, args: Option<&Value>) -> Result<Option<Value>, String> {
        Ok(self.see(name, args)?.map(|seen| seen.to_value()))
    }

    fn see(&self, name: &str, args: Option<&Value>) -> Result<Option<SourceValue>, String> {
        let newest_first = args.and_then(|args| args.get("order")?.as_str()) == Some("desc");
        let turns = (name == "turns").then(|| SourceValue::from(self.0.clone()));
        Ok(turns.map(|turns| if newest_first { turns.reversed() } else { turns }))
    }
}

fn rendered(template: &Template, turns: &Turns) -> RenderedTemplate {
    let (context, ruler) = (Value::map(Default::default()), QuarterRuler);
    let inputs = Inputs { context: &context, sources: turns, ruler: &ruler, lanes: &[], requests: &[], limits: RenderLimits::default() };
    render(template, &inputs, &mut Budget::new(Some(8_000))).unwrap_or_else(|e| panic!("{e}"))
}

fn template_render(c: &mut Criterion) {
    let template = template();
    let histories = TURNS.map(|(count, recorded)| (count, recorded, Turns(turns(count))));
    let mut group = c.benchmark_group("template_render");
    for (count, _, turns) in &histories {
        group.bench_function(format!("{count}"), |b| b.iter(|| black_box(rendered(&template, turns))));
    }
    group.finish();

    let times = histories.each_ref().map(|(_, _, turns)| rivals::least_time(200, || _ = black_box(rendered(&template, turns))));
    let first = times.first().copied().unwrap_or_default();
    let mut rows = vec![
        "| turns | processor time | of the first line | the renderer of the contract took |".to_owned(),
        "| --- | --- | --- | --- |".to_owned(),
    ];
    for ((count, recorded, _), time) in histories.iter().zip(times) {
        let recorded = recorded.map_or_else(|| "not recorded".to_owned(), |ms| format!("{:.0} ×", ms / (time.as_secs_f64() * 1e3)));
        let of_first = rivals::ratio(time, first);
        rows.push(format!("| {} | {} | {of_first:.2} × | {recorded} |", rivals::thousands(*count), rivals::format_time(time)));
    }
    rivals::report("template_render", &rows);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    targets = template_render
}
criterion_main!(benches);
