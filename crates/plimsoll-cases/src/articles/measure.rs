//! Results of one offered rate: one run of `plimsoll run`.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use plimsoll_harness::run_report::RunReport;
use plimsoll_harness::template::Values;

use super::study::{ArticleBody, ArticlesSetup};
use crate::case::Case;

/// Nobody waits longer, as in the study.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The generator must keep up with this.
const OBJECTIVE: &str = "p95 < 500ms, errors < 1%";

/// The generator under use, and the folder of its runs.
pub(super) struct ArticlesMeter<'a> {
    pub(super) case: &'a Case,
    /// The core of the load.
    pub(super) core: usize,
    pub(super) is_quick: bool,
}

/// What became of one offered rate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RateSample {
    /// Requests a second that really became due.
    pub(super) offered: f64,
    /// Good responses per second.
    pub(super) answered: f64,
    /// Share of requests without a good answer.
    pub(super) failed: f64,
    /// Response times of good answers, ms; `None` without any.
    pub(super) p50_ms: Option<f64>,
    pub(super) p95_ms: Option<f64>,
    /// Why the measurement is void, as reported.
    pub(super) void: Option<String>,
}

impl ArticlesMeter<'_> {
    /// The rates of a sweep, requests a second.
    pub(super) fn rates(&self, body: ArticleBody) -> Vec<u32> {
        match (self.is_quick, body) {
            (true, ArticleBody::Page) => vec![50, 100, 200, 500, 1_500],
            (true, ArticleBody::Short) => vec![50, 100, 500, 1_500],
            (false, _) => (1..=30).map(|step| step * 50).collect(),
        }
    }

    /// A few users, until the application has compiled what it runs often, has all its connections, and a cache is full.
    pub(super) fn warm(&self, url: &str, feed: &Path) -> Result<()> {
        let time = if self.is_quick { 5 } else { 10 };
        let line = format!("--name articles-warm --connections 4 --for {time}s");
        self.run(url, feed, &line, &[]).map(|_| ())
    }

    /// Offers so many requests a second.
    pub(super) fn sample(
        &self,
        url: &str,
        feed: &Path,
        rate: u32,
        way: ArticlesSetup,
    ) -> Result<RateSample> {
        let warmup = self.warmup(way).as_secs();
        let measured = if self.is_quick { 5 } else { 20 };
        // Steps of 50 are to be some, so the spacing is even. Each source has 28,000 ports of its own: connections of those
        // who gave up keep theirs for a minute.
        let line = format!(
            "--name articles-{rate} --rate {rate}/s --for {}s --warmup {warmup}s --timeout {}s --requests-per-connection 5 \
             --spacing even --source 127.0.0.2 --source 127.0.0.3 --source 127.0.0.4 --source 127.0.0.5",
            warmup + measured,
            TIMEOUT.as_secs(),
        );
        RateSample::of(&self.run(url, feed, &line, &["--objective", OBJECTIVE])?)
    }

    /// Until those who wait have waited as long as they ever will; the edge makes nobody wait long.
    fn warmup(&self, way: ArticlesSetup) -> Duration {
        match way {
            ArticlesSetup::Alone => TIMEOUT + Duration::from_secs(1),
            ArticlesSetup::Edge | ArticlesSetup::Cached => {
                Duration::from_secs(if self.is_quick { 2 } else { 5 })
            }
        }
    }

    fn run(&self, url: &str, feed: &Path, line: &str, more: &[&str]) -> Result<RunReport> {
        let values = Values::default().with("url", url);
        let values = values.with("feed", feed.display());
        let line = format!("run @url@ --urls @feed@ {line} --quiet");
        self.case.run(Some(self.core), &line, &values, more)
    }
}

impl RateSample {
    /// From the object of `plimsoll run`.
    fn of(report: &RunReport) -> Result<Self> {
        let good = report.number("outcomes.ok")?;
        let bad = report.number("outcomes.wrong_status")?;
        let completed = report.number("completed")?;
        Ok(Self {
            offered: report.number("offered")?,
            answered: completed * good / (good + bad).max(1.0),
            failed: 1.0 - good / report.number("requests")?.max(1.0),
            p50_ms: report.known("response_time_ms.p50"),
            p95_ms: report.known("response_time_ms.p95"),
            void: report.void(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_an_answer_and_not_a_good_one() {
        let report = serde_json::json!({
            "requests": 1000, "offered": 200.0, "completed": 100.0, "void": null,
            "outcomes": { "ok": 300, "wrong_status": 200, "timeout": 500 },
            "response_time_ms": { "p50": 12.5, "p95": null },
        });
        let sample = RateSample::of(&RunReport::parse(&report.to_string()).unwrap()).unwrap();
        assert!((sample.answered - 60.0).abs() < 1e-9, "{sample:?}");
        assert!((sample.failed - 0.7).abs() < 1e-9, "{sample:?}");
        assert_eq!(sample.p50_ms, Some(12.5));
        assert_eq!(sample.void, None);
        let report = serde_json::json!({
            "requests": 0, "offered": 200.0, "completed": 0.0, "void": ["it lagged", "it was busy"],
            "outcomes": { "ok": 0, "wrong_status": 0 }, "response_time_ms": { "p50": null, "p95": null },
        });
        let void = RateSample::of(&RunReport::parse(&report.to_string()).unwrap()).unwrap();
        assert_eq!(void.void.as_deref(), Some("it lagged; it was busy"));
        assert!(RateSample::of(&RunReport::parse("{}").unwrap()).is_err());
    }
}
