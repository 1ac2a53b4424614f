//! A load, validated and prepared for the loops.

mod check;
mod paths;
mod plain_request;
mod timing;

use std::sync::{Arc, OnceLock};

use plimsoll_model::journey::{Inputs, Scenario};
use plimsoll_model::plan::{Load, Plan};
use plimsoll_model::seed::Seed;

use crate::agenda::Agenda;
use crate::channels::Channels;
use crate::clock::{LoadClock, SECOND_NS};
use crate::error::LoadError;
use crate::good_statuses::GoodStatuses;
use crate::job::Job;
use crate::load_changes::LoadChanges;
use crate::loop_share::LoopShare;
use crate::process::StepNames;
use crate::scenario::program::Program;
use crate::scheduler::People;
use crate::transport::TargetTransport;

pub(crate) use paths::Paths;
pub(crate) use plain_request::PlainRequest;
pub(crate) use timing::Timing;

/// Most requests that wait for a connection, over all loops.
const WAITING_MAX: usize = 1 << 20;

/// State shared by all loops. It is immutable but for the numbers and names that loops agree on, and the plan error.
#[derive(Debug)]
pub(crate) struct PreparedLoad {
    plan: Arc<Plan>,
    load: Load,
    /// The loops that this process runs.
    share: LoopShare,
    clock: LoadClock,
    start_second: u32,
    seed: Seed,
    timing: Timing,
    request: PlainRequest,
    good: GoodStatuses,
    /// Most connections, over all loops.
    connections_max: usize,
    /// Transports by origin; the first is the target's.
    transports: Vec<TargetTransport>,
    inputs: Arc<Inputs>,
    /// The compiled scenario; it is there exactly where the plan has one.
    program: Option<Program>,
    agenda: Option<Agenda>,
    channels: Channels,
    names: StepNames,
    prefix: String,
    plan_error: OnceLock<String>,
    changes: LoadChanges,
}

impl PreparedLoad {
    /// # Errors
    /// When a value of the job is out of range, or a file of the transport cannot be read.
    pub(crate) fn new(job: Job, share: LoopShare) -> Result<Self, LoadError> {
        let Job {
            plan,
            load,
            epoch,
            start_second,
            seed,
            inputs,
        } = job;
        check::check(&plan, &load)?;
        let program = program(&plan, &load, &inputs)?;
        let transports = transports(&plan)?;
        let agenda = load.websockets().map(|load| Agenda::new(load, &plan));
        let request = PlainRequest::new(&plan, &load);
        check_http2_encodable(&plan, &transports[0], &request)?;
        Ok(Self {
            timing: Timing::new(&plan, &load),
            request,
            good: GoodStatuses::new(&plan.good),
            connections_max: connections_max(&plan, &load),
            transports,
            inputs,
            program,
            agenda: agenda.transpose()?,
            channels: Channels::default(),
            names: plan
                .scenario
                .as_ref()
                .map(StepNames::new)
                .unwrap_or_default(),
            prefix: prefix(&plan.target.url),
            plan_error: OnceLock::new(),
            changes: LoadChanges::default(),
            plan,
            load,
            share,
            clock: LoadClock::new(epoch),
            start_second,
            seed,
        })
    }

    #[inline]
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn load(&self) -> &Load {
        &self.load
    }

    pub(crate) fn seed(&self) -> Seed {
        self.seed
    }

    #[inline]
    pub(crate) fn timing(&self) -> &Timing {
        &self.timing
    }

    /// The request of a plain load.
    #[inline]
    pub(crate) fn request(&self) -> &PlainRequest {
        &self.request
    }

    #[inline]
    pub(crate) fn good(&self) -> &GoodStatuses {
        &self.good
    }

    /// The journeys of a load of users.
    pub(crate) fn scenario(&self) -> Option<&Scenario> {
        self.plan.scenario.as_ref()
    }

    /// The compiled [`Self::scenario`].
    pub(crate) fn program(&self) -> Option<&Program> {
        self.program.as_ref()
    }

    pub(crate) fn inputs(&self) -> &Arc<Inputs> {
        &self.inputs
    }

    /// The agenda of WebSockets, in a load of them.
    #[inline]
    pub(crate) fn agenda(&self) -> Option<&Agenda> {
        self.agenda.as_ref()
    }

    /// Channels that users subscribe to.
    pub(crate) fn channels(&self) -> &Channels {
        &self.channels
    }

    /// Labels that external scripts give to their requests.
    pub(crate) fn names(&self) -> &StepNames {
        &self.names
    }

    /// Path of the target, which prefixes the paths of external scripts.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Counts run time from the epoch of the job.
    pub(crate) fn clock(&self) -> LoadClock {
        self.clock
    }

    pub(crate) fn start_second(&self) -> u32 {
        self.start_second
    }

    pub(crate) fn start_ns(&self) -> u64 {
        u64::from(self.start_second) * SECOND_NS
    }

    /// Ends the run early, for an error of the plan. Returns false where another loop has found one first, which stays.
    pub(crate) fn end_by_plan_error(&self, plan_error: String) -> bool {
        self.plan_error.set(plan_error).is_ok()
    }

    /// Why the run ended early.
    pub(crate) fn plan_error(&self) -> Option<&str> {
        self.plan_error.get().map(String::as_str)
    }

    /// Changes of the load while it goes on.
    #[inline]
    pub(crate) fn changes(&self) -> &LoadChanges {
        &self.changes
    }

    /// How to open connections to an origin.
    pub(crate) fn transport_to(&self, origin: u16) -> &TargetTransport {
        &self.transports[usize::from(origin)]
    }

    /// Number of origins, with the target's.
    pub(crate) fn origins_count(&self) -> usize {
        self.transports.len()
    }

    /// Whether HTTP/2 is allowed for an origin.
    pub(crate) fn offers_http2(&self, origin: u16) -> bool {
        offers_http2(&self.plan, self.transport_to(origin))
    }

    /// Most concurrent requests of a connection.
    pub(crate) fn streams_max(&self) -> u32 {
        let http2 = self.plan.transport.http2;
        http2.map_or(1, |http2| http2.streams)
    }

    pub(crate) fn uses_tls(&self) -> bool {
        let mut transports = self.transports.iter();
        transports.any(|transport| transport.tls().is_some())
    }

    /// Whether the kernel is asked for arrival timestamps: where the loop does not wake for each response, and where it
    /// receives broadcasts, which reach thousands of its connections at once.
    pub(crate) fn wants_rx_timestamps(&self) -> bool {
        let is_tcp = self.plan.target.unix_socket.is_none();
        self.timing.linger_ns() > 0 || (is_tcp && self.has_sockets())
    }

    /// Whether WebSockets are opened.
    pub(crate) fn has_sockets(&self) -> bool {
        let program = self.program.as_ref();
        self.agenda.is_some() || program.is_some_and(Program::has_sockets)
    }

    /// Whether users fetch messages by polling.
    pub(crate) fn has_polls(&self) -> bool {
        self.program.as_ref().is_some_and(Program::has_polls)
    }

    /// Whether arrivals are due by the clock, not only after responses.
    pub(crate) fn is_paced(&self) -> bool {
        !matches!(self.load, Load::Closed { .. })
    }

    /// The loops of this process, by their index among all loops.
    pub(crate) fn loops(&self) -> impl Iterator<Item = u32> {
        self.share.loops(self.plan.cores)
    }

    /// Most connections, over all loops.
    pub(crate) fn connections_max(&self) -> usize {
        self.connections_max
    }

    /// Connections that loop `index` may open: its share, and at least one.
    pub(crate) fn connections_of(&self, index: u32) -> usize {
        let (loops, index) = (self.plan.cores as usize, index as usize);
        let rest = usize::from(index < self.connections_max % loops);
        (self.connections_max / loops + rest).max(1)
    }

    /// Most waiting requests of one loop.
    pub(crate) fn waiting_max(&self) -> usize {
        WAITING_MAX / self.plan.cores as usize
    }

    /// Picks the paths of loop `index`.
    pub(crate) fn paths(&self, index: u32) -> Paths {
        Paths::new(&self.plan, self.seed, index)
    }
}

/// The transports of the target and of the scenario's other origins.
fn transports(plan: &Plan) -> Result<Vec<TargetTransport>, LoadError> {
    let others = plan.scenario.iter().flat_map(|scenario| &scenario.targets);
    let targets = std::iter::once(&plan.target).chain(others);
    targets
        .map(|target| TargetTransport::new(target, plan))
        .collect()
}

fn connections_max(plan: &Plan, load: &Load) -> usize {
    let connections = match load {
        Load::Open { .. } | Load::Users { .. } | Load::Sessions { .. } => {
            plan.transport.connections_max
        }
        Load::Closed { connections, .. } => *connections,
        Load::WebSockets(load) => load.connections,
    };
    connections as usize
}

/// The path of a URL without its trailing slash.
fn prefix(url: &str) -> String {
    let path = url::Url::parse(url).map(|url| url.path().trim_end_matches('/').to_owned());
    path.unwrap_or_default()
}

/// Whether HTTP/2 is allowed with a transport.
fn offers_http2(plan: &Plan, transport: &TargetTransport) -> bool {
    let http2 = plan.transport.http2;
    http2.is_some_and(|http2| http2.prior_knowledge || transport.tls().is_some())
}

/// Reports a head that is not valid in HTTP/2 before a thousand requests fail.
fn check_http2_encodable(
    plan: &Plan,
    transport: &TargetTransport,
    request: &PlainRequest,
) -> Result<(), LoadError> {
    let is_tls = transport.tls().is_some();
    if plan.scenario.is_some()
        || !offers_http2(plan, transport)
        || request.is_valid_in_http2(is_tls)
    {
        return Ok(());
    }
    Err(LoadError::Plan {
        place: "the head of the request",
        found: "not valid in HTTP/2".to_owned(),
        range: "a valid Host, path and headers",
    })
}

/// The compiled scenario of a load of users; `None` for other loads.
fn program(plan: &Plan, load: &Load, inputs: &Inputs) -> Result<Option<Program>, LoadError> {
    let of_users = matches!(load, Load::Users { .. } | Load::Sessions { .. });
    let plan_error = |found: &str, range| {
        Err(LoadError::Plan {
            place: "load",
            found: found.to_owned(),
            range,
        })
    };
    let Some(scenario) = &plan.scenario else {
        return if of_users {
            plan_error("users without journeys", "requests, or users with journeys")
        } else {
            Ok(None)
        };
    };
    if !of_users {
        return plan_error("requests in a plan with journeys", "users or sessions");
    }
    let program = Program::new(plan, scenario, inputs)?;
    if People::new(load, scenario, Seed(0), 0, 0, 1).is_none() {
        return Err(LoadError::Plan {
            place: "weights of the journeys",
            found: "all 0, or negative".to_owned(),
            range: "numbers from 0, at least one above 0",
        });
    }
    Ok(Some(program))
}
