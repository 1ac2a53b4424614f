//! The wait for workers before the load: with a word of who is missing, an end, and fewer workers where that is allowed.

use std::time::Duration;

use super::{Coordinator, WAIT_MAX, nanoseconds};
use crate::error::WorkersError;

/// Time between two reminders of who is missing.
const REMIND: Duration = Duration::from_secs(30);

/// How it is waited for workers.
#[derive(Clone, Copy, Debug)]
pub struct WaitLimits {
    /// How long, at most.
    pub within: Duration,
    /// The load may begin with so many, when the time is over or no other worker can come; `None` for all of them.
    pub at_least: Option<u32>,
}

impl Default for WaitLimits {
    /// All workers, within ten minutes.
    fn default() -> Self {
        Self {
            within: WAIT_MAX,
            at_least: None,
        }
    }
}

/// Whether the wait goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitControl {
    /// Workers are expected, but for so many that will not come.
    Continue {
        /// Workers that will not come.
        lost: u32,
    },
    /// The user has ended it.
    Stop,
}

/// How a wait has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitOutcome {
    /// All workers are ready.
    All,
    /// So many are ready; the others are left out, and each of these has a larger part.
    Fewer(u32),
    /// The user has ended it.
    Stopped,
}

/// What is asked meanwhile, with the names of the workers that are ready.
pub struct WaitHooks<'a> {
    /// Takes what the user must know.
    pub report: &'a dyn Fn(&str),
    /// Whether it goes on.
    pub control: &'a dyn Fn(&[String]) -> WaitControl,
    /// Who is missing, and why; nothing where that is not known.
    pub missing: &'a dyn Fn(&[String]) -> Vec<String>,
}

impl Coordinator {
    /// Names of the workers that are ready.
    pub fn ready_names(&self) -> Vec<String> {
        self.0.shared.lock().ready_names()
    }

    /// Waits until all workers are ready, or as many as are enough.
    ///
    /// # Errors
    /// When one of them cannot carry its part, or too few are ready in time.
    pub fn wait_for(
        &self,
        limits: WaitLimits,
        hooks: &WaitHooks<'_>,
    ) -> Result<WaitOutcome, WorkersError> {
        let shared = &self.0.shared;
        let start_ns = shared.clock.now_ns();
        let until_ns = start_ns.saturating_add(nanoseconds(limits.within));
        let mut remind_ns = start_ns + nanoseconds(REMIND);
        loop {
            let mut state = shared.lock();
            let (news, ready) = (state.take_news(), state.ready_names());
            let (problem, is_ready) = (state.problem(), state.is_ready());
            let wanted = state.workers();
            // A terminal that is slow must not hold up the workers.
            drop(state);
            for text in news {
                (hooks.report)(&text);
            }
            if let Some(problem) = problem {
                return Err(problem);
            }
            if is_ready {
                return Ok(WaitOutcome::All);
            }
            let lost = match (hooks.control)(&ready) {
                WaitControl::Stop => return Ok(WaitOutcome::Stopped),
                WaitControl::Continue { lost } => lost.min(wanted),
            };
            let now_ns = shared.clock.now_ns();
            let count = u32::try_from(ready.len()).unwrap_or(u32::MAX);
            let enough = limits.at_least.unwrap_or(wanted);
            let is_complete = lost > 0 && count >= wanted - lost;
            let is_hopeless = wanted - lost < enough;
            if is_hopeless || is_complete || now_ns >= until_ns {
                if count >= enough && !is_hopeless {
                    let left = shared.lock().leave_out_missing();
                    // Another one may have left meanwhile.
                    return if left >= enough {
                        Ok(WaitOutcome::Fewer(left))
                    } else {
                        Err(WorkersError::Left)
                    };
                }
                let waited_ns = now_ns - start_ns;
                return Err(missing(&ready, wanted, waited_ns, hooks));
            }
            if now_ns >= remind_ns {
                remind_ns = now_ns + nanoseconds(REMIND);
                remind(&ready, wanted, until_ns - now_ns, hooks);
            }
            drop(shared.wait(shared.lock()));
        }
    }
}

/// Names those that are missing, in an error.
fn missing(ready: &[String], wanted: u32, waited_ns: u64, hooks: &WaitHooks<'_>) -> WorkersError {
    let names = list(&(hooks.missing)(ready));
    WorkersError::Missing {
        joined: u32::try_from(ready.len()).unwrap_or(u32::MAX),
        wanted,
        waited: time(waited_ns),
        who: if names.is_empty() {
            names
        } else {
            format!("; missing{names}")
        },
    }
}

fn remind(ready: &[String], wanted: u32, left_ns: u64, hooks: &WaitHooks<'_>) {
    let missing = wanted.saturating_sub(u32::try_from(ready.len()).unwrap_or(u32::MAX));
    let who = list(&(hooks.missing)(ready));
    let left = time(left_ns);
    (hooks.report)(&format!(
        "waiting for {missing} of {wanted} workers{who}; {left} left, Ctrl-C ends it"
    ));
}

/// Those that an error names at most.
const NAMED_MAX: usize = 8;

/// `: eu1 (logging in), us1 (sending the program, 34 %) and 3 more`; nothing without names.
fn list(names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let shown = names[..names.len().min(NAMED_MAX)].join(", ");
    match names.len().saturating_sub(NAMED_MAX) {
        0 => format!(": {shown}"),
        more => format!(": {shown} and {more} more"),
    }
}

/// `9 min 30 s`, `30 s`.
fn time(ns: u64) -> String {
    let seconds = Duration::from_nanos(ns).as_secs();
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_names_are_short() {
        let texts = [0, 59, 60, 570].map(|seconds| time(seconds * 1_000_000_000));
        assert_eq!(texts, ["0 s", "59 s", "1 min", "9 min 30 s"]);
        assert_eq!(list(&[]), "");
        let names: Vec<String> = (1..=10).map(|number| format!("eu{number}")).collect();
        assert_eq!(list(&names[..2]), ": eu1, eu2");
        assert!(list(&names).ends_with("eu8 and 2 more"));
    }
}
