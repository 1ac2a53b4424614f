//! One case for each limit, and a healthy run.

use plimsoll_model::finding::Certainty;
use plimsoll_model::metric::{self, series};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::cgroup::Cgroup;
use crate::namespace::Namespace;
use crate::scene::{Offered, Setup, Strained, play};
use crate::strain;

/// Every case with its name.
pub(crate) const ALL: [(&str, fn()); 11] = [
    ("healthy_run_is_silent", healthy),
    ("g1_generator_cpu", generator_cpu),
    ("g2_generator_ports", generator_ports),
    ("n1_accept_backlog", accept_backlog),
    ("n12_upstream_ports", upstream_ports),
    ("c1_cpu", cpu),
    ("c2_cgroup_quota", quota),
    ("c3_one_thread", one_thread),
    ("m2_memory_limit", memory_limit),
    ("f1_descriptors", descriptors),
    // Last: who is not root cannot raise the limit again.
    ("g3_generator_descriptors", generator_descriptors),
];

fn of_target(metric: &str) -> String {
    series(metric, &[("process", metric::TARGET)])
}

fn healthy() {
    // Counters of one's own, where that is allowed: what others overflow must not be heard here.
    let _inside = Namespace::enter(32_768, 60_999);
    let mut process = Strained::start(&Setup::default());
    let seen = play(&mut process, &Offered::default());
    if seen.is_disturbed() || seen.strained(metric::CPU_BUSY) > 0.5 {
        // Other work may use up the CPUs, and make the generator late; nothing else may be found.
        let of_the_cpu = ["C1", "G1"];
        let others = seen
            .findings
            .iter()
            .filter(|found| !of_the_cpu.contains(&found.rule.as_str()));
        assert_eq!(others.count(), 0, "{:#?}", seen.findings);
    } else {
        assert_eq!(seen.findings, []);
    }
}

fn generator_cpu() {
    let mut process = Strained::start(&Setup::default());
    let offered = Offered {
        rate: 400_000.0,
        connections_max: 32,
        ..Offered::default()
    };
    let seen = play(&mut process, &offered);
    let found = seen.finding("G1");
    assert!(
        found.sentence.contains("the generator took up arrivals"),
        "{}",
        found.sentence
    );
    if !seen.is_disturbed() {
        seen.best_is("G1", "of a core");
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
    let seen = play(&mut process, &offered);
    seen.best_is("G2", "ran out of local ports towards 127.0.0.1:18080");
    let limit = seen.strained(metric::PORTS_LIMIT);
    assert!(
        (limit - 50.0).abs() < 0.5,
        "the namespace has 50 ports, not {limit}"
    );
}

fn generator_descriptors() {
    // It listens and answers nobody, so that every request holds a connection until its time-out.
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
    let seen = play(&mut process, &offered);
    let _ = setrlimit(Resource::Nofile, before);
    // The probe shares the process: without descriptors it may have read nothing more, the limit neither.
    seen.best_is("G3", "ran out of file descriptors");
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
    let seen = play(&mut process, &offered);
    let listener = process.address.to_string();
    seen.best_is("N1", &format!("the accept queue of {listener} overflowed"));
    let found = seen.finding("N1");
    assert!(
        found.sentence.ends_with("its backlog is 8"),
        "{}",
        found.sentence
    );
    assert_eq!(found.certainty, Certainty::Explicit);
    // The kernel lets one more in than the backlog says.
    let labels = [("listener", listener.as_str()), ("process", metric::TARGET)];
    let queue = seen.strained(&series(metric::LISTEN_QUEUE, &labels));
    assert!(queue > 4.0, "the queue was seen to be full: {queue}");
}

fn upstream_ports() {
    let Some(_inside) = Namespace::enter(40_000, 40_199) else {
        return;
    };
    // Its backlog holds all connections: nobody needs to accept them.
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
    let seen = play(&mut process, &offered);
    seen.best_is(
        "N12",
        "190 of 200 local ports were in use towards 127.0.0.1:15432",
    );
}

fn cpu() {
    let threads = std::thread::available_parallelism().map_or(2, usize::from) * 2;
    let mut process = Strained::start(&Setup {
        strain: &["spin", &threads.to_string()],
        ..Setup::default()
    });
    let seen = play(&mut process, &Offered::default());
    // Holds beside other work too: the target takes most of the CPUs from it.
    let found = seen.finding("C1");
    assert!(
        found.sentence.contains("tasks waited for them"),
        "{}",
        found.sentence
    );
    let busy = seen.strained(metric::CPU_BUSY);
    if !seen.is_disturbed() && seen.strained(&of_target(metric::PROCESS_CPU)) > busy * 0.6 {
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
    let seen = play(&mut process, &Offered::default());
    seen.best_is("C2", "it may use 0.20 CPUs");
    assert_eq!(seen.finding("C2").certainty, Certainty::Explicit);
    // Throttled for most of each period, whatever else runs: a spinning thread always uses its quota up.
    let used = seen.strained(&of_target(metric::PROCESS_CPU)) * seen.strained(metric::CPU_COUNT);
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
    let seen = play(&mut process, &Offered::default());
    let busiest = seen.strained(&of_target(metric::THREAD_BUSIEST));
    assert!(
        busiest > 0.3,
        "a spinning thread gets a good part of a CPU: {busiest}"
    );
    let others = seen.strained(metric::CPU_BUSY) - seen.strained(&of_target(metric::PROCESS_CPU));
    if seen.is_disturbed() || others > 0.15 || seen.strained(metric::CPU_COUNT) < 1.5 {
        println!("NOT TRIED: one busy thread beside idle CPUs");
    } else {
        seen.best_is("C3", "thread spin (");
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
    let seen = play(&mut process, &Offered::default());
    seen.best_is("M2", "killed for want of memory; its limit is 48 MiB");
    assert_eq!(seen.finding("M2").certainty, Certainty::Explicit);
    drop(process);
}

fn descriptors() {
    let mut process = Strained::start(&Setup {
        files: 64,
        strain: &["hoard"],
        ..Setup::default()
    });
    let seen = play(&mut process, &Offered::default());
    seen.best_is("F1", "of at most 64 file descriptors");
    assert_eq!(seen.finding("F1").certainty, Certainty::Explicit);
}
