//! The clients: how each is run, and how its output is parsed.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use plimsoll_harness::packages;
use plimsoll_harness::workspace::Workspace;
use serde_json::Value;

use crate::context::cargo_install;
use crate::page::version;

/// A client with its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Plimsoll,
    /// Ours, sending what is due in ticks of a millisecond.
    PlimsollTick,
    Wrk,
    Oha,
    /// Without the correction for requests that were due while it waited.
    OhaUncorrected,
    Hey,
    Ab,
}

/// The requested load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfferedLoad {
    /// Closed load: connections that each send the next request after the response.
    Closed { connections: u32 },
    /// Open load: evenly spaced requests per second.
    Rate { per_second: u32 },
}

/// A client's own results.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ToolSummary {
    /// Good responses.
    pub(crate) requests: u64,
    /// Everything else it counted.
    pub(crate) failed: u64,
    pub(crate) p95_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
    /// Whether it reports its measurement as void.
    pub(crate) is_void: bool,
    /// p99 of how late it sent, where it knows.
    pub(crate) lag_ms_p99: Option<f64>,
}

/// Where the clients are.
pub(crate) struct Peers {
    plimsoll: PathBuf,
    /// `None` if it is missing and must not be installed.
    oha: Option<PathBuf>,
    pub(crate) origin: PathBuf,
}

/// Connections a client with a fixed number of them uses to keep a rate.
const RATE_CONNECTIONS: u32 = 64;

impl Peers {
    /// Finds the clients and installs those that are missing, if that is wanted.
    pub(super) fn find(workspace: &Workspace, install: bool) -> Result<Self> {
        let packages: Vec<_> = [
            ("nginx", "nginx-light"),
            ("wrk", "wrk"),
            ("hey", "hey"),
            ("ab", "apache2-utils"),
        ]
        .into_iter()
        .filter(|(program, _)| !packages::is_installed(program))
        .map(|(_, package)| package)
        .collect();
        if install && !packages.is_empty() {
            packages::install(&packages)?;
        }
        let root = workspace.target().join("peers");
        let built = root.join("bin/oha");
        let is_in_path = packages::is_installed("oha");
        if install && !is_in_path && !built.exists() {
            cargo_install("oha", &root)?;
        }
        let oha = if is_in_path {
            Some(PathBuf::from("oha"))
        } else {
            built.exists().then_some(built)
        };
        Ok(Self {
            plimsoll: workspace.release("plimsoll"),
            origin: workspace.release("plimsoll-origin"),
            oha,
        })
    }

    /// Names and versions, for the page.
    pub(super) fn versions(&self) -> Vec<String> {
        let wrk =
            version("wrk", "-v").map(|line| line.split(" [").next().unwrap_or_default().to_owned());
        [
            version("nginx", "-v"),
            version(&self.plimsoll.display().to_string(), "--version"),
            wrk,
            self.oha
                .as_ref()
                .and_then(|oha| version(&oha.display().to_string(), "--version")),
            Some(format!("hey {}", debian_version("hey").unwrap_or_default())),
            version("ab", "-V"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The words of the command; `None` if the client cannot do that or is not there.
    pub(super) fn words(
        &self,
        tool: Tool,
        load: OfferedLoad,
        seconds: u32,
        url: &str,
    ) -> Option<Vec<String>> {
        let ours = self.plimsoll.display();
        let oha = match tool {
            Tool::Oha | Tool::OhaUncorrected => self.oha.as_ref()?.display().to_string(),
            _ => String::new(),
        };
        let line = match (tool, load) {
            (Tool::Plimsoll, OfferedLoad::Closed { connections }) => {
                format!(
                    "{ours} run {url} --connections {connections} --for {seconds}s --cores 1 --json"
                )
            }
            (Tool::Plimsoll, OfferedLoad::Rate { per_second }) => {
                format!(
                    "{ours} run {url} --rate {per_second}/s --spacing even --for {seconds}s --cores 1 --json"
                )
            }
            (Tool::PlimsollTick, OfferedLoad::Rate { per_second }) => {
                format!(
                    "{ours} run {url} --rate {per_second}/s --spacing even --tick 1ms --for {seconds}s --cores 1 --json"
                )
            }
            (Tool::Wrk, OfferedLoad::Closed { connections }) => {
                format!("wrk -t1 -c{connections} -d{seconds}s --latency {url}")
            }
            (Tool::Oha, OfferedLoad::Closed { connections }) => {
                format!("{oha} -c {connections} -z {seconds}s --no-tui --output-format json {url}")
            }
            (Tool::Oha, OfferedLoad::Rate { per_second }) => format!(
                "{oha} -c {RATE_CONNECTIONS} -q {per_second} --latency-correction -z {seconds}s --no-tui --output-format json {url}"
            ),
            (Tool::OhaUncorrected, OfferedLoad::Rate { per_second }) => {
                format!(
                    "{oha} -c {RATE_CONNECTIONS} -q {per_second} -z {seconds}s --no-tui --output-format json {url}"
                )
            }
            (Tool::Hey, OfferedLoad::Closed { connections }) => {
                format!("hey -cpus 1 -c {connections} -z {seconds}s {url}")
            }
            // hey's rate is per worker, in whole requests a second.
            (Tool::Hey, OfferedLoad::Rate { per_second }) => format!(
                "hey -cpus 1 -c {RATE_CONNECTIONS} -q {} -z {seconds}s {url}",
                per_second / RATE_CONNECTIONS
            ),
            (Tool::Ab, OfferedLoad::Closed { connections }) => {
                format!("ab -q -k -c {connections} -t {seconds} -n 100000000 {url}")
            }
            _ => return None,
        };
        Some(line.split(' ').map(ToOwned::to_owned).collect())
    }
}

/// The version of a program that does not tell it itself.
pub(crate) fn debian_version(package: &str) -> Option<String> {
    let output = Command::new("dpkg-query")
        .args(["-W", "-f", "${Version}", package])
        .output()
        .ok()?;
    String::from_utf8(output.stdout).ok()
}

impl Tool {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plimsoll => "plimsoll",
            Self::PlimsollTick => "plimsoll --tick 1ms",
            Self::Wrk => "wrk",
            Self::Oha => "oha",
            Self::OhaUncorrected => "oha without --latency-correction",
            Self::Hey => "hey",
            Self::Ab => "ab",
        }
    }

    /// Exit codes beside success that come with a result: ours has one for a void measurement.
    pub(crate) fn accepted(self) -> &'static [i32] {
        match self {
            Self::Plimsoll | Self::PlimsollTick => &[6],
            _ => &[],
        }
    }

    /// Reads what the client printed.
    pub(crate) fn parse_output(self, text: &str) -> Result<ToolSummary> {
        let summary = match self {
            Self::Plimsoll | Self::PlimsollTick => ours(text),
            Self::Wrk => wrk(text),
            Self::Oha | Self::OhaUncorrected => oha(text),
            Self::Hey => hey(text),
            Self::Ab => ab(text),
        };
        summary
            .with_context(|| format!("cannot read what {} printed: {}", self.name(), text.trim()))
    }
}

fn ours(text: &str) -> Option<ToolSummary> {
    let json: Value = serde_json::from_str(text).ok()?;
    let outcomes = json["outcomes"].as_object()?;
    let all: u64 = outcomes.values().filter_map(Value::as_u64).sum();
    let requests = outcomes.get("ok").and_then(Value::as_u64).unwrap_or(0);
    Some(ToolSummary {
        requests,
        failed: all - requests,
        p95_ms: json["response_time_ms"]["p95"].as_f64(),
        p99_ms: json["response_time_ms"]["p99"].as_f64(),
        is_void: json["void"].is_array(),
        lag_ms_p99: json["generator"]["lag_ms_p99"].as_f64(),
    })
}

/// `18501 requests in 5.00s, 18.83MB read`; percentiles as `99%    4.50ms`.
fn wrk(text: &str) -> Option<ToolSummary> {
    let requests = number_before(text, " requests in")?;
    let bad = number_after(text, "Non-2xx or 3xx responses: ").unwrap_or(0.0);
    let percentile = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(name))?;
        let value = line.trim();
        let (factor, unit) = [("us", 1e-3), ("ms", 1.0), ("s", 1e3)]
            .into_iter()
            .find_map(|(unit, factor)| value.strip_suffix(unit).map(|_| (factor, unit)))?;
        Some(value.strip_suffix(unit)?.parse::<f64>().ok()? * factor)
    };
    Some(ToolSummary {
        requests: whole(requests - bad)?,
        failed: whole(bad)?,
        p99_ms: percentile("99%"),
        ..ToolSummary::default()
    })
}

fn oha(text: &str) -> Option<ToolSummary> {
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
    Some(ToolSummary {
        requests: count("statusCodeDistribution", &good),
        failed: count("statusCodeDistribution", &|name| !good(name))
            + count("errorDistribution", &|_| true),
        p95_ms: seconds("p95"),
        p99_ms: seconds("p99"),
        ..ToolSummary::default()
    })
}

/// `[200] 20000 responses`; percentiles as `95% in 0.0012 secs`.
fn hey(text: &str) -> Option<ToolSummary> {
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
    let percentile = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(name))?;
        number_after(line, "in ").map(|seconds: f64| seconds * 1e3)
    };
    let requests: f64 = sum(true);
    (requests > 0.0).then_some(())?;
    Some(ToolSummary {
        requests: whole(requests)?,
        failed: whole(sum(false))?,
        p95_ms: percentile("95%"),
        p99_ms: percentile("99%"),
        ..ToolSummary::default()
    })
}

/// `Complete requests:      50000`; percentiles in whole milliseconds.
fn ab(text: &str) -> Option<ToolSummary> {
    let complete = number_after(text, "Complete requests:")?;
    let failed = number_after(text, "Failed requests:").unwrap_or(0.0);
    let percentile = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(name))?;
        line.trim().parse().ok()
    };
    Some(ToolSummary {
        requests: whole(complete - failed)?,
        failed: whole(failed)?,
        p95_ms: percentile("95%"),
        p99_ms: percentile("99%"),
        ..ToolSummary::default()
    })
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
