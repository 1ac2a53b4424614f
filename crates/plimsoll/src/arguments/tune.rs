//! Arguments of `tune`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};
use plimsoll_config::Problem;
use plimsoll_config::sentence::{DemandSentence, sentence};

use super::{LivePageArguments, MetricsExportArguments, duration_above_zero};

/// A search for the settings with the highest load line.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own, and any of them may be given"
)]
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("tuned").required(true).args(["file", "discover"]))]
pub(crate) struct TuneArguments {
    /// The experiment file (YAML) with `knobs`; with --apply, also the tuned.yaml of an earlier search
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Write tune.yaml with the knobs of the components behind this URL, the likeliest limit first, and stop; nothing is
    /// measured. --out names its folder
    #[arg(long, value_name = "URL", conflicts_with_all = ["apply", "users"])]
    pub(crate) discover: Option<String>,
    /// Include settings of the kernel, which hold for the whole machine
    #[arg(long, requires = "discover")]
    pub(crate) kernel: bool,
    /// Time of all trials together; enough of it is kept for the confirmation and the last search of the load line
    /// [default: 90m]
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero)]
    pub(crate) within: Option<Duration>,
    /// Make the settings that were found permanent: files and settings of components are changed, the rest is printed.
    /// After a finished search nothing is measured again
    #[arg(long, conflicts_with = "advice")]
    pub(crate) apply: bool,
    /// Print what would be tried and why, and measure nothing
    #[arg(long, visible_alias = "dry-run")]
    pub(crate) advice: bool,
    /// Numbers of users: find the smallest settings that carry each with a margin, and confirm them: users=100,500,2000, or
    /// '3,000 users'
    #[arg(long = "for", value_name = "users=N,…|SENTENCE", value_parser = user_numbers, conflicts_with = "advice")]
    pub(crate) users: Option<UserNumbers>,
    /// Confirm that the target is yours: allows load on public addresses
    #[arg(long)]
    pub(crate) i_own_this: bool,
    /// Go on while others use the service: its access log shows requests that are not those of the trials
    #[arg(long)]
    pub(crate) beside_users: bool,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder for the log, tuned.yaml, the page and the run files [default: ./plimsoll/NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) live_page: LivePageArguments,
    #[command(flatten)]
    pub(crate) export: MetricsExportArguments,
    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Name of the hidden command that puts everything back when a search was killed.
pub(crate) const DEAD_MAN: &str = "dead-man";

/// The search that is watched.
#[derive(Debug, Args)]
pub(crate) struct DeadManArguments {
    /// The experiment file
    pub(crate) file: PathBuf,
    /// Folder of the results
    pub(crate) folder: PathBuf,
}

/// Numbers of users, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserNumbers(pub(crate) Vec<u32>);

/// Most users of a row.
const USERS_MAX: u32 = 10_000_000;
/// Rows of a table at most: each takes up to three trials.
const ROWS_MAX: usize = 32;

/// `users=100,200,500`, or a sentence of users at once.
fn user_numbers(text: &str) -> Result<UserNumbers, Problem> {
    const PREFIX: &str = "users=";
    let valid =
        || format!("{PREFIX} and 1 to {ROWS_MAX} numbers of users, such as users=100,500,2000");
    let Some(list) = text.strip_prefix(PREFIX) else {
        return of_sentence(text, valid());
    };
    let mut numbers = Vec::new();
    let mut at = PREFIX.len();
    for written in list.split(',') {
        let span = at..at + written.len();
        at = span.end + 1;
        match written.trim().parse::<u32>() {
            Ok(number) if (1..=USERS_MAX).contains(&number) => numbers.push(number),
            _ => return Err(Problem::new(text, span, "not a number of users", valid())),
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    if numbers.len() > ROWS_MAX {
        let message = "too many numbers of users";
        return Err(Problem::new(text, 0..text.len(), message, valid()));
    }
    Ok(UserNumbers(numbers))
}

/// A sentence that tells a number of users; how they pause is in the plan.
fn of_sentence(text: &str, valid: String) -> Result<UserNumbers, Problem> {
    let message = match sentence(text) {
        Ok(DemandSentence::Users {
            count, pause: None, ..
        }) => return Ok(UserNumbers(vec![count])),
        Ok(DemandSentence::Users { .. }) => "the plan of the search tells how users pause",
        Ok(_) => "settings are searched for a number of users at once",
        Err(_) => "the numbers of users are missing",
    };
    Err(Problem::new(text, 0..text.len(), message, valid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_users_are_sorted_and_checked() {
        assert_eq!(
            user_numbers("users=500,100,500").unwrap(),
            UserNumbers(vec![100, 500])
        );
        assert_eq!(
            user_numbers("3,000 users at once").unwrap(),
            UserNumbers(vec![3000])
        );
        for wrong in [
            "100,200",
            "3,000 users who pause 5s",
            "200 requests a second",
            "users=",
            "users=0",
            "users=1,x",
            "users=1;2",
        ] {
            assert!(user_numbers(wrong).is_err(), "{wrong}");
        }
        let problem = user_numbers("users=10,ten").unwrap_err();
        assert_eq!(&problem.input[problem.span], "ten");
    }
}
