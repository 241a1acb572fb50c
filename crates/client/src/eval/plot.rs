//! Plots as inline SVG: rates with their intervals, percentiles of latency, costs, and why cells failed.
//!
//! Colours are classes of the page, so that they follow its light and dark mode; nothing is told by a colour alone. Each
//! plot has a title and a description for those who do not see it, and the page has all numbers in tables.

use std::fmt::Write as _;

use super::report::CellGroup;
use super::table::{money, percent, time};
use crate::text::markup::escaped;

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
pub(super) fn name_of(group: &CellGroup) -> String {
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
pub(super) fn latencies(groups: &[CellGroup]) -> Option<String> {
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
