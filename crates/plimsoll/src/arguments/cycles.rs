//! Arguments of `ledger`, and of the commands that append to it.

use std::path::PathBuf;

use clap::Args;
use plimsoll_config::Problem;

/// Longest description of a change, characters.
const CHANGE_LEN_MAX: usize = 500;

#[derive(Debug, Args)]
pub(crate) struct CyclesArguments {
    /// The record, as given to --ledger
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print the record as one JSON object instead of Markdown
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a command appends to a record.
#[derive(Debug, Args)]
#[command(next_help_heading = "Record of cycles")]
pub(crate) struct CycleTargetArguments {
    /// Append the result to this record of cycles, for `plimsoll ledger`
    #[arg(long = "ledger", value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// What was changed since the measurement before, in words
    #[arg(long, value_name = "TEXT", value_parser = change, requires = "record")]
    pub(crate) change: Option<String>,
}

/// A line that describes a change.
fn change(text: &str) -> Result<String, Problem> {
    let is_short = text.chars().count() <= CHANGE_LEN_MAX;
    if is_short && !text.trim().is_empty() && !text.chars().any(char::is_control) {
        return Ok(text.trim().to_owned());
    }
    Err(Problem::new(
        text,
        0..text.len(),
        "not a description of a change",
        "one line of 1 to 500 characters, such as 'cache pages for 10 s'",
    ))
}
