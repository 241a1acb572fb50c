//! Events of streams, however their bytes are cut.

use proptest::prelude::*;
use tapster_client::sse::{EventTooLong, Splitter, SseEvent};

fn split(parts: &[&[u8]], most: usize) -> Result<Vec<SseEvent>, EventTooLong> {
    let (mut splitter, mut events) = (Splitter::new(most), Vec::new());
    for part in parts {
        splitter.push(part, &mut events)?;
    }
    splitter.end(&mut events);
    Ok(events)
}

fn event(name: &str, data: &str) -> SseEvent {
    SseEvent { name: name.to_owned(), data: data.to_owned() }
}

/// A stream with everything that the standard allows.
const STREAM: &str = "\u{feff}: a comment\r\ndata: one\r\n\r\nevent: more\rdata:two\rdata:  three\r\rdata\n\nid: 7\nretry: 10\n\nevent: lost\n\ndata: Grüße – \u{1f980}\n\ndata: [DONE]\n\n";

fn expected() -> Vec<SseEvent> {
    vec![event("", "one"), event("more", "two\n three"), event("", ""), event("", "Grüße – 🦀"), event("", "[DONE]")]
}

#[test]
fn line_ends_comments_and_several_lines_of_data() {
    assert_eq!(split(&[STREAM.as_bytes()], 100), Ok(expected()));
}

#[test]
fn cut_at_every_byte() {
    let bytes = STREAM.as_bytes();
    for at in 0..=bytes.len() {
        let (a, b) = bytes.split_at(at);
        assert_eq!(split(&[a, b], 100), Ok(expected()), "cut at {at}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(split(&single, 100), Ok(expected()));
}

#[test]
fn an_event_without_its_empty_line_is_given_at_the_end() {
    assert_eq!(split(&[b"data: a\n\ndata: b"], 100), Ok(vec![event("", "a"), event("", "b")]));
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    assert_eq!(split(&[b"data: a\xffb\n\n"], 100), Ok(vec![event("", "a\u{fffd}b")]));
}

#[test]
fn events_that_are_too_long_are_refused() {
    let line = format!("data: {}\n\n", "x".repeat(90));
    assert!(split(&[line.as_bytes()], 100).is_ok());
    assert_eq!(split(&[line.as_bytes()], 90), Err(EventTooLong));
    // also without any line end, and as many short lines of one event
    assert_eq!(split(&[&[b'x'; 200]], 100), Err(EventTooLong));
    assert_eq!(split(&[b"data: 12345\n".repeat(30).as_slice()], 100), Err(EventTooLong));
    // many events are no long event
    assert!(split(&[b"data: 12345\n\n".repeat(30).as_slice()], 100).is_ok());
}

proptest! {
    #[test]
    fn any_bytes_in_any_parts_give_the_same_events(bytes in prop::collection::vec(prop_oneof![
        Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(b'd'), Just(b'a'), Just(b't'), any::<u8>()
    ], 0..200), cuts in prop::collection::vec(0usize..200, 0..5)) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut parts: Vec<&[u8]> = Vec::new();
        let mut from = 0;
        for cut in cuts { parts.push(&bytes[from..cut]); from = cut; }
        parts.push(&bytes[from..]);
        prop_assert_eq!(split(&parts, 10_000), split(&[&bytes], 10_000));
    }
}
