//! Diagnostics as the protocol has them: by file, with their remedies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lsp_types::{
    CodeDescription, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Range as LspRange, TextEdit, Uri,
};
use serde_json::json;
use tapster::diag::{Code, Diagnostic, Severity, Source, Sources, Span};
use tapster_door::check::CheckReport;

use crate::address::address_of;
use crate::document::OpenDocuments;
use crate::position::LineIndex;

/// The name of this server in diagnostics.
pub(crate) const SOURCE: &str = "tapster";

/// The diagnostics of files, by path.
pub(crate) type FileDiagnostics = BTreeMap<PathBuf, Vec<lsp_types::Diagnostic>>;

/// Turns reports into diagnostics of files.
pub(crate) struct DiagnosticWriter<'d> {
    pub(crate) documents: &'d OpenDocuments,
    /// Where a diagnostic without a place is shown.
    pub(crate) main: PathBuf,
}

impl DiagnosticWriter<'_> {
    /// Adds the diagnostics of a report.
    pub(crate) fn add(&self, CheckReport { report, sources }: &CheckReport, out: &mut FileDiagnostics) {
        for found in report.items() {
            let (path, range) = match found.span.and_then(|span| self.place(span, sources)) {
                Some(place) => place,
                None => (self.main.clone(), LspRange::default()),
            };
            let all = out.entry(path).or_default();
            let new = self.diagnostic(found, range, sources);
            if !all.contains(&new) {
                all.push(new);
            }
        }
    }

    fn diagnostic(&self, found: &Diagnostic, range: LspRange, sources: &Sources) -> lsp_types::Diagnostic {
        let related = found.related.iter().filter_map(|(span, text)| {
            let (path, range) = self.place(*span, sources)?;
            Some(DiagnosticRelatedInformation { location: Location::new(address_of(&path)?, range), message: text.clone() })
        });
        let related: Vec<_> = related.collect();
        let rule = found.rule.iter().map(|rule| format!("\nrule: {rule}"));
        let help = found.help.iter().map(|help| format!("\nhelp: {help}"));
        let message = std::iter::once(found.message.clone()).chain(rule).chain(help).collect();
        let edit = self.certain_edit(found, sources);
        lsp_types::Diagnostic {
            range,
            severity: Some(match found.severity {
                Severity::Error => DiagnosticSeverity::ERROR,
                Severity::Warning => DiagnosticSeverity::WARNING,
                Severity::Note => DiagnosticSeverity::INFORMATION,
            }),
            code: Some(NumberOrString::String(found.code.as_str().to_owned())),
            code_description: None::<CodeDescription>,
            source: Some(SOURCE.to_owned()),
            message,
            related_information: Some(related).filter(|related| !related.is_empty()),
            tags: None,
            data: edit.map(|(path, edit)| json!({ "path": path, "edit": edit })),
        }
    }

    /// The change that certainly is the remedy, and in which file.
    fn certain_edit(&self, found: &Diagnostic, sources: &Sources) -> Option<(PathBuf, TextEdit)> {
        if found.code == Code::FileBom {
            let (path, _) = self.place(found.span?, sources)?;
            let has_mark = self.documents.of_path(&path).is_some_and(|document| document.mark_length() > 0);
            let mark = LspRange::new(Default::default(), lsp_types::Position::new(0, 1));
            return has_mark.then(|| (path, TextEdit::new(mark, String::new())));
        }
        let (span, text) = found.certain_fix()?;
        let (path, range) = self.place(span, sources)?;
        Some((path, TextEdit::new(range, text.to_owned())))
    }

    /// The file of a span and the place in it; `None` for one of a shipped pack.
    pub(crate) fn place(&self, span: Span, sources: &Sources) -> Option<(PathBuf, LspRange)> {
        let source = sources.get(span.source)?;
        let path = path_of_source(source)?;
        Some((path.to_owned(), range_in(source, span, self.documents)))
    }
}

/// The path of a text that is a file.
pub(crate) fn path_of_source(source: &Source) -> Option<&Path> {
    Some(Path::new(&*source.name)).filter(|path| path.is_absolute())
}

/// The place of a span in the text as the editor has it.
pub(crate) fn range_in(source: &Source, span: Span, documents: &OpenDocuments) -> LspRange {
    let bytes = span.start as usize..span.end as usize;
    let open = path_of_source(source).and_then(|path| documents.of_path(path));
    // of a text with a byte order mark, the engine has the rest
    match open.filter(|document| document.text.get(document.mark_length()..) == Some(&*source.text)) {
        Some(document) => {
            let mark = document.mark_length();
            document.lines.range(&document.text, &(bytes.start + mark..bytes.end + mark))
        }
        None => LineIndex::new(&source.text).range(&source.text, &bytes),
    }
}

/// The address under which diagnostics of a path are published: that of the open document, as its editor writes it.
pub(crate) fn published_address(path: &Path, documents: &OpenDocuments) -> Option<Uri> {
    documents.of_path(path).map(|document| document.address.clone()).or_else(|| address_of(path))
}
