//! `tapster install`: packs from archives, folders, addresses and indexes, with all that they extend.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::Args;
use semver::{Version, VersionReq};

use crate::diag::{Code, Diagnostic, Report, Sources};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::files::unwritable;
use crate::inputs::library::pack_shelf;
use crate::inputs::pack_files::{FileLocation, is_url, share_failure};
use crate::output::Console;
use crate::pack::files::is_pack;
use crate::pack::{Ruleset, Start};
use crate::share::index::{IndexEntry, PackDependency, name_complaint};
use crate::share::resolve::{ChosenReleases, PackRequest, ReleaseCandidate, resolve};
use crate::share::{self, ENDING, LockedPack, PackFile, signature};
use crate::verbs::share::installed::{InstallState, PackFolder, shipped};
use crate::verbs::share::sources::{IncomingPack, IndexListings, SignaturePolicy, TransferArgs};

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
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let (mut home, policy) = self.taking.open(show)?;
        if self.locked {
            return install_locked(&mut home, &policy, show);
        }
        let mut given: BTreeMap<String, IncomingPack> = BTreeMap::new();
        let mut asked = Vec::new();
        let by_name = !self.taking.sources.indexes.named(show).is_empty();
        for text in &self.packs {
            match parse_spec(text, &policy, by_name)? {
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
        asked.extend(installed_as(&home, &changing.iter().map(String::as_str).collect::<Vec<_>>()));
        let keeping = if self.replace { KeptPacks::Unless(&names) } else { KeptPacks::All };
        let chosen = choose_release(asked, &home, &given, &listings, keeping)?;
        let (mut packs, kept) = fetch_pack(&chosen, given, &listings, &home, &policy)?;
        let replaces = |name: &str| self.replace && changing.iter().any(|asked| asked == name);
        let mut there = require_free(&home, &mut packs, &replaces)?;
        if !self.allow_other_signer {
            packs.iter().try_for_each(|pack| same_signer(&home, pack))?;
        }
        there.extend(kept.into_iter().filter(|name| names.contains(name)));
        let lines: Vec<String> = packs.iter().map(|pack| change_line("installed", pack, &home)).collect();
        let others = newer_in_other_indexes(&chosen, &home, &listings);
        put_pack(&mut home, packs, &replaces, show)?;
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
fn parse_spec(text: &str, policy: &SignaturePolicy, by_name: bool) -> Result<PackSpec> {
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
pub(super) fn installed_as(home: &PackFolder, names: &[&str]) -> Vec<PackRequest> {
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
pub(super) fn choose_release(
    asked: Vec<PackRequest>,
    home: &PackFolder,
    given: &BTreeMap<String, IncomingPack>,
    listings: &IndexListings,
    kept: KeptPacks<'_>,
) -> Result<ChosenReleases<ReleaseSource>> {
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
        let mut stop = share_failure(fault);
        // what was looked for may be in an index to which it does not belong
        stop.report.extend(looked.take().iter().filter_map(|name| listings.other(name, home.lock.get(name), None)).collect());
        stop
    })
}

/// The newer releases of chosen packs in indexes to which these do not belong.
pub(super) fn newer_in_other_indexes(chosen: &ChosenReleases<ReleaseSource>, home: &PackFolder, listings: &IndexListings) -> Report {
    chosen.iter().filter_map(|(name, candidate)| listings.other(name, home.lock.get(name), Some(&candidate.release))).collect()
}

/// Gets what was chosen; the second list has those that are here already.
pub(super) fn fetch_pack(
    chosen: &ChosenReleases<ReleaseSource>,
    mut given: BTreeMap<String, IncomingPack>,
    listings: &IndexListings,
    home: &PackFolder,
    policy: &SignaturePolicy,
) -> Result<(Vec<IncomingPack>, Vec<String>)> {
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
fn install_locked(home: &mut PackFolder, policy: &SignaturePolicy, show: &mut Console<'_>) -> Result<RunExit> {
    let file = home.folder.join(crate::share::index::LOCK_FILE);
    if home.lock.packs.is_empty() {
        let message = format!("there is no `{}`, or it names no pack", file.display());
        return Err(EarlyExit::could_not(Code::ShareIndex, message, "`tapster install` writes it; `--to DIR` names another folder"));
    }
    let (mut packs, mut whole) = (Vec::new(), 0);
    for row in &home.lock.packs {
        let wrong = |what: String, help: &str| share_failure(Diagnostic::new(Code::ShareDigest, what).help(help).into());
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
    let lines: Vec<String> = packs.iter().map(|pack| change_line("installed", pack, home)).collect();
    put_pack(home, packs, &|_| false, show)?;
    show.result(&lines.concat());
    show.result(&format!("{whole} of {} packs were as locked\n", home.lock.packs.len()));
    Ok(RunExit::Done)
}

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
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
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
        asked.extend(installed_as(&home, &names.iter().map(String::as_str).collect::<Vec<_>>()));
        let chosen = choose_release(asked, &home, &given, &listings, KeptPacks::Older(&names))?;
        let (packs, kept) = fetch_pack(&chosen, given, &listings, &home, &policy)?;
        packs.iter().try_for_each(|pack| same_signer(&home, pack))?;
        let lines: Vec<String> = packs.iter().map(|pack| changed(pack, &home)).collect();
        let others = newer_in_other_indexes(&chosen, &home, &listings);
        put_pack(&mut home, packs, &|name| self.replace && names.iter().any(|asked| asked == name), show)?;
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
    let text = change_line("updated", pack, home);
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
fn again(home: &PackFolder, name: &str, place: &FileLocation, policy: &SignaturePolicy) -> Result<Option<IncomingPack>> {
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

/// Refuses packs whose names are taken, unless they are to replace what is there; removes those that are there already
/// from the list.
pub(super) fn require_free(home: &PackFolder, packs: &mut Vec<IncomingPack>, replaces: &dyn Fn(&str) -> bool) -> Result<Vec<String>> {
    let (mut there, mut fault) = (Vec::new(), None);
    packs.retain(|pack| {
        let name = &pack.manifest.name;
        let same = home.lock.get(name).filter(|locked| locked.digest == pack.locked.digest);
        if let Some(row) = same.filter(|_| home.state(name).is_ok_and(|state| state == InstallState::Locked)) {
            // a signature that is verified only now is put into the lock
            let is_whole = row.signed_by.is_some() || pack.locked.signed_by.is_none();
            there.extend(is_whole.then(|| format!("{name} {}", pack.manifest.release)));
            return !is_whole;
        }
        if !replaces(name) && fault.is_none() {
            fault = folder_taken(home, name);
        }
        true
    });
    match fault {
        Some(complaint) => Err(EarlyExit::new(RunExit::No, complaint)),
        None => Ok(there),
    }
}

/// Why a pack cannot have its name.
fn folder_taken(home: &PackFolder, name: &str) -> Option<Diagnostic> {
    if let Some(folder) = home.taken(name) {
        let message = format!("`{name}` is there already: `{}`", folder.display());
        let help = format!("`tapster update {name}` takes a newer release, `tapster remove {name}` removes it; `--replace` replaces it");
        return Some(Diagnostic::new(Code::ShareTaken, message).help(help));
    }
    // a pack of this name was installed before, on purpose
    if home.lock.get(name).is_some() {
        return None;
    }
    shipped(name)?;
    let message =
        format!("`{name}` is the name of a pack that is shipped with the program, and would stand in its place for all that extend it");
    Some(Diagnostic::new(Code::ShareTaken, message).help("do not install it, unless you want just that: `--replace`"))
}

/// Refuses a pack that is not signed by the key of the release that is installed, or was when it was locked.
pub(super) fn same_signer(home: &PackFolder, pack: &IncomingPack) -> Result<()> {
    let name = &pack.manifest.name;
    let Some(before) = home.lock.get(name).and_then(|row| row.signed_by.as_ref()) else { return Ok(()) };
    if pack.locked.signed_by.as_ref() == Some(before) {
        return Ok(());
    }
    let by = pack.signer.as_ref().map_or_else(|| "not signed by a trusted key".to_owned(), |who| format!("signed by {who}"));
    let (release, key) = (&pack.manifest.release, signature::key_id(before));
    let message = format!("`{name}` {release} is {by}, but the installed release is signed by key {key}");
    let help = "ask whoever made the pack; if it is right, install it with `tapster install --replace --allow-other-signer`";
    Err(EarlyExit::new(RunExit::No, Diagnostic::new(Code::ShareSignature, message).help(help)))
}

/// Installs packs, and writes the lock. A folder that is there is thrown away only if it is as it was installed, or if
/// `replaces` says so for the pack.
pub(super) fn put_pack(
    home: &mut PackFolder,
    packs: Vec<IncomingPack>,
    replaces: &dyn Fn(&str) -> bool,
    show: &mut Console<'_>,
) -> Result<()> {
    for name in packs.iter().map(|pack| pack.manifest.name.as_str()).filter(|name| !replaces(name)) {
        if home.state(name)? != InstallState::Locked
            && let Some(complaint) = folder_taken(home, name)
        {
            return Err(EarlyExit::new(RunExit::No, complaint));
        }
    }
    if packs.is_empty() {
        return Ok(());
    }
    let stage = home.stage()?;
    let new = stage.new_packs();
    for pack in &packs {
        write_new(&new.join(&pack.manifest.name), &pack.files)?;
    }
    let mut library = pack_shelf(show);
    library.folders.insert(0, home.folder.clone());
    for pack in &packs {
        // packs beside it are found first, so that all new ones are checked together
        let start = Start::Folder(new.join(&pack.manifest.name));
        if let Err(rejected) = Ruleset::load(&start, &[], &library) {
            let mut stop = EarlyExit::rejected(rejected);
            let message = format!("`{}` {} is not installed, because it has mistakes", pack.manifest.name, pack.manifest.release);
            stop.report.push(Diagnostic::new(Code::ShareArchive, message).help("tell whoever made it, or take another release"));
            return Err(stop);
        }
    }
    let (mut lock, mut put, mut gone) = (home.lock.clone(), Vec::new(), Vec::new());
    for pack in &packs {
        let name = &pack.manifest.name;
        // what lies there may have the name in other letters
        let there = home.taken(name).and_then(|there| Some(there.file_name()?.to_string_lossy().into_owned()));
        if let Some(other) = there.filter(|there| there != name) {
            lock.remove(&other);
            gone.push(other);
        }
        lock.put(pack.locked.clone());
        put.push(name.clone());
    }
    stage.commit(put, gone, lock.write())?;
    home.lock = lock;
    for pack in &packs {
        let remarks = pack.remark.clone().into_iter().collect();
        show.report(&remarks, &Sources::default());
    }
    Ok(())
}

/// Writes the files of a pack into a new folder.
fn write_new(folder: &Path, files: &[PackFile]) -> Result<()> {
    for (path, bytes) in files {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(|error| unwritable(parent, &error))?;
        std::fs::write(&path, bytes).map_err(|error| unwritable(&path, &error))?;
    }
    Ok(())
}

/// What is said of a pack that was installed.
pub(super) fn change_line(verb: &str, pack: &IncomingPack, home: &PackFolder) -> String {
    let scripts = pack.files.iter().filter(|(path, _)| path.ends_with(".rhai")).count();
    let with = match scripts {
        0 => String::new(),
        1 => ", with a script".to_owned(),
        n => format!(", with {n} scripts"),
    };
    let signed = pack.signer.as_ref().map(|who| format!(", signed by {who}")).unwrap_or_default();
    let folder = home.folder.join(&pack.manifest.name);
    let about = share::shown(&pack.manifest.about);
    let about = if about.is_empty() { String::new() } else { format!(": {about}") };
    format!("{verb} {} {} in {}{signed}{with}{about}\n", pack.manifest.name, pack.manifest.release, folder.display())
}
