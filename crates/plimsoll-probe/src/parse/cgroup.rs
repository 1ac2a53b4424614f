//! `/proc/PID/cgroup`, `/proc/self/mountinfo` and the files of a cgroup, versions 1 and 2.

use super::value_of;

/// Limits at and above this many bytes mean none: version 1 writes a huge page-aligned number.
const NO_LIMIT: u64 = 1 << 60;

/// The cgroup of a process for one controller of version 1, or of version 2 (`controller` is empty then).
pub(crate) fn path_of<'a>(text: &'a str, controller: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers
            .split(',')
            .any(|name| name == controller)
            .then_some(path)
    })
}

/// Where a cgroup hierarchy is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// The cgroup that the mount point shows.
    pub(crate) root: String,
    /// The mount point.
    pub(crate) point: String,
    /// Controllers of version 1, comma-separated among mount options; `None` for version 2.
    pub(crate) options: Option<String>,
}

/// Cgroup mounts of `/proc/self/mountinfo`.
pub(crate) fn mounts(text: &str) -> Vec<Mount> {
    text.lines()
        .filter_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let mut left = left.split(' ').skip(3);
            let (root, point) = (left.next()?.to_owned(), left.next()?.to_owned());
            let mut right = right.split(' ');
            let kind = right.next()?;
            let options = right.nth(1).unwrap_or("").to_owned();
            match kind {
                "cgroup" => Some(Mount {
                    root,
                    point,
                    options: Some(options),
                }),
                "cgroup2" => Some(Mount {
                    root,
                    point,
                    options: None,
                }),
                _ => None,
            }
        })
        .collect()
}

/// The hierarchy that has a controller, by the name of version 1, and the cgroup of a process in it, whose `/proc/PID/cgroup` is
/// `text`.
pub(crate) fn hierarchy_of<'m, 't>(
    mounts: &'m [Mount],
    text: &'t str,
    controller: &str,
) -> Option<(&'m Mount, &'t str)> {
    let version_1 = mounts.iter().find(|mount| {
        let options = mount.options.as_deref().unwrap_or("");
        options.split(',').any(|option| option == controller)
    });
    let (mount, name) = match version_1 {
        Some(mount) => (mount, controller),
        None => (mounts.iter().find(|mount| mount.options.is_none())?, ""),
    };
    Some((mount, path_of(text, name)?))
}

/// CPUs allowed by `cpu.max`; `None` for no limit.
pub(crate) fn cpu_max(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let quota: u64 = words.next()?.parse().ok()?;
    let period: u64 = words
        .next()
        .map_or(Some(100_000), |word| word.parse().ok())?;
    (period > 0).then(|| quota as f64 / period as f64)
}

/// A number in a file of its own; `None` for `max`, for -1 and for a number that means no limit.
pub(crate) fn limit(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|&limit| limit < NO_LIMIT)
}

/// Values of `cpu.stat` since the cgroup was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuStat {
    /// Periods in which it ran.
    pub(crate) periods: u64,
    /// Periods in which it was stopped.
    pub(crate) throttled: u64,
    /// Time for which it was stopped, ns.
    pub(crate) throttled_ns: u64,
}

/// Parses `cpu.stat` of either version.
pub(crate) fn cpu_stat(text: &str) -> CpuStat {
    let v2 = value_of(text, "throttled_usec").map(|us| us.saturating_mul(1000));
    CpuStat {
        periods: value_of(text, "nr_periods").unwrap_or(0),
        throttled: value_of(text, "nr_throttled").unwrap_or(0),
        throttled_ns: v2.or(value_of(text, "throttled_time")).unwrap_or(0),
    }
}
