//! Stores: sessions in SQLite, and templates in a folder, each given a list of calls.

use std::path::PathBuf;
use std::sync::LazyLock;

use serde_json::Value as Json;
use tapster_session::store::{
    ArtifactWrite, Batch, CommitOutcome, FolderStore, Home, ListPage, Moment, SessionStore, SqlStore, TemplateStore, VersionWindow,
    block_on,
};

use super::Verdict;

/// A folder of this process, in memory where there is one.
fn folder(name: &str) -> PathBuf {
    let shared = PathBuf::from("/dev/shm");
    let base = if shared.is_dir() { shared } else { std::env::temp_dir() };
    let folder = base.join(format!("tapster-fuzz-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    folder
}

fn text(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

fn window(json: &Json) -> VersionWindow {
    let number = |name: &str| json[name].as_u64().and_then(|n| u32::try_from(n).ok());
    VersionWindow { versions: number("versions"), turns: number("turns"), ttl: json["ttl"].as_i64() }
}

pub(super) fn sessions(input: &[u8]) -> Verdict {
    static STORE: LazyLock<SqlStore> = LazyLock::new(|| {
        let file = folder("sql").join("store.db");
        block_on(SqlStore::open(&format!("sqlite:{}", file.display()))).unwrap_or_else(|e| panic!("{e:?}"))
    });
    let Ok(Json::Array(calls)) = serde_json::from_slice::<Json>(input) else { return Ok(false) };
    let home = Home { owner: "o".to_owned(), session: "s".to_owned() };
    let page = ListPage { after: 0, limit: 50 };
    let mut written = false;
    for call in calls.iter().take(20) {
        let home =
            if call["owner"].is_null() { home.clone() } else { Home { owner: text(&call["owner"]), session: text(&call["session"]) } };
        let at = Moment { now: call["at"][0].as_i64().unwrap_or(0), turn: call["at"][1].as_i64().unwrap_or(0) };
        let tag = text(&call["tag"]);
        let windows: Vec<(String, VersionWindow)> =
            call["tags"].as_array().into_iter().flatten().map(|tag| (text(tag), window(&call["keep"]))).collect();
        let most = call["most"].as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(3);
        match call["do"].as_str().unwrap_or_default() {
            "commit" => {
                let write = |write: &Json| ArtifactWrite {
                    tag: text(&write["tag"]),
                    based_on: write["based_on"].as_i64(),
                    value: write["value"].clone(),
                    keep: window(&write["keep"]),
                    log: write["log"].clone(),
                };
                let writes: Vec<ArtifactWrite> = call["writes"].as_array().into_iter().flatten().map(write).collect();
                let batch = Batch {
                    at,
                    turn: call["turn"].as_bool().unwrap_or(false),
                    turns_before: call["turns_before"].as_i64(),
                    writes: writes.clone(),
                    state: call.get("state").filter(|state| !state.is_null()).cloned(),
                    state_based_on: call["state_based_on"].as_i64(),
                    log: call["log"].as_array().cloned().unwrap_or_default(),
                };
                if let Ok(CommitOutcome::Applied { versions, .. }) = block_on(STORE.commit(&home, batch)) {
                    written = true;
                    if let (Some(write), Some(version)) = (writes.last(), versions.last()) {
                        let all = block_on(STORE.versions(&home, &write.tag, ListPage { after: version - 1, limit: 1 }));
                        let back = all.ok().and_then(|all| all.into_iter().next());
                        if back.as_ref().is_some_and(|back| back.value != write.value) {
                            return Err(format!("{} was written, and {:?} is there", write.value, back));
                        }
                    }
                }
            }
            "view" => drop(block_on(STORE.view(&home, at, &windows, most))),
            "prune" => drop(block_on(STORE.prune(&home, at, &windows))),
            "versions" => drop(block_on(STORE.versions(&home, &tag, page))),
            "archive" => drop(block_on(STORE.archive(&home, call["tag"].as_str(), page))),
            "log" => drop(block_on(STORE.log(&home, page))),
            "state" => drop(block_on(STORE.state(&home))),
            "sessions" => drop(block_on(STORE.sessions(call["owner"].as_str(), page))),
            "dump" => {
                if let Ok(Some(dump)) = block_on(STORE.dump(&home)) {
                    let to = Home { owner: "restored".to_owned(), session: "r".to_owned() };
                    let restored = block_on(STORE.restore(&to, dump.clone()));
                    let back = block_on(STORE.dump(&to));
                    let _ = block_on(STORE.forget(&to));
                    if matches!(restored, Ok(true)) && back.as_ref().is_ok_and(|back| back.as_ref() != Some(&dump)) {
                        return Err(format!("{dump:?} was restored, and {back:?} is there"));
                    }
                }
            }
            _ => drop(block_on(STORE.info(&home))),
        }
    }
    let _ = block_on(STORE.forget(&home));
    Ok(written)
}

pub(super) fn shelf(input: &[u8]) -> Verdict {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| folder("shelf"));
    let Ok(Json::Array(calls)) = serde_json::from_slice::<Json>(input) else { return Ok(false) };
    let store = FolderStore::new(FOLDER.join("t"));
    let mut kept = false;
    for call in calls.iter().take(20) {
        let (id, content) = (text(&call["id"]), text(&call["text"]));
        match call["do"].as_str().unwrap_or_default() {
            "put" => {
                if block_on(store.put(&id, content.as_bytes(), call["replace"].as_bool().unwrap_or(false))).is_ok() {
                    kept = true;
                    let back = block_on(store.get(&id));
                    if !back.as_ref().is_ok_and(|back| back.as_ref().is_some_and(|back| back.bytes == content.as_bytes())) {
                        return Err(format!("`{id}` was stored, and {back:?} is there"));
                    }
                    let listed = block_on(store.list());
                    if !listed.as_ref().is_ok_and(|listing| listing.ids.contains(&id)) {
                        return Err(format!("`{id}` was stored and is not listed: {listed:?}"));
                    }
                }
            }
            "remove" => drop(block_on(store.remove(&id))),
            "list" => drop(block_on(store.list())),
            _ => drop(block_on(store.get(&id))),
        }
    }
    let _ = std::fs::remove_dir_all(FOLDER.join("t"));
    Ok(kept)
}
