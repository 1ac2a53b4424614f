//! Results of `plimsoll run` for a load on a cache.

use std::fmt::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::context::BenchContext;

/// A time in milliseconds; none when nothing was answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Millis(Option<f64>);

impl Millis {
    /// Whether it is known and no more than this.
    pub(super) fn is_at_most(self, limit_ms: f64) -> bool {
        self.0.is_some_and(|ms| ms <= limit_ms)
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(ms) => write!(out, "{ms:.2}"),
            None => out.write_str("–"),
        }
    }
}

/// The part of the report that the chapters read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LoadSummary {
    pub(super) requests: f64,
    /// Answers with 200.
    pub(super) good: f64,
    /// Answered each second.
    pub(super) completed: f64,
    /// Response times of what was answered.
    pub(super) p99: Millis,
    pub(super) p999: Millis,
    pub(super) max: Millis,
    /// Why the generator calls its own measurement void.
    pub(super) void: Option<String>,
}

impl LoadSummary {
    pub(super) fn read(report: &Value) -> Result<Self> {
        let number = |name: &str| {
            report[name]
                .as_f64()
                .with_context(|| format!("the generator reports no {name}"))
        };
        let time = |name: &str| Millis(report["response_time_ms"][name].as_f64());
        Ok(Self {
            requests: number("requests")?,
            good: report["status"]["200"].as_f64().unwrap_or(0.0),
            completed: number("completed")?,
            p99: time("p99"),
            p999: time("p999"),
            max: time("max"),
            void: report["void"].as_str().map(ToOwned::to_owned).or_else(|| {
                let void = &report["void"];
                (!void.is_null()).then(|| void.to_string())
            }),
        })
    }

    /// Share of requests that were answered with 200.
    pub(super) fn good_share(&self) -> f64 {
        self.good / self.requests.max(1.0)
    }

    /// Fails unless the pages came that the measurement stands on.
    pub(super) fn expect_pages(&self) -> Result<()> {
        ensure!(
            self.good_share() > 0.999,
            "only {:.2} % of {} pages came{}",
            self.good_share() * 100.0,
            self.requests,
            self.void
                .as_ref()
                .map_or(String::new(), |void| format!(" (void: {void})"))
        );
        Ok(())
    }
}

/// A file of so many addresses below a folder.
pub(super) fn addresses(ground: &BenchContext, folder: &str, count: u32) -> Result<PathBuf> {
    let path = ground.folder.path().join(format!("{folder}-{count}"));
    let mut text = String::new();
    for number in 0..count {
        writeln!(text, "/{folder}/{number:07}")?;
    }
    std::fs::write(&path, text)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_what_the_generator_tells() {
        let report = json!({
            "requests": 200, "completed": 99.5, "status": { "200": 150, "503": 50 }, "void": null,
            "response_time_ms": { "p50": 0.2, "p99": 1.5, "p999": 3.0, "max": 4.25 },
        });
        let summary = LoadSummary::read(&report).unwrap();
        assert!((summary.good_share() - 0.75).abs() < 1e-9);
        assert_eq!(summary.max.to_string(), "4.25");
        assert!(summary.max.is_at_most(5.0) && !summary.max.is_at_most(4.0));
        assert_eq!(summary.void, None);
        assert!(LoadSummary::read(&json!({ "requests": 1 })).is_err());
        let nothing = LoadSummary::read(&json!({ "requests": 1, "completed": 0.0 })).unwrap();
        assert_eq!(nothing.p99.to_string(), "–");
        assert!(!nothing.p99.is_at_most(1e9));
    }
}
