//! `tapster index` writes the index of a folder of archives, `tapster search` reads one.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::diag::{Code, Diagnostic};
use crate::share::archive::MAX_ARCHIVE;
use crate::share::index::{INDEX_FILE, is_own_name};
use crate::share::signature::{ENDING as SIGNATURE, MAX_SIGNATURE, SignatureVerdict, names_digest, verify};
use crate::share::{self, ENDING, IndexEntry, ManifestHeader, PackIndex, file_name};

use crate::inputs::files::write_file;
use crate::inputs::shared::{FileLocation, bounded, refused};
use crate::layout::{counted, one_line, table};
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};

use super::keys::keyring;
use super::sources::IndexArgs;

/// Most archives of one folder, and most folders inside each other.
const MAX_ARCHIVES: usize = 20_000;
const MAX_DEPTH: usize = 8;

/// Write `index.json` for a folder of archives. Put the folder on any web server, or into a git repository that is
/// served: that is all that `tapster install NAME --index` needs.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster index site/packs
  tapster install my-pack --index site/packs")]
pub(crate) struct MakeIndexArgs {
    /// The folder; archives in folders below it are found too.
    folder: PathBuf,
}

impl MakeIndexArgs {
    pub(crate) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let mut entries: Vec<IndexEntry> = Vec::new();
        let keys = keyring(show)?.keys;
        let mut unchecked = 0;
        for file in archives(&self.folder)? {
            let path = self.folder.join(&file);
            let bytes = bounded(&path, MAX_ARCHIVE)?;
            let name = path.display().to_string();
            let manifest = ManifestHeader::of(&name, &share::unpack(&name, &bytes).map_err(refused)?).map_err(refused)?;
            let no =
                |message: String, help: String| Err(EarlyExit::new(RunExit::No, Diagnostic::new(Code::ShareIndex, message).help(help)));
            if !is_own_name(&file, &manifest) {
                let help = format!("rename it to `{}`, as `tapster pack` calls it", file_name(&manifest.name, &manifest.release));
                return no(format!("`{name}` has another name than its pack"), help);
            }
            if let Some(other) = entries.iter().find(|e| (&e.name, &e.release) == (&manifest.name, &manifest.release)) {
                let message = format!("`{}` and `{file}` are one release of `{}`", other.file, manifest.name);
                return no(message, "remove one of them, or raise the `release` of the newer one".to_owned());
            }
            let signature = FileLocation::Path(path).with(SIGNATURE).get(MAX_SIGNATURE)?;
            if let Some(signature) = &signature {
                // a signature by a trusted key is checked, and any other one is asked for which archive it was made
                let verdict = verify(&name, &bytes, signature, &keys).map_err(refused)?;
                match (verdict, names_digest(signature, &bytes)) {
                    (SignatureVerdict::By(_), _) | (SignatureVerdict::Unknown(_), Some(true)) => {}
                    (SignatureVerdict::Unknown(_), Some(false)) => {
                        let message = format!("the signature of `{name}` was made for another archive");
                        let help = format!("sign it again with `tapster sign`, or remove `{name}{SIGNATURE}`");
                        return Err(EarlyExit::new(RunExit::No, Diagnostic::new(Code::ShareSignature, message).help(help)));
                    }
                    (SignatureVerdict::Unknown(_), None) => unchecked += 1,
                }
            }
            entries.push(IndexEntry::of(&manifest, file, &bytes, signature.is_some()));
        }
        let index = PackIndex::new(entries);
        let out = self.folder.join(INDEX_FILE);
        write_file(&out, index.write())?;
        show.result(&format!("{}: {}\n", out.display(), counted(index.packs.len(), "release")));
        if unchecked > 0 {
            let signatures = counted(unchecked, "signature");
            show.result(&format!("not checked: {signatures} by keys that are not trusted here (`tapster keys trust`)\n"));
        }
        Ok(RunExit::Done)
    }
}

/// The archives below a folder, as paths from it, sorted. Links are not followed.
fn archives(folder: &Path) -> Result<Vec<String>, EarlyExit> {
    let (mut open, mut found) = (vec![(String::new(), 0)], Vec::new());
    while let Some((inside, depth)) = open.pop() {
        let at = folder.join(&inside);
        let list = std::fs::read_dir(&at).map_err(|error| {
            EarlyExit::could_not(Code::FileMissing, format!("`{}` cannot be read: {error}", at.display()), "name a folder of archives")
        })?;
        for entry in list.flatten() {
            let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else { continue };
            let path = format!("{inside}{name}");
            if name.starts_with('.') {
                continue;
            }
            if kind.is_dir() && depth < MAX_DEPTH {
                open.push((format!("{path}/"), depth + 1));
            } else if kind.is_file() && name.ends_with(&format!(".{ENDING}")) {
                found.push(path);
            }
            if found.len() > MAX_ARCHIVES {
                let message = format!("`{}` holds more than {MAX_ARCHIVES} archives", folder.display());
                return Err(EarlyExit::could_not(Code::FileTooLarge, message, "split it into several indexes"));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Find packs in an index: those whose name, description or authors have all the words.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster search noir detective --index https://example.org/packs
  TAPSTER_INDEX=https://example.org/packs tapster search
  tapster search --all my-pack --index ../packs        every release

Exit codes: 0 found, 1 nothing is found, 2 it could not run.")]
pub(crate) struct SearchArgs {
    /// The words; without them, all packs are listed.
    words: Vec<String>,
    #[command(flatten)]
    indexes: IndexArgs,
    /// List every release, and not the newest of each pack only.
    #[arg(long)]
    all: bool,
}

impl SearchArgs {
    pub(crate) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let listings = self.indexes.read(show)?;
        if listings.all.is_empty() {
            let help = "name one with `--index URL`, or in the environment: `TAPSTER_INDEX`";
            return Err(EarlyExit::could_not(Code::ShareUnmet, "there is no index to search", help));
        }
        let words: Vec<String> = self.words.iter().map(|word| word.to_lowercase()).collect();
        let mut found: Vec<(&IndexEntry, String)> = Vec::new();
        let mut owners: HashMap<&str, usize> = HashMap::new();
        for (n, listing) in listings.all.iter().enumerate() {
            // a pack belongs to the first index that has it, and `install` takes no release of another one
            let mut own = listing.index.packs.iter().filter(|entry| *owners.entry(&entry.name).or_insert(n) == n);
            for entry in own.by_ref().filter(|entry| entry.has(&words)) {
                // the newest release of a pack comes first
                if self.all || !found.iter().any(|(other, _)| other.name == entry.name) {
                    found.push((entry, listing.place.to_string()));
                }
            }
        }
        if show.is_json() {
            show.json(&json!(found.iter().map(|(entry, index)| json!({ "index": index, "pack": entry })).collect::<Vec<_>>()));
        } else {
            let signed = |entry: &IndexEntry| if entry.signed { "signed" } else { "" }.to_owned();
            let row = |entry: &IndexEntry| vec![one_line(&entry.name), entry.release.to_string(), signed(entry), one_line(&entry.about)];
            show.result(&table(&found.iter().map(|(entry, _)| row(entry)).collect::<Vec<_>>()));
            if found.is_empty() {
                let what =
                    if words.is_empty() { "no pack".to_owned() } else { format!("no pack with `{}`", one_line(&self.words.join(" "))) };
                let places: Vec<String> = listings.all.iter().map(|listing| format!("`{}`", listing.place)).collect();
                show.result(&format!("{what} in {}\n", places.join(", ")));
            }
        }
        Ok(if found.is_empty() { RunExit::No } else { RunExit::Done })
    }
}
