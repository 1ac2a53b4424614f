//! CPUs and memory of a service: by a control group of version 1 or 2, and where none may be made, by affinity and the
//! address space of each process.

mod group;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_probe::rest;
use rustix::thread::{CpuSet, sched_getaffinity};

use self::group::{make, plan};
use super::applied::Applied;
use super::fault::{ApplyFault, ApplyFaultKind};
use super::launch::ProcessLimits;
use super::processes;
use super::stage::Stage;

/// How names of control groups begin.
const GROUP_PREFIX: &str = "plimsoll-";
/// Attempts to remove a control group whose last process has just ended.
const REMOVALS: u32 = 100;
/// Time between them.
const BETWEEN_REMOVALS: Duration = Duration::from_millis(20);

/// What a service may use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Allowance {
    /// CPUs.
    pub(super) cpus: Option<f64>,
    /// Memory, bytes.
    pub(super) memory: Option<u64>,
}

/// The limits of a service, in force for processes that are started with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ServiceLimits {
    /// What each of its processes does to itself.
    pub(super) process: ProcessLimits,
    /// Folder of the memory controller, where there is a control group for memory.
    pub(super) memory_group: Option<PathBuf>,
    /// What is limited otherwise than by a control group.
    pub(super) notes: Vec<String>,
}

/// Limits the processes of a service.
pub(super) fn apply(
    stage: &mut Stage,
    allowance: Allowance,
    place: &str,
) -> Result<ServiceLimits, ApplyFault> {
    let mut limits = ServiceLimits::default();
    if allowance == Allowance::default() {
        return Ok(limits);
    }
    check_machine(allowance, place)?;
    let failed =
        |error: io::Error| ApplyFault::new(ApplyFaultKind::Limit, place, error.to_string(), "");
    let name = format!("{GROUP_PREFIX}{}", processes::token().map_err(failed)?);
    let hierarchies = rest::cgroup_hierarchies().map_err(failed)?;
    let (planned, refused) = plan(&hierarchies, allowance, &name);
    let mut refusals = refused;
    if !planned.is_empty() {
        let mut folders: Vec<PathBuf> = planned.iter().map(|it| it.folder.clone()).collect();
        folders.dedup();
        let boot = stage.boot.clone();
        let applied = Applied::ControlGroup { boot, folders };
        stage.journal.add(applied, false)?;
    }
    for limit in planned {
        match make(stage, &limit)? {
            Ok(()) => {
                let procs = limit.folder.join("cgroup.procs");
                if !limits.process.groups.contains(&procs) {
                    limits.process.groups.push(procs);
                }
                if limit.controller == "memory" {
                    limits.memory_group = Some(limit.folder);
                }
            }
            Err(error) => refusals.push((limit.controller, error.to_string())),
        }
    }
    for (controller, why) in refusals {
        fall_back(&mut limits, allowance, controller, &why, place)?;
    }
    Ok(limits)
}

/// A limit beyond the machine would be none.
fn check_machine(allowance: Allowance, place: &str) -> Result<(), ApplyFault> {
    let fault = |problem: String, valid: String| {
        Err(ApplyFault::new(
            ApplyFaultKind::Limit,
            place,
            problem,
            valid,
        ))
    };
    let here = usable_cpus().len();
    if let Some(cpus) = allowance.cpus
        && here > 0
        && cpus > here as f64
    {
        return fault(
            format!("{cpus} CPUs cannot be given: this machine has {here}"),
            format!("valid: up to {here}"),
        );
    }
    let total = rest::memory_total().unwrap_or(0);
    if let Some(memory) = allowance.memory
        && total > 0
        && memory > total
    {
        let (wanted, total) = (memory >> 20, total >> 20);
        return fault(
            format!("{wanted} MiB of memory cannot be given: this machine has {total} MiB"),
            format!("valid: up to {total} MiB"),
        );
    }
    Ok(())
}

/// Limits without a control group.
fn fall_back(
    limits: &mut ServiceLimits,
    allowance: Allowance,
    controller: &str,
    why: &str,
    place: &str,
) -> Result<(), ApplyFault> {
    match (controller, allowance.cpus, allowance.memory) {
        ("cpu", Some(cpus), _) => {
            let usable = usable_cpus();
            let count = whole_cpus(cpus).min(usable.len());
            if count == 0 {
                let remedy = "run as root, or with a delegated control group";
                let problem = format!("CPUs cannot be limited: {why}");
                return Err(ApplyFault::new(
                    ApplyFaultKind::Limit,
                    place,
                    problem,
                    remedy,
                ));
            }
            // The last ones: interrupts are mostly handled by the first.
            limits.process.cpus = usable[usable.len() - count..].to_vec();
            limits.notes.push(format!(
                "{place}: {cpus} CPUs are held by affinity to whole CPUs ({count}), not by a quota: {why}"
            ));
        }
        ("memory", _, Some(memory)) => {
            limits.process.address_space = Some(memory);
            limits.notes.push(format!(
                "{place}: the memory is limited as the address space of each process, not of all together: {why}"
            ));
        }
        _ => {}
    }
    Ok(())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the experiment file allows 0.01 to 1024"
)]
fn whole_cpus(cpus: f64) -> usize {
    cpus.ceil().max(1.0) as usize
}

/// CPUs that this process may use.
fn usable_cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else {
        return Vec::new();
    };
    (0..CpuSet::MAX_CPU)
        .filter(|cpu| set.is_set(*cpu))
        .collect()
}

/// Those of these folders that are control groups that were made here: a journal cannot name others.
pub(super) fn own_groups(folders: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let is_own = |folder: &&PathBuf| {
        let name = folder.file_name().map(|name| name.to_string_lossy());
        name.is_some_and(|name| name.starts_with(GROUP_PREFIX))
            && folder.join("cgroup.procs").exists()
    };
    folders.iter().filter(is_own).cloned()
}

/// Removes control groups whose processes have ended.
pub(super) fn remove(folders: &[PathBuf]) -> Result<(), ApplyFault> {
    for folder in own_groups(folders) {
        let mut removed = fs::remove_dir(&folder);
        for _ in 1..REMOVALS {
            let is_busy = removed
                .as_ref()
                .is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy);
            if !is_busy {
                break;
            }
            // The kernel has not let go of the last process yet, and nothing announces when it does.
            std::thread::park_timeout(BETWEEN_REMOVALS);
            removed = fs::remove_dir(&folder);
        }
        if let Err(error) = removed
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(ApplyFault::new(
                ApplyFaultKind::NotRestored,
                folder.display().to_string(),
                format!("the control group is not removed: {error}"),
                format!("end its processes, then `rmdir {}`", folder.display()),
            ));
        }
    }
    Ok(())
}

/// Disables controllers for groups below a group of version 2. Where other groups use them meanwhile, they stay; the kernel
/// would take the limits of another experiment away with them.
pub(super) fn disable(control: &Path, names: &[String]) {
    let is_control = control
        .file_name()
        .is_some_and(|name| name == "cgroup.subtree_control");
    if !is_control || has_experiments(control.parent()) {
        return;
    }
    for name in names
        .iter()
        .filter(|name| ["cpu", "memory"].contains(&name.as_str()))
    {
        let _ = fs::write(control, format!("-{name}"));
    }
}

/// Whether groups of an experiment are below a group.
fn has_experiments(folder: Option<&Path>) -> bool {
    let entries = folder.and_then(|folder| fs::read_dir(folder).ok());
    let mut names = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.file_name()));
    names.any(|name| name.to_string_lossy().starts_with(GROUP_PREFIX))
}

/// What the memory controller of a group counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MemoryCounts {
    /// Processes that the kernel killed because the memory ran out.
    pub(super) kills: u64,
    /// Bytes in swap.
    pub(super) swap: u64,
}

/// Reads what the memory controller of a group counts, of either version.
pub(super) fn memory_counts(folder: &Path) -> MemoryCounts {
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let kills = ["memory.events", "memory.oom_control"]
        .iter()
        .find_map(|name| number_of(&text(name), "oom_kill"));
    let swap = text("memory.swap.current").trim().parse().ok();
    MemoryCounts {
        kills: kills.unwrap_or(0),
        swap: swap
            .or_else(|| number_of(&text("memory.stat"), "total_swap"))
            .unwrap_or(0),
    }
}

fn number_of(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        (key == name).then(|| value.trim().parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests;
