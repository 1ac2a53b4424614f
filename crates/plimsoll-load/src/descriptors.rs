//! File descriptors of this process: how many it may open, and room for them in the kernel's table.

use std::os::fd::RawFd;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to the hard one where `wanted` would not fit, and makes room for as many of them as may be open.
///
/// The kernel's table of descriptors doubles when it is full, and in a process of several threads it waits 8 to 12 ms each
/// time until no CPU reads the old one. In a load, what is due meanwhile would be late: the table grows here, before anything
/// is due. It takes 8 bytes of kernel memory for each.
pub fn prepare(wanted: u64) {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        // Whatever it does not suffice for is counted, or waits in the kernel's line.
        let raised = Rlimit {
            current: limit.maximum,
            ..limit
        };
        let _ = setrlimit(Resource::Nofile, raised);
    }
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let last = wanted.min(limit).saturating_sub(1);
    let Ok(last) = RawFd::try_from(last) else {
        return;
    };
    // The table never shrinks: one descriptor that stands for a moment where the last one will is enough.
    if let Ok(any) = eventfd(0, EventfdFlags::CLOEXEC) {
        drop(fcntl_dupfd_cloexec(&any, last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of the table, as the kernel tells.
    fn table_capacity() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("FDSize:"));
        let (_, size) = line.unwrap().split_once(':').unwrap();
        size.trim().parse().unwrap()
    }

    #[test]
    fn the_table_grows_before_it_is_needed() {
        let most = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
        let wanted = most.min(5000);
        assert!(table_capacity() < wanted, "{}", table_capacity());
        prepare(wanted);
        assert!(table_capacity() >= wanted, "{}", table_capacity());
    }
}
