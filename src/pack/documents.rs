//! Rule files as they were read, for rules that are read again with each keystroke of their author.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use crate::diag::source::Source;
use crate::diag::{Report, SourceId, Sources};

use super::read::{RuleDocument, read};
use super::{RuleFile, Schemas};

/// What the files of packs held when they were last read, by their names.
#[derive(Debug, Default)]
pub struct DocumentMemory {
    files: Mutex<FxHashMap<String, ReadFile>>,
}

/// A file, and what reading it gave.
#[derive(Debug)]
struct ReadFile {
    bytes: Vec<u8>,
    /// The places of its values say which text they are in.
    id: SourceId,
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
        let id = sources.next_id();
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = files.get(&file.name)
            && (known.id, &*known.source.layer) == (id, layer)
            && known.bytes == file.bytes
        {
            sources.share(known.source.clone());
            report.extend(known.report.clone());
            return known.document.clone();
        }
        let mut found = Report::default();
        let document = read(file, layer, sources, schemas, &mut found);
        if let Some(source) = sources.shared(id) {
            let known = ReadFile { bytes: file.bytes.clone(), id, source, document: document.clone(), report: found.clone() };
            files.insert(file.name.clone(), known);
        }
        report.extend(found);
        document
    }
}
