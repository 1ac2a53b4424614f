//! Limits that cgroups put on a process, versions 1 and 2: CPU quota and throttling, memory, processes.
//!
//! A limit may be set at any level above the process, so every level with a limit is read, up to the mount.

use std::collections::BTreeMap;

use plimsoll_model::metric;

use crate::files::Files;
use crate::meter::Meter;
use crate::parse::{cgroup, value_of};

/// Most cgroups that are read.
const CGROUPS_MAX: usize = 16;
/// Levels searched for limits above a process.
const LEVELS_MAX: usize = 8;

/// Controller of a directory in a hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Controller {
    Cpu,
    Memory,
    Pids,
}

impl Controller {
    const ALL: [Self; 3] = [Self::Cpu, Self::Memory, Self::Pids];

    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Pids => "pids",
        }
    }
}

/// One directory that is read every second.
#[derive(Clone, Debug)]
struct CgroupDir {
    process: &'static str,
    version_2: bool,
    /// Directory below the root, without a leading slash.
    folder: String,
}

#[derive(Debug, Default)]
pub(crate) struct Cgroups {
    mounts: Option<Vec<cgroup::Mount>>,
    /// (controller, cgroup) → where it is read.
    places: BTreeMap<(Controller, String), CgroupDir>,
    followed: BTreeMap<u32, &'static str>,
}

impl Cgroups {
    /// Follows the cgroups of a process from now on, also when the process ends.
    pub(crate) fn follow(&mut self, files: &mut Files, pid: u32, process: &'static str) {
        if self.places.len() >= CGROUPS_MAX * Controller::ALL.len()
            || self.followed.get(&pid) == Some(&process)
        {
            return;
        }
        self.followed.insert(pid, process);
        let Ok(text) = files.read(&format!("proc/{pid}/cgroup")).map(str::to_owned) else {
            return;
        };
        if self.mounts.is_none() {
            let text = files.read_or_note("proc/self/mountinfo", "cgroups");
            self.mounts = Some(text.map(cgroup::mounts).unwrap_or_default());
        }
        let mounts = self.mounts.clone().unwrap_or_default();
        for controller in Controller::ALL {
            self.find(files, &mounts, &text, controller, process);
        }
    }

    /// Finds the levels at which `controller` is active for the process whose `/proc/PID/cgroup` is `text`.
    fn find(
        &mut self,
        files: &mut Files,
        mounts: &[cgroup::Mount],
        text: &str,
        controller: Controller,
        process: &'static str,
    ) {
        let Some((mount, path)) = cgroup::hierarchy_of(mounts, text, controller.name()) else {
            return;
        };
        // In a cgroup namespace or a container the mount shows only a subtree of the hierarchy.
        let inside = path.strip_prefix(mount.root.as_str()).unwrap_or(path);
        let mut inside = inside.trim_matches('/').to_owned();
        for level in 0..LEVELS_MAX {
            let point = mount.point.trim_matches('/');
            let folder = format!("{point}/{inside}").trim_end_matches('/').to_owned();
            let name = format!("/{inside}");
            let place = CgroupDir {
                process,
                version_2: mount.options.is_none(),
                folder,
            };
            let key = (controller, name);
            let known = self.places.get(&key);
            let better = known.is_none_or(|known| known.process != metric::TARGET);
            if better && place.is_worth_reading(files, controller, level == 0) {
                self.places.insert(key, place);
            }
            if inside.is_empty() {
                break;
            }
            inside.truncate(inside.rfind('/').unwrap_or(0));
        }
    }

    pub(crate) fn read(&mut self, files: &mut Files, meter: &mut Meter) {
        for ((controller, name), place) in &self.places {
            let labels = [("cgroup", name.as_str()), ("process", place.process)];
            match controller {
                Controller::Cpu => place.read_cpu(files, meter, &labels),
                Controller::Memory => place.read_memory(files, meter, &labels),
                Controller::Pids => place.read_pids(files, meter, &labels),
            }
        }
    }

    /// Bytes of memory that the tightest limit allows, of those followed.
    pub(crate) fn memory_limit(&self, files: &mut Files) -> Option<u64> {
        let memory = self
            .places
            .iter()
            .filter(|(key, _)| key.0 == Controller::Memory);
        memory
            .filter_map(|(_, place)| place.memory_limit(files))
            .min()
    }

    /// CPUs that the tightest quota allows, of those followed.
    pub(crate) fn quota(&self, files: &mut Files) -> Option<f64> {
        let cpu = self
            .places
            .iter()
            .filter(|(key, _)| key.0 == Controller::Cpu);
        cpu.filter_map(|(_, place)| place.quota(files))
            .min_by(f64::total_cmp)
    }
}

/// Bytes of memory that the cgroups of a process allow; `None` without a limit.
pub(crate) fn memory_limit_of(files: &mut Files, pid: u32) -> Option<u64> {
    let mut cgroups = Cgroups::default();
    cgroups.follow(files, pid, metric::TARGET);
    cgroups.memory_limit(files)
}

impl CgroupDir {
    fn text<'a>(&self, files: &'a mut Files, name: &str) -> Option<&'a str> {
        files.read(&format!("{}/{name}", self.folder)).ok()
    }

    fn number(&self, files: &mut Files, name: &str) -> Option<u64> {
        self.text(files, name).and_then(cgroup::limit)
    }

    /// The process's own cgroup always is, those above it only with a limit.
    fn is_worth_reading(&self, files: &mut Files, controller: Controller, own: bool) -> bool {
        // The root of a hierarchy is the whole machine, which is read elsewhere.
        let is_own = own && self.folder.contains("cgroup") && !self.is_root(files);
        match controller {
            Controller::Cpu => self.quota(files).is_some() || is_own,
            Controller::Memory => self.memory_limit(files).is_some() || is_own,
            Controller::Pids => self.number(files, "pids.max").is_some() || is_own,
        }
    }

    /// Only the root of a hierarchy has these files (version 1), or lacks these (version 2).
    fn is_root(&self, files: &mut Files) -> bool {
        if self.version_2 {
            self.text(files, "cgroup.type").is_none()
        } else {
            self.text(files, "cgroup.sane_behavior").is_some()
        }
    }

    fn quota(&self, files: &mut Files) -> Option<f64> {
        if self.version_2 {
            return self.text(files, "cpu.max").and_then(cgroup::cpu_max);
        }
        let quota_us = self.number(files, "cpu.cfs_quota_us")?;
        let period_us = self.number(files, "cpu.cfs_period_us")?;
        (period_us > 0).then(|| quota_us as f64 / period_us as f64)
    }

    fn memory_limit(&self, files: &mut Files) -> Option<u64> {
        let name = if self.version_2 {
            "memory.max"
        } else {
            "memory.limit_in_bytes"
        };
        self.number(files, name)
    }

    fn read_cpu(&self, files: &mut Files, meter: &mut Meter, labels: &[(&str, &str)]) {
        if let Some(quota) = self.quota(files) {
            meter.gauge(metric::CGROUP_CPU_QUOTA, labels, quota);
        }
        if let Some(stat) = self.text(files, "cpu.stat").map(cgroup::cpu_stat) {
            meter.counter(metric::CGROUP_CPU_PERIODS, labels, stat.periods, 1.0);
            meter.counter(metric::CGROUP_CPU_THROTTLED, labels, stat.throttled, 1.0);
            let time = metric::CGROUP_CPU_THROTTLED_TIME;
            meter.counter(time, labels, stat.throttled_ns, 1e-9);
        }
    }

    fn read_memory(&self, files: &mut Files, meter: &mut Meter, labels: &[(&str, &str)]) {
        let usage = if self.version_2 {
            "memory.current"
        } else {
            "memory.usage_in_bytes"
        };
        if let Some(bytes) = self.number(files, usage) {
            meter.gauge(metric::CGROUP_MEMORY, labels, bytes as f64);
        }
        if let Some(bytes) = self.memory_limit(files) {
            meter.gauge(metric::CGROUP_MEMORY_LIMIT, labels, bytes as f64);
        }
        if let Some(text) = self.text(files, "memory.stat") {
            let bytes = value_of(text, "total_inactive_file").or(value_of(text, "inactive_file"));
            if let Some(bytes) = bytes {
                meter.gauge(metric::CGROUP_MEMORY_INACTIVE, labels, bytes as f64);
            }
        }
        let (high, at_limit, oom_kills) = if self.version_2 {
            let text = self.text(files, "memory.events").unwrap_or("");
            (
                value_of(text, "high"),
                value_of(text, "max"),
                value_of(text, "oom_kill"),
            )
        } else {
            let control = self.text(files, "memory.oom_control").unwrap_or("");
            let oom_kills = value_of(control, "oom_kill");
            (None, self.number(files, "memory.failcnt"), oom_kills)
        };
        for (metric, total) in [
            (metric::CGROUP_MEMORY_HIGH, high),
            (metric::CGROUP_MEMORY_AT_LIMIT, at_limit),
            (metric::CGROUP_OOM_KILLS, oom_kills),
        ] {
            if let Some(total) = total {
                meter.counter(metric, labels, total, 1.0);
            }
        }
    }

    fn read_pids(&self, files: &mut Files, meter: &mut Meter, labels: &[(&str, &str)]) {
        if let Some(count) = self.number(files, "pids.current") {
            meter.gauge(metric::CGROUP_PIDS, labels, count as f64);
        }
        if let Some(limit) = self.number(files, "pids.max") {
            meter.gauge(metric::CGROUP_PIDS_LIMIT, labels, limit as f64);
        }
        let refused = self.text(files, "pids.events");
        if let Some(refused) = refused.and_then(|text| value_of(text, "max")) {
            meter.counter(metric::CGROUP_PIDS_REFUSED, labels, refused, 1.0);
        }
    }
}
