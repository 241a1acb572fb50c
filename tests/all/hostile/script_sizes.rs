//! Scripts that are too large to be compiled: the interpreter takes the square of what they have, or gigabytes. They are refused
//! before it sees them, with the place and what to do.

use std::fmt::Write as _;

use tapster::text::script::{Script, ScriptError, ScriptLimits, Scripts, Source};

fn refused(source: &str) -> ScriptError {
    Script::compile(source).err().unwrap_or_else(|| panic!("it compiles: {}", source.chars().take(80).collect::<String>()))
}

/// So many parts behind each other, with their number for `N`.
fn many(count: usize, part: &str) -> String {
    (0..count).fold(String::new(), |mut text, n| {
        let _ = write!(text, "{}", part.replace('N', &n.to_string()));
        text
    })
}

#[test]
fn brackets_with_too_many_parts_are_refused() {
    for (source, told) in [
        (format!("let a = 1;\nswitch a {{ {} }}", many(80_000, "N => 1,")), "cases"),
        (format!("let a = 1;\nswitch a {{ {} }}", many(80_000, "N => { } ")), "cases"),
        (format!("let a = 1;\n#{{ {} }}", many(200_000, "aN: 1,")), "elements"),
        (format!("let a = 1;\nfn f({}b) {{ 1 }}", many(50_000, "aN,")), "elements"),
        (format!("let a = 1;\nlet f = |{}b| 1;", many(50_000, "aN,")), "elements"),
        (format!("let a = 1;\n[{}]", many(500_000, "[N, 1],")), "elements"),
        (format!("let a = 1;\n`${{[{}]}}`", many(5_000, "N,")), "elements"),
    ] {
        let error = refused(&source);
        assert!(error.message.contains(told) && error.message.contains("rows of a table of the pack"), "{error}");
        assert!(error.line == 2 && error.column > 1_000, "{error}");
    }
}

#[test]
fn scripts_with_too_many_constants_or_tokens_are_refused() {
    let constants = refused(&many(80_000, "const AN = 1;\n"));
    assert!(constants.message.contains("more than 2000 constants") && constants.line == 2_001, "{constants}");
    for source in [many(150_000, "`${N}`;\n"), many(150_000, "1;\n"), many(40_000, "f(a, N);\n")] {
        let error = refused(&source);
        assert!(error.message.contains("split the script") && error.line > 10_000, "{error}");
    }
}

/// What cannot be read is not given to the interpreter either, unless it is small.
#[test]
fn large_scripts_that_cannot_be_read_are_refused() {
    for (before, after) in [("", "("), ("let __made = 1; ", ""), ("", "\"open"), ("# ", ""), ("}", "")] {
        let source = format!("{before}switch a {{ {} }}{after}", many(40_000, "N => { }\n"));
        let error = refused(&source);
        assert!(error.message.len() < 500, "{before} {after}: {error}");
    }
    assert!(refused(&"#".repeat(1_000_000)).message.len() < 500);
    // a small one is told by the interpreter, with its place
    let error = refused(&format!("let a = [{}];\nlet b = ];", many(100, "N,")));
    assert_eq!(error.line, 2, "{error}");
}

#[test]
fn what_is_large_and_within_the_bounds_is_compiled() {
    for source in [
        format!("[{}1]", many(1_999, "N,")),
        format!("#{{ {} }}", many(900, "aN: [N, N],")),
        many(200, "const AN = N;\n"),
        format!("let a = 1; {}", many(20_000, "a += N;\n")),
    ] {
        let limits = ScriptLimits { list: 1_000_000, map: 1_000_000, ..ScriptLimits::default() };
        let compiled = Scripts::new(limits).compile(&source);
        assert!(compiled.is_ok(), "{:?}", compiled.err());
    }
}

#[test]
fn all_scripts_of_a_pack_are_bounded_together() {
    let text = many(30_000, "0;0;0;\n");
    let names: Vec<String> = (0..4).map(|n| format!("s{n}")).collect();
    let files: Vec<String> = names.iter().map(|name| format!("p/scripts/{name}.rhai")).collect();
    let sources = |count: usize| -> Vec<Source<'_>> {
        names.iter().zip(&files).take(count).map(|(name, file)| Source { name, file, text: &text }).collect()
    };
    let limits = ScriptLimits { operations: 1_000_000, ..ScriptLimits::default() };
    assert!(Scripts::with_sources(limits, &sources(2)).is_ok());
    let (name, error) = Scripts::with_sources(limits, &sources(4)).err().unwrap();
    assert_eq!((name.as_str(), &*error.file, error.line), ("s2", "p/scripts/s2.rhai", 1));
    assert!(error.message.contains("more than 500000") && error.message.contains("tables of the pack"), "{error}");
}
