//! Which network a process is in: the same loopback address is another machine elsewhere.

use std::fs;

/// Names the network of this process: the boot of its kernel, and its network namespace there. `None` where the system does
/// not show them.
pub(crate) fn of_this_process() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/net").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.to_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_in_the_network_of_its_threads() {
        let here = of_this_process();
        let there = std::thread::spawn(of_this_process).join().unwrap();
        assert!(here.is_some() && here == there, "{here:?} {there:?}");
    }
}
