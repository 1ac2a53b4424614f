//! Metrics, changes and answers in words.

use plimsoll_analysis::experiment::history::{ChangeKind, HistoryChange};
use plimsoll_analysis::experiment::history_gate::{GateReason, GateVerdict, SeriesGate};
use plimsoll_analysis::experiment::metrics;
use plimsoll_analysis::experiment::run_series::{CHART_RUNS_MIN, MetricSeries};
use plimsoll_model::history::HistoryEntry;
use plimsoll_model::labels;

use super::object::{self, ChangeObject, CommitRange, GateAnswer, GateObject, SeriesGateObject};
use crate::number::{self, rate, reading, short};

/// Characters of a commit that are shown.
const COMMIT_LEN: usize = 10;
/// Metrics of a whole run as a reader asks for them.
const ORDER: [&str; 9] = [
    metrics::LOAD_LINE,
    metrics::THROUGHPUT,
    metrics::P50,
    metrics::MEAN,
    metrics::P95,
    metrics::P99,
    metrics::ERRORS,
    metrics::CPU_PER_REQUEST,
    metrics::MEMORY,
];
/// Reasons of one series that are named in its sentence.
const REASONS_MAX: usize = 3;

/// A metric for people: `p95`, `p95 of cart (shop)`, `memory of db`.
pub(crate) fn metric_label(name: &str) -> String {
    let plain = metrics::definition(name).map_or(labels::metric(name), |known| known.label);
    let of = |label: &str| labels::label(name, label);
    match (of("step"), of("journey"), of("process")) {
        (Some(step), Some(journey), _) => format!("{plain} of {step} ({journey})"),
        (Some(part), None, _) | (None, _, Some(part)) => format!("{plain} of {part}"),
        _ => plain.to_owned(),
    }
}

/// Where a metric stands in a list: what is known in the order of its definition, steps and components behind the whole.
pub(crate) fn metric_order(name: &str) -> (bool, usize, &str) {
    let plain = labels::metric(name);
    let place = ORDER.iter().position(|known| *known == plain);
    (plain != name, place.unwrap_or(ORDER.len()), name)
}

/// A value in the unit of its metric.
pub(crate) fn quantity(name: &str, value: f64) -> String {
    match metrics::definition(name).map(|known| known.unit) {
        None | Some("") => short(value),
        Some("1/s") => rate(value),
        Some(unit) => reading(value, unit),
    }
}

/// The relative difference, signed: `+17 %`; empty from zero.
pub(super) fn relative(before: f64, after: f64) -> String {
    let share = after / before - 1.0;
    if before == 0.0 || !share.is_finite() {
        return String::new();
    }
    let sign = if share < 0.0 { "−" } else { "+" };
    // A tenth is enough: the levels vary by more.
    let tenths = (share.abs() * 1000.0).round() / 10.0;
    format!("{sign}{} %", short(tenths))
}

/// `p95 rose from 120 ms to 141 ms (+17 %)`.
pub(super) fn change_text(metric: &str, kind: &str, before: f64, after: f64) -> String {
    let verb = match (kind == "slide", after > before) {
        (false, true) => "rose",
        (false, false) => "fell",
        (true, true) => "rose little by little",
        (true, false) => "fell little by little",
    };
    let by = match relative(before, after) {
        text if text.is_empty() => text,
        text => format!(" ({text})"),
    };
    format!(
        "{} {verb} from {} to {}{by}",
        metric_label(metric),
        quantity(metric, before),
        quantity(metric, after)
    )
}

/// The change of the object in words, with when and where.
pub(super) fn change_sentence(change: &ChangeObject) -> String {
    let text = change_text(&change.metric, &change.kind, change.before, change.after);
    format!(
        "{text} {}",
        place_text(&change.kind, &change.at, change.commits.as_ref())
    )
}

/// `at 2026-11-26 10:00, commits a..b`; a slide goes on from there.
fn place_text(kind: &str, at: &str, commits: Option<&CommitRange>) -> String {
    let at = match kind {
        "slide" => format!("from {} on", day(at)),
        _ => format!("at {}", day(at)),
    };
    commits.map_or_else(
        || at.clone(),
        |range| format!("{at}, commits {}", commit_range(range)),
    )
}

/// `2026-11-26 10:00` of a moment in RFC 3339.
pub(crate) fn day(at: &str) -> String {
    match (at.get(..10), at.get(11..16)) {
        (Some(day), Some(clock)) => format!("{day} {clock}"),
        _ => at.to_owned(),
    }
}

/// `0123456789..89abcdef01`, or a single commit.
pub(super) fn commit_range(range: &CommitRange) -> String {
    if range.from == range.to {
        return short_commit(&range.to);
    }
    format!("{}..{}", short_commit(&range.from), short_commit(&range.to))
}

pub(super) fn short_commit(commit: &str) -> String {
    commit.chars().take(COMMIT_LEN).collect()
}

/// The answer of the gate for one series.
pub(super) fn gate_sentence(gate: &SeriesGate<'_>, entries: &[HistoryEntry]) -> String {
    let key = gate.series.key();
    let name = format!("{} of {}", key.command, key.name);
    if gate.verdict == GateVerdict::Passed {
        let runs = gate.series.runs().len();
        return format!(
            "{name}: none of {} became worse over {}",
            counted(gate.compared, "metric"),
            counted(runs, "run")
        );
    }
    let shown = gate.reasons.iter().take(REASONS_MAX);
    let shown: Vec<String> = shown
        .map(|reason| reason_text(reason, gate, entries))
        .collect();
    let more = match gate.reasons.len().saturating_sub(REASONS_MAX) {
        0 => String::new(),
        more => format!("; and {} more", counted(more, "metric")),
    };
    format!("{name}: {}{more}", shown.join("; "))
}

/// The reasons of the answer in words.
pub(super) fn reasons(gate: &SeriesGate<'_>, entries: &[HistoryEntry]) -> Vec<String> {
    let reasons = gate.reasons.iter();
    reasons
        .map(|reason| reason_text(reason, gate, entries))
        .collect()
}

fn reason_text(reason: &GateReason<'_>, gate: &SeriesGate<'_>, entries: &[HistoryEntry]) -> String {
    match reason {
        GateReason::Changed(metric, change) => changed_text(metric, change, entries),
        GateReason::StandsOut(metric, row) => stands_out_text(metric, *row),
        GateReason::NothingCompared => format!(
            "nothing was compared: {} like the newest (same plan, same class of machine), at least {} are needed",
            counted(valid_runs(gate, entries), "valid run"),
            CHART_RUNS_MIN + 1
        ),
        GateReason::NewestIsVoid => "the newest run has no valid measurement; repeat it".to_owned(),
    }
}

fn valid_runs(gate: &SeriesGate<'_>, entries: &[HistoryEntry]) -> usize {
    let runs = gate.series.runs().iter();
    runs.filter(|&&run| entries[run].is_valid()).count()
}

fn changed_text(metric: &MetricSeries, change: &HistoryChange, entries: &[HistoryEntry]) -> String {
    let kind = if change.kind == ChangeKind::Slide {
        "slide"
    } else {
        "step"
    };
    let text = change_text(metric.name(), kind, change.before, change.after);
    let at = &entries[metric.points()[change.index].0].at;
    let commits = object::commits(metric, change, entries);
    format!("{text} {}", place_text(kind, at, commits.as_ref()))
}

fn stands_out_text(metric: &MetricSeries, row: usize) -> String {
    let (Some(chart), Some(&(_, newest))) = (metric.chart(), metric.points().last()) else {
        return String::new();
    };
    let name = metric.name();
    let runs = if row > 1 {
        format!("the newest {row} runs stand out")
    } else {
        "the newest run alone stands out; repeat it to decide".to_owned()
    };
    format!(
        "{} is {}, expected {} to {}: {runs}",
        metric_label(name),
        quantity(name, newest),
        quantity(name, chart.limits.low.max(0.0)),
        quantity(name, chart.limits.high)
    )
}

/// The answer of the gate for all.
pub(super) fn overall_sentence(verdict: GateAnswer, series: &[SeriesGateObject]) -> String {
    if series.is_empty() {
        return "nothing was compared: the history has no run".to_owned();
    }
    let sentences: Vec<&str> = series
        .iter()
        .filter(|series| series.verdict == verdict)
        .map(|series| series.sentence.as_str())
        .collect();
    sentences.join(". ")
}

/// `1 run`, `12 runs`.
pub(super) fn counted(number: usize, noun: &str) -> String {
    number::counted(number as u64, noun)
}

/// The answer of the gate in a few words: `The newest run is worse`, `Of 3 newest runs 1 is worse, 2 are no worse`.
pub(super) fn headline(gate: &GateObject) -> String {
    let all = gate.series.len();
    if all == 0 {
        return "Nothing was compared".to_owned();
    }
    let number = |answer: GateAnswer| {
        let series = gate.series.iter();
        series.filter(|series| series.verdict == answer).count()
    };
    let parts: Vec<String> = [
        GateAnswer::Regressed,
        GateAnswer::Void,
        GateAnswer::Undecided,
        GateAnswer::Passed,
    ]
    .into_iter()
    .filter(|answer| number(*answer) > 0)
    .map(|answer| match number(answer) {
        1 => format!("1 is {}", answer_word(answer)),
        number => format!("{number} are {}", answer_word(answer)),
    })
    .collect();
    match (all, &parts[..]) {
        (1, _) => format!("The newest run is {}", answer_word(gate.verdict)),
        (_, [_]) => format!("The newest runs are {}", answer_word(gate.verdict)),
        _ => format!("Of {all} newest runs {}", parts.join(", ")),
    }
}

/// The word of an answer.
pub(super) fn answer_word(answer: GateAnswer) -> &'static str {
    match answer {
        GateAnswer::Passed => "no worse",
        GateAnswer::Undecided => "undecided",
        GateAnswer::Void => "void",
        GateAnswer::Regressed => "worse",
    }
}
