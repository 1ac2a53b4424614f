//! Resolves arguments and an optional plan file into a plan without open options.

mod load;
mod websocket;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_agent::AgentSpec;
use plimsoll_config::plan::{Effort, Http, LoadPlan, PlanFile, WatchPlan};
use plimsoll_lab::active_run::Assignment;
use plimsoll_lab::controls::RunControls;
use plimsoll_lab::run_log::Followers;
use plimsoll_model::journey::{Inputs, Scenario};
use plimsoll_model::objective::Objective;
use plimsoll_model::patience::PatienceBand;
use plimsoll_model::plan::{
    CLASSES_MS_DEFAULT, Facts, Find, HEAD_LEN_MAX_DEFAULT, HEADERS_MAX_DEFAULT, Http2, Load, Plan,
    STREAMS_MAX, Target, Transport,
};
use plimsoll_model::seed::Seed;
use plimsoll_probe::{EdgeSource, ProbePlan};

use crate::arguments::{
    LimitArguments, OutputArguments, RunArguments, TransportArguments, WrittenSentence,
};
use crate::exit::Exit;
use crate::explain::CliError;
use crate::live;
use crate::metrics_export;
use crate::plan_file::{self, LoadedPlan};
use crate::{agent, browser, request, sentence, target};

const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);
/// Open connections at most where neither flag nor plan sets another limit.
pub(crate) const CONNECTIONS_MAX_DEFAULT: u32 = 10_000;
const BODY_LEN_MAX_DEFAULT: u64 = 1 << 30;
/// Default objective of a search.
const OBJECTIVE_DEFAULT: &str = "p95 < 500ms, errors < 1%";

/// A plan with its external data.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) inputs: Arc<Inputs>,
    /// Time budget of a search, if the plan file sets it.
    pub(crate) effort: Effort,
    /// Components that the plan file watches.
    pub(crate) watch: WatchPlan,
    /// Agents that watch other machines.
    pub(crate) agents: Vec<AgentSpec>,
    /// Address of the target, when requests go to an edge in front of it.
    pub(crate) behind: Option<SocketAddr>,
}

/// Options of a command beyond the shared flags.
struct CommandOptions {
    load: Load,
    find: Option<Find>,
    objective: Option<Objective>,
    warmup: Option<Duration>,
    effort: Effort,
}

/// The plan of `plimsoll run`.
pub(crate) fn run_plan(arguments: &RunArguments) -> Result<Planned, CliError> {
    let transport = &arguments.transport;
    let websockets = websocket::of_flags(arguments)?;
    let written = plan_file::read_if_plan(&transport.url, transport.target.as_deref())?;
    if websockets.is_some() && written.is_some() {
        return Err(websocket::needs_url());
    }
    let asked = match &written {
        None => CommandOptions {
            load: match websockets {
                Some(load) => load,
                None => load::of_flags(arguments)?,
            },
            find: None,
            objective: arguments.objective.clone(),
            warmup: arguments.warmup,
            effort: Effort::default(),
        },
        Some(written) => run_of_file(arguments, written)?,
    };
    let whole = asked.load.lasting();
    let is_search = asked.find.is_some();
    let mut planned = plan(transport, &arguments.output, written, asked)?;
    websocket::fit(&mut planned.plan, arguments)?;
    if !is_search && planned.plan.warmup >= whole {
        return Err(CliError::usage("the warm-up is as long as the whole run")
            .remedy("give a longer --for or a shorter --warmup"));
    }
    websocket::check_warmup(&planned.plan)?;
    Ok(planned)
}

fn run_of_file(arguments: &RunArguments, written: &LoadedPlan) -> Result<CommandOptions, CliError> {
    let objective = arguments
        .objective
        .clone()
        .or_else(|| written.plan.objective.clone());
    let mut asked = CommandOptions {
        load: load::of_file(arguments, &written.plan)?,
        find: None,
        objective,
        warmup: arguments.warmup,
        effort: Effort::default(),
    };
    if let Some(LoadPlan::Find(search)) = &written.plan.load
        && !load::is_given(arguments)
    {
        asked.find = Some(search.find);
        asked.effort = search.effort;
        let own = arguments
            .objective
            .clone()
            .or_else(|| search.objective.clone());
        asked.objective = own.or(asked.objective).or_else(default_objective);
    }
    Ok(asked)
}

/// The plan of `plimsoll limit`; its load is that of each trial.
pub(crate) fn limit_plan(arguments: &LimitArguments) -> Result<Planned, CliError> {
    let transport = &arguments.transport;
    let written = plan_file::read_if_plan(&transport.url, transport.target.as_deref())?;
    let mut asked = CommandOptions {
        load: load::of_trials(arguments.spacing),
        find: None,
        objective: arguments.objective.clone(),
        warmup: None,
        effort: Effort::default(),
    };
    if let Some(written) = &written {
        match &written.plan.load {
            Some(LoadPlan::Find(search)) => {
                asked.load = search.load.clone();
                asked.find = Some(search.find);
                asked.effort = search.effort;
                asked.objective = asked.objective.or_else(|| search.objective.clone());
            }
            // Its users arrive as in the trials; their number is searched.
            Some(LoadPlan::Fixed(fixed)) if written.plan.scenario.is_some() => {
                asked.load = fixed.clone();
            }
            _ => {}
        }
        load::spread(&mut asked.load, arguments.spacing);
        asked.objective = asked.objective.or_else(|| written.plan.objective.clone());
    }
    asked.objective = asked.objective.or_else(default_objective);
    let mut planned = plan(transport, &arguments.output, written, asked)?;
    if let Some(written) = &arguments.sentence {
        require(&mut planned.plan, written)?;
    }
    websocket::fit_users(&mut planned.plan)?;
    Ok(planned)
}

/// Adds the demand of a sentence, in whose unit the search then counts.
fn require(plan: &mut Plan, written: &WrittenSentence) -> Result<(), CliError> {
    let (required, unit) = sentence::required(written, plan)?;
    if let Some(unit) = unit.filter(|unit| plan.find.is_none_or(|find| find.unit != *unit)) {
        plan.find = Some(Find {
            unit,
            from: None,
            to: None,
        });
    }
    plan.required = Some(Box::new(required));
    Ok(())
}

fn default_objective() -> Option<Objective> {
    plimsoll_config::objective::objective(OBJECTIVE_DEFAULT).ok()
}

fn plan(
    transport: &TransportArguments,
    output: &OutputArguments,
    written: Option<LoadedPlan>,
    asked: CommandOptions,
) -> Result<Planned, CliError> {
    let url = written
        .as_ref()
        .map_or(&transport.url, |written| &written.plan.target);
    if asked.load.websockets().is_none() {
        target::parse(url)?;
    }
    let resolved = target::resolve(url, transport)?;
    let headers = written
        .as_ref()
        .map_or(&[][..], |written| &written.plan.headers);
    let request = request::request_plan(transport, &resolved, headers)?;
    let host_name = file_name(&resolved.target.host);
    let plan_name = written.as_ref().map(|written| written.plan.name.clone());
    let file = written.as_ref().map(|written| &written.plan);
    let seed = match transport.generator.seed.or(file.and_then(|file| file.seed)) {
        Some(seed) => seed,
        None => {
            getrandom::u64().map_err(|error| CliError::new(Exit::Internal, error.to_string()))?
        }
    };
    let (classes_ms, patience) = bands(output, file);
    let good = transport
        .request
        .good
        .clone()
        .or_else(|| file?.good.clone());
    let browser = browser::of_file(file, transport, &resolved.target)?;
    let price = file.and_then(|file| file.price.clone());
    let warmup = asked.warmup.or(file.and_then(|file| file.warmup));
    let cores = transport
        .generator
        .cores
        .or(file.and_then(|file| file.cores));
    let tick = transport.generator.tick.or(file.and_then(|file| file.tick));
    let way = transport_of(transport, written.as_ref());
    let (watch, agents) = watched(transport, file)?;
    let steps = written.map(|written| scenario_of(written, transport));
    let (scenario, inputs) = steps.transpose()?.unwrap_or_default();
    let plan = Plan {
        name: output.name.clone().or(plan_name).unwrap_or(host_name),
        target: resolved.target,
        request,
        scenario,
        transport: way,
        load: asked.load,
        find: asked.find,
        objective: asked.objective,
        good: good.unwrap_or_default(),
        seed: Seed(seed),
        cores: cores.unwrap_or(1),
        tick,
        warmup: warmup.unwrap_or_default(),
        classes_ms,
        patience,
        price,
        required: None,
        browser,
    };
    check_http2(&plan, transport.connection.streams)?;
    target::check_sources(&plan.transport.sources)?;
    Ok(Planned {
        plan,
        inputs: Arc::new(inputs),
        effort: asked.effort,
        watch,
        agents,
        behind: None,
    })
}

/// What is watched on this machine, and the agents of others: flags before the plan.
fn watched(
    transport: &TransportArguments,
    file: Option<&PlanFile>,
) -> Result<(WatchPlan, Vec<AgentSpec>), CliError> {
    let watch = file.map(|file| file.watch.clone()).unwrap_or_default();
    let watch = plan_file::watched(transport.generator.watch.as_ref(), watch)?;
    plan_file::report_unwatched(&watch);
    let agents = agent::specs(&transport.generator.agents, &watch.agents)?;
    Ok((watch, agents))
}

/// Bounds of the classes, and bands of patience: flags before the plan.
fn bands(output: &OutputArguments, file: Option<&PlanFile>) -> ([u64; 2], Vec<PatienceBand>) {
    let classes = output.classes.map(|classes| classes.0);
    let classes = classes.or(file.and_then(|file| file.classes_ms));
    let patience = output.patience.as_ref().map(|patience| &patience.0);
    let patience = patience.or(file.map(|file| &file.patience));
    (
        classes.unwrap_or(CLASSES_MS_DEFAULT),
        patience.cloned().unwrap_or_default(),
    )
}

/// The scenario of a plan file, with the hosts of its steps resolved.
fn scenario_of(
    written: LoadedPlan,
    transport: &TransportArguments,
) -> Result<(Option<Scenario>, Inputs), CliError> {
    let Some(mut scenario) = written.plan.scenario else {
        return Ok((None, Inputs::default()));
    };
    let flags = &transport.request;
    let flag = [
        ("--request", flags.request.is_some()),
        ("--data", flags.data.is_some()),
        ("--location", flags.location),
        ("--urls", flags.urls.is_some()),
    ];
    if let Some((flag, _)) = flag.iter().find(|(_, is_given)| *is_given) {
        return Err(
            CliError::usage(format!("{flag} conflicts with the steps of the plan"))
                .remedy("change the plan's steps, or use a URL instead of the plan"),
        );
    }
    let targets: Result<Vec<Target>, CliError> = written
        .plan
        .origins
        .iter()
        .map(|origin| {
            let (line, column) = origin.place;
            let place = format!("{}:{line}:{column}: named here first", transport.url);
            target::resolve_other(&origin.url, transport)
                .map_err(|error| error.details(vec![place]))
        })
        .collect();
    scenario.targets = targets?;
    let mut inputs = written.plan.inputs;
    if scenario.has_process() {
        inputs.folder = written.folder;
        inputs.environment = plan_file::environment_of_processes();
    }
    Ok((Some(scenario), inputs))
}

/// Transport settings: from flags, else the plan, else defaults.
fn transport_of(transport: &TransportArguments, written: Option<&LoadedPlan>) -> Transport {
    let flags = &transport.connection;
    let plan = written
        .map(|written| written.plan.transport.clone())
        .unwrap_or_default();
    let timeout = flags.timeout.or(plan.timeout).unwrap_or(TIMEOUT_DEFAULT);
    let requests = if flags.no_keepalive {
        Some(1)
    } else {
        flags
            .requests_per_connection
            .or(plan.requests_per_connection)
    };
    let scenario = written.and_then(|written| written.plan.scenario.as_ref());
    let usual = if scenario.is_some_and(Scenario::has_sockets) {
        websocket::CONNECTIONS_MAX_DEFAULT
    } else {
        CONNECTIONS_MAX_DEFAULT
    };
    let folder = written.map_or(Path::new(""), |written| &written.folder);
    let ca_of_plan = plan.ca_file.map(|path| folder.join(path));
    Transport {
        timeout,
        connect_timeout: flags
            .connect_timeout
            .or(plan.connect_timeout)
            .unwrap_or(timeout),
        connections_max: flags
            .max_connections
            .or(plan.connections_max)
            .unwrap_or(usual),
        requests_per_connection: requests.unwrap_or(0),
        sources: if flags.source.is_empty() {
            plan.sources
        } else {
            flags.source.clone()
        },
        ca_file: flags.cacert.clone().or(ca_of_plan),
        insecure: flags.insecure || plan.insecure,
        body_len_max: flags
            .max_body
            .or(plan.body_len_max)
            .unwrap_or(BODY_LEN_MAX_DEFAULT),
        head_len_max: flags
            .max_head
            .or(plan.head_len_max)
            .unwrap_or(HEAD_LEN_MAX_DEFAULT),
        headers_max: flags
            .max_headers
            .or(plan.headers_max)
            .unwrap_or(HEADERS_MAX_DEFAULT),
        http2: http2_of(transport, written),
    }
}

/// Whether and how HTTP/2 is used.
fn http2_of(transport: &TransportArguments, written: Option<&LoadedPlan>) -> Option<Http2> {
    let flags = &transport.connection;
    let plan = written.map(|written| &written.plan);
    let http = if flags.http2_prior_knowledge {
        Some(Http::PriorKnowledge)
    } else if flags.http2 {
        Some(Http::Http2)
    } else if flags.http1_1 {
        Some(Http::Http1)
    } else {
        plan.and_then(|plan| plan.transport.http)
    };
    let has_steps = plan.is_some_and(|plan| plan.scenario.is_some());
    // A user is a browser that requests all resources of a page at once; a plain load counts requests in flight.
    let usual = if has_steps { STREAMS_MAX } else { 1 };
    let streams = flags
        .streams
        .or(plan.and_then(|plan| plan.transport.streams))
        .unwrap_or(usual);
    match http {
        None | Some(Http::Http1) => None,
        Some(http) => Some(Http2 {
            prior_knowledge: http == Http::PriorKnowledge,
            streams,
        }),
    }
}

/// Refuses HTTP/2 that no target could negotiate: the run would use HTTP/1.1 only.
fn check_http2(plan: &Plan, streams: Option<u32>) -> Result<(), CliError> {
    let Some(http2) = plan.transport.http2 else {
        return if streams.is_none() {
            Ok(())
        } else {
            Err(
                CliError::usage("--streams requires HTTP/2, and the load uses HTTP/1.1")
                    .remedy("add --http2, or --http2-prior-knowledge for an http:// target"),
            )
        };
    };
    let others = plan.scenario.iter().flat_map(|scenario| &scenario.targets);
    let has_tls = others.chain([&plan.target]).any(|target| target.tls);
    if http2.prior_knowledge || has_tls {
        return Ok(());
    }
    Err(needs_tls(&plan.target.url))
}

/// HTTP/2 by ALPN is requested, and no target uses TLS.
pub(crate) fn needs_tls(target: &str) -> CliError {
    CliError::usage(format!(
        "HTTP/2 is negotiated in TLS (ALPN), and {target} is not https"
    ))
    .remedy(
        "use --http2-prior-knowledge (in a plan, `http: prior-knowledge`), or an https:// target",
    )
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

/// Processes and address for the probes.
pub(crate) fn probe_plan(plan: &Plan, pids: &[u32], names: &[String]) -> ProbePlan {
    ProbePlan {
        target_address: plan.target.addresses.first().copied(),
        unix_socket: plan.target.unix_socket.clone(),
        pids: pids.to_vec(),
        process_names: names.to_vec(),
        ..ProbePlan::default()
    }
}

/// The plan with the path of its run log.
pub(crate) fn assignment(
    planned: Planned,
    command: &'static str,
    transport: &TransportArguments,
    output: &OutputArguments,
) -> Assignment {
    let now = jiff::Timestamp::now();
    let timestamp = now
        .to_zoned(jiff::tz::TimeZone::UTC)
        .strftime("%Y%m%dT%H%M%S%.3fZ");
    let file = format!("{timestamp}-{}.run", planned.plan.name);
    let flags = &transport.generator;
    let pids = [&flags.pid[..], &planned.watch.pids].concat();
    let names = [&flags.process[..], &planned.watch.processes].concat();
    let mut probes = probe_plan(&planned.plan, &pids, &names);
    probes.edge = planned.watch.edge.map(EdgeSource::Admin);
    probes.components = planned.watch.components;
    probes.gauges = planned.watch.gauges;
    probes.auto = planned.watch.auto;
    probes.target_address = planned.behind.or(probes.target_address);
    let mut assignment = Assignment {
        probes,
        agents: planned.agents,
        log_path: output.out.join(file),
        started_at: now.to_string(),
        versions: versions(),
        command,
        browser: browser::spec(&planned.plan),
        plan: planned.plan,
        inputs: planned.inputs,
        worker_processes: Some(crate::load_worker::worker_processes()),
        workers: None,
        followers: Followers::default(),
        controls: RunControls::default(),
    };
    live::attach(&mut assignment);
    metrics_export::attach(&mut assignment, &output.export);
    assignment
}

/// Versions recorded with each run.
pub(crate) fn versions() -> Facts {
    Facts::from([("plimsoll".to_owned(), env!("CARGO_PKG_VERSION").to_owned())])
}
