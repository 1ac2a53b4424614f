//! Slow, hanging, resetting and half-dead servers: every client receives a response, and soon.

use std::num::NonZeroU32;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use plimsoll_config::edge::{BalancingPolicy, Ceiling, Eject, PoolConfig, Timeouts};
use plimsoll_testkit::origin::fault::{self, OriginFault};
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};

use crate::concurrent_clients::{ConcurrentClients, Ends, with_fallback};
use crate::support::{PATIENCE, Scripted, plain, pool, start};

fn serial(service: Duration) -> KnownLaw {
    KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::MIN,
        service: Service::Deterministic(service),
        ..KnownLawPlan::default()
    })
    .unwrap()
}

/// Few slots, a short queue, and short time-outs.
fn strict(pool: PoolConfig, patience: Duration) -> PoolConfig {
    PoolConfig {
        ceiling: Ceiling::Fixed(4),
        queue: Some(8),
        queue_timeout: Duration::from_millis(300),
        timeouts: Timeouts {
            first_byte: patience,
            idle: patience,
            connect: patience,
            ..pool.timeouts
        },
        ..pool
    }
}

fn concurrent_clients(clients: usize, requests: usize) -> ConcurrentClients {
    ConcurrentClients {
        clients,
        pause: Duration::ZERO,
        ends: Ends::After(requests),
    }
}

#[test]
fn the_fallback_stands_in_for_every_way_of_being_ill() {
    for (fault, fallbacks_min) in [
        (OriginFault::NeverAnswers, 60),
        (OriginFault::Resets, 60),
        (OriginFault::ClosesAtOnce, 60),
        (OriginFault::Refuses, 60),
        (OriginFault::FullBacklog, 60),
        (OriginFault::Garbage, 60),
        // A started response cannot be taken back: it is truncated. How many requests find the queue full meanwhile
        // depends on how fast this machine is.
        (OriginFault::ClosesInBody, 0),
        (OriginFault::SlowBody(Duration::from_secs(1)), 0),
    ] {
        let name = format!("{fault:?}");
        let server = fault::start(fault).unwrap();
        let pool = strict(pool(&[server.address()]), Duration::from_millis(200));
        let edge = start(&with_fallback(plain(pool)));
        let got = concurrent_clients(20, 3).run(edge.address);
        assert_eq!(got.pages.len(), 0, "{name}");
        assert_eq!(got.fallbacks.len() + got.other.len(), 60, "{name}");
        assert!(got.fallbacks.len() >= fallbacks_min, "{name}: {got:?}");
    }
}

#[test]
fn a_half_dead_pool_lives_by_its_other_half() {
    // Two of them last until the edge loses patience with the server: all at once.
    std::thread::scope(|scope| {
        for fault in [
            OriginFault::NeverAnswers,
            OriginFault::Resets,
            OriginFault::Refuses,
            OriginFault::FullBacklog,
            OriginFault::Status(500),
        ] {
            scope.spawn(|| live_by_the_other_half(fault));
        }
    });
}

fn live_by_the_other_half(fault: OriginFault) {
    let name = format!("{fault:?}");
    let (ill, well) = (
        fault::start(fault).unwrap(),
        serial(Duration::from_millis(1)),
    );
    let edge = start(&with_fallback(plain(PoolConfig {
        eject: Eject {
            failures: 3,
            // Longer than the test may take.
            lasting: Duration::from_mins(10),
            ..Eject::default()
        },
        ..strict(
            pool(&[ill.address(), well.address()]),
            // Healthy servers must not be ejected when this machine is busy.
            Duration::from_secs(10),
        )
    })));
    let got = concurrent_clients(4, 50).run(edge.address);
    // Requests that met the failure: four concurrent ones, and the three before the ejection.
    let served = got.pages.len();
    assert!(
        served >= 200 - 3 * 4 - 4,
        "{name}: {served} pages, {:?}",
        got.other
    );
    // Afterwards no request meets it.
    let got = concurrent_clients(4, 50).run(edge.address);
    assert_eq!(got.pages.len(), 200, "{name}: {got:?}");
}

/// One of three replicas is ten times slower: latency-based policies send little there, round robin a third.
#[test]
fn peak_latency_and_two_choices_beat_taking_turns() {
    let measure = |balancer: BalancingPolicy| {
        let replicas = [5, 5, 50].map(|ms| serial(Duration::from_millis(ms)));
        let addresses: Vec<_> = replicas.iter().map(KnownLaw::address).collect();
        let edge = start(&plain(PoolConfig {
            load_balancer: balancer,
            ..pool(&addresses)
        }));
        let got = concurrent_clients(4, 75).run(edge.address);
        assert_eq!(got.pages.len(), 300, "{:?}", got.other);
        let slow = replicas[2].counts().served;
        let late = replicas
            .iter()
            .map(|replica| replica.counts().late_max)
            .max();
        // Nobody else may take so long: four wait for 5 ms each.
        let long = got
            .pages
            .iter()
            .filter(|page| **page > Duration::from_millis(45));
        let delayed = (long.count() as u64).saturating_sub(slow);
        (
            slow,
            got.pages.iter().sum::<Duration>() / 300,
            (late, delayed),
        )
    };
    let (round_robin, mean_round_robin, delays_round_robin) = measure(BalancingPolicy::RoundRobin);
    let (chosen, mean_chosen, delays_chosen) = measure(BalancingPolicy::PeakEwma);
    assert_eq!(round_robin, 100);
    let late = delays_round_robin.0.max(delays_chosen.0);
    let delayed = delays_round_robin.1 + delays_chosen.1;
    // On a machine where a 5 ms server looks like a 50 ms one, latencies carry no information.
    if late > Some(Duration::from_millis(25)) || delayed > 0 {
        plimsoll_testkit::not_tried::not_tried(format_args!(
            "who is sent little, replies of the replicas were up to {late:?} late, and {delayed} others took long"
        ));
        return;
    }
    assert!(chosen < 45, "{chosen} of 300 went to the slow one");
    assert!(
        mean_chosen < mean_round_robin,
        "{mean_chosen:?} and {mean_round_robin:?}"
    );
}

/// A slow page delays its own client only.
#[test]
fn a_slow_server_holds_up_only_whom_it_serves() {
    let (came, waits) = channel();
    let (go_on, may) = channel::<()>();
    let may = Mutex::new(may);
    let server = Scripted::start(move |mut connection| {
        while connection.head().is_some() {
            came.send(()).unwrap();
            may.lock().unwrap().recv().unwrap();
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    let edge = start(&with_fallback(plain(PoolConfig {
        ceiling: Ceiling::Fixed(1),
        queue: Some(0),
        ..pool(&[server.address])
    })));
    let address = edge.address;
    let first = std::thread::spawn(move || concurrent_clients(1, 1).run(address));
    waits.recv_timeout(PATIENCE).unwrap();
    let got = concurrent_clients(10, 20).run(edge.address);
    assert_eq!(got.fallbacks.len(), 200, "{got:?}");
    go_on.send(()).unwrap();
    assert_eq!(first.join().unwrap().pages.len(), 1);
}
