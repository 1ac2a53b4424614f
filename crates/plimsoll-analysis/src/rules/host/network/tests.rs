//! The network, on made-up series: what triggers each rule, its text, and what does not trigger it.

use plimsoll_model::finding::Certainty;
use plimsoll_model::metric::{self, series};
use plimsoll_model::window::Window;

use crate::diagnosis::rule_id::RuleId;
use crate::rules::host::tests::{calm, link, softirq};
use crate::rules::tests::{SyntheticRun, check, listener, ports, rules_and_causes};

#[test]
fn n1_an_accept_queue_that_overflows() {
    let run = SyntheticRun::healthy()
        .set(metric::LISTEN_OVERFLOWS, [0.0, 0.0, 132.0])
        .set(&listener(metric::LISTEN_QUEUE), [0.0, 3.0, 17.0]);
    let expected =
        "the accept queue of 127.0.0.1:8080 overflowed 132 times a second; its backlog is 16";
    check(&run, RuleId::N1, Certainty::Explicit, 1.0, expected);
}

#[test]
fn n1_names_the_queue_that_is_full_when_it_is_not_the_targets() {
    let other = |metric| {
        series(
            metric,
            &[("listener", "127.0.0.1:9000"), ("process", "other")],
        )
    };
    let run = SyntheticRun::healthy()
        .set(metric::LISTEN_OVERFLOWS, [0.0, 0.0, 0.25])
        .set(&other(metric::LISTEN_QUEUE), [0.0, 3.0, 6.0])
        .set(&other(metric::LISTEN_BACKLOG), [5.0; 3]);
    let expected = "127.0.0.1:9000 overflowed 15 times a minute; its backlog is 5";
    check(&run, RuleId::N1, Certainty::Explicit, 1.0, expected);
}

#[test]
fn n12_no_ports_left_towards_an_upstream() {
    let used = ports(metric::PORTS_USED, "10.0.0.7:5432", "other");
    let waiting = ports(metric::PORTS_TIME_WAIT, "10.0.0.7:5432", "other");
    let run = SyntheticRun::healthy()
        .set(&used, [90.0, 12_000.0, 28_000.0])
        .set(&waiting, [0.0, 11_000.0, 27_500.0]);
    let expected =
        "28000 of 28232 local ports were in use towards 10.0.0.7:5432, 27500 of them in TIME_WAIT";
    check(&run, RuleId::N12, Certainty::Explicit, 1.0, expected);
}

#[test]
fn new_connections_that_the_kernel_drops() {
    let drops = calm().set(metric::LISTEN_DROPS, [0.0, 0.0, 40.0]);
    let expected = "40 times a second this machine dropped the first packet";
    check(&drops, RuleId::N2, Certainty::Explicit, 1.0, expected);
    // Each drop of a full SYN queue is counted as a drop of the listener too.
    let queue = drops.set(metric::SYN_QUEUE_DROPS, [0.0, 0.0, 40.0]);
    let expected = "2400 SYNs a minute were dropped";
    check(&queue, RuleId::N3, Certainty::Explicit, 1.0, expected);
    let cookies = calm().set(metric::SYN_COOKIES, [0.0, 0.0, 5.0]);
    check(
        &cookies,
        RuleId::N3,
        Certainty::Possible,
        1.0,
        "300 were answered with a cookie",
    );
    // One cookie in a minute is nothing.
    assert_eq!(calm().set(metric::SYN_COOKIES, [0.0, 0.0, 0.02]).find(), []);
}

#[test]
fn packets_that_are_lost() {
    let lossy = calm().set(metric::TCP_RETRANSMITS, [3.0, 24.0, 600.0]).set(
        &link(metric::NETWORK_DROPPED, "transmit"),
        [0.0, 0.0, 590.0],
    );
    let expected = "3.0 % of the TCP segments were retransmitted (600 a second): the network loses packets; eth0 \
        dropped 590";
    check(&lossy, RuleId::N4, Certainty::Suspected, 0.8, expected);
    // A line that always loses as many is no news.
    let always = calm().set(metric::TCP_RETRANSMITS, [60.0, 480.0, 600.0]);
    assert_eq!(always.find(), []);
    let syns = calm()
        .set(metric::SYN_RETRANSMITS, [0.0, 0.0, 570.0])
        .set(metric::TCP_RETRANSMITS, [3.0, 24.0, 600.0]);
    let expected = "570 SYNs a second were retransmitted, for 200 connections";
    check(&syns, RuleId::N5, Certainty::Suspected, 0.8, expected);
    let afar = syns.set(metric::TARGET_IS_LOCAL, [0.0; 3]);
    check(
        &afar,
        RuleId::N5,
        Certainty::Suspected,
        0.8,
        "a full accept queue of the target",
    );
}

#[test]
fn lost_syns_before_a_full_accept_queue_are_its_consequence() {
    let run = calm()
        .set(metric::LISTEN_OVERFLOWS, [0.0, 0.0, 50.0])
        .set(metric::LISTEN_DROPS, [0.0, 0.0, 50.0])
        .set(metric::SYN_RETRANSMITS, [0.0, 0.0, 60.0])
        .set(metric::SYN_COOKIES, [0.0, 0.0, 20.0])
        .set(metric::TCP_RETRANSMITS, [3.0, 24.0, 900.0]);
    let found = run.find();
    let order = rules_and_causes(&found);
    assert_eq!(order[0], (RuleId::N1, None), "{found:#?}");
    assert!(
        order[1..].iter().all(|entry| entry.1 == Some(RuleId::N1)),
        "{order:?}"
    );
}

#[test]
fn the_firewalls_table() {
    let full = calm().set(metric::CONNTRACK_USED, [9e3, 2e5, 2.5e5]);
    let expected = "the firewall tracked 250000 of at most 262144 connections";
    check(&full, RuleId::N6, Certainty::Explicit, 1.0, expected);
}

#[test]
fn packets_that_the_machine_drops() {
    let backlog = calm().set(metric::SOFTNET_DROPPED, [0.0, 0.0, 80.0]);
    let expected = "the kernel dropped 80 packets a second";
    check(&backlog, RuleId::N7, Certainty::Explicit, 1.0, expected);
    let ring = calm().set(&link(metric::NETWORK_DROPPED, "receive"), [0.3, 0.3, 700.0]);
    let expected = "eth0 dropped 700 of 20000 packets received a second";
    check(&ring, RuleId::N7, Certainty::Explicit, 1.0, expected);
}

#[test]
fn one_cpu_that_takes_all_interrupts() {
    let hot = calm().set(&softirq("3"), [0.1, 0.5, 0.97]);
    let expected =
        "CPU 3 spent 97 % of its time in soft interrupts while all CPUs together were 50 % busy";
    check(&hot, RuleId::N8, Certainty::Suspected, 0.6, expected);
}

#[test]
fn a_link_that_is_full() {
    let full = calm().set(&link(metric::NETWORK_IO, "transmit"), [1e6, 9e7, 1.2e8]);
    let expected = "eth0 sent 960 Mbit/s and can carry 1000";
    check(&full, RuleId::N9, Certainty::Suspected, 0.6, expected);
}

#[test]
fn a_link_that_somebody_holds() {
    let no_speed = calm().set(&link(metric::NETWORK_SPEED, ""), [0.0; 3]);
    let flat = no_speed.set(&link(metric::NETWORK_IO, "transmit"), [1e6, 2.5e6, 2.5e6]);
    assert_eq!(flat.find(), [], "nothing waits to be sent");
    let held = flat.set(metric::TCP_UNSENT, [0.0, 1e5, 4e6]);
    let expected = "eth0 sent a steady 20 Mbit/s, as under a rate limit, while 3.8 MiB of answers waited to be sent";
    check(&held, RuleId::N9, Certainty::Suspected, 0.6, expected);
}

#[test]
fn tables_and_memory_of_tcp() {
    let memory = calm()
        .set(metric::TCP_MEMORY_ABORTS, [0.0, 0.0, 0.5])
        .set(metric::TCP_MEMORY, [1e6, 1e9, 2e9]);
    let expected =
        "TCP ran out of memory: 1907 MiB in buffers of at most 1907; 30 connections a minute";
    check(&memory, RuleId::N10, Certainty::Explicit, 1.0, expected);
    let waiting = calm()
        .set(metric::TIME_WAIT_OVERFLOWS, [0.0, 0.0, 30.0])
        .set(metric::TIME_WAIT_LIMIT, [8192.0; 3]);
    let expected = "30 sockets a second skipped TIME_WAIT because its table was full (limit 8192)";
    check(&waiting, RuleId::N11, Certainty::Possible, 0.4, expected);
}

#[test]
fn handshakes_that_use_the_cpu_up() {
    let many: fn(&mut Window) = |window| window.handshakes = 800;
    let busy = calm()
        .set(metric::CPU_BUSY, [0.3, 0.7, 0.95])
        .failing_windows(many);
    let expected =
        "there were 800 TLS handshakes a second, 0.8 per answer, while the CPUs were 95 % busy";
    check(&busy, RuleId::N13, Certainty::Possible, 0.6, expected);
    assert_eq!(
        calm().failing_windows(many).find(),
        [],
        "there is CPU to spare"
    );
}
