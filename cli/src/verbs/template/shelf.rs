//! The store of templates that the verb works on.

use std::ffi::OsString;

use clap::Args;

use crate::diag::{Code, Diagnostic, suggest};
use crate::pack::{OpenedTemplate, RuleFile, Start};
#[cfg(feature = "full")]
use crate::store::SqlStore;
use crate::store::{FolderStore, StoredTemplate, TemplateStore};
use crate::template::TemplateContract;

use crate::inputs::store::StoreLocation;
use crate::inputs::store::from_env;
use crate::inputs::templated;
use crate::layout::head;
use crate::output::OutputStreams;
use crate::stop::EarlyExit;
use crate::stop::RunExit;
use crate::waiting::wait;

/// The folder of templates if none is named.
const DEFAULT_STORE: &str = "templates";

/// Where templates are stored.
#[derive(Debug, Clone, Args)]
pub(crate) struct TemplateStoreArgs {
    /// The folder of templates, or a database: `FILE.db`, `sqlite:PATH`, `postgres://…` [default: TAPSTER_TEMPLATES,
    /// else TAPSTER_STORE, else the folder `templates`].
    #[arg(long, value_name = "DIR|URL")]
    store: Option<OsString>,
    /// Short for `--format json`.
    #[arg(long)]
    json: bool,
}

/// The store that a verb works on.
pub(crate) struct TemplateShelf {
    pub(super) store: Box<dyn TemplateStore>,
    name: String,
    /// The database, which is closed behind the last request.
    #[cfg(feature = "full")]
    _open: Option<crate::inputs::store::OpenStore>,
}

impl TemplateStoreArgs {
    /// Opens the store and applies `--json`.
    pub(crate) fn open(&self, show: &mut OutputStreams<'_, '_>) -> Result<TemplateShelf, EarlyExit> {
        if self.json {
            show.set_json();
        }
        let named = self.store.clone();
        let named = named.or_else(|| from_env("TAPSTER_TEMPLATES", show)).or_else(|| from_env("TAPSTER_STORE", show));
        match StoreLocation::of(named.unwrap_or_else(|| DEFAULT_STORE.into())) {
            StoreLocation::Folder(folder) => Ok(TemplateShelf {
                store: Box::new(FolderStore::new(&folder)),
                name: folder.display().to_string(),
                #[cfg(feature = "full")]
                _open: None,
            }),
            StoreLocation::Database(address) => database(&address),
        }
    }
}

#[cfg(feature = "full")]
fn database(address: &str) -> Result<TemplateShelf, EarlyExit> {
    let store = crate::inputs::store::open(address)?;
    Ok(TemplateShelf { name: store.name().to_owned(), store: Box::new(SqlStore::clone(&store)), _open: Some(store) })
}

#[cfg(not(feature = "full"))]
fn database(_: &str) -> Result<TemplateShelf, EarlyExit> {
    let message = "this program was built without databases, and `--store` names one";
    let help = format!("name a folder, or {}", crate::verbs::missing::HELP);
    Err(EarlyExit::could_not(Code::FeatureMissing, message, help))
}

impl TemplateShelf {
    /// The stored bytes of an id, not yet parsed.
    pub(crate) fn read(&self, id: &str) -> Result<StoredTemplate, EarlyExit> {
        match wait(self.store.get(id)) {
            Ok(Some(stored)) => Ok(stored),
            Ok(None) => Err(self.missing(id)),
            Err(complaint) => Err(EarlyExit::new(RunExit::No, *complaint)),
        }
    }

    pub(super) fn missing(&self, id: &str) -> EarlyExit {
        let ids = wait(self.store.list()).unwrap_or_default().ids;
        let name = head(&self.name, 200);
        let help = suggest::help(id, ids.iter().map(String::as_str));
        let help = help.unwrap_or_else(|| "`tapster template list` names those there are; `--store` names another store".into());
        EarlyExit::could_not(Code::NameUnknown, format!("`{name}` holds no template `{}`", head(id, 60)), help)
    }
}

/// Reads a stored template, whose id must be the one that it is stored under. A pack may have the revision that it is
/// written in.
pub(crate) fn own(
    id: &str,
    stored: &StoredTemplate,
    asked: &TemplateContract<'_>,
    pack: Option<&Start>,
    show: &OutputStreams<'_, '_>,
) -> Result<OpenedTemplate, EarlyExit> {
    let opened = templated::opened(&stored_file(stored), asked, pack, &[], show)?;
    if &*opened.template.id != id {
        let message = format!("`{}` holds template `{}`, and not `{}`", stored.name, head(&opened.template.id, 60), head(id, 60));
        let help = "write its `id` back, or add it anew with `tapster template add`";
        return Err(EarlyExit::new(RunExit::No, Diagnostic::new(Code::StoreName, message).help(help)));
    }
    Ok(opened)
}

/// A stored template as a file of rules.
pub(crate) fn stored_file(stored: &StoredTemplate) -> RuleFile {
    json_file(stored.name.clone(), stored.bytes.clone())
}

pub(super) fn json_file(name: String, bytes: Vec<u8>) -> RuleFile {
    RuleFile { name, path_in_pack: "template.json".to_owned(), bytes }
}
