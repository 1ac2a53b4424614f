//! A network namespace of the calling thread, with its own ports, counters and loopback.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::process::Command;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

pub(crate) struct Namespace {
    name: String,
    home: File,
}

impl Namespace {
    /// Enters a new namespace that hands out the local ports `first..=last`; `None`, said loudly, where that is not
    /// allowed. Threads and processes started from now on are inside too.
    pub(crate) fn enter(first: u16, last: u16) -> Option<Self> {
        let name = format!("plimsoll-{}", std::process::id());
        if !ip(&["netns", "add", &name]) {
            println!(
                "NOT TRIED: no network namespace can be made here; needs root and the command ip"
            );
            return None;
        }
        let home = File::open("/proc/thread-self/ns/net").expect("a thread has a namespace");
        let inside = Self { name, home };
        let there = File::open(format!("/run/netns/{}", inside.name)).expect("it was just made");
        move_into(&there);
        assert!(ip(&["link", "set", "lo", "up"]), "loopback comes up");
        std::fs::write(
            "/proc/sys/net/ipv4/ip_local_port_range",
            format!("{first} {last}"),
        )
        .expect("the range of a namespace of one's own may be set");
        Some(inside)
    }
}

impl Namespace {
    /// Lets its loopback carry so many kbit/s, and lose what comes faster; `None`, said loudly, where that cannot be.
    pub(crate) fn with_narrow_loopback(self, kilobits: u32) -> Option<Self> {
        let rate = format!("{kilobits}kbit");
        let shaped = Command::new("tc")
            .args(["qdisc", "add", "dev", "lo", "root", "tbf", "rate", &rate])
            .args(["burst", "3000", "limit", "4000"])
            .status()
            .is_ok_and(|status| status.success());
        if !shaped {
            println!(
                "NOT TRIED: loopback cannot be narrowed here; needs the command tc and the kernel's tbf"
            );
        }
        shaped.then_some(self)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        move_into(&self.home);
        ip(&["netns", "del", &self.name]);
    }
}

fn move_into(namespace: &File) {
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
        .expect("who may make a namespace may enter it");
}

fn ip(arguments: &[&str]) -> bool {
    Command::new("ip")
        .args(arguments)
        .status()
        .is_ok_and(|status| status.success())
}
