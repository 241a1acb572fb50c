//! What is said when a bound of the work is reached: which one, the rule that spent most of it, and what to do.

use super::{LEDGER, Over, Spent};
use crate::model::{DEEPEST_WRITTEN, MOST_WRITTEN, WorkLimits};

/// What is asked for at once is told from this share of the bound on.
const WORTH_TELLING: u64 = 100;

/// What was exceeded, who spent most, and what to do.
#[must_use]
pub fn told() -> String {
    LEDGER.with_borrow_mut(|ledger| {
        ledger.settle();
        if let Some(Over::Size) = ledger.over {
            let by =
                ledger.asked.1.and_then(|n| ledger.rules.get(n)).map(|(name, _)| format!("; rule `{name}` does it")).unwrap_or_default();
            return format!(
                "a list or table is written out or read that comes to more than {MOST_WRITTEN} bytes or nests deeper than \
                 {DEEPEST_WRITTEN} levels{by}; keep less in it"
            );
        }
        let WorkLimits { steps, bytes } = ledger.limits;
        let (bound, limit) = match ledger.over {
            Some(Over::Bytes) => (format!("makes more than {bytes} bytes of texts and data"), bytes),
            _ => (format!("takes more than {steps} steps of work"), steps),
        };
        let of_steps = matches!(ledger.over, Some(Over::Steps) | None);
        let (asked, by) = ledger.asked;
        // what was refused was not spent, but the rule that asked for it may be the one to change
        let amount = |n: usize, spent: &Spent| if by == Some(n) { asked } else { 0 }.saturating_add(spent.of(of_steps));
        let most = ledger.spent().max_by_key(|(n, (_, spent))| amount(*n, spent));
        let most = most.filter(|(n, (_, spent))| amount(*n, spent) > 0);
        let asked = (asked > limit / WORTH_TELLING).then(|| format!(" asked for {asked} more at once"));
        let most = match most {
            Some((n, (name, spent))) => {
                let asked = asked.filter(|_| by == Some(n)).map(|asked| format!(" and{asked}")).unwrap_or_default();
                format!("; rule `{name}` spent most of them, {},{asked}", spent.of(of_steps)).trim_end_matches(',').to_owned()
            }
            None => asked.map(|asked| format!("; one piece of work{asked}")).unwrap_or_default(),
        };
        let largest = ledger.largest.as_ref().map(|what| format!("; the largest single piece was {what}")).unwrap_or_default();
        let remedy = ledger.remedy.unwrap_or("let it do less, or let the embedding program allow more (`Scene::work`)");
        format!("this {bound}{most}{largest}; {remedy}")
    })
}
