//! Rule files as they were read, for rules that are read again with each keystroke of their author.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use crate::diag::source::Source;
use crate::diag::{Report, SourceId, Sources};

use super::read::{RuleDocument, read};
use super::{RuleFile, Schemas};

/// The most files that are remembered: more than a few packs have.
const MOST_FILES: usize = 1024;

/// What the files of packs held when they were last read, by their names, and by the handles of their texts, which the places of
/// values hold.
#[derive(Debug, Default)]
pub struct DocumentMemory {
    files: Mutex<FxHashMap<(String, SourceId), ReadFile>>,
}

/// A file, and what reading it gave.
#[derive(Debug)]
struct ReadFile {
    bytes: Vec<u8>,
    source: Arc<Source>,
    document: Option<RuleDocument>,
    report: Report,
}

impl DocumentMemory {
    /// [`read`], unless the file is as it was.
    pub(super) fn read(
        &self,
        file: &RuleFile,
        layer: &str,
        sources: &mut Sources,
        schemas: &Schemas,
        report: &mut Report,
    ) -> Option<RuleDocument> {
        let key = (file.name.clone(), sources.next_id());
        let files = || self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = files().get(&key).filter(|known| *known.source.layer == *layer && known.bytes == file.bytes) {
            sources.share(known.source.clone());
            report.extend(known.report.clone());
            return known.document.clone();
        }
        let mut found = Report::default();
        found.words.clone_from(&report.words);
        let document = read(file, layer, sources, schemas, &mut found);
        let mut files = files();
        if files.len() >= MOST_FILES {
            files.clear();
        }
        if let Some(source) = sources.shared(key.1) {
            files.insert(key, ReadFile { bytes: file.bytes.clone(), source, document: document.clone(), report: found.clone() });
        }
        report.extend(found);
        document
    }
}
