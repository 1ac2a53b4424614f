//! What makes a load void on the host of one of its workers, by the worker's name. The sums over all workers would hide it.

use plimsoll_model::histogram::Histogram;
use plimsoll_model::objective::Objective;
use plimsoll_model::verdict::VoidReason;
use plimsoll_model::worker::WorkerRecord;

use super::theft::{SECONDS_MAX, STEAL_SHARE_MAX};
use super::validity::{GENERATOR_CPU_MAX, lag_bound_us};
use crate::stats::order::quantile_ranks;

/// Share of the periods of a CPU quota that a worker may stand still in a second, 0 to 1: less than one of the ten that a
/// second usually has.
const THROTTLED_SHARE_MAX: f64 = 0.05;
/// Most reasons reported.
const REASONS_MAX: usize = 20;

/// How the load was to be carried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkerBounds<'a> {
    /// What the run is judged by.
    pub(crate) objective: &'a Objective,
    /// Time that what is due may be batched, µs.
    pub(crate) tick_us: u64,
    /// Whether the generator had moments to keep.
    pub(crate) is_paced: bool,
}

/// Faults of the generators and machines of workers, over the judged seconds.
pub(crate) fn voids(workers: &[WorkerRecord], bounds: WorkerBounds<'_>) -> Vec<VoidReason> {
    let reasons = workers.iter().flat_map(|worker| {
        let named = move |reason| VoidReason::Worker {
            name: worker.name.clone(),
            reason: Box::new(reason),
        };
        of_worker(worker, bounds).into_iter().map(named)
    });
    reasons.take(REASONS_MAX).collect()
}

fn of_worker(worker: &WorkerRecord, bounds: WorkerBounds<'_>) -> Vec<VoidReason> {
    let judged = &worker.judged;
    let mut reasons = Vec::new();
    if bounds.is_paced {
        let bound_us = lag_bound_us(bounds.objective) + bounds.tick_us as f64;
        if p99_low(&judged.lag) as f64 > bound_us {
            reasons.push(VoidReason::GeneratorLag {
                lag_ms_p99: judged.lag.quantile(0.99).unwrap_or(0) as f64 / 1e3,
                bound_ms: bound_us / 1e3,
            });
        }
        let share = judged.loop_cpu(worker.loops);
        if share > GENERATOR_CPU_MAX {
            reasons.push(VoidReason::GeneratorCpu { share });
        }
    }
    let used = judged.generator;
    if used.ports_exhausted > 0 {
        reasons.push(VoidReason::GeneratorPorts {
            failures: used.ports_exhausted,
        });
    }
    if used.descriptors_exhausted > 0 {
        reasons.push(VoidReason::GeneratorDescriptors {
            failures: used.descriptors_exhausted,
        });
    }
    let seconds_share = judged.stolen_seconds(STEAL_SHARE_MAX);
    if seconds_share > SECONDS_MAX {
        reasons.push(VoidReason::Steal { seconds_share });
    }
    let seconds_share = judged.throttled_seconds(THROTTLED_SHARE_MAX);
    if seconds_share > SECONDS_MAX {
        reasons.push(VoidReason::Throttled { seconds_share });
    }
    reasons
}

/// The lag that its 99th percentile exceeds with 95 % confidence, µs, as for a load of this machine.
fn p99_low(lag: &Histogram) -> u64 {
    let (low, _) = quantile_ranks(lag.count(), 0.99, 1.645);
    lag.quantile(low as f64 / lag.count().max(1) as f64)
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::window::Window;
    use plimsoll_model::worker::HostUse;

    use super::*;

    /// Ten seconds of a worker that `host` and `change` describe.
    fn worker(name: &str, host: HostUse, change: impl Fn(&mut Window)) -> WorkerRecord {
        let mut record = WorkerRecord {
            name: name.to_owned(),
            loops: 2,
            ..WorkerRecord::default()
        };
        for second in 0..10 {
            let mut window = Window::new(second);
            window.lag.record(100, 1000);
            window.generator.loop_cpu_us = 400_000;
            change(&mut window);
            record.add(&window, host, true);
        }
        record
    }

    fn texts(workers: &[WorkerRecord], is_paced: bool) -> Vec<String> {
        let bounds = WorkerBounds {
            objective: &Objective::default(),
            tick_us: 0,
            is_paced,
        };
        let reasons = voids(workers, bounds);
        reasons.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_fault_is_that_of_the_worker_that_had_it() {
        let host = |steal, throttled| HostUse {
            steal: Some(steal),
            throttled: Some(throttled),
        };
        let calm = host(0.0, 0.0);
        let workers = [
            worker("good", calm, |_| {}),
            worker("late", calm, |window| window.lag.record(20_000, 100)),
            worker("busy", calm, |window| {
                window.generator.loop_cpu_us = 1_900_000;
            }),
            worker("full", calm, |window| window.generator.ports_exhausted = 1),
            worker("narrow", calm, |window| {
                window.generator.descriptors_exhausted = 2;
            }),
            worker("robbed", host(0.3, 0.0), |_| {}),
            worker("limited", host(0.0, 0.1), |_| {}),
        ];
        let found = texts(&workers, true);
        let expected = [
            "worker late: the generator was late",
            "worker busy: the generator used 95 %",
            "worker full: the generator ran out of local ports 10 times",
            "worker narrow: the generator ran out of file descriptors 20 times",
            "worker robbed: the hypervisor took more than 5 % of the CPU in 100 %",
            "worker limited: the CPU quota of its cgroup stopped the generator in more than 5 % of the quota's periods, in 100 %",
        ];
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (text, expected) in found.iter().zip(expected) {
            assert!(text.starts_with(expected), "{text}");
        }
        // A load that only waits for answers is never late.
        assert_eq!(texts(&workers[1..3], false), [""; 0]);
    }

    #[test]
    fn a_quota_that_stops_a_worker_now_and_then_voids_nothing() {
        let mut record = worker("a", HostUse::default(), |_| {});
        for second in 10..20 {
            let throttled = Some(if second < 14 { 0.1 } else { 0.0 });
            let host = HostUse {
                throttled,
                ..HostUse::default()
            };
            record.add(&Window::new(second), host, true);
        }
        // In four of the ten seconds in which it is known.
        assert_eq!(texts(&[record.clone()], false).len(), 1);
        for second in 20..30 {
            let host = HostUse {
                throttled: Some(0.0),
                ..HostUse::default()
            };
            record.add(&Window::new(second), host, true);
        }
        assert_eq!(texts(&[record], false), [""; 0]);
    }

    #[test]
    fn a_hiccup_among_few_arrivals_is_chance() {
        let mut lag = Histogram::new();
        lag.record(100, 99);
        lag.record(50_000, 2);
        assert_eq!(lag.quantile(0.99), Some(50_015));
        assert!(p99_low(&lag) < 200);
        assert_eq!(p99_low(&Histogram::new()), 0);
    }
}
