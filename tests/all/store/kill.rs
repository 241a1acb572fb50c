//! A process that is killed while it writes: every version that it was told of is there, and nothing is half-written.
//!
//! The writing process prints each version when its commit returns. It is killed with `kill -9` after a random number
//! of such lines and a random pause. `TAPSTER_STORE_FULL=1` kills 500 times; without it fewer.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value as Json, json};
use tapster_session::store::{Batch, CommitOutcome, ListPage, SessionStore, SqlStore, VersionWindow, block_on};

use super::bed::{ALL, Bed, at, home, open, write};
use super::race::full;

/// Where the writing process finds the store.
const CHILD: &str = "TAPSTER_STORE_KILL";
/// How many versions of the second artifact are kept.
const KEPT: u32 = 3;

/// How often a writer is killed.
fn kills() -> usize {
    if full() { 500 } else { 25 }
}

/// A value that is large enough to take several pages of a file, and says its own number twice.
fn value(n: i64) -> Json {
    json!({ "n": n, "text": "x".repeat(usize::try_from(n % 7).unwrap() * 3_000), "again": n })
}

/// The inside of the writing process: writes until it is killed. Without the variable, nothing.
#[test]
fn child() {
    let Ok(address) = std::env::var(CHILD) else { return };
    block_on(async {
        let store = SqlStore::open(&address).await.unwrap();
        let home = home("kill", "one");
        let state = store.state(&home).await.unwrap();
        let mut n = state.map_or(0, |state| state.revision);
        let mut out = std::io::stdout().lock();
        writeln!(out).unwrap();
        loop {
            let base = (n > 0).then_some(n);
            let writes = vec![
                write("all", base, value(n + 1), VersionWindow::default()),
                write("some", base, value(n + 1), VersionWindow { versions: Some(KEPT), ..VersionWindow::default() }),
            ];
            let batch = Batch { at: at(n + 1, 1), turn: true, writes, state: Some(value(n + 1)), state_based_on: base, log: vec![] };
            match store.commit(&home, batch).await.unwrap() {
                CommitOutcome::Applied { versions, state, .. } => assert_eq!((versions, state), (vec![n + 1, n + 1], Some(n + 1))),
                conflict @ CommitOutcome::Conflict { .. } => unreachable!("{conflict:?}"),
            }
            n += 1;
            writeln!(out, "stored {n}").unwrap();
        }
    });
}

/// Random numbers that differ from run to run: the moment of a kill cannot be repeated anyway.
fn random(below: u64) -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish() % below
}

/// Starts a writer, kills it, and returns the last version that it was told of.
fn write_and_kill(address: &str) -> i64 {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(program);
    command.args(["--exact", "store::kill::child", "--nocapture"]).env(CHILD, address);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut last = 0;
    let mut left = random(6);
    let stored = |line: String| line.strip_prefix("stored ").map(|n| n.parse::<i64>().unwrap());
    while left > 0 {
        let line = lines.next().unwrap().unwrap();
        if let Some(n) = stored(line) {
            (last, left) = (n, left - 1);
        }
    }
    // within the time of a commit or two, or while the store is opened
    std::thread::sleep(Duration::from_micros(random(4_000)));
    child.kill().unwrap();
    child.wait().unwrap();
    // what it was told of and nobody has read yet; the last line may be cut
    for line in lines.map_while(Result::ok) {
        if let Some(n) = stored(line) {
            last = last.max(n);
        }
    }
    last
}

/// Everything agrees: the heads, the versions, the archive, the state and the log.
fn check(store: &SqlStore, told: i64) -> i64 {
    let home = home("kill", "one");
    block_on(async {
        // a server may still be at the last request of a process that is gone; a change waits until it is done
        store.prune(&home, at(0, 0), &[]).await.unwrap();
        let state = store.state(&home).await.unwrap();
        let n = state.as_ref().map_or(0, |state| state.revision);
        assert!(n >= told, "version {told} was acknowledged and {n} is the latest");
        if n == 0 {
            return 0;
        }
        assert_eq!(state.unwrap().value, value(n));
        let artifacts = store.view(&home, at(0, 0), &[], 0).await.unwrap();
        let heads: Vec<_> = artifacts.iter().map(|a| (a.tag.as_str(), a.version, &a.value)).collect();
        assert_eq!(heads, [("all", n, &value(n)), ("some", n, &value(n))]);
        // of the many earlier ones, those since the last checks
        let from = (n - 40).max(0);
        let all = store.versions(&home, "all", ListPage { after: from, limit: 100 }).await.unwrap();
        assert_eq!(all.iter().map(|v| v.version).collect::<Vec<_>>(), (from + 1..=n).collect::<Vec<_>>());
        assert!(all.iter().all(|v| v.value == value(v.version) && v.based_on == (v.version > 1).then(|| v.version - 1)));
        let some = store.versions(&home, "some", ALL).await.unwrap();
        let kept = (n - i64::from(KEPT)).max(0);
        assert_eq!(some.iter().map(|v| v.version).collect::<Vec<_>>(), (kept + 1..=n).collect::<Vec<_>>());
        let after = (kept - 40).max(0);
        let archived = store.archive(&home, Some("some"), ListPage { after, limit: 100 }).await.unwrap();
        assert_eq!(archived.iter().map(|a| a.version.version).collect::<Vec<_>>(), (after + 1..=kept).collect::<Vec<_>>());
        assert!(archived.iter().all(|a| a.version.value == value(a.version.version)));
        // two writes a turn, and a record for each version that was pruned
        let records = 2 * n + kept;
        let log = store.log(&home, ListPage { after: (records - 50).max(0), limit: 100 }).await.unwrap();
        assert_eq!(log.last().map(|logged| logged.seq), Some(records));
        n
    })
}

fn kill(name: &str, bed: &Bed) {
    let begun = std::time::Instant::now();
    let (mut told, mut unheard) = (0, 0);
    for _ in 0..kills() {
        told = write_and_kill(&bed.address).max(told);
        // opened anew, as after a restart
        let store = open(&bed.address);
        let n = check(&store, told);
        block_on(store.close());
        unheard += usize::from(n > told);
        told = n;
    }
    let store = open(&bed.address);
    let versions = block_on(store.versions(&home("kill", "one"), "all", ALL)).unwrap();
    assert!(versions.iter().map(|v| v.version).eq(1..=told) && versions.iter().all(|v| v.value == value(v.version)));
    let seconds = begun.elapsed().as_secs_f32();
    let what = format!("{} kills, {told} versions, 0 lost, 0 half-written", kills());
    writeln!(std::io::stdout().lock(), "kill {name}: {what}; stored but not yet told: {unheard}; {seconds:.1} s").unwrap();
}

#[test]
fn sqlite() {
    kill("sqlite", &Bed::sqlite());
}

#[test]
fn postgres() {
    if let Some(bed) = Bed::postgres() {
        kill("postgres", &bed);
    }
}
