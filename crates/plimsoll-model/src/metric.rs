//! Names of the metrics that probes write and that rules and reports read.
//!
//! OpenTelemetry's semantic conventions where they have a name, `plimsoll.*` elsewhere. Unit, kind, labels and
//! meaning of each stand in the probe's table of definitions (`plimsoll-probe`, module `series`).
//! A series is a metric with its labels: [`series`], written and read in [`crate::labels`].

mod components;
mod databases;
mod host;
mod pools;
mod runtimes;
mod servers;
mod statements;
mod traces;

pub use components::*;
pub use databases::*;
pub use host::*;
pub use pools::*;
pub use runtimes::*;
pub use servers::*;
pub use statements::*;
pub use traces::*;

pub use crate::labels::series;

/// Value of the label `process` for the generator itself.
pub const GENERATOR: &str = "generator";
/// Value of the label `process` for the target: the processes that serve it, children included.
pub const TARGET: &str = "target";
/// Value of the label `process` for what is behind the target on the same machine: processes that it, or one of them, has
/// connected to.
pub const BEHIND: &str = "behind";

/// Share of all CPUs, by `cpu.mode`; with `cpu.logical_number`, share of that CPU that was busy.
pub const CPU_UTILIZATION: &str = "system.cpu.utilization";
/// Share of all CPUs that was busy: everything but idle, I/O wait and stolen.
pub const CPU_BUSY: &str = "plimsoll.cpu.busy";
/// Share of one CPU spent in soft interrupts, by `cpu.logical_number`.
pub const CPU_SOFTIRQ: &str = "plimsoll.cpu.softirq";
/// CPUs of the machine.
pub const CPU_COUNT: &str = "system.cpu.logical.count";
/// Tasks that run or want to.
pub const RUN_QUEUE: &str = "plimsoll.cpu.run_queue";
/// Load average over one minute.
pub const LOAD_1M: &str = "plimsoll.cpu.load_1m";
/// Processes and threads created.
pub const PROCESSES_CREATED: &str = "system.process.created";
/// Share of the second that tasks stalled, by `resource` (cpu, memory, io) and `stall` (some, full).
pub const PRESSURE: &str = "plimsoll.pressure.stalled";

/// Requests that an edge began to serve.
pub const EDGE_REQUESTS: &str = "plimsoll.edge.requests";
/// Answers that a server gave through an edge, by `pool` and `server`.
pub const EDGE_SERVER_ANSWERS: &str = "plimsoll.edge.server_answers";
/// Answers that an edge gave itself, by `reason`.
pub const EDGE_OWN_ANSWERS: &str = "plimsoll.edge.own_answers";
/// Connections of clients to an edge.
pub const EDGE_CONNECTIONS: &str = "plimsoll.edge.connections";
/// Requests in line at an edge, by `pool`.
pub const EDGE_WAITING: &str = "plimsoll.edge.waiting";
/// Requests that an edge has with a server, by `pool` and `server`.
pub const EDGE_IN_FLIGHT: &str = "plimsoll.edge.in_flight";
/// Requests that an edge would have with a server at most, by `pool` and `server`.
pub const EDGE_LIMIT: &str = "plimsoll.edge.limit";
/// Requests that a fresh copy of an edge answered.
pub const EDGE_CACHE_HITS: &str = "plimsoll.edge.cache_hits";
/// Requests that a stale copy of an edge answered.
pub const EDGE_CACHE_STALE: &str = "plimsoll.edge.cache_stale";
/// Requests that no copy of an edge could answer by itself.
pub const EDGE_CACHE_MISSES: &str = "plimsoll.edge.cache_misses";
/// Of these, requests that waited for the fetch of another.
pub const EDGE_CACHE_COLLAPSED: &str = "plimsoll.edge.cache_collapsed";
/// Requests that passed an edge's cache by.
pub const EDGE_CACHE_PASSED: &str = "plimsoll.edge.cache_passed";
/// Copies that left an edge's cache for want of room.
pub const EDGE_CACHE_EVICTIONS: &str = "plimsoll.edge.cache_evictions";
/// Copies in an edge's cache.
pub const EDGE_CACHE_OBJECTS: &str = "plimsoll.edge.cache_objects";
/// Memory that an edge's cache takes, bytes.
pub const EDGE_CACHE_BYTES: &str = "plimsoll.edge.cache_bytes";

/// Memory by `system.memory.state` (used, free, buffers, cached).
pub const MEMORY_USAGE: &str = "system.memory.usage";
/// Memory that programs can still have without swapping.
pub const MEMORY_AVAILABLE: &str = "system.linux.memory.available";
/// Memory of the machine.
pub const MEMORY_LIMIT: &str = "system.memory.limit";
/// Swap by `system.paging.state` (used, free).
pub const PAGING_USAGE: &str = "system.paging.usage";
/// Pages swapped, by `system.paging.direction` (in, out).
pub const PAGING_OPERATIONS: &str = "system.paging.operations";
/// Page faults of the machine, by `system.paging.fault.type` (major).
pub const PAGING_FAULTS: &str = "system.paging.faults";
/// Processes killed for want of memory, anywhere on the machine.
pub const OOM_KILLS: &str = "plimsoll.memory.oom_kills";

/// Bytes by `system.device` and `disk.io.direction`.
pub const DISK_IO: &str = "system.disk.io";
/// Operations by `system.device` and `disk.io.direction`.
pub const DISK_OPERATIONS: &str = "system.disk.operations";
/// Share of the second in which the device was busy, by `system.device`.
pub const DISK_UTILIZATION: &str = "plimsoll.disk.utilization";
/// Mean time of an operation, by `system.device`.
pub const DISK_AWAIT: &str = "plimsoll.disk.await";

/// Bytes by `network.interface.name` and `network.io.direction`.
pub const NETWORK_IO: &str = "system.network.io";
/// Packets by `network.interface.name` and `network.io.direction`.
pub const NETWORK_PACKETS: &str = "system.network.packet.count";
/// Packets dropped by `network.interface.name` and `network.io.direction`.
pub const NETWORK_DROPPED: &str = "system.network.packet.dropped";
/// Errors by `network.interface.name` and `network.io.direction`.
pub const NETWORK_ERRORS: &str = "system.network.errors";
/// Packets dropped because the soft interrupt's backlog was full.
pub const SOFTNET_DROPPED: &str = "plimsoll.network.softnet.dropped";
/// Times the soft interrupt ran out of its budget with packets left.
pub const SOFTNET_SQUEEZED: &str = "plimsoll.network.softnet.squeezed";

/// TCP sockets by `network.connection.state`.
pub const TCP_CONNECTIONS: &str = "system.network.connection.count";
/// TCP sockets in use, `TIME_WAIT` left out.
pub const TCP_IN_USE: &str = "plimsoll.tcp.in_use";
/// TCP sockets in `TIME_WAIT`.
pub const TCP_TIME_WAIT: &str = "plimsoll.tcp.time_wait";
/// Memory of TCP buffers.
pub const TCP_MEMORY: &str = "plimsoll.tcp.memory";
/// Sockets of the machine, of any kind.
pub const SOCKETS_IN_USE: &str = "plimsoll.sockets.in_use";
/// Connections dropped because an accept queue was full.
pub const LISTEN_OVERFLOWS: &str = "plimsoll.tcp.listen_overflows";
/// Connections dropped by listeners for any reason; overflows are counted here too.
pub const LISTEN_DROPS: &str = "plimsoll.tcp.listen_drops";
/// SYNs dropped because the SYN queue was full.
pub const SYN_QUEUE_DROPS: &str = "plimsoll.tcp.syn_queue_drops";
/// SYNs answered by cookies because the SYN queue was full.
pub const SYN_COOKIES: &str = "plimsoll.tcp.syn_cookies";
/// SYNs sent again.
pub const SYN_RETRANSMITS: &str = "plimsoll.tcp.syn_retransmits";
/// Segments sent.
pub const TCP_SEGMENTS_OUT: &str = "plimsoll.tcp.segments_out";
/// Segments sent again.
pub const TCP_RETRANSMITS: &str = "plimsoll.tcp.retransmits";
/// Retransmission timers that expired.
pub const TCP_TIMEOUTS: &str = "plimsoll.tcp.timeouts";
/// Sockets that skipped `TIME_WAIT` because its table was full.
pub const TIME_WAIT_OVERFLOWS: &str = "plimsoll.tcp.time_wait_overflows";
/// Connections opened from here.
pub const TCP_ACTIVE_OPENS: &str = "plimsoll.tcp.active_opens";
/// Connections opened to here.
pub const TCP_PASSIVE_OPENS: &str = "plimsoll.tcp.passive_opens";
/// Connections that could not be opened.
pub const TCP_FAILED_OPENS: &str = "plimsoll.tcp.failed_opens";
/// Times TCP came under memory pressure.
pub const TCP_MEMORY_PRESSURES: &str = "plimsoll.tcp.memory_pressures";
/// Connections aborted for want of TCP memory.
pub const TCP_MEMORY_ABORTS: &str = "plimsoll.tcp.memory_aborts";

/// Connections waiting to be accepted, by `listener` (its address) and `process`.
pub const LISTEN_QUEUE: &str = "plimsoll.listen.queue";
/// Length at which the accept queue is full, by `listener` and `process`.
pub const LISTEN_BACKLOG: &str = "plimsoll.listen.backlog";

/// Local ports in use towards one destination, by `destination` and `process` (generator: the target; other).
pub const PORTS_USED: &str = "plimsoll.ports.used";
/// Of these, in `TIME_WAIT`.
pub const PORTS_TIME_WAIT: &str = "plimsoll.ports.time_wait";
/// Bytes that the target's ends of connections have to send, or have sent and nobody has acknowledged.
pub const TCP_UNSENT: &str = "plimsoll.tcp.unsent";
/// Local ports that the system hands out for each destination.
pub const PORTS_LIMIT: &str = "plimsoll.ports.limit";

/// Open file descriptors of the machine.
pub const FILES_OPEN: &str = "plimsoll.files.open";
/// Highest number of open file descriptors of the machine.
pub const FILES_LIMIT: &str = "plimsoll.files.limit";

/// CPU time by `process` and `cpu.mode`.
pub const PROCESS_CPU_TIME: &str = "process.cpu.time";
/// Share of all CPUs, by `process`; with `pid` and `comm`, of that process alone.
pub const PROCESS_CPU: &str = "process.cpu.utilization";
/// Resident memory by `process`; with `pid` and `comm`, of that process alone.
pub const PROCESS_MEMORY: &str = "process.memory.usage";
/// Resident memory by `process`, pages shared between its processes counted once.
pub const PROCESS_MEMORY_PSS: &str = "plimsoll.process.memory.pss";
/// Threads by `process`.
pub const PROCESS_THREADS: &str = "process.thread.count";
/// Processes by `process`.
pub const PROCESS_COUNT: &str = "plimsoll.process.count";
/// Open descriptors by `process`: of its process that is nearest its own limit; with `pid` and `comm`, of that one.
pub const PROCESS_FILES: &str = "process.unix.file_descriptor.count";
/// Limit of the descriptors of the same process.
pub const PROCESS_FILES_LIMIT: &str = "plimsoll.process.file_descriptor.limit";
/// Context switches by `process` and `process.context_switch.type` (voluntary, involuntary).
pub const PROCESS_SWITCHES: &str = "process.context_switches";
/// Page faults by `process` and `process.paging.fault_type` (major).
pub const PROCESS_FAULTS: &str = "process.paging.faults";
/// Time runnable threads waited for a CPU, by `process`.
pub const PROCESS_CPU_WAIT: &str = "plimsoll.process.cpu.wait";
/// Share of one CPU that the busiest thread used, by `process`; with `tid` and `comm`, which one it was.
pub const THREAD_BUSIEST: &str = "plimsoll.process.thread.busiest";

/// CPUs the cgroup may use, by `cgroup`.
pub const CGROUP_CPU_QUOTA: &str = "plimsoll.cgroup.cpu.quota";
/// Periods in which the cgroup ran, by `cgroup`.
pub const CGROUP_CPU_PERIODS: &str = "plimsoll.cgroup.cpu.periods";
/// Periods in which the cgroup was stopped for the rest, by `cgroup`.
pub const CGROUP_CPU_THROTTLED: &str = "plimsoll.cgroup.cpu.throttled_periods";
/// Time the cgroup's CPUs were stopped, by `cgroup`.
pub const CGROUP_CPU_THROTTLED_TIME: &str = "plimsoll.cgroup.cpu.throttled_time";
/// Memory of the cgroup, by `cgroup`.
pub const CGROUP_MEMORY: &str = "plimsoll.cgroup.memory.usage";
/// Most memory the cgroup may use, by `cgroup`.
pub const CGROUP_MEMORY_LIMIT: &str = "plimsoll.cgroup.memory.limit";
/// Memory of the cgroup that the kernel can take back at once, by `cgroup`.
pub const CGROUP_MEMORY_INACTIVE: &str = "plimsoll.cgroup.memory.inactive_file";
/// Times the cgroup was throttled at `memory.high`, by `cgroup`.
pub const CGROUP_MEMORY_HIGH: &str = "plimsoll.cgroup.memory.high";
/// Times the cgroup ran into its memory limit, by `cgroup`.
pub const CGROUP_MEMORY_AT_LIMIT: &str = "plimsoll.cgroup.memory.at_limit";
/// Processes of the cgroup killed for want of memory, by `cgroup`.
pub const CGROUP_OOM_KILLS: &str = "plimsoll.cgroup.memory.oom_kills";
/// Processes and threads of the cgroup, by `cgroup`.
pub const CGROUP_PIDS: &str = "plimsoll.cgroup.pids.count";
/// Most processes and threads the cgroup may have, by `cgroup`.
pub const CGROUP_PIDS_LIMIT: &str = "plimsoll.cgroup.pids.limit";

/// 1 when the target runs on this machine, 0 when the readings are of the generator's machine only.
pub const TARGET_IS_LOCAL: &str = "plimsoll.target.local";
/// Time since the readings before.
pub const PROBE_INTERVAL: &str = "plimsoll.probe.interval";
/// CPU time that reading took.
pub const PROBE_CPU_TIME: &str = "plimsoll.probe.cpu.time";
