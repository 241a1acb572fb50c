//! Where packs come from: indexes, archives, signatures, and what is done about those who are not trusted.

use clap::Args;
use semver::Version;

use crate::diag::{Code, Diagnostic};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::pack_files::{FileLocation, share_failure, unshared};
use crate::layout::one_line;
use crate::output::Console;
use crate::share::archive::MAX_ARCHIVE;
use crate::share::index::{INDEX_FILE, IndexEntry, MAX_INDEX, PackIndex};
use crate::share::signature::{self, ENDING, MAX_SIGNATURE, SignatureVerdict, TrustedKey};
use crate::share::{self, LockedPack, ManifestHeader, PackFile};
use crate::verbs::share::installed::{InstallFolderArgs, InstallState, PackFolder, packed};
use crate::verbs::share::keys::{keyring, parse_public_key};

/// Where packs are searched by name.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct IndexArgs {
    /// An index of packs: the address or folder of an `index.json` [default: those that `TAPSTER_INDEX` names, between
    /// spaces].
    #[arg(long, value_name = "URL|DIR")]
    pub(super) index: Vec<String>,
}

/// Where packs are searched by name, and whose packs are taken.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SourceArgs {
    #[command(flatten)]
    pub(super) indexes: IndexArgs,
    /// Trust packs that are signed with this key too: a public key, or the file that it is in.
    #[arg(long, value_name = "KEY")]
    trust: Vec<String>,
    /// Refuse packs that are not signed by a trusted key, also those that are installed already and stay.
    #[arg(long)]
    require_signature: bool,
}

/// Where packs come from and where they go: what `install` and `update` have in common.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TransferArgs {
    #[command(flatten)]
    to: InstallFolderArgs,
    #[command(flatten)]
    pub(super) sources: SourceArgs,
    /// Take releases also from other indexes than the one to which a pack belongs: the one from which it was installed, or
    /// else the first one that has it.
    #[arg(long)]
    allow_other_index: bool,
}

impl TransferArgs {
    /// The folder of installed packs, and the keys that are trusted.
    pub(super) fn open(&self, show: &mut Console<'_>) -> Result<(PackFolder, SignaturePolicy)> {
        Ok((self.to.open(show)?, self.sources.policy(show)?))
    }

    /// Whether a pack may be taken from any of the indexes that are named.
    pub(super) fn takes_any(&self) -> bool {
        self.allow_other_index && !self.sources.indexes.index.is_empty()
    }

    /// Reads these indexes; the user chose the order of the first ones, `ordered` in all.
    pub(super) fn listings(&self, named: &[String], ordered: usize) -> Result<IndexListings> {
        let all = named.iter().map(|named| listing(named)).collect::<Result<_, _>>()?;
        Ok(IndexListings { all, ordered, any: self.allow_other_index })
    }
}

/// The indexes of a command.
pub(super) struct IndexListings {
    pub(super) all: Vec<IndexListing>,
    ordered: usize,
    /// Whether every pack belongs to all of them.
    any: bool,
}

/// A release that an index has, with the number of the index.
pub(super) type ListedRelease<'l> = (usize, &'l IndexEntry);

impl IndexListings {
    /// The number of the index to which a pack belongs: the one that its row of the lock names, or else the first one that
    /// has it. Where several have it and nobody chose their order, it belongs to none.
    fn owner(&self, name: &str, row: Option<&LockedPack>) -> Option<usize> {
        if let Some(row) = row {
            let index = row.index.as_deref()?;
            return self.all.iter().position(|listing| listing.is(index));
        }
        let mut having = self.all.iter().enumerate().filter(|(_, listing)| listing.index.packs.iter().any(|entry| entry.name == name));
        let (first, _) = having.next()?;
        (first < self.ordered || having.next().is_none()).then_some(first)
    }

    /// The releases of a pack that may be taken, and those of other indexes than the one to which it belongs.
    pub(super) fn releases(&self, name: &str, row: Option<&LockedPack>) -> (Vec<ListedRelease<'_>>, Vec<ListedRelease<'_>>) {
        let owner = self.owner(name, row);
        let all = self.all.iter().enumerate().flat_map(|(n, listing)| listing.index.packs.iter().map(move |entry| (n, entry)));
        all.filter(|(_, entry)| entry.name == name).partition(|(n, _)| self.any || owner == Some(*n))
    }

    /// What is said of the newest release of a pack that is not taken, because it is in another index and newer than `than`.
    pub(super) fn other(&self, name: &str, row: Option<&LockedPack>, than: Option<&Version>) -> Option<Diagnostic> {
        let (_, others) = self.releases(name, row);
        let newest =
            others.into_iter().filter(|(_, entry)| than.is_none_or(|than| entry.release > *than)).max_by_key(|(_, entry)| &entry.release);
        let (n, entry) = newest?;
        let owner = self.owner(name, row).and_then(|n| self.all.get(n)).map(|listing| listing.named.as_str());
        let owner = owner.or(row.map(|row| row.index.as_deref().unwrap_or(&row.source)));
        let belongs = owner.map_or_else(
            || "several indexes have the pack, in no order that you chose".to_owned(),
            |owner| format!("the pack belongs to `{}`", one_line(owner)),
        );
        let other = self.all.get(n).map(|listing| one_line(&listing.named)).unwrap_or_default();
        let message = format!("`{name}` {} of the index `{other}` is not taken: {belongs}", entry.release);
        let help = format!("if it is the same pack, take it with `--index {other} --allow-other-index`");
        Some(Diagnostic::new(Code::ShareOtherIndex, message).help(help))
    }
}

/// An index that was read, and where it lies.
pub(super) struct IndexListing {
    /// As it was named.
    pub(super) named: String,
    pub(super) place: FileLocation,
    pub(super) index: PackIndex,
}

/// A pack on its way into the folder.
#[derive(Debug, Clone)]
pub(super) struct IncomingPack {
    pub(super) manifest: ManifestHeader,
    pub(super) files: Vec<PackFile>,
    /// What the lock will say of it.
    pub(super) locked: LockedPack,
    /// Who signed it, for people.
    pub(super) signer: Option<String>,
    /// What is said of it while it is installed.
    pub(super) remark: Option<Diagnostic>,
}

/// Which signatures are wanted.
pub(super) struct SignaturePolicy {
    keys: Vec<TrustedKey>,
    required: bool,
}

impl SourceArgs {
    /// Reads the keys that are trusted.
    pub(super) fn policy(&self, show: &Console<'_>) -> Result<SignaturePolicy> {
        let mut keys = keyring(show)?.keys;
        for key in &self.trust {
            let key = parse_public_key(key)?;
            if !keys.iter().any(|known| known.key == key) {
                keys.push(TrustedKey { name: "the key of `--trust`".to_owned(), key });
            }
        }
        Ok(SignaturePolicy { keys, required: self.require_signature })
    }
}

impl IndexArgs {
    /// The names of the indexes.
    pub(super) fn named(&self, show: &Console<'_>) -> Vec<String> {
        if !self.index.is_empty() {
            return self.index.clone();
        }
        let named = (show.io.env)("TAPSTER_INDEX").unwrap_or_default();
        named.to_string_lossy().split_whitespace().map(str::to_owned).collect()
    }

    /// Reads the indexes, of which the first one that has a pack counts.
    pub(super) fn read(&self, show: &Console<'_>) -> Result<IndexListings> {
        let all: Vec<IndexListing> = self.named(show).iter().map(|named| listing(named)).collect::<Result<_, _>>()?;
        Ok(IndexListings { ordered: all.len(), all, any: false })
    }
}

impl IndexListing {
    /// Whether it is the index of this name, also where that is written in another way.
    fn is(&self, named: &str) -> bool {
        match (&self.place, &index_file(named)) {
            (FileLocation::Path(own), FileLocation::Path(other)) => {
                own == other || own.canonicalize().is_ok_and(|own| other.canonicalize().is_ok_and(|other| own == other))
            }
            (own, other) => own == other,
        }
    }
}

/// The file of an index: one that ends in `.json`, or the `index.json` of a folder.
fn index_file(named: &str) -> FileLocation {
    match FileLocation::typed(named) {
        place if named.ends_with(".json") => place,
        FileLocation::Path(folder) => FileLocation::Path(folder.join(INDEX_FILE)),
        FileLocation::Url(url) => FileLocation::Url(format!("{}/{}", url.trim_end_matches('/'), INDEX_FILE)),
    }
}

/// Reads an index.
fn listing(named: &str) -> Result<IndexListing> {
    let place = index_file(named);
    let bytes = place.need(MAX_INDEX)?;
    let index = PackIndex::read(&place.to_string(), &bytes).map_err(share_failure)?;
    Ok(IndexListing { named: named.to_owned(), place, index })
}

impl SignaturePolicy {
    /// Refuses an installed pack if a signature is required and the lock names none by a trusted key, or none of these files.
    pub(super) fn require_signature(&self, home: &PackFolder, name: &str) -> Result<()> {
        let Some(installed) = home.get(name).filter(|_| self.required) else { return Ok(()) };
        let key = home.lock.get(name).and_then(|row| row.signed_by.as_ref());
        let why = match (key, home.state(name)?) {
            (Some(key), _) if !self.keys.iter().any(|known| known.key == *key) => {
                format!("was signed by key {}, which is not trusted", signature::key_id(key))
            }
            (Some(_), InstallState::Locked) => return Ok(()),
            (Some(_), _) => "was changed since its signature was verified".to_owned(),
            (None, _) => "was installed without a signature by a trusted key".to_owned(),
        };
        let message = format!("`{name}` {}, which is installed, {why}", installed.manifest.release);
        let help =
            format!("install its signed archive: `tapster install FILE --replace`; or `tapster remove {name}`, and install it again");
        Err(EarlyExit::new(RunExit::No, Diagnostic::new(Code::ShareSignature, message).help(help)))
    }

    /// A pack from a place that a lock names: a folder or an archive.
    pub(super) fn at(&self, place: &FileLocation) -> Result<IncomingPack> {
        match place {
            FileLocation::Path(path) if path.is_dir() => self.folder(path),
            place => self.archive(place),
        }
    }

    /// A pack from an archive at a place.
    pub(super) fn archive(&self, place: &FileLocation) -> Result<IncomingPack> {
        let bytes = place.need(MAX_ARCHIVE)?;
        self.brought(place, &bytes, false)
    }

    /// A pack from a folder.
    pub(super) fn folder(&self, folder: &std::path::Path) -> Result<IncomingPack> {
        let bytes = packed(folder)?;
        let place = FileLocation::Path(folder.to_owned());
        let name = place.to_string();
        let files = unpacked(&name, &bytes)?;
        let manifest = ManifestHeader::of(&name, &files).map_err(share_failure)?;
        let verdict = self.judged(&name, &manifest, None, false)?;
        Ok(brought(place, &bytes, files, manifest, verdict))
    }

    /// A release that an index names.
    pub(super) fn listed(&self, listing: &IndexListing, entry: &IndexEntry) -> Result<IncomingPack> {
        let place = listing.place.beside(&entry.file);
        let bytes = place.need(MAX_ARCHIVE.min(usize::try_from(entry.size).unwrap_or(usize::MAX)))?;
        let wrong = |what: &str| {
            let message = format!("`{place}` {what} in `{}`", listing.place);
            let help = "nothing was installed; tell whoever keeps the index, who runs `tapster index` after every change";
            share_failure(Diagnostic::new(Code::ShareDigest, message).help(help).into())
        };
        if share::digest(&bytes) != entry.digest {
            return Err(wrong("has another digest than"));
        }
        let mut brought = self.brought(&place, &bytes, entry.signed)?;
        if !entry.fits(&brought.manifest) {
            return Err(wrong("says something else of its name, release or what it extends than"));
        }
        brought.locked.index = Some(listing.named.clone());
        Ok(brought)
    }

    fn brought(&self, place: &FileLocation, bytes: &[u8], must: bool) -> Result<IncomingPack> {
        let name = place.to_string();
        let files = unpacked(&name, bytes)?;
        let manifest = ManifestHeader::of(&name, &files).map_err(share_failure)?;
        let signature = place.with(ENDING).get(MAX_SIGNATURE)?;
        let verdict = self.judged(&name, &manifest, signature.as_deref().map(|s| (bytes, s)), must)?;
        Ok(brought(place.clone(), bytes, files, manifest, verdict))
    }

    /// What is said of the signature of a pack, or why it is refused.
    fn judged(&self, name: &str, manifest: &ManifestHeader, signed: Option<(&[u8], &[u8])>, must: bool) -> Result<SignatureJudgement> {
        let verdict =
            signed.map(|(bytes, signature)| signature::verify(name, bytes, signature, &self.keys)).transpose().map_err(share_failure)?;
        let who = format!("`{}` {}", manifest.name, manifest.release);
        let (what, help) = match verdict {
            Some(SignatureVerdict::By(key)) => return Ok(SignatureJudgement { by: Some(key), remark: None }),
            Some(SignatureVerdict::Unknown(id)) => (
                format!("{who} is signed by key {id}, which is not trusted"),
                "get the public key from its owner, and trust it: `tapster keys trust KEY --name NAME`",
            ),
            None if must => (format!("{who} is signed as the index says, and its signature is gone"), "tell whoever keeps the index"),
            None => (format!("{who} is not signed"), "ask whoever made the pack to sign it: `tapster sign`"),
        };
        if self.required || (must && signed.is_none()) {
            return Err(EarlyExit::new(RunExit::No, Diagnostic::new(Code::ShareSignature, what).help(help)));
        }
        Ok(SignatureJudgement { by: None, remark: Some(Diagnostic::new(Code::ShareUnsigned, what).help(help)) })
    }
}

/// The files of an archive, if `tapster pack` takes all of them: an installed pack is compared with what it would pack.
fn unpacked(name: &str, bytes: &[u8]) -> Result<Vec<PackFile>> {
    let files = share::unpack(name, bytes).map_err(share_failure)?;
    let odd = files.iter().find_map(|(path, bytes)| Some((path, unshared(path, Some(bytes))?)));
    let Some((path, why)) = odd else { return Ok(files) };
    let message = format!("`{}` holds `{}`, which is no part of a pack: {why}", one_line(name), one_line(path));
    Err(share_failure(
        Diagnostic::new(Code::ShareArchive, message).help("tell whoever made it: `tapster pack` leaves such files out").into(),
    ))
}

struct SignatureJudgement {
    by: Option<TrustedKey>,
    remark: Option<Diagnostic>,
}

fn brought(place: FileLocation, bytes: &[u8], files: Vec<PackFile>, manifest: ManifestHeader, judged: SignatureJudgement) -> IncomingPack {
    let locked = LockedPack {
        name: manifest.name.clone(),
        release: manifest.release.clone(),
        digest: share::digest(bytes),
        source: place.to_string(),
        index: None,
        signed_by: judged.by.as_ref().map(|key| key.key.clone()),
    };
    let signer = judged.by.map(|key| format!("{} ({})", one_line(&key.name), signature::key_id(&key.key)));
    IncomingPack { manifest, files, locked, signer, remark: judged.remark }
}
