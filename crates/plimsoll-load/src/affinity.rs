//! Which CPU each loop runs on.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// CPUs for `cores` loops, one each, from the mask this process inherited. Empty when there is nothing to gain:
/// a single loop, or fewer CPUs than loops.
pub(crate) fn places(cores: u32) -> Vec<usize> {
    let Ok(mask) = sched_getaffinity(None) else {
        return Vec::new();
    };
    let allowed: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|&cpu| mask.is_set(cpu))
        .collect();
    let cores = cores as usize;
    if cores < 2 || allowed.len() < cores {
        return Vec::new();
    }
    allowed.into_iter().take(cores).collect()
}

/// Keeps this thread on one CPU.
pub(crate) fn pin(place: usize) {
    let mut mask = CpuSet::new();
    mask.set(place);
    // Where a sandbox refuses this, the loop runs on any CPU: slower at worst.
    let _ = sched_setaffinity(None, &mask);
}
