//! A disk that is full and a file that cannot be written, for SQLite. Both take another file system or another user,
//! which only `root` may have; where that is not to be had, the test says so.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use tapster::diag::Code;
use tapster_session::store::{Batch, CommitOutcome, SessionStore, SqlStore, VersionWindow, block_on};

use super::bed::{ALL, Folder, KEEP, address_of, at, home, open, put, refused, write};
use super::postgres::as_other_user;

/// Where the other user finds a store.
const CHILD: &str = "TAPSTER_STORE_READER";

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
    let Ok(address) = std::env::var(CHILD) else { return };
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
    let command = command.args(["--exact", "store::disk::reader_of_closed_folders", "--nocapture"]).current_dir("/");
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
    let ran = command.args(["--exact", "store::disk::reader", "--nocapture"]).env(CHILD, &address).current_dir("/").output();
    match ran {
        Ok(ran) if ran.status.code() != Some(127) && ran.status.code() != Some(126) => {
            let out = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
            assert!(ran.status.success() && out.contains("told"), "{out}");
        }
        _ => notice("no other user can be had; a file that cannot be written is not tested"),
    }
}
