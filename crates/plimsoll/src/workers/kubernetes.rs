//! `--on kubernetes`: the Jobs of the workers, printed for whoever creates them.

use std::time::Duration;

use plimsoll_kubernetes::{JobOptions, JobsError, TOKEN_KEY, WorkerJobs};

use super::source::check_loops;
use crate::arguments::{CarriedByArguments, DialledAddress, WorkersPlace};
use crate::explain::CliError;
use crate::planning::Planned;
use crate::screen::{eprint_with_secret, print};
use crate::worker;

/// Memory of a worker, and further memory for each of its event loops, bytes.
const MEMORY: u64 = 256 << 20;
const MEMORY_OF_LOOP: u64 = 256 << 20;
/// How long a Job may last beyond the wait and the load: as long as its token holds, since a search takes longer than one load.
const DEADLINE_MARGIN: Duration = Duration::from_hours(24);

/// Refuses arguments of `--on kubernetes` elsewhere.
pub(super) fn refuse_elsewhere(arguments: &CarriedByArguments) -> Result<(), CliError> {
    let flag = arguments.kubernetes.first_flag();
    match (flag, &arguments.on) {
        (None, _) | (_, Some(WorkersPlace::Kubernetes)) => Ok(()),
        (Some(flag), _) => Err(CliError::usage(format!("{flag} is for --on kubernetes"))
            .remedy("leave it out, or give --on kubernetes")),
    }
}

/// Prints the Jobs, and on stderr what they lack: a run that they join, and its token.
pub(super) fn print_jobs(
    planned: &Planned,
    arguments: &CarriedByArguments,
) -> Result<(), CliError> {
    if !arguments.kubernetes.print_job {
        return Err(CliError::usage(
            "--on kubernetes prints the Jobs of its workers, and does not create them",
        )
        .remedy("give --print-job, create what it prints by `kubectl apply --filename -`, and wait for the workers with --on listen:PORT"));
    }
    let dialled = dialled(arguments)?;
    let jobs = WorkerJobs::new(&options(planned, arguments, dialled)?)?;
    print(&jobs.yaml());
    // As it is: it is about a secret, and has none.
    eprint_with_secret(&missing(&jobs, arguments, dialled));
    Ok(())
}

fn dialled(arguments: &CarriedByArguments) -> Result<&DialledAddress, CliError> {
    arguments.on_address.as_ref().ok_or_else(|| {
        CliError::usage("pods dial this program, and no address of it is known that leads here from them").remedy(
            "give --on-address HOST:PORT: this machine as pods reach it, or what forwards that port to it (a load balancer, a \
             tunnel); in a cluster the name of a Service",
        )
    })
}

fn options(
    planned: &Planned,
    arguments: &CarriedByArguments,
    dialled: &DialledAddress,
) -> Result<JobOptions, CliError> {
    let pods = &arguments.kubernetes;
    let workers = arguments.workers.ok_or_else(|| {
        CliError::usage("the number of workers of --on kubernetes is missing")
            .remedy("give --workers N")
    })?;
    let image = pods.image.clone().ok_or_else(|| {
        CliError::usage("the image of the workers of --on kubernetes is missing").remedy(
            "give --image; no public registry has it: push the image of a release to one that your nodes pull from \
             (docs/guides/installing.md)",
        )
    })?;
    let plan = &planned.plan;
    let loops = plan.cores;
    check_loops(workers, loops)?;
    let wait = super::limits(arguments).within;
    let load = plan.load.lasting().saturating_add(plan.transport.timeout);
    let memory = MEMORY + MEMORY_OF_LOOP * u64::from(loops);
    Ok(JobOptions {
        namespace: pods.namespace.clone(),
        image,
        workers,
        loops,
        memory_bytes: pods.worker_memory.unwrap_or(memory),
        node_selector: pods.node_selector.iter().cloned().collect(),
        regions: pods.regions.clone(),
        join: dialled.text(),
        owns_targets: worker::has_public_target(plan),
        deadline: load.saturating_add(wait + DEADLINE_MARGIN),
    })
}

/// What has to be done beside the Jobs.
fn missing(jobs: &WorkerJobs, arguments: &CarriedByArguments, dialled: &DialledAddress) -> String {
    let count: u32 = jobs.jobs.iter().map(|job| job.workers).sum();
    let namespace = arguments.kubernetes.namespace.as_ref();
    let namespace = namespace.map_or_else(String::new, |name| format!(" --namespace {name}"));
    let (secret, port) = (&jobs.secret, dialled.port());
    format!(
        "the pods wait for the Secret {secret}, which has the token of a run: start this run with --on listen:{port} --workers {count} \
         instead, on the machine at {address}, write the token that it prints into the file `{TOKEN_KEY}`, and create the Secret by\n  \
         kubectl create secret generic {secret}{namespace} --from-file={TOKEN_KEY}",
        address = dialled.text(),
    )
}

impl From<JobsError> for CliError {
    fn from(error: JobsError) -> Self {
        Self::usage(error.to_string())
    }
}
