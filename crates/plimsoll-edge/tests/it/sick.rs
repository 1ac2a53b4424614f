//! Servers that are slow, hang, reset, or are half dead: every client gets an answer, and soon.

use std::num::NonZeroU32;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use plimsoll_config::edge::{Ceiling, Chooser, Eject, Pool, Timeouts};
use plimsoll_testkit::origin::fault::{self, Fault};
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};

use crate::crowd::{Crowd, Ends, with_fallback};
use crate::support::{Scripted, plain, pool, start};

fn serial(service: Duration) -> KnownLaw {
    KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::MIN,
        service: Service::Deterministic(service),
        ..KnownLawPlan::default()
    })
    .unwrap()
}

/// Few places, a short line, and little patience with servers.
fn strict(pool: Pool, patience: Duration) -> Pool {
    Pool {
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

fn crowd(clients: usize, requests: usize) -> Crowd {
    Crowd {
        clients,
        pause: Duration::ZERO,
        ends: Ends::After(requests),
    }
}

#[test]
fn the_fallback_stands_in_for_every_way_of_being_ill() {
    for (fault, may_break) in [
        (Fault::NeverAnswers, false),
        (Fault::Resets, false),
        (Fault::ClosesAtOnce, false),
        (Fault::Refuses, false),
        (Fault::FullBacklog, false),
        (Fault::Garbage, false),
        // An answer that has begun cannot be taken back: it breaks off.
        (Fault::ClosesInBody, true),
        (Fault::SlowBody(Duration::from_secs(1)), true),
    ] {
        let name = format!("{fault:?}");
        let server = fault::start(fault).unwrap();
        let pool = strict(pool(&[server.address()]), Duration::from_millis(200));
        let edge = start(&with_fallback(plain(pool)));
        let got = crowd(20, 3).ask(edge.address);
        assert_eq!(got.pages.len(), 0, "{name}");
        assert_eq!(got.shells.len() + got.other.len(), 60, "{name}");
        assert!(may_break || got.other.is_empty(), "{name}: {:?}", got.other);
        let least = if may_break { 10 } else { 60 };
        assert!(got.shells.len() >= least, "{name}: {got:?}");
    }
}

#[test]
fn a_half_dead_pool_lives_by_its_other_half() {
    for fault in [
        Fault::NeverAnswers,
        Fault::Resets,
        Fault::Refuses,
        Fault::FullBacklog,
        Fault::Status(500),
    ] {
        let name = format!("{fault:?}");
        let (ill, well) = (
            fault::start(fault).unwrap(),
            serial(Duration::from_millis(1)),
        );
        // Those who are well must not be taken for ill when this machine has other work.
        let edge = start(&with_fallback(plain(Pool {
            eject: Eject {
                failures: 3,
                // For as long as the test may take.
                lasting: Duration::from_mins(10),
                ..Eject::default()
            },
            ..strict(
                pool(&[ill.address(), well.address()]),
                Duration::from_secs(1),
            )
        })));
        let got = crowd(4, 50).ask(edge.address);
        // Those that found out: four at once, and the three before it was clear.
        let served = got.pages.len();
        assert!(
            served >= 200 - 3 * 4 - 4,
            "{name}: {served} pages, {:?}",
            got.other
        );
        // Afterwards nobody meets it.
        let got = crowd(4, 50).ask(edge.address);
        assert_eq!(got.pages.len(), 200, "{name}: {got:?}");
    }
}

/// One of three replicas takes ten times as long: who looks at latencies sends little there, who takes turns a third.
#[test]
fn peak_latency_and_two_choices_beat_taking_turns() {
    let measure = |chooser: Chooser| {
        let replicas = [5, 5, 50].map(|ms| serial(Duration::from_millis(ms)));
        let addresses: Vec<_> = replicas.iter().map(KnownLaw::address).collect();
        let edge = start(&plain(Pool {
            chooser,
            ..pool(&addresses)
        }));
        let got = crowd(4, 75).ask(edge.address);
        assert_eq!(got.pages.len(), 300, "{:?}", got.other);
        let slow = replicas[2].counts().served;
        let late = replicas.iter().map(|one| one.counts().late_max).max();
        (slow, got.pages.iter().sum::<Duration>() / 300, late)
    };
    let (in_turn, mean_in_turn, late_in_turn) = measure(Chooser::RoundRobin);
    let (chosen, mean_chosen, late_chosen) = measure(Chooser::PeakEwma);
    assert_eq!(in_turn, 100);
    let late = late_in_turn.max(late_chosen);
    // Where the machine makes one that takes 5 ms look like one that takes 50 ms, latencies tell nothing.
    if late > Some(Duration::from_millis(25)) {
        plimsoll_testkit::not_tried::not_tried(format_args!(
            "who is sent little, replies of the replicas were up to {late:?} late"
        ));
        return;
    }
    assert!(chosen < 45, "{chosen} of 300 went to the slow one");
    assert!(
        mean_chosen < mean_in_turn,
        "{mean_chosen:?} and {mean_in_turn:?}"
    );
}

/// A server that takes long over a page keeps its own client waiting, and nobody else.
#[test]
fn a_slow_server_holds_up_only_whom_it_serves() {
    let (came, waits) = channel();
    let (go_on, may) = channel::<()>();
    let may = Mutex::new(may);
    let server = Scripted::start(move |mut heard| {
        while heard.head().is_some() {
            came.send(()).unwrap();
            may.lock().unwrap().recv().unwrap();
            heard.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    let edge = start(&with_fallback(plain(Pool {
        ceiling: Ceiling::Fixed(1),
        queue: Some(0),
        ..pool(&[server.address])
    })));
    let address = edge.address;
    let first = std::thread::spawn(move || crowd(1, 1).ask(address));
    waits.recv().unwrap();
    let got = crowd(10, 20).ask(edge.address);
    assert_eq!(got.shells.len(), 200, "{got:?}");
    go_on.send(()).unwrap();
    assert_eq!(first.join().unwrap().pages.len(), 1);
}
