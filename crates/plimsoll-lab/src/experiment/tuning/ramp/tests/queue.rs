//! Rising loads on queues in virtual time, whose load line and backlog are known by formulas.

use plimsoll_analysis::experiment::metrics::ramp::{BeyondLine, RisenLoad, lead_s, risen_in};
use plimsoll_analysis::stats::order::median;
use plimsoll_testkit::queue::{Distribution, SimulatedLaw, SimulatedQueue};
use plimsoll_testkit::queueing::deterministic_load_line;

use super::*;

/// Each server carries 20 requests a second.
const SERVICE_S: f64 = 0.05;
const OBJECTIVE: &str = "p95 < 500ms";
/// Time in which what is in flight may end, s.
const DRAIN_S: f64 = 10.0;
const SEEDS: u64 = 9;

fn queue(servers: usize, seed: u64) -> SimulatedQueue {
    let law = SimulatedLaw {
        servers,
        service: Distribution::Deterministic,
        mean_s: SERVICE_S,
    };
    SimulatedQueue::new(law, Spacing::Poisson, Seed(seed))
}

/// The load of a shape.
fn load(shape: &RampShape) -> (Load, Vec<LoadPhase>) {
    let own = Load::Open {
        phases: Vec::new(),
        spacing: Spacing::Poisson,
    };
    let load = shape.load(&own);
    let Load::Open { phases, .. } = &load else {
        panic!("requests arrive");
    };
    let phases = phases.clone();
    (load, phases)
}

/// What a load shows, and when it ended, s.
fn rise(queue: &mut SimulatedQueue, shape: &RampShape) -> (RisenLoad, f64) {
    let objective = objective(OBJECTIVE);
    let (load, phases) = load(shape);
    let mut watch = BeyondLine::new(&objective, lead_s(&load));
    let mut ended_s = 0.0;
    let windows = queue.offer(&phases, |window| {
        ended_s += 1.0;
        watch.closes(window).is_some()
    });
    (risen_in(&load, &objective, &windows).unwrap(), ended_s)
}

/// Around a line that is known, and climbing to half of one that is far above.
fn shapes(line: f64) -> [RampShape; 2] {
    let (objective, unit) = (objective(OBJECTIVE), LoadUnit::RequestsPerSecond);
    let climbing = RampShape::between(80.0, 240.0, &objective, unit).climbing_from(13.0);
    [RampShape::for_line(line, &objective, unit), climbing]
}

#[test]
fn a_rising_load_shows_the_line_of_a_queue() {
    for servers in [1, 4, 8] {
        let line = deterministic_load_line(servers, SERVICE_S, 0.95, 0.5).unwrap();
        for shape in shapes(line) {
            let shown = (0..SEEDS).map(|seed| {
                let (risen, _) = rise(&mut queue(servers as usize, seed), &shape);
                match risen.crossing {
                    Crossing::At(line) | Crossing::Above(line) | Crossing::Below(line) => line,
                }
            });
            let shown = median(&shown.collect::<Vec<_>>()).unwrap();
            // A queue of chance waits for more than a tail of 5 % tells; the capacity of one server is 18 % above its line.
            let most = (f64::from(servers) / SERVICE_S).min(1.12 * line);
            assert!(
                0.95 * line < shown && shown < 1.03 * most,
                "{shown} for {line} of {servers} servers"
            );
        }
    }
}

/// What a service of this capacity has not answered of phases at a moment, by the formula of a fluid that rises.
fn left_of(phases: &[LoadPhase], capacity: f64, until_s: f64) -> f64 {
    let pieces = 10_000;
    let each_s = until_s / f64::from(pieces);
    let mut left = 0.0_f64;
    for piece in 0..pieces {
        let mut at_s = f64::from(piece) * each_s;
        let mut load = 0.0;
        for phase in phases {
            let lasting_s = phase.lasting_ns as f64 / 1e9;
            if at_s < lasting_s {
                load = phase.from + (phase.to - phase.from) * at_s / lasting_s;
                break;
            }
            at_s -= lasting_s;
        }
        left = (left + (load - capacity) * each_s).max(0.0);
    }
    left
}

#[test]
fn a_load_that_climbs_leaves_a_short_queue_behind() {
    // One server, where the best setting carries 160/s: it climbs from 13, or would begin at 80.
    let capacity = 1.0 / SERVICE_S;
    let [_, climbing] = shapes(capacity);
    let at_half = RampShape {
        begin: climbing.from,
        climbing: Duration::ZERO,
        ..climbing
    };
    let left = |shape: &RampShape| {
        let mut queue = queue(1, 3);
        let (_, ended_s) = rise(&mut queue, shape);
        let (_, phases) = load(shape);
        let expected_s = left_of(&phases, capacity, ended_s) / capacity - DRAIN_S;
        (queue.wait_s(), expected_s.max(0.0))
    };
    let (half_s, expected_s) = left(&at_half);
    assert!(
        expected_s > 15.0 && (half_s / expected_s - 1.0).abs() < 0.15,
        "{half_s} for {expected_s}"
    );
    let (climbed_s, expected_s) = left(&climbing);
    assert!(
        climbed_s < 2.0 && expected_s < 2.0,
        "{climbed_s} for {expected_s}"
    );
}
