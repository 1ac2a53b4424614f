//! Rules about the target's machine and its kernel.

pub(crate) mod cpu;
pub(crate) mod disk;
pub(crate) mod memory;
pub(crate) mod network;
pub(crate) mod process_limits;

#[cfg(test)]
pub(crate) mod tests;

use plimsoll_model::metric;

pub(crate) fn stall(resource: &str, kind: &str) -> String {
    metric::series(metric::PRESSURE, &[("resource", resource), ("stall", kind)])
}
