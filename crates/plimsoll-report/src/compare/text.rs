//! A comparison on the terminal.

use plimsoll_analysis::experiment::comparison::{ComparedMetric, Comparison, ComparisonVerdict};

use super::sentence::{answer, capacity, change, evidence, interval, limits, value, verdict_text};
use super::{ComparedRuns, ComparedSide};
use crate::history_page::metric_label;
use crate::number::short;
use crate::printable::printable;
use crate::text::{Style, block, table, wrap};

/// Lines of the answer at most.
const ANSWER_LINES_MAX: usize = 8;
/// Steps of a table at most; the object has all.
const STEPS_MAX: usize = 12;

/// The answer, a table of metrics for each candidate, and what the intervals are made of.
pub fn summary(runs: &ComparedRuns<'_>, colour: bool) -> String {
    let style = Style { colour };
    let code = match runs.verdict() {
        _ if runs.is_void() => "1;33",
        ComparisonVerdict::Worse if !runs.is_across_machines => "1;31",
        ComparisonVerdict::Better | ComparisonVerdict::Same => "1;32",
        _ => "1;33",
    };
    let mut lines: Vec<String> = wrap(&answer(runs), "", ANSWER_LINES_MAX)
        .into_iter()
        .map(|line| style.paint(code, &line))
        .collect();
    for (candidate, comparison) in &runs.candidates {
        if comparison.metrics().is_empty() {
            continue;
        }
        lines.push(String::new());
        lines.extend(metrics(runs, candidate, comparison));
        lines.extend(steps(runs, candidate, comparison));
        for (label, text) in capacity(&runs.baseline, candidate) {
            lines.extend(block(style, label, &text, 2));
        }
        if let Some(text) = limits(&runs.baseline, candidate) {
            lines.extend(block(style, "limit", &text, 3));
        }
        for difference in comparison.differences() {
            let text = format!(
                "{}: {}, before: {}",
                difference.what(),
                difference.candidate(),
                difference.baseline()
            );
            lines.extend(block(style, "machine", &text, 2));
        }
    }
    if runs.candidates.len() > 1 {
        lines.push(String::new());
        lines.extend(ranking(runs));
    }
    if runs
        .candidates
        .iter()
        .any(|(_, comparison)| !comparison.metrics().is_empty())
    {
        lines.push(String::new());
        lines.extend(block(style, "intervals", &evidence(runs), 5));
    }
    lines.join("\n") + "\n"
}

fn metrics(
    runs: &ComparedRuns<'_>,
    candidate: &ComparedSide<'_>,
    comparison: &Comparison,
) -> Vec<String> {
    let mut rows = vec![heading(runs, candidate, "")];
    rows.extend(
        comparison
            .metrics()
            .iter()
            .map(|metric| row(runs, candidate, metric, metric.definition.label.to_owned())),
    );
    lines_of(&rows)
}

fn steps(
    runs: &ComparedRuns<'_>,
    candidate: &ComparedSide<'_>,
    comparison: &Comparison,
) -> Vec<String> {
    if comparison.steps().is_empty() {
        return Vec::new();
    }
    let mut rows = vec![heading(runs, candidate, "step")];
    for step in comparison.steps().iter().take(STEPS_MAX) {
        let label = printable(&step.key.1);
        rows.extend(step.metrics.iter().map(|metric| {
            row(
                runs,
                candidate,
                metric,
                format!("{label} {}", metric.definition.label),
            )
        }));
    }
    let mut lines = vec![String::new()];
    lines.extend(lines_of(&rows));
    let rest = comparison.steps().len().saturating_sub(STEPS_MAX);
    if rest > 0 {
        lines.push(format!("{rest} more steps: --json and --html have them"));
    }
    lines
}

fn heading(runs: &ComparedRuns<'_>, candidate: &ComparedSide<'_>, first: &str) -> Vec<String> {
    vec![
        first.to_owned(),
        printable(&runs.baseline.name),
        printable(&candidate.name),
        "change".to_owned(),
        "95 % interval".to_owned(),
        String::new(),
    ]
}

fn row(
    runs: &ComparedRuns<'_>,
    candidate: &ComparedSide<'_>,
    metric: &ComparedMetric,
    label: String,
) -> Vec<String> {
    vec![
        label,
        value(metric, metric.baseline, &runs.baseline),
        value(metric, metric.candidate, candidate),
        change(metric),
        interval(metric).unwrap_or_else(|| "–".to_owned()),
        verdict_text(metric.verdict, runs.is_across_machines).to_owned(),
    ]
}

fn ranking(runs: &ComparedRuns<'_>) -> Vec<String> {
    let mut rows = vec![
        ["rank", "geometric mean", "95 % interval", "lowest"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (index, side) in runs.ranking().iter().enumerate() {
        let interval = side.interval.filter(|_| side.candidate.is_some());
        let lowest = side.lowest;
        rows.push(vec![
            format!("{}. {}", index + 1, printable(runs.name_of(side))),
            short(side.score),
            interval.map_or_else(String::new, |(low, high)| {
                format!("{} to {}", short(low), short(high))
            }),
            lowest.map_or_else(String::new, |(name, ratio)| {
                format!("{} {}", metric_label(name), short(ratio))
            }),
        ]);
    }
    lines_of(&rows)
}

fn lines_of(rows: &[Vec<String>]) -> Vec<String> {
    table(rows).lines().map(str::to_owned).collect()
}
