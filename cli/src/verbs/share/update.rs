//! `tapster update`: newer releases of installed packs.

use std::collections::BTreeMap;

use clap::Args;
use semver::Version;

use crate::diag::{Code, Diagnostic, Sources};
use crate::share::LockedPack;
use crate::share::index::PackDependency;
use crate::share::resolve::PackRequest;

use crate::inputs::shared::FileLocation;
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};

use super::install::{KeptPacks, choose, exactly, fetched, others, standing};
use super::place::{line, put, same_signer};
use super::shelf::{InstallState, PackFolder};
use super::sources::{IncomingPack, IndexListings, SignaturePolicy, TransferArgs};

/// Take newer releases of installed packs: from the index by which they were installed, also where `--index` names others; a
/// pack that came from a file, a folder or an address is got from there again. Older releases are never taken.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster update                        all packs that tapster.lock names
  tapster update my-pack
  tapster update my-pack --index ../packs

Exit codes: 0 done, also if nothing is newer; 1 a pack is refused, 2 something is not found.")]
pub(crate) struct UpdateArgs {
    /// The packs [default: all that `tapster.lock` names].
    packs: Vec<String>,
    #[command(flatten)]
    taking: TransferArgs,
    /// Replace packs whose files were changed since they were installed.
    #[arg(long)]
    replace: bool,
}

impl UpdateArgs {
    pub(crate) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let (mut home, policy) = self.taking.open(show)?;
        let sources = &self.taking.sources;
        let names: Vec<String> =
            if self.packs.is_empty() { home.lock.packs.iter().map(|pack| pack.name.clone()).collect() } else { self.packs.clone() };
        let mut indexes = sources.indexes.named(show);
        let ordered = indexes.len();
        let mut given = BTreeMap::new();
        for name in &names {
            let Some(row) = home.lock.get(name) else {
                let message = format!("`{name}` is not in the lock of `{}`", home.folder.display());
                return Err(EarlyExit::could_not(
                    Code::ShareUnmet,
                    message,
                    "`tapster list` lists the packs; `tapster install` installs one",
                ));
            };
            if !self.replace && home.state(name)? == InstallState::Changed {
                let message = format!("the files of `{}` were changed since it was installed", home.folder.join(name).display());
                let help = "keep the changes as an overlay or a pack that extends it; `--replace` throws them away";
                return Err(EarlyExit::new(RunExit::No, Diagnostic::new(Code::ShareTaken, message).help(help)));
            }
            match &row.index {
                Some(index) if !indexes.contains(index) && sources.indexes.index.is_empty() => indexes.push(index.clone()),
                Some(_) => {}
                None if self.taking.takes_any() => {}
                None => {
                    if let Some(brought) = again(&home, name, &FileLocation::typed(&row.source), &policy)? {
                        given.insert(name.clone(), brought);
                    }
                }
            }
        }
        let listings = self.taking.listings(&indexes, ordered)?;
        let asked = names.iter().map(|name| match given.get(name) {
            Some(brought) => PackRequest { need: exactly(name, &brought.manifest.release), by: "you".to_owned() },
            None => PackRequest { need: PackDependency { name: name.clone(), release: None }, by: "you".to_owned() },
        });
        let mut asked: Vec<PackRequest> = asked.collect();
        asked.extend(standing(&home, &names.iter().map(String::as_str).collect::<Vec<_>>()));
        let chosen = choose(asked, &home, &given, &listings, KeptPacks::Older(&names))?;
        let (packs, kept) = fetched(&chosen, given, &listings, &home, &policy)?;
        packs.iter().try_for_each(|pack| same_signer(&home, pack))?;
        let lines: Vec<String> = packs.iter().map(|pack| changed(pack, &home)).collect();
        let others = others(&chosen, &home, &listings);
        put(&mut home, packs, &|name| self.replace && names.iter().any(|asked| asked == name), show)?;
        show.result(&lines.concat());
        show.report(&others, &Sources::default());
        for name in kept.iter().filter(|name| names.contains(name)) {
            let release = home.lock.get(name).map(|row| row.release.to_string()).unwrap_or_default();
            let newer = home.lock.get(name).and_then(|row| newer(row, &listings));
            show.result(&match newer {
                Some(newer) if names.len() < home.lock.packs.len() => {
                    format!(
                        "{name} {release} stays: {newer} does not fit the other packs as they are; `tapster update` updates all of them\n"
                    )
                }
                Some(newer) => format!("{name} {release} stays: {newer} does not fit the other packs, or not this engine\n"),
                None => format!("{name} {release} is the newest\n"),
            });
        }
        Ok(RunExit::Done)
    }
}

/// The newest release of an installed pack in its index, if it is newer than what is installed; not one for trial.
fn newer(row: &LockedPack, listings: &IndexListings) -> Option<Version> {
    let (entries, _) = listings.releases(&row.name, Some(row));
    let entries = entries.into_iter().filter(|(_, entry)| entry.release.pre.is_empty());
    entries.map(|(_, entry)| entry.release.clone()).max().filter(|newest| *newest > row.release)
}

fn changed(pack: &IncomingPack, home: &PackFolder) -> String {
    let text = line("updated", pack, home);
    match home.lock.get(&pack.manifest.name) {
        Some(row) => text.replacen("updated ", &format!("updated {} from {} to ", row.name, row.release), 1).replacen(
            &format!("to {} ", pack.manifest.name),
            "to ",
            1,
        ),
        None => text.replacen("updated", "installed", 1),
    }
}

/// A pack from where it came, if it is another one there now and not an older one.
fn again(home: &PackFolder, name: &str, place: &FileLocation, policy: &SignaturePolicy) -> Result<Option<IncomingPack>, EarlyExit> {
    let brought = policy.at(place)?;
    let wrong = |what: String| {
        let diagnostic = Diagnostic::new(Code::ShareDigest, format!("`{place}` {what}"));
        EarlyExit::new(RunExit::No, diagnostic.help("`tapster install` installs another pack, `tapster install --replace` another release"))
    };
    if brought.manifest.name != name {
        return Err(wrong(format!("is now the pack `{}`, and was `{name}`", brought.manifest.name)));
    }
    let Some(row) = home.lock.get(name) else { return Ok(None) };
    if brought.manifest.release < row.release {
        return Err(wrong(format!("has release {} of `{name}`, which is older than {}", brought.manifest.release, row.release)));
    }
    Ok(Some(brought).filter(|brought| brought.locked.digest != row.digest))
}
