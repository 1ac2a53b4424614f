//! In how many periods of a CPU quota this process was stopped by its cgroup, versions 1 and 2.
//!
//! A quota may be set at any level above the process, and each of them stops it: all are read, up to the mount.

use std::path::{Path, PathBuf};

use crate::kernel_files;
use crate::parse::cgroup::{self, CpuStat};
use crate::parse::value_of;

/// Levels that are read.
const LEVELS_MAX: usize = 8;

/// One level, by its `cpu.stat`.
#[derive(Debug)]
struct CgroupLevel {
    file: PathBuf,
    last: Option<CpuStat>,
}

/// Reads the share of periods since its last reading.
#[derive(Debug)]
pub(super) struct ThrottleSampler {
    levels: Vec<CgroupLevel>,
}

impl ThrottleSampler {
    /// Of the cgroups at and above this process; nothing is ever known where there are none.
    pub(super) fn of_this_process() -> Self {
        let text = |path: &str| kernel_files::text(path).unwrap_or_default();
        let files = stat_files(&text("/proc/self/cgroup"), &text("/proc/self/mountinfo"));
        let levels = files.into_iter().map(|file| {
            let last = read(&file);
            CgroupLevel { file, last }
        });
        Self {
            levels: levels.collect(),
        }
    }

    /// Share of the periods since the last call in which the process was stopped, at the level where it was the most; `None`
    /// where no level can be read.
    pub(super) fn sample(&mut self) -> Option<f64> {
        let shares = self.levels.iter_mut().filter_map(CgroupLevel::sample);
        shares.reduce(f64::max)
    }
}

impl CgroupLevel {
    fn sample(&mut self) -> Option<f64> {
        let now = read(&self.file);
        let share = self.last.zip(now).map(|(last, now)| share(last, now));
        self.last = now;
        share
    }
}

fn read(file: &Path) -> Option<CpuStat> {
    parse(&kernel_files::text(file.to_str()?).ok()?)
}

/// `cpu.stat` of a cgroup whose periods are counted.
fn parse(text: &str) -> Option<CpuStat> {
    let is_counted = ["nr_periods", "nr_throttled"]
        .iter()
        .all(|name| value_of(text, name).is_some());
    is_counted.then(|| cgroup::cpu_stat(text))
}

/// 0 where no period has passed: there is no quota, or nothing ran.
fn share(last: CpuStat, now: CpuStat) -> f64 {
    let all = now.periods.saturating_sub(last.periods);
    let throttled = now.throttled.saturating_sub(last.throttled).min(all);
    throttled as f64 / all.max(1) as f64
}

/// The `cpu.stat` of each level from that of the process up to the mount, from the texts of its `cgroup` and `mountinfo`.
fn stat_files(text: &str, mountinfo: &str) -> Vec<PathBuf> {
    let mounts = cgroup::mounts(mountinfo);
    let Some((mount, path)) = cgroup::hierarchy_of(&mounts, text, "cpu") else {
        return Vec::new();
    };
    // A mount that shows another part of the hierarchy than the process is in has its own root at least.
    let inside = Path::new(path)
        .strip_prefix(&mount.root)
        .unwrap_or(Path::new(""));
    let levels = inside.ancestors().take(LEVELS_MAX);
    levels
        .map(|level| Path::new(&mount.point).join(level).join("cpu.stat"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(cgroup: &str, mountinfo: &str) -> Vec<String> {
        let files = stat_files(cgroup, mountinfo);
        let texts = files.iter().map(|file| file.display().to_string());
        texts.collect()
    }

    #[test]
    fn every_level_up_to_the_mount_is_read() {
        let version_2 =
            "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        assert_eq!(
            files("0::/load.slice/a.service\n", version_2),
            [
                "/sys/fs/cgroup/load.slice/a.service/cpu.stat",
                "/sys/fs/cgroup/load.slice/cpu.stat",
                "/sys/fs/cgroup/cpu.stat",
            ]
        );
        // In a container.
        assert_eq!(files("0::/\n", version_2), ["/sys/fs/cgroup/cpu.stat"]);
        let deep = format!("0::{}\n", "/a".repeat(30));
        assert_eq!(files(&deep, version_2).len(), LEVELS_MAX);
        assert_eq!(files("", version_2), [""; 0]);
        assert_eq!(
            files("0::/\n", "1 2 8:1 / / rw - ext4 /dev/sda1 rw\n"),
            [""; 0]
        );
    }

    #[test]
    fn version_1_has_a_hierarchy_for_the_cpu() {
        let mountinfo = "30 24 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
             31 24 0:27 /docker/f00 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
             32 24 0:28 /docker/f00 /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
        let cgroup = "5:cpu,cpuacct:/docker/f00/inner\n4:memory:/docker/f00\n0::/elsewhere\n";
        assert_eq!(
            files(cgroup, mountinfo),
            [
                "/sys/fs/cgroup/cpu,cpuacct/inner/cpu.stat",
                "/sys/fs/cgroup/cpu,cpuacct/cpu.stat",
            ]
        );
        // A process outside of what the mount shows.
        let outside = "5:cpu,cpuacct:/docker/bar\n";
        assert_eq!(
            files(outside, mountinfo),
            ["/sys/fs/cgroup/cpu,cpuacct/cpu.stat"]
        );
    }

    #[test]
    fn throttling_is_a_share_of_periods() {
        let before = parse("usage_usec 9\nnr_periods 100\nnr_throttled 7\nthrottled_usec 5\n");
        let after = parse("nr_periods 110\nnr_throttled 10\nthrottled_time 5000\n");
        let (before, after) = (before.unwrap(), after.unwrap());
        assert!((share(before, after) - 0.3).abs() < 1e-12);
        // No quota, and a cgroup that was made again.
        assert!(share(after, after).abs() < 1e-12);
        assert!(share(after, before).abs() < 1e-12);
        // The root of a machine counts none.
        assert_eq!(parse("usage_usec 9\nuser_usec 1\n"), None);
    }

    #[test]
    fn what_cannot_be_read_is_not_known() {
        let level = |file: &str| CgroupLevel {
            file: PathBuf::from(file),
            last: None,
        };
        let mut sampler = ThrottleSampler {
            levels: vec![level("/nowhere/cpu.stat")],
        };
        assert_eq!(sampler.sample(), None);
        let mut sampler = ThrottleSampler { levels: Vec::new() };
        assert_eq!(sampler.sample(), None);
    }
}
