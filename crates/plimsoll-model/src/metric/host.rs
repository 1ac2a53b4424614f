//! Metrics of the kernel's tables, of disks' flushes, file systems and clocks, which rules about the machine read.

/// Connections that the firewall tracks.
pub const CONNTRACK_USED: &str = "plimsoll.conntrack.used";
/// Most connections that the firewall can track.
pub const CONNTRACK_LIMIT: &str = "plimsoll.conntrack.limit";
/// Limit of TCP memory of the machine, bytes.
pub const TCP_MEMORY_LIMIT: &str = "plimsoll.tcp.memory_limit";
/// Most sockets in `TIME_WAIT`.
pub const TIME_WAIT_LIMIT: &str = "plimsoll.tcp.time_wait_limit";
/// Capacity of a link in each direction by `network.interface.name`, bytes per second.
pub const NETWORK_SPEED: &str = "plimsoll.network.speed";

/// Mean clock frequency of the CPUs as a share of their nominal frequency; above 1 in turbo mode.
pub const CPU_CLOCK: &str = "plimsoll.cpu.clock";
/// Times that the processor slowed itself down because of its temperature or power.
pub const CPU_SLOWED: &str = "plimsoll.cpu.slowed";

/// Flushes that a disk completed, by `system.device`.
pub const DISK_FLUSHES: &str = "plimsoll.disk.flushes";
/// Mean time of a flush, by `system.device`.
pub const DISK_FLUSH_TIME: &str = "plimsoll.disk.flush_time";

/// Share of a file system that is free, by `system.filesystem.mountpoint`.
pub const FILESYSTEM_FREE: &str = "plimsoll.filesystem.free";
/// Share of its inodes that is free, by `system.filesystem.mountpoint`.
pub const FILESYSTEM_INODES_FREE: &str = "plimsoll.filesystem.inodes_free";

/// Processes or threads that a cgroup was refused at its limit, by `cgroup`.
pub const CGROUP_PIDS_REFUSED: &str = "plimsoll.cgroup.pids.refused";

/// Threads by what they wait for, `on`: running, lock, sleep, events, accept, clients, disk, …, or the address of a server.
pub const THREAD_WAITS: &str = "plimsoll.thread.waits";

/// How far the clock of a machine that an agent watches is ahead of the generator's, s, as round trips to the agent show it.
pub const CLOCK_OFFSET: &str = "plimsoll.clock.offset";
