//! Whether what a case names is there: files, programs, lists, fields, paths, options, accounts, codes, and the words and
//! patterns of tests. Otherwise an expectation about something that does not exist would hold.
//!
//! What is found has a place in the case file. `tapster test` counts a case with an error as failed, and does not run it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::case::{CaseAction, CaseFile, CaseTurn, SIZES, TestCase, missing_overlays};
use super::compare::{MATCHERS, similar_matcher};
use super::expectations::{field_fault, misspellings, path_fault, vacuous_parts};
use super::inputs::{ignored_inputs, input_faults};
use super::nodes::{
    contains_text, contains_value, expected_error, expected_values, field_of_turn, fields, has_word, keys_of, mentions_word, one_or_list,
    texts_of,
};
use super::play::NO_LISTS;
use crate::diag::{Code, Diagnostic, DocumentNode, Help, NodeValue, Report, Span, TableField, short};
use crate::model::Value;
use crate::pack::Ruleset;
use crate::pack::files::is_pack;
use crate::terms::names::PackNames;
use crate::terms::rules::CompiledRules;
use crate::text::pattern::Pattern;

/// The tests of a list whose argument is rows of the list.
const OF_ROWS: [&str; 5] = ["contains", "includes", "excludes", "any_order", "exactly"];
/// What is expected of one value, and not of a list.
const OF_VALUES: [&str; 6] = ["payload", "request", "imported", "trim", "patch", "set"];
/// The keys of a warning.
const OF_WARNING: [&str; 3] = ["code", "message", "pass"];
/// The keys of a reason.
const OF_REASON: [&str; 7] = ["because", "id", "list", "book", "pass", "detail", "item"];
/// The keys of what a document gives.
const OF_IMPORT: [&str; 4] = ["format", "scene", "rest", "warnings"];
/// The keys of the report of trimming.
const OF_TRIM: [&str; 9] =
    ["strategy", "account", "budget_tokens", "initial_tokens", "final_tokens", "eviction_count", "records", "shortened", "accounts"];

/// The files that a case names and that are not there.
#[must_use]
pub fn missing_files(file: &CaseFile, case: &TestCase) -> Report {
    let mut found = missing_overlays(case.node.get("overlays").and_then(DocumentNode::as_list).unwrap_or_default(), &file.base);
    for turn in case.turns.iter().filter(|turn| expected_error(turn).is_none()) {
        let scene = field_of_turn(file, case, turn, "scene_file").map(|field| ("scene file", &field.node));
        let document = field_of_turn(file, case, turn, "import").and_then(|field| Some(("document", field.node.get("file")?)));
        let document = document.filter(|_| matches!(turn.action, CaseAction::Import { .. }));
        for (what, node) in [scene, document].into_iter().flatten() {
            if let Some(path) = node.as_text().filter(|path| !file.base.join(path).exists()) {
                let complaint = Diagnostic::new(Code::FileMissing, format!("there is no {what} `{path}`")).at(node.span);
                found.push(complaint.help("name it by its path from the case file"));
            }
        }
    }
    found
}

/// The files that a case among those of a pack names outside of the pack: whoever installs the pack does not have them.
fn outside(file: &CaseFile, case: &TestCase) -> Report {
    let mut found = Report::default();
    let real = |path: &Path| path.canonicalize().ok();
    let is_cases = |folder: &&Path| folder.file_name().is_some_and(|name| name == "cases");
    let Some(base) = real(&file.base) else { return found };
    let Some(pack) = base.ancestors().find(is_cases).and_then(Path::parent).filter(|folder| is_pack(folder)) else { return found };
    let overlays = case.node.get("overlays").map(one_or_list).unwrap_or_default().iter().collect::<Vec<_>>();
    let scenes = case.turns.iter().filter_map(|turn| field_of_turn(file, case, turn, "scene_file")).map(|field| &field.node);
    let documents = case.turns.iter().filter_map(|turn| field_of_turn(file, case, turn, "import")?.node.get("file"));
    let mut told: Vec<&str> = Vec::new();
    for node in overlays.into_iter().chain(scenes).chain(documents) {
        let Some(path) = node.as_text().filter(|path| !told.contains(path)) else { continue };
        if real(&file.base.join(path)).is_some_and(|path| !path.starts_with(pack)) {
            told.push(path);
            let message = format!("`{}` lies outside of the pack, and is not there where the pack is installed", short::word(path));
            let help = "copy it below `cases/`, with the files that it names; a pack may hold scenes, presets, cards and chats there";
            found.push(Diagnostic::warning(Code::FileOutside, message).at(node.span).help(help));
        }
    }
    found
}

/// What else a case names and its rules do not have, and what of its expectation can never fail. Warnings are about what it
/// gives: what no rule reads, and what does not fit.
#[must_use]
pub fn case_faults(file: &CaseFile, case: &TestCase, rules: &Ruleset) -> Report {
    let mut search = CaseValidation::new(file, case, rules);
    given_by(file, case).for_each(|node| keys_of(node, &mut search.own));
    search.check_accounts();
    search.check_show_lines();
    for turn in &case.turns {
        if expected_error(turn).is_none() {
            search.check_programs(turn);
            search.check_lists(turn);
        }
        search.check_expectation(turn);
        search.found.extend(input_faults(file, case, rules, turn));
        search.found.extend(ignored_inputs(file, case, rules, turn));
    }
    search.found.extend(outside(file, case));
    search.found.sort();
    search.found
}

/// The accounts that a case gives sizes to and its rules do not have.
#[must_use]
pub fn unknown_accounts(file: &CaseFile, case: &TestCase, rules: &Ruleset) -> Report {
    let mut search = CaseValidation::new(file, case, rules);
    search.check_accounts();
    search.found
}

/// The scenes and lists that a case gives.
fn given_by<'c>(file: &'c CaseFile, case: &'c TestCase) -> impl Iterator<Item = &'c DocumentNode> {
    let nodes = case.turns.iter().map(|turn| &turn.node).chain([&case.node]).chain(file.given());
    nodes.flat_map(|node| [node.get("scene"), node.get("lists")]).flatten()
}

struct CaseValidation<'c> {
    file: &'c CaseFile,
    case: &'c TestCase,
    rules: &'c Ruleset,
    compiled: &'c CompiledRules,
    names: &'c PackNames,
    /// The keys of what the case gives: what is given may come out as it is.
    own: BTreeSet<&'c str>,
    found: Report,
}

impl<'c> CaseValidation<'c> {
    fn new(file: &'c CaseFile, case: &'c TestCase, rules: &'c Ruleset) -> Self {
        let compiled = &rules.programs().rules;
        Self { file, case, rules, compiled, names: &compiled.names, own: BTreeSet::new(), found: Report::default() }
    }

    fn report_unknown(&mut self, span: Span, message: String, help: Option<Help>, otherwise: &str) {
        let complaint = Diagnostic::new(Code::NameUnknown, message).at(span);
        self.found.push(complaint.help(help.unwrap_or_else(|| otherwise.into())));
    }

    fn pack_name(&self) -> &'c str {
        &self.rules.pack().name
    }

    /// Sizes are given to accounts that the rules have.
    fn check_accounts(&mut self) {
        let budget = self.case.node.get("budget").or_else(|| self.file.given()?.get("budget"));
        let rows = self.rules.pack().tables.get("budget");
        // the overlay of the sizes adds a row for every other name
        let is_new = |name: &str| {
            let row = rows.and_then(|rows| rows.get(name));
            row.and_then(|row| self.rules.sources().place(row.span)).is_none_or(|at| &*at.file == SIZES)
        };
        let known: Vec<&str> = rows.into_iter().flat_map(|rows| rows.keys()).map(AsRef::as_ref).filter(|name| !is_new(name)).collect();
        let unknown: Vec<(&str, Span)> = fields(budget).map(|(name, field)| (name, field.key)).filter(|(name, _)| is_new(name)).collect();
        for (name, span) in unknown {
            let help = self.found.words.help(name, known.iter().copied());
            let message = format!("pack `{}` has no budget `{name}`", self.pack_name());
            self.report_unknown(span, message, help, "`[[budget]]` declares one");
        }
    }

    /// The lines of `show` are about fields of lists.
    fn check_show_lines(&mut self) {
        let show = self.case.node.get("show").or_else(|| self.file.given()?.get("show"));
        for (list, field) in fields(show) {
            if !self.check_list(list, field.key) {
                continue;
            }
            let line = field.node.as_text().unwrap_or_default();
            for path in line.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0)) {
                self.check_field(list, path.split('.').next().unwrap_or(path), field.node.span);
            }
        }
    }

    /// Whether there is a list; if not, it is told.
    fn check_list(&mut self, name: &str, span: Span) -> bool {
        let known = self.compiled.list_id(name).is_some();
        if !known {
            let help = self.found.words.help(name, self.compiled.lists.iter().map(|list| &*list.name));
            self.report_unknown(span, format!("pack `{}` has no list `{name}`", self.pack_name()), help, "`[[list]]` declares one");
        }
        known
    }

    /// Tells of a field that items of a list do not have.
    fn check_field(&mut self, list: &str, name: &str, span: Span) {
        let types = Some(self.row_types(list)).filter(|types| !types.is_empty());
        // rules copy fields from items of one type to items of another
        if self.names.knows_field(None, name) || self.own.contains(name) || self.is_open() {
            return;
        }
        let near = self.found.words.help(name, self.names.field_names(types).chain(MATCHERS));
        let of = types.map_or_else(|| format!("items of `{list}`"), |types| format!("`{}` items", types.join("` or `")));
        self.report_unknown(span, format!("{of} have no field `{name}`"), near, "`[[field]]` declares one");
    }

    /// Tells of a value that a field of items cannot have.
    fn check_field_value(&mut self, list: &str, field: &str, node: &DocumentNode) {
        if self.is_open() {
            return;
        }
        let given = || given_by(self.file, self.case);
        let stands = |word: &str| self.occurs_in_rules(word) || given().any(|node| contains_text(node, word));
        let is_given = |single: &DocumentNode| given().any(|node| contains_value(node, single));
        let fault = field_fault(self.rules, self.row_types(list), field, node, stands, is_given);
        fault.into_iter().for_each(|fault| self.found.push(fault));
    }

    /// The row types of a list; none if there is no such list.
    fn row_types(&self, list: &str) -> &'c [Arc<str>] {
        let known = self.compiled.list_id(list).and_then(|id| self.compiled.lists.get(id));
        known.map_or(&[], |list| list.rows.as_slice())
    }

    /// Whether the case has data that is not known here: what a scene file or a document brings along.
    fn is_open(&self) -> bool {
        let open = |turn: &CaseTurn| turn.given.scene_file.is_some() || matches!(turn.action, CaseAction::Import { .. });
        self.case.turns.iter().any(open)
    }

    /// Whether a text stands anywhere in the rules: a rule may read it from any row.
    fn occurs_in_rules(&self, word: &str) -> bool {
        let pack = self.rules.pack();
        let mut rows = pack.tables.values().flat_map(|rows| rows.values());
        let in_scripts = || pack.assets.values().any(|id| pack.sources.get(*id).is_some_and(|source| source.text.contains(word)));
        rows.any(|row| &*row.name == word || row.fields.values().any(|field| contains_text(&field.node, word)))
            || pack.values.values().any(|field| contains_text(&field.node, word))
            || in_scripts()
    }

    /// The programs and passes that run.
    fn check_programs(&mut self, turn: &'c CaseTurn) {
        let Some(run) = field_of_turn(self.file, self.case, turn, "run").filter(|_| matches!(turn.action, CaseAction::Run(_))) else {
            return;
        };
        let programs = self.rules.programs();
        let passes = || programs.list.iter().flat_map(|program| program.passes().iter().map(|pass| &*pass.id));
        for node in one_or_list(&run.node) {
            let Some(name) = node.as_text().filter(|name| programs.find(name).is_none() && !passes().any(|pass| pass == *name)) else {
                continue;
            };
            let help = self.found.words.help(name, programs.list.iter().map(|program| &*program.name).chain(passes()));
            let message = format!("pack `{}` has no program or pass `{name}`", self.pack_name());
            self.report_unknown(node.span, message, help, "`tapster ops --pack PACK` lists them");
        }
    }

    /// The lists that are given.
    fn check_lists(&mut self, turn: &'c CaseTurn) {
        let Some(lists) = field_of_turn(self.file, self.case, turn, "lists") else { return };
        if matches!(turn.action, CaseAction::Build | CaseAction::Payload(_)) {
            let complaint = Diagnostic::new(Code::SchemaValue, "a build fills its lists from the scene").at(lists.key);
            self.found.push(complaint.help(NO_LISTS));
            return;
        }
        for node in [Some(&turn.node), Some(&self.case.node), self.file.given()].into_iter().flatten() {
            for (name, field) in fields(node.get("lists")) {
                self.check_list(name, field.key);
            }
        }
    }

    /// Tells of keys and words with a slip inside of a value. What files bring along is not known here.
    fn check_spelling(&mut self, key: Option<&str>, node: &DocumentNode) {
        let of_file = |turn: &CaseTurn| turn.given.scene_file.is_some() || matches!(turn.action, CaseAction::Import { file: Some(_), .. });
        if !self.case.turns.iter().any(of_file) {
            let found = misspellings(self.rules, key, node, &|word| self.is_mentioned(word));
            self.found.extend(found);
        }
    }

    /// Whether a word stands in the rules, or in what the case gives: anywhere but in what cases expect.
    fn is_mentioned(&self, word: &str) -> bool {
        let sources = &self.rules.pack().sources;
        let mut others = sources.ids().filter_map(|id| sources.get(id)).filter(|source| *source.name != *self.file.shown);
        let rows = fields(Some(&self.file.root)).filter(|(key, _)| *key != "case").map(|(_, field)| &field.node);
        let nodes = self.case.turns.iter().map(|turn| &turn.node).chain([&self.case.node]);
        let given = nodes.flat_map(|node| ["scene", "lists", "import", "expand"].map(|key| node.get(key))).flatten();
        others.any(|source| has_word(&source.text, word)) || rows.chain(given).any(|node| mentions_word(node, word))
    }

    fn check_expectation(&mut self, turn: &'c CaseTurn) {
        let Some(expect) = turn.expect.as_ref() else { return };
        self.check_patterns(expect);
        self.found.extend(vacuous_parts(turn, &self.own, self.names));
        for (key, field) in fields(Some(expect)) {
            let node = &field.node;
            if OF_VALUES.contains(&key) {
                self.check_single_tests(node);
            }
            match key {
                "lists" => {
                    for (list, field) in fields(Some(node)) {
                        if self.check_list(list, field.key) {
                            self.expected_rows(&field.node).into_iter().for_each(|row| self.check_row(list, row));
                        }
                    }
                }
                "shown" => {
                    for (list, field) in fields(Some(node)) {
                        self.expected_rows(&field.node);
                        if !self.case.show.iter().any(|(known, _)| known == list) {
                            let help = self.found.words.nearest(list, self.case.show.iter().map(|(known, _)| known.as_str()));
                            let help = help.map(Help::from);
                            let message = format!("`show` has no line for the items of `{list}`");
                            self.report_unknown(field.key, message, help, &format!("write one: `show.{list} = \"{{text}}\"`"));
                        }
                    }
                }
                "set" => fields(Some(node)).for_each(|(path, field)| {
                    self.check_path(path, field, turn);
                    self.check_path_value(path, &field.node);
                }),
                "patch" => {
                    self.check_patch(node);
                    fields(Some(node)).for_each(|(_, state)| self.check_spelling(None, &state.node));
                }
                "payload" | "request" => self.check_spelling(None, node),
                "warnings" => self.check_codes(node, "code", &OF_WARNING),
                "reasons" => self.check_codes(node, "because", &OF_REASON),
                "error" => self.check_code(node),
                "texts" => drop(self.expected_rows(node)),
                "imported" => {
                    self.check_columns(node, &OF_IMPORT, "what a document gives");
                    [node.get("scene"), node.get("rest")].into_iter().flatten().for_each(|part| self.check_spelling(None, part));
                }
                "trim" => self.check_columns(node, &OF_TRIM, "the report of trimming"),
                _ => {}
            }
        }
    }

    /// The rows that an expectation about a list holds, whether as the list itself or in a test.
    fn expected_rows(&mut self, node: &'c DocumentNode) -> Vec<&'c DocumentNode> {
        if let Some(list) = node.as_list() {
            return list.iter().collect();
        }
        let Some(table) = node.as_table() else { return Vec::new() };
        let test = table.iter().next().filter(|_| table.len() == 1);
        match test {
            Some((word, field)) if OF_ROWS.contains(&&**word) => one_or_list(&field.node).iter().collect(),
            Some((word, _)) if MATCHERS.contains(&&**word) => Vec::new(),
            _ => {
                if let Some((word, field)) = table.iter().find(|(word, _)| !MATCHERS.contains(&&***word)) {
                    let help = similar_matcher(word).map(|near| Help::possible(word, near));
                    self.report_unknown(
                        field.key,
                        format!("`{word}` is no test of a list"),
                        help,
                        &format!("the tests are {}", MATCHERS.join(", ")),
                    );
                } else if let Some((word, field)) = table.iter().nth(1) {
                    self.report_second_test(word, field.key);
                }
                Vec::new()
            }
        }
    }

    /// A test stands beside another one.
    fn report_second_test(&mut self, word: &str, span: Span) {
        let complaint = Diagnostic::new(Code::SchemaValue, format!("`{word}` does not stand alone")).at(span);
        self.found.push(complaint.help("a table holds one test; write a second case for the other"));
    }

    /// Tables in a value that hold several tests and nothing else.
    fn check_single_tests(&mut self, node: &DocumentNode) {
        match &node.data {
            NodeValue::List(list) => list.iter().for_each(|one| self.check_single_tests(one)),
            NodeValue::Table(table) => {
                let mut tests = table.keys().filter(|word| {
                    let word: &str = word;
                    MATCHERS.contains(&word) && !self.own.contains(word)
                });
                let second = tests.nth(1).filter(|_| table.keys().all(|word| MATCHERS.contains(&&**word)));
                if let Some((word, field)) = second.and_then(|word| table.get_key_value(word)) {
                    self.report_second_test(word, field.key);
                }
                table.values().for_each(|field| self.check_single_tests(&field.node));
            }
            _ => {}
        }
    }

    /// The fields of a row that is expected.
    fn check_row(&mut self, list: &str, row: &'c DocumentNode) {
        let Some(table) = row.as_table() else { return };
        if table.len() == 1 && table.keys().all(|word| MATCHERS.contains(&&**word)) {
            return;
        }
        for (name, field) in table {
            self.check_field(list, name, field.key);
            self.check_field_value(list, name, &field.node);
            self.check_test_name(&field.node);
            self.check_single_tests(&field.node);
            self.check_nested_spelling(name, &field.node);
        }
    }

    /// A value that is nearly a test.
    fn check_test_name(&mut self, node: &DocumentNode) {
        let Some((word, field)) = node.as_table().filter(|table| table.len() == 1).and_then(|table| table.iter().next()) else { return };
        if let Some(near) = similar_matcher(word).filter(|_| !self.names.knows_field(None, word) && !self.own.contains(&**word)) {
            self.report_unknown(field.key, format!("`{word}` is no test"), Some(Help::possible(word, near)), "");
        }
    }

    /// A path that rules can set.
    fn check_path(&mut self, path: &str, field: &'c TableField, turn: &CaseTurn) {
        self.check_test_name(&field.node);
        if let Some(bare) = path.strip_prefix('$') {
            self.report_unknown(field.key, format!("`{path}` is written without its `$` here"), Some(format!("write `{bare}`").into()), "");
            return;
        }
        let parts: Vec<&str> = path.split('.').collect();
        let is_list = (1..=parts.len()).any(|n| parts.get(..n).is_some_and(|parts| self.compiled.list_id(&parts.join(".")).is_some()));
        let is_given = || Value::from(&turn.given.scene).at(path).is_some();
        if !is_list && !self.names.knows_path(path) && !is_given() {
            let help = self.found.words.help(path, self.names.path_names());
            self.report_unknown(
                field.key,
                format!("no rule of pack `{}` sets or reads `${path}`", self.pack_name()),
                help,
                "`[[path]]` declares one",
            );
        }
    }

    /// The value that a path is expected to have.
    fn check_path_value(&mut self, path: &str, node: &DocumentNode) {
        let singles = if self.is_open() { Vec::new() } else { expected_values(node) };
        for single in singles {
            let is_given = |single: &DocumentNode| given_by(self.file, self.case).any(|node| contains_value(node, single));
            let fault = path_fault(self.rules, path, single, |word| self.is_mentioned(word), is_given);
            fault.into_iter().for_each(|fault| self.found.push(fault));
        }
        self.check_nested_spelling(path.rsplit('.').next().unwrap_or(path), node);
    }

    /// Tells of slips inside of a value that has been looked at itself.
    fn check_nested_spelling(&mut self, key: &str, node: &DocumentNode) {
        if matches!(node.data, NodeValue::List(_) | NodeValue::Table(_)) {
            self.check_spelling(Some(key), node);
        }
    }

    /// What is kept for the next turn: the variables of macros, and states.
    fn check_patch(&mut self, node: &'c DocumentNode) {
        let names = self.names;
        for (key, field) in fields(Some(node)) {
            let is_known = key == "vars" || names.knows_path(&format!("state.{key}")) || self.own.contains(key) || MATCHERS.contains(&key);
            if !is_known {
                let states = names.path_names().filter_map(|path| path.strip_prefix("state."));
                let help = self.found.words.help(key, states.chain(["vars"]));
                self.report_unknown(
                    field.key,
                    format!("pack `{}` has no state `{key}`", self.pack_name()),
                    help,
                    "`[[state]]` declares one",
                );
            }
        }
    }

    /// The keys of a table that the program makes.
    fn check_columns(&mut self, node: &DocumentNode, known: &[&str], what: &str) {
        for (key, field) in fields(Some(node)).filter(|(key, _)| !known.contains(key) && !MATCHERS.contains(key)) {
            let help = self.found.words.help(key, known.iter().copied());
            self.report_unknown(field.key, format!("{what} has no `{key}`"), help, &format!("it has {}", known.join(", ")));
        }
    }

    /// Codes, or tables with a code.
    fn check_codes(&mut self, node: &'c DocumentNode, key: &str, columns: &[&str]) {
        for row in self.expected_rows(node) {
            self.check_columns(row, columns, if key == "code" { "a warning" } else { "a reason" });
            let code = if row.as_text().is_some() { Some(row) } else { row.get(key) };
            code.into_iter().for_each(|code| self.check_code(code));
        }
    }

    /// A code of the program, or one that stands anywhere in the rules.
    fn check_code(&mut self, node: &DocumentNode) {
        let Some(code) = node.as_text().filter(|code| Code::of(code).is_none()) else { return };
        if self.occurs_in_rules(code) {
            return;
        }
        let rows = self.rules.pack().tables.values().flat_map(|rows| rows.values());
        let mut known: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        for field in rows.flat_map(|row| row.fields.iter()) {
            known.extend(field.1.node.as_text().filter(|_| matches!(&**field.0, "error" | "code" | "because" | "warn")));
            texts_of(&field.1.node, &["error", "code", "because"], &mut known);
        }
        let help = self.found.words.nearest(code, known).map(Help::from);
        let message = format!("neither the program nor pack `{}` has the code `{code}`", self.pack_name());
        self.report_unknown(node.span, message, help, "docs/reference/codes.md lists the codes of the program");
    }

    /// The patterns of tests.
    fn check_patterns(&mut self, node: &DocumentNode) {
        match &node.data {
            NodeValue::List(list) => list.iter().for_each(|one| self.check_patterns(one)),
            NodeValue::Table(table) => {
                let pattern = table.get("matches").filter(|_| table.len() == 1).map(|field| &field.node);
                if let Some((pattern, Err(error))) = pattern.and_then(|node| Some((node, Pattern::new(node.as_text()?, "")))) {
                    let complaint = Diagnostic::new(Code::RegexBad, format!("the pattern cannot be used: {}", error.reason));
                    self.found
                        .push(complaint.at(pattern.span).help("see docs/reference/language/conditions.md for the patterns that there are"));
                }
                table.values().for_each(|field| self.check_patterns(&field.node));
            }
            _ => {}
        }
    }
}
