//! Scripts that are too large to be compiled: the interpreter takes the square of what they have, or gigabytes. They are refused
//! before it sees them, with the place and what to do.

use std::fmt::Write as _;

use tapster::text::script::{Script, ScriptError, ScriptLimits, Scripts, Source};

use crate::own;

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
        (format!("let a = 1;\nswitch a {{ {} }}", many(80_000, "N => (1) ")), "cases"),
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

/// The optimizer moves all statements for each one that it removes, and the parser searches all variables for each name.
#[test]
fn functions_with_too_many_statements_blocks_or_variables_are_refused() {
    for (source, told) in [
        (format!("fn g() {{\n{} }}", many(60_000, "1;")), "more than 2000 statements"),
        (many(60_000, "1;"), "more than 2000 statements"),
        (format!("fn g() {{\n{} }}", many(40_000, "{}")), "more than 500 blocks"),
        (format!("fn g() {{\n{} }}", many(600, "if a { } ")), "more than 500 blocks"),
        (format!("fn g() {{\n{} }}", many(40_000, "let aN;")), "more than 500 variables"),
        // those of inner blocks count, too
        (format!("fn g() {{\n{} }}", many(100, &format!("{{ {} }}", "1;".repeat(100)))), "more than 2000 statements"),
        (format!("fn g() {{\n{} }}", many(100, &format!("f(|x| {{ {} }});", "let a;".repeat(100)))), "more than 500 variables"),
        (format!("fn g() {{\n[{}] }}", many(100, &format!("if a {{ {} }},", "{}".repeat(100)))), "more than 500 blocks"),
    ] {
        let error = refused(&source);
        let line = if source.starts_with("fn") { 2 } else { 1 };
        assert!(error.message.contains(told) && error.line == line && error.column > 1_000, "{told}: {error}");
    }
}

#[test]
fn each_message_has_one_remedy() {
    for (source, message) in [
        (
            format!("[{}]", many(2_002, "N,")),
            "more than 2000 elements, fields or parameters stand in one pair of brackets; keep them as rows of a table of the pack",
        ),
        (
            format!("switch 1 {{ {} }}", many(2_001, "N => 1 ")),
            "more than 2000 cases stand in one `switch`; keep them as rows of a table of the pack, and look them up",
        ),
        (many(2_001, "1;"), "a function has more than 2000 statements; make several functions of it"),
        (many(501, "{}"), "a function has more than 500 blocks; make several functions of it"),
        (many(501, "let aN;"), "a function has more than 500 variables; keep them as fields of one table"),
        (many(2_001, "const AN = 1\n"), "the script has more than 2000 constants; keep them as rows of a table of the pack"),
        (many(200_001, "1 "), "the script has more than 200000 words, numbers, texts and marks; make several scripts of it"),
    ] {
        assert_eq!(refused(&source).message, message);
    }
}

#[test]
fn scripts_with_too_many_constants_or_tokens_are_refused() {
    let constants = refused(&many(80_000, "const AN = 1\n"));
    assert!(constants.message.contains("more than 2000 constants") && constants.line == 2_001, "{constants}");
    for source in [many(150_000, "`${N}`\n"), many(250_000, "1\n"), many(40_000, "f(a, N)\n")] {
        let error = refused(&source);
        assert!(error.message.contains("make several scripts") && error.line > 10_000, "{error}");
    }
}

/// What cannot be read is not given to the interpreter either, unless it is small.
#[test]
fn large_scripts_that_cannot_be_read_are_refused() {
    for (before, after) in [("", "("), ("let __made = 1; ", ""), ("", "\"open"), ("# ", ""), ("}", "")] {
        let source = format!("{before}switch a {{ {} }}{after}", many(40_000, "N => { }\n"));
        let error = refused(&source);
        assert!(error.message.len() < 500, "{before} {after}: {error}");
        let bound = if before.contains("__") { "belong to the engine" } else { "" };
        assert!(error.message.contains(bound) && error.line > 0 && error.column > 0, "{before} {after}: {error}");
    }
    // a name of the engine is told at once, and where it stands
    let name = refused(&format!("let a = 1;\nlet __caught = 1; fn g() {{ {} }}", "1;".repeat(480_000)));
    assert!(name.message.contains("belong to the engine") && (name.line, name.column) == (2, 5), "{name}");
    // so is what is open in a script that is too long for the interpreter
    for (source, line, column) in [
        (format!("{}\nlet a = (1;\n", "1;\n".repeat(1_600)), 1_602, 9),
        (format!("{}\nlet a = \"1;\n", "1;\n".repeat(1_600)), 1_602, 9),
        (format!("{}\n1 /* ", "1;\n".repeat(1_600)), 1_602, 3),
        (format!("{}\n1 ) ", "1;\n".repeat(1_600)), 1_602, 3),
    ] {
        let open = refused(&source);
        assert!(open.message.contains("is not closed") && (open.line, open.column) == (line, column), "{open}");
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
        many(10, &format!("fn fN(a) {{ {} }}\n", "a += 1;\n".repeat(1_900))),
        many(10, &format!("fn fN(a) {{ {} }}\n", "if a == 1 { let b = a; b } else { 2 }\n".repeat(240))),
    ] {
        let limits = ScriptLimits { list: 1_000_000, map: 1_000_000, ..ScriptLimits::default() };
        let compiled = Scripts::new(limits).compile(&source);
        assert!(compiled.is_ok(), "{:?}", compiled.err());
    }
}

#[test]
fn all_scripts_of_a_pack_are_bounded_together() {
    let text = many(90, &format!("fn fN() {{ {} }}\n", "0;0;0;\n".repeat(330)));
    let names: Vec<String> = (0..4).map(|n| format!("s{n}")).collect();
    let files: Vec<String> = names.iter().map(|name| format!("p/scripts/{name}.rhai")).collect();
    let sources = |count: usize| -> Vec<Source<'_>> {
        names.iter().zip(&files).take(count).map(|(name, file)| Source { name, file, text: &text }).collect()
    };
    let limits = ScriptLimits { operations: 1_000_000, ..ScriptLimits::default() };
    assert!(Scripts::with_sources(limits, &sources(2), &mut 0).is_ok());
    let (name, error) = Scripts::with_sources(limits, &sources(4), &mut 0).err().unwrap();
    assert_eq!((name.as_str(), &*error.file, error.line), ("s2", "p/scripts/s2.rhai", 1));
    assert!(error.message.contains("more than 500000") && error.message.contains("rows of the pack"), "{error}");
}

#[test]
fn scripts_inside_of_rules_count_with_those_of_the_pack() {
    let script = format!("[{}].len() > 0", "[1], ".repeat(1_900));
    let told = |count: usize| {
        let program = String::from("kind = \"hooks\"\nversion = 1\n[[program]]\nname = \"own\"\nover = \"blocks\"\n");
        let rules = (0..count).fold(program, |mut rules, n| {
            let _ = write!(rules, "[[pass]]\nname = \"own/p{n}\"\ndo = \"drop\"\nwhere = {{ rhai = \"{script}\" }}\n");
            rules
        });
        own::pack("", &[("hooks.toml", &rules)]).err().map(|error| error.to_string())
    };
    assert_eq!(told(20), None);
    let refused = told(80).unwrap();
    assert!(refused.contains("more than 500000") && refused.contains("rows of the pack"), "{refused}");
}
