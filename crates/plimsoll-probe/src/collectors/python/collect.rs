//! A Python program, by samples of its stacks: py-spy reads them from outside. It pauses the program for the
//! milliseconds that this takes: stacks read from a running program are often inconsistent.

use std::collections::BTreeMap;

use plimsoll_model::component::ComponentAddress;
use plimsoll_model::metric;

use super::parse::stacks;
use crate::collectors::command::run;
use crate::collectors::link::{ComponentLink, ScrapeError, shortly};
use crate::collectors::metrics::{MetricsRecorder, Sink};
use crate::collectors::{Collected, Scraper};
use crate::names::BoundedNames;

/// Distinct calls at most.
const CALLS_MAX: usize = 16;

/// A program in Python.
#[derive(Debug)]
pub(crate) struct PythonCollector {
    /// The command, by words.
    command: Vec<String>,
    /// A sample costs the CPU time of starting py-spy: only every second second has one.
    is_resting: bool,
    /// Calls observed so far: one without threads now is recorded as zero, not as a gap.
    calls: BoundedNames,
}

impl PythonCollector {
    pub(crate) fn new(place: &ComponentAddress) -> Self {
        let command = match place {
            ComponentAddress::Command(command) => command.as_str(),
            _ => "",
        };
        Self {
            command: command.split_whitespace().map(str::to_owned).collect(),
            is_resting: false,
            calls: BoundedNames::up_to(CALLS_MAX),
        }
    }

    fn record(&mut self, text: &str, metrics: &mut MetricsRecorder<'_>) -> Collected {
        let stacks = stacks(text).ok_or_else(|| ScrapeError::Strange(shortly(text)))?;
        let mut at_work: BTreeMap<&str, u32> = BTreeMap::new();
        for call in stacks.iter().filter(|stack| stack.is_active) {
            *at_work.entry(call.call.as_str()).or_default() += 1;
        }
        for call in at_work.keys().filter(|call| !call.is_empty()) {
            self.calls.see(call);
        }
        let count = |is: fn(&super::parse::ThreadStack) -> bool| {
            let own = stacks.iter().filter(|stack| is(stack));
            Some(f64::from(u32::try_from(own.count()).unwrap_or(u32::MAX)))
        };
        for (state, threads) in [
            ("active", count(|stack| stack.is_active)),
            ("idle", count(|stack| !stack.is_active)),
            ("lock", count(|stack| stack.has_lock)),
        ] {
            metrics.level(metric::PYTHON_THREADS, &[("state", state)], threads);
        }
        for call in self.calls.iter() {
            let threads = at_work.get(call).copied().unwrap_or(0);
            let labels = [("of", call)];
            metrics.level(metric::PYTHON_CALLS, &labels, Some(f64::from(threads)));
        }
        Ok(())
    }
}

impl Scraper for PythonCollector {
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        self.is_resting = !self.is_resting;
        if !self.is_resting {
            return Ok(());
        }
        let text = run(&self.command, link.patience()?)?;
        self.record(&text, sink.answered())
    }

    fn remedy(&self, _: &ScrapeError) -> String {
        "install py-spy (`pip install py-spy`) and run as root, or as the program's user where \
         `kernel.yama.ptrace_scope` is 0; `watch: { python: PID }` runs `py-spy dump --json --subprocesses --pid \
         PID`; another command can be given instead"
            .to_owned()
    }
}
