//! The machine: CPU, pressure, memory, disks, network, counters of TCP, files.

pub(crate) mod cgroups;
pub(crate) mod diag;
pub(crate) mod facts;
mod kernel;
pub(crate) mod sockets;

use plimsoll_model::metric;

use crate::files::Files;
use crate::meter::Meter;
use crate::parse::{cpu, disk, memory, network};
use kernel::Kernel;

/// Disks and network interfaces that are reported.
pub(crate) const DEVICES_MAX: usize = 32;

#[derive(Debug)]
pub(crate) struct Host {
    /// Directory of the network namespace's files, below the root.
    network: String,
    page_len: f64,
    times: Option<cpu::CpuCounters>,
    kernel: Kernel,
}

/// Counters of `/proc/net/netstat`, group `TcpExt`.
pub(crate) const TCP_EXT: [(&str, &str); 9] = [
    ("ListenOverflows", metric::LISTEN_OVERFLOWS),
    ("ListenDrops", metric::LISTEN_DROPS),
    ("TCPReqQFullDrop", metric::SYN_QUEUE_DROPS),
    ("TCPReqQFullDoCookies", metric::SYN_COOKIES),
    ("TCPSynRetrans", metric::SYN_RETRANSMITS),
    ("TCPTimeouts", metric::TCP_TIMEOUTS),
    ("TCPTimeWaitOverflow", metric::TIME_WAIT_OVERFLOWS),
    ("TCPMemoryPressures", metric::TCP_MEMORY_PRESSURES),
    ("TCPAbortOnMemory", metric::TCP_MEMORY_ABORTS),
];

/// Counters of `/proc/net/snmp`, group `Tcp`.
pub(crate) const TCP: [(&str, &str); 5] = [
    ("OutSegs", metric::TCP_SEGMENTS_OUT),
    ("RetransSegs", metric::TCP_RETRANSMITS),
    ("ActiveOpens", metric::TCP_ACTIVE_OPENS),
    ("PassiveOpens", metric::TCP_PASSIVE_OPENS),
    ("AttemptFails", metric::TCP_FAILED_OPENS),
];

impl Host {
    pub(crate) fn new(network: String, page_len: f64) -> Self {
        Self {
            network,
            page_len,
            times: None,
            kernel: Kernel::default(),
        }
    }

    /// The directory given to [`Host::new`].
    pub(crate) fn into_network(self) -> String {
        self.network
    }

    /// Reads everything; returns the processes created since boot and the number of CPUs.
    pub(crate) fn read(&mut self, files: &mut Files, meter: &mut Meter) -> (u64, usize) {
        let (created, cpus) = self.read_cpu(files, meter);
        read_pressure(files, meter);
        read_memory(files, meter);
        read_disks(files, meter);
        self.read_interfaces(files, meter);
        self.read_tcp(files, meter);
        self.read_sockstat(files, meter);
        read_files(files, meter);
        self.kernel.read(files, meter, &self.network, self.page_len);
        (created, cpus)
    }

    fn read_cpu(&mut self, files: &mut Files, meter: &mut Meter) -> (u64, usize) {
        let Some(text) = files.read_or_note("proc/stat", "CPU") else {
            return (0, 1);
        };
        let stat = cpu::stat(text);
        let created = stat.processes_created;
        let cpus = stat.each.len().max(1);
        meter.counter(metric::PROCESSES_CREATED, &[], created, 1.0);
        meter.gauge(metric::CPU_COUNT, &[], cpus as f64);
        if let Some(before) = &self.times {
            report_cpu(meter, &stat, before);
        }
        self.times = Some(stat);
        if let Some(load) = files.read_or_note("proc/loadavg", "run queue") {
            let load = cpu::loadavg(load);
            meter.gauge(metric::LOAD_1M, &[], load.one_minute);
            meter.gauge(metric::RUN_QUEUE, &[], load.running as f64);
        }
        (created, cpus)
    }

    fn read_interfaces(&self, files: &mut Files, meter: &mut Meter) {
        let path = format!("{}/dev", self.network);
        if let Some(text) = files.read_or_note(&path, "network interfaces") {
            let busy = network::dev(text).into_iter().filter(|interface| {
                interface.receive.packets > 0 || interface.transmit.packets > 0
            });
            for interface in busy.take(DEVICES_MAX) {
                let name = ("network.interface.name", interface.name.as_str());
                for (direction, traffic) in [
                    ("receive", interface.receive),
                    ("transmit", interface.transmit),
                ] {
                    let labels = [name, ("network.io.direction", direction)];
                    for (metric, total) in [
                        (metric::NETWORK_IO, traffic.bytes),
                        (metric::NETWORK_PACKETS, traffic.packets),
                        (metric::NETWORK_DROPPED, traffic.dropped),
                        (metric::NETWORK_ERRORS, traffic.errors),
                    ] {
                        meter.counter(metric, &labels, total, 1.0);
                    }
                }
            }
        }
        let path = format!("{}/softnet_stat", self.network);
        if let Some(text) = files.read_or_note(&path, "soft interrupt drops") {
            let (dropped, squeezed) = network::softnet(text);
            meter.counter(metric::SOFTNET_DROPPED, &[], dropped, 1.0);
            meter.counter(metric::SOFTNET_SQUEEZED, &[], squeezed, 1.0);
        }
    }

    fn read_tcp(&self, files: &mut Files, meter: &mut Meter) {
        for (file, group, counters) in [
            ("netstat", "TcpExt", TCP_EXT.as_slice()),
            ("snmp", "Tcp", TCP.as_slice()),
        ] {
            let path = format!("{}/{file}", self.network);
            let Some(text) = files.read_or_note(&path, "TCP counters") else {
                continue;
            };
            let Some(group) = network::Counters::of(text, group) else {
                continue;
            };
            for &(name, metric) in counters {
                if let Some(total) = group.get(name) {
                    meter.counter(metric, &[], total, 1.0);
                }
            }
        }
    }

    fn read_sockstat(&self, files: &mut Files, meter: &mut Meter) {
        let path = format!("{}/sockstat", self.network);
        let Some(text) = files.read_or_note(&path, "sockets in use") else {
            return;
        };
        let stat = network::sockstat(text);
        let six = files.read(&format!("{}/sockstat6", self.network));
        let six = six.map_or(0, network::sockstat6_in_use);
        let in_use = stat.tcp_in_use.saturating_add(six);
        meter.gauge(metric::SOCKETS_IN_USE, &[], stat.used as f64);
        meter.gauge(metric::TCP_IN_USE, &[], in_use as f64);
        meter.gauge(metric::TCP_TIME_WAIT, &[], stat.tcp_time_wait as f64);
        let memory = stat.tcp_memory_pages as f64 * self.page_len;
        meter.gauge(metric::TCP_MEMORY, &[], memory);
    }
}

/// Shares of the time between two readings, of all CPUs and of each.
pub(crate) fn report_cpu(meter: &mut Meter, now: &cpu::CpuCounters, before: &cpu::CpuCounters) {
    let share = |ticks: u64, times: cpu::CpuTimes| ticks as f64 / times.total() as f64;
    let all = now.all.since(before.all);
    if all.total() == 0 {
        return;
    }
    for (mode, ticks) in cpu::MODES.into_iter().zip(all.by_mode) {
        let labels = [("cpu.mode", mode)];
        meter.gauge(metric::CPU_UTILIZATION, &labels, share(ticks, all));
    }
    meter.gauge(metric::CPU_BUSY, &[], share(all.busy(), all));
    for (number, times) in &now.each {
        let Some((_, earlier)) = before.each.iter().find(|(other, _)| other == number) else {
            continue;
        };
        let times = times.since(*earlier);
        if times.total() > 0 {
            let number = number.to_string();
            let labels = [("cpu.logical_number", number.as_str())];
            meter.gauge(metric::CPU_UTILIZATION, &labels, share(times.busy(), times));
            meter.gauge(metric::CPU_SOFTIRQ, &labels, share(times.softirq(), times));
        }
    }
}

fn read_pressure(files: &mut Files, meter: &mut Meter) {
    for resource in ["cpu", "memory", "io"] {
        let path = format!("proc/pressure/{resource}");
        let Some(text) = files.read_or_note(&path, "pressure (PSI)") else {
            return;
        };
        let (some, full) = cpu::pressure(text);
        for (stall, total_us) in [("some", some), ("full", full)] {
            if let Some(total_us) = total_us {
                let labels = [("resource", resource), ("stall", stall)];
                meter.counter(metric::PRESSURE, &labels, total_us, 1e-6);
            }
        }
    }
}

fn read_memory(files: &mut Files, meter: &mut Meter) {
    if let Some(text) = files.read_or_note("proc/meminfo", "memory") {
        let memory = memory::meminfo(text);
        for (state, bytes) in [
            ("used", memory.used()),
            ("free", memory.free),
            ("buffers", memory.buffers),
            ("cached", memory.cached),
        ] {
            let labels = [("system.memory.state", state)];
            meter.gauge(metric::MEMORY_USAGE, &labels, bytes as f64);
        }
        meter.gauge(metric::MEMORY_AVAILABLE, &[], memory.available as f64);
        meter.gauge(metric::MEMORY_LIMIT, &[], memory.total as f64);
        let used = memory.swap_total.saturating_sub(memory.swap_free);
        for (state, bytes) in [("used", used), ("free", memory.swap_free)] {
            let labels = [("system.paging.state", state)];
            meter.gauge(metric::PAGING_USAGE, &labels, bytes as f64);
        }
    }
    if let Some(text) = files.read_or_note("proc/vmstat", "swapping and faults") {
        let paging = memory::vmstat(text);
        for (direction, pages) in [("in", paging.swapped_in), ("out", paging.swapped_out)] {
            let labels = [("system.paging.direction", direction)];
            meter.counter(metric::PAGING_OPERATIONS, &labels, pages, 1.0);
        }
        let labels = [("system.paging.fault.type", "major")];
        meter.counter(metric::PAGING_FAULTS, &labels, paging.major_faults, 1.0);
        if let Some(kills) = paging.oom_kills {
            meter.counter(metric::OOM_KILLS, &[], kills, 1.0);
        }
    }
}

fn read_disks(files: &mut Files, meter: &mut Meter) {
    let Some(text) = files.read_or_note("proc/diskstats", "disks") else {
        return;
    };
    for disk in disk::diskstats(text).into_iter().take(DEVICES_MAX) {
        let device = ("system.device", disk.name.as_str());
        let sector = disk::SECTOR_LEN as f64;
        for (direction, operations, sectors) in [
            ("read", disk.reads, disk.sectors_read),
            ("write", disk.writes, disk.sectors_written),
        ] {
            let labels = [device, ("disk.io.direction", direction)];
            meter.counter(metric::DISK_OPERATIONS, &labels, operations, 1.0);
            meter.counter(metric::DISK_IO, &labels, sectors, sector);
        }
        meter.counter(metric::DISK_UTILIZATION, &[device], disk.busy_ms, 1e-3);
        meter.counter(metric::DISK_FLUSHES, &[device], disk.flushes, 1.0);
        let operations = disk.reads.saturating_add(disk.writes);
        let time_ms = disk.read_ms.saturating_add(disk.write_ms);
        for (kind, metric, count, time_ms) in [
            ("operations", metric::DISK_AWAIT, operations, time_ms),
            (
                "flushes",
                metric::DISK_FLUSH_TIME,
                disk.flushes,
                disk.flush_ms,
            ),
        ] {
            let count = meter.rise(&format!("{}/{kind}", disk.name), count);
            let time_ms = meter.rise(&format!("{}/{kind}/time", disk.name), time_ms);
            if let (Some(count), Some(time_ms)) = (count, time_ms)
                && count.by > 0
            {
                let mean_s = time_ms.by as f64 / count.by as f64 / 1e3;
                meter.gauge(metric, &[device], mean_s);
            }
        }
    }
}

fn read_files(files: &mut Files, meter: &mut Meter) {
    let Some(text) = files.read_or_note("proc/sys/fs/file-nr", "open files") else {
        return;
    };
    let mut words = text.split_whitespace().map(str::parse::<f64>);
    let open = words.next();
    let limit = words.nth(1);
    if let (Some(Ok(open)), Some(Ok(limit))) = (open, limit) {
        meter.gauge(metric::FILES_OPEN, &[], open);
        meter.gauge(metric::FILES_LIMIT, &[], limit);
    }
}
