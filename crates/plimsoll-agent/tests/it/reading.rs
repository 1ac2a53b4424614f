//! Readings of agents that serve.

use std::time::{Duration, Instant};

use plimsoll_agent::Agents;
use plimsoll_model::metric;
use plimsoll_model::reading::{Readings, label};

use crate::support::{DAY, RunningAgent, after};

/// Far longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);
const GLANCE: Duration = Duration::from_millis(20);

/// A run that begins now.
struct Run {
    epoch: Instant,
    /// The first second that was not added.
    next: u32,
}

impl Run {
    #[expect(clippy::disallowed_methods, reason = "a test is its own clock")]
    fn start() -> Self {
        Self {
            epoch: Instant::now(),
            next: 0,
        }
    }

    /// Adds the seconds as they pass, until a machine has delivered; returns that second.
    fn delivered(&mut self, agents: &Agents, machine: &str) -> Readings {
        while self.epoch.elapsed() < PATIENCE {
            let second = u32::try_from(self.epoch.elapsed().as_secs()).unwrap();
            if second < self.next {
                after(GLANCE);
                continue;
            }
            self.next = second + 1;
            let mut readings = Readings {
                second,
                ..Readings::default()
            };
            // An agent is waited for as soon as it delivers regularly.
            agents.add_to(&mut readings, PATIENCE);
            let is_there = |name: &String| label(name, "host.name") == Some(machine);
            if readings.values.keys().any(is_there) {
                return readings;
            }
        }
        panic!("{machine} delivers nothing: {:?}", agents.notes());
    }

    /// Waits for a note.
    fn noted(&self, agents: &Agents, part: &str) -> String {
        while self.epoch.elapsed() < PATIENCE {
            if let Some(note) = agents.notes().into_iter().find(|note| note.contains(part)) {
                return note;
            }
            after(GLANCE);
        }
        panic!("no note with {part}: {:?}", agents.notes());
    }
}

#[test]
fn readings_have_the_name_of_their_machine() {
    let first = RunningAgent::start("db1");
    let second = RunningAgent::start("web1");
    let specs = vec![
        first.spec(vec![first.invite(DAY)]),
        // The token that fits is found among others.
        second.spec(vec![first.invite(DAY), second.invite(DAY)]),
    ];
    let mut agents = Agents::connect(specs).unwrap();
    assert_eq!(agents.names(), ["db1", "web1"]);
    let mut run = Run::start();
    agents.begin(run.epoch, None, &[]).unwrap();
    for machine in ["db1", "web1"] {
        let readings = run.delivered(&agents, machine);
        let value = |metric: &str| readings.values[&format!("{metric}{{host.name={machine}}}")];
        assert!(value(metric::CPU_COUNT) >= 1.0);
        // It is no generator there.
        let is_there = |process| {
            let mut series = readings.values.keys();
            series.any(|name| label(name, "process") == Some(process))
        };
        assert!(is_there(metric::AGENT) && !is_there(metric::GENERATOR));
        // Both are this machine: half of a short round trip apart.
        let offset = value(metric::CLOCK_OFFSET);
        assert!(offset.abs() < 0.05, "{offset}");
    }
    let reports = first.reports();
    assert!(reports[0].starts_with("serving 127.0.0.1:"), "{reports:?}");
}

#[test]
fn an_agent_that_is_gone_is_noted_and_comes_back() {
    let mut agent = RunningAgent::start("db1");
    let token = agent.invite(DAY);
    let mut agents = Agents::connect(vec![agent.spec(vec![token])]).unwrap();
    let mut run = Run::start();
    agents.begin(run.epoch, None, &[]).unwrap();
    run.delivered(&agents, "db1");
    agent.end();
    let gone = run.noted(&agents, "is gone since second");
    assert!(gone.starts_with("db1: "), "{gone}");
    assert!(gone.contains("readings are missing"), "{gone}");
    agent.serve();
    run.noted(&agents, "is back since second");
    run.delivered(&agents, "db1");
}
