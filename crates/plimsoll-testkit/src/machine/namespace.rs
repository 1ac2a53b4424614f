//! A network namespace for the calling thread, with its own ports, counters and loopback.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// A network namespace that the thread stays in until this is dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    home: File,
}

impl Namespace {
    /// Enters a new namespace with the local port range `first..=last`; `None`, with a message, where that is not
    /// allowed. Threads and processes started from now on are inside too.
    ///
    /// # Panics
    /// When it was created and cannot be used.
    #[must_use]
    pub fn enter(first: u16, last: u16) -> Option<Self> {
        let name = made()?;
        let home = File::open("/proc/thread-self/ns/net").expect("a thread has a namespace");
        let inside = Self { name, home };
        move_into(&of_name(&inside.name));
        assert!(ip(&["link", "set", "lo", "up"]), "loopback comes up");
        std::fs::write(
            "/proc/sys/net/ipv4/ip_local_port_range",
            format!("{first} {last}"),
        )
        .expect("the range of a namespace of one's own may be set");
        Some(inside)
    }

    /// Limits its loopback to this many kbit/s, and queues the excess; `None`, with a message, where that is not
    /// possible.
    #[must_use]
    pub fn with_slow_loopback(self, kilobits: u32) -> Option<Self> {
        let shaped = Command::new("tc")
            .args(["qdisc", "add", "dev", "lo", "root", "tbf"])
            .args(["rate", &format!("{kilobits}kbit")])
            .args(["burst", "70000", "limit", "20000000"])
            .status()
            .is_ok_and(|status| status.success());
        if !shaped {
            crate::not_tried::not_tried(
                "loopback cannot be narrowed here; needs the command tc and the kernel's tbf",
            );
        }
        shaped.then_some(self)
    }

    /// Filters packets by these rules of nftables' chain `input`; `None`, with a message, where that is not possible.
    #[must_use]
    pub fn with_filter(self, rules: &str) -> Option<Self> {
        let table = format!(
            "table ip plimsoll {{\nchain input {{\ntype filter hook input priority 0\n{rules}\n}}\n}}\n"
        );
        let is_set = Command::new("nft")
            .arg(table)
            .status()
            .is_ok_and(|status| status.success());
        if !is_set {
            crate::not_tried::not_tried("packets cannot be filtered here; needs the command nft");
        }
        is_set.then_some(self)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        move_into(&self.home);
        ip(&["netns", "del", &self.name]);
    }
}

/// Makes a namespace; returns its name. `None`, with a message, where that is not allowed.
pub(super) fn made() -> Option<String> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let count = MADE.fetch_add(1, Ordering::Relaxed);
    let name = format!("plimsoll-{}-{count}", std::process::id());
    if !ip(&["netns", "add", &name]) {
        crate::not_tried::not_tried(
            "no network namespace can be made here; needs root and the command ip",
        );
        return None;
    }
    Some(name)
}

/// A namespace that was made.
pub(super) fn of_name(name: &str) -> File {
    File::open(format!("/run/netns/{name}")).expect("it was made before")
}

/// Moves the calling thread.
pub(super) fn move_into(namespace: &File) {
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
        .expect("who may make a namespace may enter it");
}

/// Runs the command `ip`; whether it succeeds.
pub(super) fn ip(arguments: &[&str]) -> bool {
    Command::new("ip")
        .args(arguments)
        .status()
        .is_ok_and(|status| status.success())
}
