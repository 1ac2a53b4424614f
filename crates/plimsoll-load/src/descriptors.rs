//! File descriptors of this process: the limit, and room in the kernel's table.

use std::os::fd::RawFd;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to the hard one where `wanted` would not fit, and makes room for as many of them as may be open.
///
/// The kernel's table of descriptors doubles when it is full. In a process of several threads it then waits 8 to 12 ms
/// until no CPU reads the old one, and requests due meanwhile would be late. So the table grows here, before the load
/// starts. It takes 8 bytes of kernel memory per entry.
pub fn prepare(wanted: u64) {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        // Requests beyond the limit are counted, or wait in the kernel's backlog.
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
    // The table never shrinks: it is enough to open one descriptor at the highest number for a moment.
    if let Ok(any) = eventfd(0, EventfdFlags::CLOEXEC) {
        drop(fcntl_dupfd_cloexec(&any, last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of the table, as the kernel reports them.
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
