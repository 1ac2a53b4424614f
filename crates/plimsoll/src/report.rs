//! `plimsoll report`: renders the report of a recorded run again.

use plimsoll_lab::run_log;

use crate::arguments::ReportArguments;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::outcome::{self, RequestedReports};
use crate::screen::{Screen, eprint};

/// Renders a run. The exit code reports whether rendering succeeded, not the verdict of the run.
pub(crate) fn report(arguments: &ReportArguments, screen: Screen) -> Result<Exit, CliError> {
    let reading = run_log::read(&arguments.file)?;
    if let Some(reason) = &reading.cut {
        eprint(&format!(
            "note: {}: {reason}; everything before it is shown",
            arguments.file.display()
        ));
    }
    let html = arguments
        .html
        .clone()
        .unwrap_or_else(|| arguments.file.with_extension("html"));
    let wanted = RequestedReports {
        json: arguments.json,
        html: Some(html),
        junit: arguments.junit.clone(),
    };
    outcome::present(&reading.run, &arguments.file, &wanted, screen)?;
    Ok(Exit::Met)
}
