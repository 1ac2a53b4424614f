//! Worlds that cannot be, and changes of worlds.

use plimsoll_config::world::WhatIf;
use plimsoll_model::seed::Seed;
use plimsoll_simulate::{Ending, Forecast, SimulateError, SimulationOptions, simulate};

use crate::support::{lasting, near, world};

const NEWSPAPER: &str = "\
tiers:
  cdn: { service: 1ms, servers: 1000, cache: 90%, calls: { to: web, blocking: false } }
  web: { service: exponential 20ms, servers: 8, queue: 1000, timeout: 5s }
load: { rate: 200/s }
";

#[test]
fn more_demand_than_capacity_is_refused_with_its_remedy() {
    let text = "tiers: { web: { service: 10ms, servers: 2 } }\nload: { rate: 250/s }\n";
    let error = simulate(&world(text), SimulationOptions::new(Seed(1))).unwrap_err();
    let expected = SimulateError::TooMuchDemand {
        tier: "web".to_owned(),
        demand: 250.0,
        capacity: 200.0,
        rate_max: 200.0,
    };
    assert_eq!(error, expected);
    assert!(
        error.to_string().contains("tier `web` is to serve 250.0"),
        "{error}"
    );
    assert!(
        error.remedy().contains("a load below 200.0/s"),
        "{}",
        error.remedy()
    );
    // With a time it is shown: the queue grows by 50 a second.
    let simulated = lasting(text, 100, 1);
    assert_eq!(simulated.ending, Ending::TimeOver);
    near(
        simulated.tiers[0].waiting,
        50.0 * 52.5,
        0.1,
        "mean backlog between second 5 and 100",
    );
}

#[test]
fn a_queue_that_refuses_may_be_overloaded() {
    let text = "tiers: { web: { service: 10ms, servers: 2, queue: 10 } }\nload: { rate: 250/s }\n";
    let simulated = simulate(&world(text), SimulationOptions::new(Seed(1))).unwrap();
    assert_eq!(simulated.ending, Ending::Precise);
    near(
        simulated.failed as f64 / simulated.requests as f64,
        0.2,
        0.1,
        "share beyond the capacity",
    );
}

#[test]
fn a_queue_before_a_call_that_does_not_block_bounds_nothing() {
    let edge = |blocking: bool| {
        let text = format!(
            "tiers:\n  edge: {{ service: 1ms, servers: 10, queue: 100, calls: {{ to: db, blocking: {blocking} }} }}\n  \
             db: {{ service: exponential 100ms }}\nload: {{ rate: 100/s }}\nobjective: errors < 1%\n"
        );
        let options = SimulationOptions {
            precision: 0.05,
            ..SimulationOptions::new(Seed(1))
        };
        simulate(&world(&text), options)
    };
    let error = edge(false).unwrap_err();
    assert!(
        matches!(&error, SimulateError::TooMuchDemand { tier, .. } if tier == "db"),
        "{error}"
    );
    // Who waits for the answer keeps a server, and the rest is refused.
    assert_eq!(edge(true).unwrap().objective_holds, Some(false));
}

#[test]
fn the_beginning_that_is_not_counted_is_a_twentieth_of_any_time() {
    let text = "tiers: { web: { service: 10ms } }\nload: { rate: 0.01/s }\n";
    let simulated = lasting(text, 40 * 86_400, 1);
    near(simulated.warmup_s, 2.0 * 86_400.0, 1e-9, "seconds before");
}

#[test]
fn a_far_store_is_arithmetic() {
    // The page of the issue: 14 blocking calls to a store 85 ms away.
    let text = "tiers:\n  web: { service: 10ms, servers: 32, calls: { to: db, times: 14 } }\n  db: { service: 0.1ms, servers: 8 }\n\
                load: { rate: 10/s }\nlinks: [{ between: [web, db], round_trip: 85ms }]\n";
    let before = world(text);
    let forecast = Forecast::of(&before).unwrap();
    let held_s = 0.01 + 14.0 * 0.0851;
    near(
        forecast.tiers[0].held_s,
        held_s,
        1e-9,
        "time that a request keeps its server",
    );
    near(forecast.rate_max, 32.0 / held_s, 1e-9, "at most");
    assert_eq!(forecast.limit, Some(0));
    near(forecast.tiers[0].far_calls, 14.0, 1e-9, "calls");
    // Without blocking the server is free at once, and the request takes as long as before.
    let after = WhatIf::read("query async", &before)
        .unwrap()
        .applied(&before)
        .unwrap();
    let after = Forecast::of(&after).unwrap();
    near(after.rate_max, 3_200.0, 1e-9, "at most, without blocking");
    near(after.response_s, forecast.response_s, 1e-9, "response");
}

#[test]
fn a_cdn_that_is_off_sends_ten_times_as_much() {
    let before = world(NEWSPAPER);
    let rates = |world: &plimsoll_config::world::World| {
        let options = SimulationOptions {
            lasting: Some(std::time::Duration::from_mins(10)),
            ..SimulationOptions::new(Seed(5))
        };
        simulate(world, options).unwrap().tiers[1].rate
    };
    near(rates(&before), 20.0, 0.05, "at the service");
    let off = WhatIf::read("cdn off", &before)
        .unwrap()
        .applied(&before)
        .unwrap();
    near(
        rates(&off),
        200.0,
        0.05,
        "at the service, without the cache",
    );
    let broken = WhatIf::read("client retries x3", &before)
        .unwrap()
        .applied(&before)
        .unwrap();
    near(
        rates(&broken),
        60.0,
        0.05,
        "at the service, with broken clients",
    );
}

#[test]
fn a_world_without_time_has_no_limit() {
    let forecast = Forecast::of(&world(
        "tiers: { web: { service: 0 } }\nload: { rate: 5/s }\n",
    ))
    .unwrap();
    assert_eq!((forecast.limit, forecast.rate_max), (None, f64::INFINITY));
}
