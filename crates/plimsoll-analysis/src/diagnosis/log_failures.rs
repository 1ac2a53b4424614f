//! Rules over the logs of proxies: failures by class.

use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::component::place;
use crate::diagnosis::measure::increase;
use crate::diagnosis::rule::{RuleMatch, Sign, Words, append_clause};
use crate::diagnosis::statements::most_of;
use crate::diagnosis::stretch::{View, bounded};

/// Failures of one of these classes were written.
pub(crate) fn failures(view: &View<'_>, classes: &[&str]) -> Vec<Sign> {
    let own = view
        .series_of(metric::LOG_FAILURES)
        .filter(|series| label(series, "class").is_some_and(|class| classes.contains(&class)));
    own.filter_map(|series| increase(view, series)).collect()
}

/// How often it was logged, and the most frequent subject.
pub(crate) fn frequency(case: &RuleMatch<'_>, what: &str) -> String {
    let view = case.failing();
    let series = case.series(metric::LOG_FAILURES);
    let per_minute = (view.mean(&series).unwrap_or(0.0) * 60.0).max(1.0);
    let mut sentence = format!("{what}, {per_minute:.0} times a minute");
    let (at, class) = (place(case.label_set), label(case.label_set, "class"));
    let of = view
        .series_of(metric::LOG_FAILURES_OF)
        .filter(|series| place(series) == at && label(series, "class") == class);
    if let Some((of, count)) = most_of(view, of, "of") {
        let share = (count * 6000.0 / per_minute).min(100.0);
        append_clause(
            &mut sentence,
            format_args!("; {share:.0} % of it about {of}"),
        );
    }
    sentence
}

/// The texts of a class of failures.
pub(crate) fn words(case: &RuleMatch<'_>, limit: &str, what: &str) -> Words {
    let series = case.series(metric::LOG_FAILURES);
    let line = case.line(&series, "matching log lines, per second");
    Words::new(
        format!("{limit} ({})", place(case.label_set)),
        frequency(case, what),
    )
    .with(bounded(line, Some(0.0)))
}
