//! Texts that rules about databases share.

use plimsoll_model::component::ComponentKind;
use plimsoll_model::metric;

use crate::diagnosis::component::place;
use crate::diagnosis::rule::{RuleMatch, Words, append_clause};
use crate::diagnosis::statements::most;
use crate::diagnosis::stretch::bounded;

/// Names the statement that most sessions have.
pub(crate) fn append_statement(
    sentence: &mut String,
    case: &RuleMatch<'_>,
    metric: &'static str,
    what: &str,
) {
    let at = place(case.label_set);
    if let Some((statement, _)) = most(case.failing(), metric, at, "statement").first() {
        append_clause(sentence, format_args!("; {what}: `{statement}`"));
    }
}

/// Sessions that compute: their series, its label in evidence, the metric that counts them by statement, and how many there
/// may be to one CPU.
pub(crate) struct ComputingSessions<'a> {
    pub(crate) series: &'a str,
    pub(crate) label: &'static str,
    pub(crate) by_statement: &'static str,
    pub(crate) per_cpu: f64,
}

/// More sessions of a database compute than the CPUs can carry.
pub(crate) fn cpu_words(
    case: &RuleMatch<'_>,
    kind: ComponentKind,
    computing: &ComputingSessions<'_>,
) -> Words {
    let view = case.failing();
    let (name, cpus) = (kind.name(), view.max(metric::CPU_COUNT).unwrap_or(0.0));
    let mut sentence = format!(
        "{:.0} statements ran at once in {name}, on average, on {cpus:.0} CPUs",
        view.mean(computing.series).unwrap_or(0.0)
    );
    append_statement(&mut sentence, case, computing.by_statement, "most of all");
    Words::new(
        format!("CPU for {name} ({})", place(case.label_set)),
        sentence,
    )
    .with(bounded(
        case.line(computing.series, computing.label),
        Some(computing.per_cpu * cpus),
    ))
    .with(case.line(metric::CPU_BUSY, "share of all CPUs that was busy"))
}
