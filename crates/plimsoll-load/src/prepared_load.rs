//! A load, validated and prepared for the loops.

mod check;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use plimsoll_model::journey::Inputs;
use plimsoll_model::plan::{GoodStatus, Http2, Load, PathOrder, Plan};
use plimsoll_model::seed::Seed;
use plimsoll_wire::request;
use plimsoll_wire::response::Expected;

use crate::agenda::Agenda;
use crate::channels::Channels;
use crate::clock::{SECOND_NS, nanoseconds};
use crate::error::LoadError;
use crate::handshake;
use crate::http2;
use crate::job::Job;
use crate::loop_share::LoopShare;
use crate::process::StepNames;
use crate::scenario::program::Program;
use crate::scheduler::People;
use crate::transport::TargetTransport;

/// Longest drain time of unfinished requests after the last one was due.
pub(crate) const DRAIN_MAX: Duration = Duration::from_secs(10);

/// Most requests that wait for a connection, over all loops.
const WAITING_MAX: usize = 1 << 20;

/// Bytes of one URL's request.
#[derive(Debug)]
pub(crate) struct Template {
    /// Path and query.
    pub(crate) target: String,
    head: Box<[u8]>,
    /// The head of the last request of a connection.
    last: Option<Box<[u8]>>,
}

impl Template {
    pub(crate) fn head(&self, last: bool) -> &[u8] {
        match &self.last {
            Some(head) if last => head,
            _ => &self.head,
        }
    }
}

/// State shared by all loops, immutable.
#[derive(Debug)]
pub(crate) struct PreparedLoad {
    pub(crate) plan: Arc<Plan>,
    pub(crate) load: Load,
    /// The loops that this process runs.
    pub(crate) share: LoopShare,
    pub(crate) epoch: Instant,
    pub(crate) start_second: u32,
    pub(crate) seed: Seed,
    pub(crate) templates: Vec<Template>,
    pub(crate) good: [bool; 1000],
    pub(crate) expected: Expected,
    pub(crate) idempotent: bool,
    /// Body of every request of a plain load, for HTTP/2.
    pub(crate) body: Bytes,
    pub(crate) timeout_ns: u64,
    pub(crate) connect_timeout_ns: u64,
    pub(crate) drain_ns: u64,
    pub(crate) tick_ns: u64,
    /// Responses wait to be read while a request is due within this time; 0 for never.
    pub(crate) linger_ns: u64,
    /// Initial upper bound of the histograms, µs.
    pub(crate) highest_us: u64,
    /// Most connections, over all loops.
    pub(crate) connections_max: usize,
    /// Most waiting requests of one loop.
    pub(crate) waiting_max: usize,
    pub(crate) transport: TargetTransport,
    /// Transports of the scenario's other origins.
    pub(crate) others: Vec<TargetTransport>,
    pub(crate) inputs: Arc<Inputs>,
    pub(crate) program: Option<Program>,
    /// The agenda of WebSockets, in a load of them.
    pub(crate) agenda: Option<Agenda>,
    /// Channels that users subscribe to.
    pub(crate) channels: Channels,
    /// Labels that external scripts give to their requests.
    pub(crate) names: StepNames,
    /// Path of the target, which prefixes the paths of external scripts.
    pub(crate) prefix: String,
    /// Why the run ended early, set by the loop that found the reason.
    pub(crate) plan_error: OnceLock<String>,
}

impl PreparedLoad {
    pub(crate) fn new(job: Job) -> Result<Self, LoadError> {
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
        let transport = TargetTransport::new(&plan)?;
        let others = plan.scenario.iter().flat_map(|scenario| &scenario.targets);
        let others = others.map(|target| TargetTransport::to(target, &plan));
        let others: Vec<TargetTransport> = others.collect::<Result<_, _>>()?;
        let timeout_ns = nanoseconds(plan.transport.timeout);
        let drain_ns = timeout_ns.min(nanoseconds(DRAIN_MAX));
        let longest_ns = nanoseconds(load.lasting())
            .saturating_add(timeout_ns)
            .saturating_add(drain_ns);
        let cores = plan.cores as usize;
        let connections = match &load {
            Load::Open { .. } | Load::Users { .. } | Load::Sessions { .. } => {
                plan.transport.connections_max
            }
            Load::Closed { connections, .. } => *connections,
            Load::WebSockets(load) => load.connections,
        };
        let agenda = load.websockets().map(|load| Agenda::new(load, &plan));
        let templates = templates(&plan, &load);
        check_http2_encodable(&plan, &transport, &templates)?;
        Ok(Self {
            templates,
            good: good(&plan.good),
            expected: Expected {
                no_body: plan.request.method == "HEAD",
                keep_location: plan.request.redirects_max > 0,
                body_len_max: plan.transport.body_len_max,
            },
            idempotent: request::is_idempotent(&plan.request.method),
            body: Bytes::copy_from_slice(&plan.request.body),
            timeout_ns,
            connect_timeout_ns: nanoseconds(plan.transport.connect_timeout),
            drain_ns,
            tick_ns: plan.tick.map_or(1, nanoseconds).max(1),
            linger_ns: linger_ns(&plan, &load),
            highest_us: longest_ns / 1000,
            connections_max: connections as usize,
            waiting_max: WAITING_MAX / cores,
            transport,
            others,
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
            plan,
            load,
            share: LoopShare::WHOLE,
            epoch,
            start_second,
            seed,
        })
    }

    pub(crate) fn start_ns(&self) -> u64 {
        u64::from(self.start_second) * SECOND_NS
    }

    /// How to open connections to an origin.
    pub(crate) fn transport_to(&self, origin: u16) -> &TargetTransport {
        match origin {
            0 => &self.transport,
            other => &self.others[usize::from(other) - 1],
        }
    }

    /// Whether HTTP/2 is allowed for an origin.
    pub(crate) fn offers_http2(&self, origin: u16) -> bool {
        let http2 = self.plan.transport.http2;
        http2.is_some_and(|http2| http2.prior_knowledge || self.transport_to(origin).tls.is_some())
    }

    pub(crate) fn uses_tls(&self) -> bool {
        let mut all = self.others.iter().chain([&self.transport]);
        all.any(|transport| transport.tls.is_some())
    }

    /// Whether the kernel is asked for arrival timestamps: where the loop does not wake for each response, and where it
    /// receives broadcasts, which reach thousands of its connections at once.
    pub(crate) fn wants_rx_timestamps(&self) -> bool {
        let is_tcp = self.plan.target.unix_socket.is_none();
        self.linger_ns > 0 || (is_tcp && self.has_sockets())
    }

    /// Whether WebSockets are opened.
    pub(crate) fn has_sockets(&self) -> bool {
        let program = self.program.as_ref();
        self.agenda.is_some() || program.is_some_and(|program| !program.sockets.is_empty())
    }

    /// Whether arrivals are due by the clock, not only after responses.
    pub(crate) fn is_paced(&self) -> bool {
        !matches!(self.load, Load::Closed { .. })
    }

    /// The loops of this process, by their index among all loops.
    pub(crate) fn loops(&self) -> impl Iterator<Item = u32> {
        self.share.loops(self.plan.cores)
    }

    /// Connections that loop `index` may open: its share, and at least one.
    pub(crate) fn connections_of(&self, index: u32) -> usize {
        let (loops, index) = (self.plan.cores as usize, index as usize);
        let rest = usize::from(index < self.connections_max % loops);
        (self.connections_max / loops + rest).max(1)
    }

    /// Picks the paths of loop `index`.
    pub(crate) fn paths(&self, index: u32) -> Paths {
        Paths {
            count: self.templates.len() as u64,
            next: u64::from(index),
            stride: u64::from(self.plan.cores),
            random: (self.plan.request.order == PathOrder::Random).then(|| {
                self.seed
                    .derive(PATHS_LABEL)
                    .derive(u64::from(index))
                    .generator()
            }),
        }
    }
}

/// The path of a URL without its trailing slash.
fn prefix(url: &str) -> String {
    let path = url::Url::parse(url).map(|url| url.path().trim_end_matches('/').to_owned());
    path.unwrap_or_default()
}

/// Time before an arrival in which responses are left unread.
const LINGER_NS: u64 = 300_000;

/// Longest time that responses are left unread between ticks: far below the second in which they are counted.
const LINGER_NS_MAX: u64 = 100_000_000;

/// Rate of a loop from which on an arrival is that close most of the time, 1/s.
const LINGER_RATE_MIN: f64 = 2_000.0;

/// In a dense open load, a loop does not wake for each response: the kernel stamps responses on arrival, and the loop
/// reads them when it wakes for the next request. Responses that steer the load are read at once, and so are those of
/// unix sockets, which have no timestamps.
fn linger_ns(plan: &Plan, load: &Load) -> u64 {
    let Load::Open { phases, .. } = load else {
        return 0;
    };
    if plan.target.unix_socket.is_some() {
        return 0;
    }
    if let Some(tick) = plan.tick {
        return nanoseconds(tick).min(LINGER_NS_MAX);
    }
    let highest = phases.iter().map(|phase| phase.from.max(phase.to));
    let dense = highest.fold(0.0, f64::max) >= LINGER_RATE_MIN * f64::from(plan.cores);
    if dense { LINGER_NS } else { 0 }
}

/// Label of the random choice of paths among the seeds derived from a trial's.
const PATHS_LABEL: u64 = 0x7061_7468;

/// The index of the next template.
#[derive(Debug)]
pub(crate) struct Paths {
    count: u64,
    next: u64,
    stride: u64,
    random: Option<rand_xoshiro::Xoshiro256PlusPlus>,
}

impl Paths {
    #[inline]
    pub(crate) fn next(&mut self) -> u32 {
        if self.count == 1 {
            return 0;
        }
        let index = if let Some(generator) = &mut self.random {
            rand::RngExt::random_range(generator, 0..self.count)
        } else {
            let index = self.next % self.count;
            self.next += self.stride;
            index
        };
        u32::try_from(index).expect("an index below the number of paths, which was checked")
    }
}

fn templates(plan: &Plan, load: &Load) -> Vec<Template> {
    let request = &plan.request;
    let body_len = request.body.len();
    let headers = match load {
        Load::WebSockets(load) => &handshake::headers(plan, load),
        _ => &request.headers,
    };
    let encode =
        |target: &str, last| request::encode(&request.method, target, headers, body_len, last);
    request
        .paths
        .iter()
        .map(|target| Template {
            target: target.clone(),
            head: encode(target, false),
            last: (plan.transport.requests_per_connection > 0).then(|| encode(target, true)),
        })
        .collect()
}

/// Reports a head that is not valid in HTTP/2 before a thousand requests fail; all paths share one head except for
/// their first line.
fn check_http2_encodable(
    plan: &Plan,
    transport: &TargetTransport,
    templates: &[Template],
) -> Result<(), LoadError> {
    let is_tls = transport.tls.is_some();
    let offers = |http2: Http2| http2.prior_knowledge || is_tls;
    let is_encodable = |template: &Template| http2::request(template.head(false), is_tls).is_some();
    if plan.scenario.is_some()
        || !plan.transport.http2.is_some_and(offers)
        || templates.first().is_none_or(is_encodable)
    {
        return Ok(());
    }
    Err(LoadError::Plan {
        place: "the head of the request",
        found: "not valid in HTTP/2".to_owned(),
        range: "a valid Host, path and headers",
    })
}

fn good(status: &GoodStatus) -> [bool; 1000] {
    let mut good = [false; 1000];
    for (status_code, good) in (0..).zip(&mut good) {
        *good = status.contains(status_code);
    }
    good
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
