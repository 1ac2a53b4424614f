//! Arguments of `plimsoll ui`.

use std::path::PathBuf;

use clap::Args;
use plimsoll_live::LiveAddress;

/// The folder to show, and what may be done there.
#[derive(Debug, Args)]
pub(crate) struct UiArguments {
    /// Folder of run files
    #[arg(value_name = "DIR", default_value = "./plimsoll")]
    pub(crate) folder: PathBuf,
    /// Serve the page here [default: 127.0.0.1 and a free port]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<LiveAddress>,
    /// Allow the page to start runs and searches against this URL; repeatable
    #[arg(long, value_name = "TARGET")]
    pub(crate) allow_run: Vec<String>,
}
