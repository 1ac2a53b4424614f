//! `cargo xtask case NAME`: the case studies on real software, started, measured with each fault, and stopped.

mod exchange;
mod server;
mod tutor;

use anyhow::Result;
use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Case {
    /// The programming tutor: how many users it carries with each fault of the study, and without
    Tutor(tutor::TutorArguments),
}

pub(crate) fn run(case: &Case) -> Result<()> {
    let Case::Tutor(arguments) = case;
    tutor::run(arguments)
}
