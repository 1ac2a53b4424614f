//! The catalogue of ready-made knobs: one row for each setting, with what is known of it without looking at a machine.
//!
//! Names, defaults and limits are those of the programs' documentation. A row says nothing of where the setting is
//! written; the reader of its technology finds that.

use plimsoll_model::component::ComponentKind;

use super::amount::{Amount, KnobLevels};

/// How a knob is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobMeans {
    /// A line of a configuration file, and a reload.
    File,
    /// A line of a configuration file, and a restart.
    FileAndRestart,
    /// The program's own interface, while it runs.
    Runtime,
    /// A variable of its environment, or its command line, and a restart.
    Environment,
    /// A setting of the kernel.
    Kernel,
}

impl KnobMeans {
    /// Whether the program is restarted for it.
    pub const fn needs_restart(self) -> bool {
        matches!(self, Self::FileAndRestart | Self::Environment)
    }

    /// In words, for the reference.
    pub const fn words(self) -> &'static str {
        match self {
            Self::File => "file, reload",
            Self::FileAndRestart => "file, restart",
            Self::Runtime => "at run time",
            Self::Environment => "environment or command line, restart",
            Self::Kernel => "sysctl",
        }
    }
}

/// A ready-made knob.
#[derive(Debug)]
pub struct ReadyKnob {
    /// Its technology; `None` for the kernel.
    pub kind: Option<ComponentKind>,
    /// The setting, as the program spells it.
    pub setting: &'static str,
    /// What it does, and what happens when it is too low or too high.
    pub meaning: &'static str,
    /// Levels that make sense.
    pub levels: KnobLevels,
    /// How it is changed.
    pub means: KnobMeans,
    /// How often it is the limit, from 0 to 100: the order of knobs whose values look equally tight.
    pub weight: u32,
    /// Why it is left out of a draft unless the user adds it.
    pub caution: Option<&'static str>,
}

impl ReadyKnob {
    /// The name of its program.
    pub fn program(&self) -> &'static str {
        self.kind.map_or("the kernel", ComponentKind::name)
    }
}

/// Every knob, by technology.
pub fn all() -> &'static [ReadyKnob] {
    KNOBS
}

/// The knob of a setting.
///
/// # Panics
/// When it has no row: a reader would otherwise find a setting that no draft ever has.
pub(super) fn knob(kind: Option<ComponentKind>, setting: &str) -> &'static ReadyKnob {
    let mut own = KNOBS.iter();
    let found = own.find(|knob| knob.kind == kind && knob.setting == setting);
    found.unwrap_or_else(|| panic!("`{setting}` of {kind:?} has no row in the catalogue"))
}

/// A row, with the fields in the order of the columns of the reference.
const fn row(
    kind: Option<ComponentKind>,
    setting: &'static str,
    levels: KnobLevels,
    means: KnobMeans,
    weight: u32,
    meaning: &'static str,
) -> ReadyKnob {
    ReadyKnob {
        kind,
        setting,
        meaning,
        levels,
        means,
        weight,
        caution: None,
    }
}

impl ReadyKnob {
    const fn with_caution(self, caution: &'static str) -> Self {
        Self {
            caution: Some(caution),
            ..self
        }
    }
}

/// A number without a unit: least, most, and a value that usually suffices.
const fn count(least: u64, most: Amount, usual: Amount) -> KnobLevels {
    KnobLevels::number(least, most, usual, 1, "")
}

const fn count_or_none(least: u64, most: Amount, usual: Amount) -> KnobLevels {
    KnobLevels::count_or_none(least, most, usual)
}

const MIB: u64 = 1 << 20;

use Amount::{Backlog, Fixed, OfMemory, OpenFiles, PerCpu};
use ComponentKind::{
    Apache, Gunicorn, Haproxy, Jvm, Memcached, Mysql, Nginx, Node, Pgbouncer, PhpFpm, Postgres,
    Puma, Redis, Uwsgi,
};
use KnobMeans::{Environment, File, FileAndRestart, Kernel, Runtime};

const LOSES_COMMITS: &str =
    "it decides which committed transactions a crash of the machine may lose";

#[rustfmt::skip]
const KNOBS: &[ReadyKnob] = &[
    row(Some(Nginx), "worker_processes", count(1, PerCpu(4.0), PerCpu(1.0)), File, 40,
        "processes of the event loop; more than CPUs helps only when they wait for the disk"),
    row(Some(Nginx), "worker_connections", count(64, OpenFiles, Fixed(4096.0)), File, 45,
        "connections of each worker, those to upstreams included; further clients are dropped"),
    row(Some(Nginx), "keepalive", count(1, Fixed(1024.0), Fixed(64.0)), File, 50,
        "idle connections of each worker to the servers of an upstream block; beyond them every request opens a connection"),
    row(Some(Nginx), "upstream keepalive", KnobLevels::Words(&["# none", "keepalive 16;", "keepalive 64;", "keepalive 256;"]), File, 48,
        "idle connections of each worker to the servers of an upstream block that keeps none; every request then opens one"),
    row(Some(Nginx), "keepalive_requests", count(100, Fixed(100_000.0), Fixed(1000.0)), File, 10,
        "requests of a client's connection before it is closed"),
    row(Some(Nginx), "keepalive_timeout", KnobLevels::number(1, Fixed(300.0), Fixed(75.0), 1, "s"), File, 8,
        "time for which a client's idle connection stays open; idle connections occupy worker_connections"),
    row(Some(Nginx), "proxy_buffers", KnobLevels::Words(&["8 4k", "8 8k", "16 8k", "32 8k", "16 16k"]), File, 12,
        "buffers of each proxied response; longer responses are written to a temporary file"),
    row(Some(Nginx), "backlog", count(128, Backlog, Fixed(4096.0)), File, 20,
        "connections that wait for accept(); net.core.somaxconn caps it"),
    row(Some(Haproxy), "server maxconn", count(1, Fixed(8192.0), PerCpu(64.0)), File, 75,
        "requests that a server of the backend gets at once; the rest wait in HAProxy's queue"),
    row(Some(Haproxy), "maxconn", count(100, OpenFiles, Fixed(10_000.0)), File, 55,
        "connections of a frontend or of the whole process; further ones wait in the kernel"),
    row(Some(Haproxy), "nbthread", count(1, PerCpu(2.0), PerCpu(1.0)), File, 30,
        "threads of the event loop"),
    row(Some(Haproxy), "timeout queue", KnobLevels::number(1, Fixed(120.0), Fixed(10.0), 1, "s"), File, 15,
        "time that a request may wait for a server before it gets status 503"),
    row(Some(Apache), "MaxRequestWorkers", count(8, Fixed(4096.0), PerCpu(64.0)), File, 70,
        "requests in progress; with prefork each is a process with its memory"),
    row(Some(Apache), "MPM", KnobLevels::Words(&["prefork", "worker", "event"]), FileAndRestart, 28,
        "whether each request has a process or a thread; with event an idle connection has none; to keep a change on Debian: a2dismod, a2enmod"),
    row(Some(Apache), "KeepAlive", KnobLevels::Words(&["On", "Off"]), File, 35,
        "whether connections are reused; with prefork an idle connection occupies a process"),
    row(Some(Apache), "KeepAliveTimeout", KnobLevels::number(1, Fixed(60.0), Fixed(2.0), 1, ""), File, 30,
        "seconds that an idle connection is kept; with prefork it occupies a process"),
    row(Some(Apache), "MaxConnectionsPerChild", count_or_none(100, Fixed(100_000.0), Fixed(10_000.0)), File, 25,
        "connections after which a process is replaced; 0 for never; a low number costs a fork each time"),
    row(Some(Apache), "opcache.enable", KnobLevels::Words(&["1", "0"]), File, 60,
        "whether the PHP in its processes caches compiled scripts; without it each request compiles every file"),
    row(Some(Apache), "opcache.memory_consumption", KnobLevels::number(64 * MIB, Fixed(2e9), Fixed(268_435_456.0), MIB, ""), File, 25,
        "MB for compiled scripts of the PHP in its processes; when it is full, scripts are compiled for each request"),
    row(Some(Apache), "opcache.max_accelerated_files", count(2000, Fixed(200_000.0), Fixed(20_000.0)), File, 18,
        "scripts that the PHP in its processes caches at most"),
    row(Some(Apache), "opcache.validate_timestamps", KnobLevels::Words(&["1", "0"]), File, 20,
        "whether each request checks if its scripts changed; with 0, deployments need a reload"),
    row(Some(PhpFpm), "pm.max_children", count(1, Fixed(2048.0), PerCpu(16.0)), File, 90,
        "processes of the pool; each request occupies one, each with its memory"),
    row(Some(PhpFpm), "pm", KnobLevels::Words(&["static", "dynamic", "ondemand"]), File, 30,
        "whether processes are started ahead or on demand; `static` never forks under load"),
    row(Some(PhpFpm), "pm.max_requests", count_or_none(100, Fixed(100_000.0), Fixed(5000.0)), File, 15,
        "requests after which a process is replaced; 0 for never"),
    row(Some(PhpFpm), "opcache.enable", KnobLevels::Words(&["1", "0"]), File, 60,
        "whether compiled scripts are cached; without it each request compiles every file"),
    row(Some(PhpFpm), "opcache.memory_consumption", KnobLevels::number(64 * MIB, Fixed(2e9), Fixed(268_435_456.0), MIB, ""), File, 25,
        "MB for compiled scripts; when it is full, scripts are compiled for each request"),
    row(Some(PhpFpm), "opcache.max_accelerated_files", count(2000, Fixed(200_000.0), Fixed(20_000.0)), File, 18,
        "scripts that are cached at most"),
    row(Some(PhpFpm), "opcache.validate_timestamps", KnobLevels::Words(&["1", "0"]), File, 20,
        "whether each request checks if its scripts changed; with 0, deployments need a reload"),
    row(Some(Puma), "workers", count(1, PerCpu(4.0), PerCpu(1.0)), File, 85,
        "processes; Ruby uses one CPU in each"),
    row(Some(Puma), "threads", count(1, Fixed(64.0), Fixed(5.0)), File, 60,
        "threads of each process; more than 5 help only where requests wait for other services"),
    row(Some(Gunicorn), "workers", count(1, PerCpu(8.0), PerCpu(2.0)), File, 90,
        "processes; a sync worker handles one request at a time"),
    row(Some(Gunicorn), "threads", count(1, Fixed(64.0), Fixed(4.0)), File, 65,
        "threads of each worker, which share one CPU; above 1 the worker class is gthread"),
    row(Some(Gunicorn), "max_requests", count_or_none(100, Fixed(100_000.0), Fixed(5000.0)), File, 10,
        "requests after which a worker is replaced; 0 for never"),
    row(Some(Uwsgi), "processes", count(1, PerCpu(8.0), PerCpu(2.0)), File, 88,
        "processes; each thread of each handles one request at a time"),
    row(Some(Uwsgi), "threads", count(1, Fixed(64.0), Fixed(4.0)), File, 60,
        "threads of each process, which share one CPU"),
    row(Some(Uwsgi), "listen", count(32, Backlog, Fixed(1024.0)), FileAndRestart, 30,
        "connections that wait for accept(); uWSGI does not start with more than net.core.somaxconn"),
    row(Some(Node), "WEB_CONCURRENCY", count(1, PerCpu(2.0), PerCpu(1.0)), Environment, 85,
        "processes of the cluster, where the program reads it; one process uses one CPU"),
    row(Some(Node), "UV_THREADPOOL_SIZE", count(2, Fixed(128.0), PerCpu(2.0)), Environment, 35,
        "threads for files, DNS and cryptography"),
    row(Some(Jvm), "-Xmx", KnobLevels::number(64 * MIB, OfMemory(0.7), OfMemory(0.5), MIB, "M"), Environment, 55,
        "heap; when it is tight, most of the CPU collects garbage"),
    row(Some(Jvm), "collector", KnobLevels::Words(&["G1", "Parallel", "Serial", "Z"]), Environment, 30,
        "garbage collector: Parallel for throughput, Z for short pauses"),
    row(Some(Jvm), "maxThreads", count(10, Fixed(1000.0), Fixed(200.0)), FileAndRestart, 65,
        "request threads of Tomcat's connector"),
    row(Some(Jvm), "server.tomcat.threads.max", count(10, Fixed(1000.0), Fixed(200.0)), FileAndRestart, 65,
        "request threads of the Tomcat in a program of Spring Boot"),
    row(Some(Jvm), "server.jetty.threads.max", count(10, Fixed(1000.0), Fixed(200.0)), FileAndRestart, 62,
        "threads of the Jetty in a program of Spring Boot"),
    row(Some(Jvm), "jetty.threadPool.maxThreads", count(10, Fixed(1000.0), Fixed(200.0)), FileAndRestart, 62,
        "threads of Jetty"),
    row(Some(Jvm), "spring.datasource.hikari.maximum-pool-size", count(2, Fixed(200.0), PerCpu(4.0)), FileAndRestart, 75,
        "connections of HikariCP to the database; further requests wait for one"),
    row(Some(Postgres), "shared_buffers", KnobLevels::number(16 * MIB, OfMemory(0.4), OfMemory(0.25), MIB, "MB"), FileAndRestart, 60,
        "cache of pages; what does not fit is read from the kernel's cache or from the disk"),
    row(Some(Postgres), "work_mem", KnobLevels::number(1 << 16, OfMemory(0.02), Fixed(16_777_216.0), 1024, "kB"), File, 45,
        "memory of each sort or hash; beyond it temporary files are written"),
    row(Some(Postgres), "max_connections", count(10, Fixed(2000.0), Fixed(100.0)), FileAndRestart, 50,
        "sessions; further ones are refused"),
    row(Some(Postgres), "max_wal_size", KnobLevels::number(64 * MIB, Fixed(6.9e10), Fixed(4_294_967_296.0), MIB, "MB"), File, 35,
        "log between two checkpoints; with little of it, checkpoints write all the time"),
    row(Some(Postgres), "effective_io_concurrency", count(1, Fixed(1000.0), Fixed(200.0)), File, 12,
        "reads that a bitmap scan requests ahead; 1 suits a single rotating disk"),
    row(Some(Postgres), "random_page_cost", KnobLevels::Words(&["4", "2", "1.1"]), File, 25,
        "planner's cost of a random page; near 1 for an SSD, so that indexes are used"),
    row(Some(Postgres), "jit", KnobLevels::Words(&["on", "off"]), File, 22,
        "compilation of expensive statements, which costs short ones more than it saves"),
    row(Some(Postgres), "max_parallel_workers_per_gather", count(1, PerCpu(1.0), Fixed(2.0)), File, 14,
        "processes that help one statement; under load they take the CPUs of other statements"),
    row(Some(Postgres), "synchronous_commit", KnobLevels::Words(&["on", "off"]), File, 30,
        "whether a commit waits for the disk").with_caution(LOSES_COMMITS),
    row(Some(Mysql), "innodb_buffer_pool_size", KnobLevels::number(8 * MIB, OfMemory(0.7), OfMemory(0.5), 1, ""), Runtime, 65,
        "cache of pages; what does not fit is read from the disk"),
    row(Some(Mysql), "innodb_buffer_pool_instances", count(1, Fixed(64.0), Fixed(8.0)), FileAndRestart, 8,
        "parts of the buffer pool with a lock each; MariaDB has one from 10.5 on").with_caution(
        "MariaDB ignores it from 10.5 on and refuses it from 10.6 on: only for MySQL"),
    row(Some(Mysql), "max_connections", count(10, Fixed(4000.0), Fixed(151.0)), Runtime, 50,
        "sessions; further ones are refused"),
    row(Some(Mysql), "innodb_log_buffer_size", KnobLevels::number(MIB, Fixed(268_435_456.0), Fixed(16_777_216.0), 1, ""), Runtime, 10,
        "log of transactions before it is written"),
    row(Some(Mysql), "innodb_io_capacity", count(100, Fixed(20_000.0), Fixed(1000.0)), Runtime, 20,
        "writes per second in the background; 200 suits a rotating disk"),
    row(Some(Mysql), "thread_cache_size", count(1, Fixed(1024.0), Fixed(100.0)), Runtime, 18,
        "threads that are kept for the next connection"),
    row(Some(Mysql), "table_open_cache", count(64, Fixed(16_384.0), Fixed(2000.0)), Runtime, 22,
        "open tables of all sessions; below it tables are opened again and again"),
    row(Some(Mysql), "innodb_flush_log_at_trx_commit", KnobLevels::Words(&["1", "2", "0"]), Runtime, 40,
        "whether each commit waits for the disk").with_caution(LOSES_COMMITS),
    row(Some(Mysql), "skip_name_resolve", KnobLevels::Words(&["OFF", "ON"]), FileAndRestart, 25,
        "whether each connection waits for a DNS answer; accounts must then be by address"),
    row(Some(Pgbouncer), "default_pool_size", count(1, Fixed(500.0), PerCpu(8.0)), File, 80,
        "connections to PostgreSQL for each user and database; further transactions wait"),
    row(Some(Pgbouncer), "reserve_pool_size", count(1, Fixed(100.0), Fixed(5.0)), File, 12,
        "further connections of a pool when clients wait for long; 0 for none"),
    row(Some(Pgbouncer), "max_client_conn", count(100, OpenFiles, Fixed(1000.0)), File, 55,
        "clients; further ones are refused"),
    row(Some(Redis), "maxclients", count(100, OpenFiles, Fixed(10_000.0)), Runtime, 30,
        "clients; further ones are refused"),
    row(Some(Redis), "maxmemory", KnobLevels::number(16 * MIB, OfMemory(0.7), OfMemory(0.5), 1, ""), Runtime, 40,
        "memory for keys; beyond it keys are evicted or writes are refused"),
    row(Some(Redis), "maxmemory-policy", KnobLevels::Words(&["noeviction", "allkeys-lru", "allkeys-lfu", "volatile-lru", "volatile-ttl"]), Runtime, 10,
        "which keys are evicted at maxmemory").with_caution("another policy evicts other keys: it changes what the service stores"),
    row(Some(Redis), "io-threads", count(1, PerCpu(1.0), PerCpu(0.5)), FileAndRestart, 22,
        "threads that read and write sockets; commands run in one thread"),
    row(Some(Memcached), "-t", count(1, PerCpu(2.0), PerCpu(1.0)), FileAndRestart, 20,
        "worker threads"),
    row(Some(Memcached), "-m", KnobLevels::number(64 * MIB, OfMemory(0.7), OfMemory(0.5), MIB, ""), FileAndRestart, 35,
        "MB for items; beyond it items are evicted"),
    row(Some(Memcached), "-c", count(64, OpenFiles, Fixed(4096.0)), FileAndRestart, 35,
        "connections; further ones wait"),
    row(None, "net.core.somaxconn", count(128, Fixed(65_535.0), Fixed(4096.0)), Kernel, 30,
        "connections that wait for accept(), at most, of every listener").with_caution(
        "it has no effect on sockets that listen already: change it, restart the servers, and draft again"),
    row(None, "net.ipv4.tcp_max_syn_backlog", count(128, Fixed(65_535.0), Fixed(4096.0)), Kernel, 20,
        "half-open connections of a listener"),
    row(None, "net.core.netdev_max_backlog", count(250, Fixed(65_535.0), Fixed(5000.0)), Kernel, 10,
        "packets of a CPU that wait for the network stack"),
    row(None, "net.ipv4.ip_local_port_range", KnobLevels::Words(&["32768 60999", "15000 65000", "10240 65535"]), Kernel, 15,
        "local ports of connections to upstreams"),
    row(None, "net.ipv4.tcp_fin_timeout", count(5, Fixed(120.0), Fixed(60.0)), Kernel, 6,
        "seconds in FIN-WAIT-2"),
    row(None, "net.ipv4.tcp_tw_reuse", KnobLevels::Words(&["0", "1", "2"]), Kernel, 12,
        "whether ports in TIME-WAIT are reused for new connections; 2 for those of loopback"),
    row(None, "net.ipv4.tcp_slow_start_after_idle", KnobLevels::Words(&["1", "0"]), Kernel, 14,
        "whether a connection that was idle starts slowly again"),
    row(None, "net.ipv4.tcp_mem", KnobLevels::Words(&[]), Kernel, 4,
        "pages of all TCP sockets: no pressure, pressure, limit"),
    row(None, "net.ipv4.tcp_rmem", KnobLevels::Words(&["4096 131072 6291456", "4096 131072 16777216", "4096 262144 33554432"]), Kernel, 6,
        "bytes of a socket's receive buffer: least, initial, most"),
    row(None, "net.ipv4.tcp_wmem", KnobLevels::Words(&["4096 16384 4194304", "4096 65536 16777216", "4096 262144 33554432"]), Kernel, 6,
        "bytes of a socket's send buffer: least, initial, most"),
    row(None, "net.ipv4.tcp_max_orphans", count(4096, Fixed(262_144.0), Fixed(65_536.0)), Kernel, 3,
        "sockets that no process holds any more"),
    row(None, "net.ipv4.tcp_synack_retries", count(1, Fixed(8.0), Fixed(5.0)), Kernel, 3,
        "repetitions of an unanswered SYN-ACK"),
    row(None, "net.ipv4.tcp_syn_retries", count(1, Fixed(8.0), Fixed(6.0)), Kernel, 3,
        "repetitions of an unanswered SYN"),
    row(None, "vm.overcommit_memory", KnobLevels::Words(&["0", "1"]), Kernel, 5,
        "whether memory is promised without limit; Redis forks with 1"),
    row(None, "vm.swappiness", KnobLevels::Words(&["60", "30", "10", "1"]), Kernel, 12,
        "how readily idle pages are swapped out for file cache"),
    row(None, "fs.file-max", count(65_536, Fixed(1e7), Fixed(500_000.0)), Kernel, 5,
        "open files of the machine"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_setting_has_one_row_with_a_meaning_and_levels() {
        let mut known = BTreeSet::new();
        for knob in all() {
            assert!(
                known.insert((knob.program(), knob.setting)),
                "{}",
                knob.setting
            );
            assert!(
                !knob.meaning.is_empty() && !knob.meaning.ends_with('.'),
                "{}",
                knob.setting
            );
            assert!(knob.weight <= 100, "{}", knob.setting);
            assert_eq!(
                knob.kind.is_none(),
                knob.means == KnobMeans::Kernel,
                "{}",
                knob.setting
            );
        }
    }

    #[test]
    fn what_is_set_at_run_time_is_a_tunable() {
        for knob in all().iter().filter(|knob| knob.means == KnobMeans::Runtime) {
            let kind = knob.kind.unwrap();
            assert!(kind.tunables().contains(&knob.setting), "{}", knob.setting);
        }
    }
}
