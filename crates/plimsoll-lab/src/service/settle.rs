//! The machine comes to rest before a trial: sockets in `TIME_WAIT` that keep their ports, connections of the service, CPUs.
//!
//! Each is bounded by what disturbs a measurement. What does not come to rest within the time limit is reported, and the
//! trial follows: other work on the machine may never end, and whether it disturbs is judged by the measurement itself.
//! Work that was there before any load was sent is waited for once, not before every trial.

use std::collections::BTreeSet;
use std::time::Duration;

use plimsoll_probe::rest::{self, SocketCounts};

use super::fault::ApplyFault;
use super::processes;
use super::stage::Stage;
use super::started::StartedService;
use crate::clock::TimeLimit;

/// Time between two samples: the kernel counts CPU time in ticks of 10 ms, of which a tenth should be at least one.
const BETWEEN: Duration = Duration::from_millis(100);
/// Samples at rest in a row that are enough.
const RESTING_SAMPLES: u32 = 2;
/// Sockets in `TIME_WAIT` that never disturb.
const TIME_WAITS_FEW: u64 = 100;
/// Share of the ports for outgoing connections that may be in `TIME_WAIT`, as one in so many.
const PORTS_SHARE: u64 = 10;
/// CPU share of the machine at rest.
const BUSY_MAX: f64 = 0.1;

/// How the machine came to rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settled {
    /// How long it took.
    pub waited: Duration,
    /// What was not at rest when the time limit was reached, with numbers; empty when all was.
    pub restless: Vec<String>,
}

/// CPU share of work that is not of the experiment; unknown until the first wait of an experiment, before any load, has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct OtherWork {
    share: Option<f64>,
}

impl OtherWork {
    /// CPU share up to which the machine is at rest.
    fn busy_max(self) -> f64 {
        BUSY_MAX + self.share.unwrap_or(0.0)
    }

    /// Learns from the first wait only: later ones may see what a load left behind.
    fn learn(&mut self, lowest: f64) {
        self.share
            .get_or_insert(if lowest > BUSY_MAX { lowest } else { 0.0 });
    }
}

/// The machine at a moment. What cannot be read is at rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RestSample {
    sockets: SocketCounts,
    busy_ticks: u64,
    total_ticks: u64,
}

impl RestSample {
    fn take(ports: &BTreeSet<u16>) -> Self {
        let (busy_ticks, total_ticks) = rest::cpu_ticks().unwrap_or_default();
        Self {
            sockets: rest::sockets(ports).unwrap_or_default(),
            busy_ticks,
            total_ticks,
        }
    }

    /// What is not at rest since the sample before, for people.
    fn restless(self, before: Self, local_ports: u64, busy_max: f64) -> Vec<String> {
        let mut restless = Vec::new();
        let time_waits_max = TIME_WAITS_FEW.max(local_ports / PORTS_SHARE);
        let now = self.sockets;
        if now.time_waits > time_waits_max {
            restless.push(format!(
                "{} sockets in TIME_WAIT keep their ports (at rest: up to {time_waits_max})",
                now.time_waits
            ));
        }
        // Idle connections of a pool or a balancer may stay for ever; those that end are of the load before.
        if now.closing > 0 || now.established < before.sockets.established {
            restless.push(format!(
                "connections of the service still end ({} established, {} half closed)",
                now.established, now.closing
            ));
        }
        let share = self.busy_share(before);
        if share > busy_max {
            restless.push(format!(
                "CPUs are {:.0} % busy (at rest: up to {:.0} %)",
                share * 100.0,
                busy_max * 100.0
            ));
        }
        restless
    }

    fn busy_share(self, before: Self) -> f64 {
        let total = self.total_ticks.saturating_sub(before.total_ticks);
        let busy = self.busy_ticks.saturating_sub(before.busy_ticks);
        busy as f64 / total.max(1) as f64
    }
}

/// Waits until the machine is at rest, at most as long as the experiment allows.
pub(super) fn settle(
    stage: &Stage,
    other_work: &mut OtherWork,
    service: &StartedService,
    port: Option<u16>,
) -> Result<Settled, ApplyFault> {
    let within = stage.experiment.settle;
    if within.is_zero() {
        return Ok(Settled::default());
    }
    let limit = TimeLimit::start(within);
    let mut ports = rest::listening_ports(&service.members()).unwrap_or_default();
    ports.extend(port);
    let local_ports = rest::local_ports().unwrap_or(0);
    let handles: Vec<_> = service
        .processes
        .iter()
        .map(|it| it.launched.handle())
        .collect();
    let mut before = RestSample::take(&ports);
    let mut resting = 0;
    let mut lowest = f64::INFINITY;
    let mut restless = Vec::new();
    while !limit.is_over() {
        stage.check_stop()?;
        let ended = processes::wait_for_any(&handles, BETWEEN.min(limit.left()));
        if !ended.is_empty() {
            // The health check names it.
            break;
        }
        let now = RestSample::take(&ports);
        restless = now.restless(before, local_ports, other_work.busy_max());
        lowest = lowest.min(now.busy_share(before));
        before = now;
        resting = if restless.is_empty() { resting + 1 } else { 0 };
        if resting == RESTING_SAMPLES {
            break;
        }
    }
    if lowest.is_finite() {
        other_work.learn(lowest);
    }
    Ok(Settled {
        waited: limit.elapsed(),
        restless,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_disturbance_has_its_bound() {
        let before = RestSample {
            sockets: SocketCounts {
                established: 5,
                closing: 0,
                time_waits: 90,
            },
            busy_ticks: 1000,
            total_ticks: 10_000,
        };
        let resting = RestSample {
            busy_ticks: 1005,
            total_ticks: 10_050,
            ..before
        };
        assert_eq!(resting.restless(before, 28_000, BUSY_MAX), [""; 0]);
        let busy = RestSample {
            sockets: SocketCounts {
                established: 4,
                closing: 0,
                time_waits: 2801,
            },
            busy_ticks: 1030,
            total_ticks: 10_050,
        };
        let restless = busy.restless(before, 28_000, BUSY_MAX);
        assert_eq!(
            restless,
            [
                "2801 sockets in TIME_WAIT keep their ports (at rest: up to 2800)",
                "connections of the service still end (4 established, 0 half closed)",
                "CPUs are 60 % busy (at rest: up to 10 %)",
            ]
        );
        let closing = RestSample {
            sockets: SocketCounts {
                closing: 1,
                ..resting.sockets
            },
            ..resting
        };
        assert_eq!(closing.restless(before, 28_000, BUSY_MAX).len(), 1);
    }

    #[test]
    fn work_before_any_load_is_no_disturbance_of_later_trials() {
        let mut other_work = OtherWork::default();
        assert_eq!(other_work, OtherWork { share: None });
        other_work.learn(0.5);
        let before = RestSample::default();
        let busy = |busy_ticks| RestSample {
            busy_ticks,
            total_ticks: 100,
            ..before
        };
        let count = |busy_ticks| {
            let sample: RestSample = busy(busy_ticks);
            let restless = sample.restless(before, 28_000, other_work.busy_max());
            restless.len()
        };
        assert_eq!([count(55), count(65)], [0, 1]);
        // What a load leaves behind is not other work, and a machine at rest has none.
        other_work.learn(0.9);
        assert_eq!(other_work.share, Some(0.5));
        let mut none = OtherWork::default();
        none.learn(0.05);
        assert_eq!(none.share, Some(0.0));
    }
}
