//! The generator, on made-up series.

use plimsoll_model::finding::Certainty;
use plimsoll_model::metric;

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{SyntheticRun, check, of, ports};

#[test]
fn g1_a_generator_that_is_late() {
    let run = SyntheticRun::healthy().failing_windows(|window| window.lag.record(30_000, 100));
    let expected = "sent requests 30.0 ms late (p99; valid: up to 5.0 ms)";
    check(&run, RuleId::G1, Certainty::Explicit, 1.0, expected);
}

#[test]
fn g1_a_generator_without_cpu_that_does_not_send_what_is_due() {
    let starved = SyntheticRun::healthy().failing_windows(|window| {
        window.sent = 900;
        window.generator.loop_cpu_us_max = 980_000;
    });
    check(
        &starved,
        RuleId::G1,
        Certainty::Explicit,
        1.0,
        "event loop at 98 % of a core",
    );
    // A closed loop sends when it can: it is never late.
    assert_eq!(starved.closed().find(), []);
    // CPU is left: unsent requests wait for the target.
    let waiting = SyntheticRun::healthy().failing_windows(|window| window.sent = 900);
    assert_eq!(waiting.find(), []);
}

#[test]
fn g2_a_generator_without_ports() {
    let used = ports(metric::PORTS_USED, "127.0.0.1:8080", metric::GENERATOR);
    let full = SyntheticRun::healthy().set(&used, [500.0, 9000.0, 27_900.0]);
    check(
        &full,
        RuleId::G2,
        Certainty::Explicit,
        1.0,
        "27900 of 28232 ports were in use",
    );
    let refused =
        SyntheticRun::healthy().failing_windows(|window| window.generator.ports_exhausted = 40);
    check(
        &refused,
        RuleId::G2,
        Certainty::Explicit,
        1.0,
        "40 connections a second failed",
    );
}

#[test]
fn g3_a_generator_without_descriptors() {
    let limit = of(metric::PROCESS_FILES_LIMIT, metric::GENERATOR);
    let run = SyntheticRun::healthy()
        .set(&limit, [256.0; 3])
        .failing_windows(|window| window.generator.descriptors_exhausted = 7);
    let expected = "7 connections a second failed; its limit is 256";
    check(&run, RuleId::G3, Certainty::Explicit, 1.0, expected);
}
