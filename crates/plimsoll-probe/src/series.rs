//! Every series this crate writes: name, labels, unit, kind, meaning. The reference in the docs is generated from
//! it.

use plimsoll_model::metric;
use plimsoll_model::reading::{SeriesInfo, SeriesKind};

/// Definition of a metric.
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
    /// Its meaning.
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

/// All definitions, grouped by subject.
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
    Gauge CPU_BUSY [] "1" "/proc/stat" "share of all CPUs that was busy: not idle, waiting for I/O or stolen";
    Gauge BROWSER_CPU [] "1" "/proc/PID/stat" "share of all CPUs that the browser of the run used, all its processes together";
    Gauge CPU_SOFTIRQ ["cpu.logical_number"] "1" "/proc/stat" "share of one CPU spent in soft interrupts";
    Gauge CPU_COUNT [] "{cpu}" "/proc/stat" "CPUs of the machine";
    Gauge RUN_QUEUE [] "{thread}" "/proc/loadavg" "threads that are running or runnable, including the probe's own";
    Gauge LOAD_1M [] "{thread}" "/proc/loadavg" "load average over one minute";
    Delta PROCESSES_CREATED [] "{process}" "/proc/stat" "processes and threads created";
    Gauge PRESSURE ["resource", "stall"] "1" "/proc/pressure" "share of the second in which some or all (full) tasks stalled for cpu, memory or io";
    Gauge CPU_CLOCK [] "1" "/sys/devices/system/cpu/cpuN/cpufreq" "mean clock frequency of the CPUs as a share of their nominal frequency, every ten seconds";
    Delta CPU_SLOWED [] "{occurrence}" "/sys/devices/system/cpu/cpuN/thermal_throttle" "times the processor throttled itself because of temperature or power";

    Gauge MEMORY_USAGE ["system.memory.state"] "By" "/proc/meminfo" "memory by state: used, free, buffers, cached";
    Gauge MEMORY_AVAILABLE [] "By" "/proc/meminfo" "memory available to programs without swapping";
    Gauge MEMORY_LIMIT [] "By" "/proc/meminfo" "memory of the machine";
    Gauge PAGING_USAGE ["system.paging.state"] "By" "/proc/meminfo" "swap by state: used, free";
    Delta PAGING_OPERATIONS ["system.paging.direction"] "{operation}" "/proc/vmstat" "pages swapped in and out";
    Delta PAGING_FAULTS ["system.paging.fault.type"] "{fault}" "/proc/vmstat" "page faults of the machine that waited for a disk (major)";
    Delta OOM_KILLS [] "{process}" "/proc/vmstat" "processes killed by the OOM killer, anywhere on the machine";

    Delta DISK_IO ["system.device", "disk.io.direction"] "By" "/proc/diskstats" "bytes read and written";
    Delta DISK_OPERATIONS ["system.device", "disk.io.direction"] "{operation}" "/proc/diskstats" "operations completed";
    Gauge DISK_UTILIZATION ["system.device"] "1" "/proc/diskstats" "share of the second in which the device had work";
    Gauge DISK_AWAIT ["system.device"] "s" "/proc/diskstats" "mean time of the operations that completed";
    Delta DISK_FLUSHES ["system.device"] "{operation}" "/proc/diskstats" "flushes completed, from Linux 5.5";
    Gauge DISK_FLUSH_TIME ["system.device"] "s" "/proc/diskstats" "mean time of the flushes that completed";
    Gauge FILESYSTEM_FREE ["system.filesystem.mountpoint"] "1" "statvfs" "share of a local file system that is free for users other than root";
    Gauge FILESYSTEM_INODES_FREE ["system.filesystem.mountpoint"] "1" "statvfs" "share of its inodes that is free";

    Delta NETWORK_IO ["network.interface.name", "network.io.direction"] "By" "/proc/net/dev" "bytes received and sent";
    Delta NETWORK_PACKETS ["network.interface.name", "network.io.direction"] "{packet}" "/proc/net/dev" "packets received and sent";
    Delta NETWORK_DROPPED ["network.interface.name", "network.io.direction"] "{packet}" "/proc/net/dev" "packets dropped";
    Delta NETWORK_ERRORS ["network.interface.name", "network.io.direction"] "{error}" "/proc/net/dev" "packets in error";
    Gauge NETWORK_SPEED ["network.interface.name"] "By/s" "/sys/class/net/NAME/speed" "capacity of the link in each direction, where it is reported";
    Delta SOFTNET_DROPPED [] "{packet}" "/proc/net/softnet_stat" "packets dropped because the soft interrupt's backlog was full";
    Delta SOFTNET_SQUEEZED [] "{occurrence}" "/proc/net/softnet_stat" "times the soft interrupt used up its budget with packets still queued";

    Gauge TCP_CONNECTIONS ["network.connection.state"] "{connection}" "sock_diag or /proc/net/tcp" "TCP sockets by state";
    Gauge TCP_IN_USE [] "{socket}" "/proc/net/sockstat" "TCP sockets in use, without those in TIME_WAIT";
    Gauge TCP_TIME_WAIT [] "{socket}" "/proc/net/sockstat" "TCP sockets in TIME_WAIT";
    Gauge TCP_MEMORY [] "By" "/proc/net/sockstat" "memory of TCP buffers";
    Gauge SOCKETS_IN_USE [] "{socket}" "/proc/net/sockstat" "sockets of any kind";
    Delta LISTEN_OVERFLOWS [] "{connection}" "/proc/net/netstat ListenOverflows" "connections dropped because an accept queue was full";
    Delta LISTEN_DROPS [] "{connection}" "/proc/net/netstat ListenDrops" "connections dropped by listeners for any reason, overflows included";
    Delta SYN_QUEUE_DROPS [] "{connection}" "/proc/net/netstat TCPReqQFullDrop" "SYNs dropped because the SYN queue was full";
    Delta SYN_COOKIES [] "{connection}" "/proc/net/netstat TCPReqQFullDoCookies" "SYNs answered by a cookie because the SYN queue was full";
    Delta SYN_RETRANSMITS [] "{segment}" "/proc/net/netstat TCPSynRetrans" "SYNs and SYN/ACKs retransmitted";
    Delta TCP_SEGMENTS_OUT [] "{segment}" "/proc/net/snmp OutSegs" "segments sent";
    Delta TCP_RETRANSMITS [] "{segment}" "/proc/net/snmp RetransSegs" "segments retransmitted";
    Delta TCP_TIMEOUTS [] "{occurrence}" "/proc/net/netstat TCPTimeouts" "retransmission timers that expired";
    Delta TIME_WAIT_OVERFLOWS [] "{socket}" "/proc/net/netstat TCPTimeWaitOverflow" "sockets that skipped TIME_WAIT because its table was full";
    Delta TCP_ACTIVE_OPENS [] "{connection}" "/proc/net/snmp ActiveOpens" "connections opened from here";
    Delta TCP_PASSIVE_OPENS [] "{connection}" "/proc/net/snmp PassiveOpens" "connections opened to here";
    Delta TCP_FAILED_OPENS [] "{connection}" "/proc/net/snmp AttemptFails" "connections that could not be opened";
    Delta TCP_MEMORY_PRESSURES [] "{occurrence}" "/proc/net/netstat TCPMemoryPressures" "times TCP came under memory pressure";
    Delta TCP_MEMORY_ABORTS [] "{connection}" "/proc/net/netstat TCPAbortOnMemory" "connections aborted for lack of TCP memory";
    Gauge TCP_MEMORY_LIMIT [] "By" "/proc/sys/net/ipv4/tcp_mem" "limit of the memory of TCP buffers";
    Gauge TIME_WAIT_LIMIT [] "{socket}" "/proc/sys/net/ipv4/tcp_max_tw_buckets" "limit of TCP sockets in TIME_WAIT";
    Gauge CONNTRACK_USED [] "{connection}" "/proc/sys/net/netfilter/nf_conntrack_count" "connections that the firewall tracks";
    Gauge CONNTRACK_LIMIT [] "{connection}" "/proc/sys/net/netfilter/nf_conntrack_max" "limit of tracked connections";

    Gauge LISTEN_QUEUE ["listener", "process"] "{connection}" "sock_diag or /proc/net/tcp" "connections waiting to be accepted, of the target's listeners and of any that is full";
    Gauge LISTEN_BACKLOG ["listener", "process"] "{connection}" "sock_diag; somaxconn without it" "length at which that accept queue is full";
    Gauge PORTS_USED ["destination", "process"] "{port}" "sock_diag or /proc/net/tcp" "local ports in use towards a destination, TIME_WAIT included; the highest of all local addresses";
    Gauge PORTS_TIME_WAIT ["destination", "process"] "{port}" "sock_diag or /proc/net/tcp" "of these, in TIME_WAIT";
    Gauge TCP_UNSENT [] "By" "sock_diag or /proc/net/tcp" "bytes in the send queues of the target's connections: not sent, or not acknowledged";
    Gauge PORTS_LIMIT [] "{port}" "/proc/sys/net/ipv4/ip_local_port_range" "local ports available for one destination";

    Gauge FILES_OPEN [] "{file_descriptor}" "/proc/sys/fs/file-nr" "open files of the machine";
    Gauge FILES_LIMIT [] "{file_descriptor}" "/proc/sys/fs/file-nr" "limit of open files of the machine";

    Delta PROCESS_CPU_TIME ["process", "cpu.mode"] "s" "/proc/PID/stat" "CPU time in user and system mode";
    Gauge PROCESS_CPU ["process", "pid", "comm"] "1" "/proc/PID/stat" "share of all CPUs; with pid and comm, of one process; with comm alone, of all of that name";
    Gauge PROCESS_MEMORY ["process", "pid", "comm"] "By" "/proc/PID/stat" "resident memory; with pid and comm, of one process";
    Gauge PROCESS_MEMORY_PSS ["process"] "By" "/proc/PID/smaps_rollup" "resident memory with shared pages counted once, every ten seconds";
    Gauge THREAD_WAITS ["process", "on"] "{thread}" "/proc/PID/task/TID/syscall, fd, mem; wchan where that cannot be read; sock_diag" "threads of the target by what they wait for at the moment of reading: running, lock, sleep, events, accept, clients, disk, pipe, child, sockets, other, or the server at the other end";
    Gauge PROCESS_THREADS ["process"] "{thread}" "/proc/PID/stat" "threads";
    Gauge PROCESS_COUNT ["process"] "{process}" "/proc" "processes, children included";
    Gauge PROCESS_FILES ["process", "pid", "comm"] "{file_descriptor}" "/proc/PID/fd" "open descriptors of the process closest to its limit; pid and comm name it";
    Gauge PROCESS_FILES_LIMIT ["process"] "{file_descriptor}" "/proc/PID/limits" "limit of the descriptors of that process";
    Delta PROCESS_SWITCHES ["process", "process.context_switch.type"] "{context_switch}" "/proc/PID/status" "context switches: voluntary, involuntary";
    Delta PROCESS_FAULTS ["process", "process.paging.fault_type"] "{fault}" "/proc/PID/stat" "page faults that waited for a disk (major)";
    Delta PROCESS_CPU_WAIT ["process"] "s" "/proc/PID/task/TID/schedstat" "time that runnable threads of busy processes waited for a CPU";
    Gauge THREAD_BUSIEST ["process", "tid", "comm"] "1" "/proc/PID/task/TID/schedstat" "share of one CPU used by the busiest thread; tid and comm name it";

    Gauge CGROUP_CPU_QUOTA ["cgroup", "process"] "{cpu}" "cpu.max; cpu.cfs_quota_us" "CPUs the cgroup may use";
    Delta CGROUP_CPU_PERIODS ["cgroup", "process"] "{period}" "cpu.stat nr_periods" "periods in which the cgroup ran";
    Delta CGROUP_CPU_THROTTLED ["cgroup", "process"] "{period}" "cpu.stat nr_throttled" "periods in which the cgroup used up its quota and was throttled";
    Delta CGROUP_CPU_THROTTLED_TIME ["cgroup", "process"] "s" "cpu.stat throttled_usec; throttled_time" "time for which it was throttled, summed over its CPUs";
    Gauge CGROUP_MEMORY ["cgroup", "process"] "By" "memory.current; memory.usage_in_bytes" "memory of the cgroup, page cache included";
    Gauge CGROUP_MEMORY_LIMIT ["cgroup", "process"] "By" "memory.max; memory.limit_in_bytes" "memory limit of the cgroup";
    Gauge CGROUP_MEMORY_INACTIVE ["cgroup", "process"] "By" "memory.stat inactive_file" "memory of the cgroup that can be reclaimed immediately";
    Delta CGROUP_MEMORY_HIGH ["cgroup", "process"] "{occurrence}" "memory.events high" "times the cgroup was throttled at memory.high";
    Delta CGROUP_MEMORY_AT_LIMIT ["cgroup", "process"] "{occurrence}" "memory.events max; memory.failcnt" "times the cgroup ran into its memory limit";
    Delta CGROUP_OOM_KILLS ["cgroup", "process"] "{process}" "memory.events oom_kill; memory.oom_control" "processes of the cgroup killed by the OOM killer";
    Gauge CGROUP_PIDS ["cgroup", "process"] "{process}" "pids.current" "processes and threads of the cgroup";
    Gauge CGROUP_PIDS_LIMIT ["cgroup", "process"] "{process}" "pids.max" "limit of processes and threads of the cgroup";
    Delta CGROUP_PIDS_REFUSED ["cgroup", "process"] "{process}" "pids.events max" "forks that failed at the limit of the cgroup";

    Gauge TARGET_IS_LOCAL [] "1" "sock_diag, /proc" "1 when the target runs on this machine; 0 when it runs on another one";
    Delta EDGE_REQUESTS [] "{request}" "/metrics of an edge" "requests started";
    Delta EDGE_SERVER_ANSWERS ["pool", "server"] "{answer}" "/metrics of an edge" "responses of a server";
    Delta EDGE_OWN_ANSWERS ["reason"] "{answer}" "/metrics of an edge" "responses generated by the edge";
    Delta EDGE_ANSWERS ["class"] "{answer}" "/metrics of an edge" "responses to clients by status class";
    Gauge EDGE_CONNECTIONS [] "{connection}" "/metrics of an edge" "connections of clients";
    Gauge EDGE_WAITING ["pool"] "{request}" "/metrics of an edge" "requests in the queue";
    Gauge EDGE_IN_FLIGHT ["pool", "server"] "{request}" "/metrics of an edge" "requests in flight at a server";
    Gauge EDGE_LIMIT ["pool", "server"] "{request}" "/metrics of an edge" "limit of requests in flight at a server";
    Delta EDGE_CACHE_HITS [] "{request}" "/metrics of an edge" "requests served from a fresh stored response";
    Delta EDGE_CACHE_STALE [] "{request}" "/metrics of an edge" "requests served from a stale stored response";
    Delta EDGE_CACHE_MISSES [] "{request}" "/metrics of an edge" "requests that no stored response could serve on its own";
    Delta EDGE_CACHE_COLLAPSED [] "{request}" "/metrics of an edge" "of these, requests that waited for another request's fetch";
    Delta EDGE_CACHE_PASSED [] "{request}" "/metrics of an edge" "requests that bypassed the cache";
    Delta EDGE_CACHE_EVICTIONS [] "{copy}" "/metrics of an edge" "stored responses evicted for lack of space";
    Gauge EDGE_CACHE_OBJECTS [] "{copy}" "/metrics of an edge" "stored responses";
    Gauge EDGE_CACHE_BYTES [] "By" "/metrics of an edge" "memory used by stored responses";

    Gauge SETTING ["at", "setting", "of", "file"] "{unit}" "INFO, stats, show stat, configuration files" "a setting of a component, and the file that sets it";
    Gauge NGINX_CONNECTIONS ["at", "state"] "{connection}" "nginx stub_status" "connections by state: active (all), reading, writing, waiting";
    Delta NGINX_ACCEPTED ["at"] "{connection}" "nginx stub_status accepts" "connections accepted";
    Delta NGINX_DROPPED ["at"] "{connection}" "nginx stub_status accepts - handled" "connections accepted and closed immediately because `worker_connections` were used up";
    Delta NGINX_REQUESTS ["at"] "{request}" "nginx stub_status requests" "requests started";
    Gauge HAPROXY_CONNECTIONS ["at"] "{connection}" "HAProxy CurrConns" "connections of clients";
    Gauge HAPROXY_CONNECTIONS_LIMIT ["at"] "{connection}" "HAProxy Maxconn" "limit of client connections";
    Gauge HAPROXY_IDLE ["at"] "1" "HAProxy Idle_pct" "share of the time that its threads were idle";
    Gauge HAPROXY_SESSIONS ["at", "proxy", "server"] "{session}" "HAProxy scur" "sessions";
    Gauge HAPROXY_SESSIONS_LIMIT ["at", "proxy", "server"] "{session}" "HAProxy slim" "session limit of frontends and servers that have one";
    Gauge HAPROXY_QUEUE ["at", "proxy", "server"] "{request}" "HAProxy qcur" "requests that wait for a server";
    Delta HAPROXY_SESSIONS_BEGUN ["at", "proxy", "server"] "{session}" "HAProxy stot" "sessions started";
    Delta HAPROXY_CONNECT_ERRORS ["at", "proxy", "server"] "{connection}" "HAProxy econ" "connections to servers that failed";
    Delta HAPROXY_ANSWER_ERRORS ["at", "proxy", "server"] "{answer}" "HAProxy eresp" "responses that were truncated or not HTTP";
    Delta HAPROXY_RETRIES ["at", "proxy", "server"] "{connection}" "HAProxy wretr" "retried connections to servers";
    Delta HAPROXY_CLIENT_ABORTS ["at", "proxy", "server"] "{request}" "HAProxy cli_abrt" "transfers aborted by clients";
    Delta HAPROXY_REQUESTS ["at", "proxy", "server"] "{request}" "HAProxy req_tot" "HTTP requests received, of frontends";
    Delta HAPROXY_SERVER_ERRORS ["at", "proxy", "server"] "{answer}" "HAProxy hrsp_5xx" "responses with status 5xx";
    Gauge HAPROXY_TIME ["at", "proxy", "server", "phase"] "s" "HAProxy qtime, ctime, rtime, ttime" "mean time of the last 1,024 requests in a phase: queue, connect, answer (response), total";
    Gauge HAPROXY_WEIGHT ["at", "proxy", "server"] "1" "HAProxy weight, bck" "weight of a server; 0 for a backup server";
    Gauge REDIS_CLIENTS ["at"] "{client}" "Redis INFO connected_clients" "clients connected";
    Gauge REDIS_CLIENTS_BLOCKED ["at"] "{client}" "Redis INFO blocked_clients" "clients blocked in a command";
    Delta REDIS_REJECTED ["at"] "{connection}" "Redis INFO rejected_connections" "connections refused at `maxclients`";
    Delta REDIS_COMMANDS ["at"] "{command}" "Redis INFO total_commands_processed" "commands executed";
    Delta REDIS_COMMAND_CALLS ["at", "command"] "{command}" "Redis INFO cmdstat_…: calls" "executions of a command";
    Delta REDIS_COMMAND_TIME ["at", "command"] "s" "Redis INFO cmdstat_…: usec" "time that the main thread spent on a command";
    Delta REDIS_EVICTED ["at"] "{key}" "Redis INFO evicted_keys" "keys evicted at `maxmemory`";
    Delta REDIS_HITS ["at"] "{lookup}" "Redis INFO keyspace_hits" "lookups that found their key";
    Delta REDIS_MISSES ["at"] "{lookup}" "Redis INFO keyspace_misses" "lookups that did not find their key";
    Gauge REDIS_MEMORY ["at"] "By" "Redis INFO used_memory" "memory in use";
    Delta REDIS_OUT_OF_MEMORY ["at"] "{command}" "Redis INFO errorstat_OOM" "commands refused because memory was full";
    Delta REDIS_MAIN_THREAD ["at"] "s" "Redis INFO used_cpu_user_main_thread, used_cpu_sys_main_thread" "CPU time of the thread that executes commands";
    Gauge REDIS_FORK ["at"] "s" "Redis INFO latest_fork_usec" "time for which the latest fork blocked it";
    Delta REDIS_FSYNC_DELAYED ["at"] "{write}" "Redis INFO aof_delayed_fsync" "writes of the append-only file that waited for the disk";
    Gauge MEMCACHED_CONNECTIONS ["at"] "{connection}" "memcached stats curr_connections" "connections open";
    Delta MEMCACHED_REFUSED ["at"] "{connection}" "memcached stats rejected_connections + listen_disabled_num" "connections refused, and times it stopped accepting, at its connection limit";
    Delta MEMCACHED_EVICTIONS ["at"] "{item}" "memcached stats evictions" "items evicted for lack of memory";
    Gauge MEMCACHED_MEMORY ["at"] "By" "memcached stats bytes" "memory of its items";
    Delta MEMCACHED_HITS ["at"] "{lookup}" "memcached stats get_hits" "lookups that found their item";
    Delta MEMCACHED_MISSES ["at"] "{lookup}" "memcached stats get_misses" "lookups that did not find their item";

    Gauge DATABASE_SIZE ["at"] "By" "pg_database_size(); INNODB_SYS_TABLESPACES" "size of a database's data and indexes, read once";
    Delta DATABASE_SESSIONS_BEGUN ["at"] "{session}" "pg_stat_database sessions, from version 14; Connections" "sessions started by clients";
    Gauge DATABASE_SESSION_START ["at"] "s" "the probe's own log-in" "time to open a session: the shortest of the probe's own log-ins";
    Gauge POSTGRES_SESSIONS ["at", "state"] "{session}" "pg_stat_activity" "sessions of clients by state: active, idle, idle in transaction; all, with the probe's own";
    Gauge POSTGRES_REFUSED ["at"] "1" "SQLSTATE 53300" "1 when the probe was rejected because all sessions were in use";
    Gauge POSTGRES_ACTIVE ["at", "wait", "event"] "{session}" "pg_stat_activity wait_event_type, wait_event" "active sessions by the event type they wait for: none, lock, lwlock, io, client; or by a single event";
    Gauge POSTGRES_RUNNING ["at", "statement"] "{session}" "pg_stat_activity query" "active sessions by statement, without its values";
    Gauge POSTGRES_WAITING ["at", "statement"] "{session}" "pg_stat_activity query" "sessions that wait for a lock, by statement";
    Gauge POSTGRES_BLOCKING ["at", "state", "statement"] "{session}" "pg_blocking_pids" "sessions blocked by others, by state and statement of the blocking session";
    Gauge POSTGRES_IDLE_IN_TRANSACTION ["at"] "s" "pg_stat_activity state_change" "time for which the oldest idle transaction has been idle";
    Gauge POSTGRES_LOCKS_WAITED ["at"] "{lock}" "pg_locks" "lock requests that wait";
    Delta POSTGRES_BLOCKS_READ ["at"] "{block}" "pg_stat_database blks_read" "blocks read from files";
    Delta POSTGRES_BLOCKS_HIT ["at"] "{block}" "pg_stat_database blks_hit" "blocks found in the buffers";
    Delta POSTGRES_SCANS ["at", "table"] "{scan}" "pg_stat_user_tables seq_scan" "sequential scans of a table";
    Delta POSTGRES_ROWS_SCANNED ["at", "table"] "{row}" "pg_stat_user_tables seq_tup_read" "rows read by these scans";
    Delta POSTGRES_TEMPORARY ["at"] "By" "pg_stat_database temp_bytes" "written to temporary files by sorts and hashes";
    Delta POSTGRES_WAL ["at"] "By" "pg_stat_wal wal_bytes" "written to the write-ahead log, from version 14";
    Delta POSTGRES_WAL_FULL ["at"] "{occurrence}" "pg_stat_wal wal_buffers_full" "times that the buffers of the write-ahead log were full";
    Delta POSTGRES_CHECKPOINTS_TIMED ["at"] "{checkpoint}" "pg_stat_bgwriter, pg_stat_checkpointer" "checkpoints started by their timer";
    Delta POSTGRES_CHECKPOINTS_REQUESTED ["at"] "{checkpoint}" "pg_stat_bgwriter, pg_stat_checkpointer" "checkpoints requested before that, because of the write volume";
    Delta POSTGRES_DEADLOCKS ["at"] "{deadlock}" "pg_stat_database deadlocks" "deadlocks detected and resolved";
    Delta POSTGRES_COMMITS ["at"] "{transaction}" "pg_stat_database xact_commit" "transactions committed";
    Delta POSTGRES_ROLLBACKS ["at"] "{transaction}" "pg_stat_database xact_rollback" "transactions rolled back";
    Gauge MYSQL_SESSIONS ["at"] "{session}" "Threads_connected" "sessions";
    Gauge MYSQL_SESSIONS_RUNNING ["at"] "{session}" "Threads_running" "sessions that execute a statement, including the probe's own";
    Gauge MYSQL_COLLECTOR_REFUSED ["at"] "1" "error 1040" "1 when the probe was rejected because all sessions were in use";
    Delta MYSQL_REFUSED ["at"] "{connection}" "Connection_errors_max_connections" "connections refused at `max_connections`";
    Delta MYSQL_STATEMENTS ["at"] "{statement}" "Questions" "statements executed";
    Gauge MYSQL_RUNNING ["at", "statement"] "{session}" "information_schema.PROCESSLIST" "sessions by the statement they execute, without its values";
    Gauge MYSQL_BLOCKING ["at", "statement"] "{session}" "information_schema.INNODB_LOCK_WAITS; data_lock_waits" "sessions that wait for row locks, by the statement of the blocking session; empty if that session is idle";
    Delta MYSQL_TEMPORARY_TABLES ["at"] "{table}" "Created_tmp_tables" "temporary tables created, including the probe's own";
    Delta MYSQL_TEMPORARY_ON_DISK ["at"] "{table}" "Created_tmp_disk_tables" "of these, on disk";
    Delta MYSQL_SORT_PASSES ["at"] "{pass}" "Sort_merge_passes" "merge passes of sorts whose buffer was too small";
    Delta MYSQL_SCANS ["at"] "{scan}" "Select_scan" "statements that scanned a whole table";
    Delta MYSQL_ROWS_SCANNED ["at"] "{row}" "Handler_read_rnd_next" "rows read in sequence, mostly by table scans";
    Gauge MYSQL_ROW_LOCKS_WAITED ["at"] "{session}" "Innodb_row_lock_current_waits" "sessions that wait for a row lock";
    Delta MYSQL_ROW_LOCK_TIME ["at"] "s" "Innodb_row_lock_time" "time that sessions waited for row locks, counted at the end of each wait";
    Delta MYSQL_ROW_LOCK_WAITS ["at"] "{wait}" "Innodb_row_lock_waits" "times that a session waited for a row lock";
    Delta MYSQL_POOL_READS ["at"] "{page}" "Innodb_buffer_pool_reads" "pages read from files because they were not in the buffer pool";
    Delta MYSQL_POOL_REQUESTS ["at"] "{page}" "Innodb_buffer_pool_read_requests" "pages requested from the buffer pool";
    Delta MYSQL_POOL_WAITS ["at"] "{wait}" "Innodb_buffer_pool_wait_free" "times that a session waited for a free page";
    Delta MYSQL_LOG_WAITS ["at"] "{wait}" "Innodb_log_waits" "times that a session waited because the buffer of the redo log was full";
    Delta MYSQL_DEADLOCKS ["at"] "{deadlock}" "Innodb_deadlocks" "deadlocks detected and resolved";
    Gauge MONGO_TICKETS ["at", "kind"] "{operation}" "serverStatus wiredTiger.concurrentTransactions, queues.execution" "free tickets of the storage engine, by kind: read, write";
    Gauge MONGO_QUEUE ["at"] "{operation}" "serverStatus globalLock.currentQueue" "operations that wait for a lock or a ticket";
    Gauge MONGO_ACTIVE ["at"] "{client}" "serverStatus globalLock.activeClients" "clients with an operation that runs or waits";
    Gauge MONGO_CONNECTIONS ["at"] "{connection}" "serverStatus connections.current" "connections";
    Delta MONGO_OPERATIONS ["at", "kind"] "{operation}" "serverStatus opcounters" "operations by kind";
    Delta MONGO_PAGES_READ ["at"] "{page}" "serverStatus wiredTiger.cache" "pages read from files because they were not in the cache";

    Gauge PHP_FPM_PROCESSES ["at", "state"] "{process}" "PHP-FPM active, idle, total processes" "processes by state: active, idle, all";
    Gauge PHP_FPM_QUEUE ["at"] "{request}" "PHP-FPM listen queue" "requests that wait for a process; always 0 for a Unix socket";
    Delta PHP_FPM_REQUESTS ["at"] "{request}" "PHP-FPM accepted conn" "requests started";
    Delta PHP_FPM_AT_LIMIT ["at"] "{occurrence}" "PHP-FPM max children reached" "times that `pm.max_children` was reached";
    Delta PHP_FPM_SLOW ["at"] "{request}" "PHP-FPM slow requests" "requests that took longer than `request_slowlog_timeout`";
    Gauge PHP_FPM_SILENT ["at"] "1" "PHP-FPM status page" "1 when no process was free to serve the status page";
    Delta NODE_ACTIVE ["at"] "s" "Node eventLoopUtilization" "time that the event loop was not idle";
    Gauge NODE_DELAY ["at"] "s" "Node, a timer" "longest delay of a 20 ms timer by the event loop since the last sample";
    Gauge NODE_MEMORY ["at"] "By" "Node memoryUsage" "resident memory";
    Gauge NODE_POOL_WAIT ["at"] "s" "Node, a task of libuv's pool" "longest wait of a task, started every 100 ms, for a thread of the pool since the last sample";
    Gauge NODE_POOL_THREADS ["at"] "{thread}" "Node UV_THREADPOOL_SIZE" "threads of libuv's pool";
    Gauge POOL_USED ["at", "to", "pool"] "{connection}" "Jolokia; a metrics page in the Prometheus format; Node http.Agent" "connections in use of a connection pool, by what it connects to: database, http";
    Gauge POOL_LIMIT ["at", "to", "pool"] "{connection}" "Jolokia; a metrics page in the Prometheus format; Node http.Agent" "size limit of a connection pool";
    Gauge POOL_WAITING ["at", "to", "pool"] "{request}" "Jolokia; a metrics page in the Prometheus format; Node http.Agent" "requests that wait for a connection of a connection pool";
    Delta POOL_WAITS ["at", "to", "pool"] "{request}" "a metrics page in the Prometheus format" "times that a request waited for a connection of a connection pool";
    Gauge PYTHON_THREADS ["at", "state"] "{thread}" "py-spy dump" "Python threads by state in one sample: active, idle; lock for the thread that holds the interpreter's lock";
    Gauge PYTHON_CALLS ["at", "of"] "{thread}" "py-spy dump" "active Python threads by the innermost call of the application's own code, in one sample";
    Gauge DOTNET_QUEUE ["at"] "{work_item}" "a metrics page in the Prometheus format" "tasks that wait for a thread of .NET's thread pool";
    Gauge DOTNET_THREADS ["at"] "{thread}" "a metrics page in the Prometheus format" "threads of .NET's thread pool";
    Gauge PUMA_BACKLOG ["at"] "{request}" "Puma stats backlog" "requests that wait for a thread, in all workers";
    Gauge PUMA_CAPACITY ["at"] "{request}" "Puma stats pool_capacity" "requests that could be accepted immediately, in all workers";
    Delta PUMA_REQUESTS ["at"] "{request}" "Puma stats requests_count" "requests handled";

    Delta JVM_GC_TIME ["at", "kind"] "s" "hsperfdata sun.gc.collector.N.time; Jolokia CollectionTime" "time that garbage collection paused the JVM, by kind: young, full, concurrent";
    Delta JVM_GC_COUNT ["at", "kind"] "{collection}" "hsperfdata sun.gc.collector.N.invocations; Jolokia CollectionCount" "garbage collections by kind";
    Gauge JVM_GC_PAUSE ["at"] "s" "hsperfdata sun.gc.collector.N.lastEntryTime, lastExitTime" "longest garbage collection pause in this second, as far as reported: the last one, or the mean";
    Delta JVM_STOPPED ["at"] "s" "hsperfdata sun.rt.safepointTime" "time in safepoints, in which all threads are stopped";
    Gauge JVM_OLD_USED ["at"] "By" "hsperfdata sun.gc.generation.1.space.0.used" "memory of the old generation that is used";
    Gauge JVM_OLD_AFTER ["at"] "By" "hsperfdata sun.gc.generation.1.space.0.used; Jolokia CollectionUsage" "the same after the last collection of the whole heap";
    Gauge JVM_OLD_LIMIT ["at"] "By" "hsperfdata sun.gc.generation.1.maxCapacity" "size limit of the old generation";
    Gauge JVM_THREADS ["at"] "{thread}" "hsperfdata java.threads.live" "threads";
    Gauge JVM_POOL ["at", "pool"] "{thread}" "/proc/PID/task/TID/comm" "threads of a pool, by their name without the number";
    Gauge JVM_POOL_BUSY ["at", "pool"] "{thread}" "Jolokia currentThreadsBusy, busyThreads" "threads of a pool that handle a request";
    Gauge JVM_POOL_LIMIT ["at", "pool"] "{thread}" "Jolokia maxThreads" "limit of the threads of a pool";
    Gauge JVM_WAITING ["at"] "{connection}" "sock_diag" "connections not accepted yet, or with unread bytes";
    Gauge UWSGI_PLACES ["at"] "{request}" "uWSGI stats workers, cores" "requests that the workers can handle concurrently";
    Gauge UWSGI_BUSY ["at"] "{request}" "uWSGI stats in_request, status" "requests in progress in the workers";
    Gauge UWSGI_QUEUE ["at"] "{connection}" "uWSGI stats sockets queue" "connections that wait until a worker accepts them; always 0 for a Unix socket";
    Delta UWSGI_REQUESTS ["at"] "{request}" "uWSGI stats workers requests" "requests handled";
    Delta UWSGI_HARAKIRI ["at"] "{worker}" "uWSGI stats workers harakiri_count" "workers killed because a request took too long";
    Gauge GO_GC_SHARE ["at"] "1" "go_cpu_classes_*; memstats GCCPUFraction" "garbage collector's share of the CPU that the program may use";
    Delta GO_GC_COUNT ["at"] "{collection}" "go_gc_duration_seconds_count; memstats NumGC" "collections";
    Gauge GO_SCHEDULER_DELAY ["at"] "s" "go_sched_latencies_seconds" "time that runnable goroutines waited for a thread, 99th percentile of this second";
    Gauge GO_GOROUTINES ["at"] "{goroutine}" "go_goroutines" "goroutines";
    Gauge GO_GOROUTINES_AT ["at", "of"] "{goroutine}" "/debug/pprof/goroutine" "goroutines by the innermost function of the application's own code";
    Gauge GO_HEAP ["at"] "By" "go_memstats_heap_alloc_bytes; memstats HeapAlloc" "memory of the heap that is used";

    Delta STATEMENT_CALLS ["at", "statement"] "{statement}" "pg_stat_statements; events_statements_summary_by_digest" "executions of a statement";
    Delta STATEMENT_TIME ["at", "statement"] "s" "total_exec_time; SUM_TIMER_WAIT" "execution time of a statement, summed over all sessions";
    Delta STATEMENT_ROWS ["at", "statement"] "{row}" "rows; SUM_ROWS_SENT, SUM_ROWS_AFFECTED" "rows that it returned or changed";
    Delta STATEMENT_EXAMINED ["at", "statement"] "{row}" "SUM_ROWS_EXAMINED" "rows that MariaDB examined for it";
    Delta STATEMENT_SCANS ["at", "statement"] "{statement}" "SUM_NO_INDEX_USED" "executions without an index in MariaDB";
    Delta STATEMENT_SORTED ["at", "statement"] "{row}" "SUM_SORT_ROWS" "rows that MariaDB sorted for it";
    Delta STATEMENT_ON_DISK ["at", "statement"] "{table}" "SUM_CREATED_TMP_DISK_TABLES" "temporary tables that MariaDB wrote to disk for it";
    Delta STATEMENT_BLOCKS ["at", "statement"] "{block}" "shared_blks_hit, shared_blks_read" "blocks that PostgreSQL accessed for it";
    Delta STATEMENT_SPILT ["at", "statement"] "By" "temp_blks_written" "written to temporary files by its sorts and hashes in PostgreSQL";
    Gauge STATEMENT_PLAN ["at", "statement", "plan"] "1" "EXPLAIN" "cost estimated by PostgreSQL's planner, or rows estimated by MariaDB's; the plan without its values";
    Gauge STATEMENT_WITH_INDEX ["at", "statement", "index"] "1" "HypoPG, EXPLAIN" "cost that PostgreSQL's planner would estimate if this index existed";

    Gauge FIGURES_LEVEL ["at", "name", "of"] "1" "a metrics page in the Prometheus format; StatsD; metrics over OTLP" "a gauge of the application, with its own labels in `of`: a selected one of a metrics page, or one that was received";
    Delta FIGURES_INCREASE ["at", "name", "of"] "1" "a metrics page in the Prometheus format; StatsD; metrics over OTLP" "a counter of the application, with its own labels in `of`: a selected one of a metrics page, or one that was received";
    Gauge FIGURES_LIMIT ["at", "name", "of"] "1" "`gauges` of a plan" "the limit that the plan gives a gauge of the application, with its own labels in `of`";
    Delta STATSD_LINES ["at"] "{line}" "StatsD over UDP" "lines received";
    Delta STATSD_LINES_LOST ["at"] "{line}" "StatsD over UDP" "of these, lines left out: invalid ones, and those of too many meters";
    Delta STATSD_DROPPED ["at"] "{datagram}" "/proc/net/udp" "datagrams that the kernel dropped because they were not read in time";
    Gauge PGBOUNCER_CLIENTS ["at", "pool", "state"] "{client}" "SHOW POOLS cl_active, cl_waiting" "clients by pool (database/role) and state: active, waiting";
    Gauge PGBOUNCER_SESSIONS ["at", "pool", "state"] "{session}" "SHOW POOLS sv_active, sv_idle, sv_used" "sessions in the database by pool and state: active, idle";
    Gauge PGBOUNCER_WAIT ["at", "pool"] "s" "SHOW POOLS maxwait, maxwait_us" "wait of the client that has waited longest";
    Delta PGBOUNCER_WAIT_TIME ["at", "database"] "s" "SHOW STATS total_wait_time" "time that clients waited for a session";
    Delta PGBOUNCER_TRANSACTIONS ["at", "database"] "{transaction}" "SHOW STATS total_xact_count" "transactions";
    Gauge APACHE_WORKERS ["at", "state"] "{worker}" "mod_status BusyWorkers, IdleWorkers" "workers by state: busy, without the probe's own; idle";
    Delta APACHE_REQUESTS ["at"] "{request}" "mod_status Total Accesses" "requests handled";
    Gauge APACHE_SILENT ["at"] "1" "mod_status" "1 when no worker was free to serve the status page";
    Gauge GUNICORN_PLACES ["at"] "{request}" "/proc/PID/task/PID/children, command line" "requests that the workers can handle concurrently: workers times threads";
    Gauge GUNICORN_TAKEN ["at"] "{connection}" "sock_diag" "connections that workers have accepted";
    Gauge GUNICORN_WAITING ["at"] "{connection}" "sock_diag" "connections that wait until a worker accepts them";
    Gauge VARNISH_THREADS ["at"] "{thread}" "varnishstat MAIN.threads" "threads that handle requests";
    Gauge VARNISH_QUEUE ["at"] "{request}" "varnishstat MAIN.thread_queue_len" "connections and requests that wait for a thread";
    Delta VARNISH_AT_LIMIT ["at"] "{occurrence}" "varnishstat MAIN.threads_limited" "times that the thread limit was reached";
    Delta VARNISH_DROPPED ["at"] "{request}" "varnishstat MAIN.sess_dropped, MAIN.req_dropped" "connections and requests that were dropped because the queue was full";
    Delta VARNISH_REQUESTS ["at"] "{request}" "varnishstat MAIN.client_req" "requests";
    Delta VARNISH_HITS ["at"] "{lookup}" "varnishstat MAIN.cache_hit" "cache lookups that found an object";
    Delta VARNISH_MISSES ["at"] "{lookup}" "varnishstat MAIN.cache_miss" "cache lookups that found none";
    Delta VARNISH_NUKED ["at"] "{object}" "varnishstat MAIN.n_lru_nuked" "objects evicted to make room";

    Delta TRACE_SPANS ["at"] "{span}" "spans over OTLP" "spans received";
    Delta TRACE_SPANS_LOST ["at"] "{span}" "spans over OTLP" "of these, those dropped for lack of space, or that belong to no request";
    Gauge TRACE_CLOCK ["at", "service"] "s" "spans over OTLP, CLOCK_REALTIME" "shortest time from the end of a span, by its service's clock, to its arrival, by this machine's clock: a negative value means that the service's clock is ahead by at least that much";
    Delta TRACE_REQUESTS ["at", "service", "route"] "{request}" "spans of kind SERVER and CONSUMER" "traced requests";
    Delta TRACE_FAILED ["at", "service", "route"] "{request}" "status; http.response.status_code" "of these, requests that failed through the service's fault";
    Delta TRACE_TIME ["at", "service", "route"] "s" "spans of kind SERVER and CONSUMER" "duration of these requests";
    Delta TRACE_QUERIES ["at", "service", "route"] "{statement}" "db.query.text; db.statement" "database statements that they executed, without BEGIN, COMMIT and the like";
    Delta TRACE_QUERY_FORMS ["at", "service", "route"] "{statement}" "db.query.text; db.statement" "the same, with statements of one form counted once for each request";
    Delta TRACE_REPEATED ["at", "service", "route", "statement"] "{statement}" "db.query.text; db.statement" "executions of statements that a request repeats";
    Delta TRACE_HELD ["at", "service", "route"] "s" "BEGIN to COMMIT or ROLLBACK" "time that transactions were open";
    Delta TRACE_HELD_REMOTE ["at", "service", "route"] "s" "spans of kind CLIENT between these" "of this, time spent waiting for another service";
    Delta TRACE_CALLS ["at", "service", "route", "kind", "component"] "{call}" "spans" "calls by kind (itself, database, connecting, cache, http, rpc, messaging, step) and component";
    Delta TRACE_OWN_TIME ["at", "service", "route", "kind", "component"] "s" "spans" "time of these in which none of their child spans ran";
    Delta TRACE_SHARED_TIME ["at", "service", "route", "kind", "component"] "s" "spans" "the same, with each moment divided among all calls that ran in it";
    Delta TRACE_CALLS_FAILED ["at", "service", "route", "kind", "component"] "{call}" "status; http.response.status_code" "calls that failed";
    Delta TRACE_REFUSED ["at", "service", "route", "kind", "component", "status"] "{call}" "http.response.status_code; rpc.grpc.status_code" "calls that were temporarily refused: 429, 503, and their counterparts in gRPC";
    Delta TRACE_REACHED ["at", "service", "route", "kind", "component", "ended"] "{request}" "spans" "requests with such a call, by how they ended: good, failed";
    Delta TRACE_BROKEN ["at", "service", "route", "kind", "component", "ended"] "{request}" "spans" "requests with such a call that failed, by how they ended: good, failed";

    Gauge NGINX_TIME ["at", "phase"] "s" "the access log of nginx, $request_time, $upstream_*_time" "95th percentile of a second by phase: request, connect, header, response";
    Delta NGINX_ERRORS ["at", "status"] "{request}" "the access log of nginx, $status" "responses by status, from 400 on";
    Delta LOG_FAILURES ["at", "class"] "{line}" "the error log of nginx, the HTTP log of HAProxy, the slow log of PHP-FPM" "lines that report a failure, by class";
    Delta LOG_FAILURES_OF ["at", "class", "of"] "{line}" "the error log of nginx, the HTTP log of HAProxy, the slow log of PHP-FPM" "the same, by the upstream, server, limit zone or script line that the log line names";

    Gauge PROBE_ANSWER_TIME ["at"] "s" "monotonic clock" "time that a component took to respond to a scrape";
    Gauge PROBE_INTERVAL [] "s" "monotonic clock" "time since the previous readings";
    Gauge PROBE_CPU_TIME ["at"] "s" "thread CPU clock" "CPU time of the previous readings; with at, of scraping that component";
    Gauge CLOCK_OFFSET [] "s" "round trips between the agent and its reader" "how far the clock of a machine that an agent watches is ahead of the generator's";
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use plimsoll_model::component::ComponentKind;

    use super::*;

    #[test]
    fn every_metric_is_defined_once() {
        let names: BTreeSet<_> = all().iter().map(|definition| definition.metric).collect();
        assert_eq!(names.len(), all().len());
    }

    /// Metrics of components that several technologies write.
    const SHARED: [&str; 7] = [
        "plimsoll.part.",
        "plimsoll.database.",
        "plimsoll.statement.",
        "plimsoll.pool.",
        "plimsoll.log.",
        "plimsoll.probe.",
        "plimsoll.figures.",
    ];

    #[test]
    fn every_metric_of_a_component_belongs_to_a_technology() {
        let mut kinds = BTreeSet::new();
        for definition in all() {
            let metric = definition.metric;
            let kind = ComponentKind::of_metric(metric);
            let is_shared = SHARED.iter().any(|begin| metric.starts_with(begin));
            let is_own = definition.labels.contains(&"at") && !is_shared;
            assert_eq!(kind.is_some(), is_own, "{metric}");
            kinds.extend(kind);
        }
        for kind in ComponentKind::ALL {
            let shares = kind.is_log() && *kind != ComponentKind::NginxAccessLog;
            // They have those of the machine that they show.
            let shows_machine = [
                ComponentKind::Cadvisor,
                ComponentKind::NodeExporter,
                ComponentKind::Telegraf,
            ];
            let has_own = !shares && !shows_machine.contains(kind);
            assert_eq!(kinds.contains(kind), has_own, "{}", kind.name());
        }
    }
}
