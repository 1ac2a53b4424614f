//! What a run gave, by name, and the runs of several subjects in alternating rounds.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Result;

/// Results of one run: named numbers and texts.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    round: u32,
    numbers: BTreeMap<&'static str, f64>,
    texts: BTreeMap<&'static str, String>,
    command: String,
    void: Option<String>,
}

impl Sample {
    /// A run of this command, as a page shows it.
    pub fn of(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            ..Self::default()
        }
    }

    /// Adds a number.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: f64) -> Self {
        self.numbers.insert(name, value);
        self
    }

    /// Adds a number that not every run has.
    #[must_use]
    pub fn with_known(mut self, name: &'static str, value: Option<f64>) -> Self {
        self.numbers.extend(value.map(|value| (name, value)));
        self
    }

    /// Adds a text.
    #[must_use]
    pub fn text(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.texts.insert(name, text.into());
        self
    }

    /// Notes why the generator calls its own measurement void, if it does.
    #[must_use]
    pub fn void(mut self, why: Option<String>) -> Self {
        self.void = why.or(self.void);
        self
    }

    /// A number by its name.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.numbers.get(name).copied()
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = self
            .numbers
            .iter()
            .map(|(name, value)| format!("{name} {value:.3}"));
        let texts = self
            .texts
            .iter()
            .map(|(name, text)| format!("{name} {text}"));
        f.write_str(&numbers.chain(texts).collect::<Vec<_>>().join(", "))
    }
}

/// All runs of one subject, and why there are no more.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    subject: String,
    runs: Vec<Sample>,
    failures: Vec<String>,
}

impl Outcome {
    /// A subject of which there is no run yet.
    pub fn new(subject: &str) -> Self {
        Self {
            subject: subject.to_owned(),
            ..Self::default()
        }
    }

    /// Its id in the data file.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Values of this number, each with its round.
    pub fn numbers(&self, name: &str) -> Vec<(u32, f64)> {
        let runs = self.runs.iter();
        runs.filter_map(|run| Some((run.round, run.number(name)?)))
            .collect()
    }

    /// Whether a run has this number.
    pub fn has_number(&self, name: &str) -> bool {
        self.runs.iter().any(|run| run.number(name).is_some())
    }

    /// The text of the last run.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.runs.last()?.texts.get(name).map(String::as_str)
    }

    /// Commands of its runs.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        self.runs.iter().map(|run| run.command.as_str())
    }

    /// Why runs are missing or void.
    pub fn failures(&self) -> Vec<String> {
        let void: Vec<_> = self
            .runs
            .iter()
            .filter_map(|run| run.void.as_ref())
            .collect();
        let note = void
            .first()
            .map(|why| format!("{} run(s) void: {why}", void.len()));
        self.failures.iter().cloned().chain(note).collect()
    }

    /// Whether it has a run.
    pub fn is_measured(&self) -> bool {
        !self.runs.is_empty()
    }

    /// Takes down a run; whether there was one.
    pub fn take(&mut self, round: u32, result: Result<Sample>) -> bool {
        match result {
            Ok(sample) => {
                println!("  {sample}");
                self.runs.push(Sample { round, ..sample });
                true
            }
            Err(error) => {
                println!("  failed: {error:#}");
                self.failures.push(format!("round {round}: {error:#}"));
                false
            }
        }
    }
}

/// How subjects take turns.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Rounds that count.
    pub count: u32,
    /// A round 0 before them, whose results are dropped.
    pub has_warm_up: bool,
    /// A subject that failed is tried again in the next round, instead of being left out.
    pub retries: bool,
}

impl Rounds {
    /// So many, without a warm-up; who fails is left out.
    pub fn of(count: u32) -> Self {
        Self {
            count,
            has_warm_up: false,
            retries: false,
        }
    }

    /// Runs all subjects in turn, round after round; `measure` receives the subject and the number of the round.
    pub fn alternate(
        self,
        what: &str,
        subjects: &[String],
        mut measure: impl FnMut(&str, u32) -> Result<Sample>,
    ) -> Vec<Outcome> {
        let mut outcomes: Vec<Outcome> = subjects
            .iter()
            .map(|subject| Outcome::new(subject))
            .collect();
        let first = u32::from(!self.has_warm_up);
        for round in first..=self.count {
            for outcome in &mut outcomes {
                if !self.retries && !outcome.failures.is_empty() {
                    continue;
                }
                println!(
                    "{what}, round {round} of {}: {}",
                    self.count, outcome.subject
                );
                let result = measure(&outcome.subject, round);
                if round > 0 || result.is_err() {
                    outcome.take(round, result);
                }
            }
        }
        outcomes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_take_turns_and_one_that_fails_is_left_out() {
        let mut turns = Vec::new();
        let rounds = Rounds {
            has_warm_up: true,
            ..Rounds::of(2)
        };
        let subjects = ["a".to_owned(), "b".to_owned()];
        let outcomes = rounds.alternate("test", &subjects, |subject, round| {
            turns.push(format!("{subject}{round}"));
            anyhow::ensure!(subject != "b" || round == 0, "it ended");
            Ok(Sample::of("a URL").with("x", f64::from(round)))
        });
        assert_eq!(turns, ["a0", "b0", "a1", "b1", "a2"]);
        assert_eq!(outcomes[0].numbers("x"), [(1, 1.0), (2, 2.0)]);
        assert_eq!(outcomes[1].failures(), ["round 1: it ended"]);
        let again = Rounds {
            retries: true,
            ..Rounds::of(2)
        };
        let outcomes = again.alternate("test", &subjects, |_, round| {
            anyhow::ensure!(round == 2, "cold");
            Ok(Sample::default().void(Some("late".to_owned())))
        });
        assert_eq!(
            outcomes[0].failures(),
            ["round 1: cold", "1 run(s) void: late"]
        );
    }
}
