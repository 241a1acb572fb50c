//! Which release of each needed pack is taken: the newest that fits all who ask for it.
//!
//! What is there already is preferred to what would have to be fetched. The search goes back to older releases where a
//! newer one asks for something that cannot be had; the number of its steps is bounded.

use std::collections::BTreeMap;
use std::rc::Rc;

use semver::{Version, VersionReq};

use super::ShareFault;
use super::index::PackDependency;
use crate::diag::{Code, Diagnostic, limits};

/// Most steps of one search.
const MAX_STEPS: usize = 5_000;

/// A release that could be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseCandidate<S> {
    /// Its release.
    pub release: Version,
    /// The packs that it extends.
    pub extends: Vec<PackDependency>,
    /// The releases of the engine that it works with.
    pub engine: Option<VersionReq>,
    /// Where it comes from.
    pub source: S,
}

/// A pack that is asked for, and who asks.
#[derive(Debug, Clone)]
pub struct PackRequest {
    /// What is asked for.
    pub need: PackDependency,
    /// Who asks, for messages.
    pub by: String,
}

/// What was chosen, by name.
pub type ChosenReleases<S> = BTreeMap<String, ReleaseCandidate<S>>;

/// Chooses a release of every pack that is asked for, and of all packs that those extend. `candidates` gives the
/// releases of a pack, those that are preferred first.
///
/// # Errors
/// A pack cannot be had, no release fits, or packs extend each other in a circle.
pub fn resolve<S: Clone>(
    asked: Vec<PackRequest>,
    engine: &Version,
    candidates: &dyn Fn(&str) -> Vec<ReleaseCandidate<S>>,
) -> Result<ChosenReleases<S>, ShareFault> {
    let mut search = ReleaseSearch { engine, candidates, known: BTreeMap::new(), steps: 0 };
    let chosen: ChosenReleases<S> =
        search.step(asked, PartialChoice::new())?.into_iter().map(|(name, (candidate, _))| (name, candidate)).collect();
    match circle(&chosen) {
        Some(names) => {
            let message = format!("packs extend each other in a circle: {}", names.join(" → "));
            Err(Diagnostic::new(Code::CyclePack, message).help("tell whoever made them; one of them must not extend the other").into())
        }
        None => Ok(chosen),
    }
}

struct ReleaseSearch<'a, S> {
    engine: &'a Version,
    candidates: &'a dyn Fn(&str) -> Vec<ReleaseCandidate<S>>,
    /// The candidates of the packs that were looked up so far.
    known: BTreeMap<String, Rc<[ReleaseCandidate<S>]>>,
    steps: usize,
}

/// Who asked for a chosen pack, and the pack.
type PartialChoice<S> = BTreeMap<String, (ReleaseCandidate<S>, PackRequest)>;

impl<S: Clone> ReleaseSearch<'_, S> {
    /// Takes the next pack that is asked for. The recursion is as deep as packs are chosen, at most [`limits::PACKS`].
    fn step(&mut self, mut open: Vec<PackRequest>, chosen: PartialChoice<S>) -> Result<PartialChoice<S>, ShareFault> {
        self.steps += 1;
        if self.steps > MAX_STEPS || chosen.len() > limits::PACKS {
            let message = "the packs that are needed cannot be chosen: there are too many, or too many combinations of them";
            return Err(Diagnostic::new(Code::ShareUnmet, message).help("name the releases that you want: `NAME@=1.2.0`").into());
        }
        let next = loop {
            let Some(next) = open.pop() else { return Ok(chosen) };
            match chosen.get(&next.need.name) {
                None => break next,
                Some((taken, first)) if !fits(&next.need, &taken.release) => return Err(conflict(&taken.release, first, &next)),
                Some(_) => {}
            }
        };
        let name = next.need.name.clone();
        let all = self.known.entry(name.clone()).or_insert_with(|| (self.candidates)(&name).into()).clone();
        let fitting: Vec<&ReleaseCandidate<S>> = all.iter().filter(|c| fits(&next.need, &c.release)).collect();
        let usable: Vec<&ReleaseCandidate<S>> =
            fitting.iter().copied().filter(|c| c.engine.as_ref().is_none_or(|range| range.matches(self.engine))).collect();
        if usable.is_empty() {
            return Err(unmet(&next, &all.iter().map(|c| &c.release).collect::<Vec<_>>(), !fitting.is_empty(), self.engine));
        }
        let mut first: Option<ShareFault> = None;
        for candidate in usable {
            let by = format!("`{name}` {}", candidate.release);
            let needs = candidate.extends.iter().map(|need| PackRequest { need: need.clone(), by: by.clone() });
            let mut with = chosen.clone();
            with.insert(name.clone(), (candidate.clone(), next.clone()));
            match self.step(open.iter().cloned().chain(needs).collect(), with) {
                Ok(done) => return Ok(done),
                Err(fault) if self.steps > MAX_STEPS => return Err(fault),
                Err(fault) => first = first.or(Some(fault)),
            }
        }
        Err(first.unwrap_or_else(|| unmet(&next, &[], false, self.engine)))
    }
}

fn fits(need: &PackDependency, release: &Version) -> bool {
    need.release.as_ref().is_none_or(|range| range.matches(release))
}

fn range(need: &PackDependency) -> String {
    need.release.as_ref().map_or_else(|| "any release".to_owned(), |range| format!("`{range}`"))
}

fn conflict(taken: &Version, first: &PackRequest, next: &PackRequest) -> ShareFault {
    let name = &next.need.name;
    let message = format!(
        "no release of `{name}` fits all who need it: {} asks for {}, {} asks for {}, and {taken} was to be taken",
        first.by,
        range(&first.need),
        next.by,
        range(&next.need)
    );
    Diagnostic::new(Code::PackVersion, message).help("use other releases of the packs that ask for it, or one of them only").into()
}

fn unmet(next: &PackRequest, all: &[&Version], engine: bool, this: &Version) -> ShareFault {
    let name = &next.need.name;
    if engine {
        let message = format!("`{name}` does not work with this engine, {this}");
        return Diagnostic::new(Code::PackVersion, message).help("use another release of the program or of the pack").into();
    }
    if all.is_empty() {
        let message = format!("`{name}` is needed by {} and is not found: not installed, not shipped, not in an index", next.by);
        return Diagnostic::new(Code::ShareUnmet, message).help("install it first, or name an index that has it with `--index`").into();
    }
    let mut known: Vec<String> = all.iter().take(8).map(ToString::to_string).collect();
    known.extend((all.len() > 8).then(|| "…".to_owned()));
    let message = format!("`{name}` is needed by {} in release {}, but there is {}", next.by, range(&next.need), known.join(", "));
    Diagnostic::new(Code::PackVersion, message)
        .help("`tapster update` takes newer releases, and `tapster install NAME@RANGE --replace` the one that is asked for")
        .into()
}

/// Packs that extend each other in a circle, the first one at both ends.
fn circle<S>(chosen: &ChosenReleases<S>) -> Option<Vec<String>> {
    // packs that extend nothing but settled ones are settled; what stays is in a circle or above one
    let mut open: Vec<&String> = chosen.keys().collect();
    loop {
        let before = open.len();
        let current = open.clone();
        let rests = |name: &&String| {
            let needs = chosen.get(*name).map(|c| c.extends.as_slice()).unwrap_or_default();
            needs.iter().any(|need| current.contains(&&need.name))
        };
        open.retain(rests);
        if open.len() == before {
            break;
        }
    }
    let mut path: Vec<String> = vec![(*open.first()?).clone()];
    loop {
        let last = path.last()?;
        let next = chosen.get(last)?.extends.iter().find(|need| open.contains(&&need.name))?.name.clone();
        let seen = path.iter().position(|name| *name == next);
        path.push(next);
        if let Some(at) = seen {
            return Some(path.split_off(at));
        }
    }
}
