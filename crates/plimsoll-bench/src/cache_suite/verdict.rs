//! Verdicts of the suite: as it judges its tests itself, with their dependencies.
//!
//! A test is judged twice. On its own, it passes if the client observed everything it expects. But many tests are only
//! meaningful for a cache that passes another test: one that never stores passes "must not reuse". The suite marks such a
//! test as failed in its dependency; the published counts of passed tests ignore that.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// What it means not to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TestKind {
    /// A fault against the specification.
    Required,
    /// Allowed, and dearer than it had to be.
    Optimal,
    /// Nothing: the suite only looks how caches behave.
    Check,
}

/// A test of the suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) id: String,
    pub(super) kind: TestKind,
    pub(super) depends_on: Vec<String>,
    /// Not asked of a proxy.
    pub(super) is_browser_only: bool,
}

impl Test {
    /// Parses our script's list of an edition's tests.
    pub(super) fn list(text: &str) -> Result<Vec<Self>> {
        let tests: Value = serde_json::from_str(text).context("the list of tests is not JSON")?;
        let tests = tests.as_array().context("the list of tests is no list")?;
        tests.iter().map(Self::of).collect()
    }

    fn of(test: &Value) -> Result<Self> {
        let id = test["id"].as_str().context("a test has no id")?;
        let kind = match test["kind"].as_str() {
            Some("required") => TestKind::Required,
            Some("optimal") => TestKind::Optimal,
            Some("check") => TestKind::Check,
            other => bail!("the test {id} is of the unknown kind {other:?}"),
        };
        let depends_on = test["depends_on"].as_array();
        let names = depends_on.into_iter().flatten();
        Ok(Self {
            id: id.to_owned(),
            kind,
            depends_on: names
                .filter_map(Value::as_str)
                .map(ToOwned::to_owned)
                .collect(),
            is_browser_only: test["browser_only"] == true,
        })
    }
}

/// What became of one test, and of what it stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TestVerdict {
    Passed,
    Failed {
        why: String,
    },
    /// Another test that it needs is not passed.
    Dependency {
        id: String,
    },
    /// Client and origin could not talk as the test needs it.
    Setup {
        why: String,
    },
    /// The cache sent two requests to the origin, so the result is unknown.
    Retried,
    /// The client gave up waiting.
    Harness {
        why: String,
    },
    Untested,
}

impl TestVerdict {
    /// In a cell of a table.
    pub(super) fn mark(&self) -> &'static str {
        match self {
            Self::Passed => "yes",
            Self::Failed { .. } => "**no**",
            Self::Dependency { .. } => "depends",
            Self::Setup { .. } => "setup",
            Self::Retried => "retried",
            Self::Harness { .. } => "no answer",
            Self::Untested => "–",
        }
    }

    /// Detailed form, for fixing it.
    pub(super) fn why(&self) -> String {
        match self {
            Self::Passed => "passed".to_owned(),
            Self::Failed { why } => why.clone(),
            Self::Dependency { id } => format!("`{id}`, which it depends on, is not passed"),
            Self::Setup { why } => format!("setup: {why}"),
            Self::Retried => "the origin was asked twice".to_owned(),
            Self::Harness { why } => format!("no answer in time: {why}"),
            Self::Untested => "not run".to_owned(),
        }
    }
}

/// What the client printed for each test: `true`, or the kind of error and its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Results(BTreeMap<String, Option<(String, String)>>);

impl Results {
    /// Reads the client's standard output, which may begin with remarks.
    pub(super) fn read(text: &str) -> Result<Self> {
        let start = text
            .find("\n{")
            .map(|at| at + 1)
            .or_else(|| text.starts_with('{').then_some(0))
            .context("the suite's client printed no results")?;
        let results: Value =
            serde_json::from_str(&text[start..]).context("the suite's results are not JSON")?;
        let results = results
            .as_object()
            .context("the suite's results are no map")?;
        let word =
            |error: &Value, place: usize| error[place].as_str().unwrap_or_default().to_owned();
        Ok(Self(
            results
                .iter()
                .map(|(id, result)| {
                    let error = (result != true).then(|| (word(result, 0), word(result, 1)));
                    (id.clone(), error)
                })
                .collect(),
        ))
    }

    /// What the test shows when it is looked at alone.
    pub(super) fn alone(&self, id: &str) -> TestVerdict {
        let Some(result) = self.0.get(id) else {
            return TestVerdict::Untested;
        };
        let Some((kind, why)) = result else {
            return TestVerdict::Passed;
        };
        let why = why.clone();
        match kind.as_str() {
            "Setup" if why == "retry" => TestVerdict::Retried,
            "Setup" => TestVerdict::Setup { why },
            "AbortError" => TestVerdict::Harness { why },
            _ => TestVerdict::Failed { why },
        }
    }

    /// As the suite judges: only together with all that the test depends on.
    pub(super) fn verdict(&self, tests: &[Test], test: &Test) -> TestVerdict {
        // No chain of dependencies is longer than there are tests; one that is runs in a circle.
        self.verdict_within(tests, test, tests.len())
    }

    fn verdict_within(&self, tests: &[Test], test: &Test, depth: usize) -> TestVerdict {
        let alone = self.alone(&test.id);
        if alone == TestVerdict::Untested || depth == 0 {
            return alone;
        }
        let missing = test.depends_on.iter().find(|id| {
            let needed = tests.iter().find(|other| other.id == **id);
            needed.is_none_or(|needed| {
                self.verdict_within(tests, needed, depth - 1) != TestVerdict::Passed
            })
        });
        match missing {
            Some(id) => TestVerdict::Dependency { id: id.clone() },
            None => alone,
        }
    }

    /// Of a test that does not pass, why it does not by itself; else whether what it depends on passes too.
    pub(super) fn shown(&self, tests: &[Test], test: &Test) -> TestVerdict {
        match self.alone(&test.id) {
            TestVerdict::Passed => self.verdict(tests, test),
            alone => alone,
        }
    }

    /// Passed tests of a kind.
    pub(super) fn count(&self, tests: &[Test], kind: TestKind) -> Count {
        let mut count = Count::default();
        for test in tests.iter().filter(|test| test.kind == kind) {
            count.listed += 1;
            count.run += usize::from(self.0.contains_key(&test.id));
            count.passed_alone += usize::from(self.alone(&test.id) == TestVerdict::Passed);
            count.passed += usize::from(self.verdict(tests, test) == TestVerdict::Passed);
        }
        count
    }

    /// Tests of a kind that a proxy is asked and that are not passed, with what they show by themselves.
    pub(super) fn missed<'a>(
        &self,
        tests: &'a [Test],
        kind: TestKind,
    ) -> Vec<(&'a Test, TestVerdict)> {
        let run = tests
            .iter()
            .filter(|test| test.kind == kind && !test.is_browser_only);
        run.map(|test| (test, self.alone(&test.id)))
            .filter(|(_, verdict)| *verdict != TestVerdict::Passed)
            .collect()
    }
}

/// How many tests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// Each looked at alone, as the published counts are made.
    pub(super) passed_alone: usize,
    /// Together with what they depend on.
    pub(super) passed: usize,
    pub(super) run: usize,
    /// All of the edition's index, with those that are asked of browsers alone.
    pub(super) listed: usize,
}

#[cfg(test)]
mod tests;
