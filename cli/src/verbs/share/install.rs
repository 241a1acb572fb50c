//! `tapster install`: packs from archives, folders, addresses and indexes, with all that they extend.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::Args;
use semver::{Version, VersionReq};

use crate::diag::{Code, Diagnostic, Report, Sources};
use crate::pack::files::is_pack;
use crate::share::index::{PackDependency, name_complaint};
use crate::share::resolve::{ChosenReleases, PackRequest, ReleaseCandidate, resolve};
use crate::share::{ENDING, index::IndexEntry};

use crate::inputs::shared::{FileLocation, is_url, refused};
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};

use super::place::{free, line, put, same_signer};
use super::shelf::{InstallState, PackFolder, shipped};
use super::sources::{IncomingPack, IndexListings, SignaturePolicy, TransferArgs};

/// Install packs into `./rules`, where `--pack` and `extends` find them. What they extend is installed with them, and
/// `tapster.lock` in the folder says what was installed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster install my-pack-1.0.0.tapster             an archive of `tapster pack`
  tapster install ../my-pack                        a folder; with an index, one in the working folder is `./my-pack`
  tapster install https://example.org/packs/my-pack-1.0.0.tapster
  tapster install my-pack --index https://example.org/packs
  tapster install my-pack@^1.2 --index ../packs --require-signature
  tapster install my-pack-2.0.0.tapster --replace --allow-other-signer
  tapster install --locked                          just what tapster.lock says

Exit codes: 0 done, 1 a pack is refused, 2 something is not found.")]
pub(crate) struct InstallArgs {
    /// An archive, a folder, an address, or the name of a pack in an index; a range may follow a name: `NAME@^1.2`.
    #[arg(required_unless_present = "locked", value_name = "FILE|DIR|URL|NAME")]
    packs: Vec<String>,
    #[command(flatten)]
    taking: TransferArgs,
    /// Replace packs of the names that are given, or stand in the place of shipped ones. With `NAME@RANGE` a release of the index is
    /// taken, also an older one, unless the one that is installed is in the range.
    #[arg(long)]
    replace: bool,
    /// Take a pack that is not signed, or is signed by another key, in the place of one that is signed.
    #[arg(long)]
    allow_other_signer: bool,
    /// Install what `tapster.lock` says and nothing else; refuse whatever is not what it says.
    #[arg(long, conflicts_with_all = ["packs", "replace", "allow_other_signer"])]
    locked: bool,
}

/// Where a chosen release comes from.
#[derive(Debug, Clone)]
pub(super) enum ReleaseSource {
    /// It is installed or shipped.
    Here,
    /// It was given as a file, a folder or an address.
    Given,
    /// The index with this number has it.
    Listed(usize, Box<IndexEntry>),
}

impl InstallArgs {
    pub(crate) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let (mut home, policy) = self.taking.open(show)?;
        if self.locked {
            return locked(&mut home, &policy, show);
        }
        let mut given: BTreeMap<String, IncomingPack> = BTreeMap::new();
        let mut asked = Vec::new();
        let by_name = !self.taking.sources.indexes.named(show).is_empty();
        for text in &self.packs {
            match spec(text, &policy, by_name)? {
                PackSpec::Pack(brought) => {
                    let name = brought.manifest.name.clone();
                    asked.push(PackRequest { need: exactly(&name, &brought.manifest.release), by: format!("`{text}`") });
                    if given.insert(name.clone(), *brought).is_some() {
                        let message = format!("two of the packs are called `{name}`");
                        return Err(EarlyExit::new(RunExit::No, Diagnostic::new(Code::ShareTaken, message).help("install one of them")));
                    }
                }
                PackSpec::Name(need) => {
                    if is_pack(Path::new(text)) {
                        show.result(&format!("{text} is the name of a pack; the folder `{text}` here is `./{text}`\n"));
                    }
                    asked.push(PackRequest { need, by: "you".to_owned() });
                }
            }
        }
        let indexes = self.taking.sources.indexes.named(show);
        let listings = self.taking.listings(&indexes, indexes.len())?;
        let names: Vec<String> = self.packs.iter().map(|text| text.split('@').next().unwrap_or(text).to_owned()).collect();
        let changing: Vec<String> = given.keys().chain(names.iter().filter(|_| self.replace)).cloned().collect();
        asked.extend(standing(&home, &changing.iter().map(String::as_str).collect::<Vec<_>>()));
        let keeping = if self.replace { KeptPacks::Unless(&names) } else { KeptPacks::All };
        let chosen = choose(asked, &home, &given, &listings, keeping)?;
        let (mut packs, kept) = fetched(&chosen, given, &listings, &home, &policy)?;
        let replaces = |name: &str| self.replace && changing.iter().any(|asked| asked == name);
        let mut there = free(&home, &mut packs, &replaces)?;
        if !self.allow_other_signer {
            packs.iter().try_for_each(|pack| same_signer(&home, pack))?;
        }
        there.extend(kept.into_iter().filter(|name| names.contains(name)));
        let lines: Vec<String> = packs.iter().map(|pack| line("installed", pack, &home)).collect();
        let others = others(&chosen, &home, &listings);
        put(&mut home, packs, &replaces, show)?;
        show.report(&others, &Sources::default());
        show.result(&lines.concat());
        there.iter().for_each(|name| show.result(&format!("{name} is there already; `tapster update` takes newer releases\n")));
        Ok(RunExit::Done)
    }
}

enum PackSpec {
    Pack(Box<IncomingPack>),
    Name(PackDependency),
}

/// What an argument means. Where indexes are searched, a word is a name also if a folder is called so: what is installed
/// must not depend on what happens to lie in the working folder.
fn spec(text: &str, policy: &SignaturePolicy, by_name: bool) -> Result<PackSpec, EarlyExit> {
    let path = Path::new(text);
    let is_word = by_name && !text.contains(['/', '\\']) && !text.ends_with(&format!(".{ENDING}")) && !matches!(text, "." | "..");
    if is_url(text) || text.starts_with("file:") || (path.is_file() && !is_word) {
        return policy.archive(&FileLocation::typed(text)).map(|pack| PackSpec::Pack(Box::new(pack)));
    }
    if path.is_dir() && !is_word && (is_pack(path) || text.contains(['/', '\\'])) {
        return policy.folder(path).map(|pack| PackSpec::Pack(Box::new(pack)));
    }
    let (name, range) = text.split_once('@').map_or((text, None), |(name, range)| (name, Some(range)));
    if text.contains(['/', '\\']) || text.ends_with(&format!(".{ENDING}")) {
        let message = format!("`{text}` cannot be read: there is no such file or folder");
        return Err(EarlyExit::could_not(Code::FileMissing, message, "check the path"));
    }
    if let Some(why) = name_complaint(name) {
        return Err(EarlyExit::could_not(
            Code::ShareUnmet,
            format!("`{text}` cannot be the name of a pack: it {why}"),
            "name a pack or a file",
        ));
    }
    let range = range.map(VersionReq::parse).transpose().map_err(|error| {
        EarlyExit::could_not(
            Code::PackVersion,
            format!("the range of `{text}` cannot be read: {error}"),
            "for example `NAME@^1.2`, `NAME@=1.2.0`",
        )
    })?;
    Ok(PackSpec::Name(PackDependency { name: name.to_owned(), release: range }))
}

/// A need of one release only.
pub(super) fn exactly(name: &str, release: &Version) -> PackDependency {
    PackDependency { name: name.to_owned(), release: VersionReq::parse(&format!("={release}")).ok() }
}

/// What installed packs ask of those that are to be put beside them.
pub(super) fn standing(home: &PackFolder, names: &[&str]) -> Vec<PackRequest> {
    let others = home.packs.iter().filter(|pack| !names.contains(&pack.manifest.name.as_str()));
    let needs = others.flat_map(|pack| {
        let by = format!("`{}` {}, which is installed,", pack.manifest.name, pack.manifest.release);
        pack.manifest.extends.iter().map(move |need| PackRequest { need: need.clone(), by: by.clone() })
    });
    needs.filter(|asked| names.contains(&asked.need.name.as_str())).collect()
}

/// Which installed packs are kept, whatever releases the indexes have.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeptPacks<'a> {
    /// All.
    All,
    /// All but these, which are kept where they are what is asked for.
    Unless(&'a [String]),
    /// All but these, of which newer releases are taken.
    Older(&'a [String]),
}

/// Chooses the releases.
pub(super) fn choose(
    asked: Vec<PackRequest>,
    home: &PackFolder,
    given: &BTreeMap<String, IncomingPack>,
    listings: &IndexListings,
    kept: KeptPacks<'_>,
) -> Result<ChosenReleases<ReleaseSource>, EarlyExit> {
    let candidates = |name: &str| {
        let of = |m: &crate::share::ManifestHeader, source: ReleaseSource| ReleaseCandidate {
            release: m.release.clone(),
            extends: m.extends.clone(),
            engine: m.engine.clone(),
            source,
        };
        if let Some(pack) = given.get(name) {
            return vec![of(&pack.manifest, ReleaseSource::Given)];
        }
        let installed = home.get(name).map(|pack| of(&pack.manifest, ReleaseSource::Here));
        let here = installed.or_else(|| shipped(name).map(|manifest| of(&manifest, ReleaseSource::Here)));
        let names = |names: &[String]| names.iter().any(|n| n == name);
        let wants_newer = matches!(kept, KeptPacks::Older(newer) if names(newer));
        let may_change = wants_newer || matches!(kept, KeptPacks::Unless(replaced) if names(replaced));
        if !may_change && home.get(name).is_some() {
            return here.into_iter().collect();
        }
        let mut listed: Vec<ReleaseCandidate<ReleaseSource>> = Vec::new();
        let mut known: BTreeSet<&Version> = BTreeSet::new();
        for (number, entry) in listings.releases(name, home.lock.get(name)).0 {
            // releases for trial are not taken in passing, unless one of them is installed
            let fits = |here: &ReleaseCandidate<ReleaseSource>| {
                entry.release > here.release && (entry.release.pre.is_empty() || !here.release.pre.is_empty())
            };
            let is_newer = here.as_ref().is_none_or(|here| !wants_newer || fits(here));
            // the first index that has a release counts
            if is_newer && known.insert(&entry.release) {
                listed.push(ReleaseCandidate {
                    release: entry.release.clone(),
                    extends: entry.extends.clone(),
                    engine: entry.engine.clone(),
                    source: ReleaseSource::Listed(number, Box::new(entry.clone())),
                });
            }
        }
        // releases for trial come last
        listed.sort_by(|a, b| a.release.pre.is_empty().cmp(&b.release.pre.is_empty()).reverse().then(b.release.cmp(&a.release)));
        if wants_newer { listed.into_iter().chain(here).collect() } else { here.into_iter().chain(listed).collect() }
    };
    let engine = Version::parse(env!("CARGO_PKG_VERSION")).unwrap_or_else(|_| Version::new(0, 0, 0));
    let looked = RefCell::new(BTreeSet::new());
    let candidates = |name: &str| {
        looked.borrow_mut().insert(name.to_owned());
        candidates(name)
    };
    resolve(asked, &engine, &candidates).map_err(|fault| {
        let mut stop = refused(fault);
        // what was looked for may be in an index to which it does not belong
        stop.report.extend(looked.take().iter().filter_map(|name| listings.other(name, home.lock.get(name), None)).collect());
        stop
    })
}

/// The newer releases of chosen packs in indexes to which these do not belong.
pub(super) fn others(chosen: &ChosenReleases<ReleaseSource>, home: &PackFolder, listings: &IndexListings) -> Report {
    chosen.iter().filter_map(|(name, candidate)| listings.other(name, home.lock.get(name), Some(&candidate.release))).collect()
}

/// Gets what was chosen; the second list has those that are here already.
pub(super) fn fetched(
    chosen: &ChosenReleases<ReleaseSource>,
    mut given: BTreeMap<String, IncomingPack>,
    listings: &IndexListings,
    home: &PackFolder,
    policy: &SignaturePolicy,
) -> Result<(Vec<IncomingPack>, Vec<String>), EarlyExit> {
    let (mut packs, mut kept) = (Vec::new(), Vec::new());
    for (name, candidate) in chosen {
        match &candidate.source {
            ReleaseSource::Here => {
                policy.require_signature(home, name)?;
                kept.push(name.clone());
            }
            ReleaseSource::Given => packs.extend(given.remove(name)),
            ReleaseSource::Listed(number, entry) => {
                let Some(listing) = listings.all.get(*number) else { continue };
                packs.push(policy.listed(listing, entry)?);
            }
        }
    }
    Ok((packs, kept))
}

/// Brings the folder to what the lock says.
fn locked(home: &mut PackFolder, policy: &SignaturePolicy, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
    let file = home.folder.join(crate::share::index::LOCK_FILE);
    if home.lock.packs.is_empty() {
        let message = format!("there is no `{}`, or it names no pack", file.display());
        return Err(EarlyExit::could_not(Code::ShareIndex, message, "`tapster install` writes it; `--to DIR` names another folder"));
    }
    let (mut packs, mut whole) = (Vec::new(), 0);
    for row in &home.lock.packs {
        let wrong = |what: String, help: &str| refused(Diagnostic::new(Code::ShareDigest, what).help(help).into());
        match home.state(&row.name)? {
            InstallState::Locked => {
                policy.require_signature(home, &row.name)?;
                whole += 1;
                continue;
            }
            InstallState::Changed => {
                let folder = home.folder.join(&row.name);
                let message = format!("`{}` is not what `{}` says: its files were changed", folder.display(), file.display());
                return Err(wrong(message, "restore it, or remove the folder and run `tapster install --locked` again"));
            }
            InstallState::Missing | InstallState::Unlocked => {}
        }
        let place = FileLocation::typed(&row.source);
        let brought = policy.at(&place)?;
        if brought.locked.digest != row.digest || brought.manifest.name != row.name {
            let message = format!("`{place}` is not the `{}` {} that `{}` says", row.name, row.release, file.display());
            return Err(wrong(message, "get the archive that was locked, or take the new one with `tapster install --replace`"));
        }
        if row.signed_by.is_some() && brought.locked.signed_by != row.signed_by {
            let message = format!("`{}` was signed by a trusted key when it was locked, and is not now", row.name);
            let help = "trust the key again (`tapster keys trust`), or install the pack without `--locked`";
            return Err(EarlyExit::new(RunExit::No, Diagnostic::new(Code::ShareSignature, message).help(help)));
        }
        // the lock stays as it is
        packs.push(IncomingPack { locked: row.clone(), ..brought });
    }
    let lines: Vec<String> = packs.iter().map(|pack| line("installed", pack, home)).collect();
    put(home, packs, &|_| false, show)?;
    show.result(&lines.concat());
    show.result(&format!("{whole} of {} packs were as locked\n", home.lock.packs.len()));
    Ok(RunExit::Done)
}
