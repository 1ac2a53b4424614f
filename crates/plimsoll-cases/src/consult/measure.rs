//! Shares of responses in time per number of users: one run of `plimsoll run` with the plan of the case.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::plimsoll_run::run_plimsoll;

/// The generator under use, and the folder of its runs.
pub(super) struct ConsultMeter<'a> {
    pub(super) plimsoll: PathBuf,
    /// The core of the load.
    pub(super) core: usize,
    pub(super) walk: PathBuf,
    pub(super) out: PathBuf,
    pub(super) is_quick: bool,
    pub(super) is_stopped: &'a AtomicBool,
}

/// Shares of all requests.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shares {
    /// Answered within 500 ms.
    pub(super) good: f64,
    /// Within 1,500 ms.
    pub(super) passable: f64,
    /// Within 3,000 ms, after which people leave.
    pub(super) answered: f64,
    /// Good responses per second.
    pub(super) rate: f64,
    /// Of good answers, ms.
    pub(super) mean_ms: Option<f64>,
    /// Why the measurement is void, as reported.
    pub(super) void: Option<String>,
}

impl ConsultMeter<'_> {
    /// Numbers of users that are measured.
    pub(super) fn users(&self) -> &'static [u32] {
        if self.is_quick {
            &[10, 50, 100]
        } else {
            &[10, 25, 50, 75, 100]
        }
    }

    /// A walk of few users, after which the application has all that it makes at its first requests.
    pub(super) fn warm(&self, url: &str) -> Result<()> {
        self.run(url, 5, Duration::ZERO, Duration::from_secs(8))
            .map(|_| ())
    }

    pub(super) fn shares(&self, url: &str, users: u32) -> Result<Shares> {
        // Until all have logged in and gone their first steps.
        let (warmup, measured) = if self.is_quick { (8, 16) } else { (20, 60) };
        let report = self.run(
            url,
            users,
            Duration::from_secs(warmup),
            Duration::from_secs(measured),
        )?;
        Shares::of(&report)
    }

    fn run(&self, url: &str, users: u32, warmup: Duration, measured: Duration) -> Result<Value> {
        let mut words: Vec<OsString> = ["-c", &self.core.to_string()].map(OsString::from).into();
        words.extend([
            self.plimsoll.clone().into(),
            "run".into(),
            self.walk.clone().into(),
            "--target".into(),
            url.into(),
            "--users".into(),
            users.to_string().into(),
            "--for".into(),
            format!("{}s", (warmup + measured).as_secs()).into(),
            "--warmup".into(),
            format!("{}s", warmup.as_secs()).into(),
            "--name".into(),
            format!("consult-{users}").into(),
            "--out".into(),
            self.out.clone().into(),
            "--quiet".into(),
        ]);
        run_plimsoll(Path::new("taskset"), words, self.is_stopped)
    }
}

impl Shares {
    /// From the object of `plimsoll run`.
    fn of(report: &Value) -> Result<Self> {
        let class = |name: &str| {
            report["classes"][name]
                .as_f64()
                .with_context(|| format!("plimsoll run reported no class `{name}`"))
        };
        let (fast, middle, slow) = (class("fast")?, class("middle")?, class("slow")?);
        let all = fast + middle + slow + class("failed")?;
        ensure!(all > 0.0, "no requests were made");
        let completed = report["completed"].as_f64().unwrap_or_default();
        let ok = report["outcomes"]["ok"].as_f64().unwrap_or_default();
        let not_good: f64 = ["wrong_status", "expectation"]
            .iter()
            .filter_map(|name| report["outcomes"][name].as_f64())
            .sum();
        let void = report["void"].as_array().map(|reasons| {
            let reasons: Vec<&str> = reasons.iter().filter_map(Value::as_str).collect();
            reasons.join("; ")
        });
        Ok(Self {
            good: fast / all,
            passable: (fast + middle) / all,
            answered: (fast + middle + slow) / all,
            rate: completed * ok / (ok + not_good).max(1.0),
            mean_ms: report["response_time_ms"]["mean"].as_f64(),
            void,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        let report = serde_json::json!({
            "classes": { "fast": 60, "middle": 20, "slow": 10, "failed": 10 },
            "outcomes": { "ok": 90, "wrong_status": 5, "expectation": 5 }, "completed": 10.0,
            "response_time_ms": { "mean": 700.0 }, "void": null,
        });
        let shares = Shares::of(&report).unwrap();
        let expected = Shares {
            good: 0.6,
            passable: 0.8,
            answered: 0.9,
            rate: 9.0,
            mean_ms: Some(700.0),
            void: None,
        };
        assert_eq!(shares, expected);
        assert!(Shares::of(&serde_json::json!({})).is_err());
    }
}
