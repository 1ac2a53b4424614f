//! An agent that is sent to another machine over the user's own `ssh`, and gone when the connection ends.

use std::io::Write as _;
use std::sync::Arc;

use plimsoll_model::ssh::SshDestination;
use plimsoll_ssh::{SentProgram, SshError, SshReport, SshRequest, ThisProgram};

use super::connection::SILENCE_MAX;

/// Sends this program there and starts it as an agent, which speaks over its standard input and output.
pub(super) fn start(destination: &SshDestination) -> Result<SentProgram, SshError> {
    let name = destination.to_string();
    let report: SshReport = Arc::new(move |line: &str| {
        // For the user, as `ssh` itself would print it.
        let _ = writeln!(std::io::stderr().lock(), "{name}: {line}");
    });
    let sent = SentProgram::start(
        &ThisProgram::read()?,
        &SshRequest {
            destination,
            arguments: &["agent", "--stdio"],
            forward: None,
            report,
            progress: &|_, _| {},
            opened: &|_| {},
        },
    )?;
    sent.socket()
        .set_write_timeout(Some(SILENCE_MAX))
        .map_err(SshError::Start)?;
    Ok(sent)
}
