//! Users who wait, think, lose patience and try again.

use plimsoll_testkit::queueing::closed;

use crate::support::{lasting, near, precise};

#[test]
fn users_who_think_are_the_machine_repairmans() {
    for users in [5_u32, 20, 60] {
        let text = format!(
            "tiers: {{ web: {{ service: exponential 20ms }} }}\nload: {{ users: {users}, think: exponential 400ms }}\n"
        );
        let simulated = precise(&text, 21);
        let expected = closed::mean_response(users, 0.02, 0.4) * 1e3;
        near(
            simulated.response_ms.unwrap().mean,
            expected,
            0.01,
            "mean response",
        );
        let rate = simulated.requests as f64 / simulated.measured_s;
        near(
            rate,
            closed::throughput(users, 0.02, 0.4),
            0.01,
            "throughput",
        );
    }
}

#[test]
fn impatient_users_fail_and_their_work_goes_on() {
    // A server that takes a second for each, and users who wait 400 ms: all fail, and it stays busy with what nobody awaits.
    let text = "tiers: { web: { service: 1s } }\nload: { rate: 0.5/s, patience: 400ms, retries: 2, retry_after: 100ms }\n\
                objective: errors < 1%\n";
    let simulated = lasting(text, 4_000, 22);
    assert_eq!(simulated.failed, simulated.requests);
    assert!(simulated.response_ms.is_none());
    assert_eq!(simulated.objective_holds, Some(false));
    // Three attempts each, and the load is 1.5 of what the server carries: a retry storm.
    near(simulated.attempts_per_s, 1.5, 0.1, "attempts per second");
    near(simulated.tiers[0].busy, 1.0, 0.01, "busy share");
    assert!(simulated.given_up >= 3 * simulated.failed - 10);
}

#[test]
fn patience_is_a_matter_of_the_draw() {
    // Exponential patience of mean 1/θ against a service alone of rate μ: a share θ/(θ + μ) is lost.
    let text = "tiers: { web: { service: exponential 10ms, servers: 1000 } }\n\
                load: { rate: 200/s, patience: exponential 40ms }\n";
    let simulated = lasting(text, 2_000, 23);
    let lost = simulated.failed as f64 / simulated.requests as f64;
    near(lost, 0.2, 0.015, "share that is given up");
    assert_eq!(simulated.given_up, simulated.failed);
}

#[test]
fn a_wait_ends_at_its_time_out() {
    let text =
        "tiers: { web: { service: exponential 10ms, timeout: 30ms } }\nload: { rate: 150/s }\n";
    let simulated = precise(text, 24);
    let web = &simulated.tiers[0];
    assert!(web.timed_out > 1_000, "{web:?}");
    assert!(web.timed_out.abs_diff(simulated.failed) <= 2, "{web:?}");
    assert!(web.wait_ms.unwrap().p99 <= 30.1, "{web:?}");
    // What is not answered is what the server cannot carry.
    let answered = 1.0 - simulated.failed as f64 / simulated.requests as f64;
    near(
        answered * 150.0 * 0.01,
        web.busy,
        0.02,
        "answers by the busy share",
    );
}

#[test]
fn regions_have_their_distances() {
    let text = "tiers: { web: { service: 1ms, servers: 100, region: west-europe } }\n\
                load: { rate: 100/s, regions: { west-europe: 25%, east-us: 75% } }\n";
    let simulated = precise(text, 25);
    let mean = |index: usize| simulated.regions[index].response_ms.unwrap().mean;
    near(mean(0), 1.0, 0.001, "beside the service");
    // 83 ms from east-us to west-europe, in the built-in table.
    near(mean(1), 84.0, 0.001, "across the ocean");
    let shares = simulated
        .regions
        .iter()
        .map(|region| region.response_ms.unwrap().count);
    let counts: Vec<u64> = shares.collect();
    near(
        counts[1] as f64 / (counts[0] + counts[1]) as f64,
        0.75,
        0.01,
        "share of the region",
    );
}
