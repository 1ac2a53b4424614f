//! From what was typed to a plan: everything resolved, nothing left open.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_config::load as config_load;
use plimsoll_lab::conductor::Assignment;
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::{Facts, Load, Plan, Transport};
use plimsoll_model::schedule::{Phase, Spacing};
use plimsoll_model::seed::Seed;
use plimsoll_probe::ProbePlan;

use crate::arguments::{
    LimitArguments, OutputArguments, RunArguments, SpacingArgument, TransportArguments,
};
use crate::exit::Exit;
use crate::explain::Fault;
use crate::{request, target};

/// Length of a run that does not say.
const LASTING_DEFAULT: Duration = Duration::from_secs(10);
/// Users of a closed loop that does not say.
const CONNECTIONS_DEFAULT: u32 = 64;

/// The plan of `plimsoll run`.
pub(crate) fn run_plan(arguments: &RunArguments) -> Result<Plan, Fault> {
    let load = run_load(arguments)?;
    if arguments.warmup >= load.lasting() {
        return Err(Fault::usage("the warm-up is as long as the whole run")
            .remedy("give a longer --for or a shorter --warmup"));
    }
    let mut plan = plan(
        &arguments.transport,
        &arguments.output,
        load,
        arguments.objective.clone(),
    )?;
    plan.warmup = arguments.warmup;
    Ok(plan)
}

/// The plan of `plimsoll limit`; its load is that of each trial.
pub(crate) fn limit_plan(arguments: &LimitArguments) -> Result<Plan, Fault> {
    let load = Load::Open {
        phases: Vec::new(),
        spacing: spacing(arguments.spacing),
    };
    plan(
        &arguments.transport,
        &arguments.output,
        load,
        Some(arguments.objective.clone()),
    )
}

fn plan(
    transport: &TransportArguments,
    output: &OutputArguments,
    load: Load,
    objective: Option<Objective>,
) -> Result<Plan, Fault> {
    let resolved = target::resolve(transport)?;
    let request = request::request_plan(transport, &resolved)?;
    let connection = &transport.connection;
    let name = output
        .name
        .clone()
        .unwrap_or_else(|| file_name(&resolved.target.host));
    let seed = match transport.generator.seed {
        Some(seed) => seed,
        None => getrandom::u64().map_err(|error| Fault::new(Exit::Internal, error.to_string()))?,
    };
    Ok(Plan {
        name,
        target: resolved.target,
        request,
        scenario: None,
        find: None,
        transport: Transport {
            timeout: connection.timeout,
            connect_timeout: connection.connect_timeout.unwrap_or(connection.timeout),
            connections_max: connection.max_connections,
            requests_per_connection: if connection.no_keepalive {
                1
            } else {
                connection.requests_per_connection
            },
            sources: connection.source.clone(),
            ca_file: connection.cacert.clone(),
            insecure: connection.insecure,
            body_len_max: connection.max_body,
        },
        load,
        objective,
        good: transport.request.good.clone(),
        seed: Seed(seed),
        cores: transport.generator.cores,
        tick: transport.generator.tick,
        warmup: Duration::ZERO,
        classes_ms: output.classes.0,
    })
}

/// A host name as part of a file name.
fn file_name(host: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    };
    host.chars()
        .take(64)
        .map(safe)
        .collect::<String>()
        .trim_matches('-')
        .to_owned()
}

fn spacing(argument: SpacingArgument) -> Spacing {
    match argument {
        SpacingArgument::Poisson => Spacing::Poisson,
        SpacingArgument::Even => Spacing::Even,
    }
}

fn run_load(arguments: &RunArguments) -> Result<Load, Fault> {
    let lasting = arguments.lasting.unwrap_or(LASTING_DEFAULT);
    let spacing = spacing(arguments.spacing);
    if !arguments.phase.is_empty() {
        return Ok(Load::Open {
            phases: arguments.phase.clone(),
            spacing,
        });
    }
    let Some(range) = arguments.rate else {
        let connections = arguments.connections.unwrap_or(CONNECTIONS_DEFAULT);
        return Ok(Load::Closed {
            connections,
            think: arguments.think,
            lasting,
        });
    };
    let phases = match (arguments.step, arguments.every) {
        (Some(step), Some(every)) => {
            let text = format!("{}/s..{}/s", range.from, range.to);
            config_load::steps(&text, range, step, every)
                .map_err(|problem| Fault::usage(problem.to_string()))?
        }
        _ => vec![Phase::ramp(range.from, range.to, lasting)],
    };
    Ok(Load::Open { phases, spacing })
}

/// What the probes look at.
pub(crate) fn probe_plan(plan: &Plan, pids: &[u32], names: &[String]) -> ProbePlan {
    ProbePlan {
        target_address: plan.target.addresses.first().copied(),
        unix_socket: plan.target.unix_socket.clone(),
        pids: pids.to_vec(),
        process_names: names.to_vec(),
        root: PathBuf::from("/"),
    }
}

/// The plan with where to keep its run.
pub(crate) fn assignment(
    plan: Plan,
    command: &'static str,
    transport: &TransportArguments,
    output: &OutputArguments,
) -> Assignment {
    let now = jiff::Timestamp::now();
    let stamp = now
        .to_zoned(jiff::tz::TimeZone::UTC)
        .strftime("%Y%m%dT%H%M%S%.3fZ");
    let file = format!("{stamp}-{}.run", plan.name);
    Assignment {
        probes: probe_plan(
            &plan,
            &transport.generator.pid,
            &transport.generator.process,
        ),
        log_path: output.out.join(file),
        started_at: now.to_string(),
        versions: versions(),
        command,
        plan,
    }
}

/// Versions recorded with each run.
fn versions() -> Facts {
    Facts::from([("plimsoll".to_owned(), env!("CARGO_PKG_VERSION").to_owned())])
}
