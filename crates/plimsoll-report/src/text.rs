//! The final summary in the terminal: the result first, then its evidence, on one screen.

use std::fmt::Write as _;

use plimsoll_analysis::findings::RuleId;
use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::verdict::Verdict;

use crate::answer;
use crate::cost::CostObject;
use crate::json::{Files, certainty_name};
use crate::number::{bytes, count, micros, percent, short};
use crate::printable::printable;
use crate::report::Report;

mod comparison;
mod layout;
mod machines;
mod named_rows;
mod steps;
mod traces;
mod trial;
mod workers;

pub use comparison::comparison;
pub(crate) use comparison::table;
pub(crate) use layout::{Style, block, unbroken, wrap};
pub(crate) use traces::{queries, route_name};
pub use trial::trial_line;

use layout::LINES_MAX;

/// The summary: at most 24 lines; 80 columns except for paths, which are never broken. Below it, for a plan of
/// journeys, the table of their steps, for several URLs theirs, with traces that of where requests spend their time, with
/// agents that of machines, and with workers theirs: 100 columns.
pub fn summary(report: &Report<'_>, files: &Files, colour: bool) -> String {
    let style = Style { colour };
    let mut blocks = vec![(0, headline(report, style)), (0, vec![String::new()])];
    blocks.extend(numbers(report, style));
    blocks.extend(findings(report, style));
    blocks.extend(statements(report, style));
    blocks.extend(payloads(report, style));
    blocks.extend(footer(report, files, style));
    // The least important block is dropped first when the screen is too small.
    while blocks.iter().map(|block| block.1.len()).sum::<usize>() > LINES_MAX {
        let Some(least) = blocks
            .iter()
            .map(|block| block.0)
            .max()
            .filter(|&least| least > 0)
        else {
            break;
        };
        blocks.retain(|block| block.0 != least);
    }
    let mut lines: Vec<String> = blocks
        .into_iter()
        .flat_map(|block| block.1)
        .take(LINES_MAX)
        .collect();
    // A search mixes all loads; its steps are in the report only.
    let steps = if report.is_search() {
        Vec::new()
    } else {
        steps::table(report, style)
    };
    let tables = [
        steps,
        traces::table(report, style),
        machines::table(report, style),
        workers::table(report, style),
    ];
    for table in tables.into_iter().filter(|table| !table.is_empty()) {
        lines.push(String::new());
        lines.extend(table);
    }
    lines.join("\n") + "\n"
}

/// Most mass disconnects on one screen.
const CUTS_MAX: usize = 3;
/// Most external scripts on one screen.
const PROCESSES_MAX: usize = 3;

/// Lines and their priority; 0 is never left out.
type Block = (u8, Vec<String>);

fn headline(report: &Report<'_>, style: Style) -> Vec<String> {
    let lines = wrap(&answer::sentence(report), "", 4);
    let code = match report.summary.verdict {
        Some(Verdict::Met) => "1;32",
        Some(Verdict::Missed | Verdict::Unreachable) => "1;31",
        _ => "1;33",
    };
    lines
        .into_iter()
        .map(|line| style.paint(code, &line))
        .collect()
}

fn numbers(report: &Report<'_>, style: Style) -> Vec<Block> {
    let summary = &report.summary;
    let mut blocks = Vec::new();
    // The first reason is part of the result.
    for reason in summary.void.iter().skip(1).take(2) {
        blocks.push((0, block(style, "void", &reason.to_string(), 3)));
    }
    if report.is_search() {
        let trials = &report.run.trials;
        let text = format!("{}: {}", trials.len(), answer::trial_counts(trials));
        blocks.push((1, block(style, "trials", &text, 1)));
    }
    if let Some(required) = &report.run.header.plan.required {
        blocks.push((1, block(style, "for", &required.read_as, 3)));
    }
    if let Some(missed) = answer::thresholds(report) {
        blocks.push((0, block(style, "thresholds", &missed, 4)));
    }
    if let Some(users) = answer::users(report) {
        blocks.push((1, block(style, "users", &users, 3)));
    }
    let given_up = answer::given_up(report);
    if !given_up.is_empty() {
        let text = printable(&given_up.join("; "));
        blocks.push((1, block(style, "gave up", &text, 3)));
    }
    blocks.extend(messages(report, style));
    if let Some(browser) = &summary.browser {
        let text = printable(&answer::pages_text(browser));
        blocks.push((1, block(style, "pages", &text, 4)));
    }
    for process in answer::processes(report).iter().take(PROCESSES_MAX) {
        blocks.push((2, block(style, "process", &printable(process), 2)));
    }
    if summary.requests == 0 {
        return blocks;
    }
    // A search mixes all loads; its times and classes belong to the trials, and are in the report.
    if !report.is_search() {
        blocks.push((1, times(report, style)));
        blocks.push((2, block(style, "answers", &classes(report), 2)));
        if let Some(counts) = &summary.patience {
            let text = answer::patience_text(counts);
            blocks.push((2, block(style, "patience", &text, 3)));
        }
    }
    blocks.push((2, block(style, "outcomes", &outcomes(report), 2)));
    // In a search they are those of the load that failed, as intended.
    let shown_failures = report
        .failures
        .as_ref()
        .filter(|failures| !report.is_search() || !failures.common.is_empty());
    if let Some(failures) = shown_failures {
        blocks.push((2, block(style, "failures", &failures.sentence, 3)));
    }
    blocks.push((5, block(style, "generator", &generator(report), 1)));
    blocks
}

/// WebSockets and streams, and messages: also those that users poll for.
fn messages(report: &Report<'_>, style: Style) -> Vec<Block> {
    let Some(websocket) = &report.summary.websocket else {
        return Vec::new();
    };
    let mut blocks = Vec::new();
    let plan = &report.run.header.plan;
    if plan.opens_websockets() {
        let kind = match answer::websocket_kind(&plan.load) {
            "WebSockets" => "websockets",
            _ => "streams",
        };
        blocks.push((1, block(style, kind, &answer::opened(websocket), 3)));
    }
    if let Some(asked) = answer::sent(websocket) {
        blocks.push((1, block(style, "messages", &asked, 3)));
    }
    if let Some(received) = answer::received(websocket) {
        blocks.push((1, block(style, "received", &received, 4)));
    }
    let cuts = answer::cuts(websocket).into_iter().take(CUTS_MAX);
    blocks.extend(cuts.map(|text| (1, block(style, "cut", &text, 3))));
    blocks
}

/// Percentiles of response and service time as a small table.
fn times(report: &Report<'_>, style: Style) -> Vec<String> {
    let rows = [
        ("response", &report.summary.response_us),
        ("service", &report.summary.service_us),
    ];
    let mut lines = Vec::new();
    for (label, times) in rows {
        let Some(times) = times else { continue };
        if lines.is_empty() {
            let names = ["p50", "p90", "p95", "p99", "p99.9", "max"];
            lines.push(style.labelled("", &columns(names.map(str::to_owned))));
        }
        let values = [
            times.p50, times.p90, times.p95, times.p99, times.p999, times.max,
        ];
        lines.push(style.labelled(label, &columns(values.map(micros))));
    }
    lines
}

/// Cells of eight columns, numbers to the right.
fn columns(cells: [String; 6]) -> String {
    let mut line = String::new();
    for cell in cells {
        let _ = write!(line, "{cell:>9}  ");
    }
    line.trim_end().to_owned()
}

fn classes(report: &Report<'_>) -> String {
    let classes = &report.summary.classes;
    let total = classes.total().max(1) as f64;
    let texts: Vec<String> = classes
        .named()
        .into_iter()
        .filter(|class| class.1 > 0)
        .map(|(name, count)| format!("{} {name}", percent(count as f64 / total)))
        .collect();
    texts.join(", ")
}

/// The limit of the plan that an outcome is about.
pub(crate) fn outcome_limit(report: &Report<'_>, outcome: Outcome) -> Option<String> {
    let transport = &report.run.header.plan.transport;
    match outcome {
        Outcome::HeadTooLong => {
            let limit = bytes(u64::from(transport.head_len_max));
            Some(format!("longer than `max_head`, {limit}"))
        }
        Outcome::TooManyHeaders => {
            let limit = count(u64::from(transport.headers_max));
            Some(format!("more than `max_headers`, {limit}"))
        }
        _ => None,
    }
}

fn outcomes(report: &Report<'_>) -> String {
    let summary = &report.summary;
    let ended = summary.outcomes.iter().filter(|pair| pair.1 > 0);
    let mut texts: Vec<String> = ended
        .map(|(outcome, number)| {
            let limit = outcome_limit(report, outcome).map(|limit| format!(" ({limit})"));
            let limit = limit.unwrap_or_default();
            format!("{} {}{limit}", outcome.name(), count(number))
        })
        .collect();
    let statuses = summary.status.iter();
    texts.extend(statuses.map(|(status, &number)| format!("HTTP {status}: {}", count(number))));
    if report.run.header.plan.transport.http2.is_some() {
        let protocols = summary.protocols().into_iter();
        texts.extend(protocols.map(|(name, number)| format!("by {name} {}", count(number))));
    }
    texts.join(", ")
}

fn generator(report: &Report<'_>) -> String {
    let generator = &report.summary.generator;
    let mut texts = Vec::new();
    if let Some(cpu) = generator.cpu_us_per_request {
        texts.push(format!("{} µs CPU per request", short(cpu)));
    }
    if let Some(lag) = generator.lag_us_p99 {
        texts.push(format!("lag p99 {}", micros(lag)));
    }
    if let Some(rss) = generator.rss_bytes {
        texts.push(bytes(rss));
    }
    texts.join(", ")
}

fn findings(report: &Report<'_>, style: Style) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (index, finding) in report.run.findings.iter().take(2).enumerate() {
        let (label, importance) = match (finding.certainty, index) {
            (Certainty::Demoted, _) => ("not", 3),
            (_, 0) => ("set by", 0),
            _ => ("then", 3),
        };
        blocks.push((importance, block(style, label, &finding_text(finding), 3)));
        if let Some(tried) = &finding.intervention {
            let text = format!("tried: {}", tried.sentence);
            blocks.push((importance, block(style, "", &text, 3)));
        }
        blocks.push((
            importance + 1,
            block(style, "", &format!("→ {}", finding.remedy), 2),
        ));
    }
    if let Some(next) = &report.forecast {
        let text = format!("{} ({})", next.sentence, certainty_name(next.certainty));
        blocks.push((3, block(style, "next", &text, 2)));
    }
    if let Some(scaling) = &report.scaling {
        blocks.push((4, block(style, "scales", &scaling.sentence, 3)));
    }
    if let Some(text) = answer::not_named(report) {
        blocks.push((1, block(style, "set by", &text, 4)));
    }
    if let Some(cost) = CostObject::of(report) {
        blocks.push((1, block(style, "cost", &cost.text(), 2)));
    }
    blocks
}

/// Most advice on statements in the terminal; the HTML report has all.
const ADVICE_MAX: usize = 2;

/// The most expensive statement, where databases count them, and advice on expensive ones.
fn statements(report: &Report<'_>, style: Style) -> Vec<Block> {
    let uses = plimsoll_analysis::statements::of(report.run);
    let Some(first) = uses.first() else {
        return Vec::new();
    };
    let per_request = first.calls_per_request.map_or(String::new(), |calls| {
        format!("{} times in each request, ", short(calls))
    });
    let text = format!(
        "{} of the time went to `{}`: {per_request}{} ms each",
        percent(first.share),
        printable(&first.statement),
        short(first.each_ms)
    );
    let mut blocks = vec![(4, block(style, "statements", &text, 3))];
    for advice in plimsoll_analysis::statements::advice(&uses)
        .iter()
        .take(ADVICE_MAX)
    {
        let text = format!(
            "→ {}: {}",
            printable(&advice.reason),
            printable(&advice.remedy)
        );
        blocks.push((5, block(style, "", &text, 4)));
    }
    blocks
}

/// Answers and messages that grow, unless a finding already tells of them.
fn payloads(report: &Report<'_>, style: Style) -> Vec<Block> {
    let is_found = |finding: &Finding| {
        let rule = RuleId::of(finding);
        [RuleId::S9, RuleId::S10]
            .into_iter()
            .any(|id| rule == Some(id))
    };
    if report.run.findings.iter().any(is_found) {
        return Vec::new();
    }
    let all = plimsoll_analysis::payload::of(report.run).into_iter();
    all.take(ADVICE_MAX)
        .map(|advice| {
            let text = format!("{}: {}", printable(&advice.reason), advice.remedy);
            (5, block(style, "sends", &text, 4))
        })
        .collect()
}

fn finding_text(finding: &Finding) -> String {
    format!(
        "{} ({}, {}): {}",
        finding.limit,
        certainty_name(finding.certainty),
        finding.rule,
        finding.sentence
    )
}

fn footer(report: &Report<'_>, files: &Files, style: Style) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(search) = &report.run.search {
        let remarks = answer::remarks(&search.remarks, report.unit());
        for (index, remark) in remarks.iter().take(3).enumerate() {
            let importance = 6 + u8::try_from(index).unwrap_or(0);
            let label = if index == 0 { "noted" } else { "" };
            blocks.push((importance, block(style, label, remark, 2)));
        }
    }
    if report.run.header.plan.transport.insecure {
        let text = "certificates were not checked (--insecure)";
        blocks.push((1, block(style, "noted", text, 1)));
    }
    let seed = report.run.header.plan.seed.0.to_string();
    blocks.push((1, block(style, "seed", &seed, 1)));
    for (label, path) in [("run log", &files.run), ("report", &files.report)] {
        if let Some(path) = path {
            blocks.push((
                0,
                vec![style.labelled(label, &printable(&path.to_string_lossy()))],
            ));
        }
    }
    blocks
}
