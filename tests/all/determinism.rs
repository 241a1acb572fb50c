//! The same rules and the same scene give the same bytes: in any process, folder, language, time zone and thread. What
//! differs from run to run (the seeds of hash tables, addresses, the order of threads) must not show.

#![expect(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test that panics has failed")]

use std::process::Command;

use serde_json::{Value as Json, json};
use tapster::{BuildError, Ruleset, Scene, Value, WorkLimits, fingerprint};
use tapster_fuzz::seeds;

use crate::support::tapster_with;

/// Asks a child for its digest.
const CHILD: &str = "TAPSTER_DETERMINISM_CHILD";

/// Scenes with all that they need in their folders.
const EXAMPLES: &[&str] = &["hello", "hybrid", "cache-friendly", "storyforge", "new-provider", "template-in-pack"];

/// The digest of what is printed for all examples (payloads, warnings, exit codes), and of the strange scenes.
fn digest() -> String {
    let mut all = said();
    for example in EXAMPLES {
        let folder = seeds::root().join("examples").join(example).display().to_string();
        let args = ["build", &folder, "--error-format", "plain"];
        let (exit, out, err) = tapster_with(&args, b"", &|name| std::env::var_os(name));
        all.push(format!("{example} {exit}\n{out}\n{err}"));
    }
    fingerprint(&Value::text(all.join("\n")))
}

/// Prints the digest for the test below, which runs this test in processes of its own.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_some() {
        println!("digest {}", digest());
    }
}

#[test]
fn every_process_and_thread_says_the_same() {
    let expected = digest();
    let program = std::env::current_exe().unwrap();
    // the addresses of the environment differ with its length
    for (zone, language, folder, padding) in
        [("Asia/Kathmandu", "tr_TR.UTF-8", "/", 0), ("America/St_Johns", "ja_JP.eucJP", "/tmp", 1_234), (":/nonsense", "", ".", 2_999)]
    {
        let mut child = Command::new(&program);
        child.args(["--exact", "determinism::child", "--nocapture"]).env(CHILD, "1").current_dir(folder);
        child.env("HOME", folder).env("TZ", zone).env("LANG", language).env("LC_ALL", language).env("PADDING", "x".repeat(padding));
        let ran = child.output().unwrap();
        let out = String::from_utf8_lossy(&ran.stdout);
        assert!(out.contains(&format!("digest {expected}")), "{zone} {folder}: {out}{}", String::from_utf8_lossy(&ran.stderr));
    }
    for count in 1..4 {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..count).map(|_| scope.spawn(digest)).collect();
            threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), expected));
        });
    }
}

/// The strange scenes do what they are for: draws are made, lore is found, and each bound is reached and named.
#[test]
fn strange_scenes_draw_and_reach_bounds() {
    let said = said();
    let one = |name: &str| said.iter().find(|said| said.starts_with(&format!("{name} "))).unwrap_or_else(|| panic!("{name}: {said:?}"));
    assert!(!one("chance").contains("{{"), "{}", one("chance"));
    assert!(one("lore").matches("word").count() > 20, "{}", one("lore"));
    assert!(one("doubling").contains("stay as written"), "{}", one("doubling"));
    assert!(one("script").contains("takes too many steps"), "{}", one("script"));
    assert!(one("group").contains("mention"), "{}", one("group"));
    for name in ["steps", "bytes"] {
        assert!(one(name).contains("bound.exceeded") && one(name).contains("it ended in rule"), "{}", one(name));
    }
}

// Scenes in which chance, the order of hash tables or a bound would show, if a build depended on anything but its scene.

/// Elements of a large list: hash tables of so many have an order of their own in each process.
const MANY: usize = 300;

/// What every one of them says: its prompt with patch and warnings, or its error.
fn said() -> Vec<String> {
    let rules = match Ruleset::open_with("sillytavern", &[("strangers.toml", &overlay())]) {
        Ok(rules) => rules,
        Err(rejected) => return vec![rejected.to_string()],
    };
    let prompt = |name: &str, data: &Json, work: WorkLimits| {
        let scene = scene(data, work);
        let said = tapster::prompt(&rules, &scene).map(|prompt| serde_json::to_string(&prompt).unwrap_or_else(|e| e.to_string()));
        told(name, said)
    };
    let most = WorkLimits::default();
    let few = |steps: u64, bytes: u64| WorkLimits { steps, bytes };
    vec![
        prompt("chance", &chance(), most),
        prompt("lore", &lore(), most),
        prompt("names", &names(), most),
        prompt("doubling", &with(json!([{ "role": "user", "text": "{{d0}}" }])), most),
        prompt("steps", &lore(), few(20_000, most.bytes)),
        prompt("bytes", &lore(), few(most.steps, 20_000)),
        prompt("script", &with(json!([{ "role": "user", "text": "{{endless}} {{endless}}" }])), most),
        told("group", group(&rules)),
    ]
}

fn scene(data: &Json, work: WorkLimits) -> Scene {
    let mut scene = Scene::new(data);
    scene.seed = "17".to_owned();
    scene.work = work;
    scene
}

fn told(name: &str, said: Result<String, BuildError>) -> String {
    let said = said.unwrap_or_else(|error| format!("{} {}", error.to_json(), error.message));
    format!("{name} {said}")
}

/// Macros that double, and one that never ends.
fn overlay() -> String {
    let doubling = |n: usize| format!("[[macro]]\nname = \"d{n}\"\ntext = \"{{{{d{0}}}}}{{{{d{0}}}}}\"\nexpand = {{}}\n", n + 1);
    let rows: String = (0..30).map(doubling).collect();
    format!(
        "kind = \"overlay\"\nversion = 1\n[rhai]\n\"strangers.rhai\" = \"fn endless(args, scene) {{ loop {{ }} }}\"\n{rows}\
         [[macro]]\nname = \"d30\"\ntext = \"x\"\n[[macro]]\nname = \"endless\"\nscript = \"strangers.rhai::endless\"\n"
    )
}

fn with(history: Json) -> Json {
    json!({
        "type": "normal",
        "names": { "user": "Ann", "char": "Vex" },
        "card": { "name": "Vex", "description": "{{char}} is a thief." },
        "context": { "window": 8_000, "reserve": 500, "tokenizer": "words" },
        "history": history,
    })
}

/// Draws of every kind in every message.
fn chance() -> Json {
    let text = |n: usize| format!("{{{{random::a{n}::b{n}::c{n}}}}} {{{{roll::d20}}}} {{{{pick::x{n}::y{n}}}}} {{{{setvar::v{n}::{n}}}}}");
    let message = |n: usize| json!({ "role": if n.is_multiple_of(2) { "user" } else { "assistant" }, "text": text(n) });
    with((0..MANY).map(message).collect())
}

/// Entries that are drawn for, in groups of which one is drawn, that call each other.
fn lore() -> Json {
    let entry = |n: usize| {
        let group = if n.is_multiple_of(3) { String::new() } else { format!("g{}", n % 20) };
        json!({
            "id": format!("e{n}"), "keys": [format!("word{}", n % 40), format!("/W{n}[aeiou]/i")], "probability": 30 + n % 70,
            "group": group, "weight": 1 + n % 9, "order": n % 7, "text": format!("word{} {{{{random::p::q}}}}", n + 1),
        })
    };
    let words: Vec<String> = (0..40).step_by(3).map(|n| format!("word{n}")).collect();
    let mut scene = with(json!([{ "role": "user", "text": words.join(" ") }]));
    scene["books"] = json!([{ "id": "b", "entries": (0..MANY).map(entry).collect::<Vec<_>>() }]);
    scene["lore"] = json!({ "recursion": true });
    scene
}

/// Many variables, and many names that nobody knows, which are told.
fn names() -> Json {
    let mut scene = with(json!([{ "role": "user", "text": "{{getvar::v7}} {{getvar::v70}}" }]));
    let all = |name: &str| (0..MANY).map(|n| (format!("{name}{}", n * 7919 % MANY), json!(n))).collect::<serde_json::Map<_, _>>();
    scene["vars"] = json!({ "local": all("v"), "global": all("w") });
    scene["card"]["extensions"] = Json::Object(all("x"));
    scene["contex"] = Json::Object(all("y"));
    scene
}

/// Members who speak as chance has it.
fn group(rules: &Ruleset) -> Result<String, BuildError> {
    let members: Vec<Json> =
        (0..30).map(|n| json!({ "id": format!("m{n}"), "name": format!("Member{n}"), "talkativeness": 0.5 })).collect();
    let data = json!({ "type": "normal", "group": { "strategy": "natural" }, "turn": { "activation_text": "Member3? Member7!" } });
    let out = tapster::run(rules, "decide", &scene(&data, WorkLimits::default()), &[("members", json!(members))])?;
    let warnings: Vec<String> = out.warnings().iter().map(ToString::to_string).collect();
    Ok(format!("{:?} {warnings:?}", out.list("chosen").iter().map(|item| item.to_json().to_string()).collect::<Vec<_>>()))
}

/// What a ruleset remembers of earlier scans changes no outcome: after any change of the chat or of the entries, a build
/// with a used ruleset gives what a build with a fresh one gives.
mod lore_memory {
    use serde_json::{Value as Json, json};
    use tapster::{Ruleset, Scene, run};

    const PACKS: &[&str] = &["sillytavern", "sillytavern-exact", "risuai"];

    fn open(pack: &str) -> Ruleset {
        Ruleset::open(pack, &[]).unwrap_or_else(|e| panic!("{e}"))
    }

    /// A chat and a book in which keys are found in several ways, and some not at all.
    fn scene() -> Json {
        let history: Vec<Json> = (0..60)
        .map(|n| json!({ "role": if n % 2 == 0 { "user" } else { "assistant" }, "name": "Ann", "text": format!("Message {n} of place{n:02}.") }))
        .collect();
        let mut entries: Vec<Json> = (0..40)
        .map(|n| json!({ "id": format!("e{n}"), "keys": [format!("place{:02}", n * 2), "no such key"], "text": format!("Lore {n}, near hill{n:02}.") }))
        .collect();
        entries.push(json!({ "id": "hill", "keys": ["HILL07"], "text": "A hill." }));
        entries.push(json!({ "id": "case", "keys": ["HILL08"], "case": true, "text": "Never found." }));
        entries.push(json!({ "id": "pattern", "keys": ["/place4\\d/"], "text": "A pattern." }));
        entries.push(json!({ "id": "bad", "keys": ["/(/"], "text": "A bad pattern." }));
        entries.push(json!({ "id": "near", "keys": ["place58"], "scan_depth": 1, "text": "In the newest message only." }));
        entries.push(json!({ "id": "macro", "keys": ["{{user}}"], "text": "A key with a macro." }));
        // a book of few entries is not remembered
        entries.extend((0..40).map(|n| json!({ "id": format!("f{n}"), "keys": [format!("far place {n}")], "text": "Far." })));
        json!({
            "type": "normal",
            "names": { "user": "Ann", "char": "Vex" },
            "card": { "name": "Vex", "description": "A thief." },
            "context": { "window": 32_000, "reserve": 500, "tokenizer": "words" },
            "lore": { "names": true, "depth": 100, "recursion": true },
            "books": [{ "id": "b", "role": "character", "entries": entries }],
            "speaker": { "file": "vex", "tags": [] },
            "chat": { "length": history.len() },
            "history": history,
        })
    }

    /// Everything that a scan says: what is active, why, and its warnings.
    fn said(rules: &Ruleset, scene: &Json) -> String {
        let mut scene = Scene::new(scene);
        scene.trace = true;
        let outcome = run(rules, "lore", &scene, &[]).unwrap_or_else(|e| panic!("{e}"));
        format!("{:#?}\n{:#?}\n{:#?}", outcome.get("lore.active"), outcome.reasons(), outcome.warnings())
    }

    /// What changes, and how.
    type Edit = (&'static str, fn(&mut Json));

    #[test]
    fn a_used_ruleset_says_what_a_fresh_one_says() {
        let edits: &[Edit] = &[
            ("nothing", |_| ()),
            ("one message more", |s| {
                if let Some(history) = s["history"].as_array_mut() {
                    history.push(json!({ "role": "user", "name": "Ann", "text": "At place02 again, and hill03." }));
                }
            }),
            ("an edited message", |s| s["history"][58]["text"] = "Nowhere.".into()),
            ("an older message gone", |s| {
                if let Some(history) = s["history"].as_array_mut() {
                    history.remove(10);
                }
            }),
            ("an edited key", |s| s["books"][0]["entries"][3]["keys"][0] = "place59".into()),
            ("an edited text", |s| s["books"][0]["entries"][3]["text"] = "Lore 3, near HILL07.".into()),
            ("a number that prints alike", |s| s["books"][0]["entries"][3]["order"] = json!(100.0)),
            ("a book of another name", |s| s["books"][0]["id"] = "c".into()),
            ("a book from elsewhere", |s| s["books"][0]["role"] = "global".into()),
            ("what entries have when they do not say", |s| s["entry"] = json!({ "constant": true, "order": 7 })),
            ("a key that counts case", |s| s["books"][0]["entries"][40]["case"] = true.into()),
            ("whole words or not", |s| s["lore"]["whole_words"] = false.into()),
            ("keys in another order", |s| {
                if let Some(entries) = s["books"][0]["entries"].as_array_mut() {
                    entries.reverse();
                }
            }),
            ("another name", |s| s["names"]["user"] = "place13".into()),
            ("fewer messages searched", |s| s["lore"]["depth"] = 5.into()),
        ];
        for pack in PACKS {
            let used = open(pack);
            let first = said(&used, &scene());
            for (name, edit) in edits {
                let mut changed = scene();
                edit(&mut changed);
                let fresh = said(&open(pack), &changed);
                assert_eq!(said(&used, &changed), fresh, "{pack}: {name}");
                assert_eq!(said(&used, &changed), fresh, "{pack}: {name}, again");
            }
            assert_eq!(said(&used, &scene()), first, "{pack}: as it was");
        }
    }

    #[test]
    fn edits_are_seen() {
        let rules = open("sillytavern-exact");
        let mut changed = scene();
        let before = said(&rules, &changed);
        changed["books"][0]["entries"][3]["keys"][0] = "no such place".into();
        assert_ne!(said(&rules, &changed), before);
        let mut changed = scene();
        changed["history"][58]["text"] = "Nowhere.".into();
        assert_ne!(said(&rules, &changed), before);
    }

    #[test]
    fn builds_at_the_same_time_share_what_they_remember() {
        let rules = open("sillytavern-exact");
        let fresh = said(&open("sillytavern-exact"), &scene());
        std::thread::scope(|threads| {
            let all: Vec<_> = (0..4).map(|_| threads.spawn(|| said(&rules, &scene()))).collect();
            for one in all {
                assert_eq!(one.join().unwrap_or_else(|_| panic!("a build stopped")), fresh);
            }
        });
    }
}

/// A session of builds gives what single builds give, whatever changes between them.
mod build_session {
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};
    use tapster::machinery::text::work::BudgetScope;
    use tapster::{BuildError, BuildSession, Prompt, Ruleset, Scene, WorkLimits};

    const PACKS: &[&str] = &["sillytavern", "sillytavern-exact", "risuai", "risuai-exact"];

    /// A message that names some places.
    fn message(n: u16) -> Json {
        json!({ "role": if n.is_multiple_of(3) { "user" } else { "assistant" }, "name": if n.is_multiple_of(2) { "Ann" } else { "Vex" },
                "text": format!("From place{:02} to hill{:02}.", n % 50, n / 50 % 50) })
    }

    /// An entry that leads to others in several ways.
    fn entry(n: u16) -> Json {
        let keys = match n % 8 {
            0 => json!([format!("place{:02}", n % 50), format!("hill{:02}", n / 8 % 50)]),
            1 => json!([format!("HILL{:02}", n / 8 % 50)]),
            2 => json!([format!("/place{}\\d/", n / 8 % 5)]),
            3 => json!(["{{user}}", format!("to hill{:02}", n / 8 % 50)]),
            4 => json!(format!("place{:02}", n / 8 % 50)),
            5 => json!(["/(/", "", format!("place{:02}", n % 50)]),
            6 => json!(["no such place"]),
            _ => json!([format!("hill{:02}", n % 50), format!("hill{:02}", n % 50)]),
        };
        json!({ "id": format!("e{n}"), "keys": keys, "text": format!("Lore {n}, near hill{:02}.", n / 3 % 50), "order": n % 7 })
    }

    /// A chat and a book that are long enough to be remembered.
    fn scene() -> Json {
        json!({
            "type": "normal",
            "names": { "user": "Ann", "char": "Vex" },
            "card": { "name": "Vex", "description": "A thief." },
            "context": { "window": 2_000, "reserve": 100, "tokenizer": "words" },
            "lore": { "names": true, "depth": 100, "recursion": true },
            "books": [{ "id": "b", "role": "character", "entries": (0..60).map(entry).collect::<Vec<_>>() }],
            "speaker": { "file": "vex", "tags": [] },
            "chat": { "length": 50 },
            "history": (0..50).map(|n| message(n * 37)).collect::<Vec<_>>(),
        })
    }

    /// One change: what it is, and two numbers that say where and to what.
    type Edit = (u8, u16, u16);

    fn change(scene: &mut Json, (what, at, to): Edit) {
        let at = usize::from(at);
        let entries = (6..16).contains(&what);
        let list = if entries { &mut scene["books"][0]["entries"] } else { &mut scene["history"] };
        let Some(list) = list.as_array_mut().filter(|list| !list.is_empty()) else { return };
        let count = list.len();
        match what {
            0 | 1 => list.push(message(to)),
            2 => list[at % count] = message(to),
            3 | 6 => _ = list.remove(at % count),
            4 | 7 => list.swap(at % count, usize::from(to) % count),
            5 => list.insert(at % count, message(to)),
            8 => list.insert(at % count, entry(to)),
            9 => list[at % count]["keys"] = entry(to)["keys"].take(),
            10 => list[at % count]["enabled"] = (to % 2 == 0).into(),
            11 => list[at % count]["secondary_keys"] = entry(to)["keys"].take(),
            12 => list[at % count]["selective"] = (to % 2 == 0).into(),
            13 => list[at % count]["case"] = (to % 2 == 0).into(),
            14 => list[at % count]["text"] = format!("Now near place{:02}.", to % 50).into(),
            15 => list[at % count]["constant"] = (to % 2 == 0).into(),
            16 => scene["lore"]["depth"] = (to % 80).into(),
            17 => scene["lore"]["whole_words"] = (to % 2 == 0).into(),
            18 => scene["lore"]["names"] = (to % 2 == 0).into(),
            19 => scene["lore"]["recursion"] = (to % 2 == 0).into(),
            20 => scene["names"]["user"] = format!("place{:02}", to % 50).into(),
            21 => scene["state"] = json!({ "timed": [{ "id": format!("b.e{}", to % 60), "effect": "sticky", "start": 1, "end": 60 }] }),
            22 => scene["context"]["window"] = (200 + to % 3_000).into(),
            _ => scene["type"] = ["normal", "quiet", "continue"][usize::from(to) % 3].into(),
        }
        let length = scene["history"].as_array().map_or(0, Vec::len);
        scene["chat"]["length"] = length.into();
    }

    /// All that a build gives, and its work: steps and bytes.
    fn measured(build: impl FnOnce() -> Result<Prompt, BuildError>) -> (Result<String, String>, (u64, u64)) {
        let door = BudgetScope::join();
        let built = match build() {
            Ok(prompt) => Ok(serde_json::to_string(&prompt).unwrap()),
            Err(error) => Err(format!("{} {}", error.to_json(), error.message)),
        };
        (built, door.spent())
    }

    /// What a build may take: everything, or so little that many end on the way.
    fn work(steps: Option<u64>) -> WorkLimits {
        let most = WorkLimits::default();
        WorkLimits { steps: steps.unwrap_or(most.steps), ..most }
    }

    fn turn() -> impl Strategy<Value = (Vec<Edit>, bool, Option<u64>)> {
        let edit = (0_u8..24, any::<u16>(), any::<u16>());
        (prop::collection::vec(edit, 0..4), prop::bool::weighted(0.3), prop::option::weighted(0.3, 10_000_u64..300_000))
    }

    proptest! {
        // `PROPTEST_CASES=100000 cargo test --release --test all determinism::` tries more
        #![proptest_config(ProptestConfig { cases: std::env::var("PROPTEST_CASES").map_or(250, |n| n.parse().unwrap()), ..ProptestConfig::default() })]

        #[test]
        fn every_turn_is_what_a_single_build_gives(pack in 0..PACKS.len(), turns in prop::collection::vec(turn(), 1..6)) {
            static RULES: std::sync::LazyLock<Vec<Ruleset>> =
                std::sync::LazyLock::new(|| PACKS.iter().map(|pack| Ruleset::open(pack, &[]).unwrap()).collect());
            let rules = &RULES[pack];
            let session = BuildSession::new(rules.clone());
            let mut data = scene();
            let first = Scene::new(&data);
            prop_assert_eq!(measured(|| session.prompt(&first)), measured(|| tapster::prompt(rules, &first)));
            for (edits, trace, steps) in turns {
                for edit in edits {
                    change(&mut data, edit);
                }
                let scene = Scene { trace, work: work(steps), ..Scene::new(&data) };
                prop_assert_eq!(measured(|| session.prompt(&scene)), measured(|| tapster::prompt(rules, &scene)));
            }
        }
    }

    #[test]
    fn builds_at_the_same_time_give_what_single_builds_give() {
        let session = BuildSession::new(Ruleset::open("sillytavern-exact", &[]).unwrap());
        let single = measured(|| tapster::prompt(session.rules(), &Scene::new(&scene())));
        std::thread::scope(|threads| {
            let build = || (0..3).for_each(|_| assert_eq!(measured(|| session.prompt(&Scene::new(&scene()))), single));
            (0..4).for_each(|_| _ = threads.spawn(build));
        });
    }

    /// The first build with a ruleset takes the same work as every later one, alone or in a session.
    #[test]
    fn what_is_known_is_paid() {
        for pack in PACKS {
            let session = BuildSession::new(Ruleset::open(pack, &[]).unwrap());
            let first = measured(|| tapster::prompt(session.rules(), &Scene::new(&scene())));
            assert_eq!(measured(|| tapster::prompt(session.rules(), &Scene::new(&scene()))), first, "{pack}");
            for _ in 0..2 {
                assert_eq!(measured(|| session.prompt(&Scene::new(&scene()))), first, "{pack}");
            }
        }
    }
}

// What a build does with its whole input: a seed counts wherever it is written, and a report names every account.

const SHUFFLED: &str = r#"
kind = "overlay"
version = 1
name = "shuffled"
[[path]]
name = "shuffled"
type = "list"
[[program]]
name = "shuffled"
over = "blocks"
[[pass]]
name = "shuffled/all"
do = "set"
set = { "$shuffled" = { of = { fn = "split", of = "abcdefghijklmnop", sep = "" }, draw = "shuffle", take = 5, get = "@" } }
"#;

fn shuffled(seed: &str, data: &Json) -> Json {
    let rules = Ruleset::open_with("base", &[("shuffled.toml", SHUFFLED)]).unwrap();
    let scene = Scene { seed: seed.to_owned(), ..Scene::new(data) };
    tapster::run(&rules, "shuffled", &scene, &[]).unwrap().get("shuffled").to_json()
}

#[test]
fn a_seed_in_the_data_of_a_scene_decides_draws() {
    let of_scene = shuffled("x", &json!({}));
    assert_eq!(shuffled("", &json!({ "seed": "x" })), of_scene);
    assert_eq!(shuffled("", &json!({ "seed": 7 })), shuffled("7", &json!({})));
    assert_ne!(shuffled("", &json!({ "seed": "y" })), of_scene);
}

const TWICE: &str = r#"
kind = "overlay"
version = 1
name = "twice"
[[account]]
name = "short"
size = 6
ruler = "chat_message"
[[pass]]
name = "group_order/short"
before = "history"
do = "evict"
account = "short"
where = { group = "history" }
"#;

#[test]
fn a_trim_report_names_every_account() {
    let scene = Scene::new(&json!({ "context": { "window": 12, "tokenizer": "words" } }));
    let blocks = json!([
        { "id": "1", "role": "user", "group": "history", "text": "one two three" },
        { "id": "2", "role": "user", "group": "history", "text": "four five six" },
        { "id": "3", "role": "user", "group": "history", "text": "seven" },
    ]);
    let report = |overlays: &[(&str, &str)]| {
        let rules = Ruleset::open_with("base", overlays).unwrap();
        let outcome = tapster::run(&rules, "group_order", &scene, &[("blocks", blocks.clone())]).unwrap();
        json!(outcome.trim_report("blocks").unwrap().unwrap())
    };
    assert!(report(&[]).get("accounts").is_none(), "one account is the account of the report");
    let both = report(&[("twice.toml", TWICE)]);
    let accounts: Vec<&str> = both["accounts"].as_array().unwrap().iter().map(|a| a["account"].as_str().unwrap()).collect();
    assert_eq!(accounts, ["short", "prompt"]);
    assert_eq!(both["accounts"][0]["budget_tokens"], 6);
}

const SHORTER: &str = r#"
kind = "overlay"
version = 2
[[cost_model]]
name = "words"
estimator = "words"
[[budget]]
name = "words"
size = 5
cost_model = "words"
[[program]]
name = "shorter"
over = "blocks"
[[pass]]
name = "shorter/evict"
do = "evict"
budget = "words"
shorter = "@meta.brief"
cut = "word"
"#;

#[test]
fn a_trim_report_says_what_was_made_shorter() {
    let rules = Ruleset::open_with("base", &[("shorter.toml", SHORTER)]).unwrap();
    let blocks = json!([
        { "id": "1", "group": "lore", "text": "one two three four", "meta": { "brief": "one" } },
        { "id": "2", "text": "five six seven" },
        { "id": "3", "text": "eight nine ten" },
    ]);
    let outcome = tapster::run(&rules, "shorter", &Scene::new(&json!({})), &[("blocks", blocks)]).unwrap();
    let report = json!(outcome.trim_report("blocks").unwrap().unwrap());
    let shortened = json!([
        { "id": "1", "tokens": 4, "tokens_after": 1, "group": "lore", "pass": "shorter/evict" },
        { "id": "2", "tokens": 3, "tokens_after": 2, "group": "", "pass": "shorter/evict" },
    ]);
    assert_eq!(report["shortened"], shortened);
    assert_eq!((&report["records"][0]["id"], &report["records"][0]["tokens"]), (&json!("1"), &json!(1)));
    assert_eq!((&report["initial_tokens"], &report["final_tokens"]), (&json!(10), &json!(5)));
}

/// What a pass over items of a table `notes` says: its warnings, or the error with which it ends.
fn passed(pass: &str, notes: &[Json]) -> Result<Vec<String>, BuildError> {
    // an order reads all of a list
    passed_after("[[pass]]\nname = \"notes/read\"\ndo = \"order\"\nby = [\"price\"]\n", pass, notes)
}

/// The same after another pass.
fn passed_after(before: &str, pass: &str, notes: &[Json]) -> Result<Vec<String>, BuildError> {
    let list = "[[list]]\nname = \"notes\"\nfrom = \"notes\"\nrows = [\"note\"]\n[[path]]\nname = \"notes\"\ntype = \"list\"\n";
    let path = "[[path]]\nname = \"known\"\ntype = \"list\"\n";
    let fields = ["mark", "hidden", "price"].map(|name| format!("[[field]]\nname = \"note/{name}\"\ntype = \"any\"\n")).concat();
    let program = "[[program]]\nname = \"notes\"\nover = \"notes\"\n";
    let overlay = format!("kind = \"overlay\"\nversion = 2\n{list}{path}{fields}{program}{before}[[pass]]\nname = \"notes/tried\"\n{pass}");
    let rules = Ruleset::open_with("base", &[("notes.toml", &overlay)]).unwrap_or_else(|rejected| panic!("{rejected}"));
    let known = json!([{ "a": 1, "b": [2, 0] }, "x"]);
    let scene = json!({ "notes": notes, "known": known, "context": { "window": 3, "reserve": 1, "tokenizer": "words" } });
    let outcome = tapster::run(&rules, "notes", &Scene::new(&scene), &[])?;
    Ok(outcome.warnings().into_iter().map(|warning| warning.message).collect())
}

/// Of a long list, items that certainly fail a condition are not judged: that hides no mistake, and makes none.
#[test]
fn long_lists_say_what_short_ones_say() {
    for count in [3, 60] {
        let notes: Vec<Json> = (0..count).map(|n| json!({ "mark": format!("m{n}"), "price": 10 + n })).collect();
        let failing = r#"where = { all = [{ mark = { ne = "= int('abc')" } }, { hidden = true }] }"#;
        assert!(passed(&format!("do = \"drop\"\n{failing}"), &notes).is_err(), "{count}");
        let skipped = passed(&format!("do = \"drop\"\non_error = \"skip\"\n{failing}"), &notes).unwrap();
        assert!(skipped.len() >= 3, "{count}: {skipped:?}");
        let unasked = r#"where = { all = [{ hidden = true }, { mark = { in = { of = "$known", where = "= int('abc') == 3" } } }] }"#;
        assert_eq!(passed(&format!("do = \"drop\"\n{unasked}"), &notes).unwrap(), [""; 0], "{count}");
        let room = "do = \"require\"\nwhere = { price = { ge = 0 } }\nthat = { \"$budget.prompt.left\" = { ge = \"@price\" } }\n";
        let error = passed(&format!("{room}error = \"max_tokens_exceeded\""), &notes).unwrap_err();
        assert_eq!(error.max_tokens, Some(3), "{count}: {error}");
    }
}

/// A filter that fails for every item does so for each, although a long list has not been read before.
#[test]
fn unread_items_fail_as_read_ones_do() {
    let filters = [
        r#"where = "= int('abc') == 3""#,
        r#"where = { price = { ge = "= int('abc')" } }"#,
        r#"where = "= price > int('abc')""#,
        r#"where = "= int(mark) == 3""#,
    ];
    for (filter, end) in filters.iter().flat_map(|filter| ["", "end = \"last\"\ntake = 2"].map(|end| (filter, end))) {
        for count in [3, 60] {
            let notes: Vec<Json> = (0..count).map(|n| json!({ "mark": format!("m{n}"), "price": 10 + n })).collect();
            let tried = |policy: &str| passed_after("", &format!("do = \"order\"\nby = [\"price\"]\n{policy}\n{filter}\n{end}"), &notes);
            // a drop waits until an order reads the list
            let read = "[[pass]]\nname = \"notes/read\"\ndo = \"order\"\nby = [\"price\"]";
            let dropped = |policy: &str| passed_after("", &format!("do = \"drop\"\n{policy}\n{filter}\n{end}\n{read}"), &notes);
            for said in [tried("on_error = \"skip\""), dropped("on_error = \"skip\"")] {
                assert_eq!(said.unwrap().len(), count, "{filter} {end}");
            }
            assert_eq!(tried("on_error = \"keep\"").unwrap().len(), 1, "{count} {filter} {end}");
            assert!(tried("").is_err(), "{count} {filter} {end}");
        }
    }
}

/// A condition that draws is asked of each item, and not once of all that are unread.
#[test]
fn unread_items_draw_as_read_ones_do() {
    let notes: Vec<Json> = (0..60).map(|n| json!({ "mark": format!("m{n}"), "price": n })).collect();
    let read = "[[pass]]\nname = \"notes/read\"\ndo = \"order\"\nby = [\"price\"]\n";
    let drawn = r#"where = { of = "$known", draw = { roll = 0.5 } }"#;
    let left = |before: &str| {
        let tried = format!(
            "do = \"drop\"\n{drawn}\n[[pass]]\nname = \"notes/said\"\ndo = \"require\"\nwhere = {{ price = {{ ge = 0 }} }}\n\
                             that = false\nlevel = \"warn\"\nmessage = \"{{{{@mark}}}}\""
        );
        passed_after(before, &tried, &notes)
    };
    let said = left(read).unwrap();
    assert!((5..30).contains(&said.len()), "{said:?}");
    assert_eq!(left("").unwrap(), said);
}

/// A set of values is asked as the list is that it was made of.
#[test]
fn equal_values_are_in_a_list_however_they_are_written() {
    let notes = [json!({ "b": [2.0, -0.0], "a": 1.0 }), json!("x"), json!({ "a": 1 }), json!("2")].map(|mark| json!({ "mark": mark }));
    let pass = "do = \"require\"\nwhere = { mark = { exists = true } }\nthat = { mark = { in = \"$known\" } }\nerror = \"note.unknown\"\n\
                level = \"warn\"\nmessage = \"{{@mark}}\"";
    assert_eq!(passed(pass, &notes).unwrap(), ["{\"a\":1}", "2"]);
}
