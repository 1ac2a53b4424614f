//! The pages of Telegraf's output for Prometheus, as `node_exporter` would write them.
//!
//! Telegraf writes its page once in an interval. Where the page has no times, a page with other values is a new one. CPU time is
//! not on it, but the share of the interval that each CPU spent in each mode: the shares are added up to times.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::page::{BOOT_TIME, CPU_TIME, TIME, escaped, label_of};
use crate::collectors::link::ScrapeError;
use crate::collectors::prometheus::parse::{self, MetricSample, ParsedExposition};
use crate::parse::whole;

/// Beginning of the names of CPU shares, per cent; behind it is the mode, as `node_exporter` calls it.
const CPU_SHARE: &str = "cpu_usage_";
/// CPUs of the machine.
const CPUS: &str = "system_n_cpus";
/// CPUs that are written at most, where the page has the sum of all alone.
const CPUS_MAX: u32 = 4096;
/// Bytes of a page of memory, by which Telegraf multiplies what the kernel counts.
const PAGE_LEN: f64 = 4096.0;
/// Seconds of a millisecond.
const MILLI: f64 = 1e-3;

/// Metrics without labels: Telegraf's name, that of `node_exporter`, and a factor.
const PLAIN: [(&str, &str, f64); 18] = [
    (
        "conntrack_ip_conntrack_count",
        "node_nf_conntrack_entries",
        1.0,
    ),
    (
        "conntrack_ip_conntrack_max",
        "node_nf_conntrack_entries_limit",
        1.0,
    ),
    ("kernel_boot_time", BOOT_TIME, 1.0),
    ("kernel_processes_forked", "node_forks_total", 1.0),
    ("linux_sysctl_fs_file_max", "node_filefd_maximum", 1.0),
    ("linux_sysctl_fs_file_nr", "node_filefd_allocated", 1.0),
    ("mem_available", "node_memory_MemAvailable_bytes", 1.0),
    ("mem_buffered", "node_memory_Buffers_bytes", 1.0),
    ("mem_cached", "node_memory_Cached_bytes", 1.0),
    ("mem_free", "node_memory_MemFree_bytes", 1.0),
    ("mem_total", "node_memory_MemTotal_bytes", 1.0),
    ("netstat_tcp_time_wait", "node_sockstat_TCP_tw", 1.0),
    ("processes_running", "node_procs_running", 1.0),
    ("swap_free", "node_memory_SwapFree_bytes", 1.0),
    ("swap_in", "node_vmstat_pswpin", 1.0 / PAGE_LEN),
    ("swap_out", "node_vmstat_pswpout", 1.0 / PAGE_LEN),
    ("swap_total", "node_memory_SwapTotal_bytes", 1.0),
    ("system_load1", "node_load1", 1.0),
];

/// The same of metrics by device.
const BY_DEVICE: [(&str, &str, f64); 15] = [
    ("diskio_io_time", "node_disk_io_time_seconds_total", MILLI),
    ("diskio_read_bytes", "node_disk_read_bytes_total", 1.0),
    (
        "diskio_read_time",
        "node_disk_read_time_seconds_total",
        MILLI,
    ),
    ("diskio_reads", "node_disk_reads_completed_total", 1.0),
    ("diskio_write_bytes", "node_disk_written_bytes_total", 1.0),
    (
        "diskio_write_time",
        "node_disk_write_time_seconds_total",
        MILLI,
    ),
    ("diskio_writes", "node_disk_writes_completed_total", 1.0),
    ("net_bytes_recv", "node_network_receive_bytes_total", 1.0),
    ("net_bytes_sent", "node_network_transmit_bytes_total", 1.0),
    ("net_drop_in", "node_network_receive_drop_total", 1.0),
    ("net_drop_out", "node_network_transmit_drop_total", 1.0),
    ("net_err_in", "node_network_receive_errs_total", 1.0),
    ("net_err_out", "node_network_transmit_errs_total", 1.0),
    (
        "net_packets_recv",
        "node_network_receive_packets_total",
        1.0,
    ),
    (
        "net_packets_sent",
        "node_network_transmit_packets_total",
        1.0,
    ),
];

/// The same of file systems. What root alone may use is not among what Telegraf calls free.
const BY_MOUNT: [(&str, &[&str]); 4] = [
    (
        "disk_free",
        &["node_filesystem_avail_bytes", "node_filesystem_free_bytes"],
    ),
    ("disk_inodes_free", &["node_filesystem_files_free"]),
    ("disk_inodes_total", &["node_filesystem_files"]),
    ("disk_total", &["node_filesystem_size_bytes"]),
];

/// The kernel's counters of TCP: the beginning of Telegraf's names, and of those of `node_exporter`.
const TCP: [(&str, &str); 2] = [
    ("nstat_TcpExt", "node_netstat_TcpExt_"),
    ("nstat_Tcp", "node_netstat_Tcp_"),
];

/// Whether series of this name are read.
fn is_known(name: &str) -> bool {
    let is_of = |known: &str| known == name;
    name.starts_with(CPU_SHARE)
        || name == CPUS
        || PLAIN.iter().any(|row| is_of(row.0))
        || BY_DEVICE.iter().any(|row| is_of(row.0))
        || BY_MOUNT.iter().any(|row| is_of(row.0))
        || TCP.iter().any(|(begin, _)| name.starts_with(begin))
}

/// The pages of one machine.
#[derive(Debug, Default)]
pub(super) struct TelegrafPages {
    /// The values of the page before.
    values: Vec<f64>,
    /// When it was made, ns.
    at_ns: u64,
    /// CPU time by CPU and mode, s.
    cpu_s: BTreeMap<(u32, String), f64>,
}

impl TelegrafPages {
    /// A page that arrived at `now_ns`, in the names of `node_exporter`.
    pub(super) fn translate(&mut self, text: &str, now_ns: u64) -> Result<String, ScrapeError> {
        let parsed = parse::page(text, is_known);
        if parsed.samples.is_empty() {
            let why = "a page without metrics of Telegraf".to_owned();
            return Err(ScrapeError::Strange(why));
        }
        self.pass_time(&parsed, now_ns);
        let mut page = String::new();
        let _ = writeln!(page, "{TIME} {}", self.at_ns as f64 / 1e9);
        for ((cpu, mode), seconds) in &self.cpu_s {
            let _ = writeln!(
                page,
                "{CPU_TIME}{{cpu=\"{cpu}\",mode=\"{mode}\"}} {seconds}"
            );
        }
        for sample in &parsed.samples {
            write_sample(&mut page, sample);
        }
        Ok(page)
    }

    /// Takes note of when the page was made, and adds the CPU time since the one before it.
    fn pass_time(&mut self, parsed: &ParsedExposition, now_ns: u64) {
        let samples = parsed.samples.iter();
        let values: Vec<f64> = samples.clone().map(|sample| sample.value).collect();
        let stamp = samples.filter_map(|sample| sample.time_ms).max();
        let stamp = stamp.and_then(|ms| u64::try_from(ms).ok()?.checked_mul(1_000_000));
        let at_ns = match stamp {
            Some(at_ns) => at_ns,
            None if values == self.values => self.at_ns,
            None => now_ns,
        };
        let since = at_ns.checked_sub(self.at_ns).filter(|_| self.at_ns > 0);
        let seconds = since.map_or(0.0, |since| since as f64 / 1e9);
        let shares = shares(parsed);
        // A CPU that was taken away would stand still for ever.
        self.cpu_s.retain(|key, _| shares.contains_key(key));
        for (key, share) in shares {
            *self.cpu_s.entry(key).or_default() += share * seconds;
        }
        self.values = values;
        self.at_ns = at_ns;
    }
}

/// Share of the interval by CPU and mode. Where the page has all CPUs together alone, each has spent that share.
fn shares(parsed: &ParsedExposition) -> BTreeMap<(u32, String), f64> {
    let mut by_cpu = BTreeMap::<(u32, String), f64>::new();
    let mut of_all = Vec::new();
    for sample in &parsed.samples {
        let Some(mode) = sample.name.strip_prefix(CPU_SHARE) else {
            continue;
        };
        // Telegraf takes the time of guests out of that of users; the kernel has it in both.
        let mode = match mode {
            "guest" => "user",
            "guest_nice" => "nice",
            mode => mode,
        };
        let share = (sample.value / 100.0).clamp(0.0, 1.0);
        let cpu = label_of(sample, "cpu").unwrap_or_default();
        match cpu
            .strip_prefix("cpu")
            .and_then(|number| number.parse().ok())
        {
            Some(number) => *by_cpu.entry((number, mode.to_owned())).or_default() += share,
            None => of_all.push((mode, share)),
        }
    }
    if by_cpu.is_empty() {
        let cpus = parsed.samples.iter().find(|sample| sample.name == CPUS);
        let cpus = cpus.map_or(1, |sample| whole(sample.value));
        let cpus = u32::try_from(cpus).unwrap_or(CPUS_MAX);
        let cpus = cpus.clamp(1, CPUS_MAX);
        for (number, (mode, share)) in
            (0..cpus).flat_map(|number| of_all.iter().map(move |mode| (number, *mode)))
        {
            *by_cpu.entry((number, mode.to_owned())).or_default() += share;
        }
    }
    by_cpu
}

/// The lines of a sample; none of a name that only the translation reads.
fn write_sample(page: &mut String, sample: &MetricSample) {
    let name = sample.name.as_str();
    let value = sample.value;
    if let Some((_, ours, factor)) = PLAIN.iter().find(|row| row.0 == name) {
        let _ = writeln!(page, "{ours} {}", value * factor);
    } else if let Some((_, ours, factor)) = BY_DEVICE.iter().find(|row| row.0 == name) {
        let device = label_of(sample, "name").or_else(|| label_of(sample, "interface"));
        // The sum of all interfaces is not one of them.
        if let Some(device) = device.filter(|device| *device != "all") {
            let device = escaped(device);
            let _ = writeln!(page, "{ours}{{device=\"{device}\"}} {}", value * factor);
        }
    } else if let Some((_, all)) = BY_MOUNT.iter().find(|row| row.0 == name) {
        write_mount(page, sample, all);
    } else if let Some((begin, ours)) = TCP.iter().find(|(begin, _)| name.starts_with(begin)) {
        let _ = writeln!(page, "{ours}{} {value}", &name[begin.len()..]);
    }
}

fn write_mount(page: &mut String, sample: &MetricSample, names: &[&str]) {
    let of = |name: &str| escaped(label_of(sample, name).unwrap_or_default());
    let (device, path) = (of("device"), of("path"));
    // Telegraf leaves out the folder of devices.
    let device = if device.starts_with('/') {
        device
    } else {
        format!("/dev/{device}")
    };
    let fstype = of("fstype");
    let labels = format!("device=\"{device}\",fstype=\"{fstype}\",mountpoint=\"{path}\"");
    for name in names {
        let _ = writeln!(page, "{name}{{{labels}}} {}", sample.value);
    }
    if label_of(sample, "mode") == Some("ro") {
        let _ = writeln!(page, "node_filesystem_readonly{{{labels}}} 1");
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::metric::{self, series};
    use proptest::prelude::*;

    use super::super::machine::MachinePages;
    use super::*;

    /// A page of Telegraf with its usual inputs, `net` and `nstat`.
    const PAGE: &str = r#"# HELP cpu_usage_idle Telegraf collected metric
# TYPE cpu_usage_idle gauge
cpu_usage_idle{cpu="cpu-total",host="db1"} 42.5
cpu_usage_idle{cpu="cpu0",host="db1"} 10
cpu_usage_idle{cpu="cpu1",host="db1"} 75
cpu_usage_iowait{cpu="cpu1",host="db1"} 5
cpu_usage_user{cpu="cpu-total",host="db1"} 55
cpu_usage_user{cpu="cpu0",host="db1"} 90
cpu_usage_user{cpu="cpu1",host="db1"} 20
disk_free{device="vda1",fstype="ext4",host="db1",mode="rw",path="/"} 1e+10
disk_total{device="vda1",fstype="ext4",host="db1",mode="rw",path="/"} 4e+10
diskio_io_time{host="db1",name="vda"} 10000
diskio_reads{host="db1",name="vda"} 500
diskio_writes{host="db1",name="vda"} 700
mem_available{host="db1"} 5e+09
mem_total{host="db1"} 8e+09
net_bytes_recv{host="db1",interface="all"} 9e+09
net_bytes_recv{host="db1",interface="eth0"} 1e+06
net_packets_recv{host="db1",interface="eth0"} 1000
nstat_TcpExtListenOverflows{host="db1",name="netstat"} 40
nstat_TcpRetransSegs{host="db1",name="snmp"} 10
system_load1{host="db1"} 3.25
system_n_cpus{host="db1"} 2
"#;

    /// The page ten seconds later.
    fn later() -> String {
        PAGE.replace("} 10000\n", "} 15000\n")
            .replace("} 1e+06\n", "} 2.6e+07\n")
            .replace("\"netstat\"} 40", "\"netstat\"} 90")
            .replace("\"snmp\"} 10", "\"snmp\"} 20")
    }

    /// Readings of pages that arrive one after the other, at these seconds.
    fn readings(pages: &[(&str, u64)]) -> Vec<Option<BTreeMap<String, f64>>> {
        let (mut telegraf, mut machine) = (TelegrafPages::default(), MachinePages::default());
        let all = pages.iter().map(|(text, second)| {
            let now_ns = second * 1_000_000_000;
            let page = telegraf.translate(text, now_ns).unwrap();
            let page = machine.read(&page, now_ns, None).unwrap()?;
            Some(page.readings.values)
        });
        all.collect()
    }

    #[track_caller]
    fn check(values: &BTreeMap<String, f64>, metric: &str, labels: &[(&str, &str)], right: f64) {
        let name = series(metric, labels);
        let value = values.get(&name).copied();
        let is_right = value.is_some_and(|value| (value - right).abs() <= right.abs() * 1e-3);
        assert!(
            is_right,
            "{name}: {value:?} instead of {right}; {values:#?}"
        );
    }

    #[test]
    fn a_page_is_a_machine() {
        let later = later();
        let all = readings(&[(PAGE, 100), (PAGE, 101), (&later, 110)]);
        let [Some(first), None, Some(last)] = &all[..] else {
            panic!("a page that is the same is no new one: {all:#?}");
        };
        for (metric, right) in [
            (metric::CPU_COUNT, 2.0),
            (metric::LOAD_1M, 3.25),
            (metric::MEMORY_LIMIT, 8e9),
            (metric::MEMORY_AVAILABLE, 5e9),
        ] {
            check(first, metric, &[], right);
        }
        let root = [("system.filesystem.mountpoint", "/")];
        check(first, metric::FILESYSTEM_FREE, &root, 0.25);
        assert!(!first.contains_key(metric::CPU_BUSY));
        check(last, metric::CPU_BUSY, &[], 0.55);
        let first_cpu = [("cpu.logical_number", "0")];
        check(last, metric::CPU_UTILIZATION, &first_cpu, 0.9);
        check(last, metric::LISTEN_OVERFLOWS, &[], 5.0);
        check(last, metric::TCP_RETRANSMITS, &[], 1.0);
        let disk = [("system.device", "vda")];
        check(last, metric::DISK_UTILIZATION, &disk, 0.5);
        let received = [
            ("network.interface.name", "eth0"),
            ("network.io.direction", "receive"),
        ];
        check(last, metric::NETWORK_IO, &received, 2.5e6);
        assert!(!last.keys().any(|name| name.contains("=all")), "{last:#?}");
    }

    #[test]
    fn times_of_samples_come_before_arrivals() {
        let at = |page: &str, ms: &str| page.replace('\n', &format!(" {ms}\n"));
        let first = at(PAGE, "1764100000000");
        let last = at(&later(), "1764100005000");
        let all = readings(&[(&first, 100), (&last, 109)]);
        let last = all[1].as_ref().unwrap();
        check(last, metric::LISTEN_OVERFLOWS, &[], 10.0);
        check(last, metric::CPU_BUSY, &[], 0.55);
    }

    #[test]
    fn all_cpus_together_are_each_of_them() {
        let of_each = |page: &str| -> String {
            let lines = page
                .lines()
                .filter(|line| !line.contains("cpu=\"cpu0\"") && !line.contains("cpu=\"cpu1\""));
            lines.collect::<Vec<_>>().join("\n") + "\n"
        };
        let (first, last) = (of_each(PAGE), of_each(&later()));
        let all = readings(&[(&first, 100), (&last, 110)]);
        let last = all[1].as_ref().unwrap();
        check(last, metric::CPU_COUNT, &[], 2.0);
        check(last, metric::CPU_BUSY, &[], 55.0 / 97.5);
    }

    #[test]
    fn guests_are_users() {
        let with_guest = |page: &str| {
            let page = page.replace(
                "cpu_usage_user{cpu=\"cpu0\",host=\"db1\"} 90",
                "cpu_usage_user{cpu=\"cpu0\",host=\"db1\"} 60",
            );
            format!("cpu_usage_guest{{cpu=\"cpu0\",host=\"db1\"}} 30\n{page}")
        };
        let (first, last) = (with_guest(PAGE), with_guest(&later()));
        let all = readings(&[(&first, 100), (&last, 110)]);
        let last = all[1].as_ref().unwrap();
        let first_cpu = [("cpu.logical_number", "0")];
        check(last, metric::CPU_UTILIZATION, &first_cpu, 0.9);
        check(last, metric::CPU_BUSY, &[], 0.55);
    }

    #[test]
    fn a_cpu_that_was_taken_away_is_not_written() {
        let mut telegraf = TelegrafPages::default();
        let both = telegraf.translate(PAGE, 100_000_000_000).unwrap();
        let second_cpu = "cpu=\"1\"";
        assert!(both.contains(second_cpu), "{both}");
        let later = later();
        let lines = later.lines().filter(|line| !line.contains("cpu=\"cpu1\""));
        let fewer = lines.collect::<Vec<_>>().join("\n") + "\n";
        let fewer = telegraf.translate(&fewer, 110_000_000_000).unwrap();
        assert!(!fewer.contains(second_cpu), "{fewer}");
    }

    #[test]
    fn other_pages_are_refused() {
        for text in ["", "<html></html>", "node_load1 2\n"] {
            let refused = TelegrafPages::default().translate(text, 1);
            assert!(matches!(refused, Err(ScrapeError::Strange(_))), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_page_is_too_strange(text in "\\PC{0,60}", at in 0_usize..1_800, value in any::<f64>()) {
            let cut = PAGE.get(..at).unwrap_or(PAGE);
            let mut telegraf = TelegrafPages::default();
            let mut machine = MachinePages::default();
            for page in [
                format!("{cut}{text}\n"),
                PAGE.replace("vda", &text),
                PAGE.replace("42.5", &value.to_string()),
                PAGE.replace("} 2\n", &format!("}} {value}\n")),
            ] {
                if let Ok(page) = telegraf.translate(&page, 1_000_000_000) {
                    let _ = machine.read(&page, 1, None);
                }
            }
        }
    }
}
