//! The layout of texts for a terminal, and bars of progress.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

#[cfg(feature = "full")]
pub(crate) use tapster_door::layout::visible;
pub(crate) use tapster_door::layout::{counted, head, one_line, table};

/// A bar for so many steps.
pub(crate) fn progress_bar(steps: usize, terminal: bool) -> ProgressBar {
    let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(u64::try_from(steps).ok(), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len}  {elapsed} of {duration}  {msg}") {
        bar.set_style(style);
    }
    bar
}

/// A name of somebody else, as it may stand beside a bar.
pub(crate) fn clean_name(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}
