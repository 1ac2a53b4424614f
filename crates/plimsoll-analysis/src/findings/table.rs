//! The table of rules. Thresholds are those of the method's rule table; a threshold that differs says why.

use plimsoll_model::finding::Strength;
use plimsoll_model::metric;

use super::rule::{Rule, Symptom, Tier};
use super::{generator, machine, network};

/// Share of a hard limit above which it is as good as reached.
pub(super) const NEARLY_FULL: f64 = 0.9;
/// Share of periods that a quota may cut short.
pub(super) const THROTTLED_MAX: f64 = 0.05;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "G1",
        strength: Strength::Explicit,
        tier: Tier::Generator,
        symptom: Symptom::Signs(generator::late),
        words: generator::late_words,
        remedy: "give the generator more cores (--cores) or a machine of its own; what it measured while it was late \
                 says nothing about the target",
        explains: &[],
    },
    Rule {
        id: "G2",
        strength: Strength::Explicit,
        tier: Tier::Generator,
        symptom: Symptom::Signs(generator::ports),
        words: generator::ports_words,
        remedy: "keep connections alive, connect from more addresses (--source), or widen \
                 net.ipv4.ip_local_port_range; a port rests 60 s in TIME_WAIT before it is used again",
        explains: &[],
    },
    Rule {
        id: "G3",
        strength: Strength::Explicit,
        tier: Tier::Generator,
        symptom: Symptom::Signs(generator::descriptors),
        words: generator::descriptors_words,
        remedy: "raise the generator's limit of open files (ulimit -n) or lower --max-connections",
        explains: &[],
    },
    Rule {
        id: "N1",
        strength: Strength::Explicit,
        tier: Tier::Network,
        symptom: Symptom::Increase {
            metric: metric::LISTEN_OVERFLOWS,
        },
        words: network::overflow_words,
        remedy: "raise the backlog that the application asks for in listen() and net.core.somaxconn, which caps it; \
                 accept faster or run more workers; keep connections alive",
        explains: &[],
    },
    Rule {
        id: "N12",
        strength: Strength::Explicit,
        tier: Tier::Network,
        symptom: Symptom::Fill {
            level: metric::PORTS_USED,
            limit: metric::PORTS_LIMIT,
            with: ("process", "other"),
            above: NEARLY_FULL,
        },
        words: network::upstream_ports_words,
        remedy: "keep connections to the upstream alive in a pool, give the upstream more addresses or ports, or widen \
                 net.ipv4.ip_local_port_range",
        explains: &[],
    },
    Rule {
        id: "C1",
        strength: Strength::Queue,
        tier: Tier::Machine,
        symptom: Symptom::Signs(machine::cpu),
        words: machine::cpu_words,
        remedy: "find the hot path with a profiler, cache what it computes, or add cores or replicas",
        explains: &["N1"],
    },
    Rule {
        id: "C2",
        strength: Strength::Explicit,
        tier: Tier::Machine,
        symptom: Symptom::Ratio {
            part: metric::CGROUP_CPU_THROTTLED,
            whole: metric::CGROUP_CPU_PERIODS,
            above: THROTTLED_MAX,
        },
        words: machine::quota_words,
        remedy: "raise the CPU quota of the container or service, and let it run no more threads than the quota has \
                 CPUs",
        explains: &["N1", "C3"],
    },
    Rule {
        id: "C3",
        strength: Strength::Utilisation,
        tier: Tier::Machine,
        symptom: Symptom::Signs(machine::thread),
        words: machine::thread_words,
        remedy: "run more processes or workers, or move work off this thread (event loop, interpreter lock, single \
                 worker)",
        explains: &["N1"],
    },
    Rule {
        id: "M2",
        strength: Strength::Explicit,
        tier: Tier::Machine,
        symptom: Symptom::Signs(machine::killed),
        words: machine::killed_words,
        remedy: "raise the memory limit, run fewer workers, or find what grows",
        explains: &["N1"],
    },
    Rule {
        id: "F1",
        strength: Strength::Explicit,
        tier: Tier::Machine,
        symptom: Symptom::Signs(machine::files),
        words: machine::files_words,
        remedy: "raise the limit of open files (ulimit -n, LimitNOFILE, worker_rlimit_nofile), or find what does not \
                 close them",
        explains: &["N1"],
    },
];
