//! A report as one page of HTML: plots and tables, without scripts, and without anything from the network.

use std::fmt::Write as _;

use super::plot::{costs, failures, latencies, name_of, rates};
use super::record::CellOutcome;
use super::report::{CellGroup, EvalReport};
use super::table::{money, percent, time};
use crate::text::markup::escaped;

/// The most failed cells that are shown with their replies.
const MOST_FAILED: usize = 200;
/// The most characters of a reply that are shown.
const MOST_TEXT: usize = 1_200;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1c1c1c;--paper:#fff;--dim:#595959;--rule:#d5d5d5;--mark:#005ea8;--soft:#eef3f8;--bad:#9c1c1c;\
--c0:#0072b2;--c1:#b34700;--c2:#00755a;--c3:#8f4d78;--c4:#6b5b00;--c5:#4d4d4d}\
@media(prefers-color-scheme:dark){:root{--ink:#ececec;--paper:#161616;--dim:#b0b0b0;--rule:#3c3c3c;--mark:#7cc0ff;--soft:#22303c;--bad:#ff9d9d;\
--c0:#1a6fb0;--c1:#a8490a;--c2:#0b7459;--c3:#8f4d78;--c4:#766500;--c5:#636363}}\
*{box-sizing:border-box}body{margin:0 auto;padding:1.5rem;max-width:68rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}\
h1{font-size:1.6rem;line-height:1.25}h2{font-size:1.2rem;margin-top:2.2rem;border-top:1px solid var(--rule);padding-top:1rem}p{max-width:46rem}\
.dim{color:var(--dim)}.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}caption{text-align:left;color:var(--dim);padding-bottom:.4rem}\
th,td{padding:.35rem .7rem;text-align:left;border-bottom:1px solid var(--rule);vertical-align:top}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\
svg{display:block;width:100%;max-width:60rem;height:auto}.label,.value{font-size:13px;fill:var(--ink)}.axis{font-size:12px;fill:var(--dim)}.inside{font-size:12px;fill:#fff}\
.grid{stroke:var(--rule)}.whisker{stroke:var(--mark);stroke-width:2}.mark{fill:var(--mark);stroke:var(--paper);stroke-width:1.5}\
.c0{fill:var(--c0);background:var(--c0)}.c1{fill:var(--c1);background:var(--c1)}.c2{fill:var(--c2);background:var(--c2)}\
.c3{fill:var(--c3);background:var(--c3)}.c4{fill:var(--c4);background:var(--c4)}.c5{fill:var(--c5);background:var(--c5)}\
.legend{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;font-size:.9rem}.key{display:inline-block;width:.9rem;height:.9rem;margin-right:.4rem;vertical-align:-.1rem}\
.share{display:block;height:.35rem;margin-top:.2rem;background:var(--soft)}.share i{display:block;height:100%;background:var(--mark)}\
.no{color:var(--bad);font-weight:600}pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--soft);padding:.7rem;margin:.4rem 0;font-size:.85rem}\
summary{cursor:pointer}dl{display:flex;flex-wrap:wrap;gap:.4rem 2rem;margin:1rem 0}dt{color:var(--dim);font-size:.85rem}dd{margin:0;font-size:1.3rem}";

impl EvalReport {
    /// The report as a page that stands by itself.
    #[must_use]
    pub fn html(&self) -> String {
        let mut page = String::with_capacity(32 << 10);
        let title = if self.about.is_empty() { "Evaluation" } else { &self.about };
        let _ = write!(
            page,
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
             <title>{0}</title><style>{STYLE}</style></head><body><main><h1>{0}</h1>",
            escaped(title)
        );
        self.summary(&mut page);
        let groups = &self.contenders;
        page.push_str("<h2>Success</h2><p class=\"dim\">The dot is the share of cells that succeeded, the line its interval of 95 % by Wilson's score.</p>");
        page.push_str(&rates(groups));
        if let Some(plot) = latencies(groups) {
            page.push_str("<h2>Latency</h2><p class=\"dim\">Circle: half of the cells were as fast. Diamond: nine of ten. Square: 99 of a hundred.</p>");
            page.push_str(&plot);
        }
        if let Some(plot) = costs(groups) {
            page.push_str("<h2>Cost of one success</h2><p class=\"dim\">In the currency of the prices; failed cells are paid for too.</p>");
            page.push_str(&plot);
        }
        page.push_str("<h2>Failures</h2>");
        match failures(groups) {
            Some(plot) => page.push_str(&plot),
            None => page.push_str("<p>No cell has failed.</p>"),
        }
        numbers(&mut page, groups, &self.total);
        self.scenarios(&mut page);
        self.failed(&mut page);
        page.push_str("</main></body></html>\n");
        page
    }

    fn summary(&self, page: &mut String) {
        let total = &self.total;
        let mut facts = vec![
            ("Cells", total.trials.to_string()),
            ("Succeeded", format!("{} ({})", total.successes, percent(total.rate))),
            ("Requests", total.requests.to_string()),
            ("Tokens in / out", format!("{} / {}", total.tokens.input, total.tokens.output)),
        ];
        facts.extend(total.cache_rate.map(|rate| ("From cache", percent(rate))));
        facts.extend(total.cost.map(|cost| ("Cost", money(cost))));
        facts.extend((self.missing > 0).then(|| ("Still to be done", self.missing.to_string())));
        facts.extend((!self.made.is_empty()).then(|| ("Made", self.made.clone())));
        page.push_str("<dl>");
        for (name, value) in facts {
            let _ = write!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(&value));
        }
        page.push_str("</dl>");
    }

    /// Which scenario succeeded with which contender.
    fn scenarios(&self, page: &mut String) {
        let mut names: Vec<&str> = Vec::new();
        for group in &self.details {
            if !names.contains(&group.of.scenario.as_str()) {
                names.push(&group.of.scenario);
            }
        }
        page.push_str(
            "<h2>Scenarios</h2><div class=\"wide\"><table><caption>Successes of trials</caption><thead><tr><th scope=\"col\">Scenario</th>",
        );
        for group in &self.contenders {
            let _ = write!(page, "<th scope=\"col\">{}</th>", escaped(&name_of(group)));
        }
        page.push_str("</tr></thead><tbody>");
        for name in names {
            let _ = write!(page, "<tr><th scope=\"row\">{}</th>", escaped(name));
            for contender in &self.contenders {
                let own = |g: &&CellGroup| {
                    g.of.scenario == name && super::report::CellSlice { scenario: String::new(), ..g.of.clone() } == contender.of
                };
                match self.details.iter().find(own) {
                    Some(g) => {
                        let width = g.rate * 100.0;
                        let _ = write!(
                            page,
                            "<td>{}/{}<span class=\"share\" aria-hidden=\"true\"><i style=\"width:{width:.0}%\"></i></span></td>",
                            g.successes, g.trials
                        );
                    }
                    None => page.push_str("<td class=\"dim\">–</td>"),
                }
            }
            page.push_str("</tr>");
        }
        page.push_str("</tbody></table></div>");
    }

    /// The cells that failed, with what came back.
    fn failed(&self, page: &mut String) {
        let failed: Vec<&CellOutcome> = self.cells.iter().filter(|cell| !cell.ok).collect();
        if failed.is_empty() {
            return;
        }
        let _ = write!(page, "<h2>Failed cells</h2><p>{} of {} cells.</p>", failed.len(), self.cells.len());
        for cell in failed.iter().take(MOST_FAILED) {
            let code = cell.failure.as_deref().unwrap_or_default();
            let status = cell.status.map(|status| format!(" {status}")).unwrap_or_default();
            let _ = write!(page, "<details><summary>{} <span class=\"no\">{}{status}</span></summary>", escaped(&cell.key), escaped(code));
            if !cell.message.is_empty() {
                let _ = write!(page, "<p>{}</p>", escaped(&cell.message));
            }
            let wrong: Vec<String> =
                cell.checks.iter().filter(|made| !made.ok).map(|made| format!("<li>{}</li>", escaped(&made.check))).collect();
            if !wrong.is_empty() {
                let _ = write!(page, "<p>Not as it must be:</p><ul>{}</ul>", wrong.concat());
            }
            let calls: Vec<String> = cell.calls.iter().map(|call| format!("{} {}", call.tool, call.arguments)).collect();
            for (what, text) in [("Calls", calls.join("\n")), ("Reply", cell.text.chars().take(MOST_TEXT).collect())] {
                if !text.is_empty() {
                    let _ = write!(page, "<p>{what}:</p><pre>{}</pre>", escaped(&text));
                }
            }
            page.push_str("</details>");
        }
        if failed.len() > MOST_FAILED {
            let _ = write!(page, "<p class=\"dim\">The other {} are in the file of results.</p>", failed.len() - MOST_FAILED);
        }
    }
}

/// All numbers that the plots show.
fn numbers(page: &mut String, groups: &[CellGroup], total: &CellGroup) {
    page.push_str(
        "<h2>Numbers</h2><div class=\"wide\"><table><caption>One row for each model, mode and preset</caption><thead><tr>\
         <th scope=\"col\">Contender</th><th scope=\"col\" class=\"n\">Success</th><th scope=\"col\" class=\"n\">Rate</th>\
         <th scope=\"col\" class=\"n\">95 %</th><th scope=\"col\" class=\"n\">p50</th><th scope=\"col\" class=\"n\">p90</th>\
         <th scope=\"col\" class=\"n\">p99</th><th scope=\"col\" class=\"n\">Requests</th><th scope=\"col\" class=\"n\">Tokens in</th>\
         <th scope=\"col\" class=\"n\">out</th><th scope=\"col\" class=\"n\">Cached</th><th scope=\"col\" class=\"n\">Cost</th>\
         <th scope=\"col\" class=\"n\">per success</th></tr></thead><tbody>",
    );
    let all = (groups.len() > 1).then_some(total);
    for group in groups.iter().chain(all) {
        let name = name_of(group);
        let dash = || "–".to_owned();
        let cells = [
            format!("{}/{}", group.successes, group.trials),
            percent(group.rate),
            format!("{}–{}", percent(group.low), percent(group.high)),
            time(group.p50),
            time(group.p90),
            time(group.p99),
            group.requests.to_string(),
            group.tokens.input.to_string(),
            group.tokens.output.to_string(),
            group.cache_rate.map_or_else(dash, percent),
            group.cost.map_or_else(dash, money),
            group.cost_per_success.map_or_else(dash, money),
        ];
        let _ = write!(page, "<tr><th scope=\"row\">{}</th>", escaped(if name.is_empty() { "all" } else { &name }));
        for cell in cells {
            let _ = write!(page, "<td class=\"n\">{}</td>", escaped(&cell));
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table></div>");
}
