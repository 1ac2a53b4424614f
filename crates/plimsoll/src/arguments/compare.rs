//! Flags of `compare`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use plimsoll_model::objective::Objective;

use super::{
    CommandWords, CycleTargetArguments, HistoryTargetArguments, LivePageArguments,
    MetricsExportArguments, command_words, duration_above_zero, margin, objective, rate_above_zero,
    seed,
};

/// What is compared, and how the result is written.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("sides").args(["base", "base_url", "git"]))]
pub(crate) struct CompareArguments {
    /// Run files, the first is the baseline of all others; or, to run trials in turn, a URL or a plan file (YAML)
    #[arg(value_name = "RUN|URL|PLAN", required_unless_present = "base_url")]
    pub(crate) what: Vec<String>,
    /// A difference that does not matter; `same` means that none is larger
    #[arg(long, value_name = "SHARE", default_value = "3%", value_parser = margin)]
    pub(crate) margin: f64,
    /// Compare different classes of machines or numbers of cores on purpose: no result is a regression then
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "sides")]
    pub(crate) across: Option<Across>,
    #[command(flatten)]
    pub(crate) cycles: CycleTargetArguments,
    #[command(flatten)]
    pub(crate) history: HistoryTargetArguments,
    #[command(flatten)]
    pub(crate) live: LiveArguments,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Write an HTML page [default: report.html in the folder of the trials; for run files, none]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Folder for the log, the page and the run files of trials; a comparison that was killed there goes on [default: a new
    /// folder in ./plimsoll]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) live_page: LivePageArguments,
    #[command(flatten)]
    pub(crate) export: MetricsExportArguments,
    /// Print no progress
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// Trials in turn.
#[derive(Debug, Args)]
#[command(next_help_heading = "Trials in turn")]
pub(crate) struct LiveArguments {
    /// Start the baseline with this command: a program with its arguments, run without a shell
    #[arg(long, value_name = "COMMAND", value_parser = command_words, requires = "head")]
    pub(crate) base: Option<CommandWords>,
    /// Start the candidate with this command
    #[arg(long, value_name = "COMMAND", value_parser = command_words, requires = "base")]
    pub(crate) head: Option<CommandWords>,
    /// The baseline runs at this URL
    #[arg(long, value_name = "URL", requires = "head_url")]
    pub(crate) base_url: Option<String>,
    /// The candidate runs at this URL
    #[arg(long, value_name = "URL", requires = "base_url")]
    pub(crate) head_url: Option<String>,
    /// Two revisions of the Git repository in this folder, such as v1.4..main: each is checked out, built and started
    #[arg(long, value_name = "A..B", value_parser = revisions, requires = "start")]
    pub(crate) git: Option<Revisions>,
    /// Build a revision with this command, in its checkout
    #[arg(long, value_name = "COMMAND", value_parser = command_words, requires = "git")]
    pub(crate) build: Option<CommandWords>,
    /// Start a revision with this command, in its checkout
    #[arg(long, value_name = "COMMAND", value_parser = command_words, requires = "git")]
    pub(crate) start: Option<CommandWords>,
    /// When a started service is ready: a URL that answers well, or an address that accepts connections [default: the
    /// address of the target]
    #[arg(long, value_name = "URL|ADDRESS", requires = "sides")]
    pub(crate) ready: Option<String>,
    /// Longest wait for that
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero, default_value = "60s", requires = "sides")]
    pub(crate) ready_within: Duration,
    /// Load of each trial, arrivals per second [default: that of the plan; without one, a load that rises until the
    /// objective breaks, so that load lines are compared]
    #[arg(long, value_name = "RATE", value_parser = rate_above_zero, requires = "sides")]
    pub(crate) rate: Option<f64>,
    /// Duration of the load of each trial [default: 6s at a rate, the first of them not judged; 12s while the load rises]
    #[arg(long = "for", value_name = "TIME", value_parser = duration_above_zero, requires = "sides")]
    pub(crate) lasting: Option<Duration>,
    /// Objective that defines the load line [default: that of the plan, or p95 < 500ms, errors < 1%]
    #[arg(long, value_name = "OBJECTIVE", value_parser = objective, requires = "sides")]
    pub(crate) objective: Option<Objective>,
    /// Longest time of all trials together
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero, default_value = "10m", requires = "sides")]
    pub(crate) within: Duration,
    /// Seed of the order of trials and of their loads [default: a new one]
    #[arg(long, value_name = "N", value_parser = seed, requires = "sides")]
    pub(crate) seed: Option<u64>,
    /// Confirm that the target is yours: allows load on a public address
    #[arg(long, requires = "sides")]
    pub(crate) i_own_this: bool,
}

impl LiveArguments {
    /// Whether trials are requested.
    pub(crate) fn is_given(&self) -> bool {
        self.base.is_some() || self.base_url.is_some() || self.git.is_some()
    }
}

/// What may differ on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Across {
    /// Processor, cores and memory
    Machines,
}

/// Two revisions of a Git repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Revisions {
    pub(crate) base: String,
    pub(crate) head: String,
}

fn revisions(text: &str) -> Result<Revisions, String> {
    let valid = || "valid: two revisions, such as v1.4..main or HEAD~1..HEAD".to_owned();
    let (base, head) = text.split_once("..").ok_or_else(valid)?;
    // Git would take a leading `-` for one of its flags, and three dots for something else.
    let is_valid = |name: &str| !name.is_empty() && !name.starts_with(['-', '.']);
    if is_valid(base) && is_valid(head) {
        let (base, head) = (base.to_owned(), head.to_owned());
        Ok(Revisions { base, head })
    } else {
        Err(valid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_two_names() {
        let parsed = revisions("HEAD~1..HEAD").unwrap();
        assert_eq!(
            (parsed.base.as_str(), parsed.head.as_str()),
            ("HEAD~1", "HEAD")
        );
        for wrong in ["main", "..main", "main..", "a...b", "--help..main"] {
            assert!(revisions(wrong).is_err(), "{wrong}");
        }
    }
}
