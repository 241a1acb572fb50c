//! A store that must exist already: nothing is made, and nothing of another program is touched.

use serde_json::json;
use sqlx::Connection as _;
use tapster::diag::Code;
use tapster_session::store::{Artifact, SessionStore, SqlStore, VersionWindow, block_on};

use super::bed::{Bed, Folder, KEEP, address_of, at, home, open, put, refused, write};
use super::postgres;

#[test]
fn nothing_is_made() {
    let folder = Folder::new("sql");
    let address = address_of(&folder.path("store.db"));
    let message = refused(block_on(SqlStore::open_existing(&address)), Code::StoreUnreachable);
    assert!(message.contains("there is no store"), "{message}");
    assert!(!folder.path("store.db").exists());
    std::fs::write(folder.path("store.db"), "").unwrap();
    refused(block_on(SqlStore::open_existing(&address)), Code::StoreDamaged);
    assert_eq!(std::fs::read(folder.path("store.db")).unwrap(), b"");
    let Some(address) = postgres::shared().map(postgres::Server::database) else { return };
    for _ in 0..2 {
        refused(block_on(SqlStore::open_existing(&address)), Code::StoreDamaged);
    }
}

#[test]
fn what_exists_is_read_and_written() {
    for bed in Bed::each() {
        let home = home("o", "s");
        put(&bed.store, &home, at(1, 1), write("t", None, json!(1), KEEP));
        block_on(bed.store.close());
        let store = block_on(SqlStore::open_existing(&bed.address)).unwrap();
        put(&store, &home, at(1, 1), write("t", Some(1), json!(2), KEEP));
        put(&store, &home, at(1, 1), write("u", None, json!(1), KEEP));
        let one = |tag, window, most| block_on(store.artifact(&home, at(1, 1), tag, window, most)).unwrap();
        let wanted = |history| Artifact { tag: "t".to_owned(), version: 2, value: json!(2), history };
        assert_eq!(one("t", KEEP, 9), Some(wanted(vec![json!(1)])));
        assert_eq!((one("t", KEEP, 0), one("t", VersionWindow::LATEST, 9)), (Some(wanted(vec![])), Some(wanted(vec![]))));
        assert_eq!(one("nope", KEEP, 9), None);
    }
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let folder = Folder::new("sql");
    let address = address_of(&folder.path("store.db"));
    sqlx::any::install_default_drivers();
    block_on(async {
        let mut conn = sqlx::AnyConnection::connect(&format!("{address}?mode=rwc")).await.unwrap();
        sqlx::raw_sql("CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('mine')").execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
    });
    let before = std::fs::read(folder.path("store.db")).unwrap();
    for opened in [block_on(SqlStore::open(&address)), block_on(SqlStore::open_existing(&address))] {
        let message = refused(opened, Code::StoreDamaged);
        assert!(message.contains("is a database of another program"), "{message}");
    }
    assert_eq!(std::fs::read(folder.path("store.db")).unwrap(), before);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1, "nothing is left beside it");
}

/// One value that is damaged does not keep from the others.
#[test]
fn one_artifact_is_read_alone() {
    let bed = Bed::sqlite();
    let home = home("o", "s");
    for tag in ["good", "bad"] {
        put(&bed.store, &home, at(1, 1), write(tag, None, json!(tag), KEEP));
    }
    block_on(async {
        let mut conn = sqlx::AnyConnection::connect(&bed.address).await.unwrap();
        sqlx::raw_sql("UPDATE tapster_versions SET value = '{' WHERE value = '\"bad\"'").execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
    });
    let store = open(&bed.address);
    assert_eq!(block_on(store.artifact(&home, at(1, 1), "good", KEEP, 9)).unwrap().unwrap().value, json!("good"));
    let message = refused(block_on(store.artifact(&home, at(1, 1), "bad", KEEP, 9)), Code::StoreDamaged);
    assert!(message.contains("`bad`"), "{message}");
}
