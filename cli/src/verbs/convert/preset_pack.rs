//! `tapster convert --to pack`: a preset as the folder of a pack with options. The files are made by the door.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use tapster_door::Door;

use super::ConvertArgs;
use crate::diag::{Code, Sources, short};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::files::path_text;
use crate::inputs::library::pack_shelf;
use crate::inputs::scene::clock;
use crate::layout::table;
use crate::output::Console;
use crate::pack::files::parent;
use crate::pack::library::is_own_name;
use crate::verbs::doctor::{file_content, named_pack, read_refusal, response_report};
use crate::verbs::new::write_new_file;

impl ConvertArgs {
    /// Writes the folder of a pack.
    pub(super) fn make_pack(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let folder = self.pack_folder()?;
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !is_own_name(&name) {
            let help = "`--out` names the folder of the pack, which is called like it: small letters, digits, `-` and `_`";
            return Err(EarlyExit::could_not(Code::PackManifest, format!("`{}` is not the name of a pack", short::word(&name)), help));
        }
        let (pack, near) = named_pack(self.pack.as_deref());
        let is_beside = |near: &PathBuf| near.canonicalize().ok() == parent(folder).and_then(|parent| parent.canonicalize().ok());
        if near.as_ref().is_some_and(|near| !is_beside(near)) {
            let message = "the new pack extends that of `--pack`, which must lie beside it to be found";
            return Err(EarlyExit::could_not(Code::PackMissing, message, "name a folder beside it with `--out`"));
        }
        show.near.extend(near);
        let file = file_content(&self.file, show)?;
        let request = json!({ "call": "convert", "file": file, "to": self.to, "name": name, "rules": pack });
        let response = Door::new(pack_shelf(show).folders, Some(clock)).call(&request);
        let Some(made) = response.get("result") else { return Err(read_refusal(&response)) };
        show.report(&response_report(&response), &Sources::default());
        let mut written = Vec::new();
        for (path, text) in made.get("files").and_then(Json::as_object).into_iter().flatten() {
            written.push(write_new_file(&folder.join(path), text.as_str().unwrap_or_default())?);
        }
        let list = |key: &str| made.get(key).cloned().unwrap_or_default();
        let answer = json!({ "made": written, "options": list("options"), "fixed": list("fixed") });
        show.answer(&answer, || as_text(&answer));
        Ok(RunExit::Done)
    }

    /// The folder that is made: one that does not exist, or is empty.
    fn pack_folder(&self) -> Result<&Path> {
        let unused = [("--as", self.made.is_some()), ("--picture", self.picture.is_some()), ("--report", self.report)];
        if let Some((flag, _)) = unused.iter().find(|(_, is_given)| *is_given) {
            let message = format!("`{flag}` has no effect with `--to {}`", self.to);
            return Err(EarlyExit::could_not(Code::SceneField, message, "leave it out"));
        }
        let Some(folder) = self.out.as_deref() else {
            let message = format!("`--to {}` makes a folder, and `--out` does not name it", self.to);
            return Err(EarlyExit::could_not(Code::SceneField, message, "name a new folder: `--out DIR`"));
        };
        let is_empty = folder.read_dir().is_ok_and(|mut files| files.next().is_none());
        if folder.symlink_metadata().is_ok() && !is_empty {
            let message = format!("`{}` exists already", path_text(folder));
            return Err(EarlyExit::could_not(Code::FileMissing, message, "choose another folder with `--out`"));
        }
        Ok(folder)
    }
}

/// What was made, what can be switched in it, and what cannot.
fn as_text(answer: &Json) -> String {
    let rows = |key: &str| answer.get(key).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    let text = |row: &Json, key: &str| match row.get(key) {
        Some(Json::String(text)) => short::word(text),
        Some(value) => value.to_string(),
        None => String::new(),
    };
    let mut out: String = rows("made").iter().map(|path| format!("made {}\n", path.as_str().unwrap_or_default())).collect();
    for (key, title, columns) in [
        ("options", "options that switch prompts", ["name", "default", "title"].as_slice()),
        ("fixed", "prompts that stay as the preset has them", ["name", "why"].as_slice()),
    ] {
        let lines: Vec<Vec<String>> = rows(key)
            .iter()
            .map(|row| std::iter::once(String::new()).chain(columns.iter().map(|column| text(row, column))).collect())
            .collect();
        if !lines.is_empty() {
            out.push_str(&format!("{title}\n{}", table(&lines)));
        }
    }
    out
}
