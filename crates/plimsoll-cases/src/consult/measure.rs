//! Shares of responses in time per number of users: one run of `plimsoll run` with the plan of the case.

use anyhow::{Result, ensure};
use plimsoll_harness::run_report::RunReport;
use plimsoll_harness::template::Values;

use crate::case::Case;

/// The generator under use.
pub(super) struct ConsultMeter<'a> {
    pub(super) case: &'a Case,
    /// The core of the load.
    pub(super) core: usize,
    pub(super) is_quick: bool,
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
        self.run(url, 5, 0, 8).map(|_| ())
    }

    pub(super) fn shares(&self, url: &str, users: u32) -> Result<Shares> {
        // Until all have logged in and gone their first steps.
        let (warmup, measured) = if self.is_quick { (8, 16) } else { (20, 60) };
        Shares::of(&self.run(url, users, warmup, measured)?)
    }

    fn run(&self, url: &str, users: u32, warmup: u32, measured: u32) -> Result<RunReport> {
        let values = Values::default().with("url", url);
        let values = values.with("walk", self.case.folder.join("walk.yaml").display());
        let line = format!(
            "run @walk@ --target @url@ --users {users} --for {}s --warmup {warmup}s --name consult-{users} --quiet",
            warmup + measured
        );
        self.case.run(Some(self.core), &line, &values, &[])
    }
}

impl Shares {
    /// From the object of `plimsoll run`.
    fn of(report: &RunReport) -> Result<Self> {
        let class = |name: &str| report.number(&format!("classes.{name}"));
        let (fast, middle, slow) = (class("fast")?, class("middle")?, class("slow")?);
        let all = fast + middle + slow + class("failed")?;
        ensure!(all > 0.0, "no requests were made");
        let outcome = |name: &str| {
            report
                .known(&format!("outcomes.{name}"))
                .unwrap_or_default()
        };
        let not_good = outcome("wrong_status") + outcome("expectation");
        let (ok, completed) = (outcome("ok"), report.known("completed").unwrap_or_default());
        Ok(Self {
            good: fast / all,
            passable: (fast + middle) / all,
            answered: (fast + middle + slow) / all,
            rate: completed * ok / (ok + not_good).max(1.0),
            mean_ms: report.known("response_time_ms.mean"),
            void: report.void(),
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
        let shares = Shares::of(&RunReport::parse(&report.to_string()).unwrap()).unwrap();
        let expected = Shares {
            good: 0.6,
            passable: 0.8,
            answered: 0.9,
            rate: 9.0,
            mean_ms: Some(700.0),
            void: None,
        };
        assert_eq!(shares, expected);
        assert!(Shares::of(&RunReport::parse("{}").unwrap()).is_err());
    }
}
