//! How far failed requests came, and which servers proxies name for them.

use std::collections::BTreeMap;

use plimsoll_model::metric;
use plimsoll_model::outcome::{Outcome, OutcomeCounts};
use plimsoll_model::reading::{SeriesTable, label};

use super::Failures;
use crate::findings::SecondRange;

/// Share of the lines that name one server, from which that is worth a word.
const MOSTLY: f64 = 0.5;
/// Most servers reported.
const UPSTREAMS_MAX: usize = 8;

/// Where a request was when it failed.
fn phase(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Ok => None,
        Outcome::Dropped => Some("before they were sent"),
        Outcome::Dns => Some("during the DNS lookup"),
        Outcome::ConnectRefused | Outcome::ConnectTimeout => Some("while connecting"),
        Outcome::Tls => Some("in TLS"),
        Outcome::Timeout | Outcome::Reset => Some("while waiting for the answer"),
        Outcome::Protocol | Outcome::HeadTooLong | Outcome::TooManyHeaders | Outcome::BodyCut => {
            Some("during the answer")
        }
        Outcome::WrongStatus | Outcome::Expectation => Some("with an answer"),
    }
}

/// How far failed requests came, the most first.
pub(super) fn of(outcomes: &OutcomeCounts) -> Vec<(&'static str, u64)> {
    let mut counts = BTreeMap::<&'static str, u64>::new();
    for (outcome, count) in outcomes.iter() {
        if let Some(phase) = phase(outcome).filter(|_| count > 0) {
            *counts.entry(phase).or_default() += count;
        }
    }
    let mut counts: Vec<(&'static str, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|phase| std::cmp::Reverse(phase.1));
    counts
}

/// Whether lines of this class describe the proxy itself, independent of the server behind it.
fn is_of_proxy(class: &str) -> bool {
    ["limited", "buffered"].contains(&class)
}

/// Servers that lines of failures name in logs of proxies, the most first, with their share of the lines that name one.
pub(super) fn upstreams(readings: &SeriesTable, (from, to): SecondRange) -> Vec<(String, f64)> {
    let mut counts = BTreeMap::<&str, f64>::new();
    let own = readings.names_of(metric::LOG_FAILURES_OF);
    for series in own.filter(|series| !label(series, "class").is_some_and(is_of_proxy)) {
        if let Some(of) = label(series, "of").filter(|of| !of.is_empty()) {
            let count: f64 = readings.between(series, from, to).into_iter().sum();
            *counts.entry(of).or_default() += count;
        }
    }
    let all: f64 = counts.values().sum();
    let named = counts.into_iter().filter(|(_, count)| *count > 0.0);
    let mut shares: Vec<(String, f64)> = named
        .map(|(of, count)| (of.to_owned(), count / all))
        .collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares.truncate(UPSTREAMS_MAX);
    shares
}

/// The server as a clause. Phases add nothing to the outcomes in words; they are in JSON only.
pub(super) fn sentence(failures: &Failures) -> String {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let mut text = String::new();
    if let [(first, share), ..] = failures.upstreams.as_slice()
        && *share >= MOSTLY
    {
        let clause = format!(
            "; of the proxy log lines that name a server, {} name {first}",
            percent(*share)
        );
        text.push_str(&clause);
    }
    text
}

#[cfg(test)]
mod tests {
    use plimsoll_model::reading::Readings;

    use super::*;

    #[test]
    fn failures_are_told_by_phase_and_by_server() {
        let mut outcomes = OutcomeCounts::default();
        outcomes.add_many(Outcome::Ok, 100);
        outcomes.add_many(Outcome::ConnectTimeout, 10);
        outcomes.add_many(Outcome::ConnectRefused, 20);
        outcomes.add_many(Outcome::WrongStatus, 20);
        let mut table = SeriesTable::default();
        let of = |server: &str| {
            let labels = [("at", "/log"), ("class", "connect"), ("of", server)];
            metric::series(metric::LOG_FAILURES_OF, &labels)
        };
        let labels = [("at", "/log"), ("class", "limited"), ("of", "zone few")];
        let zone = metric::series(metric::LOG_FAILURES_OF, &labels);
        for (second, values) in [(4, [9.0, 1.0]), (9, [0.0, 1000.0])] {
            table.push(&Readings {
                second,
                values: [
                    (of("10.0.0.1:80"), values[0]),
                    (of("10.0.0.2:80"), values[1]),
                    (zone.clone(), 100.0),
                ]
                .into(),
                new_series: BTreeMap::new(),
            });
        }
        let failures = Failures {
            failed: 50,
            requests: 150,
            candidates: 0,
            common: Vec::new(),
            phases: of_phases(&outcomes),
            upstreams: upstreams(&table, (0, 5)),
            sentence: String::new(),
        };
        assert_eq!(
            failures.phases,
            [("while connecting", 30), ("with an answer", 20)]
        );
        let right = "; of the proxy log lines that name a server, 90 % name 10.0.0.1:80";
        assert_eq!(sentence(&failures), right);
    }

    fn of_phases(outcomes: &OutcomeCounts) -> Vec<(&'static str, u64)> {
        super::of(outcomes)
    }
}
