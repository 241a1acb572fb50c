//! `--coverage` and `--mutate`: what the cases of each pack exercise, and which broken passes they notice.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value as Json, json};

use crate::pack::files::is_pack;
use crate::pack::{Ruleset, Shelf, Start};
use crate::testing::coverage::{Coverage, Covered, Point};
use crate::testing::mutate::{self, Mutated};
use crate::testing::play::SceneReader;
use crate::testing::{CaseFile, Tested, Unreadable};

use crate::cli::bar::{bar, clean};

/// The most points that are listed of one sort.
const MOST: usize = 1_000;

/// What was measured, by pack.
pub(super) struct Measured {
    /// By name, and by folder where two packs have one name.
    packs: BTreeMap<(String, PathBuf), (Coverage, Option<Killed>)>,
}

/// The passes of a pack whose breaking was noticed, and those for which it was not.
struct Killed {
    killed: usize,
    survived: Vec<String>,
}

/// The rules of a pack, and its case files with their results.
type OfPack<'a> = (Ruleset, Vec<(&'a CaseFile, &'a Tested)>);

/// Measures the cases of each pack. A pack is measured by the cases that run on it. With mutants, how far it has come is shown
/// on a terminal.
pub(super) fn of(
    files: &[Result<CaseFile, Unreadable>],
    tested: &[Tested],
    shelf: &Shelf,
    scenes: SceneReader<'_>,
    jobs: usize,
    with_mutants: bool,
    terminal: bool,
) -> Measured {
    let mut by_pack: BTreeMap<(String, PathBuf), OfPack<'_>> = BTreeMap::new();
    // a case file may name the pack that it lies in, or say nothing
    let real = |folder: PathBuf| folder.canonicalize().unwrap_or(folder);
    for (file, tested) in files.iter().zip(tested) {
        let Ok(file) = file else { continue };
        let key = match &file.pack {
            Start::Name(name) => {
                let folder = shelf.folders.iter().map(|folder| folder.join(name)).find(|folder| is_pack(folder));
                (name.clone(), folder.map(real).unwrap_or_default())
            }
            Start::Folder(folder) => (crate::pack::files::folder_name(folder), real(folder.clone())),
        };
        if !by_pack.contains_key(&key) {
            let Ok(rules) = Ruleset::load(&file.pack, &[], shelf) else { continue };
            by_pack.insert(key.clone(), (rules, Vec::new()));
        }
        if let Some((_, all)) = by_pack.get_mut(&key) {
            all.push((file, tested));
        }
    }
    let one = |(rules, all): (Ruleset, Vec<(&CaseFile, &Tested)>)| {
        let mut covered = Covered::default();
        all.iter().flat_map(|(_, tested)| &tested.cases).filter_map(|ran| ran.covered.as_ref()).for_each(|own| covered.add(own));
        let pack = rules.pack().name.to_string();
        let coverage = Coverage::of(&rules, &pack, &covered);
        let killed = with_mutants.then(|| {
            let (files, tested): (Vec<&CaseFile>, Vec<&Tested>) = all.into_iter().unzip();
            let bar = bar(mutate::runs(&tested), terminal);
            bar.set_message(format!("broken passes of {}", clean(&pack)));
            let mutated = mutate::mutate(&files, &tested, shelf, scenes, jobs, &|| bar.inc(1));
            bar.finish_and_clear();
            told(&rules, &pack, &mutated)
        });
        (coverage, killed)
    };
    Measured { packs: by_pack.into_iter().map(|(name, found)| (name, one(found))).collect() }
}

/// The score of a pack: a pass that no case runs counts as one whose breaking is not noticed.
fn told(rules: &Ruleset, pack: &str, mutated: &Mutated) -> Killed {
    let mut out = Killed { killed: 0, survived: Vec::new() };
    for pass in rules.programs().list.iter().flat_map(|program| &program.passes) {
        let Some(at) = rules.sources().place(pass.span).filter(|at| at.layer.as_ref() == pack) else { continue };
        if mutated.killed.contains(&*pass.id) {
            out.killed += 1;
        } else {
            let how = if mutated.survived.contains(&*pass.id) { mutate::how(pass) } else { "is run by no case" };
            out.survived.push(format!("{}:{} pass `{}` {how}", at.file, at.line, pass.id));
        }
    }
    out
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        return 100.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "numbers of passes are small")]
    let share = part as f64 / whole as f64;
    (share * 1000.0).round() / 10.0
}

impl Measured {
    /// For people. `list` says whether all that was not exercised is listed.
    pub(super) fn text(&self, list: bool) -> String {
        let mut out = String::new();
        for ((pack, _), (coverage, killed)) in &self.packs {
            if list {
                for points in [&coverage.passes, &coverage.rows, &coverage.conditions] {
                    for point in points.iter().filter(|point| !point.hit).take(MOST) {
                        let _ = writeln!(out, "NOT COVERED {}:{} {}", point.file, point.line, point.what);
                    }
                }
                let sorts = [("passes", &coverage.passes), ("rows", &coverage.rows), ("conditions", &coverage.conditions)];
                let part = |(name, points): (&str, &Vec<Point>)| {
                    let hit = Coverage::hit(points);
                    format!("{hit} of {} {name} ({}%)", points.len(), percent(hit, points.len()))
                };
                let _ = writeln!(out, "coverage of {pack}: {}", sorts.map(part).join(", "));
            }
            if let Some(Killed { killed, survived }) = killed {
                for line in survived.iter().take(MOST) {
                    let _ = writeln!(out, "NOT NOTICED {line}");
                }
                let all = killed + survived.len();
                let _ = writeln!(out, "mutants of {pack}: {killed} of {all} noticed ({}%)", percent(*killed, all));
            }
        }
        out
    }

    /// As JSON.
    pub(super) fn json(&self) -> Json {
        let one = |((pack, folder), (coverage, killed)): (&(String, PathBuf), &(Coverage, Option<Killed>))| {
            let sort = |points: &[Point]| {
                let missing: Vec<Json> =
                    points.iter().filter(|p| !p.hit).map(|p| json!({ "file": p.file, "line": p.line, "what": p.what })).collect();
                json!({ "all": points.len(), "covered": Coverage::hit(points), "missing": missing })
            };
            let mut out = json!({
                "pack": pack,
                "folder": folder.display().to_string(),
                "passes": sort(&coverage.passes),
                "rows": sort(&coverage.rows),
                "conditions": sort(&coverage.conditions),
            });
            if let Some(Killed { killed, survived }) = killed {
                let score = percent(*killed, killed + survived.len());
                let mutants = json!({ "all": killed + survived.len(), "noticed": killed, "score": score, "survived": survived });
                if let Some(fields) = out.as_object_mut() {
                    fields.insert("mutants".into(), mutants);
                }
            }
            out
        };
        self.packs.iter().map(one).collect()
    }

    /// As LCOV.
    pub(super) fn lcov(&self) -> String {
        self.packs.values().map(|(coverage, _)| coverage.lcov()).collect()
    }
}
