//! Whether a service is as it was, after a trial.

use plimsoll_probe::rest;

use super::limits::MemoryCounts;
use super::ready::CellCheck;
use super::stage::Stage;
use super::started::StartedService;

/// The state of the service after a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Why the trial has failed: what died, swapped, or does not answer; empty for a healthy service.
    pub failures: Vec<String>,
}

impl Health {
    /// Whether the trial counts.
    pub fn is_good(&self) -> bool {
        self.failures.is_empty()
    }
}

/// Memory of the service at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MemoryState {
    /// Bytes in swap, of all processes.
    swap: u64,
    /// What the control groups count.
    groups: MemoryCounts,
}

impl MemoryState {
    pub(super) fn of(service: &StartedService) -> Self {
        let members = service.members();
        Self {
            swap: members.iter().map(|pid| rest::swap_of(*pid)).sum(),
            groups: service.memory_counts(),
        }
    }

    /// That the kernel killed processes for their memory since an earlier moment, for people.
    pub(super) fn kills_since(self, before: Self) -> Option<String> {
        let kills = self.groups.kills.saturating_sub(before.groups.kills);
        (kills > 0)
            .then(|| format!("its memory ran out: the kernel killed {kills} of its processes"))
    }

    /// What went wrong with the memory since an earlier moment, for people.
    fn failures_since(self, before: Self) -> Vec<String> {
        let mut failures = Vec::new();
        failures.extend(self.kills_since(before));
        let swapped = self.swap.saturating_sub(before.swap);
        let swapped = swapped.max(self.groups.swap.saturating_sub(before.groups.swap));
        if swapped > 0 {
            failures.push(format!("it swapped: {} KiB", swapped.div_ceil(1024)));
        }
        failures
    }
}

/// The state of a service after the load.
pub(super) fn check(
    stage: &mut Stage,
    service: &StartedService,
    before: MemoryState,
    check: Option<&CellCheck>,
) -> Health {
    let mut failures: Vec<String> = service
        .processes
        .iter()
        .filter_map(|process| {
            let text = process.ending_text()?;
            Some(format!("{}: {text}", process.place))
        })
        .collect();
    let is_alive = failures.is_empty();
    failures.extend(MemoryState::of(service).failures_since(before));
    // One that has died does not answer, or something else does.
    if is_alive
        && let Some(check) = check
        && let Err(fault) = check.wait(stage, &service.processes)
    {
        failures.push(fault.to_string());
    }
    Health { failures }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_and_swap_of_the_trial_alone_count() {
        let before = MemoryState {
            swap: 4096,
            groups: MemoryCounts {
                kills: 1,
                swap: 4096,
            },
        };
        assert_eq!(before.failures_since(before), [""; 0]);
        let after = MemoryState {
            swap: 4096,
            groups: MemoryCounts {
                kills: 3,
                swap: 8193,
            },
        };
        assert_eq!(
            after.failures_since(before),
            [
                "its memory ran out: the kernel killed 2 of its processes",
                "it swapped: 5 KiB",
            ]
        );
        let without_groups = MemoryState {
            swap: 8192,
            ..before
        };
        assert_eq!(without_groups.failures_since(before), ["it swapped: 4 KiB"]);
    }
}
