//! Prints the readings of the probe, and their cost: `reading [ADDRESS|pid:N|name:NAME]... [seconds]`.
#![expect(clippy::print_stdout, reason = "printing is what this example is for")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use plimsoll_probe::{Probe, ProbePlan};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

fn main() {
    let mut plan = ProbePlan::default();
    let mut seconds = 3_u32;
    for argument in std::env::args().skip(1) {
        if let Some(pid) = argument.strip_prefix("pid:") {
            plan.pids.extend(pid.parse::<u32>());
        } else if let Some(name) = argument.strip_prefix("name:") {
            plan.process_names.push(name.to_owned());
        } else if let Ok(address) = argument.parse::<SocketAddr>() {
            plan.target_address = Some(address);
        } else if let Ok(number) = argument.parse::<u32>() {
            seconds = number;
        } else {
            plan.unix_socket = Some(argument.into());
        }
    }
    let mut probe = Probe::open(plan);
    let timer = every_second();
    let mut last = BTreeMap::new();
    let mut costs_ms = Vec::new();
    for second in 0..=seconds {
        let mut expirations = [0; 8];
        rustix::io::read(&timer, &mut expirations).expect("a timer can be read");
        let readings = probe.read(second);
        costs_ms.extend(
            readings
                .values
                .get("plimsoll.probe.cpu.time")
                .map(|s| s * 1e3),
        );
        last.extend(readings.values);
    }
    for (name, value) in &last {
        println!("{name} {value}");
    }
    for note in probe.notes() {
        println!("note: {note}");
    }
    println!(
        "target: local {}, pids {:?}",
        probe.target_is_local(),
        probe.target_pids()
    );
    println!(
        "series: {}; CPU per reading, ms: {costs_ms:.2?}",
        last.len()
    );
}

fn every_second() -> OwnedFd {
    let second = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)
        .expect("the kernel has timers");
    let interval = Itimerspec {
        it_interval: second,
        it_value: second,
    };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &interval)
        .expect("one second is a valid interval");
    timer
}
