//! Documents that are open in the editor: their text counts in the place of that on disk.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use lsp_types::{Position, TextDocumentContentChangeEvent, Uri};
use tapster::diag::{Report, SourceId};
use tapster::machinery::pack::DocumentMemory;
use tapster::machinery::pack::toml;

use crate::address::path_of;
use crate::outline::{NodeId, Outline, Syntax};
use crate::position::LineIndex;

/// The most bytes of a text that is looked into; an editor may hold larger files, which are left alone.
const MOST_BYTES: usize = 16 << 20;

/// One document.
#[derive(Debug)]
pub(crate) struct OpenDocument {
    pub(crate) address: Uri,
    /// `None` for a document that is no file yet.
    pub(crate) path: Option<PathBuf>,
    pub(crate) version: i32,
    pub(crate) text: Arc<str>,
    pub(crate) lines: LineIndex,
    outline: OnceLock<Outline>,
}

impl OpenDocument {
    pub(crate) fn new(address: Uri, version: i32, text: String) -> Self {
        let path = path_of(&address);
        let mut document = Self { address, path, version, text: "".into(), lines: LineIndex::default(), outline: Default::default() };
        document.set_text(text);
        document
    }

    fn set_text(&mut self, text: String) {
        self.lines = LineIndex::new(&text);
        self.text = text.into();
        self.outline = Default::default();
    }

    /// Applies changes in their order.
    pub(crate) fn change(&mut self, version: i32, changes: Vec<TextDocumentContentChangeEvent>) {
        for change in changes {
            let Some(range) = change.range else {
                self.set_text(change.text);
                continue;
            };
            let bytes = self.lines.bytes(&self.text, range);
            let mut text = String::from(&*self.text);
            if text.is_char_boundary(bytes.start) && text.is_char_boundary(bytes.end) {
                text.replace_range(bytes, &change.text);
            }
            self.set_text(text);
        }
        self.version = version;
    }

    /// What the text holds, whatever is wrong with it.
    pub(crate) fn outline(&self) -> &Outline {
        self.outline.get_or_init(|| {
            let text = if self.text.len() > MOST_BYTES || !self.may_hold_rules() { "" } else { &*self.text };
            Outline::read(text, self.syntax())
        })
    }

    fn syntax(&self) -> Syntax {
        Syntax::of(self.path.as_deref().unwrap_or(Path::new(self.address.as_str())), &self.text)
    }

    /// The name that a row says, as the engine reads it.
    pub(crate) fn name_of_row(&self, row: NodeId) -> Option<String> {
        let outline = self.outline();
        let inner = outline.text_at(row, "name", &self.text)?;
        let whole = self.text.get(outline.node(outline.entry(row, "name")?.node)?.range.clone())?;
        // an escape means another character, in each language by its own letters
        match (whole.starts_with('"') && inner.contains('\\'), self.syntax()) {
            (false, _) => Some(inner.to_owned()),
            (true, Syntax::Json) => serde_json::from_str(whole).ok(),
            (true, Syntax::Toml) => {
                let row = toml::parse(SourceId::default(), &format!("name = {whole}"), &mut Report::default())?;
                Some(row.get("name")?.as_text()?.to_owned())
            }
        }
    }

    /// The ending of the name of the file.
    pub(crate) fn ending(&self) -> Option<&str> {
        let path = self.path.as_deref().unwrap_or(Path::new(self.address.as_str()));
        path.extension().and_then(|ending| ending.to_str())
    }

    /// Whether the ending is that of TOML or JSON, or there is none yet.
    pub(crate) fn may_hold_rules(&self) -> bool {
        matches!(self.ending(), None | Some("toml" | "json"))
    }

    pub(crate) fn offset(&self, position: Position) -> usize {
        self.lines.offset(&self.text, position)
    }

    /// The bytes of a byte order mark, which places in rule files do not count.
    pub(crate) fn mark_length(&self) -> usize {
        if self.text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 }
    }
}

/// All open documents.
#[derive(Debug, Default)]
pub(crate) struct OpenDocuments {
    by_address: HashMap<String, OpenDocument>,
    /// What files of packs held when they were last read, open ones and others.
    pub(crate) memory: DocumentMemory,
}

impl OpenDocuments {
    pub(crate) fn open(&mut self, document: OpenDocument) {
        self.by_address.insert(document.address.as_str().to_owned(), document);
    }

    pub(crate) fn close(&mut self, address: &Uri) -> Option<OpenDocument> {
        self.by_address.remove(address.as_str())
    }

    pub(crate) fn get(&self, address: &Uri) -> Option<&OpenDocument> {
        self.by_address.get(address.as_str())
    }

    pub(crate) fn get_mut(&mut self, address: &Uri) -> Option<&mut OpenDocument> {
        self.by_address.get_mut(address.as_str())
    }

    /// The document of a file. An editor may write its address in another way, so the path decides.
    pub(crate) fn of_path(&self, path: &Path) -> Option<&OpenDocument> {
        self.by_address.values().find(|document| document.path.as_deref() == Some(path))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &OpenDocument> {
        self.by_address.values()
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use lsp_types::Range;

    use super::*;

    #[test]
    fn changes_are_applied_in_order() {
        let mut document = OpenDocument::new(Uri::from_str("file:///a.toml").unwrap(), 1, "a😀b\nc\n".to_owned());
        let change = |from: (u32, u32), to: (u32, u32), text: &str| TextDocumentContentChangeEvent {
            range: Some(Range::new(Position::new(from.0, from.1), Position::new(to.0, to.1))),
            range_length: None,
            text: text.to_owned(),
        };
        document.change(2, vec![change((0, 3), (0, 4), "x"), change((1, 0), (7, 0), "y")]);
        assert_eq!((&*document.text, document.version), ("a😀x\ny", 2));
        document.change(3, vec![TextDocumentContentChangeEvent { range: None, range_length: None, text: "z".to_owned() }]);
        assert_eq!(&*document.text, "z");
    }
}
