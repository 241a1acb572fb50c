//! Intervals, percentiles, prices and tables, against numbers that were worked out by hand or by other programs.

#![expect(clippy::string_slice, reason = "a test that panics has failed")]

use serde_json::json;
use tapster_client::eval::{CellOutcome, EvalReport, TokenCounts, TokenPrice, finished, percentile, wilson};

#[test]
fn intervals_are_those_of_wilson() {
    // by statsmodels.stats.proportion.proportion_confint(k, n, method="wilson")
    for (k, n, low, high) in
        [(0, 10, 0.0, 0.277_533), (10, 10, 0.722_467, 1.0), (5, 10, 0.236_593, 0.763_407), (81, 263, 0.255_292, 0.366_205)]
    {
        let (a, b) = wilson(k, n);
        assert!((a - low).abs() < 1e-5 && (b - high).abs() < 1e-5, "{k}/{n}: {a} {b}");
    }
    assert_eq!(wilson(0, 0), (0.0, 1.0));
    let (low, high) = wilson(9, 3);
    assert!(low >= 0.0 && high <= 1.0);
}

#[test]
fn percentiles_are_nearest_ranks() {
    let times: Vec<u64> = (1..=100).rev().collect();
    let of = |percent| percentile(&times, percent);
    assert_eq!((of(50.0), of(90.0), of(99.0), of(100.0), of(0.0)), (Some(50), Some(90), Some(99), Some(100), Some(1)));
    assert_eq!((percentile(&[7], 99.0), percentile(&[], 50.0)), (Some(7), None));
}

#[test]
fn prices_count_cached_tokens_apart() {
    let price = TokenPrice { model: "gpt-*".into(), input: 2.0, output: 8.0, cached: Some(0.5) };
    assert!(price.is_of("gpt-4o") && !price.is_of("o3"));
    assert!((price.cost(1_000_000, 500_000, 400_000) - (1.2 + 0.2 + 4.0)).abs() < 1e-9);
    let plain = TokenPrice { cached: None, ..price };
    assert!((plain.cost(1_000_000, 0, 400_000) - 2.0).abs() < 1e-9);
    assert!((plain.cost(1, 0, 5) - 2e-6).abs() < 1e-12);
}

fn outcome(model: &str, repetition: u32, ms: u64, failure: Option<&str>) -> CellOutcome {
    CellOutcome {
        key: format!("s/{model}/chat/plain/{repetition}"),
        scenario: "s".into(),
        model: model.into(),
        mode: "chat".into(),
        preset: "plain".into(),
        repetition,
        ok: failure.is_none(),
        failure: failure.map(str::to_owned),
        text: "=cmd|' /C calc'!A0 <script>alert(1)</script>".into(),
        ms: Some(ms),
        requests: 1,
        tokens: Some(TokenCounts { input: 100, output: 10, cached: 25 }),
        cost: Some(0.25),
        ..CellOutcome::default()
    }
}

fn report() -> EvalReport {
    let refused =
        CellOutcome { status: Some(503), text: String::new(), tokens: None, cost: None, ..outcome("b", 2, 9, Some("provider_error")) };
    let all = vec![outcome("a", 1, 100, None), outcome("a", 2, 300, None), outcome("b", 1, 50, Some("check_failed")), refused];
    EvalReport::of("A <test>", all, 2)
}

#[test]
fn a_report_counts() {
    let report = report();
    let (a, b) = (&report.contenders[0], &report.contenders[1]);
    assert_eq!((a.trials, a.successes, a.p50, a.p99), (2, 2, Some(100), Some(300)));
    // a cell without a reply has no latency
    assert_eq!(
        (b.successes, b.p50, b.failures.clone()),
        (0, Some(50), [("check_failed".into(), 1), ("provider_error 503".into(), 1)].into())
    );
    assert_eq!((a.cache_rate, a.cost, a.cost_per_success, b.cost_per_success), (Some(0.25), Some(0.5), Some(0.25), None));
    assert_eq!((report.total.trials, report.total.successes, report.details.len(), report.missing), (4, 2, 2, 2));
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["contenders"][1]["failures"], json!({ "check_failed": 1, "provider_error 503": 1 }));
}

#[test]
fn tables_and_pages_show_what_strangers_write_as_text() {
    let report = report();
    let table = report.table();
    assert!(
        table.contains("2/2") && table.contains("    1  provider_error 503") && table.contains("2 cells are still to be done"),
        "{table}"
    );
    let mut odd = outcome("=1+1", 1, 1, None);
    odd.scenario = "a,\"b\"\nc".into();
    let csv = EvalReport::of("", vec![odd], 0).csv();
    assert!(csv.ends_with("\"a,\"\"b\"\"\nc\",'=1+1,chat,plain,1,true,,,1,1,100,10,25,0.25,\n"), "{csv}");
    let page = report.html();
    assert!(page.contains("<title>A &lt;test&gt;</title>") && !page.contains("<script"), "{page}");
    // nothing comes from anywhere else
    assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("url(") && !page.contains("src="), "{page}");
    for part in
        ["role=\"img\"", "<desc id=\"rates-about\">a · chat: 100 %", "<desc id=\"failures-about\">b · chat: 1 check_failed", "lang=\"en\""]
    {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

#[test]
fn a_file_of_results_may_be_cut_off() {
    let whole: Vec<String> = [outcome("a", 1, 1, None), outcome("a", 2, 1, None), outcome("a", 1, 7, None)]
        .iter()
        .map(|o| serde_json::to_string(o).unwrap())
        .collect();
    let text = format!("{}\n{}\nno result\n{}\n{}", whole[0], whole[1], whole[2], &whole[1][..40]);
    let (found, broken) = finished(&text);
    assert_eq!((found.len(), broken), (2, 2));
    // the last line of a cell counts
    assert_eq!(found["s/a/chat/plain/1"].ms, Some(7));
}

/// A page with much on it, to be looked at: `TAPSTER_EVAL_PAGE=page.html cargo test --test all evals::`.
#[test]
fn a_page_for_the_eye() {
    let mut all = Vec::new();
    let models = ["gpt-4o", "gpt-4o-mini", "a-model-with-a-very-long-name-indeed/instruct-0613"];
    for (m, model) in models.iter().enumerate() {
        for mode in ["chat", "tools", "json_schema"] {
            for scenario in ["lamp", "no-attic", "cellar <b>"] {
                for n in 1..=5_u32 {
                    let failure = match (m, n, mode) {
                        (0, _, _) => None,
                        (1, 5, "tools") => Some("check_failed"),
                        (2, 1..=2, _) => Some("max_turns"),
                        (2, 3, "json_schema") => Some("no_json"),
                        (2, 4, _) => Some("timeout"),
                        _ => None,
                    };
                    let ms = u64::try_from(m).unwrap() * 700 + u64::from(n) * 130 + 200;
                    let one = outcome(model, n, ms, failure);
                    all.push(CellOutcome {
                        scenario: scenario.into(),
                        mode: mode.into(),
                        key: format!("{scenario}/{model}/{mode}/plain/{n}"),
                        ..one
                    });
                }
            }
        }
    }
    let page = EvalReport::of("The lighthouse: does a model look before it answers?", all, 0).html();
    assert_eq!(page.matches("<svg ").count(), 4);
    if let Some(path) = std::env::var_os("TAPSTER_EVAL_PAGE") {
        std::fs::write(path, page).unwrap();
    }
}
