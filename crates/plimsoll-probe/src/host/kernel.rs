//! Limits of the kernel's tables, clocks of the CPUs, speeds of links, and room on file systems.

use plimsoll_model::metric;

use crate::clock;
use crate::files::Files;
use crate::meter::Meter;
use crate::parse::mount;

/// Interval between readings of slow or expensive values, ns.
const SLOW_NS: u64 = 10_000_000_000;
/// File systems whose free space is read at most.
const FILESYSTEMS_MAX: usize = 16;
/// CPUs whose clock frequencies are read at most.
const CPUS_MAX: usize = 64;
/// Links whose speed is read at most.
const LINKS_MAX: usize = 32;
/// Bits per second of a megabit, as bytes per second.
const MEGABIT: f64 = 1e6 / 8.0;

/// Slowly changing values, as last read.
#[derive(Debug, Default)]
pub(crate) struct Kernel {
    next_slow_ns: u64,
    points: Vec<String>,
    /// Interface and bytes per second.
    speeds: Vec<(String, f64)>,
    tcp_memory: Option<f64>,
    time_wait: Option<f64>,
}

impl Kernel {
    /// `network` is the directory of the network namespace's files.
    pub(crate) fn read(
        &mut self,
        files: &mut Files,
        meter: &mut Meter,
        network: &str,
        page_len: f64,
    ) {
        // `/proc/sys` shows the settings of the reader's namespace.
        let is_own_namespace = !is_of_a_process(network);
        let now_ns = clock::now_ns();
        if now_ns >= self.next_slow_ns {
            self.next_slow_ns = now_ns.saturating_add(SLOW_NS);
            let mounts = files.read("proc/self/mounts").map(mount::local);
            self.points = mounts.unwrap_or_default();
            self.points.truncate(FILESYSTEMS_MAX);
            self.speeds = speeds(files, network);
            let most = number(files, "proc/sys/net/ipv4/tcp_mem", 2);
            self.tcp_memory = most.map(|pages| pages * page_len);
            let most = number(files, "proc/sys/net/ipv4/tcp_max_tw_buckets", 0);
            self.time_wait = most.filter(|_| is_own_namespace);
            read_clocks(files, meter);
        }
        for (metric, level) in [
            (metric::TCP_MEMORY_LIMIT, self.tcp_memory),
            (metric::TIME_WAIT_LIMIT, self.time_wait),
        ] {
            if let Some(level) = level {
                meter.gauge(metric, &[], level);
            }
        }
        for (interface, speed) in &self.speeds {
            let labels = [("network.interface.name", interface.as_str())];
            meter.gauge(metric::NETWORK_SPEED, &labels, *speed);
        }
        if is_own_namespace {
            read_conntrack(files, meter);
        }
        self.read_filesystem_space(files, meter);
    }

    fn read_filesystem_space(&self, files: &Files, meter: &mut Meter) {
        if !files.is_live() {
            return;
        }
        for point in &self.points {
            let Ok(room) = rustix::fs::statvfs(point.as_str()) else {
                continue;
            };
            let labels = [("system.filesystem.mountpoint", point.as_str())];
            // Blocks reserved for root are not free.
            let used = room.f_blocks.saturating_sub(room.f_bfree) as f64;
            let free = room.f_bavail as f64;
            if used + free > 0.0 {
                meter.gauge(metric::FILESYSTEM_FREE, &labels, free / (used + free));
            }
            // Some file systems allocate inodes dynamically, and report 0.
            if room.f_files > 0 {
                let share = room.f_ffree as f64 / room.f_files as f64;
                meter.gauge(metric::FILESYSTEM_INODES_FREE, &labels, share);
            }
        }
    }
}

/// Whether this is `proc/PID/net`: the namespace of another process.
fn is_of_a_process(network: &str) -> bool {
    let of = network.split('/').nth(1).unwrap_or_default();
    of.starts_with(|first: char| first.is_ascii_digit())
}

/// The number at an index of a file's first line.
fn number(files: &mut Files, path: &str, place: usize) -> Option<f64> {
    let text = files.read(path).ok()?;
    text.split_whitespace().nth(place)?.parse().ok()
}

fn speeds(files: &mut Files, network: &str) -> Vec<(String, f64)> {
    let text = files.read(&format!("{network}/dev")).unwrap_or("");
    let links = crate::parse::network::dev(text).into_iter();
    let names: Vec<String> = links.map(|link| link.name).take(LINKS_MAX).collect();
    names
        .into_iter()
        .filter_map(|name| {
            // An error for links without a speed, and -1 where it is unknown.
            let speed = number(files, &format!("sys/class/net/{name}/speed"), 0)?;
            (speed > 0.0).then_some((name, speed * MEGABIT))
        })
        .collect()
}

/// Absent where nothing is tracked.
fn read_conntrack(files: &mut Files, meter: &mut Meter) {
    let folder = "proc/sys/net/netfilter/nf_conntrack";
    let used = number(files, &format!("{folder}_count"), 0);
    let limit = number(files, &format!("{folder}_max"), 0);
    if let (Some(used), Some(limit)) = (used, limit) {
        meter.gauge(metric::CONNTRACK_USED, &[], used);
        meter.gauge(metric::CONNTRACK_LIMIT, &[], limit);
    }
}

/// Clock frequencies of CPUs that report their nominal frequency: a share of the single-core maximum would be
/// meaningless, because all cores together never reach it.
fn read_clocks(files: &mut Files, meter: &mut Meter) {
    let (mut shares, mut slowed) = (Vec::new(), None);
    for cpu in 0..CPUS_MAX {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        let clock = number(files, &format!("{folder}/cpufreq/scaling_cur_freq"), 0);
        let rated = number(files, &format!("{folder}/cpufreq/base_frequency"), 0);
        if let (Some(clock), Some(rated)) = (clock, rated.filter(|&rated| rated > 0.0)) {
            shares.push(clock / rated);
        }
        let path = format!("{folder}/thermal_throttle/core_throttle_count");
        let count = files.read(&path).ok();
        let count: Option<u64> = count.and_then(|text| text.trim().parse().ok());
        if let Some(count) = count {
            slowed = Some(count.saturating_add(slowed.unwrap_or(0)));
        }
        if clock.is_none() && count.is_none() {
            break;
        }
    }
    if !shares.is_empty() {
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        meter.gauge(metric::CPU_CLOCK, &[], mean);
    }
    if let Some(slowed) = slowed {
        meter.counter(metric::CPU_SLOWED, &[], slowed, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use plimsoll_model::metric::series;

    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn tables_clocks_and_links_of_a_recorded_machine() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let cpu = "sys/devices/system/cpu";
        for (path, text) in [
            (
                "proc/net/dev",
                "\n\n  eth0: 1 1 0 0 0 0 0 0 1 1\n    lo: 1 1 0 0 0 0 0 0 1 1\n  eth1: 1 1\n",
            ),
            ("sys/class/net/eth0/speed", "1000\n"),
            ("sys/class/net/eth1/speed", "-1\n"),
            ("proc/sys/net/ipv4/tcp_mem", "100\t200\t300\n"),
            ("proc/sys/net/ipv4/tcp_max_tw_buckets", "262144\n"),
            ("proc/sys/net/netfilter/nf_conntrack_count", "900\n"),
            ("proc/sys/net/netfilter/nf_conntrack_max", "1000\n"),
            (&format!("{cpu}/cpu0/cpufreq/scaling_cur_freq"), "1500000\n"),
            (&format!("{cpu}/cpu0/cpufreq/base_frequency"), "3000000\n"),
            (&format!("{cpu}/cpu1/cpufreq/scaling_cur_freq"), "2100000\n"),
            (&format!("{cpu}/cpu1/cpufreq/base_frequency"), "3000000\n"),
        ] {
            write(root, path, text);
        }
        let (mut files, mut meter) = (Files::new(root.to_owned()), Meter::default());
        meter.begin(1_000_000_000);
        Kernel::default().read(&mut files, &mut meter, "proc/net", 4096.0);
        let values = meter.finish(0).values;
        let of = |metric: &str| values.get(metric).copied();
        let link = |name| series(metric::NETWORK_SPEED, &[("network.interface.name", name)]);
        assert_eq!(of(&link("eth0")), Some(125e6));
        assert_eq!((of(&link("eth1")), of(&link("lo"))), (None, None));
        assert_eq!(of(metric::TCP_MEMORY_LIMIT), Some(300.0 * 4096.0));
        assert_eq!(of(metric::TIME_WAIT_LIMIT), Some(262_144.0));
        assert_eq!(of(metric::CONNTRACK_USED), Some(900.0));
        assert_eq!(of(metric::CONNTRACK_LIMIT), Some(1000.0));
        assert!((of(metric::CPU_CLOCK).unwrap() - 0.6).abs() < 1e-9);
        // The settings of another namespace cannot be read from here.
        meter.begin(2_000_000_000);
        Kernel::default().read(&mut files, &mut meter, "proc/7/net", 4096.0);
        let values = meter.finish(1).values;
        assert!(!values.contains_key(metric::CONNTRACK_USED));
        assert!(!values.contains_key(metric::TIME_WAIT_LIMIT));
    }

    #[test]
    fn room_on_the_file_systems_of_this_machine() {
        let (mut files, mut meter) = (Files::new("/".into()), Meter::default());
        meter.begin(1_000_000_000);
        Kernel::default().read(&mut files, &mut meter, "proc/thread-self/net", 4096.0);
        let values = meter.finish(0).values;
        let mut free = values
            .iter()
            .filter(|(series, _)| series.starts_with(metric::FILESYSTEM_FREE));
        assert!(free.clone().count() > 0, "{values:?}");
        assert!(
            free.all(|(_, share)| (0.0..=1.0).contains(share)),
            "{values:?}"
        );
    }
}
