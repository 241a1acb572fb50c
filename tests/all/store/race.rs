//! Many writers of one artifact: no update is lost, no version is given twice, and every refused write is told.
//!
//! Each writer reads the latest version and its count, and writes the next count based on that version. So the last
//! count is the number of accepted writes, whoever made them. `TAPSTER_STORE_FULL=1` runs the counts of
//! `docs/reliability.md`; without it there are fewer writes.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use tapster_session::store::{Batch, CommitOutcome, SessionStore, SqlStore, VersionWindow, block_on};

use super::bed::{ALL, Bed, at, home, write};

const THREADS: usize = 16;
const PROCESSES: usize = 2;
/// Where a writing process finds the store.
const CHILD: &str = "TAPSTER_STORE_RACE";

/// Whether the counts of the documentation are wanted.
pub(crate) fn full() -> bool {
    std::env::var_os("TAPSTER_STORE_FULL").is_some()
}

/// How often each thread tries to write.
fn attempts() -> usize {
    if full() { 1_000 } else { 20 }
}

/// Writes from many threads of a runtime of its own. Returns the accepted and the refused writes.
fn contend(address: &str) -> (u64, u64) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build().unwrap();
    let counts = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    runtime.block_on(async {
        let store = SqlStore::open(address).await.unwrap();
        let tasks: Vec<_> = (0..THREADS)
            .map(|_| {
                let (store, counts) = (store.clone(), counts.clone());
                tokio::spawn(async move {
                    for _ in 0..attempts() {
                        let counted = if one(&store).await { &counts.0 } else { &counts.1 };
                        counted.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        store.close().await;
    });
    (counts.0.load(Ordering::Relaxed), counts.1.load(Ordering::Relaxed))
}

/// One more, based on what is there. False if somebody else was faster.
async fn one(store: &SqlStore) -> bool {
    let home = home("race", "one");
    let latest = store.view(&home, at(0, 0), &[], 0).await.unwrap().pop();
    let (based_on, count) = latest.map_or((None, 0), |a| (Some(a.version), a.value["count"].as_u64().unwrap()));
    let batch = Batch { writes: vec![write("t", based_on, json!({ "count": count + 1 }), VersionWindow::default())], ..Batch::default() };
    match store.commit(&home, batch).await.unwrap() {
        CommitOutcome::Applied { versions, .. } => {
            assert_eq!(versions, [based_on.unwrap_or(0) + 1]);
            true
        }
        CommitOutcome::Conflict { tag, latest } => {
            assert!(tag.as_deref() == Some("t") && latest > based_on, "{latest:?} {based_on:?}");
            false
        }
    }
}

/// The inside of a writing process; without the variable, nothing.
#[test]
fn child() {
    if let Ok(address) = std::env::var(CHILD) {
        let (accepted, refused) = contend(&address);
        writeln!(std::io::stdout().lock(), "\ncounted {accepted} {refused}").unwrap();
    }
}

fn race(name: &str, bed: &Bed) {
    let begun = std::time::Instant::now();
    let program = std::env::current_exe().unwrap();
    let children: Vec<_> = (0..PROCESSES)
        .map(|_| {
            let mut command = Command::new(&program);
            command.args(["--exact", "store::race::child", "--nocapture"]).env(CHILD, &bed.address);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let (mut accepted, mut refused) = (0, 0);
    for child in children {
        let out = child.wait_with_output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert!(out.status.success(), "{text}");
        let counted = text.lines().find_map(|line| line.strip_prefix("counted ")).unwrap();
        let counts: Vec<u64> = counted.split(' ').map(|n| n.parse().unwrap()).collect();
        accepted += counts[0];
        refused += counts[1];
    }
    assert_eq!(accepted + refused, (PROCESSES * THREADS * attempts()) as u64, "every write is accepted or refused");
    let versions = block_on(bed.store.versions(&home("race", "one"), "t", ALL)).unwrap();
    let numbers: Vec<i64> = versions.iter().map(|v| v.version).collect();
    assert_eq!(numbers, (1..=i64::try_from(accepted).unwrap()).collect::<Vec<_>>(), "one version for each accepted write");
    for version in &versions {
        assert_eq!(version.value, json!({ "count": version.version }), "each count follows the one before");
        assert_eq!(version.based_on, (version.version > 1).then(|| version.version - 1));
    }
    let log = block_on(bed.store.log(&home("race", "one"), ALL)).unwrap();
    assert_eq!(log.len() as u64, accepted, "and one record of the log");
    let seconds = begun.elapsed().as_secs_f32();
    let what = format!("{PROCESSES} processes of {THREADS} threads, {} writes each", attempts());
    writeln!(std::io::stdout().lock(), "race {name}: {what}: {accepted} accepted, {refused} refused, 0 lost, 0 twice, {seconds:.1} s")
        .unwrap();
}

#[test]
fn sqlite() {
    race("sqlite", &Bed::sqlite());
}

#[test]
fn postgres() {
    if let Some(bed) = Bed::postgres() {
        race("postgres", &bed);
    }
}
