//! Arguments of `history`.

use std::path::PathBuf;

use clap::Args;
use plimsoll_config::Problem;

use super::within;

/// Most runs in which a change counts as recent.
const RECENT_MAX: u32 = 1_000;
/// Largest window of the search for changes, runs.
const WINDOW_MAX: u32 = 500;

#[derive(Debug, Args)]
pub(crate) struct HistoryArguments {
    /// Folder of the history, as given to `--history` of the runs
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Exit with 3 if a metric became worse, 4 if nothing was compared or a run must be repeated, 6 if the newest run is void
    #[arg(long)]
    pub(crate) gate: bool,
    /// Only runs of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// A change for the worse fails the gate while its first run is among this many newest runs; older levels are accepted
    #[arg(long, value_name = "RUNS", value_parser = within(1..=RECENT_MAX), default_value = "20", help_heading = "Changes")]
    pub(crate) recent: u32,
    /// Highest p-value of a change
    #[arg(long, value_name = "P", value_parser = probability, default_value = "0.001", help_heading = "Changes")]
    pub(crate) p_max: f64,
    /// Smallest change, as a share of the level before
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "3%", help_heading = "Changes")]
    pub(crate) min_change: f64,
    /// Runs that are looked at together
    #[arg(long, value_name = "RUNS", value_parser = within(2..=WINDOW_MAX), default_value = "50", help_heading = "Changes")]
    pub(crate) window: u32,
    /// Print the result as one JSON object
    #[arg(long, conflicts_with = "markdown", help_heading = "Output")]
    pub(crate) json: bool,
    /// Print the result as Markdown, for the summary of a job or a note on a merge request
    #[arg(long, help_heading = "Output")]
    pub(crate) markdown: bool,
    /// Write a JUnit file for CI
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) junit: Option<PathBuf>,
    /// Write a page with a chart for each metric
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
}

/// What a command appends to a history.
#[derive(Debug, Args)]
pub(crate) struct HistoryTargetArguments {
    /// Append the result to the history in this folder, one line a run, for `plimsoll history`
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) history: Option<PathBuf>,
    /// Commit of the service, for --history and --ledger [default: HEAD of the working folder]
    #[arg(long, value_name = "ID", value_parser = commit, help_heading = "Output")]
    pub(crate) commit: Option<String>,
}

/// A probability between 0 and 1.
fn probability(text: &str) -> Result<f64, Problem> {
    let number = text.parse().ok().filter(|p| 0.0 < *p && *p < 1.0);
    number.ok_or_else(|| {
        Problem::new(
            text,
            0..text.len(),
            "not a probability",
            "a number between 0 and 1, such as 0.01",
        )
    })
}

/// A share of a level: `3%` or `0.03`.
fn share(text: &str) -> Result<f64, Problem> {
    let (digits, divisor) = text
        .strip_suffix('%')
        .map_or((text, 1.0), |digits| (digits, 100.0));
    let number: Option<f64> = digits.trim().parse().ok();
    let number = number.map(|number| number / divisor);
    number
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| {
            Problem::new(
                text,
                0..text.len(),
                "not a share",
                "a share from 0% to 100%, such as 3%",
            )
        })
}

/// A commit or another name of a version.
pub(crate) fn commit(text: &str) -> Result<String, Problem> {
    const LEN_MAX: usize = 100;
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-+".contains(&byte);
    if !text.is_empty() && text.len() <= LEN_MAX && text.bytes().all(is_known) {
        return Ok(text.to_owned());
    }
    Err(Problem::new(
        text,
        0..text.len(),
        "not a commit",
        "1 to 100 letters, digits and `._/-+`, such as 4e1f0c2",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_ranges() {
        assert_eq!(share("3%"), Ok(0.03));
        assert_eq!(share("0.25"), Ok(0.25));
        assert_eq!(probability("0.01"), Ok(0.01));
        assert_eq!(commit("v1.2/rc-3"), Ok("v1.2/rc-3".to_owned()));
        for wrong in ["", "x", "-1%", "101%", "NaN"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        for wrong in ["0", "1", "x", "inf", "NaN"] {
            assert!(probability(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "a b", "a\n", "|"] {
            assert!(commit(wrong).is_err(), "{wrong}");
        }
        assert!(commit(&"a".repeat(101)).is_err());
    }
}
