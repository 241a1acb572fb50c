//! What would have to change for something to be sent: single changes of the scene, each of which is tried by building
//! again. Only changes that work are reported.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::explain::condition::{ConditionPart, short};
use crate::model::{Plan, Scene, Value, WorkLimits};
use crate::pack::Ruleset;
use crate::text::work::BudgetScope;

/// The most builds for one answer.
const BUILDS: usize = 120;
/// The most work of all builds for one question, in steps: about two seconds.
const WORK: u64 = 200_000_000;
/// The same where an answer follows every keystroke: about a tenth of a second.
const QUICK_WORK: u64 = 10_000_000;
/// What a build counts as besides its own steps, and each key of a lorebook, which goes into an automaton again.
const WORK_OF_BUILD: u64 = 200_000;
const WORK_OF_KEY: u64 = 2_000;
/// The most remedies of one answer.
const FOUND: usize = 6;
/// How often a number is doubled.
const DOUBLINGS: usize = 20;

/// One step of a path in the scene.
#[derive(Debug, Clone, PartialEq)]
pub enum ScenePathStep {
    Name(String),
    Index(usize),
}

/// What is done at a path.
#[derive(Debug, Clone)]
pub enum SceneEdit {
    Set(Value),
    Remove,
    /// Puts a text behind the text that is there.
    Append(String),
}

/// The path of names such as `lore.depth`.
pub fn steps_of_path(text: &str) -> Vec<ScenePathStep> {
    text.split('.').filter(|name| !name.is_empty()).map(|name| ScenePathStep::Name(name.to_owned())).collect()
}

pub fn path_text(steps: &[ScenePathStep]) -> String {
    let names = steps.iter().map(|step| match step {
        ScenePathStep::Name(name) => name.clone(),
        ScenePathStep::Index(n) => n.to_string(),
    });
    names.collect::<Vec<_>>().join(".")
}

/// The value at a path of steps.
pub fn value_at<'v>(tree: &'v Value, steps: &[ScenePathStep]) -> Option<&'v Value> {
    steps.iter().try_fold(tree, |tree, step| match step {
        ScenePathStep::Name(name) => tree.get(name),
        ScenePathStep::Index(n) => tree.as_list()?.get(*n),
    })
}

fn edit(tree: &mut Value, steps: &[ScenePathStep], what: &SceneEdit) {
    let Some((first, rest)) = steps.split_first() else {
        match what {
            SceneEdit::Set(value) => *tree = value.clone(),
            SceneEdit::Append(more) => *tree = Value::text(format!("{} {more}", tree.to_text())),
            SceneEdit::Remove => *tree = Value::Null,
        }
        return;
    };
    match (first, tree) {
        (ScenePathStep::Index(n), Value::List(list)) => {
            if let Some(below) = Arc::make_mut(list).get_mut(*n) {
                edit(below, rest, what);
            }
        }
        (ScenePathStep::Name(name), tree) => {
            if tree.as_map().is_none() {
                *tree = Value::map(crate::model::Map::default());
            }
            let Value::Map(map) = tree else { return };
            let map = Arc::make_mut(map);
            if rest.is_empty() && matches!(what, SceneEdit::Remove) {
                map.shift_remove(name.as_str());
            } else {
                edit(map.entry(Arc::from(name.as_str())).or_default(), rest, what);
            }
        }
        _ => {}
    }
}

/// The work that the builds for all answers of one question may take.
pub struct TrialBudget {
    left: Cell<u64>,
    /// What a build counts as besides its own steps.
    least: u64,
}

impl TrialBudget {
    pub fn new(scene: &Scene) -> Self {
        Self::of_work(scene, WORK)
    }

    /// For an answer that follows every keystroke.
    pub fn quick(scene: &Scene) -> Self {
        Self::of_work(scene, QUICK_WORK)
    }

    fn of_work(scene: &Scene, work: u64) -> Self {
        fn list<'v>(of: &'v Value, name: &str) -> &'v [Value] {
            of.get(name).and_then(Value::as_list).unwrap_or_default()
        }
        let entries = list(&scene.data, "books").iter().flat_map(|book| list(book, "entries"));
        let keys: usize = entries.map(|entry| list(entry, "keys").len() + list(entry, "secondary_keys").len()).sum();
        Self { left: Cell::new(work), least: WORK_OF_BUILD.saturating_add(WORK_OF_KEY.saturating_mul(keys as u64)) }
    }

    fn spend(&self, steps: u64) {
        self.left.set(self.left.get().saturating_sub(steps.saturating_add(self.least)));
    }
}

/// Changes that are tried, and those that work.
pub struct ChangeTrials<'a> {
    rules: &'a Ruleset,
    scene: &'a Scene,
    sent: &'a dyn Fn(&Plan) -> bool,
    budget: &'a TrialBudget,
    pub builds: usize,
    pub found: Vec<Json>,
}

impl<'a> ChangeTrials<'a> {
    pub fn new(rules: &'a Ruleset, scene: &'a Scene, sent: &'a dyn Fn(&Plan) -> bool, budget: &'a TrialBudget) -> Self {
        Self { rules, scene, sent, budget, builds: 0, found: Vec::new() }
    }

    fn is_enough(&self) -> bool {
        self.builds >= BUILDS || self.found.len() >= FOUND || self.is_given_up()
    }

    /// Whether no work is left for further builds.
    pub fn is_given_up(&self) -> bool {
        self.budget.left.get() == 0
    }

    /// Whether a change would be enough.
    fn works(&mut self, edits: &[(Vec<ScenePathStep>, SceneEdit)]) -> bool {
        if self.is_enough() {
            return false;
        }
        self.builds += 1;
        let mut scene = self.scene.clone();
        scene.strict = false;
        for (steps, what) in edits {
            edit(&mut scene.data, steps, what);
        }
        let door = BudgetScope::open(WorkLimits { steps: self.budget.left.get(), ..WorkLimits::default() });
        let works = tapster::build(self.rules, &scene).is_ok_and(|plan| (self.sent)(&plan));
        let (steps, _) = door.spent();
        self.budget.spend(steps);
        works
    }

    fn report(&mut self, change: String, flag: Option<String>) {
        if !self.found.iter().any(|known| known["change"] == change.as_str()) {
            self.found.push(json!({ "change": change, "flag": flag, "verified": true }));
        }
    }

    /// Tries a change in words.
    pub fn attempt(&mut self, say: &str, flag: Option<String>, edits: &[(Vec<ScenePathStep>, SceneEdit)]) -> bool {
        let works = self.works(edits);
        if works {
            self.report(say.to_owned(), flag);
        }
        works
    }

    /// Tries another value at a path of the scene.
    pub fn set(&mut self, steps: &[ScenePathStep], value: Value) -> bool {
        self.replace(steps, value_at(&self.scene.data, steps), value)
    }

    /// Tries another value at a path that has this value now, which may be a default of the pack.
    pub fn replace(&mut self, steps: &[ScenePathStep], now: Option<&Value>, value: Value) -> bool {
        let now = now.filter(|now| !now.is_null()).map_or_else(|| "not set".to_owned(), short);
        let said = format!("{} = {} (now {now})", path_text(steps), short(&value));
        let flag = steps
            .iter()
            .all(|step| matches!(step, ScenePathStep::Name(_)))
            .then(|| format!("--set '{}={}'", path_text(steps), short(&value)));
        self.attempt(&said, flag, &[(steps.to_vec(), SceneEdit::Set(value))])
    }

    /// Tries to leave out a field, so that it has its default.
    pub fn leave_out(&mut self, steps: &[ScenePathStep], default: Option<String>) -> bool {
        let now = value_at(&self.scene.data, steps).map(short).unwrap_or_default();
        let said = match default {
            Some(default) => format!("{} = {default} (now {now})", path_text(steps)),
            None => format!("leave out {} (now {now})", path_text(steps)),
        };
        self.attempt(&said, None, &[(steps.to_vec(), SceneEdit::Remove)])
    }

    /// Tries larger numbers at a path and looks for the smallest that is enough.
    pub fn grow(&mut self, name: &str, now: i64) {
        let steps = steps_of_path(name);
        let works = |trials: &mut Self, n: i64| trials.works(&[(steps.clone(), SceneEdit::Set(Value::Int(n)))]);
        let mut low = now.max(0);
        let mut high = None;
        let mut next = low.saturating_mul(2).max(1);
        for _ in 0..DOUBLINGS {
            if self.is_enough() {
                return;
            }
            if works(self, next) {
                high = Some(next);
                break;
            }
            low = next;
            next = next.saturating_mul(2);
            // a percentage or a count that is not reached at a million is not what matters
            if next > 4_000_000 {
                return;
            }
        }
        let Some(mut high) = high else { return };
        while high - low > 1 && self.builds < BUILDS {
            let middle = low + (high - low) / 2;
            if works(self, middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        self.report(format!("{name} = {high} (now {now})"), Some(format!("--set {name}={high}")));
    }

    /// Tries other values of the paths that rules read: larger numbers, and the other truth value. Names without a dot are
    /// mostly values that passes set.
    pub fn paths(&mut self, paths: &BTreeSet<String>, read: &dyn Fn(&str) -> Value) {
        for name in paths.iter().filter(|name| name.contains('.')) {
            match read(name) {
                Value::Bool(now) => {
                    self.set(&steps_of_path(name), Value::Bool(!now));
                }
                Value::Int(now) => self.grow(name, now),
                #[expect(clippy::cast_possible_truncation, reason = "the fraction does not matter to a search for a larger number")]
                Value::Num(now) => self.grow(name, now.clamp(0.0, 1e9) as i64),
                _ => {}
            }
        }
    }
}

/// The path of an entry in a scene.
pub fn entry_steps((book, entry): (usize, usize)) -> Vec<ScenePathStep> {
    vec![
        ScenePathStep::Name("books".to_owned()),
        ScenePathStep::Index(book),
        ScenePathStep::Name("entries".to_owned()),
        ScenePathStep::Index(entry),
    ]
}

/// A change that was tried, in words.
type TriedChange = (String, (Vec<ScenePathStep>, SceneEdit));

/// Tries values with which the parts of a condition hold that do not, one by one and then all together.
pub fn try_parts(parts: &[ConditionPart], trials: &mut ChangeTrials<'_>) {
    let mut together: Vec<TriedChange> = Vec::new();
    // parts of which one is enough stand next to each other
    for group in parts.chunk_by(|a, b| a.how == "any" && b.how == "any") {
        let one_is_enough = group.first().is_some_and(|part| part.how == "any");
        if one_is_enough && group.iter().any(|part| part.holds == Some(true)) {
            continue;
        }
        let missing = group.iter().filter(|part| part.holds == Some(false) && !part.path.is_empty());
        let tried: Vec<TriedChange> = missing.filter_map(|part| try_part(part, trials)).collect();
        together.extend(tried.into_iter().take(if one_is_enough { 1 } else { usize::MAX }));
    }
    if trials.found.is_empty() && together.len() > 1 {
        let (said, edits): (Vec<String>, Vec<_>) = together.into_iter().unzip();
        trials.attempt(&format!("together: {}", said.join(", ")), None, &edits);
    }
}

/// Tries a value with which a part holds, if one can be said.
fn try_part(part: &ConditionPart, trials: &mut ChangeTrials<'_>) -> Option<TriedChange> {
    let steps = steps_of_path(&part.path);
    Some(match satisfying_value(&part.test, part.how == "not")? {
        Some(value) => {
            trials.replace(&steps, part.now.as_ref(), value.clone());
            (format!("{} = {}", part.path, short(&value)), (steps, SceneEdit::Set(value)))
        }
        None => {
            trials.leave_out(&steps, None);
            (format!("no {}", part.path), (steps, SceneEdit::Remove))
        }
    })
}

/// A value with which a test holds: `Some(None)` if the path must have no value; `None` if it cannot be said.
fn satisfying_value(test: &Json, negated: bool) -> Option<Option<Value>> {
    let literal = |json: &Json| (!json.as_str().is_some_and(|text| text.starts_with(['$', '@']))).then(|| Some(Value::from(json)));
    match test {
        Json::Bool(wanted) => Some(Some(Value::Bool(*wanted != negated))),
        _ if negated => Some(None),
        Json::String(_) | Json::Number(_) => literal(test),
        Json::Array(list) => list.first().and_then(literal),
        Json::Object(tests) if tests.len() == 1 => {
            let (word, value) = tests.iter().next()?;
            let number = |by: f64| value.as_f64().map(|n| Some(Value::from(&json!(n + by))));
            match (word.as_str(), value) {
                ("exists" | "nonempty" | "given", Json::Bool(true)) => Some(Some(Value::text("x"))),
                ("exists" | "nonempty" | "given", Json::Bool(false)) => Some(None),
                ("ne", Json::Bool(is)) => Some(Some(Value::Bool(!is))),
                ("ge" | "le", _) => number(0.0),
                ("gt", _) => number(1.0),
                ("lt", _) => number(-1.0),
                ("in" | "starts", Json::Array(list)) => list.first().and_then(literal),
                _ => None,
            }
        }
        _ => None,
    }
}
