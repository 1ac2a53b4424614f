//! Simulation test: channels, inboxes and audiences together, as in the edge, with clients that connect, leave, return
//! and stall.

mod simulation;

use proptest::prelude::*;

use crate::audience::{AudienceLimits, Slow};
use crate::conflation::{Conflation, Mode};
use crate::pattern::Pattern;
use crate::rate::Rate;
use crate::rules::{ChannelRule, HistoryLimits, Rules};
use simulation::Simulation;

const LOOPS: u8 = 2;
const NAMES: [&str; 3] = ["plain", "held", "forgotten"];
const HISTORY: HistoryLimits = HistoryLimits {
    messages_max: 5,
    bytes_max: 100_000,
    age_ms_max: 1000,
};

fn rules() -> Rules {
    let rule = |name, conflation, history| ChannelRule {
        pattern: Pattern::new(name),
        history,
        conflation,
        has_presence: true,
        ..ChannelRule::default()
    };
    let conflation = Conflation {
        interval_ms: 100,
        mode: Mode::Newest,
    };
    let nothing = HistoryLimits {
        messages_max: 0,
        ..HISTORY
    };
    Rules::new(
        vec![
            rule("plain", None, HISTORY),
            rule("held", Some(conflation), HISTORY),
            rule("forgotten", None, nothing),
        ],
        ChannelRule::default(),
    )
}

#[derive(Clone, Copy, Debug)]
enum SimulationStep {
    /// A client connects or returns, and subscribes to a channel, optionally from its last position.
    Subscribe {
        client: usize,
        name: usize,
        recovers: bool,
    },
    Unsubscribe {
        client: usize,
        name: usize,
    },
    Leave {
        client: usize,
    },
    Publish {
        name: usize,
    },
    /// A loop takes one message from its inbox.
    Pump {
        event_loop: usize,
    },
    Wait {
        ms: u64,
    },
    /// Sets how much a client's socket accepts.
    Capacity {
        client: usize,
        capacity: usize,
    },
}

fn step(clients: usize) -> impl Strategy<Value = SimulationStep> {
    let name = 0..NAMES.len();
    let client = 0..clients;
    prop_oneof![
        4 => (client.clone(), name.clone(), any::<bool>())
            .prop_map(|(client, name, recovers)| SimulationStep::Subscribe { client, name, recovers }),
        1 => (client.clone(), name.clone()).prop_map(|(client, name)| SimulationStep::Unsubscribe { client, name }),
        1 => client.clone().prop_map(|client| SimulationStep::Leave { client }),
        8 => name.prop_map(|name| SimulationStep::Publish { name }),
        8 => (0..usize::from(LOOPS)).prop_map(|event_loop| SimulationStep::Pump { event_loop }),
        2 => (1_u64..400).prop_map(|ms| SimulationStep::Wait { ms }),
        2 => (client, 0_usize..200).prop_map(|(client, capacity)| SimulationStep::Capacity { client, capacity }),
    ]
}

fn limits(slow: Slow, waiting_max: usize) -> AudienceLimits {
    AudienceLimits {
        waiting_max,
        waiting_bytes_max: 2000,
        missed_bytes_max: 1 << 20,
        slow,
        subscriptions_max: 10,
        commands: Rate {
            per_second: 1.0,
            burst: 1.0,
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn who_keeps_up_gets_everything_in_order_once(
        steps in prop::collection::vec(step(5), 1..120),
    ) {
        let mut world = Simulation::new(5, 0, limits(Slow::Disconnect, 1));
        for step in steps {
            world.run(step);
        }
        world.settle(true);
        world.empty();
    }

    #[test]
    fn who_is_slow_harms_nobody_else(
        steps in prop::collection::vec(step(5), 1..120),
        slow in prop::sample::select(vec![Slow::NewestWins, Slow::Drop, Slow::Disconnect]),
        waiting_max in 1_usize..12,
    ) {
        let mut world = Simulation::new(2, 3, limits(slow, waiting_max));
        for step in steps {
            world.run(step);
            for audience in &world.audiences {
                let (messages, bytes) = audience.longest_wait();
                prop_assert!(messages <= waiting_max.max(1) && bytes <= 2000);
            }
        }
        // A partially written frame cannot be dropped, so one more channel may be queued than messages are allowed.
        world.settle(slow == Slow::NewestWins && waiting_max > NAMES.len());
        world.empty();
    }
}

#[test]
fn a_test_that_counts_nothing_would_pass() {
    let mut simulation = Simulation::new(2, 1, limits(Slow::NewestWins, 4));
    for client in 0..3 {
        simulation.run(SimulationStep::Subscribe {
            client,
            name: 0,
            recovers: false,
        });
    }
    for _ in 0..20 {
        simulation.run(SimulationStep::Publish { name: 0 });
        simulation.run(SimulationStep::Pump { event_loop: 0 });
        simulation.run(SimulationStep::Pump { event_loop: 1 });
    }
    assert_eq!(simulation.people[0].received, 20);
    assert_eq!(simulation.people[1].received, 20);
    // Its socket accepts a hundred bytes: one message and a part of the next.
    assert_eq!(simulation.people[2].received, 1);
    simulation.settle(true);
    assert!(
        (2..20).contains(&simulation.people[2].received),
        "{}",
        simulation.people[2].received
    );
    let counts = simulation.audiences[0].counts();
    let received = simulation.people[2].received as u64;
    assert_eq!(
        (counts.dropped, counts.delivered),
        (20 - received, 20 + received)
    );
}
