//! The truth about time: response times from the due moment, whatever the target does.

use std::time::Duration;

use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::Load;
use plimsoll_model::schedule::{LoadPhase, Spacing};
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};

use crate::trial::{
    alone, assert_all, begin, even, is_disturbed, ms, plan, run, share, stood_still, total, windows,
};

fn quick() -> KnownLaw {
    KnownLaw::start(KnownLawPlan {
        // Enough connections that the backlog of a stall is not served one by one.
        servers: 1000.try_into().unwrap(),
        service: Service::Deterministic(Duration::from_micros(100)),
        ..KnownLawPlan::default()
    })
    .unwrap()
}

#[test]
fn offered_belongs_to_the_second_of_due() {
    let origin = quick();
    let load = Load::Open {
        phases: vec![
            LoadPhase::constant(100.0, ms(1000)),
            LoadPhase::constant(0.0, ms(1000)),
            LoadPhase::constant(300.0, ms(200)),
        ],
        spacing: Spacing::Even,
    };
    let all = windows(&mut begin(plan(origin.address()), load));
    let offered: Vec<u64> = all.iter().map(|window| window.offered).take(3).collect();
    // A loop that is late by more than a second counts an arrival in a later one.
    if !stood_still(&total(&all), ms(900)) {
        assert_eq!(offered, [100, 0, 60]);
    }
}

#[test]
fn a_tick_sends_in_batches() {
    let origin = quick();
    let mut plan = plan(origin.address());
    plan.tick = Some(ms(50));
    let total = run(plan, even(200.0, ms(1000)));
    assert_all(&total, Outcome::Ok);
    // Ten requests a tick, due 2.5, 7.5 ... 47.5 ms before it: half of them wait longer than 25 ms.
    let median = total.lag.quantile(0.5).unwrap();
    assert!(median >= 22_000, "median lag {median} µs");
    assert!(total.response.quantile(0.5).unwrap() >= median);
}

#[test]
fn a_start_in_the_future_is_waited_for() {
    share();
    let origin = quick();
    let plan = plan(origin.address());
    #[expect(clippy::disallowed_methods, reason = "a job needs a start")]
    let epoch = std::time::Instant::now() + ms(100);
    let mut running = plimsoll_load::start(plimsoll_load::Job {
        seed: plan.seed,
        plan: plan.into(),
        load: even(100.0, ms(200)),
        epoch,
        start_second: 1,
        inputs: std::sync::Arc::default(),
    })
    .unwrap();
    let all = windows(&mut running);
    assert_eq!(all[0].second, 1);
    let total = total(&all);
    assert_eq!(total.offered, 20);
    // Early by not a nanosecond: the lag of one sent before its time would be 0 for all.
    assert_eq!(total.lag.count(), 20);
}

/// Tests that have the machine alone.
mod alone {
    use super::{
        KnownLaw, KnownLawPlan, Outcome, Service, alone, assert_all, begin, even, is_disturbed, ms,
        plan, quick, run, total, windows,
    };

    #[test]
    fn a_stall_of_a_tenth_of_the_time() {
        let _alone = alone();
        // 1,000/s for 5 s, of which the target stalls for a tenth: a tenth of all requests has a delay spread
        // evenly from 0 to 500 ms, so 5 % wait longer than 250 ms and 1 % longer than 450 ms.
        let origin = quick();
        let mut plan = plan(origin.address());
        plan.transport.connections_max = 2000;
        origin.stall_at(ms(2250), ms(500));
        let total = run(plan, even(1000.0, ms(5000)));
        assert_all(&total, Outcome::Ok);
        if is_disturbed(&total, &origin) {
            return;
        }
        let (p95, p99) = (
            total.response.quantile(0.95).unwrap(),
            total.response.quantile(0.99).unwrap(),
        );
        assert!((225_000..=275_000).contains(&p95), "p95 {p95} µs");
        assert!((405_000..=495_000).contains(&p99), "p99 {p99} µs");
    }

    #[test]
    fn a_stall_is_seen_through_one_connection_too() {
        let _alone = alone();
        let origin = quick();
        let mut plan = plan(origin.address());
        plan.transport.connections_max = 1;
        origin.stall_at(ms(250), ms(500));
        let total = run(plan, even(100.0, ms(1000)));
        assert_all(&total, Outcome::Ok);
        let longest = total.response.max().unwrap();
        assert!(longest >= 475_000, "{longest} µs");
        if !is_disturbed(&total, &origin) {
            assert!(longest < 750_000, "{longest} µs");
        }
    }

    #[test]
    fn in_flight_follows_littles_law() {
        let _alone = alone();
        // 20 ms of service in parallel at 100/s: two in flight on average.
        let origin = KnownLaw::start(KnownLawPlan {
            servers: 100.try_into().unwrap(),
            service: Service::Deterministic(ms(20)),
            ..KnownLawPlan::default()
        })
        .unwrap();
        let all = windows(&mut begin(plan(origin.address()), even(100.0, ms(2000))));
        let total = total(&all);
        let in_flight_s: f64 = all.iter().map(|window| window.in_flight_mean).sum();
        let response_s = total.response.mean().unwrap() / 1e6 * total.completed() as f64;
        // Both are the same sum, but for the microsecond and the bucket that a histogram cuts off.
        assert!(
            (in_flight_s / response_s - 1.0).abs() < 0.002,
            "{in_flight_s} and {response_s}"
        );
    }

    #[test]
    fn a_generator_that_falls_behind_says_so_and_loses_nothing() {
        let _alone = alone();
        // Far more than any loop can send; `windows` asserts that each arrival is counted where it was due and ends once.
        let server = plimsoll_load::null_server().unwrap();
        let mut plan = plan(server.address());
        plan.transport.timeout = ms(300);
        let total = run(plan, even(1_000_000.0, ms(500)));
        assert_eq!(total.offered, 500_000);
        assert!(
            total.lag.max().unwrap() > 10_000,
            "{:?} µs",
            total.lag.max()
        );
        let all_are_late = total.lag.quantile(0.0).unwrap() >= 300_000;
        assert!(total.outcomes.get(Outcome::Ok) > 0 || all_are_late);
    }

    #[test]
    fn an_answer_that_is_read_late_is_timed_by_its_arrival() {
        let _alone = alone();
        // The loop wakes only every 40 ms, and every response arrives while it sleeps.
        let origin = KnownLaw::start(KnownLawPlan {
            servers: 1000.try_into().unwrap(),
            service: Service::Deterministic(ms(2)),
            ..KnownLawPlan::default()
        })
        .unwrap();
        let mut plan = plan(origin.address());
        plan.tick = Some(ms(40));
        let total = run(plan, even(200.0, ms(1000)));
        assert_all(&total, Outcome::Ok);
        let median_us = total.service.quantile(0.5).unwrap();
        assert!(median_us >= 1_900, "{median_us} µs");
        // With a tick of 40 ms all are handled late: only the origin shows whether this machine was busy.
        let counts = origin.counts();
        let late_mean = counts.late_mean();
        if late_mean > ms(2) {
            plimsoll_testkit::not_tried::disturbed(format_args!("replies left {late_mean:?} late"));
        } else {
            assert!(median_us < 15_000, "{median_us} µs");
        }
    }
}
