//! What is looked at, and the flags of `watch`.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;

use super::duration_above_zero;

/// What else is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WatchArgument {
    /// What the plan names, and what is found on this machine.
    Auto,
    /// Nothing, whatever the plan says.
    None,
    /// What a file says, as it would stand behind `watch:` in a plan.
    File(PathBuf),
}

impl FromStr for WatchArgument {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "auto" => Self::Auto,
            "none" => Self::None,
            path => Self::File(path.into()),
        })
    }
}

/// What is looked at, and for how long.
#[derive(Debug, Args)]
pub(crate) struct WatchArguments {
    /// The service; or a plan file (YAML), whose `target:` and `watch:` are looked at
    #[arg(value_name = "URL|PLAN")]
    pub(crate) url: Option<String>,
    /// How long
    #[arg(long = "for", short = 't', value_name = "TIME", value_parser = duration_above_zero, default_value = "10s")]
    pub(crate) lasting: Duration,
    /// Look for nginx, HAProxy, Redis and more on this machine (auto), look at the target alone (none), or at what a file
    /// names [default: the plan's `watch:`, or auto]
    #[arg(long, value_name = "auto|none|FILE")]
    pub(crate) watch: Option<WatchArgument>,
    /// Its process, when it cannot be found by the port it listens on
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Vec<u32>,
    /// Its process by name
    #[arg(long, value_name = "NAME")]
    pub(crate) process: Vec<String>,
    /// The socket on which it listens
    #[arg(long, value_name = "PATH")]
    pub(crate) unix_socket: Option<PathBuf>,
    /// Print the module that lets Node be watched, and do nothing else: `node --require ./FILE app.js`
    #[arg(long)]
    pub(crate) node_module: bool,
    /// Print the readings as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
