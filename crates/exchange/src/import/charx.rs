//! CHARX archives: a ZIP file with `card.json` at its root, perhaps a module, and pictures beside it.
//!
//! Only card and module are decompressed, with a hard limit: the sizes that an archive declares may be wrong.

use std::io::{Cursor, Read};

use aho_corasick::AhoCorasick;
use zip::ZipArchive;
use zip::result::ZipError;

use super::json::{self, JsonScanner, MAX_JSON};
use super::{Asset, Container, Contents, Document, ImportFault, container, listed, tolerated, too_large};
use crate::diag::{Code, Diagnostic, Report};

/// The member that holds the card.
const CARD: &str = "card.json";
/// The member that holds scripts and lore of the card, where its program keeps them there.
pub(super) const MODULE: &str = "module.risum";
/// The most members.
const MAX_ENTRIES: usize = 10_000;
/// The largest declared size of one member, in bytes (256 MiB).
const MAX_ENTRY: u64 = 256 << 20;
/// The largest sum of declared sizes, in bytes (2 GiB).
const MAX_TOTAL: u64 = 2 << 30;

const FETCH: &str = "download the original file again";
const HOSTILE: &str = "no card needs this much; do not unpack the file with other programs either";

type CharxArchive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// Reads the card of an archive.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Contents, Report> {
    let mut report = Report::default();
    let result = open(name, bytes).and_then(|mut archive| {
        let members = members(name, &archive, &mut report)?;
        let card = find_card(name, &members, &mut report)?;
        let unpacked = unpack(name, &mut archive, card)?;
        let text = json::utf8(&format!("{} of {name}", card.name), &unpacked, &mut report)?;
        let json = json::document(name, &format!("{} of {name}", card.name), text, &mut JsonScanner::default(), &mut report)?;
        let mut documents = vec![Document::new(CARD, json)];
        let mut read = vec![card.index];
        if let Some(member) = members.iter().find(|m| m.name == MODULE) {
            documents.extend(module(name, &mut archive, member, &mut report)?);
            read.push(member.index);
        }
        let assets = members.into_iter().filter(|m| !read.contains(&m.index)).map(|m| Asset { name: m.name, bytes_len: m.size });
        Ok((documents, assets.collect()))
    });
    match result {
        Ok((documents, assets)) => {
            let mut imported = Contents::new(Container::Charx, documents, report);
            imported.assets = assets;
            Ok(imported)
        }
        Err(fault) => {
            report.push(*fault);
            Err(report)
        }
    }
}

/// The module beside a card. One that cannot be read is told, and the card is read without it.
fn module(name: &str, archive: &mut CharxArchive<'_>, member: &CharxMember, report: &mut Report) -> Result<Option<Document>, ImportFault> {
    let bytes = match unpack(name, archive, member) {
        Ok(bytes) => bytes,
        Err(fault) => {
            report.push(tolerated(*fault));
            return Ok(None);
        }
    };
    let told = match super::risu::read_module(&format!("{MODULE} of {name}"), &bytes) {
        Ok(mut contents) => {
            contents.report.items().iter().for_each(|told| report.push(told.clone()));
            return Ok(contents.documents.pop().map(|read| Document::new(MODULE, read.value)));
        }
        Err(told) => told,
    };
    told.items().iter().for_each(|fault| report.push(tolerated(fault.clone())));
    Ok(None)
}

struct CharxMember {
    index: usize,
    name: String,
    size: u64,
}

/// Opens the archive after counting its directory entries by their signature: opening takes memory for each entry, and
/// the count that the archive declares may be wrong.
fn open<'a>(name: &str, bytes: &'a [u8]) -> Result<CharxArchive<'a>, ImportFault> {
    let entries = AhoCorasick::new([b"PK\x01\x02"]).map_or(0, |search| search.find_iter(bytes).take(MAX_ENTRIES + 1).count());
    if entries > MAX_ENTRIES {
        return Err(container(name, format!("has more than {MAX_ENTRIES} members")).help(HOSTILE).into());
    }
    ZipArchive::new(Cursor::new(bytes))
        .map_err(|e| container(name, format!("is a ZIP archive whose directory cannot be read ({})", reason(&e))).help(FETCH).into())
}

/// The members with safe names. Their declared sizes are checked here.
fn members(name: &str, archive: &CharxArchive<'_>, report: &mut Report) -> Result<Vec<CharxMember>, ImportFault> {
    let (mut members, mut unsafe_names, mut total) = (Vec::new(), Vec::new(), 0_u64);
    for index in 0..archive.len() {
        let Ok(entry) = archive.by_index_data(index) else { continue };
        if entry.is_dir() {
            continue;
        }
        let size = entry.size();
        total = total.saturating_add(size);
        let path = String::from_utf8_lossy(entry.name_raw()).into_owned();
        if size > MAX_ENTRY || total > MAX_TOTAL {
            let shown = super::shown(&path);
            return Err(container(name, format!("unpacks to too much: {size} bytes for `{shown}`, {total} bytes so far"))
                .help(HOSTILE)
                .into());
        }
        match entry.enclosed_name() {
            Some(_) => members.push(CharxMember { index, name: path, size }),
            None => unsafe_names.push(path),
        }
    }
    if !unsafe_names.is_empty() {
        let names = listed(unsafe_names.iter().map(String::as_str));
        let message = format!("has members whose names lead out of the archive, which are ignored: {names}");
        report.push(tolerated(container(name, message).help("be wary of this file; an honest program does not write such names")));
    }
    Ok(members)
}

/// The member `card.json` at the root, else the only one in a folder.
fn find_card<'m>(name: &str, members: &'m [CharxMember], report: &mut Report) -> Result<&'m CharxMember, ImportFault> {
    if let Some(card) = members.iter().find(|m| m.name == CARD) {
        return Ok(card);
    }
    let last = |m: &CharxMember| m.name.rsplit('/').next().is_some_and(|file| file.eq_ignore_ascii_case(CARD));
    let mut nested = members.iter().filter(|m| last(m));
    if let (Some(card), None) = (nested.next(), nested.next()) {
        let message = format!("has its card at `{}` and not at `{CARD}`", super::shown(&card.name));
        report.push(tolerated(container(name, message).help("pack the files themselves, not the folder that they are in")));
        return Ok(card);
    }
    let found = match members.is_empty() {
        true => "it is empty".to_owned(),
        false => format!("it holds {}", listed(members.iter().map(|m| m.name.as_str()))),
    };
    Err(Diagnostic::new(Code::ImportFormat, format!("`{name}` is a ZIP archive without `{CARD}`: {found}"))
        .help("a CHARX archive has `card.json` at its root; unpack other archives and import the files in them")
        .into())
}

/// The bytes of one member, at most [`MAX_JSON`].
fn unpack(name: &str, archive: &mut CharxArchive<'_>, card: &CharxMember) -> Result<Vec<u8>, ImportFault> {
    let what = super::shown(&card.name);
    let large = || too_large(name, &format!("has a member `{what}`"), MAX_JSON);
    if card.size > MAX_JSON as u64 {
        return Err(large().into());
    }
    let damaged = |why: String| container(name, format!("has a member `{what}` that cannot be unpacked ({why})")).help(FETCH);
    let member = archive.by_index(card.index).map_err(|e| damaged(reason(&e)))?;
    let mut out = Vec::new();
    let result = member.take(MAX_JSON as u64 + 1).read_to_end(&mut out);
    if out.len() > MAX_JSON {
        return Err(large().into());
    }
    result.map_err(|_| damaged("its content is damaged or not as the archive declares".to_owned()))?;
    Ok(out)
}

/// The archive reader's reason, in plain words for the cases that users meet.
fn reason(error: &ZipError) -> String {
    match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => "it is locked by a password".to_owned(),
        ZipError::CompressionMethodNotSupported(_) => "it is compressed in an unusual way".to_owned(),
        ZipError::InvalidArchive(why) => super::shown(why),
        ZipError::UnsupportedArchive(why) => super::shown(why),
        other => super::shown(&other.to_string()),
    }
}
