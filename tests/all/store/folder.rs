//! Templates at rest: what a folder keeps, and which ids and files it does not fall for.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::BTreeSet;
use std::fs;

use tapster::diag::Code;
use tapster_session::store::{FolderStore, MAX_TEMPLATE, StoreRefusal, TemplateStore, block_on};

use crate::support::{Folder, text_rows};

impl Folder {
    fn store(&self) -> FolderStore {
        FolderStore::new(self.0.join("templates"))
    }

    /// Names of all files in the store's folder.
    fn files(&self) -> BTreeSet<String> {
        fs::read_dir(self.0.join("templates")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, StoreRefusal>, code: Code) -> String {
    let complaint = result.unwrap_err();
    assert_eq!(complaint.code, code, "{}", complaint.message);
    assert!(complaint.help.is_some());
    complaint.message.clone()
}

#[test]
fn what_is_stored_comes_back_byte_for_byte() {
    let folder = Folder::new("bytes");
    let store = folder.store();
    assert_eq!(
        (block_on(store.list()).unwrap().ids.len(), block_on(store.get("a")).unwrap(), block_on(store.remove("a")).unwrap()),
        (0, None, false)
    );
    let bytes = b"\xef\xbb\xbf{\r\n \"id\" : \"a\"}\xff";
    let name = block_on(store.put("a", bytes, false)).unwrap();
    let stored = block_on(store.get("a")).unwrap().unwrap();
    assert_eq!((stored.bytes.as_slice(), &stored.name), (&bytes[..], &name));
    assert!(name.ends_with("a.json"));

    assert!(refused(block_on(store.put("a", b"{}", false)), Code::StoreTaken).contains("stored already"));
    assert_eq!(block_on(store.get("a")).unwrap().unwrap().bytes, bytes);
    block_on(store.put("a", b"{}", true)).unwrap();
    assert_eq!(block_on(store.get("a")).unwrap().unwrap().bytes, b"{}");
    assert_eq!(folder.files(), BTreeSet::from(["a.json".to_owned()]), "nothing is left beside it");
    assert!(block_on(store.remove("a")).unwrap() && !block_on(store.remove("a")).unwrap());
    assert_eq!(folder.files(), BTreeSet::new());
}

#[test]
fn no_id_leaves_the_folder_or_meets_another() {
    let folder = Folder::new("ids");
    let store = folder.store();
    let ids = text_rows(include_str!("ids.json"), "");
    for id in &ids {
        block_on(store.put(id, id.as_bytes(), false)).unwrap();
    }
    for id in &ids {
        assert_eq!(block_on(store.get(id)).unwrap().unwrap().bytes, id.as_bytes(), "{id:?}");
    }
    let mut sorted: Vec<&str> = ids.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let listing = block_on(store.list()).unwrap();
    assert_eq!((listing.ids, listing.strangers), (sorted.iter().map(|id| (*id).to_owned()).collect(), vec![]));
    let lower: BTreeSet<String> = folder.files().iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(lower.len(), ids.len(), "two names differ by letter case only");
    for name in folder.files() {
        assert!(name.is_ascii() && !name.starts_with('.') && name.ends_with(".json"), "{name}");
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.%".contains(&b)), "{name}");
    }
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "nothing beside the store");
    for id in &ids {
        assert!(block_on(store.remove(id)).unwrap(), "{id:?}");
    }
}

#[test]
fn long_ids_are_refused_and_the_longest_is_not() {
    let folder = Folder::new("long");
    let store = folder.store();
    for id in ["x".repeat(10_000), "x".repeat(201), "X".repeat(67), "é".repeat(34)] {
        assert!(refused(block_on(store.put(&id, b"{}", true)), Code::StoreName).len() < 300);
        refused(block_on(store.get(&id)), Code::StoreName);
        refused(block_on(store.remove(&id)), Code::StoreName);
    }
    block_on(store.put(&"x".repeat(200), b"{}", false)).unwrap();
    assert_eq!(block_on(store.list()).unwrap().ids, ["x".repeat(200)]);
}

#[test]
fn files_of_others_are_told_apart() {
    let folder = Folder::new("strangers");
    let store = folder.store();
    block_on(store.put("mine", b"{}", false)).unwrap();
    for name in ["Mine.json", "a b.json", "%4d.json", "%6x.json", "%6d.json", ".hidden.json", "notes.txt", "%.json"] {
        fs::write(folder.0.join("templates").join(name), "{}").unwrap();
    }
    let listing = block_on(store.list()).unwrap();
    assert_eq!(listing.ids, ["", "M", "mine"]);
    assert_eq!(listing.strangers, ["%6d.json", "%6x.json", "Mine.json", "a b.json"]);
    assert_eq!(block_on(store.get("Mine")).unwrap(), None);
}

#[test]
fn large_templates_are_refused() {
    let folder = Folder::new("large");
    let store = folder.store();
    let most = usize::try_from(MAX_TEMPLATE).unwrap();
    refused(block_on(store.put("a", &vec![b' '; most + 1], false)), Code::FileTooLarge);
    block_on(store.put("a", &vec![b' '; most], false)).unwrap();
    assert_eq!(block_on(store.get("a")).unwrap().unwrap().bytes.len(), most);
    fs::write(folder.0.join("templates/b.json"), vec![b' '; most + 1]).unwrap();
    refused(block_on(store.get("b")), Code::FileTooLarge);
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = Folder::new("kinds");
    let store = folder.store();
    fs::create_dir_all(folder.0.join("templates/a.json")).unwrap();
    refused(block_on(store.get("a")), Code::FileMissing);
    refused(block_on(store.put("a", b"{}", true)), Code::FileMissing);
    refused(block_on(store.remove("a")), Code::FileMissing);
    assert_eq!(folder.files().len(), 1);

    fs::write(folder.0.join("plain"), "").unwrap();
    let plain = FolderStore::new(folder.0.join("plain"));
    refused(block_on(plain.list()), Code::FileMissing);
    refused(block_on(plain.get("a")), Code::FileMissing);
    refused(block_on(plain.put("a", b"{}", false)), Code::FileMissing);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("links");
    let store = folder.store();
    block_on(store.put("real", b"{}", false)).unwrap();
    fs::write(folder.0.join("secret"), "secret").unwrap();
    symlink(folder.0.join("secret"), folder.0.join("templates/link.json")).unwrap();
    symlink(folder.0.join("nowhere"), folder.0.join("templates/gone.json")).unwrap();
    for id in ["link", "gone"] {
        refused(block_on(store.get(id)), Code::FileOutside);
        refused(block_on(store.put(id, b"{}", false)), Code::FileOutside);
        refused(block_on(store.put(id, b"{}", true)), Code::FileOutside);
        assert!(block_on(store.remove(id)).unwrap(), "the link itself goes");
    }
    assert_eq!(fs::read(folder.0.join("secret")).unwrap(), b"secret");
}

/// Of many that store the same id at once exactly one wins, and what it stored is whole.
#[test]
fn only_one_can_be_first() {
    let folder = Folder::new("race");
    let store = folder.store();
    let texts: Vec<Vec<u8>> = (b'a'..b'i').map(|letter| vec![letter; 100_000]).collect();
    let won: Vec<bool> = std::thread::scope(|scope| {
        let runs: Vec<_> = texts.iter().map(|text| scope.spawn(|| block_on(store.put("a", text, false)).is_ok())).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let stored = block_on(store.get("a")).unwrap().unwrap().bytes;
    let winners: Vec<&Vec<u8>> = texts.iter().zip(&won).filter(|(_, won)| **won).map(|(text, _)| text).collect();
    assert_eq!(winners, [&stored]);
    assert_eq!(folder.files().len(), 1);
}
