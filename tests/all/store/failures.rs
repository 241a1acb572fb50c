//! A process that is killed while it writes: every version that it was told of is there, and nothing is half-written.
//!
//! The writing process prints each version when its commit returns. It is killed with `kill -9` after a random number
//! of such lines and a random pause. `TAPSTER_STORE_FULL=1` kills 500 times; without it fewer.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that panics has failed")]

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value as Json, json};
use tapster_session::store::{Batch, CommitOutcome, ListPage, SessionStore, SqlStore, VersionWindow, block_on};

use crate::store::bed::{ALL, Bed, at, home, open, write};

/// Where the writing process finds the store.
const KILLED_WRITER: &str = "TAPSTER_STORE_KILL";
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
fn killed_writer() {
    let Ok(address) = std::env::var(KILLED_WRITER) else { return };
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
            let batch = Batch { at: at(n + 1, 1), turn: true, writes, state: Some(value(n + 1)), state_based_on: base, ..Batch::default() };
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
    command.args(["--exact", "store::failures::killed_writer", "--nocapture"]).env(KILLED_WRITER, address);
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
fn a_killed_writer_loses_nothing_in_sqlite() {
    kill("sqlite", &Bed::sqlite());
}

#[test]
fn a_killed_writer_loses_nothing_in_postgres() {
    if let Some(bed) = Bed::postgres() {
        kill("postgres", &bed);
    }
}

// Many writers of one artifact: no update is lost, no version is given twice, and every refused write is told.
//
// Each writer reads the latest version and its count, and writes the next count based on that version. So the last
// count is the number of accepted writes, whoever made them. `TAPSTER_STORE_FULL=1` runs the counts of
// `docs/reliability.md`; without it there are fewer writes.

const THREADS: usize = 16;
const PROCESSES: usize = 2;
/// Where a writing process finds the store.
const RACING_WRITER: &str = "TAPSTER_STORE_RACE";

/// Whether the counts of the documentation are wanted.
fn full() -> bool {
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
fn racing_writer() {
    if let Ok(address) = std::env::var(RACING_WRITER) {
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
            command.args(["--exact", "store::failures::racing_writer", "--nocapture"]).env(RACING_WRITER, &bed.address);
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
fn racing_writers_lose_nothing_in_sqlite() {
    race("sqlite", &Bed::sqlite());
}

#[test]
fn racing_writers_lose_nothing_in_postgres() {
    if let Some(bed) = Bed::postgres() {
        race("postgres", &bed);
    }
}

/// A disk that is full and a file that cannot be written, for SQLite. Both take another file system or another user,
/// which only `root` may have; where that is not to be had, the test says so.
#[cfg(target_os = "linux")]
mod disk {
    use crate::store::bed::{ALL, Folder, KEEP, address_of, at, home, open, put, refused, write};
    use crate::store::postgres::as_other_user;
    use serde_json::json;
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use std::process::Command;
    use tapster::diag::Code;
    use tapster_session::store::{Batch, CommitOutcome, SessionStore, SqlStore, VersionWindow, block_on};

    /// Where the other user finds a store.
    const OTHER_USER: &str = "TAPSTER_STORE_READER";

    /// Where the other user finds a store in a folder that cannot be written, and another one that was not closed.
    const CLOSED: &str = "TAPSTER_STORE_CLOSED";
    const JOURNAL: &str = "TAPSTER_STORE_JOURNAL";

    fn notice(text: &str) {
        writeln!(std::io::stdout().lock(), "notice: {text}").unwrap();
    }

    /// A small file system in memory, below a folder.
    struct Mounted(Folder);

    impl Mounted {
        fn new(size: &str) -> Option<Self> {
            let folder = Folder::new("sql");
            Self::mount(&format!("size={size}"), &folder.0).then_some(Self(folder))
        }

        fn mount(options: &str, folder: &Path) -> bool {
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder).output().is_ok_and(|ran| ran.status.success())
        }

        fn resize(&self, size: &str) {
            assert!(Self::mount(&format!("remount,size={size}"), &self.0.0));
        }
    }

    impl Drop for Mounted {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg("--lazy").arg(&self.0.0).output();
        }
    }

    #[test]
    fn a_full_disk_is_told_and_loses_nothing() {
        let Some(disk) = Mounted::new("2m") else { return notice("no file system may be mounted; a full disk is not tested") };
        let (store, home) = (open(&address_of(&disk.0.path("store.db"))), home("o", "s"));
        let value = |n: i64| json!({ "n": n, "text": "x".repeat(50_000) });
        let next = |n: i64| {
            let writes = vec![write("t", (n > 1).then_some(n - 1), value(n), KEEP)];
            block_on(store.commit(&home, Batch { at: at(n, 1), writes, ..Batch::default() }))
        };
        let mut stored = 0;
        let full = loop {
            match next(stored + 1) {
                Ok(CommitOutcome::Applied { .. }) if stored < 100 => stored += 1,
                other => break other,
            }
        };
        refused(full, Code::StoreFull);
        assert!(stored > 3);
        let check = |store: &SqlStore, stored: i64| {
            let versions = block_on(store.versions(&home, "t", ALL)).unwrap();
            assert!(versions.iter().map(|v| v.version).eq(1..=stored) && versions.iter().all(|v| v.value == value(v.version)));
        };
        check(&store, stored);
        disk.resize("8m");
        assert!(matches!(next(stored + 1).unwrap(), CommitOutcome::Applied { .. }), "there is room again");
        check(&store, stored + 1);
        block_on(store.close());
        check(&open(&address_of(&disk.0.path("store.db"))), stored + 1);
    }

    /// The inside of the other user's process; without the variable, nothing.
    #[test]
    fn reader() {
        let Ok(address) = std::env::var(OTHER_USER) else { return };
        let store = open(&address);
        let home = home("o", "s");
        assert_eq!(block_on(store.view(&home, at(1, 1), &[], 0)).unwrap()[0].value, json!("kept"));
        let batch = Batch { writes: vec![write("t", Some(1), json!("changed"), VersionWindow::default())], ..Batch::default() };
        refused(block_on(store.commit(&home, batch)), Code::StoreReadOnly);
        assert_eq!(block_on(store.view(&home, at(1, 1), &[], 0)).unwrap()[0].value, json!("kept"));
        println!("told");
    }

    /// The inside of the other user's process for folders that cannot be written; without the variables, nothing.
    #[test]
    fn reader_of_closed_folders() {
        let (Ok(closed), Ok(journal)) = (std::env::var(CLOSED), std::env::var(JOURNAL)) else { return };
        let store = block_on(SqlStore::open_existing(&closed)).unwrap();
        let home = home("o", "s");
        assert_eq!(block_on(store.view(&home, at(1, 1), &[], 0)).unwrap()[0].value, json!("kept"));
        let batch = Batch { writes: vec![write("t", Some(1), json!("changed"), VersionWindow::default())], ..Batch::default() };
        refused(block_on(store.commit(&home, batch)), Code::StoreReadOnly);
        let message = refused(block_on(SqlStore::open_existing(&journal)), Code::StoreReadOnly);
        assert!(message.contains("did not close it"), "{message}");
        println!("told");
    }

    fn mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    /// A closed store with one value.
    fn kept(folder: &Folder) -> String {
        let address = address_of(&folder.path("store.db"));
        let store = open(&address);
        put(&store, &home("o", "s"), at(1, 1), write("t", None, json!("kept"), KEEP));
        block_on(store.close());
        address
    }

    #[test]
    fn a_store_in_a_folder_that_cannot_be_written_is_read() {
        let [closed, journal, programs] = [Folder::new("sql"), Folder::new("sql"), Folder::new("sql")];
        let addresses = [kept(&closed), kept(&journal)];
        std::fs::write(journal.0.join("store.db-wal"), [1; 100]).unwrap();
        // a new store is its owner's alone
        [&closed, &journal].into_iter().for_each(|folder| mode(&folder.0.join("store.db"), 0o644));
        [&closed, &journal].into_iter().for_each(|folder| mode(&folder.0, 0o555));
        let program = programs.0.join("reader");
        std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        mode(&programs.0, 0o755);
        mode(&program, 0o755);
        let mut command = as_other_user(&program);
        let command = command.args(["--exact", "store::failures::disk::reader_of_closed_folders", "--nocapture"]).current_dir("/");
        let ran = command.env(CLOSED, &addresses[0]).env(JOURNAL, &addresses[1]).output();
        [&closed, &journal].into_iter().for_each(|folder| mode(&folder.0, 0o755));
        match ran {
            Ok(ran) if ran.status.code() != Some(127) && ran.status.code() != Some(126) => {
                let out = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
                assert!(ran.status.success() && out.contains("told"), "{out}");
            }
            _ => notice("no other user can be had; a folder that cannot be written is not tested"),
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_is_told() {
        let folder = Folder::new("sql");
        let address = kept(&folder);
        mode(&folder.path("store.db"), 0o444);
        // SQLite keeps its files of shared memory beside a database, even for reading
        mode(&folder.0, 0o777);
        // another user may not be able to enter the folder of this program
        let program = folder.0.join("reader");
        std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        mode(&program, 0o755);
        let mut command = as_other_user(&program);
        let ran =
            command.args(["--exact", "store::failures::disk::reader", "--nocapture"]).env(OTHER_USER, &address).current_dir("/").output();
        match ran {
            Ok(ran) if ran.status.code() != Some(127) && ran.status.code() != Some(126) => {
                let out = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
                assert!(ran.status.success() && out.contains("told"), "{out}");
            }
            _ => notice("no other user can be had; a file that cannot be written is not tested"),
        }
    }
}
