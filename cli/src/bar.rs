//! The bar that shows how far long work has come, on a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar for so many steps.
pub(crate) fn bar(steps: usize, terminal: bool) -> ProgressBar {
    let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(u64::try_from(steps).ok(), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len}  {elapsed} of {duration}  {msg}") {
        bar.set_style(style);
    }
    bar
}

/// A name of somebody else, as it may stand beside a bar.
pub(crate) fn clean(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}
