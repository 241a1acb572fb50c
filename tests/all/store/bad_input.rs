//! Bad input and bad luck: what a store refuses, and what it says when its database fails it.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use serde_json::{Value as Json, json};
use sqlx::Connection as _;
use tapster::diag::Code;
use tapster_session::store::{
    Artifact, Batch, CommitOutcome, Home, MAX_DEPTH, MAX_NAME, MAX_VALUE, SessionStore, SqlStore, TemplateStore, VersionWindow, block_on,
};

use crate::store::bed::{ALL, Bed, Folder, KEEP, address_of, at, home, open, put, refused, write};
use crate::store::postgres;
use crate::store::postgres::Server;

/// Runs statements beside the store.
fn sql(address: &str, statements: &'static str) {
    sqlx::any::install_default_drivers();
    block_on(async {
        let mut conn = sqlx::AnyConnection::connect(address).await.unwrap();
        sqlx::raw_sql(statements).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
    });
}

fn one(tag: &str, value: Json) -> Batch {
    Batch { writes: vec![write(tag, None, value, KEEP)], ..Batch::default() }
}

#[test]
fn tags_and_owners_are_any_text_up_to_a_length() {
    for bed in Bed::each() {
        let store = &bed.store;
        let hostile = [
            "",
            "/",
            "..",
            "../../etc/passwd",
            "a/b",
            "'; DROP TABLE tapster_heads; --",
            "\"",
            "$1",
            "%",
            "_",
            "\\",
            "\u{1b}[31m",
            "\u{feff}",
            "灯",
        ];
        let long = "é".repeat(MAX_NAME / 2);
        for name in hostile.into_iter().chain([long.as_str()]) {
            let home = home(name, name);
            put(store, &home, at(1, 1), write(name, None, json!(name), KEEP));
            let windows = [(name.to_owned(), KEEP)];
            assert_eq!(block_on(store.view(&home, at(1, 1), &windows, 9)).unwrap()[0].value, json!(name), "{name:?}");
            assert_eq!(block_on(store.versions(&home, name, ALL)).unwrap().len(), 1);
            assert_eq!(block_on(store.sessions(Some(name), ALL)).unwrap()[0].home, home);
            block_on(store.put(name, b"{}", false)).unwrap();
        }
        assert_eq!(block_on(store.sessions(None, ALL)).unwrap().len(), hostile.len() + 1, "{}", bed.address);
        assert_eq!(block_on(store.list()).unwrap().ids.len(), hostile.len() + 1);

        let good = home("o", "s");
        for bad in ["x".repeat(MAX_NAME + 1), "x".repeat(10_000), "a\0b".to_owned()] {
            let windows = [(bad.clone(), KEEP)];
            assert!(refused(block_on(store.commit(&good, one(&bad, json!(1)))), Code::StoreName).len() < 200);
            refused(block_on(store.commit(&home(&bad, "s"), one("t", json!(1)))), Code::StoreName);
            refused(block_on(store.commit(&home("o", &bad), one("t", json!(1)))), Code::StoreName);
            refused(block_on(store.view(&good, at(1, 1), &windows, 9)), Code::StoreName);
            refused(block_on(store.prune(&good, at(1, 1), &windows)), Code::StoreName);
            refused(block_on(store.versions(&good, &bad, ALL)), Code::StoreName);
            refused(block_on(store.archive(&good, Some(&bad), ALL)), Code::StoreName);
            refused(block_on(store.sessions(Some(&bad), ALL)), Code::StoreName);
            refused(block_on(store.state(&home(&bad, "s"))), Code::StoreName);
            refused(block_on(store.forget(&home("o", &bad))), Code::StoreName);
            refused(block_on(store.put(&bad, b"{}", true)), Code::StoreName);
            refused(block_on(TemplateStore::get(store, &bad)), Code::StoreName);
            refused(block_on(store.remove(&bad)), Code::StoreName);
        }
        assert_eq!(block_on(store.info(&good)).unwrap(), None);
    }
}

#[test]
fn large_and_deep_values_are_refused_and_the_largest_are_not() {
    for bed in Bed::each() {
        let (store, home) = (&bed.store, home("o", "s"));
        let message = refused(block_on(store.commit(&home, one("big", json!("x".repeat(50 << 20))))), Code::StoreTooLarge);
        assert!(message.contains("`big`"), "{message}");
        refused(
            block_on(store.commit(&home, Batch { state: Some(json!("x".repeat(MAX_VALUE))), ..Batch::default() })),
            Code::StoreTooLarge,
        );
        refused(block_on(store.commit(&home, Batch { log: vec![json!("x".repeat(MAX_VALUE))], ..Batch::default() })), Code::StoreTooLarge);
        let nested = |depth: usize| (0..depth).fold(json!(1), |value, _| json!([value]));
        refused(block_on(store.commit(&home, one("deep", nested(MAX_DEPTH + 1)))), Code::StoreTooLarge);
        refused(block_on(store.put("t", &vec![b' '; (4 << 20) + 1], true)), Code::FileTooLarge);
        assert_eq!(block_on(store.info(&home)).unwrap(), None, "nothing was stored");

        // the quotation marks count
        let largest = json!("x".repeat(MAX_VALUE - 2));
        put(store, &home, at(1, 1), write("big", None, largest.clone(), KEEP));
        put(store, &home, at(1, 1), write("deep", None, nested(MAX_DEPTH), KEEP));
        put(store, &home, at(1, 1), write("deep", Some(1), json!(2), KEEP));
        let shown = block_on(store.view(&home, at(1, 1), &[("deep".to_owned(), KEEP)], 9)).unwrap();
        assert!(shown[0].value == largest && shown[1].history == [nested(MAX_DEPTH)]);
    }
}

#[test]
fn a_clock_that_goes_backwards_does_not_change_the_order() {
    for bed in Bed::each() {
        let (store, home) = (&bed.store, home("o", "s"));
        let window = VersionWindow { ttl: Some(50), ..KEEP };
        for (n, now) in (1..).zip([1_000, 900, i64::MIN, i64::MAX, 0]) {
            put(store, &home, at(now, -n), write("t", (n > 1).then_some(n - 1), json!(n), KEEP));
        }
        let versions: Vec<i64> = block_on(store.versions(&home, "t", ALL)).unwrap().iter().map(|v| v.version).collect();
        assert_eq!(versions, [1, 2, 3, 4, 5]);
        let shown = block_on(store.view(&home, at(0, 0), &[("t".to_owned(), window)], 9)).unwrap();
        assert_eq!((shown[0].version, &shown[0].history), (5, &vec![json!(1), json!(2), json!(4)]), "what is later than now is young");
        let pruned = block_on(store.prune(&home, at(0, 0), &[("t".to_owned(), window)])).unwrap();
        assert_eq!(pruned[0].versions, [3]);
    }
}

#[test]
fn tables_of_a_newer_release_are_left_alone() {
    for bed in Bed::each() {
        block_on(bed.store.close());
        let insert = "INSERT INTO tapster_migrations (version, description, success, checksum, execution_time) \
                      SELECT 99, 'later', success, checksum, 0 FROM tapster_migrations WHERE version = 1";
        sql(&bed.address, insert);
        let message = refused(block_on(SqlStore::open(&bed.address)), Code::StoreNewer);
        assert!(message.contains("99") && message.contains("newer"), "{message}");
    }
}

#[test]
fn earlier_tables_are_brought_up_to_date() {
    for bed in Bed::each() {
        put(&bed.store, &home("o", "s"), at(1, 1), write("t", None, json!(1), KEEP));
        block_on(bed.store.close());
        sql(&bed.address, "DROP TABLE tapster_templates; DELETE FROM tapster_migrations WHERE version = 2");
        let store = open(&bed.address);
        assert_eq!(block_on(store.list()).unwrap().ids.len(), 0);
        assert_eq!(block_on(store.view(&home("o", "s"), at(1, 1), &[], 0)).unwrap()[0].value, json!(1));
    }
}

#[test]
fn many_may_open_a_new_store_at_once() {
    let folder = Folder::new("sql");
    let postgres = super::postgres::shared().map(Server::database);
    for address in [Some(address_of(&folder.path("store.db"))), postgres].into_iter().flatten() {
        std::thread::scope(|scope| {
            for n in 0..8 {
                let address = &address;
                scope.spawn(move || put(&open(address), &home("o", &n.to_string()), at(1, 1), write("t", None, json!(1), KEEP)));
            }
        });
        assert_eq!(block_on(open(&address).sessions(None, ALL)).unwrap().len(), 8);
    }
}

#[test]
fn what_is_not_a_database_is_told() {
    let folder = Folder::new("sql");
    let file = folder.path("store.db");
    for content in [&b"not a database, but longer than the header of one\n".repeat(200)[..], b"x", b"SQLite format 3\0", &[0; 4096]] {
        std::fs::write(&file, content).unwrap();
        let message = refused(block_on(SqlStore::open(&address_of(&file))), Code::StoreDamaged);
        assert!(message.contains("store.db"), "{message}");
        assert_eq!(std::fs::read(&file).unwrap(), content, "and left alone");
        std::fs::remove_file(&file).unwrap();
    }
    std::fs::write(&file, "").unwrap();
    block_on(open(&address_of(&file)).close());
    for place in [folder.0.clone(), folder.0.join("no/folder/x.db")] {
        refused(block_on(SqlStore::open(&address_of(&place))), Code::StoreUnreachable);
    }
    for address in [
        "",
        "sqlite:",
        "sqlite::memory:",
        "mysql://a/b",
        "https://a/b.db",
        "postgres:",
        "postgres:a",
        ":memory:",
        "a\0b",
        "postgres://me:hush-hush@host:port/x",
        "postgres://me:hush-hush@[/x",
    ] {
        refused(block_on(SqlStore::open(address)), Code::StoreUrl);
    }
}

#[cfg(unix)]
#[test]
fn a_path_is_taken_as_it_is_written() {
    let folder = Folder::new("sql");
    for (n, scheme) in ["", "sqlite:", "sqlite://", "/", "sqlite:///"].iter().enumerate() {
        let file = folder.path(&format!("{n} b?c#d%25:\\.db"));
        block_on(open(&format!("{scheme}{}", file.display())).close());
        assert!(file.is_file(), "{scheme}");
    }
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 5);
}

#[test]
fn passwords_are_not_shown() {
    for login in ["me:hush-hush", "me:hu/hush-hush@sh"] {
        for options in ["?sslmode=disable", "?password=hush-hush"] {
            let complaint = block_on(SqlStore::open(&format!("postgres://{login}@127.0.0.1:1/x{options}"))).unwrap_err();
            let said = format!("{} {}", complaint.message, complaint.help.unwrap_or_default());
            assert!(said.contains("postgres://me@127.0.0.1:1/x") && !said.contains("hush"), "{said}");
        }
    }
}

#[test]
fn damage_is_told() {
    for bed in Bed::each() {
        let (store, home) = (&bed.store, home("o", "s"));
        put(store, &home, at(1, 1), write("t", None, json!(1), KEEP));
        sql(&bed.address, "UPDATE tapster_versions SET value = '{'");
        let message = refused(block_on(store.view(&home, at(1, 1), &[], 0)), Code::StoreDamaged);
        assert!(message.contains("`t`"), "{message}");
        refused(block_on(store.versions(&home, "t", ALL)), Code::StoreDamaged);
        sql(&bed.address, "DROP TABLE tapster_log");
        refused(block_on(store.log(&home, ALL)), Code::StoreDamaged);
        refused(block_on(store.commit(&home, one("u", json!(1)))), Code::StoreDamaged);
        assert_eq!(block_on(store.versions(&home, "u", ALL)).unwrap(), [], "nothing of the batch was applied");
    }
}

#[test]
fn other_refusals_of_a_database_are_told() {
    let bed = Bed::sqlite();
    sql(&bed.address, "CREATE TRIGGER no BEFORE INSERT ON tapster_versions BEGIN SELECT RAISE(ABORT, 'not today'); END");
    let message = refused(block_on(bed.store.commit(&home("o", "s"), one("t", json!(1)))), Code::StoreFailed);
    assert!(message.contains("not today"), "{message}");
}

#[test]
fn a_lock_that_is_not_given_back_is_told() {
    let bed = Bed::sqlite();
    let home = home("o", "s");
    block_on(async {
        let mut other = sqlx::AnyConnection::connect(&bed.address).await.unwrap();
        sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
        refused(bed.store.commit(&home, one("t", json!(1))).await, Code::StoreBusy);
        assert_eq!(bed.store.view(&home, at(1, 1), &[], 0).await.unwrap(), [], "reading goes on");
        sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
        assert!(matches!(bed.store.commit(&home, one("t", json!(1))).await.unwrap(), CommitOutcome::Applied { .. }));
    });
}

#[test]
fn a_database_that_cannot_be_written_is_told() {
    let Some(server) = super::postgres::shared() else { return };
    let address = server.database();
    let home = home("o", "s");
    put(&open(&address), &home, at(1, 1), write("t", None, json!(1), KEEP));
    let name = address.rsplit('/').next().unwrap();
    server.sql(name, &format!("ALTER DATABASE {name} SET default_transaction_read_only = on"));
    let store = open(&address);
    refused(block_on(store.commit(&home, one("u", json!(1)))), Code::StoreReadOnly);
    assert_eq!(block_on(store.view(&home, at(1, 1), &[], 0)).unwrap().len(), 1, "reading goes on");
}

#[test]
fn logins_and_databases_that_do_not_exist_are_told() {
    let Some(server) = super::postgres::shared() else { return };
    let message = refused(block_on(SqlStore::open(&server.address("nowhere"))), Code::StoreUnreachable);
    assert!(message.contains("no such database"), "{message}");
    let stranger = server.address("postgres").replace("tapster:", "stranger:");
    let message = refused(block_on(SqlStore::open(&stranger)), Code::StoreUnreachable);
    assert!(message.contains("login"), "{message}");
    refused(block_on(SqlStore::open("postgres://me:hush-hush@127.0.0.1:1/x")), Code::StoreUnreachable);
}

#[test]
fn a_server_that_goes_away_may_return() {
    let Some(mut server) = Server::start("away") else { return };
    let address = server.database();
    let (store, home) = (open(&address), home("o", "s"));
    let write_next = |store: &SqlStore, home: &Home, n: i64| {
        let batch = Batch { writes: vec![write("t", (n > 1).then_some(n - 1), json!(n), KEEP)], ..Batch::default() };
        block_on(store.commit(home, batch))
    };
    write_next(&store, &home, 1).unwrap();
    server.stop();
    refused(write_next(&store, &home, 2), Code::StoreUnreachable);
    refused(block_on(store.view(&home, at(1, 1), &[], 0)), Code::StoreUnreachable);
    assert!(server.run());
    assert_eq!(block_on(store.view(&home, at(1, 1), &[], 0)).unwrap()[0].value, json!(1), "the same store works again");
    assert!(matches!(write_next(&store, &home, 2).unwrap(), CommitOutcome::Applied { .. }));
}

// A store that must exist already: nothing is made, and nothing of another program is touched.

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
