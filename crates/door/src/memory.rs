//! What is kept between requests: compiled rules, and files of scenes. Both have handles that say what they name, so that
//! the same thing opened twice is kept once.

use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexMap;
use sha2::{Digest, Sha256};
use tapster::BuildSession;
use tapster::machinery::build::ScenePart;

use crate::diag::Report;
use crate::request::OpenRequest;
use crate::stamp::FileStamps;

/// The most rulesets that are kept; of more, those that were used longest ago are forgotten.
const MOST_RULES: usize = 32;
/// The most bytes of files that are kept; of more, those that were used longest ago are forgotten.
const MOST_BYTES: usize = 256 << 20;
/// The most bytes of files whose values are kept, which take about ten times as much.
const MOST_READ: usize = 32 << 20;

/// A file that was handed over.
#[derive(Debug)]
pub(crate) struct PartFile {
    /// Its name, for messages.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) bytes: Vec<u8>,
}

/// Builds with compiled rules, and what these were made of.
#[derive(Clone)]
pub(crate) struct OpenedRules {
    pub(crate) request: Arc<OpenRequest>,
    pub(crate) session: Arc<BuildSession>,
    /// The files of packs in folders, as they were read.
    pub(crate) stamps: Arc<FileStamps>,
}

/// What a file gives to scenes under the rules that have read it.
#[derive(Clone)]
pub(crate) struct ReadPart {
    pub(crate) part: ScenePart,
    pub(crate) notes: Report,
    /// The bytes of the file.
    pub(crate) bytes: usize,
}

/// Rules and files by their handles; the last of each was used last.
#[derive(Default)]
pub(crate) struct DoorMemory {
    rules: Mutex<IndexMap<String, OpenedRules>>,
    parts: Mutex<IndexMap<String, Arc<PartFile>>>,
    /// By the handle of the file, its role, and the fingerprint of the rules.
    readings: Mutex<IndexMap<String, ReadPart>>,
}

impl DoorMemory {
    /// The rules of a handle, if they are still kept.
    pub(crate) fn rules(&self, handle: &str) -> Option<OpenedRules> {
        use_last(&mut self.rules.lock().unwrap_or_else(PoisonError::into_inner), handle)
    }

    /// Keeps rules.
    pub(crate) fn keep_rules(&self, handle: String, rules: OpenedRules) {
        let mut all = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        all.shift_remove(&handle);
        all.insert(handle, rules);
        while all.len() > MOST_RULES {
            all.shift_remove_index(0);
        }
    }

    /// The file of a handle, if it is still kept.
    pub(crate) fn part(&self, handle: &str) -> Option<Arc<PartFile>> {
        use_last(&mut self.parts.lock().unwrap_or_else(PoisonError::into_inner), handle)
    }

    /// Keeps a file; gives its handle.
    pub(crate) fn keep_part(&self, part: PartFile) -> String {
        let handle = handle_of("part-", &[part.name.as_bytes(), &part.bytes]);
        let mut all = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        all.shift_remove(&handle);
        all.insert(handle.clone(), Arc::new(part));
        forget_oldest(&mut all, MOST_BYTES, |part| part.bytes.len());
        handle
    }

    /// What a file has given to a scene before.
    pub(crate) fn reading(&self, key: &str) -> Option<ReadPart> {
        use_last(&mut self.readings.lock().unwrap_or_else(PoisonError::into_inner), key)
    }

    /// Keeps what a file gives to scenes.
    pub(crate) fn keep_reading(&self, key: String, read: ReadPart) {
        let mut all = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(key, read);
        forget_oldest(&mut all, MOST_READ, |read| read.bytes);
    }

    /// Forgets what a handle names; whether there was such a thing.
    pub(crate) fn forget(&self, handle: &str) -> bool {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner).shift_remove(handle).is_some();
        rules || self.parts.lock().unwrap_or_else(PoisonError::into_inner).shift_remove(handle).is_some()
    }
}

/// Forgets what was used longest ago until the rest is small enough; the last one stays, however large.
fn forget_oldest<T>(all: &mut IndexMap<String, T>, most: usize, bytes: impl Fn(&T) -> usize) {
    let mut held: usize = all.values().map(&bytes).sum();
    while held > most && all.len() > 1 {
        held -= all.shift_remove_index(0).map_or(0, |(_, old)| bytes(&old));
    }
}

/// The value of a handle, which becomes the one that was used last.
fn use_last<T: Clone>(all: &mut IndexMap<String, T>, handle: &str) -> Option<T> {
    let at = all.get_index_of(handle)?;
    all.move_index(at, all.len() - 1);
    all.get(handle).cloned()
}

/// A handle that names this content: how handles of the kind begin, and the beginning of its digest in hex.
pub(crate) fn handle_of(kind: &str, content: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in content {
        // the same on machines with other addresses
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    let hex: String = digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{kind}{hex}")
}
