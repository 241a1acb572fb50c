//! `tapster report`: everything that a prompt is made of, in one line of JSON, for somebody else to see the same.
//!
//! The line is a request of the door, whose `id` says what was seen: `tapster serve --stdio < report.json` builds it again.

use clap::Args;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};
use tapster_door::Door;

use crate::exit::{Result, RunExit};
use crate::inputs::files::read_text;
use crate::inputs::{InputArgs, load_rules, scene};
use crate::output::Console;
use crate::pack::files::read_folder;
use crate::pack::library::shipped;
use crate::pack::{Overlay, PackFiles, Ruleset};

/// Write everything that a prompt is made of into one line of JSON, for a report of a problem.
///
/// It has the version, the rules that do not come with the program, the overlays, the scene with the values of all its files, and
/// the payload with its diagnostics. `tapster serve --stdio < report.json` builds the prompt again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster report examples/hello > report.json
  tapster report --pack my-pack --character card.png --message 'Hi.' --mask > report.json
  tapster serve --stdio < report.json                  what somebody else sees")]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    inputs: InputArgs,
    /// Replace the words of texts and names by others of the same length, each word by the same one, so that keys still match.
    /// Macros, tags and rules stay.
    #[arg(long)]
    mask: bool,
}

impl ReportArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        self.inputs.require_scene()?;
        let parts = self.inputs.parts(show)?;
        let rules = load_rules(&parts, show)?;
        let scene = scene::assemble(&parts, &rules, show)?;
        let mut overlays = Vec::new();
        for overlay in &parts.overlays {
            if let Overlay::Path(path) = overlay {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
                overlays.push(json!({ "name": name, "text": read_text(path, show)? }));
            }
        }
        let mut data = scene.data.to_json();
        if self.mask {
            mask(&mut data, "");
        }
        let rules = json!({ "pack": &*rules.pack().name, "packs": packs_of(&rules), "overlays": overlays });
        let scene = json!({ "scene": data, "strict": scene.strict, "seed": scene.seed, "draws": scene.draws });
        let answer = Door::default().call(&json!({ "call": "build", "rules": rules, "scene": scene }));
        let seen = json!({
            "tapster": env!("CARGO_PKG_VERSION"), "system": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            "payload": answer.pointer("/result/payload"), "diagnostics": answer.get("diagnostics"),
        });
        let request = json!({ "call": "build", "rules": rules, "scene": scene, "id": seen });
        show.result(&format!("{request}\n"));
        Ok(RunExit::Done)
    }
}

/// The packs of rules that do not come with the program, with their files.
fn packs_of(rules: &Ruleset) -> Vec<Json> {
    let layers = rules.pack().layers.iter().filter(|layer| !layer.overlay);
    let read = |folder: &std::path::PathBuf, name: &str| {
        let pack = read_folder(folder, &mut crate::diag::Report::default())?;
        let same = |ours: &PackFiles| ours.files.iter().map(|file| &file.bytes).eq(pack.files.iter().map(|file| &file.bytes));
        if shipped(name).is_some_and(|ours| same(&ours)) {
            return None;
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let files: Map<String, Json> = pack.files.iter().map(|file| (file.path_in_pack.clone(), text(&file.bytes).into())).collect();
        Some(json!({ "name": name, "files": files }))
    };
    layers.filter_map(|layer| read(layer.folder.as_ref()?, &layer.name)).collect()
}

/// Keys of names and words that are searched. Single words under other keys are values of settings.
const NAMES: &[&str] = &["char", "keys", "keysecondary", "name", "names", "secondary_keys", "title", "user"];

/// Masks texts of several words, and names.
fn mask(value: &mut Json, key: &str) {
    match value {
        Json::String(text) if NAMES.contains(&key) || text.contains(char::is_whitespace) => *text = masked(text),
        Json::Array(list) => list.iter_mut().for_each(|value| mask(value, key)),
        Json::Object(table) => table.iter_mut().for_each(|(key, value)| mask(value, key)),
        _ => {}
    }
}

/// The text with other words; what stands in braces, angle brackets or percent signs stays.
fn masked(text: &str) -> String {
    let (mut out, mut word, mut inside) = (String::with_capacity(text.len()), String::new(), 0_usize);
    for letter in text.chars().chain(['\0']) {
        if inside == 0 && letter.is_alphanumeric() {
            word.push(letter);
            continue;
        }
        out.push_str(&other_word(&std::mem::take(&mut word)));
        match letter {
            '{' | '<' => inside += 1,
            '}' | '>' => inside = inside.saturating_sub(1),
            _ => {}
        }
        out.push(letter);
    }
    out.pop();
    out
}

/// A word of the same length and case: the same one for the same word, whatever its case.
fn other_word(word: &str) -> String {
    let digest = Sha256::digest(word.to_lowercase());
    let mut seed = digest.iter().take(8).fold(0_u64, |seed, byte| seed << 8 | u64::from(*byte));
    let mut letter = |like: char| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = char::from(b'a' + u8::try_from((seed >> 33) % 26).unwrap_or_default());
        match like {
            _ if like.is_ascii_digit() => like,
            _ if like.is_uppercase() => other.to_ascii_uppercase(),
            _ => other,
        }
    };
    word.chars().map(&mut letter).collect()
}
