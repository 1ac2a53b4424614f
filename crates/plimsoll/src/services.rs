//! Services of an experiment: what the command line gives them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_lab::intervention::ComponentAccess;
use plimsoll_lab::progress::StopFlag;
use plimsoll_lab::service::{ApplyFault, ApplyFaultKind, ExperimentServices, ServiceContext};
use plimsoll_model::component::Component;
use plimsoll_model::experiment::Experiment;

use crate::exit::Exit;
use crate::explain::CliError;
use crate::screen::eprint;
use crate::{launch_service, plan_file};

/// Takes the folder of an experiment, and puts back what an earlier one left applied there. Relative names of the
/// experiment begin in `base`.
pub(crate) fn open(
    experiment: Arc<Experiment>,
    base: &Path,
    folder: &Path,
    components: Vec<Component>,
    stop: StopFlag,
) -> Result<ExperimentServices, CliError> {
    let context = ServiceContext {
        base: if base.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            base.to_owned()
        },
        folder: folder.to_owned(),
        access: ComponentAccess {
            components,
            environment: plan_file::environment_of_processes(),
        },
        launcher: launch_service::launcher(),
        stop,
    };
    let services = ExperimentServices::open(experiment, context)?;
    for restored in services.restored() {
        eprint(&format!(
            "note: an earlier experiment was killed and left {restored}; this is now restored"
        ));
    }
    Ok(services)
}

impl From<ApplyFault> for CliError {
    fn from(fault: ApplyFault) -> Self {
        let exit = match fault.kind() {
            ApplyFaultKind::Interrupted => Exit::Interrupted,
            _ => Exit::Usage,
        };
        Self::new(exit, fault.to_string())
    }
}
