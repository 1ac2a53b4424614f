//! Components to watch, and the flags of `watch`.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;

use super::{
    LivePageArguments, MetricsExportArguments, WatchedAgentsArguments, duration_above_zero, within,
};

/// Components to watch besides the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WatchArgument {
    /// Those that the plan names, and those found on this machine.
    Auto,
    /// None, regardless of the plan.
    None,
    /// Those in a file, with the syntax of `watch:` in a plan.
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

/// The service to watch, and for how long.
#[derive(Debug, Args)]
pub(crate) struct WatchArguments {
    /// URL of the service; or a plan file (YAML), of which `target:` and `watch:` are used
    #[arg(value_name = "URL|PLAN")]
    pub(crate) url: Option<String>,
    /// Duration
    #[arg(long = "for", short = 't', value_name = "TIME", value_parser = duration_above_zero, default_value = "10s")]
    pub(crate) lasting: Duration,
    /// Watch nginx, HAProxy, Redis and other components found on this machine (auto), only the target (none), or the
    /// components listed in a file [default: the plan's `watch:`, or auto]
    #[arg(long, value_name = "auto|none|FILE")]
    pub(crate) watch: Option<WatchArgument>,
    /// Process of the service, if it cannot be found by its listening port
    #[arg(long, value_name = "PID", value_parser = within(1..=i32::MAX.unsigned_abs()))]
    pub(crate) pid: Vec<u32>,
    /// Process of the service, by name
    #[arg(long, value_name = "NAME")]
    pub(crate) process: Vec<String>,
    /// Unix socket on which the service listens
    #[arg(long, value_name = "PATH")]
    pub(crate) unix_socket: Option<PathBuf>,
    /// Print the module that exposes metrics of Node.js, and exit: `node --require ./FILE app.js`
    #[arg(long)]
    pub(crate) node_module: bool,
    /// Write each second's readings to this file, too; it can be given to `plimsoll log --cpu`
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) agents: WatchedAgentsArguments,
    #[command(flatten)]
    pub(crate) live_page: LivePageArguments,
    #[command(flatten)]
    pub(crate) export: MetricsExportArguments,
    /// Print the metrics as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
