//! `plimsoll report`: renders the report of a recorded run again.

use plimsoll_lab::run_log::{self, RunLogError};

use crate::arguments::ReportArguments;
use crate::availability;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::outcome::{self, RequestedReports};
use crate::screen::{Screen, eprint};

/// Renders a run. The exit code reports whether rendering succeeded, not the verdict of the run.
pub(crate) fn report(arguments: &ReportArguments, screen: Screen) -> Result<Exit, CliError> {
    let [file] = &arguments.files[..] else {
        return availability::report(arguments, screen);
    };
    let reading = match run_log::read(file) {
        Err(RunLogError::WithoutLoad { .. }) => return availability::report(arguments, screen),
        Err(RunLogError::NotARunLog { .. }) if availability::is_log(file) => {
            return availability::report(arguments, screen);
        }
        reading => reading?,
    };
    if let Some(reason) = &reading.cut {
        eprint(&format!(
            "note: {}: {reason}; everything before it is shown",
            file.display()
        ));
    }
    let html = arguments.html.clone();
    let html = html.unwrap_or_else(|| file.with_extension("html"));
    let wanted = RequestedReports {
        json: arguments.json,
        html: Some(html),
        junit: arguments.junit.clone(),
        history: None,
        cycles: None,
        availability: availability::of_run(&reading.run, arguments.objective.as_ref()),
    };
    outcome::present(&reading.run, file, &wanted, screen)?;
    Ok(Exit::Met)
}
