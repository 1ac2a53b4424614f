//! Workers of a file of hosts: started over the user's own `ssh`, and taken away.
//!
//! Each worker has a connection and a thread of its own, which starts it and notices its end; a few of them start at once.
//! A worker gets on its standard input what it needs to join ([`WorkerOrders`]), so that the token is in no list of
//! processes, and dials the coordinator: through a port that the same `ssh` forwards, or an address that its host reaches.
//!
//! What never fails to hold: whatever ends this program, workers end within the silence that `worker` allows, and their file
//! is gone (`plimsoll-ssh`); nothing here is waited for without an end.

mod orders;
mod places;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plimsoll_model::load_hosts::WorkerPlace;
use plimsoll_ssh::{SentProgram, SshReport, SshRequest, ThisProgram};

use crate::error::WorkersError;
use places::{PlaceStage, Places};

pub use orders::WorkerOrders;

/// Arguments of a worker that is sent: it reads its orders from its standard input.
const ARGUMENTS: [&str; 2] = ["worker", "--sent"];
/// Stack of a thread that starts a worker, bytes: there may be hundreds.
const STACK_LEN: usize = 256 << 10;
/// Longest time between two looks at whether a worker has ended.
const LOOK: Duration = Duration::from_secs(1);
/// How long workers may take to end by themselves when their run is over.
const END_MAX: Duration = Duration::from_secs(6);

/// How workers reach their coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialAddress {
    /// By a port of their own loopback address, which `ssh` forwards to this address of this machine.
    Forwarded(SocketAddr),
    /// By an address that their hosts reach.
    Direct(String),
}

/// What workers of hosts are started with.
#[derive(Clone)]
pub struct HostsOptions {
    /// The workers.
    pub places: Vec<WorkerPlace>,
    /// Where they join.
    pub dial: DialAddress,
    /// The token of the run: a secret.
    pub token: String,
    /// Whether the user has confirmed that the targets are theirs, which public addresses need.
    pub owns_targets: bool,
}

/// Workers on hosts. They end when this is dropped.
#[derive(Debug)]
pub struct HostWorkers {
    places: Arc<Places>,
    threads: Vec<JoinHandle<()>>,
}

/// What the threads of all places share.
struct StartContext {
    options: HostsOptions,
    program: ThisProgram,
    places: Arc<Places>,
    report: SshReport,
}

impl HostWorkers {
    /// Begins to start them, and returns at once. `report` takes what hosts print, with the name of the worker before it.
    ///
    /// # Errors
    /// When this program cannot be read, or a thread cannot be started.
    pub fn start(options: HostsOptions, report: SshReport) -> Result<Self, WorkersError> {
        let program = ThisProgram::read().map_err(WorkersError::Program)?;
        let places = Arc::new(Places::new(&options.places));
        let count = options.places.len();
        let context = Arc::new(StartContext {
            options,
            program,
            places: Arc::clone(&places),
            report,
        });
        let mut started = Self {
            places,
            threads: Vec::with_capacity(count),
        };
        for index in 0..count {
            let context = Arc::clone(&context);
            let thread = thread::Builder::new()
                .name("host".to_owned())
                .stack_size(STACK_LEN)
                .spawn(move || context.run(index));
            started.threads.push(thread.map_err(WorkersError::Thread)?);
        }
        Ok(started)
    }

    /// How many will not come: they failed, or ended before they were ready.
    pub fn lost(&self, ready: &[String]) -> u32 {
        self.places.lost(ready)
    }

    /// Those that are not ready, each with how far it is or why it failed.
    pub fn missing(&self, ready: &[String]) -> Vec<String> {
        self.places.missing(ready)
    }

    /// Ends those that are not ready: the load begins without them.
    pub fn end_missing(&self, ready: &[String]) {
        self.places.end_missing(ready);
    }
}

impl Drop for HostWorkers {
    /// Workers end by themselves when their coordinator is gone or has all results; who does not is ended.
    fn drop(&mut self) {
        self.places.close();
        self.places.wait_for_end(END_MAX);
        self.places.end_all();
        for thread in self.threads.drain(..) {
            // Its panic has been printed.
            let _ = thread.join();
        }
    }
}

impl StartContext {
    /// Starts the worker of a place, and follows it to its end.
    fn run(&self, index: usize) {
        if self.places.take_turn(index) {
            match self.start(index) {
                Ok(sent) => {
                    self.places.set(index, PlaceStage::Started);
                    self.follow(index, sent);
                }
                Err(why) => self.places.set(index, PlaceStage::Failed(why)),
            }
        }
        self.places.ended(index);
    }

    fn start(&self, index: usize) -> Result<SentProgram, String> {
        let place = &self.options.places[index];
        let report = self.report_of(&place.name);
        let forward = match &self.options.dial {
            DialAddress::Forwarded(address) => Some(*address),
            DialAddress::Direct(_) => None,
        };
        let sent = SentProgram::start(
            &self.program,
            &SshRequest {
                destination: &place.ssh,
                arguments: &ARGUMENTS,
                forward,
                report,
                progress: &|sent, all| self.places.sending(index, sent, all),
                opened: &|closer| self.places.opened(index, closer),
            },
        );
        let sent = sent.map_err(|error| error.to_string())?;
        let join = match &self.options.dial {
            DialAddress::Forwarded(_) => {
                SocketAddr::from((Ipv4Addr::LOCALHOST, sent.port().unwrap_or(0))).to_string()
            }
            DialAddress::Direct(address) => address.clone(),
        };
        let HostsOptions {
            token,
            owns_targets,
            ..
        } = &self.options;
        let orders = WorkerOrders::new(join, token.clone(), place, *owns_targets);
        orders
            .send(sent.socket())
            .map_err(|error| format!("the worker there takes no orders: {error}"))?;
        Ok(sent)
    }

    /// Takes what a worker and its `ssh` print, until the end: what they print about that is what the user knows.
    fn report_of(&self, name: &str) -> SshReport {
        let (name, report) = (name.to_owned(), Arc::clone(&self.report));
        let places = Arc::clone(&self.places);
        Arc::new(move |line: &str| {
            if !places.is_closing() {
                report(&format!("{name}: {line}"));
            }
        })
    }

    fn follow(&self, index: usize, mut sent: SentProgram) {
        let mut is_over = false;
        while !is_over {
            is_over = sent.has_ended(LOOK);
        }
        let status = if self.places.is_closing() {
            String::new()
        } else {
            sent.status()
        };
        self.places.set(index, PlaceStage::Over(status));
    }
}
