//! The tools for texts that an application needs beside the rules, where the recorded cases show too little: language tags,
//! JSON Pointers, and zones that stay as they are, of hostile texts too.

use std::fmt::Write as _;

use serde_json::json;
use tapster::text_utils::{
    JsonPointer, LanguageTag, LanguageTagError, PlaceholderProblem, PointerError, VerbatimMasker, Zone, escape_pointer_token,
};

fn code_of_tag(text: &str) -> &'static str {
    LanguageTag::parse(text).map_or_else(LanguageTagError::code, |_| "ok")
}

/// The examples of RFC 5646, appendix A, that are well-formed by syntax, and those that are not.
#[test]
fn language_tags_of_the_standard_are_read() {
    let well_formed = [
        "de",
        "fr",
        "ja",
        "zh-Hant",
        "sr-Cyrl",
        "zh-cmn-Hans-CN",
        "cmn-Hans-CN",
        "zh-yue-HK",
        "sl-rozaj-biske",
        "de-CH-1901",
        "hy-Latn-IT-arevela",
        "es-419",
        "de-CH-x-phonebk",
        "az-Arab-x-AZE-derbend",
        "qaa-Qaaa-QM-x-southern",
        "en-US-u-islamcal",
        "zh-CN-a-myext-x-private",
        "en-a-myext-b-another",
    ];
    for tag in well_formed {
        let lower = tag.to_lowercase();
        assert_eq!(code_of_tag(tag), "ok", "{tag}");
        assert_eq!(LanguageTag::parse(&lower), LanguageTag::parse(&tag.to_uppercase()), "{tag}");
    }
    assert_eq!(["de-419-DE", "a-DE", "ar-a-aaa-b-bbb-a-ccc"].map(code_of_tag), ["malformed", "malformed", "duplicate_singleton"]);
}

#[test]
fn the_first_mistake_of_a_language_tag_is_told() {
    let cases =
        [("", "empty"), ("-", "empty_subtag"), ("é--", "invalid_character"), ("en--abcdefghi", "empty_subtag"), ("en-", "empty_subtag")];
    for (text, kind) in cases {
        assert_eq!(code_of_tag(text), kind, "{text}");
    }
    assert_eq!(code_of_tag("de-1901-1901-a-bb-a-cc"), "duplicate_variant");
    assert_eq!(LanguageTag::parse_lenient(" sr_latn_rs\n").map(|tag| tag.tag).as_deref(), Ok("sr-Latn-RS"));
    assert_eq!(LanguageTag::parse_lenient(" ").map_err(LanguageTagError::code).err(), Some("empty"));
}

#[test]
fn a_bad_fragment_says_where() {
    let fails = |text: &str| JsonPointer::from_fragment(text).err();
    assert_eq!(fails("#/a%2"), Some(PointerError::BadPercentEncoding(3)));
    assert_eq!(fails("#/%zz"), Some(PointerError::BadPercentEncoding(2)));
    assert_eq!(fails("#/a%20%FFb"), Some(PointerError::BadPercentEncoding(6)));
    assert_eq!(fails("#a"), Some(PointerError::NoLeadingSlash));
    assert_eq!(fails(""), Some(PointerError::NoLeadingHash));
}

#[test]
fn pointers_that_are_built_are_read_again() {
    for token in ["", "a/b", "m~n", "~1", "é ", "\"%", "0", "#"] {
        let pointer = JsonPointer::of([token, "x"]);
        assert_eq!(JsonPointer::parse(&pointer.to_string()).as_ref(), Ok(&pointer));
        assert_eq!(JsonPointer::from_fragment(&pointer.to_fragment()).as_ref(), Ok(&pointer));
        assert!(pointer.to_fragment().is_ascii(), "{}", escape_pointer_token(token));
    }
}

#[test]
fn pointers_lead_where_those_of_serde_json_lead() {
    let document = json!({ "a": [1, { "": [[], "x"] }], "~": { "/": null } });
    for text in ["", "/a", "/a/0", "/a/1//1", "/~0/~1", "/a/2", "/a/01", "/a/+1", "/b", "/a/0/x", "/a/-"] {
        let ours = JsonPointer::parse(text).and_then(|pointer| pointer.get(&document)).ok();
        assert_eq!(ours, document.pointer(text), "{text}");
    }
}

/// The zones of a text as `kind:raw`.
fn zones(text: &str) -> Vec<String> {
    let parts = VerbatimMasker::default().split(text);
    assert_eq!(parts.iter().map(|part| part.text).collect::<String>(), text, "the parts are the text");
    parts.iter().filter_map(|part| part.zone.map(|zone| format!("{}:{}", zone.name(), part.text))).collect()
}

#[test]
fn zones_end_where_they_should() {
    let cases: &[(&str, &[&str])] = &[
        ("```\na\n```  \nb", &["code_fence:```\na\n```  "]),
        ("```\r\na\r\n```\r\nb", &["code_fence:```\r\na\r\n```"]),
        ("    ```\n a", &[]),
        ("``` a`b\nc", &[]),
        ("~~~ a`b\nc", &["code_fence:~~~ a`b\nc"]),
        ("a\n```\n``` x\n````\nb", &["code_fence:```\n``` x\n````"]),
        ("a ` b\n```\nc ` d\n```", &["code_fence:```\nc ` d\n```"]),
        (r"a \`b` c`", &["inline_code:` c`"]),
        (r"a \\`b`", &["inline_code:`b`"]),
        ("`` a ` b", &[]),
        ("a ` b\n \t\nc `", &[]),
        ("{{{a}}} {{{{b}}}} {{c}}}", &["macro:{{{a}}}", "macro:{{{{b}}}}", "macro:{{c}}"]),
        ("{{a {{b}} c", &["macro:{{b}}"]),
        ("{{#a}}{{#b}}{{/a}}{{/b}}", &["macro:{{#a}}{{#b}}{{/a}}", "macro:{{/b}}"]),
        ("{{^a}}x{{/a}}{{#> b}}y{{/b}}", &["macro:{{^a}}x{{/a}}", "macro:{{#> b}}y{{/b}}"]),
        ("{{~#if a}}x{{~/if~}}y", &["macro:{{~#if a}}x{{~/if~}}"]),
        ("{%- raw -%}{% a %}{%- endraw -%}{% raw %}", &["liquid:{%- raw -%}{% a %}{%- endraw -%}", "liquid:{% raw %}"]),
        ("{% a", &[]),
        ("{%} %}", &["liquid:{%} %}"]),
        ("<verbatim>a", &["html:<verbatim>"]),
        ("<PRE class=x>a</Pre\n>b</pre>", &["html:<PRE class=x>a</Pre\n>", "html:</pre>"]),
        ("<code/>a</code>", &["html:<code/>", "html:</code>"]),
        ("<!-- <b> -->x<!-->y<!DOCTYPE html>", &["html:<!-- <b> -->", "html:<!-->", "html:<!DOCTYPE html>"]),
        ("a<b && c>d <it's> <3 <a b=\"", &[]),
        ("<a_b:c.d x=1y z='>'w>", &["html:<a_b:c.d x=1y z='>'w>"]),
        ("(see https://a.b/c_(d)).", &["url:https://a.b/c_(d)"]),
        ("HTTP://A.b?q=[1]&x={y}!, xhttp://a", &["url:HTTP://A.b?q=[1]&x={y}"]),
        ("<https://a.b>, \"ftp://c\" https:// https://.", &["url:https://a.b", "url:ftp://c"]),
        ("「https://例え.jp/あ」。", &["url:https://例え.jp/あ"]),
    ];
    for (text, expected) in cases {
        assert_eq!(zones(text), *expected, "{text}");
    }
}

#[test]
fn options_choose_zones_and_tags() {
    let text = "<keep>`a`</keep> `b` {{c}} <verbatim>d</verbatim>";
    let masker = VerbatimMasker::new(&[Zone::Macro, Zone::Escape], ["keep", "x"]);
    let found: Vec<_> = masker.split(text).iter().filter_map(|part| part.zone.map(|zone| (zone, part.text.to_owned()))).collect();
    assert_eq!(found, [(Zone::Escape, "<keep>`a`</keep>".to_owned()), (Zone::Macro, "{{c}}".to_owned())]);
    assert_eq!(VerbatimMasker::new(&[], ["keep"]).split(text).len(), 1);
    assert!(Zone::ALL.iter().all(|zone| Zone::named(zone.name()) == Some(*zone)));
}

#[test]
fn placeholders_are_unlike_the_text() {
    let text = "⟦v0⟧ ⟦vv1⟧ {{a}} ⟦ `b`";
    let masked = VerbatimMasker::default().mask(text);
    assert_eq!(masked.zones().len(), 2);
    assert_eq!(masked.unmask(masked.text()).as_deref(), Ok(text));
    let edited = format!("{}{}{}", masked.placeholder(1), masked.placeholder(1), masked.placeholder(7));
    let problems = [PlaceholderProblem::Missing(0), PlaceholderProblem::Repeated(1), PlaceholderProblem::Unknown(7)];
    assert_eq!(masked.unmask(&edited), Err(problems.to_vec()));
}

/// Work must grow with the text and not with its square: texts of half a megabyte that a scanner without memory would
/// read again from each of its places. Such a scanner takes minutes here.
#[test]
fn hostile_texts_take_linear_time() {
    let mut runs = String::new();
    for n in 1..900 {
        let _ = write!(runs, "{} ", "`".repeat(n));
    }
    let units = [
        "{{",
        "}}",
        "{{#a}}",
        "{{/a}}",
        "{%",
        "{% raw %}",
        "<a b='",
        "<a b=\"' c='\"",
        "<!--",
        "<![CDATA[",
        "<?",
        "<!a",
        "<pre>",
        "<a x y",
        "<verbatim>",
        "</verbatim>",
        "<",
        "`\n",
        "\\`",
        "http://)",
        "http://a)))",
        "~~~\n",
        "⟦v",
        "<a b=\" c='",
        "' <a b=\"x\" c='",
    ];
    for unit in units {
        zones(&unit.repeat(500_000 / unit.len()));
    }
    zones(&runs);
    zones(&format!("http://a{}", ")".repeat(500_000)));
    zones(&format!("{}{}", "<a b='".repeat(50_000), "<a b=\"".repeat(50_000)));
}
