//! One case for each limit, and a healthy run.

use plimsoll_lab::intervention::{Change, Changed, ComponentAccess};
use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::metric::{self, series};
use plimsoll_probe::tunables;
use plimsoll_testkit::cases::Case;
use plimsoll_testkit::machine::cgroup::Cgroup;
use plimsoll_testkit::machine::mounted::Mounted;
use plimsoll_testkit::machine::namespace::Namespace;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::harness::{Offered, SHARED, Setup, Strained, play};
use crate::strain;

/// Cases with something of their own that is at its limit and takes little CPU, in lists that take equally long.
pub(crate) const BESIDE: [&[Case]; 3] = [
    &[
        ("g2_generator_ports", generator_ports),
        ("n4_packets_lost", packets_lost),
        ("settings_of_the_kernel_are_put_back", kernel_setting),
    ],
    &[
        ("n12_upstream_ports", upstream_ports),
        ("f1_descriptors", descriptors),
    ],
    &[("c2_cgroup_quota", quota), ("f2_threads", threads)],
];

/// Cases that need CPUs, or whose limit is one that others would find too.
pub(crate) const ALONE: [Case; 8] = [
    ("healthy_run_is_silent", healthy),
    ("g1_generator_cpu", generator_cpu),
    ("n1_accept_backlog", accept_backlog),
    ("c1_cpu", cpu),
    ("c3_one_thread", one_thread),
    ("m2_memory_limit", memory_limit),
    ("d4_full_file_system", full_file_system),
    // Last: without root the limit cannot be raised again.
    ("g3_generator_descriptors", generator_descriptors),
];

fn of_target(metric: &str) -> String {
    series(metric, &[("process", metric::TARGET)])
}

fn healthy() {
    // Separate counters, where allowed: overflows of others must not count here.
    let _inside = Namespace::enter(32_768, 60_999);
    let mut process = Strained::start(&Setup::default());
    let diagnosis = play(&mut process, &Offered::default());
    if diagnosis.is_disturbed() || diagnosis.strained(metric::CPU_BUSY) > 0.5 {
        // Other work may use up what all share, and make the generator late; nothing else may be found.
        assert_eq!(
            without(&diagnosis.findings, &SHARED),
            0,
            "{:#?}",
            diagnosis.findings
        );
    } else {
        assert_eq!(
            without(&diagnosis.findings, &[]),
            0,
            "{:#?}",
            diagnosis.findings
        );
    }
}

/// Findings beside these rules, and beside CPU steal.
fn without(findings: &[Finding], rules: &[&str]) -> usize {
    let others = findings.iter().filter(|found| {
        let rule = found.rule.as_str();
        rule != "C4" && !rules.contains(&rule)
    });
    others.count()
}

fn generator_cpu() {
    let mut process = Strained::start(&Setup::default());
    let offered = Offered {
        rate: 400_000.0,
        connections_max: 32,
        ..Offered::default()
    };
    let diagnosis = play(&mut process, &offered);
    let found = diagnosis.finding("G1");
    assert!(
        found.sentence.contains("the generator sent requests"),
        "{}",
        found.sentence
    );
    if !diagnosis.is_disturbed() {
        // A target that the generator leaves no CPU lets its accept queue overflow, which is as true and lies deeper.
        let best = diagnosis.findings.iter().find(|found| found.rule != "N1");
        assert_eq!(best, Some(found), "{:#?}", diagnosis.findings);
        assert!(found.sentence.contains("of a core"), "{}", found.sentence);
        assert_eq!(found.certainty, Certainty::Explicit);
    }
}

fn generator_ports() {
    let Some(_inside) = Namespace::enter(40_000, 40_049) else {
        return;
    };
    let mut process = Strained::start(&Setup {
        port: 18_080,
        ..Setup::default()
    });
    let offered = Offered {
        rate: 300.0,
        per_connection: 1,
        ..Offered::default()
    };
    let diagnosis = play(&mut process, &offered);
    diagnosis.best_is("G2", "ran out of local ports towards 127.0.0.1:18080");
    let limit = diagnosis.strained(metric::PORTS_LIMIT);
    assert!(
        (limit - 50.0).abs() < 0.5,
        "the namespace has 50 ports, not {limit}"
    );
}

fn generator_descriptors() {
    // It listens and never answers, so that every request holds a connection until its timeout.
    let mut process = Strained::start(&Setup {
        strain: &["stop-accepting"],
        ..Setup::default()
    });
    // The hard limit too: the load engine raises the soft one as far as it goes.
    let before = getrlimit(Resource::Nofile);
    let few = Rlimit {
        current: Some(64),
        maximum: Some(64),
    };
    setrlimit(Resource::Nofile, few).expect("a limit may be lowered");
    let offered = Offered {
        rate: 2000.0,
        per_connection: 1,
        ..Offered::default()
    };
    let diagnosis = play(&mut process, &offered);
    let _ = setrlimit(Resource::Nofile, before);
    // The probe shares the process: without descriptors it may have read nothing more, the limit neither.
    diagnosis.best_is("G3", "ran out of file descriptors");
}

fn accept_backlog() {
    let mut process = Strained::start(&Setup {
        backlog: 8,
        strain: &["stop-accepting"],
        ..Setup::default()
    });
    let offered = Offered {
        per_connection: 1,
        ..Offered::default()
    };
    let diagnosis = play(&mut process, &offered);
    let listener = process.address.to_string();
    diagnosis.best_is("N1", &format!("the accept queue of {listener} overflowed"));
    let found = diagnosis.finding("N1");
    assert!(
        found.sentence.ends_with("its backlog is 8"),
        "{}",
        found.sentence
    );
    assert_eq!(found.certainty, Certainty::Explicit);
    // The kernel admits one more than the backlog.
    let labels = [("listener", listener.as_str()), ("process", metric::TARGET)];
    let queue = diagnosis.strained(&series(metric::LISTEN_QUEUE, &labels));
    assert!(queue > 4.0, "the queue was seen to be full: {queue}");
}

fn packets_lost() {
    // By chance, and several times what the rule asks for; without much load, none.
    let loss = "limit rate over 60/second numgen random mod 12 == 0 drop";
    let inside = Namespace::enter(32_768, 60_999);
    let Some(_inside) = inside.and_then(|inside| inside.with_filter(loss)) else {
        return;
    };
    let mut process = Strained::start(&Setup::default());
    let offered = Offered {
        rate: 150.0,
        ..Offered::default()
    };
    let diagnosis = play(&mut process, &offered);
    let found = diagnosis.finding("N4");
    assert!(
        found.sentence.contains("the network loses packets"),
        "{found:#?}"
    );
    assert_eq!(diagnosis.cause_of(found), None, "{:#?}", diagnosis.findings);
}

fn upstream_ports() {
    let Some(_inside) = Namespace::enter(40_000, 40_199) else {
        return;
    };
    // Its backlog holds all connections: they need not be accepted.
    let _upstream = strain::listen(1024, 15_432);
    let mut process = Strained::start(&Setup {
        port: 18_080,
        strain: &["dial", "190", "127.0.0.1:15432"],
        ..Setup::default()
    });
    let offered = Offered {
        connections_max: 4,
        ..Offered::default()
    };
    let diagnosis = play(&mut process, &offered);
    diagnosis.best_is(
        "N12",
        "190 of 200 local ports were in use towards 127.0.0.1:15432",
    );
}

fn kernel_setting() {
    let Some(_inside) = Namespace::enter(40_000, 40_049) else {
        return;
    };
    let name = "net.ipv4.ip_local_port_range";
    let (from, to) = tunables::kernel_setting(name).expect("it is read");
    assert_eq!((from.as_str(), to.as_str()), ("40000 40049", "10240 65535"));
    let change = Change::Kernel {
        name: name.to_owned(),
        from,
        to,
    };
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let (access, journal) = (ComponentAccess::default(), folder.path().join("a.undo"));
    let now = || std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let is = |range: &str| now().is_ok_and(|now| now.split_whitespace().eq(range.split(' ')));
    let changed = Changed::make(change, &access, &journal).expect("root may change it");
    assert!(is("10240 65535") && journal.exists());
    drop(changed);
    assert!(is("40000 40049") && !journal.exists());
}

fn cpu() {
    let threads = std::thread::available_parallelism().map_or(2, usize::from) * 2;
    let mut process = Strained::start(&Setup {
        strain: &["spin", &threads.to_string()],
        ..Setup::default()
    });
    let diagnosis = play(&mut process, &Offered::default());
    // Holds beside other work too: the target takes most of the CPUs from it.
    let found = diagnosis.finding("C1");
    assert!(
        found.sentence.contains("tasks waited for them"),
        "{}",
        found.sentence
    );
    let busy = diagnosis.strained(metric::CPU_BUSY);
    if !diagnosis.is_disturbed() && diagnosis.strained(&of_target(metric::PROCESS_CPU)) > busy * 0.6
    {
        assert_eq!(found.certainty, Certainty::Suspected, "{found:#?}");
    }
}

fn quota() {
    let Some(cgroup) = Cgroup::fifth_of_a_cpu() else {
        return;
    };
    let mut process = Strained::start(&Setup {
        strain: &["spin", "1"],
        ..Setup::default()
    });
    cgroup.take(process.pid());
    let diagnosis = play(&mut process, &Offered::default());
    diagnosis.best_is("C2", "it may use 0.20 CPUs");
    assert_eq!(diagnosis.finding("C2").certainty, Certainty::Explicit);
    // Throttled for most of each period, whatever else runs: a spinning thread always uses its quota up.
    let used =
        diagnosis.strained(&of_target(metric::PROCESS_CPU)) * diagnosis.strained(metric::CPU_COUNT);
    assert!(
        (0.1..0.35).contains(&used),
        "a fifth of a CPU was used, not {used}"
    );
    drop(process);
}

fn one_thread() {
    let mut process = Strained::start(&Setup {
        strain: &["spin", "1"],
        ..Setup::default()
    });
    let diagnosis = play(&mut process, &Offered::default());
    let busiest = diagnosis.strained(&of_target(metric::THREAD_BUSIEST));
    assert!(
        busiest > 0.3,
        "a spinning thread gets a good part of a CPU: {busiest}"
    );
    let others =
        diagnosis.strained(metric::CPU_BUSY) - diagnosis.strained(&of_target(metric::PROCESS_CPU));
    if diagnosis.is_disturbed() || others > 0.15 || diagnosis.strained(metric::CPU_COUNT) < 1.5 {
        plimsoll_testkit::not_tried::not_tried("one busy thread beside idle CPUs");
    } else {
        diagnosis.best_is("C3", "thread spin (");
    }
}

fn memory_limit() {
    let Some(cgroup) = Cgroup::small_memory() else {
        return;
    };
    let mut process = Strained::start(&Setup {
        strain: &["eat", "256"],
        ..Setup::default()
    });
    cgroup.take(process.pid());
    let diagnosis = play(&mut process, &Offered::default());
    diagnosis.best_is("M2", "; its limit is 48 MiB");
    assert_eq!(diagnosis.finding("M2").certainty, Certainty::Explicit);
    drop(process);
}

fn full_file_system() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let Some(mounted) = Mounted::small(folder.path()) else {
        return;
    };
    let file = folder.path().join("data").display().to_string();
    let mut process = Strained::start(&Setup {
        strain: &["fill", &file],
        ..Setup::default()
    });
    let diagnosis = play(&mut process, &Offered::default());
    drop(process);
    drop(mounted);
    let expected = format!("the file system at {} was full", folder.path().display());
    diagnosis.best_is("D4", &expected);
    assert_eq!(diagnosis.finding("D4").certainty, Certainty::Explicit);
}

fn threads() {
    let Some(cgroup) = Cgroup::few_threads() else {
        return;
    };
    let mut process = Strained::start(&Setup {
        strain: &["threads"],
        ..Setup::default()
    });
    cgroup.take(process.pid());
    let diagnosis = play(&mut process, &Offered::default());
    diagnosis.best_is("F2", "of at most 24 processes and threads");
    assert_eq!(diagnosis.finding("F2").certainty, Certainty::Explicit);
    drop(process);
}

fn descriptors() {
    let mut process = Strained::start(&Setup {
        files: 64,
        strain: &["hoard"],
        ..Setup::default()
    });
    let diagnosis = play(&mut process, &Offered::default());
    diagnosis.best_is("F1", "of at most 64 file descriptors");
    assert_eq!(diagnosis.finding("F1").certainty, Certainty::Explicit);
}
