//! Every series this crate writes: name, labels, unit, kind, meaning. The reference in the docs is made from it.

use plimsoll_model::metric;
use plimsoll_model::reading::{SeriesInfo, SeriesKind};

/// What a metric means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Name of the metric, without labels.
    pub metric: &'static str,
    /// Labels its series may carry.
    pub labels: &'static [&'static str],
    /// UCUM-like unit as in OpenTelemetry. Increases are per second.
    pub unit: &'static str,
    /// Level or increase.
    pub kind: SeriesKind,
    /// What it says.
    pub meaning: &'static str,
    /// File or interface of the kernel it comes from.
    pub source: &'static str,
}

impl Definition {
    /// Kind and unit, as stored beside the values.
    pub fn info(&self) -> SeriesInfo {
        SeriesInfo {
            kind: self.kind,
            unit: self.unit.to_owned(),
        }
    }
}

/// All definitions, grouped by what they describe.
pub fn all() -> &'static [Definition] {
    ALL
}

/// The definition of a metric.
pub fn definition(metric: &str) -> Option<&'static Definition> {
    ALL.iter().find(|definition| definition.metric == metric)
}

/// One row of the table.
macro_rules! table {
    ($($kind:ident $metric:ident [$($label:literal),*] $unit:literal $source:literal $meaning:literal;)*) => {
        &[$(Definition {
            metric: metric::$metric,
            labels: &[$($label),*],
            unit: $unit,
            kind: SeriesKind::$kind,
            meaning: $meaning,
            source: $source,
        }),*]
    };
}

const ALL: &[Definition] = table! {
    Gauge CPU_UTILIZATION ["cpu.mode", "cpu.logical_number"] "1" "/proc/stat" "share of all CPUs by mode (user, nice, system, idle, iowait, interrupt, softirq, steal); with a CPU's number, its busy share";
    Gauge CPU_BUSY [] "1" "/proc/stat" "share of all CPUs that was busy: not idle, not waiting for I/O, not stolen";
    Gauge CPU_SOFTIRQ ["cpu.logical_number"] "1" "/proc/stat" "share of one CPU spent in soft interrupts";
    Gauge CPU_COUNT [] "{cpu}" "/proc/stat" "CPUs of the machine";
    Gauge RUN_QUEUE [] "{thread}" "/proc/loadavg" "threads that run or want to, the probe's own included";
    Gauge LOAD_1M [] "{thread}" "/proc/loadavg" "load average over one minute";
    Delta PROCESSES_CREATED [] "{process}" "/proc/stat" "processes and threads created";
    Gauge PRESSURE ["resource", "stall"] "1" "/proc/pressure" "share of the second that some or all (full) tasks stalled for cpu, memory or io";
    Gauge CPU_CLOCK [] "1" "/sys/devices/system/cpu/cpuN/cpufreq" "mean clock of the CPUs as a share of the one they are rated for, every ten seconds";
    Delta CPU_SLOWED [] "{occurrence}" "/sys/devices/system/cpu/cpuN/thermal_throttle" "times the processor slowed itself down because of its temperature or power";

    Gauge MEMORY_USAGE ["system.memory.state"] "By" "/proc/meminfo" "memory by state: used, free, buffers, cached";
    Gauge MEMORY_AVAILABLE [] "By" "/proc/meminfo" "memory that programs can still have without swapping";
    Gauge MEMORY_LIMIT [] "By" "/proc/meminfo" "memory of the machine";
    Gauge PAGING_USAGE ["system.paging.state"] "By" "/proc/meminfo" "swap by state: used, free";
    Delta PAGING_OPERATIONS ["system.paging.direction"] "{operation}" "/proc/vmstat" "pages swapped in and out";
    Delta PAGING_FAULTS ["system.paging.fault.type"] "{fault}" "/proc/vmstat" "page faults of the machine that had to wait for a disk (major)";
    Delta OOM_KILLS [] "{process}" "/proc/vmstat" "processes killed for want of memory, anywhere on the machine";

    Delta DISK_IO ["system.device", "disk.io.direction"] "By" "/proc/diskstats" "bytes read and written";
    Delta DISK_OPERATIONS ["system.device", "disk.io.direction"] "{operation}" "/proc/diskstats" "operations completed";
    Gauge DISK_UTILIZATION ["system.device"] "1" "/proc/diskstats" "share of the second in which the device had work";
    Gauge DISK_AWAIT ["system.device"] "s" "/proc/diskstats" "mean time of the operations that completed";
    Delta DISK_FLUSHES ["system.device"] "{operation}" "/proc/diskstats" "flushes completed, from Linux 5.5";
    Gauge DISK_FLUSH_TIME ["system.device"] "s" "/proc/diskstats" "mean time of the flushes that completed";
    Gauge FILESYSTEM_FREE ["system.filesystem.mountpoint"] "1" "statvfs" "share of a local file system that is free for who is not root";
    Gauge FILESYSTEM_INODES_FREE ["system.filesystem.mountpoint"] "1" "statvfs" "share of its inodes that is free";

    Delta NETWORK_IO ["network.interface.name", "network.io.direction"] "By" "/proc/net/dev" "bytes received and sent";
    Delta NETWORK_PACKETS ["network.interface.name", "network.io.direction"] "{packet}" "/proc/net/dev" "packets received and sent";
    Delta NETWORK_DROPPED ["network.interface.name", "network.io.direction"] "{packet}" "/proc/net/dev" "packets dropped";
    Delta NETWORK_ERRORS ["network.interface.name", "network.io.direction"] "{error}" "/proc/net/dev" "packets in error";
    Gauge NETWORK_SPEED ["network.interface.name"] "By/s" "/sys/class/net/NAME/speed" "what the link can carry in each direction, where it says so";
    Delta SOFTNET_DROPPED [] "{packet}" "/proc/net/softnet_stat" "packets dropped because the soft interrupt's backlog was full";
    Delta SOFTNET_SQUEEZED [] "{occurrence}" "/proc/net/softnet_stat" "times the soft interrupt used up its budget with packets left";

    Gauge TCP_CONNECTIONS ["network.connection.state"] "{connection}" "sock_diag or /proc/net/tcp" "TCP sockets by state";
    Gauge TCP_IN_USE [] "{socket}" "/proc/net/sockstat" "TCP sockets in use, without those in TIME_WAIT";
    Gauge TCP_TIME_WAIT [] "{socket}" "/proc/net/sockstat" "TCP sockets in TIME_WAIT";
    Gauge TCP_MEMORY [] "By" "/proc/net/sockstat" "memory of TCP buffers";
    Gauge SOCKETS_IN_USE [] "{socket}" "/proc/net/sockstat" "sockets of any kind";
    Delta LISTEN_OVERFLOWS [] "{connection}" "/proc/net/netstat ListenOverflows" "connections dropped because an accept queue was full";
    Delta LISTEN_DROPS [] "{connection}" "/proc/net/netstat ListenDrops" "connections dropped by listeners for any reason, overflows included";
    Delta SYN_QUEUE_DROPS [] "{connection}" "/proc/net/netstat TCPReqQFullDrop" "SYNs dropped because the SYN queue was full";
    Delta SYN_COOKIES [] "{connection}" "/proc/net/netstat TCPReqQFullDoCookies" "SYNs answered by a cookie because the SYN queue was full";
    Delta SYN_RETRANSMITS [] "{segment}" "/proc/net/netstat TCPSynRetrans" "SYNs and SYN/ACKs sent again";
    Delta TCP_SEGMENTS_OUT [] "{segment}" "/proc/net/snmp OutSegs" "segments sent";
    Delta TCP_RETRANSMITS [] "{segment}" "/proc/net/snmp RetransSegs" "segments sent again";
    Delta TCP_TIMEOUTS [] "{occurrence}" "/proc/net/netstat TCPTimeouts" "retransmission timers that expired";
    Delta TIME_WAIT_OVERFLOWS [] "{socket}" "/proc/net/netstat TCPTimeWaitOverflow" "sockets that skipped TIME_WAIT because its table was full";
    Delta TCP_ACTIVE_OPENS [] "{connection}" "/proc/net/snmp ActiveOpens" "connections opened from here";
    Delta TCP_PASSIVE_OPENS [] "{connection}" "/proc/net/snmp PassiveOpens" "connections opened to here";
    Delta TCP_FAILED_OPENS [] "{connection}" "/proc/net/snmp AttemptFails" "connections that could not be opened";
    Delta TCP_MEMORY_PRESSURES [] "{occurrence}" "/proc/net/netstat TCPMemoryPressures" "times TCP came under memory pressure";
    Delta TCP_MEMORY_ABORTS [] "{connection}" "/proc/net/netstat TCPAbortOnMemory" "connections aborted for want of TCP memory";
    Gauge TCP_MEMORY_LIMIT [] "By" "/proc/sys/net/ipv4/tcp_mem" "most memory of TCP buffers";
    Gauge TIME_WAIT_LIMIT [] "{socket}" "/proc/sys/net/ipv4/tcp_max_tw_buckets" "most TCP sockets in TIME_WAIT";
    Gauge CONNTRACK_USED [] "{connection}" "/proc/sys/net/netfilter/nf_conntrack_count" "connections that the firewall tracks";
    Gauge CONNTRACK_LIMIT [] "{connection}" "/proc/sys/net/netfilter/nf_conntrack_max" "most connections that it can track";

    Gauge LISTEN_QUEUE ["listener", "process"] "{connection}" "sock_diag or /proc/net/tcp" "connections waiting to be accepted, of the target's listeners and of any that is full";
    Gauge LISTEN_BACKLOG ["listener", "process"] "{connection}" "sock_diag; somaxconn without it" "length at which that accept queue is full";
    Gauge PORTS_USED ["destination", "process"] "{port}" "sock_diag or /proc/net/tcp" "local ports in use towards a destination, TIME_WAIT included; the highest of all local addresses";
    Gauge PORTS_TIME_WAIT ["destination", "process"] "{port}" "sock_diag or /proc/net/tcp" "of these, in TIME_WAIT";
    Gauge TCP_UNSENT [] "By" "sock_diag or /proc/net/tcp" "bytes that the target's connections have to send, or have sent and nobody has acknowledged";
    Gauge PORTS_LIMIT [] "{port}" "/proc/sys/net/ipv4/ip_local_port_range" "local ports the system hands out for one destination";

    Gauge FILES_OPEN [] "{file_descriptor}" "/proc/sys/fs/file-nr" "open files of the machine";
    Gauge FILES_LIMIT [] "{file_descriptor}" "/proc/sys/fs/file-nr" "highest number of open files of the machine";

    Delta PROCESS_CPU_TIME ["process", "cpu.mode"] "s" "/proc/PID/stat" "CPU time in user and system mode";
    Gauge PROCESS_CPU ["process", "pid", "comm"] "1" "/proc/PID/stat" "share of all CPUs; with pid and comm, of one process; with comm alone, of all of that name";
    Gauge PROCESS_MEMORY ["process", "pid", "comm"] "By" "/proc/PID/stat" "resident memory; with pid and comm, of one process";
    Gauge PROCESS_MEMORY_PSS ["process"] "By" "/proc/PID/smaps_rollup" "resident memory with shared pages counted once, every ten seconds";
    Gauge THREAD_WAITS ["process", "on"] "{thread}" "/proc/PID/task/TID/syscall, fd, mem; wchan where that may not be read; sock_diag" "threads of the target by what they wait for at the moment of reading: running, lock, sleep, events, accept, clients, disk, pipe, child, sockets, other, or the server at the other end";
    Gauge PROCESS_THREADS ["process"] "{thread}" "/proc/PID/stat" "threads";
    Gauge PROCESS_COUNT ["process"] "{process}" "/proc" "processes, children included";
    Gauge PROCESS_FILES ["process", "pid", "comm"] "{file_descriptor}" "/proc/PID/fd" "open descriptors of the process that is nearest its limit; with pid and comm, which one that is";
    Gauge PROCESS_FILES_LIMIT ["process"] "{file_descriptor}" "/proc/PID/limits" "limit of the descriptors of that process";
    Delta PROCESS_SWITCHES ["process", "process.context_switch.type"] "{context_switch}" "/proc/PID/status" "context switches: voluntary, involuntary";
    Delta PROCESS_FAULTS ["process", "process.paging.fault_type"] "{fault}" "/proc/PID/stat" "page faults that had to wait for a disk (major)";
    Delta PROCESS_CPU_WAIT ["process"] "s" "/proc/PID/task/TID/schedstat" "time that runnable threads of busy processes waited for a CPU";
    Gauge THREAD_BUSIEST ["process", "tid", "comm"] "1" "/proc/PID/task/TID/schedstat" "share of one CPU used by the busiest thread; with tid and comm, which one that is";

    Gauge CGROUP_CPU_QUOTA ["cgroup", "process"] "{cpu}" "cpu.max; cpu.cfs_quota_us" "CPUs the cgroup may use";
    Delta CGROUP_CPU_PERIODS ["cgroup", "process"] "{period}" "cpu.stat nr_periods" "periods in which the cgroup ran";
    Delta CGROUP_CPU_THROTTLED ["cgroup", "process"] "{period}" "cpu.stat nr_throttled" "periods in which the cgroup used up its quota and was stopped";
    Delta CGROUP_CPU_THROTTLED_TIME ["cgroup", "process"] "s" "cpu.stat throttled_usec; throttled_time" "time for which it was stopped, summed over its CPUs";
    Gauge CGROUP_MEMORY ["cgroup", "process"] "By" "memory.current; memory.usage_in_bytes" "memory of the cgroup, page cache included";
    Gauge CGROUP_MEMORY_LIMIT ["cgroup", "process"] "By" "memory.max; memory.limit_in_bytes" "most memory the cgroup may use";
    Gauge CGROUP_MEMORY_INACTIVE ["cgroup", "process"] "By" "memory.stat inactive_file" "memory of the cgroup that can be taken back at once";
    Delta CGROUP_MEMORY_HIGH ["cgroup", "process"] "{occurrence}" "memory.events high" "times the cgroup was slowed down at memory.high";
    Delta CGROUP_MEMORY_AT_LIMIT ["cgroup", "process"] "{occurrence}" "memory.events max; memory.failcnt" "times the cgroup ran into its memory limit";
    Delta CGROUP_OOM_KILLS ["cgroup", "process"] "{process}" "memory.events oom_kill; memory.oom_control" "processes of the cgroup killed for want of memory";
    Gauge CGROUP_PIDS ["cgroup", "process"] "{process}" "pids.current" "processes and threads of the cgroup";
    Gauge CGROUP_PIDS_LIMIT ["cgroup", "process"] "{process}" "pids.max" "most processes and threads the cgroup may have";
    Delta CGROUP_PIDS_REFUSED ["cgroup", "process"] "{process}" "pids.events max" "processes and threads that the cgroup was refused at its limit";

    Gauge TARGET_IS_LOCAL [] "1" "sock_diag, /proc" "1 when the target runs on this machine; 0 when the readings are of the generator's machine only";
    Delta EDGE_REQUESTS [] "{request}" "/metrics of an edge" "requests that began";
    Delta EDGE_SERVER_ANSWERS ["pool", "server"] "{answer}" "/metrics of an edge" "answers of a server";
    Delta EDGE_OWN_ANSWERS ["reason"] "{answer}" "/metrics of an edge" "answers that no server gave";
    Gauge EDGE_CONNECTIONS [] "{connection}" "/metrics of an edge" "connections of clients";
    Gauge EDGE_WAITING ["pool"] "{request}" "/metrics of an edge" "requests in line";
    Gauge EDGE_IN_FLIGHT ["pool", "server"] "{request}" "/metrics of an edge" "requests with a server";
    Gauge EDGE_LIMIT ["pool", "server"] "{request}" "/metrics of an edge" "requests that may be with a server at once";
    Delta EDGE_CACHE_HITS [] "{request}" "/metrics of an edge" "requests that a fresh copy answered";
    Delta EDGE_CACHE_STALE [] "{request}" "/metrics of an edge" "requests that a stale copy answered";
    Delta EDGE_CACHE_MISSES [] "{request}" "/metrics of an edge" "requests that no copy could answer by itself";
    Delta EDGE_CACHE_COLLAPSED [] "{request}" "/metrics of an edge" "of these, requests that waited for the fetch of another";
    Delta EDGE_CACHE_PASSED [] "{request}" "/metrics of an edge" "requests that passed the cache by";
    Delta EDGE_CACHE_EVICTIONS [] "{copy}" "/metrics of an edge" "copies that left for want of room";
    Gauge EDGE_CACHE_OBJECTS [] "{copy}" "/metrics of an edge" "copies";
    Gauge EDGE_CACHE_BYTES [] "By" "/metrics of an edge" "memory that copies take";

    Gauge SETTING ["at", "setting", "of", "file"] "{unit}" "INFO, stats, show stat, configuration files" "a setting of a part, and where it is written";
    Gauge NGINX_CONNECTIONS ["at", "state"] "{connection}" "nginx stub_status" "connections by state: active (all), reading, writing, waiting";
    Delta NGINX_ACCEPTED ["at"] "{connection}" "nginx stub_status accepts" "connections accepted";
    Delta NGINX_DROPPED ["at"] "{connection}" "nginx stub_status accepts - handled" "connections accepted and closed at once because `worker_connections` were used up";
    Delta NGINX_REQUESTS ["at"] "{request}" "nginx stub_status requests" "requests that began";
    Gauge HAPROXY_CONNECTIONS ["at"] "{connection}" "HAProxy CurrConns" "connections of clients";
    Gauge HAPROXY_CONNECTIONS_LIMIT ["at"] "{connection}" "HAProxy Maxconn" "most connections of clients";
    Gauge HAPROXY_IDLE ["at"] "1" "HAProxy Idle_pct" "share of the time that its threads were idle";
    Gauge HAPROXY_SESSIONS ["at", "proxy", "server"] "{session}" "HAProxy scur" "sessions";
    Gauge HAPROXY_SESSIONS_LIMIT ["at", "proxy", "server"] "{session}" "HAProxy slim" "most sessions, of frontends and servers that have a limit";
    Gauge HAPROXY_QUEUE ["at", "proxy", "server"] "{request}" "HAProxy qcur" "requests that wait for a server";
    Delta HAPROXY_SESSIONS_BEGUN ["at", "proxy", "server"] "{session}" "HAProxy stot" "sessions that began";
    Delta HAPROXY_CONNECT_ERRORS ["at", "proxy", "server"] "{connection}" "HAProxy econ" "connections to servers that failed";
    Delta HAPROXY_ANSWER_ERRORS ["at", "proxy", "server"] "{answer}" "HAProxy eresp" "answers that were cut off or no HTTP";
    Delta HAPROXY_RETRIES ["at", "proxy", "server"] "{connection}" "HAProxy wretr" "connections to servers that were tried again";
    Delta HAPROXY_CLIENT_ABORTS ["at", "proxy", "server"] "{request}" "HAProxy cli_abrt" "transfers that clients gave up";
    Delta HAPROXY_SERVER_ERRORS ["at", "proxy", "server"] "{answer}" "HAProxy hrsp_5xx" "answers with status 5xx";
    Gauge HAPROXY_TIME ["at", "proxy", "server", "phase"] "s" "HAProxy qtime, ctime, rtime, ttime" "mean time of the last 1,024 requests in a phase: queue, connect, answer, total";
    Gauge HAPROXY_WEIGHT ["at", "proxy", "server"] "1" "HAProxy weight, bck" "weight of a server; 0 for a backup server";
    Gauge REDIS_CLIENTS ["at"] "{client}" "Redis INFO connected_clients" "clients connected";
    Gauge REDIS_CLIENTS_BLOCKED ["at"] "{client}" "Redis INFO blocked_clients" "clients that wait in a blocking command";
    Delta REDIS_REJECTED ["at"] "{connection}" "Redis INFO rejected_connections" "connections refused at `maxclients`";
    Delta REDIS_COMMANDS ["at"] "{command}" "Redis INFO total_commands_processed" "commands carried out";
    Delta REDIS_COMMAND_CALLS ["at", "command"] "{command}" "Redis INFO cmdstat_…: calls" "times that a command was carried out";
    Delta REDIS_COMMAND_TIME ["at", "command"] "s" "Redis INFO cmdstat_…: usec" "time that its one thread spent on a command";
    Delta REDIS_EVICTED ["at"] "{key}" "Redis INFO evicted_keys" "keys thrown away at `maxmemory`";
    Delta REDIS_HITS ["at"] "{lookup}" "Redis INFO keyspace_hits" "look-ups that found their key";
    Delta REDIS_MISSES ["at"] "{lookup}" "Redis INFO keyspace_misses" "look-ups that did not find their key";
    Gauge REDIS_MEMORY ["at"] "By" "Redis INFO used_memory" "memory in use";
    Delta REDIS_OUT_OF_MEMORY ["at"] "{command}" "Redis INFO errorstat_OOM" "commands refused because memory was full";
    Delta REDIS_MAIN_THREAD ["at"] "s" "Redis INFO used_cpu_user_main_thread, used_cpu_sys_main_thread" "CPU time of the thread that carries out commands";
    Gauge REDIS_FORK ["at"] "s" "Redis INFO latest_fork_usec" "time that the latest fork stopped it";
    Delta REDIS_FSYNC_DELAYED ["at"] "{write}" "Redis INFO aof_delayed_fsync" "writes of the append-only file that waited for the disk";
    Gauge MEMCACHED_CONNECTIONS ["at"] "{connection}" "memcached stats curr_connections" "connections open";
    Delta MEMCACHED_REFUSED ["at"] "{connection}" "memcached stats rejected_connections + listen_disabled_num" "connections refused, and times it stopped accepting, because its connections were used up";
    Delta MEMCACHED_EVICTIONS ["at"] "{item}" "memcached stats evictions" "items thrown away for want of memory";
    Gauge MEMCACHED_MEMORY ["at"] "By" "memcached stats bytes" "memory of its items";
    Delta MEMCACHED_HITS ["at"] "{lookup}" "memcached stats get_hits" "look-ups that found their item";
    Delta MEMCACHED_MISSES ["at"] "{lookup}" "memcached stats get_misses" "look-ups that did not find their item";

    Gauge DATABASE_SIZE ["at"] "By" "pg_database_size(); INNODB_SYS_TABLESPACES" "data and indexes that a database holds, as it said once";
    Delta DATABASE_SESSIONS_BEGUN ["at"] "{session}" "pg_stat_database sessions, from version 14; Connections" "sessions that clients began";
    Gauge DATABASE_SESSION_START ["at"] "s" "the probe's own log-in" "how long a session takes to begin: the shortest of the probe's own";
    Gauge POSTGRES_SESSIONS ["at", "state"] "{session}" "pg_stat_activity" "sessions of clients by state: active, idle, idle in transaction; all, with the probe's own";
    Gauge POSTGRES_REFUSED ["at"] "1" "SQLSTATE 53300" "1 when the probe was turned away because as many sessions were there as there may be";
    Gauge POSTGRES_ACTIVE ["at", "wait", "event"] "{session}" "pg_stat_activity wait_event_type, wait_event" "active sessions by what they wait for: none, lock, lwlock, io, client; or by a single event";
    Gauge POSTGRES_RUNNING ["at", "statement"] "{session}" "pg_stat_activity query" "active sessions by statement, without its values";
    Gauge POSTGRES_WAITING ["at", "statement"] "{session}" "pg_stat_activity query" "sessions that wait for a lock, by statement";
    Gauge POSTGRES_BLOCKING ["at", "state", "statement"] "{session}" "pg_blocking_pids" "sessions that wait for others, by state and statement of who holds what they wait for";
    Gauge POSTGRES_IDLE_IN_TRANSACTION ["at"] "s" "pg_stat_activity state_change" "how long the oldest idle transaction has been idle";
    Gauge POSTGRES_LOCKS_WAITED ["at"] "{lock}" "pg_locks" "locks that are waited for";
    Delta POSTGRES_BLOCKS_READ ["at"] "{block}" "pg_stat_database blks_read" "blocks read from files";
    Delta POSTGRES_BLOCKS_HIT ["at"] "{block}" "pg_stat_database blks_hit" "blocks found in the buffers";
    Delta POSTGRES_SCANS ["at", "table"] "{scan}" "pg_stat_user_tables seq_scan" "times that a table was read from its first row to its last";
    Delta POSTGRES_ROWS_SCANNED ["at", "table"] "{row}" "pg_stat_user_tables seq_tup_read" "rows read by these";
    Delta POSTGRES_TEMPORARY ["at"] "By" "pg_stat_database temp_bytes" "written to temporary files by sorts and hashes";
    Delta POSTGRES_WAL ["at"] "By" "pg_stat_wal wal_bytes" "written to the write-ahead log, from version 14";
    Delta POSTGRES_WAL_FULL ["at"] "{occurrence}" "pg_stat_wal wal_buffers_full" "times that the buffers of the write-ahead log were full";
    Delta POSTGRES_CHECKPOINTS_TIMED ["at"] "{checkpoint}" "pg_stat_bgwriter, pg_stat_checkpointer" "checkpoints that were due";
    Delta POSTGRES_CHECKPOINTS_REQUESTED ["at"] "{checkpoint}" "pg_stat_bgwriter, pg_stat_checkpointer" "checkpoints before they were due, because so much was written";
    Delta POSTGRES_DEADLOCKS ["at"] "{deadlock}" "pg_stat_database deadlocks" "deadlocks that were broken";
    Delta POSTGRES_COMMITS ["at"] "{transaction}" "pg_stat_database xact_commit" "transactions committed";
    Delta POSTGRES_ROLLBACKS ["at"] "{transaction}" "pg_stat_database xact_rollback" "transactions rolled back";
    Gauge MYSQL_SESSIONS ["at"] "{session}" "Threads_connected" "sessions";
    Gauge MYSQL_SESSIONS_RUNNING ["at"] "{session}" "Threads_running" "sessions that carry out a statement, the probe's own included";
    Gauge MYSQL_COLLECTOR_REFUSED ["at"] "1" "error 1040" "1 when the probe was turned away because as many sessions were there as there may be";
    Delta MYSQL_REFUSED ["at"] "{connection}" "Connection_errors_max_connections" "connections refused at `max_connections`";
    Delta MYSQL_STATEMENTS ["at"] "{statement}" "Questions" "statements carried out";
    Gauge MYSQL_RUNNING ["at", "statement"] "{session}" "information_schema.PROCESSLIST" "sessions by the statement they carry out, without its values";
    Gauge MYSQL_BLOCKING ["at", "statement"] "{session}" "information_schema.INNODB_LOCK_WAITS; data_lock_waits" "sessions that wait for rows, by the statement of who holds them; nothing where he does nothing";
    Delta MYSQL_TEMPORARY_TABLES ["at"] "{table}" "Created_tmp_tables" "temporary tables made, the probe's own included";
    Delta MYSQL_TEMPORARY_ON_DISK ["at"] "{table}" "Created_tmp_disk_tables" "of these, on disk";
    Delta MYSQL_SORT_PASSES ["at"] "{pass}" "Sort_merge_passes" "sorts put together from pieces because the buffer was too small";
    Delta MYSQL_SCANS ["at"] "{scan}" "Select_scan" "statements that read a table from its first row to its last";
    Delta MYSQL_ROWS_SCANNED ["at"] "{row}" "Handler_read_rnd_next" "rows read one behind the other";
    Gauge MYSQL_ROW_LOCKS_WAITED ["at"] "{session}" "Innodb_row_lock_current_waits" "sessions that wait for a row";
    Delta MYSQL_ROW_LOCK_TIME ["at"] "s" "Innodb_row_lock_time" "time that sessions waited for rows, told when they have waited";
    Delta MYSQL_ROW_LOCK_WAITS ["at"] "{wait}" "Innodb_row_lock_waits" "times that a session waited for a row";
    Delta MYSQL_POOL_READS ["at"] "{page}" "Innodb_buffer_pool_reads" "pages read from files because the buffer pool did not hold them";
    Delta MYSQL_POOL_REQUESTS ["at"] "{page}" "Innodb_buffer_pool_read_requests" "pages asked of the buffer pool";
    Delta MYSQL_POOL_WAITS ["at"] "{wait}" "Innodb_buffer_pool_wait_free" "times that a session waited for a free page";
    Delta MYSQL_LOG_WAITS ["at"] "{wait}" "Innodb_log_waits" "times that a session waited because the buffer of the redo log was full";
    Delta MYSQL_DEADLOCKS ["at"] "{deadlock}" "Innodb_deadlocks" "deadlocks that were broken";
    Gauge MONGO_TICKETS ["at", "kind"] "{operation}" "serverStatus wiredTiger.concurrentTransactions, queues.execution" "operations that the storage could take at once, by kind: read, write";
    Gauge MONGO_QUEUE ["at"] "{operation}" "serverStatus globalLock.currentQueue" "operations that wait for a lock or a ticket";
    Gauge MONGO_ACTIVE ["at"] "{client}" "serverStatus globalLock.activeClients" "clients whose operations are carried out or wait";
    Gauge MONGO_CONNECTIONS ["at"] "{connection}" "serverStatus connections.current" "connections";
    Delta MONGO_OPERATIONS ["at", "kind"] "{operation}" "serverStatus opcounters" "operations by kind";
    Delta MONGO_PAGES_READ ["at"] "{page}" "serverStatus wiredTiger.cache" "pages that were read from files because the cache did not hold them";

    Gauge PHP_FPM_PROCESSES ["at", "state"] "{process}" "PHP-FPM active, idle, total processes" "processes by state: active, idle, all";
    Gauge PHP_FPM_QUEUE ["at"] "{request}" "PHP-FPM listen queue" "requests that wait for a process; 0 of a Unix socket";
    Delta PHP_FPM_REQUESTS ["at"] "{request}" "PHP-FPM accepted conn" "requests that began";
    Delta PHP_FPM_AT_LIMIT ["at"] "{occurrence}" "PHP-FPM max children reached" "times that more processes were wanted than there may be";
    Delta PHP_FPM_SLOW ["at"] "{request}" "PHP-FPM slow requests" "requests that took longer than `request_slowlog_timeout`";
    Gauge PHP_FPM_SILENT ["at"] "1" "PHP-FPM status page" "1 when no process was left to answer about itself";
    Delta NODE_ACTIVE ["at"] "s" "Node eventLoopUtilization" "time that the event loop was not idle";
    Gauge NODE_DELAY ["at"] "s" "Node, a timer" "longest time that a timer of 20 ms had to wait for the event loop since it was asked last";
    Gauge NODE_MEMORY ["at"] "By" "Node memoryUsage" "resident memory";
    Gauge NODE_POOL_WAIT ["at"] "s" "Node, a task of libuv's pool" "longest time that a task every 100 ms had to wait for a thread of the pool since it was asked last";
    Gauge NODE_POOL_THREADS ["at"] "{thread}" "Node UV_THREADPOOL_SIZE" "threads of libuv's pool";
    Gauge POOL_USED ["at", "to", "pool"] "{connection}" "Jolokia; a page in the format of Prometheus; Node http.Agent" "places of a pool of connections that are used, by what it connects to: database, http";
    Gauge POOL_LIMIT ["at", "to", "pool"] "{connection}" "Jolokia; a page in the format of Prometheus; Node http.Agent" "most places of a pool of connections";
    Gauge POOL_WAITING ["at", "to", "pool"] "{request}" "Jolokia; a page in the format of Prometheus; Node http.Agent" "requests that wait for a place of a pool of connections";
    Delta POOL_WAITS ["at", "to", "pool"] "{request}" "a page in the format of Prometheus" "times that a request had to wait for a place of a pool of connections";
    Gauge PYTHON_THREADS ["at", "state"] "{thread}" "py-spy dump" "threads of Python by state, at one look: active, idle; lock for the one that has the interpreter's";
    Gauge PYTHON_CALLS ["at", "of"] "{thread}" "py-spy dump" "active threads of Python by the innermost call of the application's own, at one look";
    Gauge DOTNET_QUEUE ["at"] "{work_item}" "a page in the format of Prometheus" "tasks that wait for a thread of .NET's pool";
    Gauge DOTNET_THREADS ["at"] "{thread}" "a page in the format of Prometheus" "threads of .NET's pool";
    Gauge PUMA_BACKLOG ["at"] "{request}" "Puma stats backlog" "requests that wait for a thread, in all workers";
    Gauge PUMA_CAPACITY ["at"] "{request}" "Puma stats pool_capacity" "requests that could be taken at once, in all workers";
    Delta PUMA_REQUESTS ["at"] "{request}" "Puma stats requests_count" "requests carried out";

    Delta JVM_GC_TIME ["at", "kind"] "s" "hsperfdata sun.gc.collector.N.time; Jolokia CollectionTime" "time that the collector stopped the JVM, by kind: young, full, concurrent";
    Delta JVM_GC_COUNT ["at", "kind"] "{collection}" "hsperfdata sun.gc.collector.N.invocations; Jolokia CollectionCount" "collections by kind";
    Gauge JVM_GC_PAUSE ["at"] "s" "hsperfdata sun.gc.collector.N.lastEntryTime, lastExitTime" "longest pause of the collector in this second, as far as it is told: the last one, or the mean";
    Delta JVM_STOPPED ["at"] "s" "hsperfdata sun.rt.safepointTime" "time that all threads stood still";
    Gauge JVM_OLD_USED ["at"] "By" "hsperfdata sun.gc.generation.1.space.0.used" "memory of the old generation that is used";
    Gauge JVM_OLD_AFTER ["at"] "By" "hsperfdata sun.gc.generation.1.space.0.used; Jolokia CollectionUsage" "the same after the last collection of the whole heap";
    Gauge JVM_OLD_LIMIT ["at"] "By" "hsperfdata sun.gc.generation.1.maxCapacity" "most memory of the old generation";
    Gauge JVM_THREADS ["at"] "{thread}" "hsperfdata java.threads.live" "threads";
    Gauge JVM_POOL ["at", "pool"] "{thread}" "/proc/PID/task/TID/comm" "threads of a pool, by their name without its number";
    Gauge JVM_POOL_BUSY ["at", "pool"] "{thread}" "Jolokia currentThreadsBusy, busyThreads" "threads of a pool that carry out a request";
    Gauge JVM_POOL_LIMIT ["at", "pool"] "{thread}" "Jolokia maxThreads" "most threads of a pool";
    Gauge JVM_WAITING ["at"] "{connection}" "sock_diag" "connections that nobody has taken, or whose bytes nobody has read";
    Gauge UWSGI_PLACES ["at"] "{request}" "uWSGI stats workers, cores" "requests that the workers can carry out at once";
    Gauge UWSGI_BUSY ["at"] "{request}" "uWSGI stats in_request, status" "requests that the workers carry out";
    Gauge UWSGI_QUEUE ["at"] "{connection}" "uWSGI stats sockets queue" "connections that wait until a worker takes them; 0 of a Unix socket";
    Delta UWSGI_REQUESTS ["at"] "{request}" "uWSGI stats workers requests" "requests carried out";
    Delta UWSGI_HARAKIRI ["at"] "{worker}" "uWSGI stats workers harakiri_count" "workers that were killed because a request took too long";
    Gauge GO_GC_SHARE ["at"] "1" "go_cpu_classes_*; memstats GCCPUFraction" "share of the CPU that the program may use that its collector took";
    Delta GO_GC_COUNT ["at"] "{collection}" "go_gc_duration_seconds_count; memstats NumGC" "collections";
    Gauge GO_SCHEDULER_DELAY ["at"] "s" "go_sched_latencies_seconds" "how long goroutines that could run waited for a thread, at the 99th percentile of this second";
    Gauge GO_GOROUTINES ["at"] "{goroutine}" "go_goroutines" "goroutines";
    Gauge GO_GOROUTINES_AT ["at", "of"] "{goroutine}" "/debug/pprof/goroutine" "goroutines by the innermost function of the application's own in which they are";
    Gauge GO_HEAP ["at"] "By" "go_memstats_heap_alloc_bytes; memstats HeapAlloc" "memory of the heap that is used";

    Delta STATEMENT_CALLS ["at", "statement"] "{statement}" "pg_stat_statements; events_statements_summary_by_digest" "times that a statement was carried out";
    Delta STATEMENT_TIME ["at", "statement"] "s" "total_exec_time; SUM_TIMER_WAIT" "time that this took, in all sessions together";
    Delta STATEMENT_ROWS ["at", "statement"] "{row}" "rows; SUM_ROWS_SENT, SUM_ROWS_AFFECTED" "rows that it answered with or changed";
    Delta STATEMENT_EXAMINED ["at", "statement"] "{row}" "SUM_ROWS_EXAMINED" "rows that MariaDB looked at for it";
    Delta STATEMENT_SCANS ["at", "statement"] "{statement}" "SUM_NO_INDEX_USED" "times that MariaDB carried it out without an index";
    Delta STATEMENT_SORTED ["at", "statement"] "{row}" "SUM_SORT_ROWS" "rows that MariaDB sorted for it";
    Delta STATEMENT_ON_DISK ["at", "statement"] "{table}" "SUM_CREATED_TMP_DISK_TABLES" "temporary tables that MariaDB wrote to disk for it";
    Delta STATEMENT_BLOCKS ["at", "statement"] "{block}" "shared_blks_hit, shared_blks_read" "blocks that PostgreSQL looked at for it";
    Delta STATEMENT_SPILT ["at", "statement"] "By" "temp_blks_written" "written to temporary files by its sorts and hashes in PostgreSQL";
    Gauge STATEMENT_PLAN ["at", "statement", "plan"] "1" "EXPLAIN" "cost that PostgreSQL's planner estimates, rows that MariaDB's does; the plan without its values";
    Gauge STATEMENT_WITH_INDEX ["at", "statement", "index"] "1" "HypoPG, EXPLAIN" "cost that PostgreSQL's planner would estimate if this index were there";

    Gauge FIGURES_LEVEL ["at", "name", "of"] "1" "a page in the format of Prometheus" "a level that was chosen, with its own labels in `of`";
    Delta FIGURES_INCREASE ["at", "name", "of"] "1" "a page in the format of Prometheus" "a counter that was chosen, with its own labels in `of`";
    Gauge PGBOUNCER_CLIENTS ["at", "pool", "state"] "{client}" "SHOW POOLS cl_active, cl_waiting" "clients by pool (database/role) and state: active, waiting";
    Gauge PGBOUNCER_SESSIONS ["at", "pool", "state"] "{session}" "SHOW POOLS sv_active, sv_idle, sv_used" "sessions in the database by pool and state: active, idle";
    Gauge PGBOUNCER_WAIT ["at", "pool"] "s" "SHOW POOLS maxwait, maxwait_us" "how long the client that waits longest has waited";
    Delta PGBOUNCER_WAIT_TIME ["at", "database"] "s" "SHOW STATS total_wait_time" "time that clients waited for a session";
    Delta PGBOUNCER_TRANSACTIONS ["at", "database"] "{transaction}" "SHOW STATS total_xact_count" "transactions";
    Gauge APACHE_WORKERS ["at", "state"] "{worker}" "mod_status BusyWorkers, IdleWorkers" "workers by state: busy, without the probe's own; idle";
    Delta APACHE_REQUESTS ["at"] "{request}" "mod_status Total Accesses" "requests carried out";
    Gauge APACHE_SILENT ["at"] "1" "mod_status" "1 when no worker was left to answer about itself";
    Gauge GUNICORN_PLACES ["at"] "{request}" "/proc/PID/task/PID/children, command line" "requests that the workers can carry out at once: workers times threads";
    Gauge GUNICORN_TAKEN ["at"] "{connection}" "sock_diag" "connections that workers have taken";
    Gauge GUNICORN_WAITING ["at"] "{connection}" "sock_diag" "connections that wait until a worker takes them";
    Gauge VARNISH_THREADS ["at"] "{thread}" "varnishstat MAIN.threads" "threads that carry out requests";
    Gauge VARNISH_QUEUE ["at"] "{request}" "varnishstat MAIN.thread_queue_len" "connections and requests that wait for a thread";
    Delta VARNISH_AT_LIMIT ["at"] "{occurrence}" "varnishstat MAIN.threads_limited" "times that more threads were wanted than there may be";
    Delta VARNISH_DROPPED ["at"] "{request}" "varnishstat MAIN.sess_dropped, MAIN.req_dropped" "connections and requests that were dropped because the queue was full";
    Delta VARNISH_REQUESTS ["at"] "{request}" "varnishstat MAIN.client_req" "requests";
    Delta VARNISH_HITS ["at"] "{lookup}" "varnishstat MAIN.cache_hit" "look-ups in the cache that found something";
    Delta VARNISH_MISSES ["at"] "{lookup}" "varnishstat MAIN.cache_miss" "look-ups in the cache that found nothing";
    Delta VARNISH_NUKED ["at"] "{object}" "varnishstat MAIN.n_lru_nuked" "objects that were thrown away to make room";

    Delta TRACE_SPANS ["at"] "{span}" "spans over OTLP" "spans that came";
    Delta TRACE_SPANS_LOST ["at"] "{span}" "spans over OTLP" "of these, those without room, or without a request to which they belong";
    Gauge TRACE_CLOCK ["at", "service"] "s" "spans over OTLP, CLOCK_REALTIME" "least time from the end of a span, by its service's clock, to its coming, by this machine's: below zero that clock is ahead by at least as much";
    Delta TRACE_REQUESTS ["at", "service", "route"] "{request}" "spans of kind SERVER and CONSUMER" "requests that were traced";
    Delta TRACE_FAILED ["at", "service", "route"] "{request}" "status; http.response.status_code" "of these, requests that failed by the service's fault";
    Delta TRACE_TIME ["at", "service", "route"] "s" "spans of kind SERVER and CONSUMER" "time that they took";
    Delta TRACE_QUERIES ["at", "service", "route"] "{statement}" "db.query.text; db.statement" "statements of databases that they carried out, without those that only hold others together";
    Delta TRACE_QUERY_FORMS ["at", "service", "route"] "{statement}" "db.query.text; db.statement" "the same, with those of one form in one request counted once";
    Delta TRACE_REPEATED ["at", "service", "route", "statement"] "{statement}" "db.query.text; db.statement" "times that a statement was carried out, of those that a request repeats";
    Delta TRACE_HELD ["at", "service", "route"] "s" "BEGIN to COMMIT or ROLLBACK" "time that transactions were open";
    Delta TRACE_HELD_REMOTE ["at", "service", "route"] "s" "spans of kind CLIENT between these" "of this, time in which another service was waited for";
    Delta TRACE_CALLS ["at", "service", "route", "kind", "component"] "{call}" "spans" "calls by kind (itself, database, connecting, cache, http, rpc, messaging, step) and component";
    Delta TRACE_OWN_TIME ["at", "service", "route", "kind", "component"] "s" "spans" "time of these in which nothing below them ran";
    Delta TRACE_SHARED_TIME ["at", "service", "route", "kind", "component"] "s" "spans" "the same, with each moment divided among all that ran in it";
    Delta TRACE_CALLS_FAILED ["at", "service", "route", "kind", "component"] "{call}" "status; http.response.status_code" "calls that failed";
    Delta TRACE_REFUSED ["at", "service", "route", "kind", "component", "status"] "{call}" "http.response.status_code; rpc.grpc.status_code" "calls that were refused for now: 429, 503, and what gRPC has for them";
    Delta TRACE_REACHED ["at", "service", "route", "kind", "component", "ended"] "{request}" "spans" "requests with a call at all, by how they ended: good, failed";
    Delta TRACE_BROKEN ["at", "service", "route", "kind", "component", "ended"] "{request}" "spans" "requests with a call that failed, by how they ended: good, failed";

    Gauge NGINX_TIME ["at", "phase"] "s" "the access log of nginx, $request_time, $upstream_*_time" "the 95th percentile of a second by phase: request, connect, header, response";
    Delta NGINX_ERRORS ["at", "status"] "{request}" "the access log of nginx, $status" "answers by status, from 400 on";
    Delta LOG_FAILURES ["at", "class"] "{line}" "the error log of nginx, the HTTP log of HAProxy, the slow log of PHP-FPM" "lines that tell of a failure, by class";
    Delta LOG_FAILURES_OF ["at", "class", "of"] "{line}" "the error log of nginx, the HTTP log of HAProxy, the slow log of PHP-FPM" "the same by the upstream, server, zone of a limit or place in a script that it names";

    Gauge PROBE_ANSWER_TIME ["at"] "s" "monotonic clock" "time that a part took to tell of itself";
    Gauge PROBE_INTERVAL [] "s" "monotonic clock" "time since the readings before";
    Gauge PROBE_CPU_TIME ["at"] "s" "thread CPU clock" "CPU time the readings before took; with at, what asking that part took";
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_metric_is_defined_once() {
        let names: BTreeSet<_> = all().iter().map(|definition| definition.metric).collect();
        assert_eq!(names.len(), all().len());
    }
}
