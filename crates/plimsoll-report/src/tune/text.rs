//! A search of settings on the terminal.

use plimsoll_model::experiment::ExperimentEnd;
use std::fmt::Write as _;

use super::object::counts;
use super::rows::{self, KnobRow, gain_text, rejected_text, user_row_text};
use super::{SearchedLine, SearchedLines, TuneReport};
use crate::number::{count, counted, percent, seconds, users, whole};
use crate::printable::printable;
use crate::text::{Style, block, table, wrap};

/// Lines of the answer at most.
const ANSWER_LINES_MAX: usize = 8;
/// Rejected settings that are listed.
const REJECTED_MAX: usize = 5;
/// Changes that the answer names.
const NAMED_MAX: usize = 4;

/// The result in a sentence.
pub fn sentence(report: &TuneReport<'_>) -> String {
    let outcome = report.outcome;
    let Some(best) = outcome.best.as_ref().filter(|_| report.is_adopted()) else {
        return kept(report);
    };
    let changes = changes(report, &best.levels);
    // All figures are of the same trials: a full search is another measurement, and has lines of its own.
    let least = if best.is_at_least { "at least " } else { "" };
    let many = if best.gain >= 1.0 { " as much" } else { "" };
    format!(
        "{changes}: the service carries {least}{} instead of {}, {least}{}{many}, between {} and {} with 95 % confidence, in {} \
         pairs of rising loads.",
        report.line_text(best.line),
        report.line_text(best.default_line),
        gain_text(best.gain),
        gain_text(best.gain_low),
        gain_text(best.gain_high),
        best.pairs
    )
}

/// That nothing is to be changed, and why.
fn kept(report: &TuneReport<'_>) -> String {
    let first = report
        .trials
        .first()
        .filter(|_| report.outcome.baseline.is_none());
    match first.and_then(|trial| trial.reason.as_deref()) {
        Some(reason) => {
            let reason = reason.trim_end_matches('.');
            format!("Nothing can be compared: with the settings that stand, {reason}.")
        }
        None => report.outcome.reason.clone(),
    }
}

/// `workers 2 → 16, pool 5 → 20`: those of most importance first.
fn changes(report: &TuneReport<'_>, levels: &[usize]) -> String {
    let mut changed = report.changed(levels);
    let importance = |knob: &usize| report.outcome.importance.get(*knob).copied().unwrap_or(0.0);
    changed.sort_by(|a, b| importance(b).total_cmp(&importance(a)));
    let named = changed.iter().take(NAMED_MAX).map(|&knob| {
        let [from, to] = [report.knobs[knob].default, levels[knob]];
        format!(
            "{} {} → {}",
            report.knobs[knob].name,
            report.level_text(knob, from),
            report.level_text(knob, to)
        )
    });
    let mut text = named.collect::<Vec<_>>().join(", ");
    if changed.len() > NAMED_MAX {
        let _ = write!(text, " and {} more", changed.len() - NAMED_MAX);
    }
    text
}

/// What a reader has to know before the numbers.
pub(super) fn notices(report: &TuneReport<'_>) -> Vec<String> {
    let mut notices = Vec::new();
    match report.state {
        ExperimentEnd::Complete => {}
        ExperimentEnd::Spent => notices.push(
            "The time was spent before the search was at its end: a longer --within may find more."
                .to_owned(),
        ),
        ExperimentEnd::Interrupted => notices.push(
            "Interrupted: this is what the trials so far show; the same command resumes."
                .to_owned(),
        ),
    }
    if !report.undone {
        notices.push(
            "Not everything that was changed for trials is put back: start the same command again, \
             which puts it back first."
                .to_owned(),
        );
    }
    let counts = counts(report);
    if counts.void > 0 {
        notices.push(format!(
            "{} of {} void and count nowhere.",
            count(counts.void),
            match counts.total {
                1 => "1 trial is".to_owned(),
                total => format!("{} trials are", count(total)),
            }
        ));
    }
    notices
}

/// The result in lines of about 80 columns.
pub fn summary(report: &TuneReport<'_>, colour: bool) -> String {
    let style = Style { colour };
    let code = if report.is_adopted() { "1;32" } else { "1" };
    let mut lines: Vec<String> = wrap(&sentence(report), "", ANSWER_LINES_MAX)
        .into_iter()
        .map(|line| style.paint(code, &line))
        .collect();
    for notice in notices(report) {
        let wrapped = wrap(&notice, "", 3).into_iter();
        lines.extend(wrapped.map(|line| style.paint("33", &line)));
    }
    lines.push(String::new());
    lines.extend(knobs(report));
    lines.push(String::new());
    lines.extend(block(style, "tried", &tried(report), 3));
    lines.extend(rejected(report, style));
    let searched = searched(report);
    if !searched.is_empty() {
        lines.extend(block(style, "load line", &searched, 5));
    }
    if let Some(limit) = report.next_limit {
        lines.extend(block(style, "next limit", limit, 3));
    }
    lines.extend(user_rows(report));
    for (label, texts) in [("applied", report.applied), ("by hand", report.by_hand)] {
        lines.extend(texts.iter().flat_map(|text| block(style, label, text, 4)));
    }
    for (label, path) in report.named_files() {
        if let Some(path) = path {
            lines.push(style.labelled(label, &path.display().to_string()));
        }
    }
    if report.is_adopted() && report.applied.is_empty() {
        lines.push(style.labelled("to adopt", &printable(report.apply_command)));
    }
    lines.join("\n") + "\n"
}

/// The load lines by full searches, as what they are; empty where none was found.
pub(super) fn searched(report: &TuneReport<'_>) -> String {
    let with_interval = |found: SearchedLine| {
        format!(
            "{} (90 % interval {} to {})",
            report.line_text(found.line),
            crate::number::short(found.low),
            crate::number::short(found.high)
        )
    };
    let SearchedLines { default, best } = report.searches;
    let mut parts: Vec<String> = Vec::new();
    parts.extend(default.map(|line| format!("{} as it stands", with_interval(line))));
    if report.is_adopted() {
        parts.push(match best {
            Some(line) => format!("{} with the change", with_interval(line)),
            None => {
                "none with the change: its full search found no line or had no time, give it more with `limit` and `--within`"
                    .to_owned()
            }
        });
    }
    if parts.is_empty() {
        return String::new();
    }
    format!(
        "by full searches, apart from the pairs: {}",
        parts.join("; ")
    )
}

fn knobs(report: &TuneReport<'_>) -> Vec<String> {
    let heading = ["knob", "stands", "change to", "importance", ""];
    let mut cells = vec![heading.map(str::to_owned).to_vec()];
    cells.extend(rows::knobs(report).iter().map(|row| {
        let KnobRow {
            name,
            from,
            to,
            importance,
            remark,
        } = row;
        vec![
            printable(name),
            printable(from),
            to.as_ref()
                .map_or_else(|| "–".to_owned(), |to| printable(to)),
            importance.map_or_else(|| "–".to_owned(), percent),
            remark.clone(),
        ]
    }));
    table(&cells).lines().map(str::to_owned).collect()
}

fn tried(report: &TuneReport<'_>) -> String {
    let counts = counts(report);
    format!(
        "{} in {}, {}; the service failed in {}",
        counted(rows::tried(report).len() as u64, "setting"),
        counted(counts.total, "trial"),
        seconds(whole(report.seconds())),
        count(counts.failed)
    )
}

fn rejected(report: &TuneReport<'_>, style: Style) -> Vec<String> {
    let all = &report.outcome.rejected;
    let shown = all.iter().take(REJECTED_MAX).flat_map(|rejected| {
        let text = format!(
            "{}: {}",
            report.setting_text(&rejected.levels),
            rejected_text(report, rejected)
        );
        block(style, "rejected", &text, 2)
    });
    let mut lines: Vec<String> = shown.collect();
    if all.len() > REJECTED_MAX {
        let text = format!("{} more are on the page", all.len() - REJECTED_MAX);
        lines.push(style.labelled("", &text));
    }
    lines
}

fn user_rows(report: &TuneReport<'_>) -> Vec<String> {
    if report.users.is_empty() {
        return Vec::new();
    }
    let mut cells = vec![
        ["users", "smallest settings that carry them"]
            .map(str::to_owned)
            .to_vec(),
    ];
    cells.extend(report.users.iter().map(|row| {
        let text = user_row_text(report, row);
        vec![users(row.users.into()), printable(&text)]
    }));
    let mut lines = vec![String::new()];
    lines.extend(table(&cells).lines().map(str::to_owned));
    lines.push(String::new());
    lines
}
