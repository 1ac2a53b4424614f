//! The component that a series is about.

use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::rule::append_clause;
use crate::diagnosis::stretch::View;

/// Address of the subject's component.
pub(crate) fn place(label_set: &str) -> &str {
    label(label_set, "at").unwrap_or("?")
}

/// `in FILE:LINE` where a file is known.
pub(crate) fn written(file: Option<&str>) -> String {
    file.map(|file| format!(" in {file}")).unwrap_or_default()
}

/// A series of the subject's component.
pub(crate) fn of_component(metric: &str, label_set: &str) -> String {
    metric::series(metric, &[("at", place(label_set))])
}

/// Every component that has a series of a metric, as the subject of a rule.
pub(crate) fn subjects(view: &View<'_>, metric: &'static str) -> Vec<String> {
    let all = view.series_of(metric);
    all.map(|series| of_component("", series)).collect()
}

/// Adds in which share of the seconds a server had nobody to serve its own status page.
pub(crate) fn append_unserved(sentence: &mut String, share: Option<f64>) {
    if let Some(share) = share.filter(|&share| share > 0.0) {
        append_clause(
            sentence,
            format_args!(
                "; in {:.0} % of the seconds none was free to serve the status page",
                share * 100.0
            ),
        );
    }
}
