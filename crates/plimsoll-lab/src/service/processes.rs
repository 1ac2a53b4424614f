//! The processes that were started here: which belong to them, and their end.
//!
//! A service may start processes, which may leave the process group, or clear their environment. A process belongs to it
//! when any of these says so: the process group, the parent, a variable in its environment, the control group.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_probe::rest::{self, ProcessState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::applied::ProcessMark;
use crate::clock::TimeLimit;

/// The variable by which processes of a service are found.
pub(super) const MARK_VARIABLE: &str = "PLIMSOLL_TRIAL";
/// Time for a service to end by itself.
pub(super) const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// Time for killed processes to end.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
/// Rounds in which processes are killed that were started meanwhile.
const KILL_ROUNDS: u32 = 20;

/// Whether a process belongs to a mark by itself, without regard to its parent.
fn is_marked(mark: &ProcessMark, process: &ProcessState, is_reused: bool) -> bool {
    if process.pid == mark.leader {
        return process.started == mark.started;
    }
    // The id of a group is not given away while a process has it.
    let is_of_group = process.group == mark.leader
        && process.session == mark.session
        && process.started >= mark.started
        && !is_reused;
    let has_token = |token: &String| rest::has_variable(process.pid, MARK_VARIABLE, token);
    is_of_group || mark.token.as_ref().is_some_and(has_token)
}

/// The boot of this machine, which ends the life of all ids.
pub(super) fn boot() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

/// A name that nothing else has.
pub(super) fn token() -> std::io::Result<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/uuid")?;
    Ok(text.trim().replace('-', ""))
}

/// The living processes of these marks and control groups.
pub(super) fn members(marks: &[&ProcessMark], groups: &[PathBuf]) -> BTreeSet<u32> {
    let own = std::process::id();
    let mut all = rest::processes().unwrap_or_default();
    all.retain(|process| !process.has_ended && process.pid != own);
    let mut found: BTreeSet<u32> = groups
        .iter()
        .flat_map(|folder| processes_in(folder))
        .collect();
    for mark in marks {
        // Then the group is that of another process.
        let is_reused = rest::process(mark.leader).is_some_and(|now| now.started != mark.started);
        let marked = all
            .iter()
            .filter(|process| is_marked(mark, process, is_reused));
        found.extend(marked.map(|process| process.pid));
    }
    loop {
        let len = found.len();
        for process in &all {
            if found.contains(&process.parent) {
                found.insert(process.pid);
            }
        }
        if found.len() == len {
            break;
        }
    }
    found.retain(|pid| all.iter().any(|process| process.pid == *pid));
    found
}

/// The processes of a control group.
fn processes_in(folder: &Path) -> Vec<u32> {
    let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Ends processes: they are asked to, and killed when they do not within `patience`. `find` finds those that live.
///
/// # Errors
/// The processes that live on.
pub(super) fn end(
    find: impl Fn() -> BTreeSet<u32>,
    patience: Duration,
) -> Result<(), BTreeSet<u32>> {
    if !patience.is_zero() {
        signal_and_wait(&find(), Signal::TERM, patience);
    }
    for _ in 0..KILL_ROUNDS {
        let living = find();
        if living.is_empty() {
            return Ok(());
        }
        signal_and_wait(&living, Signal::KILL, KILL_PATIENCE);
    }
    let living = find();
    if living.is_empty() {
        Ok(())
    } else {
        Err(living)
    }
}

fn signal_and_wait(pids: &BTreeSet<u32>, signal: Signal, patience: Duration) {
    let handles: Vec<OwnedFd> = pids.iter().filter_map(|pid| handle_of(*pid)).collect();
    for handle in &handles {
        // It has ended already, as intended.
        let _ = pidfd_send_signal(handle, signal);
    }
    let limit = TimeLimit::start(patience);
    let mut living: Vec<&OwnedFd> = handles.iter().collect();
    while !living.is_empty() && !limit.is_over() {
        let ended = wait_for_any(&living, limit.left());
        if ended.is_empty() {
            return;
        }
        let mut index = 0;
        living.retain(|_| {
            index += 1;
            !ended.contains(&(index - 1))
        });
    }
}

/// A handle of a process; `None` when it has ended.
pub(super) fn handle_of(pid: u32) -> Option<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Waits until one of these processes ends, at most `within`; returns the indexes of those that have ended.
pub(super) fn wait_for_any(handles: &[&OwnedFd], within: Duration) -> Vec<usize> {
    let limit = TimeLimit::start(within);
    loop {
        let left = limit.left();
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut polled: Vec<PollFd<'_>> = handles
            .iter()
            .map(|handle| PollFd::new(*handle, PollFlags::IN))
            .collect();
        match poll(&mut polled, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) if !limit.is_over() => {}
            Err(_) => return Vec::new(),
            Ok(_) => {
                let ended = polled.iter().enumerate();
                return ended
                    .filter(|(_, polled)| !polled.revents().is_empty())
                    .map(|(index, _)| index)
                    .collect();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn sleep() -> Child {
        Command::new("sleep")
            .arg("1000")
            .stdin(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn mark_of(child: &Child) -> ProcessMark {
        let state = rest::process(child.id()).unwrap();
        ProcessMark {
            boot: boot(),
            leader: child.id(),
            started: state.started,
            session: state.session,
            token: None,
        }
    }

    #[test]
    fn a_number_that_another_process_has_now_is_not_ours() {
        let mut child = sleep();
        let mark = mark_of(&child);
        assert_eq!(members(&[&mark], &[]), [child.id()].into());
        let earlier = ProcessMark {
            started: mark.started - 1,
            ..mark.clone()
        };
        assert!(members(&[&earlier], &[]).is_empty());
        end(|| members(&[&mark], &[]), STOP_PATIENCE).unwrap();
        child.wait().unwrap();
        assert!(members(&[&mark], &[]).is_empty());
    }

    #[test]
    fn a_process_of_a_control_group_of_version_2_is_found() {
        let hierarchies = rest::cgroup_hierarchies().unwrap();
        let version_2 = hierarchies.iter().find(|it| it.controllers.is_none());
        let folder = version_2.map(|it| {
            let name = format!("plimsoll-test-{}", std::process::id());
            Path::new(&it.mount).join(&it.own).join(name)
        });
        let Some(folder) = folder.filter(|folder| fs::create_dir(folder).is_ok()) else {
            plimsoll_testkit::not_tried::not_tried(
                "no control group of version 2 may be made here",
            );
            return;
        };
        let mut child = sleep();
        fs::write(folder.join("cgroup.procs"), child.id().to_string()).unwrap();
        let groups = [folder.clone()];
        assert_eq!(members(&[], &groups), [child.id()].into());
        end(|| members(&[], &groups), STOP_PATIENCE).unwrap();
        child.wait().unwrap();
        crate::service::limits::remove(&groups).unwrap();
        assert!(!folder.exists());
    }
}
