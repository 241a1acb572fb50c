//! A report as one page of HTML: tables, and plots as inline SVG, without scripts, and without anything from the network.
//!
//! Colours are classes of the page, so that they follow its light and dark mode; nothing is told by a colour alone. Each
//! plot has a title and a description for those who do not see it, and the page has all numbers in tables.

use std::fmt::Write as _;

use super::report::{CellGroup, CellOutcome, EvalReport, money, percent, rates_and_times, time};
use crate::diag::short::head;
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
            for (what, text) in [("Calls", calls.join("\n")), ("Reply", head(&cell.text, MOST_TEXT))] {
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
        let counts = [
            group.requests.to_string(),
            group.tokens.input.to_string(),
            group.tokens.output.to_string(),
            group.cache_rate.map_or_else(dash, percent),
            group.cost.map_or_else(dash, money),
            group.cost_per_success.map_or_else(dash, money),
        ];
        let _ = write!(page, "<tr><th scope=\"row\">{}</th>", escaped(if name.is_empty() { "all" } else { &name }));
        for cell in rates_and_times(group).into_iter().chain(counts) {
            let _ = write!(page, "<td class=\"n\">{}</td>", escaped(&cell));
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table></div>");
}

/// Sizes in units of the drawing.
const WIDTH: f64 = 760.0;
const LABELS: f64 = 250.0;
const VALUES: f64 = 110.0;
const ROW: f64 = 30.0;
const TOP: f64 = 12.0;
const AXIS: f64 = 34.0;
/// The most characters of a label.
const MOST_LABEL: usize = 32;
/// The parts of an axis.
const PARTS: u32 = 4;
/// The number of colours that the page has.
const COLOURS: usize = 6;

/// A drawing with one row for each group.
struct Plot {
    body: String,
    rows: usize,
    /// What the right end of the axis stands for.
    most: f64,
}

impl Plot {
    fn new(rows: usize, most: f64) -> Self {
        Self { body: String::new(), rows, most: if most > 0.0 { most } else { 1.0 } }
    }

    fn x(&self, value: f64) -> f64 {
        LABELS + (value / self.most).clamp(0.0, 1.0) * (WIDTH - LABELS - VALUES)
    }

    #[expect(clippy::cast_precision_loss, reason = "no page has so many rows")]
    fn y(row: usize) -> f64 {
        TOP + ROW * (row as f64 + 0.5)
    }

    /// The name of a row on its left, and its number on the right.
    fn named(&mut self, row: usize, group: &CellGroup, value: &str) {
        let (y, name) = (Self::y(row) + 4.0, name_of(group));
        let short = shortened(&name);
        let _ = write!(
            self.body,
            "<text x=\"{:.1}\" y=\"{y:.1}\" class=\"label\" text-anchor=\"end\">{}</text><text x=\"{:.1}\" y=\"{y:.1}\" class=\"value\">{}</text>",
            LABELS - 12.0,
            escaped(&short),
            WIDTH - VALUES + 10.0,
            escaped(value)
        );
    }

    fn line(&mut self, row: usize, from: f64, to: f64, class: &str) {
        let (y, a, b) = (Self::y(row), self.x(from), self.x(to));
        let _ = write!(self.body, "<line x1=\"{a:.1}\" y1=\"{y:.1}\" x2=\"{b:.1}\" y2=\"{y:.1}\" class=\"{class}\"/>");
    }

    fn tick(&mut self, row: usize, at: f64) {
        let (y, x) = (Self::y(row), self.x(at));
        let _ = write!(self.body, "<line x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{:.1}\" class=\"whisker\"/>", y - 6.0, y + 6.0);
    }

    fn dot(&mut self, row: usize, at: f64, shape: PlotShape) {
        let (y, x) = (Self::y(row), self.x(at));
        let _ = match shape {
            PlotShape::Circle => write!(self.body, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5.5\" class=\"mark\"/>"),
            PlotShape::Diamond => {
                let (l, r, t, b) = (x - 6.0, x + 6.0, y - 6.0, y + 6.0);
                write!(self.body, "<path d=\"M{l:.1} {y:.1}L{x:.1} {t:.1}L{r:.1} {y:.1}L{x:.1} {b:.1}Z\" class=\"mark\"/>")
            }
            PlotShape::Square => {
                write!(self.body, "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"9\" height=\"9\" class=\"mark\"/>", x - 4.5, y - 4.5)
            }
        };
    }

    fn bar(&mut self, row: usize, from: f64, to: f64, class: &str, inside: &str) {
        let (y, a, b) = (Self::y(row) - 9.0, self.x(from), self.x(to));
        let _ = write!(self.body, "<rect x=\"{a:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"18\" class=\"{class}\"/>", (b - a).max(1.0));
        if b - a > 18.0 && !inside.is_empty() {
            let _ = write!(
                self.body,
                "<text x=\"{:.1}\" y=\"{:.1}\" class=\"inside\" text-anchor=\"middle\">{}</text>",
                (a + b) / 2.0,
                y + 13.5,
                escaped(inside)
            );
        }
    }

    /// The drawing, with an axis below.
    #[expect(clippy::cast_precision_loss, reason = "no page has so many rows")]
    fn drawn(self, id: &str, title: &str, about: &str, label: impl Fn(f64) -> String) -> String {
        let bottom = TOP + ROW * self.rows as f64;
        let mut grid = String::new();
        for part in 0..=PARTS {
            let value = self.most * f64::from(part) / f64::from(PARTS);
            let x = self.x(value);
            let _ = write!(
                grid,
                "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" class=\"grid\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" class=\"axis\" text-anchor=\"middle\">{}</text>",
                bottom + 20.0,
                escaped(&label(value))
            );
        }
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-labelledby=\"{id}-title {id}-about\"><title id=\"{id}-title\">{}</title>\
             <desc id=\"{id}-about\">{}</desc>{grid}{}</svg>",
            bottom + AXIS,
            escaped(title),
            escaped(about),
            self.body
        )
    }
}

enum PlotShape {
    Circle,
    Diamond,
    Square,
}

/// A name that fits beside a row: the middle of a long one is left out, since mode and preset stand at its end.
fn shortened(name: &str) -> String {
    let count = name.chars().count();
    if count <= MOST_LABEL {
        return name.to_owned();
    }
    let tail = MOST_LABEL * 5 / 8;
    name.chars().take(MOST_LABEL - tail - 1).chain(['…']).chain(name.chars().skip(count - tail)).collect()
}

/// A contender in words.
fn name_of(group: &CellGroup) -> String {
    let of = &group.of;
    let parts = [of.model.as_str(), of.mode.as_str(), of.preset.as_str()];
    parts.into_iter().filter(|part| !part.is_empty() && *part != "plain").collect::<Vec<_>>().join(" · ")
}

/// Success rates with their intervals.
pub(super) fn rates(groups: &[CellGroup]) -> String {
    let mut plot = Plot::new(groups.len(), 1.0);
    for (row, group) in groups.iter().enumerate() {
        plot.named(row, group, &format!("{} ({}/{})", percent(group.rate), group.successes, group.trials));
        plot.line(row, group.low, group.high, "whisker");
        plot.tick(row, group.low);
        plot.tick(row, group.high);
        plot.dot(row, group.rate, PlotShape::Circle);
    }
    let about = groups.iter().map(|g| format!("{}: {}, between {} and {}.", name_of(g), percent(g.rate), percent(g.low), percent(g.high)));
    plot.drawn("rates", "Success rates", &about.collect::<Vec<_>>().join(" "), percent)
}

/// The percentiles of latency; nothing where no time was measured.
#[expect(clippy::cast_precision_loss, reason = "no reply takes so long")]
fn latencies(groups: &[CellGroup]) -> Option<String> {
    let most = groups.iter().filter_map(|group| group.p99).max()?;
    let mut plot = Plot::new(groups.len(), most as f64);
    for (row, group) in groups.iter().enumerate() {
        plot.named(row, group, &time(group.p50));
        let (Some(p50), Some(p90), Some(p99)) = (group.p50, group.p90, group.p99) else { continue };
        plot.line(row, p50 as f64, p99 as f64, "whisker");
        plot.dot(row, p99 as f64, PlotShape::Square);
        plot.dot(row, p90 as f64, PlotShape::Diamond);
        plot.dot(row, p50 as f64, PlotShape::Circle);
    }
    let about = groups.iter().map(|g| format!("{}: half within {}, 99 % within {}.", name_of(g), time(g.p50), time(g.p99)));
    let about = about.collect::<Vec<_>>().join(" ");
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time that was a whole number")]
    let label = |ms: f64| time(Some(ms as u64));
    Some(plot.drawn("latencies", "Latency", &about, label))
}

/// What one success costs; nothing where no price is known.
pub(super) fn costs(groups: &[CellGroup]) -> Option<String> {
    let known = groups.iter().filter_map(|group| group.cost_per_success);
    let most = known.fold(None, |most: Option<f64>, cost| Some(most.map_or(cost, |most| most.max(cost))))?;
    let mut plot = Plot::new(groups.len(), most);
    for (row, group) in groups.iter().enumerate() {
        plot.named(row, group, &group.cost_per_success.map_or_else(|| "–".to_owned(), money));
        if let Some(cost) = group.cost_per_success {
            plot.bar(row, 0.0, cost, "c0", "");
        }
    }
    let about = groups.iter().map(|g| format!("{}: {}.", name_of(g), g.cost_per_success.map_or_else(|| "not known".to_owned(), money)));
    Some(plot.drawn("costs", "Cost of one success", &about.collect::<Vec<_>>().join(" "), money))
}

/// Why cells failed, and the legend; nothing where none failed.
#[expect(clippy::cast_precision_loss, reason = "no evaluation has so many cells")]
pub(super) fn failures(groups: &[CellGroup]) -> Option<String> {
    let mut codes: Vec<&String> = groups.iter().flat_map(|group| group.failures.keys()).collect();
    codes.sort_unstable();
    codes.dedup();
    let most = groups.iter().map(|group| group.failures.values().sum::<usize>()).max().filter(|most| *most > 0)?;
    // a multiple of the number of parts, so that each mark of the axis is a whole number
    let mut plot = Plot::new(groups.len(), most.next_multiple_of(PARTS as usize) as f64);
    for (row, group) in groups.iter().enumerate() {
        let failed: usize = group.failures.values().sum();
        plot.named(row, group, &format!("{failed} of {}", group.trials));
        let mut from = 0;
        for (n, code) in codes.iter().enumerate() {
            let Some(count) = group.failures.get(*code) else { continue };
            plot.bar(row, from as f64, (from + count) as f64, &format!("c{}", n % COLOURS), &format!("{}: {count}", letter(n)));
            from += count;
        }
    }
    let told = |g: &CellGroup| g.failures.iter().map(|(code, count)| format!("{count} {code}")).collect::<Vec<_>>().join(", ");
    let about = groups.iter().filter(|g| !g.failures.is_empty()).map(|g| format!("{}: {}.", name_of(g), told(g)));
    let about = about.collect::<Vec<_>>().join(" ");
    let mut legend = String::from("<ul class=\"legend\">");
    for (n, code) in codes.iter().enumerate() {
        let _ =
            write!(legend, "<li><span class=\"key c{}\" aria-hidden=\"true\"></span>{}: {}</li>", n % COLOURS, letter(n), escaped(code));
    }
    legend.push_str("</ul>");
    Some(format!("{}{legend}", plot.drawn("failures", "Why cells failed", &about, |n| format!("{n:.0}"))))
}

/// A short name of a code in its bar: a colour alone would not tell it.
fn letter(n: usize) -> String {
    let letter = u32::try_from(n % 26).ok().and_then(|n| char::from_u32(u32::from('A') + n)).unwrap_or('A');
    if n < 26 { letter.to_string() } else { format!("{letter}{}", n / 26) }
}
