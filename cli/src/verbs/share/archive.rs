//! `tapster pack`: the archive of a pack.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::diag::{Code, Diagnostic, Report, Sources, limits};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::files::write_file;
use crate::inputs::library::pack_shelf;
use crate::inputs::pack_files::{FileLocation, OmittedFile, files_of, read_bounded, share_failure};
use crate::layout::{counted, one_line, table};
use crate::output::Console;
use crate::pack::files::{is_pack, parent};
use crate::pack::library::is_name;
use crate::pack::{Ruleset, Schemas, Start, load_cases};
use crate::share::archive::MAX_ARCHIVE;
use crate::share::index::{INDEX_FILE, is_own_name};
use crate::share::signature::{ENDING as SIGNATURE, MAX_SIGNATURE, SignatureVerdict, names_digest, verify};
use crate::share::{self, ENDING, IndexEntry, ManifestHeader, PackIndex, file_name};
use crate::verbs::share::keys::{keyring, sign_file};
use crate::verbs::share::sources::IndexArgs;
use crate::verbs::test::{case_files, count_cases};

/// Most files that are named one by one as left out.
const MAX_NAMED: usize = 20;

/// Make the archive of a pack, `NAME-RELEASE.tapster`, which others install with `tapster install`.
///
/// The pack is checked first, with everything that it extends, and its rule tests must pass. The same files give the same
/// bytes on every machine.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster pack my-pack
  tapster pack my-pack --out site/my-pack.tapster
  tapster pack my-pack --sign ~/tapster.key      with a signature beside it
  tapster pack my-pack --force                   again, with other files and the same release

Exit codes: 0 done, 1 the pack has mistakes or cannot be shared, 2 it could not run.")]
pub(crate) struct PackArgs {
    /// The pack: its folder, or the name of a pack in `TAPSTER_PACKS` or `./rules`.
    #[arg(value_name = "PACK")]
    pack: PathBuf,
    /// Where the archive is written: a file, or a folder that exists [default: NAME-RELEASE.tapster here].
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Sign the archive with this secret key.
    #[arg(long, value_name = "KEY")]
    sign: Option<PathBuf>,
    /// Replace an archive of the same release that has other files.
    #[arg(long)]
    force: bool,
    /// Make the archive although rule tests of the pack fail, or without running them.
    #[arg(long)]
    untested: bool,
}

impl PackArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let folder = self.folder(show)?;
        check_pack(&folder, show)?;
        if !self.untested {
            check_rule_tests(&folder, show)?;
        }
        let (files, left) = files_of(&folder)?;
        let manifest = ManifestHeader::of(&folder.display().to_string(), &files).map_err(share_failure)?;
        let count = files.len();
        let bytes = share::pack(files).map_err(share_failure)?;
        let own = file_name(&manifest.name, &manifest.release);
        let out = match &self.out {
            Some(out) if out.is_dir() => out.join(&own),
            Some(out) => out.clone(),
            None => PathBuf::from(&own),
        };
        let mut report = omitted_report(&left);
        let is_other = self.replaces_other(&out, &manifest, &bytes)?;
        // without its signature, no archive takes the place of one that may have one
        let signature = self.sign.as_deref().map(|key| sign_file(&out, &bytes, key, show)).transpose()?;
        if is_other && signature.is_none() {
            report.extend(without_signature(&out)?);
        }
        write_file(&out, &bytes)?;
        show.report(&report, &Sources::default());
        let digest = share::digest(&bytes);
        if show.is_json() {
            let signature = signature.map(|path| path.display().to_string());
            show.json(&json!({
                "file": out.display().to_string(), "name": manifest.name, "release": manifest.release.to_string(), "digest": digest,
                "bytes": bytes.len(), "files": count, "signature": signature,
                "left_out": left.iter().map(|l| json!({ "path": l.path, "why": l.why })).collect::<Vec<_>>(),
            }));
            return Ok(RunExit::Done);
        }
        show.result(&format!("{}: {count} files, {} bytes, {digest}\n", out.display(), bytes.len()));
        if let Some(signature) = signature {
            show.result(&format!("{}\n", signature.display()));
        }
        Ok(RunExit::Done)
    }
}

impl PackArgs {
    /// The folder of the pack.
    fn folder(&self, show: &Console<'_>) -> Result<PathBuf> {
        if is_pack(&self.pack) {
            return Ok(self.pack.clone());
        }
        let name = self.pack.to_str().filter(|name| is_name(name));
        let found = name.and_then(|name| pack_shelf(show).folders.iter().map(|folder| folder.join(name)).find(|folder| is_pack(folder)));
        found.ok_or_else(|| {
            let message = format!("`{}` is neither the folder of a pack nor the name of one that has a folder", self.pack.display());
            EarlyExit::could_not(Code::PackMissing, message, "name a folder with a `pack.toml`")
        })
    }
}

impl PackArgs {
    /// Whether the archive takes the place of another one. One of the same release is refused, because others may have it.
    fn replaces_other(&self, out: &Path, manifest: &ManifestHeader, bytes: &[u8]) -> Result<bool> {
        let Some(there) = FileLocation::Path(out.to_owned()).get(MAX_ARCHIVE)?.filter(|there| there != bytes) else { return Ok(false) };
        let name = out.display().to_string();
        let same = share::unpack(&name, &there).and_then(|files| ManifestHeader::of(&name, &files));
        let same = same.is_ok_and(|there| (&there.name, &there.release) == (&manifest.name, &manifest.release));
        if same && !self.force {
            let message = format!("`{name}` is `{}` {} already, with other files", manifest.name, manifest.release);
            let help = "raise the `release`, because others may have this one; or replace it with `--force`";
            return Err(EarlyExit::new(RunExit::No, Diagnostic::new(Code::ShareTaken, message).help(help)));
        }
        Ok(true)
    }
}

/// Removes the signature of an archive that is replaced, and says so.
fn without_signature(archive: &Path) -> Result<Report> {
    let FileLocation::Path(path) = FileLocation::Path(archive.to_owned()).with(SIGNATURE) else { return Ok(Report::default()) };
    if !path.is_file() {
        return Ok(Report::default());
    }
    std::fs::remove_file(&path).map_err(|error| {
        let message = format!("`{}`, which signs the archive that is replaced, cannot be removed: {error}", path.display());
        EarlyExit::could_not(Code::FileMissing, message, "check the folder and its permissions")
    })?;
    let message = format!("`{}` is removed: it signed the archive that was replaced", path.display());
    Ok(Diagnostic::warning(Code::ShareSignature, message).help("sign the new one: `tapster sign`, or `--sign KEY`").into())
}

/// Refuses a pack that has mistakes.
fn check_pack(folder: &Path, show: &mut Console<'_>) -> Result<()> {
    show.near.extend(parent(folder));
    let library = pack_shelf(show);
    let start = Start::Folder(folder.to_owned());
    let (report, sources) = load_cases(&start, &library, Schemas::shipped());
    if report.has_errors() {
        return Err(EarlyExit::report(RunExit::No, report, sources));
    }
    Ruleset::load(&start, &[], &library).map(|_| ()).map_err(EarlyExit::rejected)
}

/// Refuses a pack whose rule tests fail: others would meet what they say.
fn check_rule_tests(folder: &Path, show: &Console<'_>) -> Result<()> {
    let files: Vec<_> = case_files(folder).collect();
    match count_cases(&files, show) {
        (_, 0) => Ok(()),
        (passed, failed) => {
            let message = format!("{failed} of {} rule tests of the pack fail", passed + failed);
            let help = format!("`tapster test {}` shows them; `--untested` makes the archive all the same", folder.display());
            Err(EarlyExit::refused(Code::ShareArchive, message, help))
        }
    }
}

/// What an archive does not hold.
fn omitted_report(left: &[OmittedFile]) -> Report {
    let note = |l: &OmittedFile| Diagnostic::new(Code::ShareLeftOut, format!("`{}` is left out: {}", share::shown(&l.path), l.why));
    let mut report: Report = left.iter().take(MAX_NAMED).map(note).collect();
    if let Some(more) = left.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        report.push(Diagnostic::new(Code::ShareLeftOut, format!("{more} more files are left out; `--format json` names all")));
    }
    report
}

/// Most folders inside each other.
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
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let mut entries: Vec<IndexEntry> = Vec::new();
        let keys = keyring(show)?.keys;
        let mut unchecked = 0;
        for file in find_archives(&self.folder)? {
            let path = self.folder.join(&file);
            let bytes = read_bounded(&path, MAX_ARCHIVE)?;
            let name = path.display().to_string();
            let manifest = ManifestHeader::of(&name, &share::unpack(&name, &bytes).map_err(share_failure)?).map_err(share_failure)?;
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
                let verdict = verify(&name, &bytes, signature, &keys).map_err(share_failure)?;
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
fn find_archives(folder: &Path) -> Result<Vec<String>> {
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
            if found.len() > limits::ENTRIES {
                let message = format!("`{}` holds more than {} archives", folder.display(), limits::ENTRIES);
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
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
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
