//! The program that is killed: applies a cell, stops it, and begins again.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use plimsoll_lab::service::ExperimentServices;

use crate::fixture::{context, read};

/// First argument of the program.
pub(crate) const WORD: &str = "apply";

/// The experiment file, its folder, and the folder of the results as arguments. Each step is a line of output.
pub(crate) fn apply(arguments: &[String]) -> ExitCode {
    let [file, base, results] = arguments else {
        return ExitCode::FAILURE;
    };
    let base = Path::new(base);
    let experiment = read(&fs::read_to_string(file).unwrap(), base);
    println!("begun");
    let mut services =
        ExperimentServices::open(experiment, context(base, Path::new(results))).unwrap();
    println!("opened");
    for cell in [0, 1].into_iter().cycle() {
        let mut service = services.apply(cell).unwrap();
        println!("applied");
        service.ready().unwrap();
        println!("ready");
        service.stop().unwrap();
        println!("stopped");
    }
    ExitCode::SUCCESS
}
