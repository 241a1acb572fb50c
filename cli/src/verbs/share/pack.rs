//! `tapster pack`: the archive of a pack.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::diag::{Code, Diagnostic, Report, Sources};
use crate::pack::files::{is_pack, parent};
use crate::pack::library::is_name;
use crate::pack::{Ruleset, Schemas, Start, load_cases};
use crate::share::archive::MAX_ARCHIVE;
use crate::share::signature::ENDING as SIGNATURE;
use crate::share::{self, ManifestHeader, file_name};

use crate::inputs::files::write_file;
use crate::inputs::library::shelf;
use crate::inputs::shared::{FileLocation, OmittedFile, files_of, refused};
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};
use crate::verbs::test::{case_files, count_cases};

use super::keys::sign_file;

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
    pub(crate) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let folder = self.folder(show)?;
        checked(&folder, show)?;
        if !self.untested {
            check_rule_tests(&folder, show)?;
        }
        let (files, left) = files_of(&folder)?;
        let manifest = ManifestHeader::of(&folder.display().to_string(), &files).map_err(refused)?;
        let count = files.len();
        let bytes = share::pack(files).map_err(refused)?;
        let own = file_name(&manifest.name, &manifest.release);
        let out = match &self.out {
            Some(out) if out.is_dir() => out.join(&own),
            Some(out) => out.clone(),
            None => PathBuf::from(&own),
        };
        let mut report = told(&left);
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
    fn folder(&self, show: &OutputStreams<'_, '_>) -> Result<PathBuf, EarlyExit> {
        if is_pack(&self.pack) {
            return Ok(self.pack.clone());
        }
        let name = self.pack.to_str().filter(|name| is_name(name));
        let found = name.and_then(|name| shelf(show).folders.iter().map(|folder| folder.join(name)).find(|folder| is_pack(folder)));
        found.ok_or_else(|| {
            let message = format!("`{}` is neither the folder of a pack nor the name of one that has a folder", self.pack.display());
            EarlyExit::could_not(Code::PackMissing, message, "name a folder with a `pack.toml`")
        })
    }
}

impl PackArgs {
    /// Whether the archive takes the place of another one. One of the same release is refused, because others may have it.
    fn replaces_other(&self, out: &Path, manifest: &ManifestHeader, bytes: &[u8]) -> Result<bool, EarlyExit> {
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
fn without_signature(archive: &Path) -> Result<Report, EarlyExit> {
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
fn checked(folder: &Path, show: &mut OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
    show.near.extend(parent(folder));
    let library = shelf(show);
    let start = Start::Folder(folder.to_owned());
    let (report, sources) = load_cases(&start, &library, Schemas::shipped());
    if report.has_errors() {
        return Err(EarlyExit::report(RunExit::No, report, sources));
    }
    Ruleset::load(&start, &[], &library).map(|_| ()).map_err(EarlyExit::rejected)
}

/// Refuses a pack whose rule tests fail: others would meet what they say.
fn check_rule_tests(folder: &Path, show: &OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
    let files: Vec<_> = case_files(folder).collect();
    match count_cases(&files, show) {
        (_, 0) => Ok(()),
        (passed, failed) => {
            let message = format!("{failed} of {} rule tests of the pack fail", passed + failed);
            let help = format!("`tapster test {}` shows them; `--untested` makes the archive all the same", folder.display());
            Err(EarlyExit::new(RunExit::No, Diagnostic::error(Code::ShareArchive, message).help(help)))
        }
    }
}

/// What an archive does not hold.
fn told(left: &[OmittedFile]) -> Report {
    let note = |l: &OmittedFile| Diagnostic::new(Code::ShareLeftOut, format!("`{}` is left out: {}", share::shown(&l.path), l.why));
    let mut report: Report = left.iter().take(MAX_NAMED).map(note).collect();
    if let Some(more) = left.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        report.push(Diagnostic::new(Code::ShareLeftOut, format!("{more} more files are left out; `--format json` names all")));
    }
    report
}
