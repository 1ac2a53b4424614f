//! What the commands share that run the trials of an experiment file.

pub(crate) mod definition;
mod loads;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_lab::clock;
use plimsoll_lab::experiment::ExperimentError;
use plimsoll_lab::experiment::log::{ExperimentHeader, ExperimentLogError, FORMAT};
use plimsoll_lab::progress::StopFlag;
use plimsoll_lab::service::{self, ExperimentServices};
use plimsoll_model::component::Component;
use plimsoll_model::experiment::Experiment;
use serde_json::Value;

use crate::arguments::Classes;
use crate::exit::Exit;
use crate::explain::{CliError, chain};
use crate::{plan_file, services};

pub(crate) use definition::{definition, digest};
pub(crate) use loads::{ExperimentLoads, Rehearsal};

/// An experiment file that was read.
#[derive(Clone, Debug)]
pub(crate) struct ExperimentFile {
    pub(crate) experiment: Arc<Experiment>,
    /// Folder of the file: relative names begin there.
    pub(crate) base: PathBuf,
    /// Folder of the results.
    pub(crate) folder: PathBuf,
}

impl ExperimentFile {
    /// Reads a file; its results are in `out`, else in a folder with its name.
    pub(crate) fn read(file: &Path, out: Option<&Path>) -> Result<Self, CliError> {
        let experiment = plan_file::read_experiment(file)?;
        let folder = out.map_or_else(
            || Path::new("./plimsoll").join(&experiment.name),
            Path::to_owned,
        );
        Ok(Self {
            experiment: Arc::new(experiment),
            base: file.parent().unwrap_or(Path::new("")).to_owned(),
            folder,
        })
    }

    /// The loads of its trials.
    pub(crate) fn loads(&self, i_own_this: bool, classes: Option<Classes>) -> ExperimentLoads {
        let experiment = Arc::clone(&self.experiment);
        ExperimentLoads::new(experiment, self.base.clone(), i_own_this, classes)
    }

    /// Its services. What an earlier experiment left applied in the folder is put back.
    pub(crate) fn open_services(
        &self,
        components: &[Component],
        stop: &StopFlag,
    ) -> Result<ExperimentServices, CliError> {
        services::open(
            Arc::clone(&self.experiment),
            &self.base,
            &self.folder,
            components.to_vec(),
            stop.clone(),
        )
    }

    /// Puts back what a killed experiment left applied, also when its file was changed since.
    pub(crate) fn put_back(
        &self,
        components: &[Component],
        stop: &StopFlag,
    ) -> Result<(), CliError> {
        if service::has_applied(&self.folder) {
            self.open_services(components, stop)?.close()?;
        }
        Ok(())
    }

    /// The header of its log; without a seed of the file, with a new one.
    pub(crate) fn header(
        &self,
        command: &str,
        source: &Path,
        definition: Value,
    ) -> Result<ExperimentHeader, CliError> {
        let seed = match self.experiment.seed {
            Some(seed) => seed,
            None => getrandom::u64()
                .map_err(|error| CliError::new(Exit::Internal, error.to_string()))?,
        };
        Ok(ExperimentHeader {
            format: FORMAT,
            command: command.to_owned(),
            source: source.display().to_string(),
            started_at: jiff::Timestamp::now().to_string(),
            started_unix_ms: clock::unix_ms(),
            seed,
            definition,
        })
    }
}

impl From<ExperimentLogError> for CliError {
    fn from(error: ExperimentLogError) -> Self {
        Self::usage(chain(&error))
    }
}

impl From<ExperimentError> for CliError {
    fn from(error: ExperimentError) -> Self {
        match error {
            ExperimentError::Log(error) => error.into(),
            ExperimentError::Lab(error) => error.into(),
            ExperimentError::Apply(fault) => fault.into(),
        }
    }
}
