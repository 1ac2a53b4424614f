//! Tasks that are programs of their own: cargo builds them, and they take the place of this process.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::Result;
use clap::{Arg, ArgAction, value_parser};
use plimsoll_harness::workspace::{Workspace, cargo};

/// The arguments of such a task: anything, also `--help`, which the program explains.
pub(crate) fn arguments() -> Arg {
    Arg::new("arguments")
        .value_name("ARGUMENTS")
        .help("Passed on to the program of this task; `--help` lists them")
        .action(ArgAction::Append)
        .value_parser(value_parser!(OsString))
        .trailing_var_arg(true)
        .allow_hyphen_values(true)
}

/// Returns only if something fails: otherwise this process is the program of the package, with its exit code and its
/// signals. It receives the task and its arguments as they were given: clap would drop a `--` before them.
pub(crate) fn run(package: &str) -> Result<Infallible> {
    let error = program(&Workspace::find()?, package)
        .args(std::env::args_os().skip(1))
        .exec();
    Err(anyhow::Error::new(error).context("cannot run cargo"))
}

/// Cargo, which builds the program of a package and runs it with the arguments that are added.
fn program(workspace: &Workspace, package: &str) -> Command {
    let mut command = cargo();
    command
        .args(["run", "--quiet", "--locked", "--package", package])
        .arg("--manifest-path")
        .arg(workspace.root().join("Cargo.toml"))
        .arg("--");
    command
}
