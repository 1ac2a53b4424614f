//! The cost of external scripts.

use plimsoll_model::journey::Scenario;
use plimsoll_model::run::Run;
use plimsoll_model::trial::Percentiles;
use plimsoll_model::window::ProcessWindow;

use super::{MeasuredSpan, percentiles};

/// The processes of one journey, over the judged seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessSummary {
    /// Name of the journey.
    pub journey: String,
    /// Executable and arguments, redacted.
    pub command: String,
    /// Steps from the scripts: requests, pauses and ends of iterations.
    pub steps: u64,
    /// CPU time of the processes for each step, µs; `None` without steps.
    pub cpu_us_per_step: Option<f64>,
    /// How long users waited for them at each step, µs; `None` without steps.
    pub wait_us: Option<Percentiles>,
    /// Invalid or late replies, and lost processes, over the whole run.
    pub errors: u64,
}

impl ProcessSummary {
    /// One for each journey with an external script.
    pub(super) fn all(run: &Run, scenario: &Scenario, spans: &[MeasuredSpan]) -> Vec<Self> {
        let journeys = (0..).zip(&scenario.journeys);
        let with = journeys.filter_map(|(index, journey)| {
            let process = journey.process.as_ref()?;
            Some((index, &journey.name, process.shown()))
        });
        with.map(|(index, name, command)| {
            let mut total = ProcessWindow::default();
            for window in spans.iter().flat_map(|span| span.windows(run)) {
                if let Some(process_window) = window.processes.get(&index) {
                    total.merge(process_window);
                }
            }
            let all = run.windows.iter();
            let process_windows = all.filter_map(|window| window.processes.get(&index));
            Self {
                journey: name.clone(),
                command,
                steps: total.steps,
                cpu_us_per_step: (total.steps > 0)
                    .then(|| total.cpu_us as f64 / total.steps as f64),
                wait_us: percentiles(&total.wait),
                errors: process_windows
                    .map(|process_window| process_window.errors)
                    .sum(),
            }
        })
        .collect()
    }
}
