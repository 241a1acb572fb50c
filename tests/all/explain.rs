//! `tapster explain --html` through the command line: the page stands by itself, escapes what a card says, is the same
//! every time, and stays bounded for a long chat.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use serde_json::json;

use crate::support::tapster_with;

fn page(scene: &serde_json::Value) -> String {
    let (exit, out, err) = tapster_with(&["explain", "-", "--html", "-"], scene.to_string().as_bytes(), &|_| None);
    assert_eq!(exit, 0, "{err}");
    out
}

/// The parts of the page outside of its own style and script.
fn markup(page: &str) -> String {
    let (head, rest) = page.split_once("<style>").unwrap();
    let (_, rest) = rest.split_once("</style>").unwrap();
    let (body, rest) = rest.rsplit_once("<script>").unwrap();
    let (_, end) = rest.split_once("</script>").unwrap();
    [head, body, end].concat()
}

fn hostile() -> serde_json::Value {
    let bad = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u{202E}\u{0007}\u{200B}' onfocus='alert(1)\" {{char}}";
    json!({ "pack": "sillytavern-exact", "now": "2026-01-31T00:13:00Z", "persona": bad, "message": bad, "scene": {
        "names": { "char": "</title><b>" },
        "card": { "description": bad, "personality": bad },
        "history": [{ "role": "user", "text": bad }],
        "books": [{ "id": bad, "entries": [{ "id": bad, "keys": [bad], "text": bad, "name": bad }] }],
    } })
}

#[test]
fn a_hostile_card_is_shown_and_does_nothing() {
    let page = page(&hostile());
    let markup = markup(&page);
    for piece in ["<script", "<img", "<b>", "onerror=alert(1)>", "\u{202E}", "\u{0007}", "\u{200B}", "' onfocus"] {
        assert!(!markup.contains(piece), "`{}` stands in the page", piece.escape_debug());
    }
    assert!(markup.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
    assert!(markup.contains("⟨U+202E⟩⟨U+0007⟩⟨U+200B⟩&#39; onfocus=&#39;alert(1)&quot;"));
    assert_eq!(page.matches("<script>").count(), 1);
}

#[test]
fn the_page_refers_to_nothing_outside() {
    let page = page(&hostile());
    for piece in ["http://", "https://", "@import", "url(", "<link", "<iframe", "<object", "fetch(", "XMLHttpRequest", "innerHTML"] {
        assert!(!page.contains(piece), "{piece}");
    }
    assert!(page.contains("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-"));
    let links = page.split("href=\"").skip(1).filter(|rest| !rest.starts_with('#')).count();
    // the one `src=` is that of the card, which is escaped
    let sources = page.matches(" src=").count() - page.matches("&lt;img src=x").count();
    assert_eq!((links, sources, page.matches(" style=\"").count()), (0, 0, 0));
}

#[test]
fn the_page_has_its_parts_once_and_is_the_same_every_time() {
    let first = page(&hostile());
    assert_eq!(first, page(&hostile()));
    for piece in [
        "<main>",
        "<h1>",
        "<html lang=\"en\">",
        "id=\"budget\"",
        "id=\"blocks\"",
        "id=\"missing\"",
        "id=\"lore\"",
        "id=\"changes\"",
        "id=\"warnings\"",
    ] {
        assert_eq!(first.matches(piece).count(), 1, "{piece}");
    }
    assert!(first.contains("pinned/blocks (") && first.contains("slots.toml:"));
}

#[test]
fn a_chat_of_ten_thousand_messages_gives_a_bounded_page() {
    let history: Vec<_> = (0..10_000).map(|n| json!({ "role": "user", "text": format!("Message {n}.") })).collect();
    let page = page(&json!({ "pack": "base", "scene": { "context": { "window": 1_000_000 }, "history": history } }));
    assert!(page.len() < 6_000_000, "{} bytes", page.len());
    assert!(page.contains("Message 9999.") && page.contains("blocks are left out here"));
}

/// The part of a page with this id.
fn section<'p>(page: &'p str, id: &str) -> &'p str {
    page.split_once(&format!("id=\"{id}\">")).unwrap().1.split_once("</section>").unwrap().0
}

#[test]
fn the_page_names_its_inputs_and_lists_what_was_over_budget() {
    let long = "word ".repeat(60);
    let page = page(&json!({ "pack": "sillytavern-exact", "scene": {
        "context": { "window": 400, "reserve": 50 }, "lore": { "percent": 5 }, "provider": { "model": "gpt-4o" },
        "names": { "char": "Ines\u{202E}" }, "history": [{ "role": "user", "text": "A lamp." }],
        "books": [{ "id": "a", "role": "global", "entries": [
            { "id": "1", "name": "Lamp", "keys": ["lamp"], "position": "before", "text": long },
            { "id": "2", "keys": ["boat"], "position": "before", "text": "Wood." },
        ] }],
    } }));
    for piece in ["<dt>Scene</dt><dd>standard input</dd>", "<dt>Character</dt><dd>Ines\\u{202e}</dd>", "<dt>Model</dt><dd>gpt-4o</dd>"] {
        assert!(page.contains(piece), "{piece}");
    }
    let missing = section(&page, "missing");
    assert!(missing.contains("lore entry Lamp (1) of a") && !missing.contains("world_info_after") && !missing.contains("of list blocks"));
    let lore = section(&page, "lore");
    assert!(lore.contains("found <code>lamp</code> in chat") && lore.contains("needs ") && !lore.contains("{&quot;"));
    // what is copied is the payload, with escapes for what would not be seen
    let json = section(&page, "payload").split_once("<pre id=\"json\">").unwrap().1.split_once("</pre>").unwrap().0;
    assert!(json.contains("&quot;messages&quot;") && json.contains("Ines\\u202e"));
}

#[test]
fn a_dropped_prompt_is_missing_although_its_text_was_not_read_yet() {
    let page = page(&json!({ "pack": "sillytavern-exact", "scene": { "names": { "char": "Ines" }, "card": { "scenario": "A gale." },
        "preset": { "entries": [{ "name": "main_prompt" }, { "name": "scenario", "enabled": false }, { "name": "chat_history" }] },
        "history": [{ "role": "user", "text": "Hi." }],
    } }));
    assert!(section(&page, "missing").contains("scenario of list slots"), "{}", section(&page, "missing"));
}

#[test]
fn a_small_share_is_not_nothing() {
    let page =
        page(&json!({ "pack": "base", "scene": { "context": { "window": 1_000_000 }, "history": [{ "role": "user", "text": "Hi." }] } }));
    assert!(section(&page, "budget").contains("&lt; 1 %") && !section(&page, "budget").contains(">0 %"));
}

#[test]
fn lore_that_is_sent_is_painted_as_sent() {
    let page = page(&json!({ "pack": "risuai-exact", "scene": { "history": [{ "role": "user", "text": "A lamp." }], "books": [
        { "id": "a", "role": "character", "entries": [{ "id": "1", "keys": ["lamp"], "text": "Whale fat." }] },
    ] } }));
    assert!(section(&page, "lore").contains("data-row=\"sent\"") && section(&page, "lore").contains("class=\"good\">active, <a href=\"#b"));
}
