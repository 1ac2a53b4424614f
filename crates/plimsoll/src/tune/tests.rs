//! What the tests of this folder share: an experiment of one file.

use std::fs;
use std::path::Path;

use plimsoll_config::document::{FileError, Surroundings};
use plimsoll_config::experiment;
use plimsoll_model::experiment::Experiment;

use super::{PreparedTune, setting_text};
use crate::experiment::ExperimentFile;

/// A knob that is written into a file of the folder.
const FILE: &str = "knobs: { workers: [2, 4] }\n\
                    measure: { url: 'http://127.0.0.1:9/', limit: 2m }\n\
                    apply: { file: { template: app.conf.in, to: app.conf } }\n";

struct Folder<'f>(&'f Path);

impl Surroundings for Folder<'_> {
    fn file(&self, path: &str, _: u64) -> Result<Vec<u8>, FileError> {
        fs::read(self.0.join(path)).map_err(|error| FileError::Unreadable(error.to_string()))
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

/// The experiment of a text that names no file.
pub(super) fn experiment_of(text: &str) -> Experiment {
    read(text, Path::new("."))
}

fn read(text: &str, folder: &Path) -> Experiment {
    experiment::read(text, "test", &Folder(folder))
        .unwrap_or_else(|errors| panic!("{:?}", errors.lines("test.yaml")))
}

/// An experiment that writes `app.conf` in a folder, with its results in `results`.
pub(super) fn experiment_file(folder: &Path) -> ExperimentFile {
    fs::write(folder.join("app.conf.in"), "workers {{ workers }}\n").unwrap();
    ExperimentFile {
        experiment: read(FILE, folder).into(),
        base: folder.to_owned(),
        folder: folder.join("results"),
    }
}

/// The same, prepared.
pub(super) fn prepared(folder: &Path) -> PreparedTune {
    experiment_file(folder);
    let source = folder.join("test.yaml");
    fs::write(&source, FILE).unwrap();
    PreparedTune::read(&source, Some(&folder.join("results")), false).unwrap()
}

#[test]
fn a_setting_is_named_by_what_differs() {
    let experiment = experiment_of(
        "knobs: { workers: [2, 4], pool: [5, 20] }\n\
         measure: { url: 'http://127.0.0.1:9/', limit: 2m }\n\
         apply: { command: [bin/app, '{{ workers }}', '{{ pool }}'] }\n",
    );
    assert_eq!(setting_text(&experiment, 0), "the settings that stand");
    assert_eq!(setting_text(&experiment, 3), "workers=4 pool=20");
}
