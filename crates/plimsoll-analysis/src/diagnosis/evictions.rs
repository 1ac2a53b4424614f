//! Evictions of a store, and whether they matter.

use crate::diagnosis::rule::{RuleMatch, Words, append_clause};
use crate::diagnosis::stretch::{View, bounded};

/// A hit ratio that fell by less has not fallen: as rule S5 has it.
const HIT_RATIO_FALL: f64 = 0.05;

fn ratio(view: &View<'_>, hits: &str, misses: &str) -> Option<f64> {
    let (hits, misses) = (view.mean(hits)?, view.mean(misses)?);
    (hits + misses > 0.0).then(|| hits / (hits + misses))
}

/// Whether the hit ratio was lower under the failing load than before; `None` without lookups.
fn has_fallen(case: &RuleMatch<'_>, hits: &str, misses: &str) -> Option<bool> {
    let failing = ratio(&case.over.failing, hits, misses)?;
    let before = ratio(&case.over.passing, hits, misses).or(ratio(&case.over.base, hits, misses));
    Some(before.is_none_or(|before| failing < before - HIT_RATIO_FALL))
}

/// The texts of a store that evicts, and its evidence.
pub(crate) fn evicted(
    case: &RuleMatch<'_>,
    words: (String, String),
    evictions: &str,
    [hits, misses]: [&str; 2],
) -> Words {
    let (limit, mut sentence) = words;
    let fallen = has_fallen(case, hits, misses);
    if let Some(ratio) = ratio(case.failing(), hits, misses) {
        append_clause(
            &mut sentence,
            format_args!("; {:.0} % of the lookups were hits", ratio * 100.0),
        );
    }
    let found = case
        .over
        .evidence((hits, "hit ratio", "1"), |view| ratio(view, hits, misses));
    Words::new(limit, sentence)
        .with(bounded(
            case.line(evictions, "evictions, per second"),
            Some(0.0),
        ))
        .with(found)
        // Evicting unused entries is normal for a cache.
        .doubtful_if(fallen != Some(true))
}
