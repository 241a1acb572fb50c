//! A preset as a pack of its own: what the preset says, as a part of the scene that the pack brings along, and an option for
//! each prompt, or each group of alternatives, that can be switched.
//!
//! The rules say which prompts can be switched, and which are alternatives (program `doctor`).

use std::collections::{HashMap, HashSet};
use std::path::Path;

use indexmap::IndexMap;
use serde_json::{Map as JsonMap, Value as Json, json};

use super::{Answer, Door, RequestFailure};
use crate::diag::{Code, Diagnostic, Report, Sources, limits, short};
use crate::doctor::{DOCTOR, PARTS};
use crate::model::{Scene, Value};
use crate::pack::library::{PackLibrary, is_own_name};
use crate::pack::{Ruleset, Schemas, Start};
use crate::request::{ConvertRequest, PackContent, RulesReference};
use crate::scene::{SceneRole, open_file, read_contents, suggest_packs};

/// What a file is converted to: `to` of the call.
pub const PACK: &str = "pack";
/// Where the rules leave the prompts that cannot be switched: name, why.
const FIXED: &str = "part_groups.fixed";
/// The choice of an option with which none of its prompts is sent.
const NONE: &str = "none";
/// The most bytes of a name that is made of a title.
const NAME_BYTES: usize = 40;

impl Door {
    pub(crate) fn make_pack(&self, request: &ConvertRequest, answer: &mut Answer) -> Result<Json, RequestFailure> {
        let file = self.part(&request.file)?;
        let mut notes = Report::default();
        let contents = open_file(&file, &mut notes)?;
        let rules = self.rules_for(request.rules.as_ref(), &file.name, &contents, answer)?;
        let read = read_contents(&file.name, &contents, &rules, None, &suggest_packs, &mut notes).map_err(|refused| *refused)?;
        let quoted = short::word(&file.name);
        if let Some(role) = SceneRole::of(&read.scene).filter(|role| *role != SceneRole::Preset) {
            let message = format!("`{quoted}` is a {} (`{}`), and only a preset becomes a pack", role.kind(), read.format);
            return Err(Diagnostic::error(Code::ImportRole, message).help("name the file of a preset").into());
        }
        if rules.programs().find(DOCTOR).is_none() {
            let message = format!("pack `{}` has no program `{DOCTOR}`, which finds the prompts of a preset", rules.pack().name);
            return Err(Diagnostic::error(Code::NameUnknown, message).help("name a pack that extends `base`").into());
        }
        let mut examined = Scene::default();
        examined.set("examined", read.scene.clone());
        let outcome = tapster::run(&rules, DOCTOR, &examined, &[]).map_err(|error| RequestFailure::of_build(&error, &rules))?;
        let mut pack = PresetPack::of(&outcome.list(PARTS));
        pack.fixed.extend(outcome.get(FIXED).to_json().as_array().into_iter().flatten().cloned());
        if pack.options.is_empty() {
            let message = format!("`{quoted}`: none of its prompts can be switched, so the pack has no options");
            notes.push(Diagnostic::new(Code::ImportValue, message).help("the pack builds what the preset builds"));
        }
        if rules.pack().layers.iter().any(|layer| layer.overlay) {
            let message = "overlays are no part of the pack that is made";
            notes.push(Diagnostic::new(Code::ImportValue, message).help("lay them over the new pack, too"));
        }
        answer.add(notes, &Sources::default());
        let stem = Path::new(&file.name).file_stem().map_or(SceneRole::Preset.kind().into(), |stem| stem.to_string_lossy());
        let others = self.shelf(&[]).names();
        let name = request.name.clone().unwrap_or_else(|| {
            let name = text_name(&stem, '-').unwrap_or_else(|| SceneRole::Preset.kind().to_owned());
            if others.contains(&name) { format!("{name}-{}", SceneRole::Preset.kind()) } else { name }
        });
        check_name(&name, &rules, &others)?;
        let files = pack.files(&name, &stem, &rules, read.scene.to_json())?;
        let made = self.load_made(&name, &files, request.rules.as_ref())?;
        answer.add(made.warnings().clone(), made.sources());
        let options = made.options().to_json(&Value::Null);
        let options = options.as_array().into_iter().flatten();
        let is_own = |option: &&Json| option.get("name").and_then(Json::as_str).is_some_and(|name| pack.options.contains_key(name));
        Ok(json!({
            "format": PACK, "name": name, "extends": &*rules.pack().name, "files": files,
            "options": options.filter(is_own).collect::<Vec<_>>(), "fixed": pack.fixed,
        }))
    }

    /// Loads a pack that was made, which shows that it can be used.
    fn load_made(&self, name: &str, files: &IndexMap<String, String>, rules: Option<&RulesReference>) -> Result<Ruleset, RequestFailure> {
        let mut packs = match rules {
            Some(RulesReference::Pack(open)) => open.packs.clone(),
            Some(RulesReference::Name(handle)) => self.memory.rules(handle).map(|opened| opened.request.packs.clone()).unwrap_or_default(),
            None => Vec::new(),
        };
        packs.push(PackContent { name: name.to_owned(), files: files.clone() });
        Ok(Ruleset::load(&Start::Name(name.to_owned()), &[], &self.shelf(&packs))?)
    }
}

/// Refuses a name that a pack over these rules cannot have.
fn check_name(name: &str, rules: &Ruleset, others: &[String]) -> Result<(), RequestFailure> {
    if !is_own_name(name) {
        let message = format!("`{}` is not the name of a pack", short::word(name));
        return Err(Diagnostic::new(Code::PackManifest, message).help("use small letters, digits, `-` and `_`").into());
    }
    if rules.pack().layers.iter().any(|layer| !layer.overlay && *layer.name == *name) {
        let message = format!("the pack `{name}` would extend itself");
        return Err(Diagnostic::new(Code::CyclePack, message).help("choose another name").into());
    }
    if others.iter().any(|other| other == name) {
        let message = format!("there is a pack `{name}` already, which others may extend");
        return Err(Diagnostic::new(Code::PackManifest, message).help("choose another name").into());
    }
    Ok(())
}

/// Prompts of a preset as options.
#[derive(Default)]
struct PresetPack {
    /// The declarations of options, by name.
    options: JsonMap<String, Json>,
    switches: Vec<PromptSwitch>,
    /// Prompts that stay as the preset has them: name, why.
    fixed: Vec<Json>,
}

/// What switches a prompt.
struct PromptSwitch {
    name: String,
    /// The path of the prompt in the scene.
    place: String,
    option: String,
    /// The value of the option with which the prompt is on.
    value: Json,
}

/// A prompt that can be switched.
struct SwitchablePrompt<'p> {
    title: &'p str,
    place: &'p str,
    is_on: bool,
}

impl PresetPack {
    /// The options for the parts of a preset, as the rules have examined them.
    fn of(parts: &[Value]) -> Self {
        let mut pack = Self::default();
        // alternatives by their group; any other prompt by itself
        let mut groups: IndexMap<&str, (Option<&str>, Vec<SwitchablePrompt<'_>>)> = IndexMap::new();
        for part in parts.iter().filter(|part| part_text(part, "kind") == "prompt" && part_text(part, "fixed").is_empty()) {
            let (title, place) = (part_text(part, "name"), part_text(part, "place"));
            let group = part.get("group").filter(|_| part.get("alternative").is_some_and(Value::truthy));
            let (key, name) = group.map_or((place, None), |group| (part_text(group, "key"), Some(part_text(group, "name"))));
            let prompt = SwitchablePrompt { title, place, is_on: part_text(part, "code").is_empty() };
            groups.entry(key).or_insert_with(|| (name, Vec::new())).1.push(prompt);
        }
        let mut names = UniqueNames::default();
        for (group, prompts) in groups.into_values() {
            match group {
                // one of the choices is none of them
                Some(title) if prompts.len() < limits::OPTIONS && pack.options.len() < limits::OPTIONS => {
                    pack.add_choice(names.take(title, "group"), title, &prompts);
                }
                _ => {
                    for prompt in &prompts {
                        if pack.options.len() < limits::OPTIONS {
                            pack.add_toggle(names.take(prompt.title, "prompt"), prompt);
                        } else {
                            let why = format!("a pack has at most {} options", limits::OPTIONS);
                            pack.fixed.push(json!({ "name": prompt.title, "why": why }));
                        }
                    }
                }
            }
        }
        pack
    }

    fn add_toggle(&mut self, name: String, prompt: &SwitchablePrompt<'_>) {
        self.options.insert(name.clone(), json!({ "type": "bool", "title": prompt.title, "default": prompt.is_on }));
        self.switches.push(PromptSwitch { name: name.clone(), place: prompt.place.to_owned(), option: name, value: true.into() });
    }

    fn add_choice(&mut self, name: String, title: &str, prompts: &[SwitchablePrompt<'_>]) {
        let mut values = UniqueNames::default();
        let mut choices = vec![json!({ "value": values.take(NONE, NONE), "title": "None" })];
        let mut default = NONE.to_owned();
        for prompt in prompts {
            // what all titles of a group begin with distinguishes nothing
            let value = values.take(prompt.title.trim_start().strip_prefix(title).unwrap_or(prompt.title), "prompt");
            choices.push(json!({ "value": value, "title": prompt.title }));
            if prompt.is_on {
                default.clone_from(&value);
            }
            let switch = format!("{name}/{value}");
            self.switches.push(PromptSwitch { name: switch, place: prompt.place.to_owned(), option: name.clone(), value: value.into() });
        }
        self.options.insert(name, json!({ "type": "enum", "title": title, "default": default, "choices": choices }));
    }

    /// The files of the pack. The prompts in the scene get the names of their switches.
    fn files(&self, name: &str, stem: &str, rules: &Ruleset, mut scene: Json) -> Result<IndexMap<String, String>, RequestFailure> {
        for switch in &self.switches {
            let prompt = scene.pointer_mut(&format!("/{}", switch.place.replace('.', "/"))).and_then(Json::as_object_mut);
            if let Some(prompt) = prompt {
                prompt.insert("switch".to_owned(), switch.name.clone().into());
            }
        }
        remove_nulls(&mut scene);
        let below = rules.pack();
        let release =
            below.layers.iter().rfind(|layer| !layer.overlay).map(|layer| &layer.release).filter(|release| release.pre.is_empty());
        let extends = release.map_or_else(
            || json!(&*below.name),
            |release| json!({ "name": &*below.name, "release": format!("^{}.{}", release.major, release.minor) }),
        );
        let row = |switch: &PromptSwitch| {
            let test = JsonMap::from_iter([(format!("$option.{}", switch.option), switch.value.clone())]);
            json!({ "name": switch.name, "on": { "is": test } })
        };
        let mut manifest = json!({
            "name": name, "release": "1.0.0", "about": format!("The preset {stem}, with options."), "extends": [extends],
        });
        if let (Some(manifest), false) = (manifest.as_object_mut(), self.options.is_empty()) {
            manifest.insert("options".to_owned(), Json::Object(self.options.clone()));
        }
        let preset = json!({
            "about": "What the preset says. A prompt with `switch` is on if that row of `switches.toml` is.",
            "own_part": [{ "name": stem, "kind": SceneRole::Preset.kind(), "scene": scene }],
        });
        let mut files = vec![("pack.toml", PACK, manifest), ("preset.toml", "scene", preset)];
        if !self.switches.is_empty() {
            let switches: Vec<Json> = self.switches.iter().map(row).collect();
            files.push(("switches.toml", "slots", json!({ "about": "Which options switch which prompts.", "switch": switches })));
        }
        files.into_iter().map(|(path, kind, content)| Ok((path.to_owned(), rule_text(kind, &content)?))).collect()
    }
}

/// The text of a rule file.
fn rule_text(kind: &str, content: &Json) -> Result<String, RequestFailure> {
    let mut file = JsonMap::new();
    file.insert("kind".to_owned(), kind.into());
    file.insert("version".to_owned(), Schemas::shipped().newest(kind).unwrap_or(1).into());
    file.extend(content.as_object().cloned().unwrap_or_default());
    let text = toml::to_string_pretty(&file).map_err(|error| {
        let message = format!("the preset has a value that a rule file cannot hold: {error}");
        Diagnostic::error(Code::ImportValue, message).help("numbers have at most 63 bits")
    })?;
    if text.len() > limits::FILE_BYTES {
        let message = format!("the preset makes a rule file of more than {} MiB", limits::FILE_BYTES >> 20);
        return Err(Diagnostic::error(Code::FileTooLarge, message).help("take long texts out of the preset").into());
    }
    Ok(text)
}

/// Removes what is nothing: rule files have no word for it, and a missing value counts as the same.
fn remove_nulls(value: &mut Json) {
    match value {
        Json::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(remove_nulls);
        }
        Json::Array(list) => {
            list.retain(|value| !value.is_null());
            list.iter_mut().for_each(remove_nulls);
        }
        _ => {}
    }
}

fn part_text<'p>(part: &'p Value, key: &str) -> &'p str {
    part.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Names that are made of titles, each once.
#[derive(Default)]
struct UniqueNames {
    taken: HashSet<String>,
    /// The last number that was put behind a name.
    numbers: HashMap<String, usize>,
}

impl UniqueNames {
    /// A new name for a title; `otherwise` if none can be made of it.
    fn take(&mut self, title: &str, otherwise: &str) -> String {
        let base = text_name(title, '_').unwrap_or_else(|| otherwise.to_owned());
        let mut name = base.clone();
        while !self.taken.insert(name.clone()) {
            let number = self.numbers.entry(base.clone()).or_insert(1);
            *number += 1;
            name = format!("{base}_{number}");
        }
        name
    }
}

/// A name of lower-case letters and digits, with `joint` between the words, that begins with a letter.
fn text_name(title: &str, joint: char) -> Option<String> {
    let lower = title.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = String::new();
    for word in words.skip_while(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
        if name.len() + word.len() >= NAME_BYTES && !name.is_empty() {
            break;
        }
        if !name.is_empty() {
            name.push(joint);
        }
        name.extend(word.chars().take(NAME_BYTES));
    }
    (!name.is_empty()).then_some(name)
}
