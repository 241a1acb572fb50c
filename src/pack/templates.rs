//! Templates as single files and as rows of a pack's table `template`, checked against their schema.
//!
//! A file of a pack may hold only some keys, to be merged over those of a lower layer; so the merged row is checked
//! against the schema, not each file.

use std::sync::OnceLock;

use super::PackError;
use super::files::RuleFile;
use super::library;
use super::read;
use super::schemas::Schemas;
use super::validate::{self, NamingStyle};
use crate::diag::{DocumentNode, Report, Sources};
use crate::model::Pack;
use crate::template::{self, CompiledTemplates, Revisions, Template, TemplateContract};

/// The table of revisions.
const REVISION: &str = "revision";
/// The schema of templates.
const SCHEMA: &str = "template.v1.json";

/// A template that was read from a single file: the result of [`open_template`].
#[derive(Debug)]
pub struct OpenedTemplate {
    /// The compiled template.
    pub template: Template,
    /// The warnings about it, such as parts that have no effect.
    pub warnings: Report,
    /// The texts that the spans of the warnings point into.
    pub sources: Sources,
}

/// Reads and compiles one file that is a template; it is read as JSON if its name ends in `.json`, and else as TOML.
/// `asked` says what the template must fit.
///
/// # Errors
/// All mistakes: of the syntax alone, or of schema, task, sources and structure.
pub fn open_template(file: &RuleFile, asked: &TemplateContract<'_>) -> Result<OpenedTemplate, PackError> {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let template = compile_file(file, asked, &mut sources, &mut report);
    // in the order in which `template::compile` finds them
    report.sort_by_phase(|code| match code {
        "template.source" => 1,
        code if code.starts_with("template.") => 2,
        _ => 0,
    });
    match template.filter(|_| !report.has_errors()) {
        Some(template) => Ok(OpenedTemplate { template, warnings: report, sources }),
        None => Err(PackError { report, sources }),
    }
}

fn compile_file(file: &RuleFile, asked: &TemplateContract<'_>, sources: &mut Sources, report: &mut Report) -> Option<Template> {
    let (_, root) = read::tree(file, "", true, sources, report)?;
    let revisions = asked.revisions.unwrap_or_else(|| shipped_revisions());
    template::checked(&root, asked, revisions, None, &|root, report| check(root, Schemas::shipped(), report), report)
}

/// The revisions of the shipped packs, for templates that are read without a pack: those of the first pack, by name, that
/// has any.
fn shipped_revisions() -> &'static Revisions {
    static ALL: OnceLock<Revisions> = OnceLock::new();
    ALL.get_or_init(|| {
        let rows = library::shipped_names().iter().find_map(|name| {
            let rows = library::shipped(name)?.files.iter().flat_map(|file| read::rows_in(file, REVISION)).collect::<Vec<_>>();
            (!rows.is_empty()).then_some(rows)
        });
        let rows = rows.unwrap_or_default();
        Revisions::read(rows.iter().map(|(name, fields)| (name, fields)), &mut Report::default())
    })
}

/// Checks a whole template against the schema.
fn check(root: &DocumentNode, schemas: &Schemas, report: &mut Report) {
    validate::check(root, SCHEMA, "", NamingStyle::Paths, schemas, report);
}

/// Checks a single template file as far as that is possible without its task.
pub(super) fn alone(root: &DocumentNode, schemas: &Schemas, report: &mut Report) {
    template::checked(root, &TemplateContract::default(), shipped_revisions(), None, &|root, report| check(root, schemas, report), report);
}

/// Compiles the templates of a pack, each against the sources of its task as the pack has them.
pub(super) fn compile_all(pack: &Pack, revisions: &Revisions, schemas: &Schemas, report: &mut Report) -> CompiledTemplates {
    template::compile_all(pack, revisions, &|root, report| check(root, schemas, report), report)
}
