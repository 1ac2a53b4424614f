//! The result of a run in one sentence, for all report formats.

mod journeys;
mod pages;
mod patience;
mod remarks;
mod required;
mod table_cells;
mod websockets;

use plimsoll_analysis::summary::websockets::WebSocketSummary;
use plimsoll_model::journey::Scenario;
use plimsoll_model::load_line::{Estimate, LoadLine, NoLine};
use plimsoll_model::outcome::{Outcome, OutcomeCounts};
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::run::Run;
use plimsoll_model::trial::Trial;
use plimsoll_model::verdict::{FailReason, TrialVerdict, Verdict};

use crate::number::{self, count, load, micros, percent, rate, short};
use crate::report::Report;

use journeys::nobody_got_in;
pub(crate) use journeys::{Bound, bounds, given_up, processes, thresholds, users};
pub(crate) use pages::pages_text;
pub(crate) use patience::{band_shares, patience_text};
pub use remarks::remarks;
pub(crate) use required::{margin_text, required_answer, required_sentence};
pub(crate) use table_cells::step_cells;
pub(crate) use websockets::{
    cuts, kind as websocket_kind, load as websocket_load, none_opened, opened, received, sent,
};

/// The result in a sentence; before it, the answer to the demand that was asked about.
pub fn sentence(report: &Report<'_>) -> String {
    let result = result(report);
    match required_answer(report) {
        Some(answer) => format!("{} {result}", required_sentence(&answer)),
        None => result,
    }
}

fn result(report: &Report<'_>) -> String {
    let run = report.run;
    if let Some(gate) = &run.gate {
        return gate_sentence(report, gate);
    }
    match &run.search {
        Some(search) => match &search.line {
            Ok(line) => line_sentence(report, line),
            Err(NoLine::Unreachable) => format!("No load line: {}", unreachable(run)),
            Err(none) => {
                let known = none.estimate().map(|known| about(&known, report.unit()));
                let known = known.unwrap_or_else(|| "No load line".to_owned());
                format!("{known}: {}.", no_line(none, report.unit()))
            }
        },
        None if report.is_search() => format!("No load line: {}.", unfinished(report)),
        None => run_sentence(report),
    }
}

/// The estimate of a line that was not confirmed: `About 241 req/s, between 147 and 280, not confirmed`.
fn about(known: &Estimate, unit: LoadUnit) -> String {
    let Estimate { low, median, high } = *known;
    format!(
        "About {}, between {} and {}, not confirmed",
        load(median, unit),
        short(low),
        short(high)
    )
}

/// The effect of an edge before the target, in a sentence.
pub fn pair(alone: &Report<'_>, behind: &Report<'_>) -> String {
    let line = |report: &Report<'_>| report.load_line().map(|line| line.median);
    let (Some(alone_line), Some(behind_line)) = (line(alone), line(behind)) else {
        return "No pair: only one of the two has a load line.\n".to_owned();
    };
    format!(
        "Alone {}, behind the edge {}: {:+.0} %.\n",
        load(alone_line, alone.unit()),
        load(behind_line, behind.unit()),
        (behind_line / alone_line - 1.0) * 100.0
    )
}

/// Failed connection attempts with their remedies, as a fragment.
fn unreachable(run: &Run) -> String {
    let mut outcomes = OutcomeCounts::default();
    for window in &run.windows {
        outcomes.merge(&window.outcomes);
        for step in window
            .steps
            .values()
            .filter(|_| window.outcomes.total() == 0)
        {
            outcomes.merge(&step.outcomes);
        }
    }
    let causes: Vec<String> = [
        (
            Outcome::ConnectRefused,
            "connections were refused",
            "is the service running, and on this port?",
        ),
        (
            Outcome::ConnectTimeout,
            "connections timed out",
            "does a firewall drop them, or is the accept queue full?",
        ),
        (
            Outcome::Dns,
            "names were not found",
            "is the host spelled right?",
        ),
        (
            Outcome::Tls,
            "TLS handshakes failed",
            "does it speak TLS on this port? then trust its certificate with --cacert FILE, or accept any with --insecure",
        ),
    ]
    .into_iter()
    .filter(|&(outcome, ..)| outcomes.get(outcome) > 0)
    .map(|(outcome, what, remedy)| format!("{} {what}; {remedy}", count(outcomes.get(outcome))))
    .collect();
    format!(
        "nothing ever connected to {}: {}",
        run.header.plan.target.url,
        causes.join("; ")
    )
}

/// Why there is no load line: the `reason` of the JSON object. `None` when there is a line.
pub fn reason(report: &Report<'_>) -> Option<String> {
    match &report.run.search {
        Some(search) => search.line.as_ref().err().map(|none| match none {
            NoLine::Unreachable => unreachable(report.run),
            none => no_line(none, report.unit()),
        }),
        None if report.run.gate.is_some() => {
            Some("only the gate was checked; the load line was not searched".to_owned())
        }
        None => Some(unfinished(report)),
    }
}

fn unfinished(report: &Report<'_>) -> String {
    let trials = report.run.trials.len();
    match (&report.run.ending, trials) {
        (None, 0) => "the log ends before the first trial was judged".to_owned(),
        (None, _) => format!("the log ends after {trials} trials, before the search was over"),
        (Some(_), _) => "the search did not finish".to_owned(),
    }
}

fn line_sentence(report: &Report<'_>, line: &LoadLine) -> String {
    // The verified load is the promise; at the line itself half of the trials break the objective.
    format!(
        "{} carries {}{}; its load line is {} (90 % interval {} to {}).",
        report.run.header.plan.target.url,
        load(line.verified, line.unit),
        within(report),
        load(line.median, line.unit),
        short(line.low),
        short(line.high),
    )
}

fn within(report: &Report<'_>) -> String {
    report
        .objective()
        .map_or_else(String::new, |objective| format!(" with {objective}"))
}

fn gate_sentence(report: &Report<'_>, gate: &plimsoll_model::load_line::GateResult) -> String {
    let url = &report.run.header.plan.target.url;
    let (asked, within) = (load(gate.rate, report.unit()), within(report));
    let evidence = format!("{} of {} trials passed", gate.passes, gate.trials);
    match gate.accepted {
        Some(true) => format!("Yes: {url} carries at least {asked}{within} ({evidence})."),
        Some(false) => format!("No: {url} does not carry {asked}{within} ({evidence})."),
        None => {
            format!("Undecided: whether {url} carries {asked}{within} is not known ({evidence}).")
        }
    }
}

fn run_sentence(report: &Report<'_>) -> String {
    let summary = &report.summary;
    let url = &report.run.header.plan.target.url;
    if summary.verdict == Some(Verdict::Unreachable) {
        return format!("No result: {}", unreachable(report.run));
    }
    if let Some(why) = none_opened(report).filter(|_| summary.void.is_empty()) {
        return format!("Nothing was measured at {url}: {why}.");
    }
    if measured_nothing(report) {
        let why = nobody_got_in(report).unwrap_or_else(|| "no request ended".to_owned());
        return format!("Nothing was measured at {url}: {why}.");
    }
    if let Some(reason) = summary.void.first() {
        return format!("No result, the measurement is void: {reason}.");
    }
    let cut = match report.run.ending {
        None => " The log is truncated; this covers what it contains.",
        Some(_) => "",
    };
    let answers = match &summary.response_us {
        Some(response) => format!(
            "p50 {}, p95 {}, p99 {}",
            micros(response.p50),
            micros(response.p95),
            micros(response.p99)
        ),
        None => "no good answer".to_owned(),
    };
    let verdict = run_verdict(report).map_or_else(String::new, |verdict| verdict + ": ");
    if let Some(polled) = polled(report).filter(|_| summary.requests == 0) {
        return format!("{verdict}{url} {}.{cut}", websockets::polled(polled));
    }
    let is_held = report.run.header.plan.load.websockets().is_some();
    if let Some(websocket) = summary.websocket.as_ref().filter(|_| is_held) {
        return format!(
            "{verdict}{url} {}.{cut}",
            websockets::sentence(websocket, &report.run.header.plan.load)
        );
    }
    let offered = match report.users() {
        // The offered load of users follows from the responses.
        Some(users) => format!("from {} at most", number::users(users.max)),
        None => format!("of {} offered", rate(summary.offered)),
    };
    format!(
        "{verdict}{url} answered {} {offered}; {answers}, {} failed.{cut}",
        rate(summary.completed),
        percent(summary.error_share()),
    )
}

/// Whether no request ended in the judged seconds, and no WebSocket or stream was held in them.
pub(crate) fn measured_nothing(report: &Report<'_>) -> bool {
    let is_held = report.run.header.plan.load.websockets().is_some();
    let websocket = report.summary.websocket.as_ref().filter(|_| is_held);
    report.summary.requests == 0
        && polled(report).is_none()
        && websocket.is_none_or(|websocket| websocket.connected == 0)
}

/// What users received by polling; `None` without any message.
fn polled<'a>(report: &'a Report<'_>) -> Option<&'a WebSocketSummary> {
    let scenario = report.run.header.plan.scenario.as_ref();
    let polls = scenario.is_some_and(Scenario::has_polls);
    let websocket = report.summary.websocket.as_ref().filter(|_| polls);
    websocket.filter(|websocket| websocket.messages_in > 0)
}

/// `Met (p95 < 500ms)`, or the first bounds missed; `None` when nothing was judged.
fn run_verdict(report: &Report<'_>) -> Option<String> {
    let summary = &report.summary;
    if let Some(early) = report.ended_early() {
        return Some(format!("Missed ({early})"));
    }
    let objective = summary.objective.as_ref();
    let text = report.objective().unwrap_or_default();
    if objective.is_some_and(|objective| !objective.met) {
        return Some(format!("Missed ({text})"));
    }
    let bounds = bounds(report);
    let missed: Vec<&Bound> = bounds
        .iter()
        .filter(|bound| bound.met == Some(false))
        .collect();
    if let Some(first) = missed.first() {
        let more = match missed.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        return Some(format!("Missed ({}{more})", first.name));
    }
    if report.lacks_requests() {
        return Some(format!(
            "Undecided ({text}: no request in the judged seconds)"
        ));
    }
    if let Some(unknown) = bounds.iter().find(|bound| bound.met.is_none()) {
        return Some(format!("Undecided ({}: no request)", unknown.name));
    }
    let mut met: Vec<String> = objective.map(|_| text).into_iter().collect();
    match bounds.len() {
        0 => {}
        1 => met.push("1 threshold".to_owned()),
        number => met.push(format!("{number} thresholds")),
    }
    (!met.is_empty()).then(|| format!("Met ({})", met.join(", ")))
}

/// Why a search in this unit has no line, as a fragment.
pub fn no_line(none: &NoLine, unit: LoadUnit) -> String {
    let rate = |value: f64| load(value, unit);
    match none {
        NoLine::MissedAtOnce { alone_us, errors } if *errors > 0.0 || alone_us.is_none() => format!(
            "even one client alone misses the objective: {} of its requests failed; see the outcomes and \
             statuses, and fix the target or the URL first",
            percent(*errors)
        ),
        NoLine::MissedAtOnce { alone_us, .. } => format!(
            "even one client alone misses the objective: its response takes {} without any queue; make a single response faster, or relax the objective",
            micros(alone_us.unwrap_or(0))
        ),
        NoLine::NotReached { highest_passed } => format!(
            "no load that the generator can offer breaks the objective; {} passed. The line lies above; give the \
             generator more cores (--cores) or more machines",
            rate(*highest_passed)
        ),
        NoLine::GaveUp { low, because, .. } if none.estimate().is_none() && *low > 0.0 => {
            format!("{because}; {} passed so far", rate(*low))
        }
        NoLine::GaveUp { because, .. } => because.clone(),
        NoLine::NotConfirmed {
            rate: at,
            passes,
            trials,
            estimate,
        } => format!(
            "{}at {} only {passes} of {trials} fresh trials passed",
            if estimate.is_none() { "it could not be confirmed: " } else { "" },
            rate(*at)
        ),
        NoLine::DoesNotRecover { recovered_from } => match recovered_from {
            Some(from) => format!(
                "the target does not recover from an overload; {} is the highest load from which it did",
                rate(*from)
            ),
            None => "the target does not recover from an overload; restart it and find the state that it keeps"
                .to_owned(),
        },
        NoLine::Void {
            reason,
            void_trials,
        } => format!("{void_trials} trials were void: {reason}"),
        NoLine::Unreachable => "nothing ever connected to the target".to_owned(),
        NoLine::Interrupted {
            estimate: None,
            highest_passed: Some(passed),
        } => format!("the search was interrupted; {} passed so far", rate(*passed)),
        NoLine::Interrupted { .. } => "the search was interrupted".to_owned(),
    }
}

/// The sentence for a search that has a line and no named limit; `None` elsewhere.
pub fn not_named(report: &Report<'_>) -> Option<String> {
    let search = report.run.search.as_ref()?;
    (search.line.is_ok() && report.run.findings.is_empty()).then(|| not_known(report))
}

/// The sentence where no limit was named.
pub fn not_known(report: &Report<'_>) -> String {
    let searched = plimsoll_analysis::findings::not_known(report.run);
    searched.unwrap_or_else(|| "not known: no load failed, so nothing set a limit".to_owned())
}

/// How many trials passed, failed and were void.
pub(crate) fn trial_counts<'a>(trials: impl IntoIterator<Item = &'a Trial>) -> String {
    let (mut passed, mut failed, mut void) = (0, 0, 0);
    for trial in trials {
        *match trial.verdict {
            TrialVerdict::Pass => &mut passed,
            TrialVerdict::Fail { .. } => &mut failed,
            TrialVerdict::Void { .. } => &mut void,
        } += 1;
    }
    format!("{passed} passed, {failed} failed, {void} void")
}

/// The reason of a trial's verdict; `None` for a pass.
pub fn trial_reason(verdict: &TrialVerdict) -> Option<String> {
    match verdict {
        TrialVerdict::Pass => None,
        TrialVerdict::Fail { reason } => Some(fail_reason(*reason).to_owned()),
        TrialVerdict::Void { reasons } => {
            let texts: Vec<String> = reasons.iter().map(ToString::to_string).collect();
            Some(texts.join("; "))
        }
    }
}

fn fail_reason(reason: FailReason) -> &'static str {
    match reason {
        FailReason::Latency => "too many requests were slow or failed",
        FailReason::Threshold => "a threshold of a part of the load was missed",
        FailReason::Errors => "too many requests failed",
        FailReason::Backlog => "requests piled up",
        FailReason::InFlightCap => "too many requests were in flight",
    }
}
