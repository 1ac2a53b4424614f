//! Validates what compiling a scenario takes for granted.

use plimsoll_model::journey::{STEPS_MAX, Scenario};

use crate::error::LoadError;

/// Most processes of one journey per event loop.
const PROCESSES_MAX: u32 = 64;

/// # Errors
/// When a number of the scenario is out of its range.
pub(super) fn check(scenario: &Scenario) -> Result<(), LoadError> {
    let plan_error = |place, found: String, range| {
        Err(LoadError::Plan {
            place,
            found,
            range,
        })
    };
    if scenario.journeys.is_empty() {
        return plan_error("number of journeys", "0".to_owned(), "at least 1");
    }
    for process in scenario
        .journeys
        .iter()
        .filter_map(|journey| journey.process.as_ref())
    {
        if process.command.is_empty() {
            return plan_error("command of a process", "empty".to_owned(), "a program");
        }
        if !(1..=PROCESSES_MAX).contains(&process.count) {
            let found = process.count.to_string();
            return plan_error("processes per event loop", found, "1 to 64");
        }
        if process.timeout.is_zero() {
            return plan_error("timeout of a process", "0".to_owned(), "above 0");
        }
    }
    if scenario.steps.len() > STEPS_MAX {
        return plan_error(
            "number of steps",
            scenario.steps.len().to_string(),
            "1 to 1000",
        );
    }
    Ok(())
}
