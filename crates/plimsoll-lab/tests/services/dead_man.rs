//! The process that puts everything back when the program that applies is gone.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use plimsoll_lab::service::ExperimentServices;
use plimsoll_lab::service::deadman::{DeadManWatch, ProgramEnd};

use crate::fixture::{context, read};

/// First argument of the process.
pub(crate) const WORD: &str = "dead-man";

/// The experiment file, its folder, and the folder of the results as arguments.
pub(crate) fn watch(arguments: &[String]) -> ExitCode {
    let [file, base, results] = arguments else {
        return ExitCode::FAILURE;
    };
    let mut watch = DeadManWatch::begin().unwrap();
    let base = Path::new(base);
    let experiment = read(&fs::read_to_string(file).unwrap(), base);
    watch.ready().unwrap();
    let end = watch.wait();
    println!("{end:?}");
    if end == ProgramEnd::Done {
        return ExitCode::SUCCESS;
    }
    match ExperimentServices::open(experiment, context(base, Path::new(results))) {
        Ok(services) => {
            println!("{:?}", services.restored());
            services.close().unwrap();
            ExitCode::SUCCESS
        }
        Err(fault) => {
            println!("{fault}");
            ExitCode::FAILURE
        }
    }
}
