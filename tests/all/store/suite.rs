//! What every store of sessions does, on both databases.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use serde_json::{Value as Json, json};
use tapster_session::store::{
    Artifact, Batch, CommitOutcome, Home, ListPage, Moment, PruneReason, PrunedVersion, SessionDump, SessionStore, SqlStore, TemplateStore,
    VersionWindow, block_on,
};

use crate::store::bed::{ALL, Bed, KEEP, at, home, open, put, write};

/// Runs a test on a store of each database.
macro_rules! on_both {
    ($($(#[$doc:meta])* fn $name:ident($bed:ident) $body:block)*) => {
        $(
            mod $name {
                use super::*;

                $(#[$doc])*
                fn test($bed: &Bed) $body

                #[test]
                fn sqlite() {
                    test(&Bed::sqlite());
                }

                #[test]
                fn postgres() {
                    if let Some(bed) = Bed::postgres() {
                        test(&bed);
                    }
                }
            }
        )*
    };
}

fn commit(store: &SqlStore, home: &Home, batch: Batch) -> CommitOutcome {
    block_on(store.commit(home, batch)).unwrap()
}

fn view(store: &SqlStore, home: &Home, at: Moment, windows: &[(&str, VersionWindow)], most: u32) -> Vec<Artifact> {
    let windows: Vec<(String, VersionWindow)> = windows.iter().map(|(tag, window)| ((*tag).to_owned(), *window)).collect();
    block_on(store.view(home, at, &windows, most)).unwrap()
}

fn artifact(tag: &str, version: i64, value: Json, history: &[Json]) -> Artifact {
    Artifact { tag: tag.to_owned(), version, value, history: history.to_vec() }
}

fn stored(store: &SqlStore, home: &Home, tag: &str) -> Vec<i64> {
    block_on(store.versions(home, tag, ALL)).unwrap().iter().map(|version| version.version).collect()
}

on_both! {
    /// TS-TAG-04, TS-MODEL-11: one tag has many versions; each has its number, its base, and when it was written.
    fn versions_follow_each_other(bed) {
        let (store, home) = (&bed.store, home("me", "chat"));
        assert_eq!(view(store, &home, at(0, 1), &[], 9), []);
        for n in 1..=4 {
            assert_eq!(put(store, &home, at(n * 10, n), write("mood", (n > 1).then_some(n - 1), json!({ "n": n }), KEEP)), n);
        }
        let history = [json!({ "n": 1 }), json!({ "n": 2 }), json!({ "n": 3 })];
        assert_eq!(view(store, &home, at(40, 4), &[("mood", KEEP)], 9), [artifact("mood", 4, json!({ "n": 4 }), &history)]);
        assert_eq!(view(store, &home, at(40, 4), &[("mood", KEEP)], 2), [artifact("mood", 4, json!({ "n": 4 }), &history[1..])]);
        assert_eq!(view(store, &home, at(40, 4), &[("mood", KEEP)], 0), [artifact("mood", 4, json!({ "n": 4 }), &[])]);
        assert_eq!(view(store, &home, at(40, 4), &[], 9), [artifact("mood", 4, json!({ "n": 4 }), &[])]);

        let versions = block_on(store.versions(&home, "mood", ListPage { after: 1, limit: 2 })).unwrap();
        let shown: Vec<_> = versions.iter().map(|v| (v.version, v.based_on, v.at, v.value.clone())).collect();
        assert_eq!(shown, [(2, Some(1), at(20, 2), json!({ "n": 2 })), (3, Some(2), at(30, 3), json!({ "n": 3 }))]);
        assert_eq!(stored(store, &home, "other"), [0; 0]);
    }

    fn a_stale_base_is_told_and_nothing_is_applied(bed) {
        let (store, home) = (&bed.store, home("me", "chat"));
        put(store, &home, at(1, 1), write("a", None, json!(1), KEEP));
        put(store, &home, at(2, 1), write("a", Some(1), json!(2), KEEP));
        let before = block_on(store.log(&home, ALL)).unwrap();
        for (base, tag, latest) in [(None, "a", Some(2)), (Some(1), "a", Some(2)), (Some(3), "a", Some(2)), (Some(i64::MAX), "a", Some(2)),
            (Some(0), "b", None), (Some(1), "b", None), (Some(-1), "b", None)]
        {
            let writes = vec![write("other", None, json!("x"), KEEP), write(tag, base, json!("no"), KEEP)];
            let batch = Batch { at: at(9, 9), writes, state: Some(json!({})), log: vec![json!({ "op": "read" })], ..Batch::default() };
            assert_eq!(commit(store, &home, batch), CommitOutcome::Conflict { tag: Some(tag.to_owned()), latest }, "{base:?}");
        }
        assert_eq!(view(store, &home, at(9, 9), &[], 9), [artifact("a", 2, json!(2), &[])]);
        assert_eq!((block_on(store.log(&home, ALL)).unwrap(), block_on(store.state(&home)).unwrap()), (before, None));
        assert_eq!(block_on(store.sessions(None, ALL)).unwrap()[0].at, at(2, 1));
    }

    fn a_batch_is_one_change(bed) {
        let (store, home) = (&bed.store, home("me", "chat"));
        let writes = vec![write("b", None, json!("b1"), KEEP), write("a", None, json!("a1"), KEEP), write("b", Some(1), json!("b2"), KEEP)];
        let log = vec![json!({ "op": "read", "tag": "x" })];
        let batch = Batch { at: at(5, 2), writes, state: Some(json!({ "k": 1 })), log, ..Batch::default() };
        assert_eq!(commit(store, &home, batch), CommitOutcome::Applied { versions: vec![1, 1, 2], state: Some(1), pruned: vec![] });
        let shown = view(store, &home, at(5, 2), &[("b", KEEP)], 9);
        assert_eq!(shown, [artifact("a", 1, json!("a1"), &[]), artifact("b", 2, json!("b2"), &[json!("b1")])]);
        let log = block_on(store.log(&home, ALL)).unwrap();
        let records: Vec<Json> = log.iter().map(|logged| logged.record.clone()).collect();
        let wrote = |tag: &str, version: i64| json!({ "op": "write", "tag": tag, "version": version });
        assert_eq!(records, [json!({ "op": "read", "tag": "x" }), wrote("b", 1), wrote("a", 1), wrote("b", 2)]);
        assert_eq!(log.iter().map(|logged| (logged.seq, logged.at)).collect::<Vec<_>>(), (1..=4).map(|n| (n, at(5, 2))).collect::<Vec<_>>());
        assert_eq!(block_on(store.log(&home, ListPage { after: 1, limit: 2 })).unwrap(), log[1..3]);

        assert_eq!(commit(store, &home, Batch::default()), CommitOutcome::Applied { versions: vec![], state: None, pruned: vec![] });
        assert_eq!(block_on(store.sessions(None, ALL)).unwrap()[0].at, at(5, 2), "an empty batch changes nothing");
    }

    fn the_state_has_revisions(bed) {
        let (store, home) = (&bed.store, home("me", "chat"));
        let change = |base: Option<i64>, value: Json| Batch { at: at(value["n"].as_i64().unwrap(), 1), state: Some(value), state_based_on: base, ..Batch::default() };
        assert_eq!(block_on(store.state(&home)).unwrap(), None);
        assert_eq!(commit(store, &home, change(Some(1), json!({ "n": 0 }))), CommitOutcome::Conflict { tag: None, latest: None });
        let applied = |revision| CommitOutcome::Applied { versions: vec![], state: Some(revision), pruned: vec![] };
        assert_eq!(commit(store, &home, change(None, json!({ "n": 1 }))), applied(1));
        assert_eq!(commit(store, &home, change(None, json!({ "n": 2 }))), CommitOutcome::Conflict { tag: None, latest: Some(1) });
        assert_eq!(commit(store, &home, change(Some(1), json!({ "n": 3 }))), applied(2));
        assert_eq!(commit(store, &home, change(Some(1), json!({ "n": 4 }))), CommitOutcome::Conflict { tag: None, latest: Some(2) });
        let state = block_on(store.state(&home)).unwrap().unwrap();
        assert_eq!((state.revision, state.at, state.value), (2, at(3, 1), json!({ "n": 3 })));
    }

    fn a_turn_is_completed_once_if_it_says_what_was_completed_before(bed) {
        let (store, home) = (&bed.store, home("me", "chat"));
        let turn = |n: i64| Batch { at: at(1, n), turn: true, turns_before: Some(n - 1), log: vec![json!({ "op": "turn" })], ..Batch::default() };
        let applied = CommitOutcome::Applied { versions: vec![], state: None, pruned: vec![] };
        for n in [1, 2] {
            assert_eq!(commit(store, &home, turn(n)), applied);
            assert_eq!(commit(store, &home, turn(n)), CommitOutcome::Conflict { tag: None, latest: None });
        }
        assert_eq!(block_on(store.log(&home, ALL)).unwrap().len(), 2, "a refused turn leaves nothing");
    }

    /// TS-MODEL-10: how much is kept is said with the write.
    fn versions_leave_their_window_for_the_archive(bed) {
        let (store, home) = (&bed.store, home("me", "chat"));
        let two = VersionWindow { versions: Some(2), ..KEEP };
        for n in 1..=3 {
            put(store, &home, at(n, n), write("a", (n > 1).then_some(n - 1), json!(n), two));
        }
        assert_eq!(stored(store, &home, "a"), [2, 3]);
        let archive = block_on(store.archive(&home, Some("a"), ALL)).unwrap();
        let record = &archive[0];
        assert_eq!((archive.len(), record.tag.as_str(), record.archived, record.reason), (1, "a", at(3, 3), PruneReason::Versions));
        assert_eq!((record.version.version, record.version.based_on, record.version.at, &record.version.value), (1, None, at(1, 1), &json!(1)));
        let log = block_on(store.log(&home, ALL)).unwrap();
        assert_eq!(log.last().unwrap().record, json!({ "op": "prune", "tag": "a", "versions": [1], "reason": "versions" }));
        assert_eq!(log.iter().map(|logged| logged.seq).collect::<Vec<_>>(), [1, 2, 3, 4]);

        // a narrower window of the same write; of two writes in a batch the last decides
        let writes = vec![write("a", Some(3), json!(4), KEEP), write("a", Some(4), json!(5), VersionWindow::LATEST)];
        let pruned = vec![PrunedVersion { tag: "a".to_owned(), versions: vec![2, 3, 4], reason: PruneReason::Versions }];
        let done = commit(store, &home, Batch { at: at(4, 4), writes, ..Batch::default() });
        assert_eq!(done, CommitOutcome::Applied { versions: vec![4, 5], state: None, pruned });
        assert_eq!(stored(store, &home, "a"), [5]);
        let archived = |page| -> Vec<i64> { block_on(store.archive(&home, None, page)).unwrap().iter().map(|a| a.version.version).collect() };
        assert_eq!((archived(ALL), archived(ListPage { after: 1, limit: 2 })), (vec![1, 2, 3, 4], vec![2, 3]));
        assert_eq!(put(store, &home, at(5, 5), write("a", Some(5), json!(6), two)), 6, "numbers go on");
    }

    fn windows_of_turns_and_time_hide_before_they_prune(bed) {
        let (store, home) = (&bed.store, home("me", "chat"));
        for n in 1..=6 {
            put(store, &home, at(n * 100, n / 2), write("a", (n > 1).then_some(n - 1), json!(n), KEEP));
        }
        let history = |moment: Moment, window: VersionWindow| -> Vec<i64> {
            let shown = view(store, &home, moment, &[("a", window)], 99);
            assert_eq!((shown.len(), shown[0].version), (1, 6), "the latest is always shown");
            shown[0].history.iter().map(|value| value.as_i64().unwrap()).collect()
        };
        // turns 0 1 1 2 2 3, times 100 … 600
        for (moment, window, seen) in [
            (at(600, 3), VersionWindow { turns: Some(2), ..KEEP }, vec![4, 5]),
            (at(600, 3), VersionWindow { turns: Some(3), ..KEEP }, vec![2, 3, 4, 5]),
            (at(600, 9), VersionWindow { turns: Some(2), ..KEEP }, vec![]),
            (at(600, 1), VersionWindow { turns: Some(1), ..KEEP }, vec![2, 3, 4, 5]),
            (at(600, 3), VersionWindow { turns: Some(0), ..KEEP }, vec![]),
            (at(600, 3), VersionWindow { ttl: Some(200), ..KEEP }, vec![5]),
            (at(600, 3), VersionWindow { ttl: Some(201), ..KEEP }, vec![4, 5]),
            (at(50, 3), VersionWindow { ttl: Some(1), ..KEEP }, vec![1, 2, 3, 4, 5]),
            (at(600, 3), VersionWindow { versions: Some(3), ..KEEP }, vec![4, 5]),
            (at(600, 3), VersionWindow { versions: Some(3), turns: Some(3), ttl: Some(150) }, vec![5]),
            (at(i64::MIN, i64::MIN), VersionWindow { versions: Some(u32::MAX), turns: Some(u32::MAX), ttl: Some(i64::MAX) }, vec![1, 2, 3, 4, 5]),
            (at(i64::MAX, i64::MAX), VersionWindow { versions: None, turns: Some(1), ttl: Some(i64::MIN) }, vec![]),
            (at(600, 3), KEEP, vec![1, 2, 3, 4, 5]),
        ] {
            assert_eq!(history(moment, window), seen, "{moment:?} {window:?}");
        }
        assert_eq!(stored(store, &home, "a"), [1, 2, 3, 4, 5, 6]);

        // each version goes for the first bound that it does not meet
        let window = VersionWindow { versions: Some(5), turns: Some(3), ttl: Some(201) };
        let pruned = block_on(store.prune(&home, at(600, 4), &[("a".to_owned(), window), ("none".to_owned(), window)])).unwrap();
        let part = |versions: &[i64], reason| PrunedVersion { tag: "a".to_owned(), versions: versions.to_vec(), reason };
        assert_eq!(pruned, [part(&[1], PruneReason::Versions), part(&[2, 3], PruneReason::Turns)]);
        let pruned = block_on(store.prune(&home, at(700, 4), &[("a".to_owned(), window)])).unwrap();
        assert_eq!(pruned, [part(&[4], PruneReason::Ttl)]);
        assert_eq!(block_on(store.prune(&home, at(700, 4), &[("a".to_owned(), window)])).unwrap(), []);
        assert_eq!(stored(store, &home, "a"), [5, 6]);
        let records: Vec<Json> = block_on(store.log(&home, ListPage { after: 6, limit: 9 })).unwrap().into_iter().map(|l| l.record).collect();
        let prune = |versions: Json, reason: &str| json!({ "op": "prune", "tag": "a", "versions": versions, "reason": reason });
        assert_eq!(records, [prune(json!([1]), "versions"), prune(json!([2, 3]), "turns"), prune(json!([4]), "ttl")]);
        let archive = block_on(store.archive(&home, None, ALL)).unwrap();
        assert_eq!(archive.iter().map(|a| (a.version.version, a.archived.now)).collect::<Vec<_>>(), [(1, 600), (2, 600), (3, 600), (4, 700)]);
    }

    /// TS-MODEL-01, TS-MODEL-02: an artifact belongs to an owner and lives in a session.
    fn sessions_do_not_meet(bed) {
        let store = &bed.store;
        let homes = [home("a", "b"), home("ab", ""), home("", "ab"), home("a", "B"), home("A", "b"), home("é", "b"), home("e\u{301}", "b")];
        for (n, home) in (1..).zip(&homes) {
            put(store, home, at(n, n), write("t", None, json!(n), KEEP));
        }
        for (n, home) in (1..).zip(&homes) {
            assert_eq!(view(store, home, at(0, 0), &[], 0), [artifact("t", 1, json!(n), &[])]);
        }
        let mut sorted = homes.to_vec();
        sorted.sort();
        let listed = |owner, page| -> Vec<Home> { block_on(store.sessions(owner, page)).unwrap().into_iter().map(|s| s.home).collect() };
        assert_eq!(listed(None, ALL), sorted);
        assert_eq!(listed(None, ListPage { after: 2, limit: 3 }), sorted[2..5]);
        assert_eq!(listed(Some("a"), ALL), [home("a", "B"), home("a", "b")]);
        assert_eq!(listed(Some("nobody"), ALL), []);

        commit(store, &homes[0], Batch { at: at(9, 9), state: Some(json!(1)), ..Batch::default() });
        put(store, &homes[0], at(9, 9), write("t", Some(1), json!(2), VersionWindow::LATEST));
        assert!(block_on(store.forget(&homes[0])).unwrap() && !block_on(store.forget(&homes[0])).unwrap());
        assert_eq!(listed(None, ALL).len(), 6);
        assert_eq!(view(store, &homes[0], at(0, 0), &[], 0), []);
        assert_eq!((block_on(store.log(&homes[0], ALL)).unwrap(), block_on(store.state(&homes[0])).unwrap()), (vec![], None));
        assert_eq!(block_on(store.archive(&homes[0], None, ALL)).unwrap(), []);
        assert_eq!(put(store, &homes[0], at(9, 9), write("t", None, json!(2), KEEP)), 1, "a forgotten session begins anew");
    }

    fn a_session_moves_as_a_whole(bed) {
        let (store, from, to) = (&bed.store, home("me", "chat"), home("me", "copy"));
        assert_eq!((block_on(store.info(&from)).unwrap(), block_on(store.dump(&from)).unwrap()), (None, None));
        for n in 1..=5 {
            let keep = VersionWindow { versions: Some(2), ..KEEP };
            let writes = vec![write("z", (n > 1).then_some(n - 1), json!(n), keep), write("a", (n > 1).then_some(n - 1), json!([n]), KEEP)];
            let batch = Batch { at: at(n, n), writes, state: Some(json!(n)), state_based_on: (n > 1).then_some(n - 1), ..Batch::default() };
            commit(store, &from, batch);
        }
        for turn in [4, 3] {
            commit(store, &from, Batch { at: at(5, turn), turn: true, ..Batch::default() });
        }
        let info = block_on(store.info(&from)).unwrap().unwrap();
        assert_eq!((info.artifacts, info.at, info.turns), (2, at(5, 3), 4), "the completed turn is never lowered");
        let dump = block_on(store.dump(&from)).unwrap().unwrap();
        let numbers = |versions: &[tapster_session::store::ArtifactVersion]| versions.iter().map(|v| v.version).collect::<Vec<_>>();
        let shown: Vec<_> = dump.artifacts.iter().map(|(tag, versions)| (tag.as_str(), numbers(versions))).collect();
        assert_eq!(shown, [("a", vec![1, 2, 3, 4, 5]), ("z", vec![4, 5])]);
        assert_eq!((dump.archive.len(), dump.at, dump.turns, dump.state.as_ref().unwrap().revision), (3, at(5, 3), 4, 5));

        assert!(!block_on(store.restore(&from, dump.clone())).unwrap(), "a session that exists is left alone");
        assert!(block_on(store.restore(&to, dump.clone())).unwrap());
        assert_eq!(block_on(store.dump(&to)).unwrap().unwrap(), dump);
        assert_eq!(block_on(store.log(&to, ALL)).unwrap(), [], "the log stays where it was made");
        assert_eq!(put(store, &to, at(6, 6), write("z", Some(5), json!(6), VersionWindow::LATEST)), 6);
        let archived: Vec<i64> = block_on(store.archive(&to, None, ALL)).unwrap().iter().map(|a| a.version.version).collect();
        assert_eq!(archived, [1, 2, 3, 4, 5], "new records come behind the old ones");

        let broken = |change: &dyn Fn(&mut SessionDump)| {
            let mut dump = dump.clone();
            change(&mut dump);
            super::super::bed::refused(block_on(store.restore(&home("me", "broken"), dump)), tapster::diag::Code::StoreDamaged);
        };
        broken(&|dump| dump.artifacts[0].1.reverse());
        broken(&|dump| dump.artifacts[0].1[0].version = 0);
        broken(&|dump| dump.artifacts[0].1.clear());
        broken(&|dump| dump.artifacts[1].0 = "a".to_owned());
        broken(&|dump| dump.archive[0].tag = "none".to_owned());
        broken(&|dump| dump.archive[0].version.version = 2);
        broken(&|dump| dump.archive[0].version.version = 5);
        broken(&|dump| dump.state.as_mut().unwrap().revision = 0);
        assert_eq!(block_on(store.info(&home("me", "broken"))).unwrap(), None);
    }

    fn records_of_the_log_change_nothing_else(bed) {
        let (store, new, old) = (&bed.store, home("me", "new"), home("me", "old"));
        let note = |turn| Batch { at: at(99, 99), turn, log: vec![json!({ "op": "write_rejected" })], ..Batch::default() };
        put(store, &old, at(2, 1), write("a", None, json!(1), KEEP));
        commit(store, &old, note(false));
        let info = |home| block_on(store.info(home)).unwrap().map(|info| (info.artifacts, info.at, info.turns));
        assert_eq!(info(&old), Some((1, at(2, 1), 0)));
        commit(store, &new, note(false));
        assert_eq!(info(&new), Some((0, at(0, 0), 0)), "a refused write is not when a session was written");

        let dump = block_on(store.dump(&old)).unwrap().unwrap();
        assert!(block_on(store.restore(&new, dump.clone())).unwrap(), "a session that only has a log can be filled");
        assert_eq!((block_on(store.dump(&new)).unwrap().unwrap(), block_on(store.log(&new, ALL)).unwrap().len()), (dump.clone(), 1));
        assert_eq!(put(store, &new, at(3, 1), write("a", Some(1), json!(2), VersionWindow::LATEST)), 2);
        assert_eq!(block_on(store.log(&new, ALL)).unwrap().iter().map(|logged| logged.seq).collect::<Vec<_>>(), [1, 2, 3]);

        let played = home("me", "played");
        commit(store, &played, note(true));
        assert_eq!(info(&played), Some((0, at(99, 99), 99)));
        assert!(!block_on(store.restore(&played, dump)).unwrap(), "a session with completed turns is not filled");
    }

    fn values_come_back_as_they_were(bed) {
        let (store, home) = (&bed.store, home("me", "chat"));
        let values = [
            json!(null), json!(""), json!("a\u{0}b"), json!("'; DROP TABLE tapster_heads; --"), json!("\u{feff}é灯🎭\u{202e}\\\"\u{7f}"),
            json!([]), json!({}), json!({ "b": 1, "a": { "\u{0}": [1, "2", null, true] }, "": 0 }), json!(0.1), json!(1e-300), json!(-0.0),
            json!(5e-324), json!(u64::MAX), json!(i64::MIN), json!(1.797_693_134_862_315_7e308), json!(0.30000000000000004),
        ];
        for (n, value) in (1..).zip(&values) {
            put(store, &home, at(n, n), write("t", (n > 1).then_some(n - 1), value.clone(), KEEP));
        }
        let back: Vec<Json> = block_on(store.versions(&home, "t", ALL)).unwrap().into_iter().map(|v| v.value).collect();
        assert_eq!(serde_json::to_string(&back).unwrap(), serde_json::to_string(&values).unwrap(), "with the order of keys");
        let shown = view(store, &home, at(99, 99), &[("t", KEEP)], 99);
        assert_eq!(shown[0].history, values[..values.len() - 1]);
    }

    fn what_is_stored_outlives_the_process(bed) {
        let home = home("me", "chat");
        put(&bed.store, &home, at(1, 1), write("t", None, json!("kept"), KEEP));
        block_on(bed.store.close());
        let again = open(&bed.address);
        assert_eq!(view(&again, &home, at(1, 1), &[], 0), [artifact("t", 1, json!("kept"), &[])]);
    }

    fn templates_are_kept_byte_for_byte(bed) {
        let store = &bed.store;
        assert_eq!((block_on(store.list()).unwrap().ids.len(), block_on(store.get("a")).unwrap()), (0, None));
        let bytes = b"\xef\xbb\xbf{\r\n \"id\" : \"a\"}\xff\x00";
        let name = block_on(store.put("a", bytes, false)).unwrap();
        let stored = block_on(store.get("a")).unwrap().unwrap();
        assert_eq!((stored.bytes.as_slice(), stored.name), (&bytes[..], name));
        super::super::bed::refused(block_on(store.put("a", b"{}", false)), tapster::diag::Code::StoreTaken);
        block_on(store.put("a", b"{}", true)).unwrap();
        assert_eq!(block_on(store.get("a")).unwrap().unwrap().bytes, b"{}");
        for id in ["", "..", "../x", "B", "é", "'--", "%"] {
            block_on(store.put(id, id.as_bytes(), false)).unwrap();
        }
        assert_eq!(block_on(store.list()).unwrap().ids, ["", "%", "'--", "..", "../x", "B", "a", "é"]);
        assert!(block_on(store.remove("a")).unwrap() && !block_on(store.remove("a")).unwrap());
    }
}
