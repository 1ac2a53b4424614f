//! The site's load line, and results of overload.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::request::exchange;
use plimsoll_harness::run_report::RunReport;
use plimsoll_harness::running::RunningServer;
use plimsoll_harness::template::Values;

use super::stack::NewspaperStack;
use crate::case::Case;
use crate::plimsoll_run::LoadLineResult;

/// What the study counted as good.
const OBJECTIVE: &str = "p95 < 800ms, errors < 1%";

/// The generator under use, and the folder of its runs.
pub(super) struct NewspaperMeter<'a> {
    pub(super) case: &'a Case,
    pub(super) is_quick: bool,
}

/// What became of the requests of one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shares {
    /// Requests a second that were really offered.
    pub(super) offered: f64,
    /// Pages that the server rendered, of all requests.
    pub(super) rendered: f64,
    /// Fallbacks, of all requests.
    pub(super) fallback: f64,
    /// Good answers slower than 1.2 s, of all requests.
    pub(super) slow: f64,
    /// Requests without a good answer, of all.
    pub(super) failed: f64,
    /// Whether the measurement is void, as reported.
    pub(super) is_void: bool,
}

impl NewspaperMeter<'_> {
    /// The highest rate within the objective. A short search may run out of time before it has confirmed a line: then it
    /// is made once more.
    pub(super) fn line(
        &self,
        url: &str,
        stack: &NewspaperStack<'_>,
        name: &str,
        more: &[&str],
    ) -> Result<LoadLineResult> {
        let found = self.search(url, stack, name, more)?;
        if !self.is_quick || matches!(found, LoadLineResult::Line { .. }) {
            return Ok(found);
        }
        println!("{found:?}; once more");
        self.search(url, stack, name, more)
    }

    fn search(
        &self,
        url: &str,
        stack: &NewspaperStack<'_>,
        name: &str,
        more: &[&str],
    ) -> Result<LoadLineResult> {
        let quick = if self.is_quick { "--quick" } else { "" };
        let more = [&["--objective", OBJECTIVE], more].concat();
        let line = format!("--name {name} {quick}");
        let report = self.run(("limit", url), stack, &line, &more)?;
        LoadLineResult::of(&report, "req/s")
    }

    /// What becomes of so many requests a second.
    pub(super) fn shares(
        &self,
        edge: &RunningServer,
        stack: &NewspaperStack<'_>,
        rate: f64,
        time: Duration,
    ) -> Result<Shares> {
        let before = EdgeCounts::of(edge)?;
        let line = format!(
            "--name newspaper-overload --rate {rate:.1}/s --for {}s",
            time.as_secs()
        );
        let report = self.run(("run", &edge.url()), stack, &line, &[])?;
        Shares::of(&report, EdgeCounts::of(edge)?.since(before))
    }

    fn run(
        &self,
        (command, url): (&str, &str),
        stack: &NewspaperStack<'_>,
        line: &str,
        more: &[&str],
    ) -> Result<RunReport> {
        let values = Values::default().with("url", url);
        let values = values.with("feed", stack.feed().display());
        let line = format!("{command} @url@ --urls @feed@ --classes 800ms,1200ms {line} --quiet");
        let more = [&["--header", "Accept: text/html"], more].concat();
        self.case.run(None, &line, &values, &more)
    }
}

impl Shares {
    /// From the object of `plimsoll run` and what the edge counted meanwhile.
    fn of(report: &RunReport, counts: EdgeCounts) -> Result<Self> {
        let requests = report.number("requests")?;
        ensure!(requests > 0.0, "no requests were made");
        Ok(Self {
            offered: report.known("offered").unwrap_or_default(),
            rendered: counts.served / requests,
            fallback: counts.fallback / requests,
            slow: report.number("classes.slow")? / requests,
            failed: report.number("classes.failed")? / requests,
            is_void: report.void().is_some(),
        })
    }
}

/// What the edge has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct EdgeCounts {
    /// Answers that a server of the site gave.
    served: f64,
    fallback: f64,
}

impl EdgeCounts {
    fn of(edge: &RunningServer) -> Result<Self> {
        let answer = exchange(edge.admin_port(), "/metrics", "", None)?;
        ensure!(
            answer.status == 200,
            "the edge's metrics answered {answer:?}"
        );
        Self::read(&answer.body)
    }

    fn read(metrics: &str) -> Result<Self> {
        let value = |start: &str, holds: &str| {
            metrics
                .lines()
                .find(|line| line.starts_with(start) && line.contains(holds))
                .and_then(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok())
                .with_context(|| format!("the edge's metrics have no {start} with {holds}"))
        };
        Ok(Self {
            served: value("plimsoll_edge_server_answers_total", "pool=\"site\"")?,
            fallback: value("plimsoll_edge_own_answers_total", "reason=\"fallback\"")?,
        })
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            served: self.served - earlier.served,
            fallback: self.fallback - earlier.fallback,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_requests() {
        let metrics = "# HELP x\n\
            plimsoll_edge_own_answers_total{reason=\"fallback\"} 700\n\
            plimsoll_edge_server_answers_total{pool=\"articles\",server=\"a\"} 9\n\
            plimsoll_edge_server_answers_total{pool=\"site\",server=\"b\"} 320\n";
        let before = EdgeCounts {
            served: 20.0,
            fallback: 0.0,
        };
        let counts = EdgeCounts::read(metrics).unwrap().since(before);
        let report = serde_json::json!({
            "requests": 1000, "offered": 100.0, "void": null,
            "classes": { "fast": 970, "middle": 10, "slow": 15, "failed": 5 },
        });
        let shares = Shares::of(&RunReport::parse(&report.to_string()).unwrap(), counts).unwrap();
        let expected = Shares {
            offered: 100.0,
            rendered: 0.3,
            fallback: 0.7,
            slow: 0.015,
            failed: 0.005,
            is_void: false,
        };
        assert_eq!(shares, expected);
        assert!(EdgeCounts::read("").is_err());
        assert!(Shares::of(&RunReport::parse(r#"{ "requests": 0 }"#).unwrap(), counts).is_err());
    }
}
