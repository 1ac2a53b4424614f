//! When a run ends early: its aborts, watched second by second.
//!
//! A pure function of the windows, so that the laboratory, which stops the run, and the report, which explains it,
//! agree.

use std::collections::VecDeque;

use plimsoll_model::histogram::Histogram;
use plimsoll_model::journey::Abort;
use plimsoll_model::objective::Answers;
use plimsoll_model::run::Run;
use plimsoll_model::window::Window;

/// An abort that was hit.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Seconds of run time that had passed.
    pub second: u32,
    /// Which.
    pub abort: Abort,
}

impl std::fmt::Display for Hit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "ended early after {} s: all answers of the last {} s together missed {}",
            self.second,
            self.abort.over.as_secs_f64(),
            self.abort.objective
        )
    }
}

/// Watches for the first abort that is hit.
#[derive(Clone, Debug)]
pub struct AbortWatch {
    aborts: Vec<Abort>,
    /// Good answers and failures of the latest seconds, oldest first.
    seconds: VecDeque<(Histogram, u64)>,
    /// Seconds kept: the longest look-back of an abort.
    lookback: usize,
}

impl AbortWatch {
    /// Watches for `aborts`.
    pub fn new(aborts: &[Abort]) -> Self {
        Self {
            aborts: aborts.to_vec(),
            seconds: VecDeque::new(),
            lookback: aborts.iter().map(seconds_of).max().unwrap_or(0),
        }
    }

    /// Records the next second. An abort fires when its whole look-back is recorded, a request ended in it, and its
    /// objective is missed.
    pub fn record(&mut self, window: &Window) -> Option<Hit> {
        if self.lookback == 0 {
            return None;
        }
        if self.seconds.len() == self.lookback {
            self.seconds.pop_front();
        }
        let failed = window.outcomes.failed();
        self.seconds.push_back((window.response.clone(), failed));
        let abort = self.aborts.iter().find(|abort| self.is_hit(abort))?;
        Some(Hit {
            second: window.second + 1,
            abort: abort.clone(),
        })
    }

    fn is_hit(&self, abort: &Abort) -> bool {
        let length = seconds_of(abort);
        if self.seconds.len() < length {
            return false;
        }
        let (mut good, mut failed) = (Histogram::new(), 0);
        for (response, failures) in self.seconds.iter().rev().take(length) {
            good.merge(response);
            failed += failures;
        }
        let answers = Answers {
            good: &good,
            failed,
        };
        answers.total() > 0 && !abort.objective.holds(answers)
    }
}

/// Whole seconds of an abort's look-back, at least one.
fn seconds_of(abort: &Abort) -> usize {
    let seconds = abort.over.as_secs() + u64::from(abort.over.subsec_nanos() > 0);
    usize::try_from(seconds).unwrap_or(usize::MAX).max(1)
}

/// The abort that ended a plain run early; `None` when none did.
pub fn first_hit(run: &Run) -> Option<Hit> {
    let scenario = run.header.plan.scenario.as_ref()?;
    if crate::summary::is_search(run) {
        return None;
    }
    let mut watch = AbortWatch::new(&scenario.aborts);
    run.windows.iter().find_map(|window| watch.record(window))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_model::objective::Objective;
    use plimsoll_model::outcome::Outcome;

    use super::*;

    fn window(second: u32, good: u64, failed: u64) -> Window {
        let mut window = Window::new(second);
        window.response.record(1000, good);
        window.outcomes.add_many(Outcome::Ok, good);
        window.outcomes.add_many(Outcome::Timeout, failed);
        window
    }

    #[test]
    fn an_abort_looks_back_over_its_whole_length() {
        let abort = Abort {
            objective: Objective {
                latency: Vec::new(),
                errors_max: Some(0.5),
                ..Objective::default()
            },
            over: Duration::from_secs(3),
        };
        let mut watch = AbortWatch::new(std::slice::from_ref(&abort));
        // One bad second at the start proves nothing: later seconds may compensate for it.
        assert_eq!(watch.record(&window(0, 0, 10)), None);
        assert_eq!(watch.record(&window(1, 10, 0)), None);
        assert_eq!(watch.record(&window(2, 10, 0)), None);
        assert_eq!(watch.record(&window(3, 2, 8)), None);
        let hit = watch.record(&window(4, 0, 10)).unwrap();
        assert_eq!((hit.second, &hit.abort), (5, &abort));
        assert_eq!(
            hit.to_string(),
            "ended early after 5 s: all answers of the last 3 s together missed errors < 50%"
        );
    }

    #[test]
    fn silence_hits_nothing() {
        let abort = Abort {
            objective: Objective {
                latency: Vec::new(),
                errors_max: Some(0.0),
                ..Objective::default()
            },
            over: Duration::from_millis(1),
        };
        let mut watch = AbortWatch::new(&[abort]);
        assert_eq!(watch.record(&window(0, 0, 0)), None);
        assert!(watch.record(&window(1, 0, 1)).is_some());
        assert_eq!(AbortWatch::new(&[]).record(&window(0, 0, 1)), None);
    }
}
