//! `tapster packs`: the packs that `--pack` and `extends` can name, and the files of the shipped ones.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value as Json, json};

use crate::diag::{Code, Report, Sources, suggest};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::files::{make_parent, write_file};
use crate::inputs::library::{pack_shelf, shipped_cases};
use crate::layout::table;
use crate::model::Value;
use crate::output::Console;
use crate::pack::library::{SHIPPED, files_of_shipped, is_name, shipped_names};
use crate::pack::{PackFiles, PackLibrary, Schemas};

/// How many lines are shown in front of a line and behind it.
const AROUND: usize = 10;

/// List the packs that can be named: those in `TAPSTER_PACKS`, those in `./rules`, and the shipped ones.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster packs
  tapster packs --format json
  tapster packs --show base                      the files of a shipped pack
  tapster packs --show base/slots.toml           one of them
  tapster packs --show rules/base/slots.toml:12  a place, as diagnostics and `tapster explain` show it
  tapster packs --eject base                     a copy in ./rules, which wins over the shipped pack
  TAPSTER_PACKS=~/packs:/srv/packs tapster packs")]
pub(crate) struct PacksArgs {
    /// Print a file of a shipped pack, or the list of its files. A place `…:LINE` prints the lines around it.
    #[arg(long, value_name = "NAME[/FILE]", conflicts_with = "eject")]
    show: Option<String>,
    /// Copy a shipped pack into a new folder, where it can be edited.
    #[arg(long, value_name = "NAME")]
    eject: Option<String>,
    /// The folder in which the copy is made.
    #[arg(long, value_name = "DIR", default_value = "rules", requires = "eject")]
    to: PathBuf,
}

impl PacksArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        if let Some(place) = &self.show {
            return show_file(place, show);
        }
        if let Some(name) = &self.eject {
            return eject_pack(name, &self.to, show);
        }
        let shelf = pack_shelf(show);
        let mut report = Report::default();
        let packs: Vec<Json> = shelf.names().iter().filter_map(|n| shelf.find(n, &mut report)).map(|f| describe_pack(&f)).collect();
        show.report(&report, &Sources::default());
        if show.is_json() {
            show.json(&Json::Array(packs));
            return Ok(RunExit::Done);
        }
        let text = |p: &Json, key: &str| p.get(key).and_then(Json::as_str).unwrap_or("").to_owned();
        let rows: Vec<Vec<String>> =
            packs.iter().map(|p| ["name", "release", "from", "about"].iter().map(|k| text(p, k)).collect()).collect();
        // a pack is named by its folder, whatever it calls itself
        let other = |p: &Json| p.get("calls_itself").map(|_| format!("`{}` calls itself `{}`", text(p, "name"), text(p, "calls_itself")));
        show.result(&table(&rows));
        for other in packs.iter().filter_map(other) {
            show.result(&format!("{other}; packs are named by their folders, so give the folder the same name\n"));
        }
        Ok(RunExit::Done)
    }
}

/// The description of a pack by its manifest.
fn describe_pack(pack: &PackFiles) -> Json {
    let manifest = pack.files.iter().find(|f| matches!(f.path_in_pack.as_str(), "pack.toml" | "pack.json"));
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let read = manifest.and_then(|f| crate::pack::read::read(f, &pack.name, &mut sources, Schemas::shipped(), &mut report));
    let text = |key: &str| read.as_ref().and_then(|d| d.root.get(key)?.as_text().map(str::to_owned)).unwrap_or_default();
    let extends = read.as_ref().and_then(|d| d.root.get("extends")).map(|n| Value::from(n).to_json()).unwrap_or(json!([]));
    let from = pack.folder.as_ref().map_or_else(|| "shipped".to_owned(), |f| f.display().to_string());
    let mut about = json!({ "name": pack.name, "release": text("release"), "from": from, "about": text("about"), "extends": extends });
    if let Some(table) = about.as_object_mut().filter(|_| !text("name").is_empty() && text("name") != pack.name) {
        table.insert("calls_itself".to_owned(), text("name").into());
    }
    about
}

/// Prints a shipped file, the lines around a place in it, or the files of a shipped pack.
fn show_file(asked: &str, show: &mut Console<'_>) -> Result<RunExit> {
    let (path, line) = split_line_number(asked);
    let path = path.strip_prefix(SHIPPED).unwrap_or(path).trim_end_matches('/');
    let Some((name, file)) = path.split_once('/') else {
        let files: Vec<String> = shipped_files(path)?.map(|(file, _)| format!("{path}/{file}\n")).collect();
        show.result(&files.concat());
        return Ok(RunExit::Done);
    };
    let Some((_, bytes)) = shipped_files(name)?.find(|(inside, _)| *inside == file) else {
        let files: Vec<&str> = shipped_files(name)?.map(|(file, _)| file).collect();
        let help =
            suggest::help(file, files.iter().copied()).unwrap_or_else(|| format!("`tapster packs --show {name}` lists its files").into());
        return Err(EarlyExit::could_not(Code::FileMissing, format!("the shipped pack `{name}` has no file `{file}`"), help));
    };
    let text = String::from_utf8_lossy(bytes);
    let Some(line) = line else {
        show.result(&text);
        return Ok(RunExit::Done);
    };
    let lines = text.lines().enumerate().map(|(n, text)| (n + 1, text));
    let around = lines.filter(|(n, _)| n.abs_diff(line) <= AROUND);
    let rows: Vec<String> = around.map(|(n, text)| format!("{}{n:>5} | {text}\n", if n == line { '>' } else { ' ' })).collect();
    if rows.is_empty() {
        let message = format!("`{path}` has {} lines, and no line {line}", text.lines().count());
        return Err(EarlyExit::could_not(Code::FileMissing, message, "the place is of another release of the pack"));
    }
    show.result(&rows.concat());
    Ok(RunExit::Done)
}

/// A path with the line behind it: `slots.toml:12` and `slots.toml:12:5`.
fn split_line_number(asked: &str) -> (&str, Option<usize>) {
    let number = |text: &str| text.rsplit_once(':').and_then(|(rest, n)| Some((rest.len(), n.parse::<usize>().ok()?)));
    let cut = |at: usize| asked.get(..at).unwrap_or(asked);
    let Some((at, last)) = number(asked) else { return (asked, None) };
    match number(cut(at)) {
        Some((first, line)) => (cut(first), Some(line)),
        None => (cut(at), Some(last)),
    }
}

/// The files of a shipped pack.
fn shipped_files(name: &str) -> Result<impl Iterator<Item = (&'static str, &'static [u8])>> {
    let names = shipped_names();
    if names.iter().any(|known| known == name) {
        return Ok(files_of_shipped(name));
    }
    let help = suggest::help(name, names.iter().map(String::as_str))
        .unwrap_or_else(|| format!("the shipped packs are {}", names.join(", ")).into());
    Err(EarlyExit::could_not(Code::PackMissing, format!("there is no shipped pack `{name}`"), help))
}

/// Copies a shipped pack into a new folder below `to`.
fn eject_pack(name: &str, to: &Path, show: &mut Console<'_>) -> Result<RunExit> {
    let files = shipped_files(name)?;
    let folder = to.join(name);
    if !is_name(name) || folder.exists() {
        let message = format!("`{}` exists already", folder.display());
        return Err(EarlyExit::could_not(Code::FileMissing, message, "name another folder with `--to DIR`; nothing is overwritten"));
    }
    for (inside, bytes) in files {
        let path = folder.join(inside);
        make_parent(&path)?;
        write_file(&path, bytes)?;
    }
    let is_found = to == Path::new("rules") || pack_shelf(show).folders.iter().any(|known| known == to);
    let wins = if is_found {
        format!("it wins over the shipped pack `{name}`")
    } else {
        format!("name it with `--pack {}`, or put `{}` into `TAPSTER_PACKS`", folder.display(), to.display())
    };
    show.result(&format!("{}: {wins}\n{}\n", folder.display(), shipped_cases(name)));
    Ok(RunExit::Done)
}
