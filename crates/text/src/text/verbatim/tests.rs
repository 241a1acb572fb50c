//! What the recorded cases do not show: hostile texts, options, and that nothing is lost.

use std::fmt::Write as _;

use super::{PlaceholderProblem, VerbatimMasker, Zone};

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
