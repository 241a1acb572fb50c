//! The page of wishes: each folder of `examples/wishes` with its overlay, and what that changes in the prompt.

use std::fmt::Write as _;

use similar::TextDiff;

use super::pages::root;
use crate::wishes::Wish;

/// A section for each wish.
pub(crate) fn block() -> String {
    let mut folders: Vec<_> = std::fs::read_dir(root().join("examples/wishes")).unwrap().map(|e| e.unwrap().path()).collect();
    folders.sort_by_key(|folder| {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let (repository, number) = name.rsplit_once('-').expect("a folder is called REPOSITORY-NUMBER");
        (repository.to_owned(), number.parse::<u32>().expect("the number of a thread"))
    });
    let mut out = String::new();
    for folder in folders {
        let wish = Wish::read(&folder);
        let (title, text) = wish.readme.split_once('\n').unwrap();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        write!(out, "\n#{title}\n{text}\n<!-- file: examples/wishes/{name}/overlay.toml -->\n```toml\n{}\n```\n\n", wish.rules).unwrap();
        writeln!(out, "In the prompt of [`{name}`](../examples/wishes/{name}):\n\n```diff\n{}```", difference(&wish)).unwrap();
    }
    out.push('\n');
    out
}

/// The last turn in which the prompts differ, message by message.
fn difference(wish: &Wish) -> String {
    let turns = wish.before.prompts.iter().zip(&wish.granted.prompts);
    let (before, granted) = turns.rev().find(|(before, granted)| before != granted).expect("the overlay changes a prompt");
    let lines = |prompt: &[String]| prompt.iter().map(|message| message.replace('\n', "⏎")).collect::<Vec<_>>();
    let (before, granted) = (lines(before), lines(granted));
    let (before, granted): (Vec<&str>, Vec<&str>) =
        (before.iter().map(String::as_str).collect(), granted.iter().map(String::as_str).collect());
    let diff = TextDiff::from_slices(&before, &granted);
    diff.iter_all_changes().fold(String::new(), |mut out, change| {
        writeln!(out, "{}{}", change.tag(), change.value().trim_end()).unwrap();
        out
    })
}
