//! A store does what a simple model in memory does, whatever is asked of it and in which order.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value as Json, json};
use tapster_session::store::{
    ArchivedVersion, Artifact, ArtifactVersion, Batch, CommitOutcome, Home, LogRecord, Moment, PruneReason, PrunedVersion, SessionDump,
    SessionState, SessionStore, SqlStore, VersionWindow, block_on,
};

use crate::store::bed::{ALL, Bed, home, write};

const TAGS: [&str; 3] = ["a", "b", "ä'\""];

/// One request. Bases are given as distances from the latest version, so that many fit.
#[derive(Debug, Clone)]
enum Ask {
    Commit { session: usize, at: Moment, turn: bool, writes: Vec<(usize, i64, VersionWindow)>, state: Option<i64>, log: usize },
    Prune { session: usize, at: Moment, windows: Vec<(usize, VersionWindow)> },
    View { session: usize, at: Moment, windows: Vec<(usize, VersionWindow)>, most: u32 },
    Copy { from: usize, to: usize },
    Forget { session: usize },
}

fn moment() -> impl Strategy<Value = Moment> {
    // the clock goes backwards as often as forwards
    (-5i64..40, -2i64..6).prop_map(|(now, turn)| Moment { now, turn })
}

fn window() -> impl Strategy<Value = VersionWindow> {
    let some = |most: u32| prop_oneof![2 => Just(None), 1 => (0..most).prop_map(Some)];
    (some(5), some(4), prop_oneof![2 => Just(None), 1 => (-1i64..20).prop_map(Some)]).prop_map(|(versions, turns, ttl)| VersionWindow {
        versions,
        turns,
        ttl,
    })
}

fn ask() -> impl Strategy<Value = Ask> {
    let session = 0..2usize;
    let windows = || prop::collection::vec((0..TAGS.len(), window()), 0..4);
    let off = || prop_oneof![6 => Just(0i64), 1 => -2i64..3];
    let writes = prop::collection::vec((0..TAGS.len(), off(), window()), 0..4);
    prop_oneof![
        6 => (session.clone(), moment(), prop::bool::weighted(0.2), writes, prop::option::of(off()), 0..2usize)
            .prop_map(|(session, at, turn, writes, state, log)| Ask::Commit { session, at, turn, writes, state, log }),
        2 => (session.clone(), moment(), windows()).prop_map(|(session, at, windows)| Ask::Prune { session, at, windows }),
        3 => (session.clone(), moment(), windows(), 0..4u32)
            .prop_map(|(session, at, windows, most)| Ask::View { session, at, windows, most }),
        1 => (session.clone(), session.clone()).prop_map(|(from, to)| Ask::Copy { from, to }),
        1 => session.prop_map(|session| Ask::Forget { session }),
    ]
}

/// A session of the model.
#[derive(Debug, Clone, Default)]
struct Session {
    at: Moment,
    turns: i64,
    seq: i64,
    artifacts: BTreeMap<String, Vec<ArtifactVersion>>,
    archive: Vec<ArchivedVersion>,
    state: Option<SessionState>,
    log: Vec<LogRecord>,
}

impl Session {
    fn latest(&self, tag: &str) -> Option<i64> {
        Some(self.artifacts.get(tag)?.last()?.version)
    }

    fn note(&mut self, at: Moment, record: Json) {
        self.seq += 1;
        self.log.push(LogRecord { seq: self.seq, at, record });
    }

    fn prune(&mut self, tag: &str, window: VersionWindow, at: Moment, pruned: &mut Vec<PrunedVersion>) {
        for reason in [PruneReason::Versions, PruneReason::Turns, PruneReason::Ttl] {
            let Some(versions) = self.artifacts.get_mut(tag) else { return };
            let head = versions.last().unwrap().version;
            let one = |reason| match reason {
                PruneReason::Versions => VersionWindow { turns: None, ttl: None, ..window },
                PruneReason::Turns => VersionWindow { versions: None, ttl: None, ..window },
                PruneReason::Ttl => VersionWindow { versions: None, turns: None, ..window },
            };
            let out: Vec<ArtifactVersion> = versions.iter().filter(|v| !inside(v, head, one(reason), at)).cloned().collect();
            versions.retain(|v| inside(v, head, one(reason), at));
            if !out.is_empty() {
                let numbers: Vec<i64> = out.iter().map(|v| v.version).collect();
                self.note(at, json!({ "op": "prune", "tag": tag, "versions": numbers, "reason": reason.word() }));
                self.archive.extend(out.into_iter().map(|version| ArchivedVersion { tag: tag.to_owned(), version, archived: at, reason }));
                pruned.push(PrunedVersion { tag: tag.to_owned(), versions: numbers, reason });
            }
        }
    }
}

/// Whether a version is within a window.
fn inside(version: &ArtifactVersion, head: i64, window: VersionWindow, at: Moment) -> bool {
    version.version == head
        || (window.versions.is_none_or(|n| head - version.version < i64::from(n))
            && window.turns.is_none_or(|n| at.turn - version.at.turn < i64::from(n))
            && window.ttl.is_none_or(|ms| at.now - version.at.now < ms))
}

/// The last window of each tag.
fn named(windows: &[(usize, VersionWindow)]) -> Vec<(String, VersionWindow)> {
    windows.iter().map(|(tag, window)| (TAGS[*tag].to_owned(), *window)).collect()
}

fn last_of(windows: &[(String, VersionWindow)]) -> Vec<(String, VersionWindow)> {
    let later = |at: usize, tag: &str| windows.iter().skip(at + 1).any(|(other, _)| other == tag);
    windows.iter().enumerate().filter(|(at, (tag, _))| !later(*at, tag)).map(|(_, window)| window.clone()).collect()
}

fn base(latest: Option<i64>, off: i64) -> Option<i64> {
    match latest {
        None => (off != 0).then_some(off),
        Some(latest) => Some(latest + off),
    }
}

/// Runs a request on the model and on the store, and compares the answers.
fn both(store: &SqlStore, homes: &[Home; 2], model: &mut [Option<Session>; 2], ask: Ask) {
    match ask {
        Ask::Commit { session, at, turn, writes, state, log } => {
            let mut after = model[session].clone().unwrap_or_default();
            let mut batch = Batch { at, turn, log: vec![json!({ "op": "read" }); log], ..Batch::default() };
            let mut conflict = None;
            if let Some(off) = state {
                let revision = after.state.as_ref().map(|state| state.revision);
                batch.state_based_on = base(revision, off);
                batch.state = Some(json!({ "at": at.now }));
                if batch.state_based_on == revision {
                    after.state = Some(SessionState { revision: revision.unwrap_or(0) + 1, at, value: json!({ "at": at.now }) });
                } else {
                    conflict = Some((None, revision));
                }
            }
            for record in &batch.log {
                after.note(at, record.clone());
            }
            let mut versions = Vec::new();
            for (tag, off, keep) in &writes {
                let tag = TAGS[*tag];
                let latest = after.latest(tag);
                let (based_on, version) = (base(latest, *off), latest.unwrap_or(0) + 1);
                let value = json!({ "tag": tag, "n": version, "at": at.now });
                batch.writes.push(write(tag, based_on, value.clone(), *keep));
                if based_on != latest {
                    // a conflict about an artifact says more than one about the state
                    conflict = Some((Some(tag.to_owned()), latest));
                    break;
                }
                after.artifacts.entry(tag.to_owned()).or_default().push(ArtifactVersion { version, based_on, at, value });
                after.note(at, json!({ "op": "write", "tag": tag, "version": version }));
                versions.push(version);
            }
            let written = turn || !batch.writes.is_empty() || batch.state.is_some();
            let empty = !written && batch.log.is_empty();
            let mut pruned = Vec::new();
            for (tag, keep) in last_of(&writes.iter().map(|(tag, _, keep)| (TAGS[*tag].to_owned(), *keep)).collect::<Vec<_>>()) {
                if conflict.is_none() {
                    after.prune(&tag, keep, at, &mut pruned);
                }
            }
            let changed = batch.state.is_some();
            let done = block_on(store.commit(&homes[session], batch)).unwrap();
            match conflict {
                Some((tag, latest)) => assert_eq!(done, CommitOutcome::Conflict { tag, latest }),
                None => {
                    let state = after.state.as_ref().filter(|_| changed).map(|state| state.revision);
                    assert_eq!(done, CommitOutcome::Applied { versions, state, pruned });
                    if written {
                        after.at = at;
                    }
                    if turn {
                        after.turns = after.turns.max(at.turn);
                    }
                    if !empty {
                        model[session] = Some(after);
                    }
                }
            }
        }
        Ask::Prune { session, at, windows } => {
            let windows = named(&windows);
            let mut pruned = Vec::new();
            if let Some(session) = &mut model[session] {
                for (tag, window) in last_of(&windows) {
                    session.prune(&tag, window, at, &mut pruned);
                }
            }
            assert_eq!(block_on(store.prune(&homes[session], at, &windows)).unwrap(), pruned);
        }
        Ask::View { session, at, windows, most } => {
            let windows = named(&windows);
            let last = last_of(&windows);
            let artifacts = model[session].iter().flat_map(|session| &session.artifacts);
            let wanted: Vec<Artifact> = artifacts
                .map(|(tag, versions)| {
                    let (head, earlier) = versions.split_last().unwrap();
                    let window = last.iter().find(|(other, _)| other == tag).map(|(_, window)| *window);
                    let newest = &earlier[earlier.len().saturating_sub(most as usize)..];
                    let shown = newest.iter().filter(|v| window.is_some_and(|window| inside(v, head.version, window, at)));
                    let history = shown.map(|v| v.value.clone()).collect();
                    Artifact { tag: tag.clone(), version: head.version, value: head.value.clone(), history }
                })
                .collect();
            assert_eq!(block_on(store.view(&homes[session], at, &windows, most)).unwrap(), wanted);
        }
        Ask::Copy { from, to } => {
            let dump = block_on(store.dump(&homes[from])).unwrap();
            let wanted = model[from].as_ref().map(|session| SessionDump {
                artifacts: session.artifacts.clone().into_iter().collect(),
                archive: session.archive.clone(),
                state: session.state.clone(),
                at: session.at,
                turns: session.turns,
            });
            assert_eq!(dump, wanted);
            if let Some(dump) = dump {
                let there = model[to].clone().unwrap_or_default();
                let free = there.artifacts.is_empty() && there.archive.is_empty() && there.state.is_none() && there.turns == 0;
                assert_eq!(block_on(store.restore(&homes[to], dump)).unwrap(), free);
                if free {
                    let copy = model[from].clone().unwrap();
                    model[to] = Some(Session { seq: there.seq + i64::try_from(copy.archive.len()).unwrap(), log: there.log, ..copy });
                }
            }
        }
        Ask::Forget { session } => {
            assert_eq!(block_on(store.forget(&homes[session])).unwrap(), model[session].take().is_some());
        }
    }
}

/// Everything that is stored of a session.
fn compare(store: &SqlStore, home: &Home, model: Option<&Session>) {
    let none = Session::default();
    let session = model.unwrap_or(&none);
    for tag in TAGS {
        let versions = session.artifacts.get(tag).cloned().unwrap_or_default();
        assert_eq!(block_on(store.versions(home, tag, ALL)).unwrap(), versions);
        let archive: Vec<ArchivedVersion> = session.archive.iter().filter(|archived| archived.tag == tag).cloned().collect();
        assert_eq!(block_on(store.archive(home, Some(tag), ALL)).unwrap(), archive);
    }
    assert_eq!(block_on(store.archive(home, None, ALL)).unwrap(), session.archive);
    assert_eq!(block_on(store.log(home, ALL)).unwrap(), session.log);
    assert_eq!(block_on(store.state(home)).unwrap(), session.state);
    let info = block_on(store.info(home)).unwrap().map(|info| (info.artifacts, info.at, info.turns));
    assert_eq!(info, model.map(|session| (i64::try_from(session.artifacts.len()).unwrap(), session.at, session.turns)));
}

fn like_the_model(store: &SqlStore, cases: u32) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let run = runner.run(&prop::collection::vec(ask(), 1..25), |asks| {
        let owner = format!("case {}", NEXT.fetch_add(1, Ordering::Relaxed));
        let homes = [home(&owner, "one"), home(&owner, "two")];
        let mut model = [None, None];
        for ask in asks {
            both(store, &homes, &mut model, ask);
        }
        for (home, session) in homes.iter().zip(&model) {
            compare(store, home, session.as_ref());
        }
        Ok(())
    });
    run.unwrap();
}

#[test]
fn sqlite() {
    like_the_model(&Bed::sqlite().store, 100);
}

#[test]
fn postgres() {
    if let Some(bed) = Bed::postgres() {
        like_the_model(&bed.store, 60);
    }
}
