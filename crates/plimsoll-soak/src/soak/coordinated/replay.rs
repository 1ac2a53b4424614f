//! A worker that sends no load: it joins, answers as a worker does, and at the end of each second sends one that was recorded.
//!
//! It speaks the messages as they are on the wire, so that a change of them is noticed here as by a worker of another version.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use plimsoll_harness::clock::Stopwatch;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::window::Window;
use plimsoll_peer::{Channel, ChannelError, ClientStream, Hello, Role, Token};
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;
use serde::Deserialize;
use serde_json::{Value, json};

/// Requests in each of its seconds.
pub(super) const RATE: u64 = 1_000;
/// Mean of their response times, s.
const MEAN_S: f64 = 0.02;
/// Longest message, bytes.
const MESSAGE_LEN_MAX: usize = 16 << 20;
/// How long the coordinator may take for a step of the handshake, and for reading.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Longest wait for a message.
const POLL: Duration = Duration::from_millis(250);
/// Shortest wait for one: a socket knows no shorter one.
const POLL_MIN: Duration = Duration::from_millis(1);
/// Names of regions, in turn.
const REGIONS: [&str; 4] = ["near", "far", "north", "south"];

/// What a replayed worker carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplayedLoad {
    /// Which of the workers it is, from 0.
    pub(super) number: u32,
    /// Seconds of the load.
    pub(super) lasting_s: u32,
}

/// What a coordinator sends, as far as it matters here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FromCoordinator {
    Assigned { pieces: u32 },
    Piece {},
    ClockProbe { id: u64 },
    Start { epoch_ns: i64, second: u32 },
    Received {},
    Stop {},
    Abort {},
    Refused { reason: String },
    Done,
}

/// Joins, and returns when the coordinator has everything. `progress` is the number of seconds that were sent.
pub(super) fn replay(
    address: SocketAddr,
    token: &str,
    load: ReplayedLoad,
    progress: &AtomicU32,
) -> Result<()> {
    let mut worker = ReplayedWorker {
        channel: dial(address, token)?,
        clock: Stopwatch::start(),
        recorded: serde_json::to_value(recorded_second(u64::from(load.number)))?,
        load,
        pieces: (0, 0),
        start: None,
        sent: 0,
        has_ended: false,
    };
    let join = json!({ "join": {
        "name": format!("load-{}", load.number),
        "region": REGIONS[load.number as usize % REGIONS.len()],
        "instance": load.number,
        "resumes": false,
    } });
    worker.channel.send(&join)?;
    loop {
        let socket = &worker.channel.stream().sock;
        socket.set_read_timeout(Some(worker.wait()))?;
        match worker.channel.receive() {
            Ok(FromCoordinator::Done) => return Ok(()),
            Ok(message) => worker.answer(&message)?,
            Err(ChannelError::Silent) => {}
            Err(error) => return Err(error.into()),
        }
        worker.send_due()?;
        progress.fetch_max(worker.sent, Ordering::Relaxed);
    }
}

fn dial(address: SocketAddr, token: &str) -> Result<Channel<ClientStream>> {
    let config = Token::parse(token)?.client_config()?;
    let socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(TIMEOUT))?;
    socket.set_write_timeout(Some(TIMEOUT))?;
    let mut channel = Channel::connect(socket, config, MESSAGE_LEN_MAX)?;
    let other: Hello = channel.receive()?;
    let own = Hello::of_this_build(Role::Worker);
    channel.send(&own)?;
    own.judge(&other)?;
    Ok(channel)
}

/// A second with exponential response times.
fn recorded_second(seed: u64) -> Window {
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut window = Window::new(0);
    (window.offered, window.sent) = (RATE, RATE);
    window.outcomes.add_many(Outcome::Ok, RATE);
    window.status.insert(200, RATE);
    for _ in 0..RATE {
        let drawn_s = -(1.0 - dice.random::<f64>()).ln() * MEAN_S;
        let response = Duration::from_secs_f64(drawn_s);
        let us = u64::try_from(response.as_micros()).unwrap_or(u64::MAX);
        window.response.record(us + 50, 1);
        window.service.record(us, 1);
        window.lag.record(us % 100, 1);
    }
    (window.bytes_in, window.bytes_out) = (RATE * 500, RATE * 200);
    window.generator.loop_cpu_us = 20 * RATE;
    window.generator.loop_cpu_us_max = 20 * RATE;
    window
}

struct ReplayedWorker {
    channel: Channel<ClientStream>,
    clock: Stopwatch,
    recorded: Value,
    load: ReplayedLoad,
    /// Pieces of the task, and those that were taken.
    pieces: (u32, u32),
    /// Second 0 of run time by the own clock, ns, and the first second of the load.
    start: Option<(i64, u32)>,
    /// Seconds that were sent.
    sent: u32,
    has_ended: bool,
}

impl ReplayedWorker {
    fn now_ns(&self) -> i64 {
        i64::try_from(self.clock.elapsed().as_nanos()).unwrap_or(i64::MAX)
    }

    /// When the next second is over, ns of the own clock; `None` before the start, and after the last one.
    fn due_ns(&self) -> Option<i64> {
        let (epoch_ns, first) = self.start.filter(|_| self.sent < self.load.lasting_s)?;
        let over = i64::from(first) + i64::from(self.sent) + 1;
        Some(epoch_ns + over * 1_000_000_000)
    }

    /// How long to wait for a message.
    fn wait(&self) -> Duration {
        let until_ns = self.due_ns().map(|due_ns| due_ns - self.now_ns());
        let until = until_ns.map(|ns| Duration::from_nanos(u64::try_from(ns).unwrap_or(0)));
        until.unwrap_or(POLL).clamp(POLL_MIN, POLL)
    }

    fn answer(&mut self, message: &FromCoordinator) -> Result<()> {
        match message {
            FromCoordinator::Assigned { pieces } => self.pieces = (*pieces, 0),
            FromCoordinator::Piece {} => {
                self.pieces.1 += 1;
                let (all, taken) = self.pieces;
                let taken_pieces = json!({ "taken": { "pieces": taken } });
                self.channel.send(&taken_pieces)?;
                if taken == all {
                    self.channel.send(&json!("ready"))?;
                }
            }
            FromCoordinator::ClockProbe { id } => {
                let now_ns = self.now_ns();
                let answer = json!({ "clock_answer": {
                    "id": id, "monotonic_ns": now_ns, "wall_ns": now_ns,
                } });
                self.channel.send(&answer)?;
            }
            FromCoordinator::Start { epoch_ns, second } => self.start = Some((*epoch_ns, *second)),
            FromCoordinator::Received {} | FromCoordinator::Done => {}
            FromCoordinator::Stop {} | FromCoordinator::Abort {} => {
                bail!("the run was ended early")
            }
            FromCoordinator::Refused { reason } => bail!("refused: {reason}"),
        }
        Ok(())
    }

    /// Sends the seconds that are over, and behind the last one the end.
    fn send_due(&mut self) -> Result<()> {
        while let Some(due_ns) = self.due_ns()
            && due_ns <= self.now_ns()
        {
            let (_, first) = self.start.context("a second is due after the start")?;
            let mut window = self.recorded.clone();
            window["second"] = json!(first + self.sent);
            self.send_numbered(&json!({ "second": { "window": window, "host": {} } }))?;
            self.sent += 1;
        }
        if self.sent == self.load.lasting_s && !self.has_ended {
            self.has_ended = true;
            let used = json!({ "cpu_us": 0, "rss_bytes_max": 0 });
            self.send_numbered(&json!({ "ended": { "used": used, "plan_error": null } }))?;
        }
        Ok(())
    }

    /// Each second is a message, and its number follows from how many were sent.
    fn send_numbered(&mut self, content: &Value) -> Result<()> {
        // The load of a run is the first and only one.
        let message =
            json!({ "numbered": { "round": 0, "number": self.sent, "content": content } });
        Ok(self.channel.send(&message)?)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::Arc;
    use std::thread;
    use std::time::Instant;

    use plimsoll_model::journey::Inputs;
    use plimsoll_model::plan::{Load, Plan};
    use plimsoll_model::schedule::{LoadPhase, Spacing};
    use plimsoll_testkit::plan::get_root;
    use plimsoll_workers::{Coordinator, CoordinatorOptions, IfLost, LoadOrder};

    use super::*;

    const LASTING: u32 = 2;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a load starts at some moment")]
    fn a_coordinator_takes_what_is_replayed() {
        let plan = Plan {
            cores: 3,
            load: Load::Open {
                phases: vec![LoadPhase::constant(
                    3.0 * RATE as f64,
                    Duration::from_secs(LASTING.into()),
                )],
                spacing: Spacing::Even,
            },
            ..get_root((Ipv4Addr::LOCALHOST, 9).into())
        };
        let options = CoordinatorOptions {
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            workers: 3,
            if_lost: IfLost::Void,
        };
        let coordinator = Coordinator::listen(&options, &plan, &Inputs::default()).unwrap();
        let progress = Arc::new(AtomicU32::new(0));
        let workers = [0, 1, 2].map(|number| {
            let (address, token) = (coordinator.address(), coordinator.token().to_owned());
            let progress = Arc::clone(&progress);
            let load = ReplayedLoad {
                number,
                lasting_s: LASTING,
            };
            thread::spawn(move || replay(address, &token, load, &progress))
        });
        assert!(coordinator.wait(|_| {}, || false).unwrap());
        let epoch = Instant::now() + Duration::from_millis(300);
        let order = LoadOrder::of_plan(&plan);
        let mut load = coordinator.start(epoch, 0, &order).unwrap();
        let windows: Vec<Window> = std::iter::from_fn(|| load.next_window()).collect();
        assert_eq!(windows.len(), LASTING as usize, "{windows:#?}");
        for window in &windows {
            assert_eq!((window.offered, window.completed()), (3 * RATE, 3 * RATE));
            assert!(window.load_errors.is_empty(), "{window:#?}");
        }
        let mut whole = recorded_second(0);
        whole.response.merge(&recorded_second(1).response);
        whole.response.merge(&recorded_second(2).response);
        assert_eq!(windows[0].response, whole.response);
        let records = load.records();
        assert!(records.iter().all(|record| record.lost_at.is_none()));
        assert_eq!(progress.load(Ordering::Relaxed), LASTING);
        for worker in workers {
            worker.join().unwrap().unwrap();
        }
    }
}
