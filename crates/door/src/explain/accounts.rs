//! Cache accounts: how many tokens of each request the provider could read from its cache, how many it says it did, and
//! why not all of them.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// The tokens of a request, by what became of them in the provider's cache. Together they are the whole prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheBooking {
    /// Read from the cache; as far as is known, where the provider has not said it.
    pub kept: u64,
    /// Stand behind all that was sent before.
    pub new: u64,
    /// Were sent before, and stand behind the first difference.
    pub prefix: u64,
    /// Of a first request.
    pub cold: u64,
    /// Are the same as before, and the provider keeps them no longer than the pause was.
    pub lifetime: u64,
    /// Are the same as before, and were not read all the same.
    pub provider: u64,
}

/// What is known of a request before it is booked.
#[derive(Debug, Clone, Copy, Default)]
pub struct CacheFacts {
    /// The tokens of the prompt.
    pub total: u64,
    /// Those of the request before.
    pub previous: Option<u64>,
    /// Those of the unchanged beginning.
    pub unchanged: u64,
    /// How long ago the request before was, and how long the provider keeps its cache, in seconds.
    pub pause: u64,
    pub cache_seconds: Option<u64>,
    /// The tokens of the prompt and those of the cache, as the provider counts them.
    pub usage: Option<(u64, u64)>,
}

impl CacheBooking {
    /// Books the tokens of a request. The provider's counts are taken as shares, since it counts with another tokenizer.
    #[must_use]
    pub fn of(facts: &CacheFacts) -> Self {
        let total = facts.total;
        let read = facts.usage.map(|(input, cached)| share(total, cached, input));
        let Some(previous) = facts.previous else {
            let kept = read.unwrap_or(0).min(total);
            return Self { kept, cold: total - kept, ..Self::default() };
        };
        let keepable = previous.min(total);
        let unchanged = facts.unchanged.min(keepable);
        let is_late = facts.cache_seconds.is_some_and(|seconds| facts.pause > seconds);
        let kept = read.unwrap_or(if is_late { 0 } else { unchanged }).min(unchanged);
        let missed = unchanged - kept;
        let (lifetime, provider) = if is_late { (missed, 0) } else { (0, missed) };
        Self { kept, new: total - keepable, prefix: keepable - unchanged, cold: 0, lifetime, provider }
    }

    /// Each of the sums: its name, its tokens, and which tokens these are.
    #[must_use]
    pub fn rows(&self) -> [(&'static str, u64, &'static str); 6] {
        [
            ("kept", self.kept, "read from the cache"),
            ("new", self.new, "behind all that was sent before"),
            ("prefix", self.prefix, "behind the first difference from the request before"),
            ("cold", self.cold, "of first requests"),
            ("lifetime", self.lifetime, "the provider keeps its cache no longer than the pause was"),
            ("provider", self.provider, "the same as before, and not read all the same"),
        ]
    }
}

impl std::ops::AddAssign for CacheBooking {
    fn add_assign(&mut self, other: Self) {
        self.kept += other.kept;
        self.new += other.new;
        self.prefix += other.prefix;
        self.cold += other.cold;
        self.lifetime += other.lifetime;
        self.provider += other.provider;
    }
}

/// `total * part / whole`, rounded.
fn share(total: u64, part: u64, whole: u64) -> u64 {
    let exact = (u128::from(total) * u128::from(part) * 2 + u128::from(whole)).checked_div(u128::from(whole) * 2);
    exact.and_then(|exact| u64::try_from(exact).ok()).unwrap_or(0)
}

/// The account of one request. It holds no texts of the chat.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CacheAccount {
    /// The name under which the request is explained.
    pub id: String,
    pub time: String,
    pub session: String,
    pub model: String,
    /// The tokens of the prompt, as the pack counts them.
    pub total: u64,
    /// The first block that differs from the request before: `index`, `id`, `what`, and the rules that made it differ.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub differs: Json,
    pub booked: CacheBooking,
    /// The tokens of the prompt and of the cache, as the provider counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
}

/// The sums over many requests.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CacheSummary {
    pub requests: u64,
    pub tokens: u64,
    /// The share of the tokens that was kept, in percent.
    pub kept_percent: u64,
    pub booked: CacheBooking,
    /// Which rules broke the prefix: how often, and how many tokens that cost; the dearest first.
    pub breaks: Vec<CacheBreak>,
}

/// What one rule has cost.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CacheBreak {
    /// `macro {{time}}`, `inject/in_chat` …
    pub by: String,
    /// `file:line` of the rule, where it has one.
    pub rule: Option<String>,
    pub times: u64,
    pub tokens: u64,
}

impl CacheSummary {
    /// Sums accounts up.
    #[must_use]
    pub fn of<'a>(accounts: impl IntoIterator<Item = &'a CacheAccount>) -> Self {
        let mut sum = Self::default();
        let mut breaks: IndexMap<String, CacheBreak> = IndexMap::new();
        for account in accounts {
            sum.requests += 1;
            sum.tokens += account.total;
            sum.booked += account.booked;
            if account.booked.prefix > 0 {
                let (by, rule) = culprit(&account.differs);
                let found = breaks.entry(by.clone()).or_insert(CacheBreak { by, rule, ..CacheBreak::default() });
                found.times += 1;
                found.tokens += account.booked.prefix;
            }
        }
        sum.kept_percent = share(100, sum.booked.kept, sum.tokens);
        sum.breaks = breaks.into_values().collect();
        sum.breaks.sort_by_key(|one| std::cmp::Reverse(one.tokens));
        sum
    }

    /// The sums as a text for a terminal.
    #[must_use]
    pub fn as_text(&self) -> String {
        let mut out = format!("{} requests, {} tokens: {} % were read from the cache\n", self.requests, self.tokens, self.kept_percent);
        let rows = self.booked.rows();
        rows.iter().filter(|row| row.1 > 0).for_each(|(name, tokens, what)| out.push_str(&format!("  {name:<9}{tokens:>10}  {what}\n")));
        for one in &self.breaks {
            let rule = one.rule.as_ref().map(|rule| format!(" ({rule})")).unwrap_or_default();
            out.push_str(&format!("{} tokens, {} times: {}{rule}\n", one.tokens, one.times, one.by));
        }
        out
    }
}

/// Who made a block differ, and where that rule stands.
fn culprit(differs: &Json) -> (String, Option<String>) {
    let text = |key: &str| differs.get(key).and_then(Json::as_str).map(str::to_owned);
    let by_macro = text("macro").map(|name| format!("macro {{{{{name}}}}}"));
    let by_script = || text("script").map(|name| format!("script {name}"));
    let by = by_macro.or_else(by_script).or_else(|| text("from_pass")).or_else(|| text("pass"));
    let block = || format!("block {} is {}", text("id").unwrap_or_default(), text("what").unwrap_or_default());
    (by.unwrap_or_else(block), text("from_rule").or_else(|| text("rule")))
}
