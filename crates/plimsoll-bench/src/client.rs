//! What load generators print, read into one summary.

use anyhow::{Context as _, Result};
use plimsoll_harness::run_report::RunReport;
use serde_json::Value;

/// A client's own results.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ClientSummary {
    /// Good responses.
    pub(crate) requests: u64,
    /// Everything else it counted, and failed checks.
    pub(crate) failed: u64,
    pub(crate) p95_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
    /// Why it calls its measurement void.
    pub(crate) void: Option<String>,
    /// p99 of how late it sent, where it knows.
    pub(crate) lag_ms_p99: Option<f64>,
}

/// The program of a command line.
fn program(words: &[String]) -> &str {
    let first = words.first().map_or("", String::as_str);
    first.rsplit('/').next().unwrap_or(first)
}

/// Exit codes beside success that come with a result: ours has one for a void measurement.
pub(crate) fn accepted(words: &[String]) -> &'static [i32] {
    if program(words) == "plimsoll" {
        &[6]
    } else {
        &[]
    }
}

impl ClientSummary {
    /// Reads what the client with this command line printed.
    pub(crate) fn parse(words: &[String], text: &str) -> Result<Self> {
        let summary = match program(words) {
            "plimsoll" => return ours(text),
            "wrk" => wrk(text),
            "oha" => oha(text),
            "hey" => hey(text),
            "ab" => ab(text),
            "h2load" => h2load(text),
            "k6" => k6(text),
            "java" => gatling(text),
            _ => None,
        };
        summary.with_context(|| {
            let last = text.lines().rfind(|line| !line.trim().is_empty());
            let last = last.unwrap_or("nothing");
            format!("cannot read what {} printed last: {last}", program(words))
        })
    }

    /// All requests.
    pub(crate) fn all(&self) -> u64 {
        self.requests + self.failed
    }
}

fn ours(text: &str) -> Result<ClientSummary> {
    let report = RunReport::parse(text)?;
    let (requests, all) = report.outcomes()?;
    Ok(ClientSummary {
        requests,
        failed: all - requests,
        p95_ms: report.known("response_time_ms.p95"),
        p99_ms: report.known("response_time_ms.p99"),
        void: report.void(),
        lag_ms_p99: report.known("generator.lag_ms_p99"),
    })
}

/// `18501 requests in 5.00s, 18.83MB read`; percentiles as `99%    4.50ms`.
fn wrk(text: &str) -> Option<ClientSummary> {
    let requests = number_before(text, " requests in")?;
    let bad = number_after(text, "Non-2xx or 3xx responses: ").unwrap_or(0.0);
    let percentile = |name: &str| {
        let value = behind(text, name)?;
        let (factor, unit) = [("us", 1e-3), ("ms", 1.0), ("s", 1e3)]
            .into_iter()
            .find_map(|(unit, factor)| value.strip_suffix(unit).map(|_| (factor, unit)))?;
        Some(value.strip_suffix(unit)?.parse::<f64>().ok()? * factor)
    };
    Some(ClientSummary {
        requests: whole(requests - bad)?,
        failed: whole(bad)?,
        p99_ms: percentile("99%"),
        ..ClientSummary::default()
    })
}

fn oha(text: &str) -> Option<ClientSummary> {
    let json: Value = serde_json::from_str(text).ok()?;
    let count = |key: &str, wanted: &dyn Fn(&str) -> bool| -> u64 {
        let counts = json[key].as_object().into_iter().flatten();
        counts
            .filter(|(name, _)| wanted(name))
            .filter_map(|(_, count)| count.as_u64())
            .sum()
    };
    let good = |name: &str| name.starts_with('2');
    let seconds = |key: &str| {
        json["latencyPercentiles"][key]
            .as_f64()
            .map(|seconds| seconds * 1e3)
    };
    Some(ClientSummary {
        requests: count("statusCodeDistribution", &good),
        failed: count("statusCodeDistribution", &|name| !good(name))
            + count("errorDistribution", &|_| true),
        p95_ms: seconds("p95"),
        p99_ms: seconds("p99"),
        ..ClientSummary::default()
    })
}

/// `[200] 20000 responses`; percentiles as `95% in 0.0012 secs`.
fn hey(text: &str) -> Option<ClientSummary> {
    let responses = |line: &str| -> Option<(bool, f64)> {
        let (status, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
        let count = rest.trim().strip_suffix("responses")?.trim().parse().ok()?;
        Some((status.starts_with('2'), count))
    };
    let sum = |good: bool| {
        text.lines()
            .filter_map(responses)
            .filter(|(is_good, _)| *is_good == good)
            .map(|(_, n)| n)
            .sum()
    };
    let percentile = |name: &str| Some(number_after(behind(text, name)?, "in ")? * 1e3);
    let requests: f64 = sum(true);
    (requests > 0.0).then_some(())?;
    Some(ClientSummary {
        requests: whole(requests)?,
        failed: whole(sum(false))?,
        p95_ms: percentile("95%"),
        p99_ms: percentile("99%"),
        ..ClientSummary::default()
    })
}

/// `Complete requests:      50000`; percentiles in whole milliseconds.
fn ab(text: &str) -> Option<ClientSummary> {
    let complete = number_after(text, "Complete requests:")?;
    let failed = number_after(text, "Failed requests:").unwrap_or(0.0);
    let percentile = |name: &str| behind(text, name)?.parse().ok();
    Some(ClientSummary {
        requests: whole(complete - failed)?,
        failed: whole(failed)?,
        p95_ms: percentile("95%"),
        p99_ms: percentile("99%"),
        ..ClientSummary::default()
    })
}

/// `requests: 100 total, 100 started, 100 done, 100 succeeded, 0 failed, 0 errored, 0 timeout`. In a run by time, what is
/// under way at the end is neither good nor bad.
fn h2load(text: &str) -> Option<ClientSummary> {
    let line = behind(text, "requests: ")?;
    let count = |name: &str| {
        let field = line
            .split(", ")
            .find_map(|field| field.strip_suffix(name))?;
        field.trim().parse::<u64>().ok()
    };
    Some(ClientSummary {
        requests: count("succeeded")?,
        failed: count("failed")? + count("errored")?,
        ..ClientSummary::default()
    })
}

/// The metrics of its summary; a rate counts its `true` as passes, and a failed request is a `true`.
fn k6(text: &str) -> Option<ClientSummary> {
    let json: Value = serde_json::from_str(text).ok()?;
    let count = |metric: &str, value: &str| json[metric]["values"][value].as_u64();
    let failed = count("http_req_failed", "passes")? + count("checks", "fails")?;
    Some(ClientSummary {
        requests: count("http_reqs", "count")?.saturating_sub(failed),
        failed,
        ..ClientSummary::default()
    })
}

/// The last of the pictures it draws every few seconds: `> Global  | 12,345 | 12,340 | 5`: all, good, bad; a dash is
/// none.
fn gatling(text: &str) -> Option<ClientSummary> {
    let line = text
        .lines()
        .rev()
        .find_map(|line| line.trim().strip_prefix("> Global"))?;
    let mut counts =
        line.split(['|', ' '])
            .filter(|word| !word.is_empty())
            .map(|word| match word {
                "-" => Some(0),
                number => number.replace(',', "").parse::<u64>().ok(),
            });
    let (_, requests, failed) = (counts.next()??, counts.next()??, counts.next()??);
    Some(ClientSummary {
        requests,
        failed,
        ..ClientSummary::default()
    })
}

/// The rest of the first line that begins so.
fn behind<'a>(text: &'a str, begin: &str) -> Option<&'a str> {
    let mut lines = text.lines();
    lines.find_map(|line| Some(line.trim().strip_prefix(begin)?.trim()))
}

fn number_after(text: &str, mark: &str) -> Option<f64> {
    let (_, rest) = text.split_once(mark)?;
    rest.split_whitespace()
        .next()?
        .trim_end_matches(',')
        .parse()
        .ok()
}

fn number_before(text: &str, mark: &str) -> Option<f64> {
    let (rest, _) = text.split_once(mark)?;
    rest.split_whitespace().next_back()?.parse().ok()
}

/// A count that was read as a number.
fn whole(number: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be a count of requests"
    )]
    (0.0..1e15).contains(&number).then_some(number as u64)
}

#[cfg(test)]
mod tests;
