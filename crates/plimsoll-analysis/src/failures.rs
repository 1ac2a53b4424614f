//! Attributes that failed requests share and successful ones lack.
//!
//! Every attribute recorded of both is tested: step, journey, URL, server, route and calls from spans, duration, and
//! second. An attribute counts when at least half of the failures have it, when it is clearly rarer among the
//! successful requests, and when chance does not explain it: Fisher's exact test, or Pearson's for the seconds, each
//! p multiplied by the number of tests (Bonferroni).

mod phases;
mod spans;
mod urls;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use plimsoll_model::histogram::Histogram;
use plimsoll_model::journey::Scenario;
use plimsoll_model::labels::label_set;
use plimsoll_model::metric;
use plimsoll_model::outcome::{Outcome, OutcomeCounts};
use plimsoll_model::reading::{SeriesTable, label};
use plimsoll_model::run::Run;
use plimsoll_model::window::Window;

use crate::findings::{self, SecondRange};
use crate::stats::contingency::{chi_square_homogeneity, fisher_greater};

/// Chance, after correction, below which a thing is no accident.
const SIGNIFICANT: f64 = 0.01;
/// Share of the failures that have it in common, at least.
const COMMON_MIN: f64 = 0.5;
/// Its share of the failures over its share of the good ones, at least.
const RATIO_MIN: f64 = 1.5;
/// Most attributes reported.
const COMMON_MAX: usize = 2;
/// The failures took equally long when nine in ten of them lie within so much of one another.
const EQUAL: f64 = 1.1;
/// Shorter durations are refusals, not timeouts, µs.
const TIMEOUT_MIN_US: u64 = 50_000;
/// Half of the failures came in this share of the seconds or less: they came at once.
const AT_ONCE: f64 = 0.2;

/// A thing that failures have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Common {
    /// The attribute, such as `step POST /login`.
    pub thing: String,
    /// Share of the failures that have it, 0 to 1.
    pub of_failures: f64,
    /// Share of the good ones that have it, 0 to 1.
    pub of_good: f64,
    /// Probability of this by chance, corrected for all tests.
    pub p: f64,
}

/// What is known of the failures of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Failures {
    /// Requests that failed in the examined seconds.
    pub failed: u64,
    /// All requests of these.
    pub requests: u64,
    /// Attributes tested.
    pub candidates: usize,
    /// What the failures have in common, the clearest first.
    pub common: Vec<Common>,
    /// How far the failed requests came, the most first: phase and number.
    pub phases: Vec<(&'static str, u64)>,
    /// Servers that logs of proxies name in failures, the most first: name and share of such lines.
    pub upstreams: Vec<(String, f64)>,
    /// All that in a sentence.
    pub sentence: String,
}

/// What failed requests have in common: of the load that failed, or of the whole run where none did. `None` without
/// failures.
pub fn failures(run: &Run) -> Option<Failures> {
    let span = span(run)?;
    let windows = run.windows_between(span.0, span.1);
    let plan = &run.header.plan;
    let requested = Requested {
        scenario: plan.scenario.as_ref(),
        paths: &plan.request.paths,
    };
    of(windows, &run.readings, requested, span)
}

/// What a plan requests.
#[derive(Clone, Copy, Debug, Default)]
struct Requested<'a> {
    scenario: Option<&'a Scenario>,
    /// URLs of a plain load.
    paths: &'a [String],
}

/// The examined seconds.
fn span(run: &Run) -> Option<SecondRange> {
    if let Some(failing) = findings::stretches(run).failing {
        return Some(failing);
    }
    let (first, last) = (run.windows.first()?, run.windows.last()?);
    let warmup = u32::try_from(run.header.plan.warmup.as_secs()).unwrap_or(u32::MAX);
    Some((first.second.saturating_add(warmup), last.second + 1))
}

/// An attribute under test, by counts.
struct FailureCandidate {
    thing: String,
    failed_with: u64,
    failed: u64,
    good_with: u64,
    good: u64,
}

impl FailureCandidate {
    /// The result of its test, before correction.
    fn evaluate(self) -> Common {
        let share = |count: u64, whole: u64| count as f64 / whole.max(1) as f64;
        let with = self.failed_with + self.good_with;
        Common {
            of_failures: share(self.failed_with, self.failed),
            of_good: share(self.good_with, self.good),
            p: fisher_greater(self.failed_with, self.failed, with, self.failed + self.good),
            thing: self.thing,
        }
    }
}

fn of(
    windows: &[Window],
    readings: &SeriesTable,
    requested: Requested<'_>,
    span: SecondRange,
) -> Option<Failures> {
    let mut outcomes = OutcomeCounts::default();
    for window in windows {
        outcomes.merge(&window.outcomes);
    }
    let (failed, requests) = (outcomes.failed(), outcomes.total());
    if failed == 0 {
        return None;
    }
    let mut evaluated: Vec<Common> = steps(windows, requested.scenario)
        .into_iter()
        .chain(urls::candidates(windows, requested.paths))
        .chain(servers(readings, span))
        .chain(spans::candidates(readings, span))
        .chain(durations(windows))
        .map(FailureCandidate::evaluate)
        .collect();
    evaluated.extend(seconds(windows));
    let candidates = evaluated.len();
    for candidate in &mut evaluated {
        candidate.p = (candidate.p * candidates as f64).min(1.0);
    }
    let mut common: Vec<Common> = evaluated
        .into_iter()
        .filter(|candidate| candidate.p < SIGNIFICANT && candidate.of_failures >= COMMON_MIN)
        .filter(|candidate| candidate.of_failures >= RATIO_MIN * candidate.of_good)
        .collect();
    common.sort_by(|a, b| {
        let lift = |candidate: &Common| candidate.of_failures - candidate.of_good;
        lift(b).total_cmp(&lift(a))
    });
    common.truncate(COMMON_MAX);
    let kinds = kinds(windows, &outcomes);
    let mut failures = Failures {
        sentence: String::new(),
        failed,
        requests,
        candidates,
        common,
        phases: phases::of(&outcomes),
        upstreams: phases::upstreams(readings, span),
    };
    failures.sentence = sentence(&failures, &kinds, readings, span);
    Some(failures)
}

/// Steps, and journeys where there are several.
fn steps(windows: &[Window], scenario: Option<&Scenario>) -> Vec<FailureCandidate> {
    let Some(scenario) = scenario else {
        return Vec::new();
    };
    // They are no requests of the whole.
    let long_polls = scenario.long_poll_ids();
    // Things, each with failed and good requests.
    let mut counts: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut all = (0, 0);
    for window in windows {
        for (id, step) in &window.steps {
            let info = scenario.steps.get(*id as usize);
            let Some(info) = info.filter(|info| !info.once && !long_polls.contains(id)) else {
                continue;
            };
            let failed = step.outcomes.failed();
            let good = step.outcomes.total() - failed;
            all = (all.0 + failed, all.1 + good);
            let journey = scenario.journeys.get(info.journey as usize);
            let journey = journey.filter(|_| scenario.journeys.len() > 1);
            let journey = journey.map(|journey| format!("journey {}", journey.name));
            for thing in [Some(format!("step {}", info.label)), journey] {
                let Some(thing) = thing else { continue };
                let count = counts.entry(thing).or_default();
                *count = (count.0 + failed, count.1 + good);
            }
        }
    }
    let candidates = counts
        .into_iter()
        .map(|(thing, (failed, good))| FailureCandidate {
            thing,
            failed_with: failed,
            failed: all.0,
            good_with: good,
            good: all.1,
        });
    candidates.collect()
}

/// A server with its failed and good requests.
type ServerCounts<'a> = (&'a str, u64, u64);

/// Servers of HAProxy's backends, by its own counters: sessions, and of these the ones that failed.
fn servers(readings: &SeriesTable, (from, to): SecondRange) -> Vec<FailureCandidate> {
    let sum = |metric: &str, label_set: &str| -> f64 {
        let values = readings.between(&format!("{metric}{label_set}"), from, to);
        values.into_iter().sum()
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sums of counts are positive and far below 2^53"
    )]
    let whole = |count: f64| count.round().max(0.0) as u64;
    // Backends, each with its servers: name, failed, good.
    let mut backends: BTreeMap<(&str, &str), Vec<ServerCounts<'_>>> = BTreeMap::new();
    for series in readings.names_of(metric::HAPROXY_SESSIONS_BEGUN) {
        let named = (
            label(series, "at"),
            label(series, "proxy"),
            label(series, "server"),
        );
        let (Some(at), Some(proxy), Some(server)) = named else {
            continue;
        };
        if ["FRONTEND", "BACKEND"].contains(&server) {
            continue;
        }
        let label_set = label_set(series);
        let failed = sum(metric::HAPROXY_SERVER_ERRORS, label_set)
            + sum(metric::HAPROXY_ANSWER_ERRORS, label_set)
            + sum(metric::HAPROXY_CONNECT_ERRORS, label_set);
        let begun = sum(metric::HAPROXY_SESSIONS_BEGUN, label_set);
        let good = (begun - failed).max(0.0);
        let servers = backends.entry((at, proxy)).or_default();
        servers.push((server, whole(failed), whole(good)));
    }
    let mut candidates = Vec::new();
    for ((_, proxy), servers) in backends {
        let failed: u64 = servers.iter().map(|server| server.1).sum();
        let good: u64 = servers.iter().map(|server| server.2).sum();
        if servers.len() < 2 || failed == 0 {
            continue;
        }
        candidates.extend(servers.into_iter().map(|(server, failed_with, good_with)| {
            FailureCandidate {
                thing: format!("server {server} of HAProxy's {proxy}"),
                failed_with,
                failed,
                good_with,
                good,
            }
        }));
    }
    candidates
}

/// Failures of equal duration: a timeout of that length lies on the path.
fn durations(windows: &[Window]) -> Option<FailureCandidate> {
    let (mut failed, mut good) = (Histogram::new(), Histogram::new());
    for window in windows {
        failed.merge(&window.failed);
        good.merge(&window.response);
    }
    let (low, high) = (failed.quantile(0.05)?, failed.quantile(0.95)?);
    if low < TIMEOUT_MIN_US || high as f64 > EQUAL * low as f64 {
        return None;
    }
    let within = |histogram: &Histogram| -> u64 {
        let buckets = histogram.buckets().iter();
        let inside = buckets.filter(|(top, _)| (low..=high).contains(top));
        inside.map(|(_, count)| count).sum()
    };
    Some(FailureCandidate {
        thing: format!(
            "a duration of {:.2} s, which suggests a timeout of that length",
            failed.quantile(0.5)? as f64 / 1e6
        ),
        failed_with: within(&failed),
        failed: failed.count(),
        good_with: within(&good),
        good: good.count(),
    })
}

/// Whether the failures came at once, and when.
fn seconds(windows: &[Window]) -> Option<Common> {
    let failed_by_second: Vec<u64> = windows
        .iter()
        .map(|window| window.outcomes.failed())
        .collect();
    let wholes: Vec<u64> = windows
        .iter()
        .map(|window| window.outcomes.total())
        .collect();
    let p = chi_square_homogeneity(&failed_by_second, &wholes)?;
    let failed: u64 = failed_by_second.iter().sum();
    let requests: u64 = wholes.iter().sum();
    let mut order: Vec<usize> = (0..failed_by_second.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(failed_by_second[index]));
    let (mut worst, mut taken) = (Vec::new(), (0, 0));
    for index in order {
        if 2 * taken.0 >= failed {
            break;
        }
        worst.push(windows[index].second);
        taken = (taken.0 + failed_by_second[index], taken.1 + wholes[index]);
    }
    let is_at_once = worst.len() as f64 <= AT_ONCE * windows.len() as f64;
    let first = worst.iter().min()?;
    let thing = if worst.len() == 1 {
        format!("second {first} of the run (of {} seconds)", windows.len())
    } else {
        format!(
            "{} of {} seconds, the first of them second {first} of the run",
            worst.len(),
            windows.len()
        )
    };
    let good = requests - failed;
    Some(Common {
        thing,
        of_failures: taken.0 as f64 / failed.max(1) as f64,
        of_good: (taken.1 - taken.0) as f64 / good.max(1) as f64,
        // Spread over many seconds it is the load, and nothing that they have in common.
        p: if is_at_once { p } else { 1.0 },
    })
}

/// The failures by their end, most frequent first: status or outcome.
fn kinds(windows: &[Window], outcomes: &OutcomeCounts) -> Vec<(String, u64)> {
    let mut kinds: Vec<(String, u64)> = outcomes
        .iter()
        .filter(|(outcome, count)| !outcome.is_ok() && *count > 0)
        .map(|(outcome, count)| (outcome.name().replace('_', " "), count))
        .collect();
    let mut status: BTreeMap<u16, u64> = BTreeMap::new();
    for window in windows {
        for (&code, &count) in &window.status {
            *status.entry(code).or_default() += count;
        }
    }
    // Wrong statuses by their number, where only one kind of them can have been counted as wrong.
    let wrong: Vec<(u16, u64)> = status
        .into_iter()
        .filter(|(code, _)| *code >= 400)
        .collect();
    let explained: u64 = wrong.iter().map(|(_, count)| count).sum();
    if explained > 0 && explained == outcomes.get(Outcome::WrongStatus) {
        kinds.retain(|(name, _)| name != "wrong status");
        kinds.extend(
            wrong
                .into_iter()
                .map(|(code, count)| (format!("HTTP {code}"), count)),
        );
    }
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.1));
    kinds
}

/// Share of the failures in HAProxy's logs that ended before a server had them: in the queue, or while connecting.
fn not_reached(readings: &SeriesTable, (from, to): SecondRange) -> Option<f64> {
    let (mut all, mut before) = (0.0, 0.0);
    for series in readings.names_of(metric::LOG_FAILURES) {
        let class = label(series, "class").unwrap_or_default();
        let [_, phase] = class.as_bytes() else {
            continue;
        };
        let count: f64 = readings.between(series, from, to).into_iter().sum();
        all += count;
        if matches!(phase, b'Q' | b'C') {
            before += count;
        }
    }
    (all > 0.0).then(|| before / all)
}

fn sentence(
    failures: &Failures,
    kinds: &[(String, u64)],
    readings: &SeriesTable,
    span: SecondRange,
) -> String {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let (failed, candidates) = (failures.failed, failures.candidates);
    let kinds: Vec<String> = kinds
        .iter()
        .take(3)
        .map(|(name, count)| format!("{} {name}", percent(*count as f64 / failed as f64)))
        .collect();
    let mut text = format!(
        "{failed} of {} requests failed ({})",
        failures.requests,
        kinds.join(", ")
    );
    text.push_str(&phases::sentence(failures));
    if let Some(share) = not_reached(readings, span) {
        write!(
            text,
            "; of those in HAProxy's log, {} never reached a server",
            percent(share)
        )
        .expect("writing to a string does not fail");
    }
    let things: Vec<String> = failures
        .common
        .iter()
        .map(|common| {
            format!(
                "{} ({} of the failures, {} of the successful requests)",
                common.thing,
                percent(common.of_failures),
                percent(common.of_good)
            )
        })
        .collect();
    match (candidates, things.as_slice()) {
        (0, _) => {}
        // Nothing to compare with.
        (_, []) if failed >= failures.requests => {}
        (1, []) => {
            text.push_str("; the attribute examined is as frequent among the successful requests");
        }
        (_, []) => {
            let rest = format!(
                "; none of the {candidates} attributes examined distinguishes them from the successful requests"
            );
            text.push_str(&rest);
        }
        _ => {
            let plural = if candidates == 1 { "" } else { "s" };
            let rest = format!(
                "; more frequent among the failures than among the successful requests: {} (p < {SIGNIFICANT}, \
                 {candidates} attribute{plural} tested)",
                things.join("; ")
            );
            text.push_str(&rest);
        }
    }
    text
}

#[cfg(test)]
mod tests;
