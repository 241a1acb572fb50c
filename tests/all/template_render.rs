//! Rendering templates beyond the recorded cases: what is not printed must not matter, nothing runs without a bound,
//! and what the contract's program does in odd corners.

#![expect(clippy::panic, clippy::indexing_slicing, reason = "helpers of tests may panic")]

use std::cell::Cell;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use tapster::machinery::pack::RuleFile;
use tapster::machinery::text::work::BudgetScope;
use tapster::template::{
    Budget, ErrorKind, Inputs, QuarterRuler, RenderError, RenderLimits, RenderedTemplate, Ruler, SourceProvider, Template,
    TemplateContract, offers, render,
};
use tapster::{Value, WorkLimits};

fn compiled(template: &Json) -> Template {
    let file = RuleFile { name: "t.json".to_owned(), path_in_pack: "t.json".to_owned(), bytes: template.to_string().into_bytes() };
    match tapster::open_template(&file, &TemplateContract::default()) {
        Ok(opened) => opened.template,
        Err(rejected) => panic!("{:?}\n{template}", rejected.report.items()),
    }
}

fn written(revision: &str, layout: Json, slots: Json) -> Json {
    json!({ "revision": revision, "id": "t", "task": "t", "name": "t", "version": 1, "layout": layout, "slots": slots })
}

/// Names and their values; a name that begins with `!` fails. Counts how often it is asked.
struct Table {
    all: Value,
    asked: Cell<usize>,
}

impl Table {
    fn new(all: &Json) -> Self {
        Self { all: Value::from(all), asked: Cell::new(0) }
    }
}

impl SourceProvider for Table {
    fn resolve(&self, name: &str, _: Option<&Value>) -> Result<Option<Value>, String> {
        self.asked.set(self.asked.get() + 1);
        if name.starts_with('!') { Err("out of order".to_owned()) } else { Ok(self.all.get(name).cloned()) }
    }
}

/// Counts like [`QuarterRuler`], and how often it is asked; says what a text costs at least only if told to.
struct Counting {
    says: bool,
    asked: Cell<usize>,
}

impl Counting {
    fn new(says: bool) -> Self {
        Self { says, asked: Cell::new(0) }
    }
}

impl Ruler for Counting {
    fn cost(&self, text: &str) -> u64 {
        self.asked.set(self.asked.get() + 1);
        QuarterRuler.cost(text)
    }

    fn least(&self, units: u64) -> u64 {
        if self.says { QuarterRuler.least(units) } else { 0 }
    }
}

fn with(
    template: &Template,
    sources: &Table,
    ruler: &dyn Ruler,
    global: Option<u64>,
    limits: RenderLimits,
) -> Result<RenderedTemplate, RenderError> {
    let context = Value::from(&json!({ "globals": { "name": "Marit", "long": "a lantern, twice lit" }, "item": "hidden" }));
    let inputs = Inputs { context: &context, sources, ruler, lanes: &[], requests: &[], limits };
    render(template, &inputs, &mut Budget::new(global))
}

fn plain(template: &Json, sources: &Json, global: Option<u64>) -> RenderedTemplate {
    with(&compiled(template), &Table::new(sources), &QuarterRuler, global, RenderLimits::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn texts(done: &RenderedTemplate) -> Vec<&str> {
    done.messages.iter().map(|m| &*m.content).collect()
}

fn message(role: &str, content: &str) -> Json {
    json!({ "kind": "message", "role": role, "content": content })
}

fn refused(template: &Json, sources: &Json, limits: RenderLimits) -> RenderError {
    match with(&compiled(template), &Table::new(sources), &QuarterRuler, None, limits) {
        Ok(done) => panic!("{} messages", done.messages.len()),
        Err(error) => error,
    }
}

#[test]
fn a_million_items_under_a_small_budget_are_not_printed() {
    let items: Vec<Json> =
        (0..1_000_000).map(|n| json!(if n % 400_000 == 399_999 { "short" } else { "a text of forty letters, more or less so" })).collect();
    let each = |budget: u64| json!({ "kind": "forEach", "source": { "source": "items" }, "budget": { "maxTokens": budget }, "map": [message("user", "{{item}}")] });
    let slots = json!({ "a": { "priority": 0, "plan": [each(25)] }, "b": { "priority": 1, "plan": [each(15)] }, "c": { "priority": 2, "plan": [each(12)] } });
    let written = written("base", json!([{ "kind": "slot", "name": "a" }, { "kind": "slot", "name": "b" }]), slots);
    let template = compiled(&written);
    let sources = Table::new(&json!({ "items": items }));
    let ruler = Counting::new(true);
    let done = with(&template, &sources, &ruler, Some(100), RenderLimits::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(done.tokens, (10 + 10 + 2 + 2) + (10 + 2 + 2) + (10 + 2), "the short ones fill what is left");
    assert_eq!(ruler.asked.get(), 9, "only what fits was printed and counted");
    assert_eq!(sources.asked.get(), 1, "three loops share one list");

    let spent = Counting::new(true);
    let done = with(&template, &sources, &spent, Some(20), RenderLimits::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((done.tokens, spent.asked.get()), (20, 2), "and the global ceiling ends all of them");

    // what an earlier render has measured is known, and paid for as if it were not
    let again = |template: &Template| {
        let door = BudgetScope::open(WorkLimits::default());
        let done = with(template, &sources, &Counting::new(true), Some(100), RenderLimits::default());
        (done.unwrap_or_else(|e| panic!("{e}")), door.spent())
    };
    assert_eq!(again(&template), again(&compiled(&written)));
}

#[test]
fn a_source_that_fails_is_absent_and_warns_each_time_that_it_is_asked() {
    let when = json!({ "type": "exists", "ref": { "source": "!lamp" } });
    let each = json!({ "kind": "forEach", "source": { "source": "items" }, "map": [{ "kind": "if", "when": when, "then": [message("user", "on")], "else": [message("user", "off")] }] });
    let template = written("base", json!([{ "kind": "slot", "name": "a" }]), json!({ "a": { "priority": 0, "plan": [each] } }));
    let sources = Table::new(&json!({ "items": [1, 2, 3] }));
    let done = with(&compiled(&template), &sources, &QuarterRuler, None, RenderLimits::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(texts(&done), ["off\noff\noff"]);
    let warnings: Vec<String> = done.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["source `!lamp` cannot be read: out of order"; 3]);
    assert_eq!(sources.asked.get(), 2, "asked once, told three times");
}

#[test]
fn bounds_are_errors_that_name_the_node() {
    let items: Vec<Json> = (0..500).map(|n| json!(n)).collect();
    let inner = json!({ "kind": "forEach", "source": { "source": "items" }, "map": [message("user", "{{item}} and more of it, for it has to be paid for")] });
    let outer = json!({ "kind": "forEach", "source": { "source": "items" }, "map": [message("user", ""), inner] });
    let template = written("base", json!([]), json!({ "a": { "priority": 0, "plan": [outer] } }));
    let sources = json!({ "items": items });
    let steps = refused(&template, &sources, RenderLimits { steps: 10_000, ..RenderLimits::default() });
    assert_eq!(steps.kind, ErrorKind::Bound);
    assert!(steps.to_string().starts_with("at `slots.a.plan.0.map.1"), "{steps}");
    assert!(steps.to_string().ends_with("takes more than 10000 steps"), "{steps}");
    let bytes = refused(&template, &sources, RenderLimits { bytes: 10_000, ..RenderLimits::default() });
    assert_eq!(bytes.to_string(), "at `slots.a.plan.0.map.1.map.0`: gives more than 10000 bytes of text");
    let depth = refused(&template, &sources, RenderLimits { depth: 2, ..RenderLimits::default() });
    assert_eq!(depth.to_string(), "at `slots.a.plan.0.map.1`: nests deeper than 2 levels");
}

#[test]
fn a_slot_joined_with_itself_grows_to_a_bound_and_no_further() {
    let places = |count: usize| vec![json!({ "kind": "slot", "name": "a" }); count];
    let slots = json!({ "a": { "priority": 0, "plan": [message("user", "x")] } });
    let done = plain(&written("base", json!(places(3)), slots.clone()), &json!({}), None);
    assert_eq!(texts(&done), ["x\nx\nx\nx"], "each place doubles the one message there is");
    let done = plain(&written("head", json!(places(3)), slots.clone()), &json!({}), None);
    assert_eq!(texts(&done), ["x\nx\nx"], "the later revision copies");
    let error =
        refused(&written("base", json!(places(200)), slots), &json!({}), RenderLimits { bytes: 1 << 20, ..RenderLimits::default() });
    assert_eq!(error.to_string(), "gives more than 1048576 bytes of text");
}

#[test]
fn texts_are_ordered_as_english_readers_expect_and_mixed_lists_as_they_came() {
    let each =
        |order: &str| json!({ "kind": "forEach", "source": { "source": "words" }, "order": order, "map": [message("user", "{{item}}")] });
    let template =
        |order: &str| written("base", json!([{ "kind": "slot", "name": "a" }]), json!({ "a": { "priority": 0, "plan": [each(order)] } }));
    let words = json!({ "words": ["zebra", "Äpfel", "apple", "Apple", "10", "9", "_x", "co-op", "coop", "Ωmega", "straße", "strasse", "naïve", "naive"] });
    assert_eq!(
        texts(&plain(&template("asc"), &words, None)),
        ["_x\n10\n9\nÄpfel\napple\nApple\nco-op\ncoop\nnaive\nnaïve\nstrasse\nstraße\nzebra\nΩmega"]
    );
    let mixed = json!({ "words": [3, "b", 1, "a", 2, true] });
    assert_eq!(texts(&plain(&template("asc"), &mixed, None)), ["3\nb\n1\na\n2\ntrue"]);
    let falling = json!({ "words": [5, 4, "b", 1] });
    assert_eq!(texts(&plain(&template("asc"), &falling, None)), ["1\n4\n5\nb"], "as JavaScript's insertion by halves gives");
    let many: Vec<Json> = (0..500).map(|n| if n % 3 == 0 { json!("x") } else { json!(500 - n) }).collect();
    assert_eq!(plain(&template("desc"), &json!({ "words": many }), None).messages.len(), 1, "no order, and no panic");
}

#[test]
fn a_broken_pattern_of_a_group_ends_the_render() {
    let lane = json!({ "id": "lore", "template": "x", "groups": [{ "match": "(" }] });
    let mut with_lane = written("head", json!([]), json!({}));
    with_lane["attachments"] = json!([lane]);
    let error = refused(&with_lane, &json!({}), RenderLimits::default());
    assert_eq!((error.kind, error.at.as_str()), (ErrorKind::Structure, "attachments.0"));
    let template = compiled(&written("head", json!([]), json!({})));
    let lanes = offers::lanes(&Value::from(&json!([lane])), &template.revision).unwrap_or_else(|e| panic!("{e}"));
    let (context, sources) = (Value::Null, Table::new(&json!({})));
    let limits = RenderLimits::default();
    let inputs = Inputs { context: &context, sources: &sources, ruler: &QuarterRuler, lanes: &lanes, requests: &[], limits };
    let Err(error) = render(&template, &inputs, &mut Budget::new(None)) else { panic!("it rendered") };
    assert_eq!((error.kind, error.at.as_str()), (ErrorKind::Render, "lanes.0"));
}

#[test]
fn what_a_lane_leaves_of_its_reserve_goes_to_the_next_lanes() {
    let group = json!([{ "id": "g", "openTemplate": "oooo", "closeTemplate": "cccc" }]);
    let lanes = json!([
        { "id": "first", "template": "1111", "reserveTokens": 4, "order": 1, "groups": group },
        { "id": "second", "template": "22222222", "order": 2 },
    ]);
    let top = json!({ "kind": "boundary", "position": "top" });
    let requests = json!([{ "lane": "first", "target": top, "groupId": "g" }, { "lane": "second", "target": top }]);
    let template = compiled(&written("head", json!([]), json!({})));
    let read = |why: String| panic!("{why}");
    let lanes = offers::lanes(&Value::from(&lanes), &template.revision).unwrap_or_else(read);
    let requests = offers::requests(&Value::from(&requests), &template.revision).unwrap_or_else(|why| panic!("{why}"));
    let (context, sources, limits) = (Value::Null, Table::new(&json!({})), RenderLimits::default());
    let inputs = Inputs { context: &context, sources: &sources, ruler: &QuarterRuler, lanes: &lanes, requests: &requests, limits };
    // one each for opening, message and closing, which the reserve does not pay; the other two are there for all
    let done = render(&template, &inputs, &mut Budget::new(Some(5))).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((texts(&done), done.tokens), (vec!["22222222\noooo\n1111\ncccc"], 5));
}

#[test]
fn offers_say_which_key_is_wrong() {
    let template = compiled(&written("head", json!([]), json!({})));
    let revision = &template.revision;
    let lanes = |json: Json| offers::lanes(&Value::from(&json), revision).err();
    assert_eq!(
        lanes(json!([{ "id": "a" }, { "id": "b", "groups": [{ "order": "x" }] }])).as_deref(),
        Some("1.groups.0.order must be a whole number")
    );
    assert_eq!(lanes(json!([{ "role": "user" }])).as_deref(), Some("0.id is missing"));
    assert_eq!(lanes(json!(null)), None);
    let requests = |json: Json| offers::requests(&Value::from(&json), revision).err();
    let target = |target: Json| requests(json!([{ "lane": "a", "target": target }]));
    assert_eq!(target(json!({ "kind": "at" })).as_deref(), Some("0.target.key is missing"));
    assert_eq!(target(json!([{ "kind": "near" }])).as_deref(), Some("0.target.0.kind must be `at`, `offset` or `boundary`"));
    assert_eq!(target(json!({ "kind": "boundary", "position": "top", "delta": 2 })), None);
}

/// Letters of a text of the tests, short and long.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0_usize..60).prop_map(|n| "word ".repeat(n / 5) + "x".repeat(n % 5).as_str()),
        1 => (0_usize..40).prop_map(|n| "é😀".repeat(n / 4)),
        1 => Just("{{globals.name}} and {{item}}".to_owned()),
        1 => Just("{{missing}} and nothing else of all this".to_owned()),
        1 => Just(String::new()),
    ]
}

fn item() -> impl Strategy<Value = Json> {
    prop_oneof![
        6 => (text(), text(), any::<bool>()).prop_map(|(a, b, on)| json!({ "a": a, "b": b, "on": on })),
        1 => text().prop_map(|a| json!({ "a": a })),
        1 => text().prop_map(|t| json!(t)),
        1 => Just(json!(null)),
        1 => any::<i16>().prop_map(|n| json!(n)),
        1 => (any::<i16>(), text()).prop_map(|(n, t)| json!({ "a": [n, t], "b": { "deep": t }, "long": null })),
    ]
}

fn leaf(head: bool) -> impl Strategy<Value = &'static str> {
    let both = vec![
        "{{item}}",
        "[{{item.a}}] {{item.b}}",
        "{{item.a}}",
        "just letters",
        "",
        "{{globals.name}}: {{item.b.deep}}",
        "{{item.long}}{{item.a}}{{item.a}}",
    ];
    let all = if head {
        [both, vec!["{{#if item.on}}{{item.a}}{{#else}}no{{#endif}}", "{{ item.on && item.a }}"]].concat()
    } else {
        [both, vec!["{{ctx.item}} {{item.a.length}}"]].concat()
    };
    prop::sample::select(all)
}

fn block(head: bool) -> impl Strategy<Value = Json> {
    let from = prop::sample::select(vec![json!(null), json!("a"), json!("b.deep"), json!(7)]);
    let ceiling = prop::option::weighted(0.3, 1_u64..20);
    let text = prop_oneof![5 => leaf(head).prop_map(|c| json!({ "content": c })), 1 => from.prop_map(|path| json!({ "from": { "source": "$item", "args": { "path": path } } }))];
    (text, ceiling, any::<bool>(), prop::sample::select(vec!["user", "assistant"])).prop_map(|(mut block, ceiling, skips, role)| {
        block["kind"] = json!("message");
        block["role"] = json!(role);
        if let Some(ceiling) = ceiling {
            block["budget"] = json!({ "maxTokens": ceiling });
        }
        block["skipIfEmptyInterpolation"] = json!(skips);
        block
    })
}

fn node(head: bool) -> impl Strategy<Value = Json> {
    let when = prop::sample::select(vec![
        json!({ "type": "nonEmpty", "ref": { "source": "$item", "args": { "path": "a" } } }),
        json!({ "type": "gt", "ref": { "source": "$index" }, "value": 40 }),
        json!({ "type": "eq", "ref": { "source": "$item", "args": { "path": "on" } }, "value": true }),
        json!({ "type": "exists", "ref": { "source": "!fails" } }),
    ]);
    let branches = (when, prop::collection::vec(block(head), 0..3), prop::collection::vec(block(head), 0..2));
    prop_oneof![
        5 => block(head),
        2 => branches.prop_map(|(when, then, or)| json!({ "kind": "if", "when": when, "then": then, "else": or })),
        u32::from(head) => Just(json!({ "kind": "anchor", "key": "at {{item.a}}" })),
    ]
}

fn each(head: bool) -> impl Strategy<Value = Json> {
    let shape =
        (prop::option::of(1_u64..60), prop::option::of(1_u64..120), any::<bool>(), prop::option::weighted(0.15, Just("-")), any::<bool>());
    (prop::collection::vec(node(head), 0..3), shape, prop::option::of(prop::sample::select(vec!["asc", "desc"]))).prop_map(
        |(map, shape, order)| {
            let (budget, limit, prepends, separator, stops) = shape;
            let mut each = json!({ "kind": "forEach", "source": { "source": "items" }, "map": map, "stopWhenOutOfBudget": stops });
            each["fillDir"] = json!(if prepends { "prepend" } else { "append" });
            let mut put = |key: &str, value: Option<Json>| value.into_iter().for_each(|value| each[key] = value);
            put("budget", budget.map(|n| json!({ "maxTokens": n })));
            put("limit", limit.map(|n| json!(n)));
            put("order", order.map(|order| json!(order)));
            put("interleave", separator.map(|text| json!({ "kind": "separator", "text": text })));
            each
        },
    )
}

fn whole() -> impl Strategy<Value = Json> {
    any::<bool>().prop_flat_map(|head| {
        let slot = (prop::option::of(1_u64..80), prop::collection::vec(each(head), 1..3));
        prop::collection::vec(slot, 1..5).prop_map(move |slots| {
            let slot = |(n, (budget, plan)): (usize, (Option<u64>, Vec<Json>))| {
                let budget = budget.map_or(json!({}), |n| json!({ "maxTokens": n }));
                (format!("s{n}"), json!({ "priority": n % 2, "budget": budget, "plan": plan }))
            };
            let slots: serde_json::Map<String, Json> = slots.into_iter().enumerate().map(slot).collect();
            let layout: Vec<Json> =
                slots.keys().map(|name| json!({ "kind": "slot", "name": name, "header": { "role": "system", "content": "of" } })).collect();
            written(if head { "head" } else { "base" }, json!(layout), json!(slots))
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Passing items over by their length changes nothing but the work.
    #[test]
    fn what_is_passed_over_would_have_given_nothing(template in whole(), items in prop::collection::vec(item(), 0..160), global in prop::option::of(0_u64..200)) {
        let template = compiled(&template);
        let sources = Table::new(&json!({ "items": items }));
        let (jumps, prints) = (Counting::new(true), Counting::new(false));
        let paid = |ruler: &Counting| {
            let door = BudgetScope::open(WorkLimits::default());
            (with(&template, &sources, ruler, global, RenderLimits::default()), door.spent())
        };
        let (fast, known, (slow, _)) = (paid(&jumps), paid(&Counting::new(true)), paid(&prints));
        prop_assert_eq!(&fast, &known, "a second render takes the same work");
        prop_assert_eq!(fast.0, slow);
        prop_assert!(jumps.asked.get() <= prints.asked.get());
    }
}
