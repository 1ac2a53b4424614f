//! Results of one offered rate: one run of `plimsoll run`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::study::{ArticleBody, ArticlesSetup};
use crate::plimsoll_run::run_plimsoll;

/// Nobody waits longer, as in the study.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The generator must keep up with this.
const OBJECTIVE: &str = "p95 < 500ms, errors < 1%";

/// The generator under use, and the folder of its runs.
pub(super) struct ArticlesMeter<'a> {
    pub(super) plimsoll: PathBuf,
    /// The core of the load.
    pub(super) core: usize,
    pub(super) out: PathBuf,
    pub(super) is_quick: bool,
    pub(super) is_stopped: &'a AtomicBool,
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
    pub(super) fn warm(&self, url: &str, feed: PathBuf) -> Result<()> {
        let time = if self.is_quick { "5s" } else { "10s" };
        let mut arguments = self.words(url, feed, "articles-warm");
        arguments.extend(["--connections", "4", "--for", time].map(OsString::from));
        self.run(arguments).map(|_| ())
    }

    /// Offers so many requests a second.
    pub(super) fn sample(
        &self,
        url: &str,
        feed: PathBuf,
        rate: u32,
        way: ArticlesSetup,
    ) -> Result<RateSample> {
        let warmup = self.warmup(way);
        let measured = Duration::from_secs(if self.is_quick { 5 } else { 20 });
        let mut arguments = self.words(url, feed, &format!("articles-{rate}"));
        let words = [
            "--rate".to_owned(),
            format!("{rate}/s"),
            "--for".to_owned(),
            format!("{}s", (warmup + measured).as_secs()),
            "--warmup".to_owned(),
            format!("{}s", warmup.as_secs()),
            "--timeout".to_owned(),
            format!("{}s", TIMEOUT.as_secs()),
            "--requests-per-connection".to_owned(),
            "5".to_owned(),
            "--objective".to_owned(),
            OBJECTIVE.to_owned(),
            // A step of 50 is to be one.
            "--spacing".to_owned(),
            "even".to_owned(),
        ];
        arguments.extend(words.map(OsString::from));
        // Each has 28,000 ports of its own: connections of those who gave up keep theirs for a minute.
        for address in 2..=5 {
            arguments.extend(["--source".into(), format!("127.0.0.{address}").into()]);
        }
        RateSample::of(&self.run(arguments)?)
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

    fn words(&self, url: &str, feed: PathBuf, name: &str) -> Vec<OsString> {
        let mut words: Vec<OsString> = ["-c", &self.core.to_string()].map(OsString::from).into();
        words.extend([
            self.plimsoll.clone().into(),
            "run".into(),
            url.into(),
            "--urls".into(),
            feed.into(),
            "--name".into(),
            name.into(),
            "--out".into(),
            self.out.clone().into(),
            "--quiet".into(),
        ]);
        words
    }

    fn run(&self, arguments: Vec<OsString>) -> Result<Value> {
        run_plimsoll(Path::new("taskset"), arguments, self.is_stopped)
    }
}

impl RateSample {
    /// From the object of `plimsoll run`.
    fn of(report: &Value) -> Result<Self> {
        let number = |value: &Value, what: &str| {
            value
                .as_f64()
                .with_context(|| format!("plimsoll run reported no {what}"))
        };
        let requests = number(&report["requests"], "requests")?;
        let good = number(&report["outcomes"]["ok"], "good outcomes")?;
        let bad = number(&report["outcomes"]["wrong_status"], "wrong statuses")?;
        let completed = number(&report["completed"], "completed requests")?;
        let void = report["void"].as_array().map(|reasons| {
            let reasons: Vec<&str> = reasons.iter().filter_map(Value::as_str).collect();
            reasons.join("; ")
        });
        Ok(Self {
            offered: number(&report["offered"], "offered rate")?,
            answered: completed * good / (good + bad).max(1.0),
            failed: 1.0 - good / requests.max(1.0),
            p50_ms: report["response_time_ms"]["p50"].as_f64(),
            p95_ms: report["response_time_ms"]["p95"].as_f64(),
            void,
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
        let sample = RateSample::of(&report).unwrap();
        assert!((sample.answered - 60.0).abs() < 1e-9, "{sample:?}");
        assert!((sample.failed - 0.7).abs() < 1e-9, "{sample:?}");
        assert_eq!(sample.p50_ms, Some(12.5));
        assert_eq!(sample.void, None);
        let report = serde_json::json!({
            "requests": 0, "offered": 200.0, "completed": 0.0, "void": ["it lagged", "it was busy"],
            "outcomes": { "ok": 0, "wrong_status": 0 }, "response_time_ms": { "p50": null, "p95": null },
        });
        let void = RateSample::of(&report).unwrap();
        assert_eq!(void.void.as_deref(), Some("it lagged; it was busy"));
        assert!(RateSample::of(&serde_json::json!({})).is_err());
    }
}
