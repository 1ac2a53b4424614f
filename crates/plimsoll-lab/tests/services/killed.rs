//! The program that is killed: applies a cell, stops it, and begins again.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use plimsoll_lab::service::ExperimentServices;
use plimsoll_lab::service::deadman::{DeadMan, DeadManSpec};

use crate::dead_man;
use crate::fixture::{context, own, read};

/// First argument of the program.
pub(crate) const WORD: &str = "apply";

/// The experiment file, its folder, and the folder of the results as arguments; also, with a dead-man process, the longest
/// time of a trial, ms. Each step is a line of output.
pub(crate) fn apply(arguments: &[String]) -> ExitCode {
    let [file, base, results, longest_trial @ ..] = arguments else {
        return ExitCode::FAILURE;
    };
    let base = Path::new(base);
    let experiment = read(&fs::read_to_string(file).unwrap(), base);
    println!("begun");
    let mut services =
        ExperimentServices::open(experiment, context(base, Path::new(results))).unwrap();
    println!("opened");
    let mut dead_man = longest_trial.first().map(|longest_trial| {
        let dead_man = DeadMan::start(DeadManSpec {
            program: own(),
            arguments: [dead_man::WORD, file, &base.display().to_string(), results]
                .map(Into::into)
                .to_vec(),
            folder: results.into(),
            longest_trial: Duration::from_millis(longest_trial.parse().unwrap()),
        });
        let dead_man = dead_man.unwrap();
        println!("dead-man process {}", dead_man.id());
        dead_man
    });
    for cell in [0, 1].into_iter().cycle() {
        let mut service = services.apply(cell).unwrap();
        println!("applied");
        service.ready().unwrap();
        println!("ready");
        service.stop().unwrap();
        println!("stopped");
        dead_man.iter_mut().for_each(DeadMan::beat);
    }
    ExitCode::SUCCESS
}
