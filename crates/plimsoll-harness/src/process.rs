//! What a server of several processes costs.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};

/// The process and all that come from it.
///
/// # Errors
///
/// If `/proc` cannot be listed.
pub fn family(pid: u32) -> Result<Vec<u32>> {
    let mut parents = HashMap::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // It may have ended since it was listed.
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        if let Some(parent) = stat.ok().as_deref().and_then(parent_of) {
            parents.insert(pid, parent);
        }
    }
    Ok(below(pid, &parents))
}

/// Field 4 of /proc/PID/stat (proc(5)); the name before it may hold anything.
fn parent_of(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// From a table of parents, the eldest first.
fn below(eldest: u32, parents: &HashMap<u32, u32>) -> Vec<u32> {
    let mut family = vec![eldest];
    let mut visited = 0;
    while let Some(&parent) = family.get(visited) {
        let children = parents.iter().filter(|(_, of)| **of == parent);
        family.extend(children.map(|(pid, _)| *pid).filter(|pid| *pid != eldest));
        visited += 1;
    }
    family
}

/// Time that all threads of these processes have had, to the nanosecond: the first number of /proc/PID/task/TID/schedstat
/// (Documentation/scheduler/sched-stats.rst). Threads that have ended are not in it; those of a hub stay.
///
/// # Errors
///
/// If one of them has ended.
pub fn run_time(family: &[u32]) -> Result<Duration> {
    let mut total = 0;
    for pid in family {
        let folder = format!("/proc/{pid}/task");
        let tasks = std::fs::read_dir(&folder)
            .with_context(|| format!("process {pid} has ended: no {folder}"))?;
        for task in tasks {
            let schedstat = std::fs::read_to_string(task?.path().join("schedstat"));
            // A thread may have ended since it was listed.
            let schedstat = schedstat.unwrap_or_default();
            total += schedstat
                .split_whitespace()
                .next()
                .and_then(|number| number.parse::<u64>().ok())
                .unwrap_or(0);
        }
    }
    Ok(Duration::from_nanos(total))
}

/// Memory of one process that no file backs, in bytes: its own, and what it shares.
pub fn memory(pid: u32) -> Option<u64> {
    memory_of(&std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

/// `RssAnon` and `RssShmem` of /proc/PID/status (proc(5)). Processes that share memory count it each; of the servers
/// measured here only one process of each touches it.
fn memory_of(status: &str) -> Option<u64> {
    let kib = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    Some((kib("RssAnon:")? + kib("RssShmem:")?) * 1_024)
}

/// Room that the files of a folder take, in bytes: whole blocks of the file system.
///
/// # Errors
///
/// If it cannot be read.
pub fn files(folder: &Path) -> Result<u64> {
    let mut total = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let data = entry.metadata()?;
        total += if data.is_dir() {
            files(&entry.path())?
        } else {
            std::os::unix::fs::MetadataExt::blocks(&data) * 512
        };
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_all_that_descend_from_one() {
        let parents = HashMap::from([(2, 1), (3, 2), (4, 2), (5, 3), (6, 1), (1, 0)]);
        let mut family = below(2, &parents);
        assert_eq!(family[0], 2);
        family.sort_unstable();
        assert_eq!(family, [2, 3, 4, 5]);
        assert_eq!(parent_of("7 (a) b) S 12 7 7 0"), Some(12));
    }

    #[test]
    fn run_time_is_that_of_all_threads() {
        let ours = [std::process::id()];
        let before = run_time(&ours).unwrap();
        let spun: u64 = std::thread::scope(|scope| {
            let spin =
                || (0..20_000_000_u64).fold(0, |sum, number| std::hint::black_box(sum ^ number));
            let other = scope.spawn(spin);
            let own = spin();
            // Counted while both threads are there: what has ended is in no list.
            assert!(run_time(&ours).unwrap() > before);
            own + other.join().unwrap_or(0)
        });
        std::hint::black_box(spun);
        // Process ids end below this.
        assert!(run_time(&[u32::MAX]).is_err());
    }

    #[test]
    fn memory_is_what_no_file_backs() {
        let status = "VmRSS:\t 9000 kB\nRssAnon:\t    1000 kB\nRssFile:\t    7000 kB\nRssShmem:\t      24 kB\n";
        assert_eq!(memory_of(status), Some(1_024 * 1_024));
        assert_eq!(memory_of("VmRSS:\t 1 kB\n"), None);
        assert!(memory(std::process::id()).is_some());
    }
}
