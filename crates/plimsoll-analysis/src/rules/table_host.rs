//! The table of rules, continued: the machine, its kernel and the network. Thresholds are those of the method's rule table, all of
//! them estimates until they are tried; decision 0285 says where they differ, and which are not verified.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;

use crate::diagnosis::rule::{FindingRule, Symptom};
use crate::diagnosis::rule_id::RuleId::{
    self, A0, C1, C4, C5, C6, C7, D1, D2, D3, D4, F2, G2, H1, H2, H3, H4, H7, H9, K1, K2, K3, K6,
    M1, M2, M3, M4, M5, N1, N2, N3, N4, N5, N6, N7, N8, N9, N10, N11, N12, N13, P5, P6, P7, P9,
    P10, P11, Q3, Q5, Q7, Q8, Q9, R1, R2, R3, S2, S5, X1, X2, X8,
};
use crate::rules::host::{cpu, disk, memory, network};

/// Queues and workers that fill up when the machine is at its limit.
const FRONT: &[RuleId] = &[N1, X1, X2, H1, H4, H7, H9, R1, R2, R3, A0, P11];

/// Causes and consequences beyond those in the rules themselves.
pub(crate) const FOLLOWS: &[(RuleId, &[RuleId])] = &[
    (C1, &[C6, N4, N7]),
    // A listener with a short backlog has a short queue of half-open connections as well.
    (N1, &[N2, N3, N4, N5]),
    (M2, &[M1, M3, M5]),
    (P5, &[D1, D3]),
    (P6, &[D1, D3]),
    (P7, &[D1]),
    (P9, &[D1, D3]),
    (P10, &[D1, D3]),
    (Q3, &[D1]),
    (Q5, &[D1]),
    (Q7, &[D1, D3]),
    (Q8, &[D1, D3]),
    (Q9, &[D1, D3]),
    (X8, &[D1]),
    (G2, &[N11]),
    (H2, &[S2]),
    (H3, &[S2]),
    (K2, &[S5]),
    (K3, &[K1]),
    (K6, &[S5]),
    (N12, &[N11]),
];

/// What is kept over a restart.
macro_rules! sysctl {
    ($text:literal) => {
        concat!(
            $text,
            "; at once with `sysctl -w`, for good in /etc/sysctl.d/90-service.conf"
        )
    };
}

pub(crate) const RULES: &[FindingRule] = &[
    FindingRule {
        id: N2,
        strength: Strength::Explicit,
        tier: Tier::Network,
        symptom: Symptom::Signs(network::syn_drops),
        words: network::syn_drops_words,
        remedy: sysctl!(
            "check the firewall's rules, and TCP's memory (`net.ipv4.tcp_mem`, in pages of 4 KiB; more costs the \
             machine that much memory)"
        ),
        explains: &[N4, N5],
    },
    FindingRule {
        id: N3,
        strength: Strength::Explicit,
        tier: Tier::Network,
        symptom: Symptom::Signs(network::syn_queue),
        words: network::syn_queue_words,
        remedy: sysctl!(
            "raise `net.ipv4.tcp_max_syn_backlog` and the backlog of the listener, which both bound it (about 300 \
             bytes per connection), and keep connections alive"
        ),
        explains: &[N2, N4, N5],
    },
    FindingRule {
        id: N4,
        strength: Strength::Queue,
        tier: Tier::Network,
        symptom: Symptom::Change(network::loss),
        words: network::loss_words,
        remedy: "find the link that loses packets (`ethtool -S`, `tc -s qdisc`, `mtr`); let senders pace \
            (`net.core.default_qdisc=fq`, `net.ipv4.tcp_congestion_control=bbr` in /etc/sysctl.d/), or take a faster \
            one",
        explains: &[N5],
    },
    FindingRule {
        id: N5,
        strength: Strength::Queue,
        tier: Tier::Network,
        symptom: Symptom::Signs(network::syn_lost),
        words: network::syn_lost_words,
        remedy: "check the devices in between: firewalls and their connection tables, load balancers, limits of a \
            provider; keeping connections alive relieves all of them",
        explains: &[],
    },
    FindingRule {
        id: N6,
        strength: Strength::Explicit,
        tier: Tier::Network,
        symptom: Symptom::Signs(network::conntrack),
        words: network::conntrack_words,
        remedy: "raise `net.netfilter.nf_conntrack_max`",
        explains: &[N2, N4, N5],
    },
    FindingRule {
        id: N7,
        strength: Strength::Explicit,
        tier: Tier::Network,
        symptom: Symptom::Signs(network::packets_dropped),
        words: network::packets_dropped_words,
        remedy: sysctl!(
            "raise `net.core.netdev_max_backlog` (1000 packets for each CPU by default), and spread packets over the CPUs \
             (/sys/class/net/*/queues/rx-*/rps_cpus)"
        ),
        explains: &[N4, N5],
    },
    FindingRule {
        id: N8,
        strength: Strength::Utilisation,
        tier: Tier::Network,
        symptom: Symptom::Signs(network::interrupts),
        words: network::interrupts_words,
        remedy: "spread the interrupts of the network card over the CPUs: irqbalance, `ethtool -L` for more queues, \
                 /proc/irq/*/smp_affinity, or RPS (/sys/class/net/*/queues/rx-*/rps_cpus)",
        explains: &[N4, N7],
    },
    FindingRule {
        id: N9,
        strength: Strength::Utilisation,
        tier: Tier::Network,
        symptom: Symptom::Signs(network::bandwidth),
        words: network::bandwidth_words,
        remedy: "send less: compress answers (`gzip on` in nginx, `compression` in HAProxy), let caches and browsers \
                 keep them, make pictures smaller; or get a faster link, or a larger share of it (`tc qdisc show` \
                 shows the local shaping; providers list bandwidth limits by instance type)",
        explains: &[N3, N4, N5],
    },
    FindingRule {
        id: N10,
        strength: Strength::Explicit,
        tier: Tier::Network,
        symptom: Symptom::Signs(network::tcp_memory),
        words: network::tcp_memory_words,
        remedy: sysctl!(
            "raise `net.ipv4.tcp_mem` (three numbers, in pages of 4 KiB), or use fewer idle connections and smaller \
             buffers (`net.ipv4.tcp_rmem`, `tcp_wmem`)"
        ),
        explains: &[N2, N4],
    },
    FindingRule {
        id: N11,
        strength: Strength::Decomposition,
        tier: Tier::Network,
        symptom: Symptom::Signs(network::time_wait),
        words: network::time_wait_words,
        remedy: sysctl!(
            "keep connections alive; or raise `net.ipv4.tcp_max_tw_buckets` (about 250 bytes for each)"
        ),
        explains: &[],
    },
    FindingRule {
        id: N13,
        strength: Strength::Utilisation,
        tier: Tier::Network,
        symptom: Symptom::Signs(cpu::tls),
        words: cpu::tls_words,
        remedy: cpu::FEWER_HANDSHAKES,
        explains: &[],
    },
    FindingRule {
        id: C4,
        strength: Strength::Utilisation,
        tier: Tier::Machine,
        symptom: Symptom::Signs(cpu::stolen),
        words: cpu::stolen_words,
        remedy: "measure again on a machine with dedicated CPUs, or when its neighbours are idle; on a burstable \
            instance, check whether its CPU credits are used up",
        explains: &[],
    },
    FindingRule {
        id: C5,
        strength: Strength::Decomposition,
        tier: Tier::Runtime,
        symptom: Symptom::Change(cpu::contention),
        words: cpu::contention_words,
        remedy: "find the lock (`perf lock`, `offcputime`, a thread dump), hold it for less, or give each thread or shard its own",
        explains: &[],
    },
    FindingRule {
        id: C6,
        strength: Strength::Utilisation,
        tier: Tier::Machine,
        symptom: Symptom::Signs(cpu::kernel_time),
        words: cpu::kernel_time_words,
        remedy: "do more per system call: larger buffers, `sendfile`, keep-alive connections, fewer and larger writes; \
            `perf trace -s` or `strace -c -f -p PID` shows the calls",
        explains: &[],
    },
    FindingRule {
        id: C7,
        strength: Strength::Utilisation,
        tier: Tier::Machine,
        symptom: Symptom::Signs(cpu::clock),
        words: cpu::clock_words,
        remedy: "fix the machine's cooling or its power limit, and measure again: `turbostat` shows which it is; the \
            governor is set in /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        explains: &[],
    },
    FindingRule {
        id: M1,
        strength: Strength::Queue,
        tier: Tier::Machine,
        symptom: Symptom::Change(memory::pressure),
        words: memory::pressure_words,
        remedy: "let the service use less memory (smaller caches and heaps, fewer workers), or give the machine more",
        explains: &[N1, X1, X2, H1, H4, H7, H9, R1, R2, R3, A0, P11, D1, D2, D3],
    },
    FindingRule {
        id: M3,
        strength: Strength::Queue,
        tier: Tier::Machine,
        symptom: Symptom::Signs(memory::swapping),
        words: memory::swapping_words,
        remedy: "let the service use less memory (smaller heaps, fewer workers), or give the machine more; \
            `vm.swappiness` of 10 in /etc/sysctl.d/ swaps later, and leaves less memory for the page cache",
        explains: &[
            N1, X1, X2, H1, H4, H7, H9, R1, R2, R3, A0, P11, M1, D1, D2, D3,
        ],
    },
    FindingRule {
        id: M4,
        strength: Strength::Decomposition,
        tier: Tier::Runtime,
        symptom: Symptom::Change(memory::leaking),
        words: memory::leaking_words,
        remedy: "find what grows (a heap profile; `ls -l /proc/PID/fd`); until then, restart workers after a number \
            of requests (`pm.max_requests`, `--max-requests`)",
        explains: &[],
    },
    FindingRule {
        id: M5,
        strength: Strength::Explicit,
        tier: Tier::Machine,
        symptom: Symptom::Increase {
            metric: metric::CGROUP_MEMORY_HIGH,
        },
        words: memory::reclaimed_words,
        remedy: "raise `memory.high`",
        explains: &[N1, X1, X2, H1, H4, H7, H9, R1, R2, R3, A0, P11, M1, M3],
    },
    FindingRule {
        id: D1,
        strength: Strength::Queue,
        tier: Tier::Machine,
        symptom: Symptom::Change(disk::disk),
        words: disk::disk_words,
        remedy: "reduce the load on it: cache hot data in memory, write less and in larger pieces, move logs \
            elsewhere; `iotop -o` shows the processes that use it; or use a faster disk",
        explains: FRONT,
    },
    FindingRule {
        id: D2,
        strength: Strength::Utilisation,
        tier: Tier::Machine,
        symptom: Symptom::Change(disk::capped),
        words: disk::capped_words,
        remedy: "check the limits of the volume (operations and bytes a second, credits) or `io.max` of the cgroup, \
            and raise them",
        explains: &[D1, D3],
    },
    FindingRule {
        id: D3,
        strength: Strength::Queue,
        tier: Tier::Machine,
        symptom: Symptom::Change(disk::flushes),
        words: disk::flushes_words,
        remedy: "commit several transactions at once (`commit_delay` in postgresql.conf, \
            `innodb_flush_log_at_trx_commit=2`, `appendfsync everysec`: the last second may be lost), or put the log \
            on a device of its own, or a faster one",
        explains: &[],
    },
    FindingRule {
        id: D4,
        strength: Strength::Explicit,
        tier: Tier::Machine,
        symptom: Symptom::Signs(disk::file_system_full),
        words: disk::file_system_full_words,
        remedy: "make room",
        explains: FRONT,
    },
    FindingRule {
        id: F2,
        strength: Strength::Explicit,
        tier: Tier::Machine,
        symptom: Symptom::Signs(memory::processes),
        words: memory::processes_words,
        remedy: "raise the limit of processes and threads",
        explains: FRONT,
    },
];
