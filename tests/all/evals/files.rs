//! Scenario files: what they may say, and where a mistake is.

#![expect(clippy::string_slice, reason = "a test that panics has failed")]

use tapster_client::eval::{CellOptions, EvalFile, EvalMode, TokenPrice, cells};

const SCENARIO: &str = "[[scenario]]\nname = 'a'\nscene = '.'\n";

#[test]
fn a_file_is_read_and_crossed() {
    let text = format!(
        "about = 'x'\n{SCENARIO}modes = ['chat', 'tools']\n[[scenario]]\nname = 'b'\nscene = 'c.toml'\n[[model]]\nname = 'm'\n[[model]]\nname = 'n'\n\
         [[preset]]\nname = 'p'\n"
    );
    let file = EvalFile::parse(&text).unwrap();
    let all = cells(&file, &CellOptions { modes: vec![EvalMode::Chat, EvalMode::JsonSchema], repetitions: 3 });
    // a: chat; b: both modes; two models, one preset, three times
    assert_eq!(all.len(), (1 + 2) * 2 * 3);
    assert_eq!((all[0].repetition, all[2].repetition, all[3].model), (1, 3, 1));
}

#[test]
fn prices_fit_names_by_stars() {
    let of = |pattern: &str, model: &str| TokenPrice { model: pattern.into(), ..TokenPrice::default() }.is_of(model);
    for (pattern, model, fits) in [
        ("gpt-4o", "gpt-4o", true),
        ("gpt-4o", "gpt-4o-mini", false),
        ("gpt-*", "gpt-4o-mini", true),
        ("*", "", true),
        ("*mini", "gpt-4o-mini", true),
        ("*mini", "mini-2", false),
        ("a*b*c", "a-b-b-c", true),
        ("a*b*c", "a-c", false),
        ("a*a", "a", false),
    ] {
        assert_eq!(of(pattern, model), fits, "{pattern} {model}");
    }
}

#[test]
fn mistakes_have_places() {
    let place = |text: &str, at: usize| text[..at].lines().count().max(1) + usize::from(text[..at].ends_with('\n'));
    for (more, line, said) in [
        ("colour = 1\n", 4, "unknown field `colour`"),
        ("modes = ['chat', 'shout']\n", 4, "unknown variant `shout`"),
        ("modes = []\n", 2, "for no mode"),
        ("[[scenario.check]]\n", 4, "says nothing"),
        ("[[scenario.check]]\ncontains = 'a'\nmax_chars = 1\n", 4, "several things"),
        ("[[scenario.check]]\nequals = 1\ncontains = 'a'\n", 4, "`equals` stands beside `json`"),
        ("[[scenario.check]]\ntool = 'a'\npayload = {}\n", 4, "`payload` stands beside `directive`"),
        ("[[scenario.check]]\nmatches = '('\n", 4, "no regular expression"),
        ("[[scenario.check]]\njson = 'a'\n", 4, "JSON Pointer"),
        ("[[scenario]]\nname = 'a'\nscene = '.'\n", 5, "another scenario is called `a`"),
        ("[[model]]\nname = 'm'\nkey = 'sk-1'\n", 6, "unknown field `key`"),
        ("[[price]]\nmodel = 'm'\ninput = 1\n", 4, "missing field `output`"),
        ("[[price]]\nmodel = 'm'\ninput = -1\noutput = 1\n", 4, "negative"),
        ("[[preset]]\nname = 'p'\n[[preset]]\nname = 'p'\n", 6, "not the only one"),
        ("name = \n", 4, ""),
    ] {
        let text = format!("{SCENARIO}{more}");
        let mistakes = EvalFile::parse(&text).err().unwrap_or_else(|| panic!("{more} is accepted"));
        let mistake = &mistakes[0];
        assert!(mistake.message.contains(said) && !mistake.help.is_empty(), "{more}: {mistake:?}");
        assert_eq!(place(&text, mistake.at.start), line, "{more}: {mistake:?}");
    }
    let both = format!("{SCENARIO}[[scenario.check]]\n[[scenario.check]]\nmatches = '['\n");
    assert_eq!(EvalFile::parse(&both).unwrap_err().len(), 2);
}
