//! The rules by name: what each is about, and what its tests try it on.

use std::fmt;
use std::str::FromStr;

use plimsoll_model::finding::Finding;

/// What the tests of a rule try it on. A test of this crate fails where none does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriedOn {
    /// A real program that is brought to the limit.
    RealProgram,
    /// Series that were made up or recorded.
    Series,
}

/// A text that names no rule of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownRule;

/// From one line for each rule: its id, and its name where that is no identifier; what it is tried on; its limit.
macro_rules! rules {
    (@name $id:ident) => {
        stringify!($id)
    };
    (@name $id:ident $name:literal) => {
        $name
    };
    ($($id:ident $(= $name:literal)?, $tried_on:ident, $limit:literal;)*) => {
        /// Id of a rule. Findings carry it as text, since a run log may come from a version with other rules.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(clippy::doc_markdown, reason = "the page of rules shows these texts as they are")]
        pub enum RuleId {
            $(
                #[doc = $limit]
                $id,
            )*
        }

        impl RuleId {
            /// Every rule, in the order of the reference.
            pub const ALL: &[Self] = &[$(Self::$id,)*];

            /// The id in reports and run logs, such as `N1`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$id => rules!(@name $id $($name)?),)*
                }
            }

            /// The limit that it names, in Markdown.
            pub const fn limit(self) -> &'static str {
                match self {
                    $(Self::$id => $limit,)*
                }
            }

            /// What its tests try it on.
            pub const fn tried_on(self) -> TriedOn {
                match self {
                    $(Self::$id => TriedOn::$tried_on,)*
                }
            }
        }
    };
}

// The rules of the method, and `V1`, `J11` and `NPlus1`, which are ours.
rules! {
    G1, RealProgram, "load generator CPU";
    G2, RealProgram, "generator ephemeral ports";
    G3, RealProgram, "generator fd limit";
    N1, RealProgram, "accept backlog of listener";
    N2, Series, "SYN drop, not accept queue (memory, filters)";
    N3, Series, "SYN queue";
    N4, RealProgram, "packet loss or congested path";
    N5, RealProgram, "SYN lost on path (firewall, conntrack, LB)";
    N6, Series, "conntrack table";
    N7, Series, "NIC ring or softirq backlog";
    N8, Series, "interrupt imbalance";
    N9, RealProgram, "bandwidth or packet-rate cap";
    N10, Series, "TCP memory";
    N11, Series, "TIME_WAIT table";
    N12, RealProgram, "ephemeral ports to one upstream";
    N13, Series, "TLS handshakes";
    C1, RealProgram, "CPU";
    C2, RealProgram, "cgroup CPU quota";
    C3, RealProgram, "one thread (event loop, GIL, single worker)";
    C4, Series, "stolen CPU / exhausted burst credits";
    C5, RealProgram, "lock contention";
    C6, RealProgram, "kernel time (syscalls, copies, small I/O)";
    C7, Series, "thermal or power cap";
    M1, RealProgram, "memory pressure, thrash";
    M2, RealProgram, "memory limit";
    M3, RealProgram, "swapping";
    M4, Series, "memory/fd/thread leak";
    M5, Series, "cgroup memory.high reclaim throttling";
    D1, RealProgram, "disk";
    D2, Series, "volume cap/credits";
    D3, Series, "synchronous log writes";
    D4, RealProgram, "full disk";
    F1, RealProgram, "file descriptors";
    F2, RealProgram, "pids/threads limit";
    X1, RealProgram, "nginx `worker_connections`";
    X2, Series, "nginx `worker_connections`, nearly used up";
    X3, RealProgram, "upstream accept backlog or down";
    X4, RealProgram, "upstream socket backlog (often PHP-FPM)";
    X5, RealProgram, "all peers ejected by `max_fails`";
    X6, RealProgram, "limiter that nginx is told to keep";
    X7, RealProgram, "upstream slow";
    X8, RealProgram, "proxy buffer spill to disk";
    H1, RealProgram, "HAProxy server `maxconn` / `timeout queue`";
    H2, RealProgram, "HAProxy: a server refuses connections";
    H3, RealProgram, "HAProxy: connections to a server time out";
    H4, RealProgram, "HAProxy: a server is slow to answer";
    H5, RealProgram, "HAProxy: a server closes before it has answered";
    H6, RealProgram, "HAProxy: answers stop on their way";
    H7, RealProgram, "HAProxy frontend/global `maxconn` (clients wait in kernel)";
    H8, Series, "HAProxy: its own sockets, ports or memory";
    H9, RealProgram, "clients gave up: a consequence";
    H10, Series, "HAProxy CPU";
    H11, RealProgram, "HAProxy: imbalance or a slow replica";
    A0, RealProgram, "Apache workers";
    V1, RealProgram, "Varnish threads";
    J1, RealProgram, "Node event loop";
    J2, RealProgram, "libuv pool";
    J3, RealProgram, "JVM garbage collection";
    J4, RealProgram, "JVM heap too small or leak";
    J5, RealProgram, "servlet threads";
    J6, RealProgram, "DB connection pool";
    J7, RealProgram, "connection held during remote call or idle in transaction";
    J8, RealProgram, "client pool per host";
    J9, RealProgram, "named dependency";
    J10, RealProgram, "dependency's rate limit";
    J11, RealProgram, "no pool: a session of the database for each request";
    R1, RealProgram, "Puma threads and workers";
    R2, RealProgram, "Python workers";
    R3, RealProgram, "`pm.max_children`";
    R4, RealProgram, "slow script, cause below";
    R5, RealProgram, "Go scheduler/GC";
    R6, Series, ".NET thread-pool starvation";
    P1, RealProgram, "PostgreSQL `max_connections`";
    P2, RealProgram, "PostgreSQL CPU";
    P3, RealProgram, "row/table/advisory lock";
    P4, Series, "internal lock of PostgreSQL";
    P5, Series, "working set > buffers";
    P6, RealProgram, "commit fsync";
    P7, RealProgram, "sequential scan: missing index";
    P8, RealProgram, "idle transactions";
    P9, RealProgram, "sort/hash spill (`work_mem`)";
    P10, Series, "checkpoint/WAL settings";
    P11, RealProgram, "pgbouncer pool size";
    P12, RealProgram, "deadlocks";
    Q1, RealProgram, "MySQL `max_connections`";
    Q2, RealProgram, "MySQL CPU/concurrency";
    Q3, RealProgram, "full table scan";
    Q4, RealProgram, "filesort";
    Q5, RealProgram, "on-disk temp tables";
    Q6, RealProgram, "InnoDB row locks";
    Q7, RealProgram, "buffer pool too small";
    Q8, RealProgram, "InnoDB redo log";
    Q9, RealProgram, "InnoDB flushing of dirty pages";
    K1, RealProgram, "Redis single thread";
    K2, RealProgram, "Redis maxmemory";
    K3, RealProgram, "slow command (KEYS, big ranges, Lua)";
    K4, RealProgram, "Redis maxclients";
    K5, Series, "fork/AOF stall";
    K6, RealProgram, "memcached connections / memory";
    K7, Series, "MongoDB storage concurrency";
    S1, Series, "coherency/thrash/retry amplification";
    S2, RealProgram, "retry storm";
    S3, Series, "work done for expired requests";
    S4, RealProgram, "cache stampede";
    S5, RealProgram, "cache too small / polluted / fragmented key";
    S6, RealProgram, "something with a period: cron, collection, checkpoint";
    S7, RealProgram, "slow start";
    S8, Series, "expensive route";
    NPlus1 = "N+1", RealProgram, "one statement again and again in each request";
}

impl RuleId {
    /// The rule of a finding; `None` where this version has no such rule.
    pub fn of(finding: &Finding) -> Option<Self> {
        finding.rule.parse().ok()
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for RuleId {
    type Err = UnknownRule;

    fn from_str(text: &str) -> Result<Self, UnknownRule> {
        let mut all = Self::ALL.iter().copied();
        all.find(|rule| rule.as_str() == text).ok_or(UnknownRule)
    }
}

impl fmt::Display for UnknownRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this version has no such rule")
    }
}

impl std::error::Error for UnknownRule {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        for &rule in RuleId::ALL {
            assert_eq!(rule.to_string().parse(), Ok(rule));
        }
        assert_eq!("N+1".parse(), Ok(RuleId::NPlus1));
        assert_eq!("N12".parse(), Ok(RuleId::N12));
        assert_eq!("Z9".parse::<RuleId>(), Err(UnknownRule));
    }
}
