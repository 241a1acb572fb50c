//! What a session in SQLite costs: viewing its artifacts, and one write.
//!
//! Prints a table: median and best of many runs. The view must not grow with the number of versions. A write is compared with a
//! bare transaction of `sqlx` that changes the same rows of the same tables; the two take turns, so that other work on the
//! machine meets both. Arguments are numbers of versions in all; none means 1,000 and 100,000.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench that panics has failed; its table is for people")]

use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value as Json, json};
use sqlx::{AnyConnection, Connection as _, Row as _};
use tapster_session::store::{
    ArtifactVersion, ArtifactWrite, Batch, CommitOutcome, Home, Moment, SessionDump, SessionStore, SqlStore, VersionWindow, block_on,
};

/// The most values of history in a view.
const MOST: u32 = 10;
const VIEWS: usize = 300;
const WRITES: usize = 400;
/// The targets, in milliseconds and as a ratio.
const VIEW_MS: f64 = 2.0;
const WRITE_RATIO: f64 = 3.0;

fn home() -> Home {
    Home { owner: "bench".to_owned(), session: "one".to_owned() }
}

/// A value of the size of a small state.
fn value(n: i64) -> Json {
    json!({ "mood": "wary", "place": "the harbour", "hour": n % 24, "notes": ["the lamp is out", "Vex knows the way"] })
}

fn tag(n: usize) -> String {
    format!("artifact {n:04}")
}

fn at(n: i64) -> Moment {
    Moment { now: n * 1_000, turn: n }
}

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tapster-bench-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn address(&self) -> String {
        format!("sqlite:{}", self.0.join("store.db").display())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A store of one session with these artifacts, each with as many versions.
fn filled(place: &Place, tags: usize, versions: usize) -> SqlStore {
    let each = i64::try_from(versions / tags).unwrap();
    let of =
        |_| (1..=each).map(|n| ArtifactVersion { version: n, based_on: (n > 1).then_some(n - 1), at: at(n), value: value(n) }).collect();
    let artifacts = (0..tags).map(|n| (tag(n), of(n))).collect();
    let dump = SessionDump { artifacts, at: at(each), ..SessionDump::default() };
    block_on(async {
        let store = SqlStore::open(&place.address()).await.unwrap();
        assert!(store.restore(&home(), dump).await.unwrap());
        store
    })
}

/// The median and the best of these times, in milliseconds.
fn median(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times.get(times.len() / 2).copied().unwrap_or_default(), times.first().copied().unwrap_or_default())
}

fn timed(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1_000.0
}

/// Views of a session: all artifacts, with histories by a window of versions, and by a window of turns and time.
fn views(tags: usize, versions: usize) {
    let place = Place::new("views");
    let store = filled(&place, tags, versions);
    let each = i64::try_from(versions / tags).unwrap();
    let kinds = [
        ("latest only", None),
        ("window of 5", Some(VersionWindow { versions: Some(5), ..VersionWindow::default() })),
        ("10 of history", Some(VersionWindow { versions: Some(MOST + 1), ..VersionWindow::default() })),
        ("10 of all", Some(VersionWindow::default())),
        ("turns and time", Some(VersionWindow { versions: None, turns: Some(8), ttl: Some(100_000) })),
    ];
    for (name, window) in kinds {
        let windows: Vec<(String, VersionWindow)> =
            window.into_iter().flat_map(|window| (0..tags).map(move |n| (tag(n), window))).collect();
        let mut seen = 0;
        let times: Vec<f64> = (0..VIEWS)
            .map(|_| {
                let begun = Instant::now();
                let shown = block_on(store.view(&home(), at(each), &windows, MOST)).unwrap();
                seen = shown.iter().map(|artifact| 1 + artifact.history.len()).sum();
                timed(begun)
            })
            .collect();
        let (median, best) = median(times);
        println!("| view | {tags} | {versions} | {name} | {seen} values | {median:.2} ms | {best:.2} ms |");
    }
    block_on(store.close());
}

/// One write through the store, and the same rows in a bare transaction, by turns.
fn writes(versions: usize, name: &str, keep: VersionWindow) {
    let (place, bare_place) = (Place::new("store"), Place::new("bare"));
    let (store, other) = (filled(&place, 100, versions), filled(&bare_place, 100, versions));
    let mut head = i64::try_from(versions / 100).unwrap();
    block_on(async {
        // the windows of both are filled once, so that each write prunes one version
        commit(&store, &mut head.clone(), keep).await;
        commit(&other, &mut head, keep).await;
        other.close().await;
        let mut conn = AnyConnection::connect(&bare_place.address()).await.unwrap();
        sqlx::raw_sql("PRAGMA synchronous = FULL").execute(&mut conn).await.unwrap();
        let mut bare = Bare::new(&mut conn, keep.versions).await;
        let (mut through, mut plain) = (Vec::new(), Vec::new());
        for bare_head in (head..).take(WRITES) {
            let begun = Instant::now();
            commit(&store, &mut head, keep).await;
            through.push(timed(begun));
            let begun = Instant::now();
            bare.write(bare_head).await;
            plain.push(timed(begun));
        }
        let ((through, best), (plain, plain_best)) = (median(through), median(plain));
        let (ratio, best_ratio) = (through / plain, best / plain_best);
        println!(
            "| write | 100 | {versions} | {name} | bare {plain:.2} ms, best {plain_best:.2} ms | {through:.2} ms = {ratio:.2} × | \
             {best:.2} ms = {best_ratio:.2} × |"
        );
    });
}

async fn commit(store: &SqlStore, head: &mut i64, keep: VersionWindow) {
    let log = json!({ "op": "write", "tag": tag(7) });
    let writes = vec![ArtifactWrite { tag: tag(7), based_on: Some(*head), value: value(*head), keep, log }];
    let done = store.commit(&home(), Batch { at: at(*head), writes, ..Batch::default() }).await.unwrap();
    assert!(matches!(done, CommitOutcome::Applied { .. }));
    *head += 1;
}

/// The same rows, written without a store.
struct Bare<'c> {
    conn: &'c mut AnyConnection,
    rows: Rows,
}

/// Where the rows are.
struct Rows {
    artifact: String,
    home: String,
    seq: i64,
    keep: Option<u32>,
}

impl<'c> Bare<'c> {
    async fn new(conn: &'c mut AnyConnection, keep: Option<u32>) -> Self {
        let sql = "SELECT artifact, home FROM tapster_heads WHERE tag = $1";
        let row = sqlx::query(sql).bind(tag(7)).fetch_one(&mut *conn).await.unwrap();
        Self { rows: Rows { artifact: row.get(0), home: row.get(1), seq: 1_000_000, keep }, conn }
    }

    async fn write(&mut self, head: i64) {
        let mut tx = self.conn.begin_with("BEGIN IMMEDIATE").await.unwrap();
        let (moment, version) = (at(head), head + 1);
        let sql = "UPDATE tapster_sessions SET records = $2, at_ms = $3, turn = $4 WHERE home = $1";
        let query = sqlx::query(sql).bind(self.rows.home.clone()).bind(self.rows.seq + 1).bind(moment.now).bind(moment.turn);
        query.execute(&mut *tx).await.unwrap();
        let sql = "UPDATE tapster_heads SET version = $2 WHERE artifact = $1";
        sqlx::query(sql).bind(self.rows.artifact.clone()).bind(version).execute(&mut *tx).await.unwrap();
        let sql = "INSERT INTO tapster_versions (artifact, version, based_on, at_ms, turn, value) VALUES ($1, $2, $3, $4, $5, $6)";
        let query = sqlx::query(sql).bind(self.rows.artifact.clone()).bind(version).bind(head).bind(moment.now).bind(moment.turn);
        query.bind(value(head).to_string()).execute(&mut *tx).await.unwrap();
        self.rows.log(&mut tx, moment, json!({ "op": "write", "tag": tag(7), "version": version })).await;
        if let Some(keep) = self.rows.keep {
            let old = version - i64::from(keep);
            let sql = "INSERT INTO tapster_archive (artifact, version, home, tag, based_on, at_ms, turn, value, record, archived_ms, \
                       archived_turn, reason) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
            let query = sqlx::query(sql).bind(self.rows.artifact.clone()).bind(old).bind(self.rows.home.clone()).bind(tag(7)).bind(old - 1);
            let query = query.bind(at(old).now).bind(at(old).turn).bind(value(old).to_string()).bind(self.rows.seq);
            query.bind(moment.now).bind(moment.turn).bind("versions".to_owned()).execute(&mut *tx).await.unwrap();
            let sql = "DELETE FROM tapster_versions WHERE artifact = $1 AND version = $2";
            sqlx::query(sql).bind(self.rows.artifact.clone()).bind(old).execute(&mut *tx).await.unwrap();
            self.rows.log(&mut tx, moment, json!({ "op": "prune", "tag": tag(7), "versions": [old], "reason": "versions" })).await;
        }
        tx.commit().await.unwrap();
    }
}

impl Rows {
    async fn log(&mut self, conn: &mut AnyConnection, moment: Moment, record: Json) {
        self.seq += 1;
        let sql = "INSERT INTO tapster_log (home, seq, at_ms, turn, record) VALUES ($1, $2, $3, $4, $5)";
        let query = sqlx::query(sql).bind(self.home.clone()).bind(self.seq).bind(moment.now).bind(moment.turn);
        query.bind(record.to_string()).execute(conn).await.unwrap();
    }
}

fn main() {
    let mut sizes: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![1_000, 100_000];
    }
    println!("| what | tags | versions | of which | | median | best |\n| --- | --- | --- | --- | --- | --- | --- |");
    for &versions in &sizes {
        views(100, versions);
    }
    for tags in [10, 1_000] {
        views(tags, sizes.iter().copied().max().unwrap_or(100_000));
    }
    for &versions in &sizes {
        writes(versions, "durable", VersionWindow::default());
        writes(versions, "window of 5", VersionWindow { versions: Some(5), ..VersionWindow::default() });
    }
    println!("\ntargets: a view of 100 tags ≤ {VIEW_MS} ms; a write ≤ {WRITE_RATIO} × a bare transaction of the same rows");
}
