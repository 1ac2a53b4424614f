//! CPUs, on made-up series.

use plimsoll_model::finding::Certainty;
use plimsoll_model::metric::{self, series};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::window::Window;

use crate::diagnosis::rule_id::RuleId;
use crate::rules::host::tests::{calm, mode, stall, switches, target};
use crate::rules::tests::{SyntheticRun, cgroup, check, cpu_stall, of, rule_of, rules_and_causes};

#[test]
fn c1_no_cpu_left() {
    let busy = SyntheticRun::healthy()
        .set(metric::CPU_BUSY, [0.3, 0.9, 0.99])
        .set(&of(metric::PROCESS_CPU, metric::TARGET), [0.2, 0.8, 0.9])
        .set(&cpu_stall(), [0.01, 0.1, 0.6]);
    let expected = "the CPUs were 99 % busy (target 90 %, generator 5 %, others 4 %) and tasks waited for them 60 %";
    check(&busy, RuleId::C1, Certainty::Suspected, 0.8, expected);
    // Without PSI the run queue shows the waiting tasks.
    let no_pressure = busy.without(&cpu_stall());
    assert_eq!(no_pressure.find(), []);
    let queued = no_pressure.set(metric::RUN_QUEUE, [1.0, 3.0, 9.0]);
    check(&queued, RuleId::C1, Certainty::Suspected, 0.8, "99 % busy");
}

#[test]
fn c1_tells_by_program_who_uses_the_cpu() {
    let by = |process, comm| series(metric::PROCESS_CPU, &[("process", process), ("comm", comm)]);
    let run = SyntheticRun::healthy()
        .set(metric::CPU_BUSY, [0.3, 0.9, 0.99])
        .set(&of(metric::PROCESS_CPU, metric::TARGET), [0.01, 0.02, 0.02])
        .set(&by(metric::TARGET, "nginx"), [0.01, 0.02, 0.02])
        .set(&by(metric::BEHIND, "php-fpm8.2"), [0.1, 0.5, 0.7])
        .set(&by(metric::BEHIND, "mariadbd"), [0.05, 0.1, 0.2])
        .set(&cpu_stall(), [0.01, 0.1, 0.6]);
    let expected =
        "(php-fpm8.2 70 %, mariadbd 20 %, nginx 2 %, generator 5 %, others 2 %) and tasks waited";
    check(&run, RuleId::C1, Certainty::Suspected, 0.8, expected);
    // A database reports its statements.
    let labels = [
        ("at", "/run/mysqld/mysqld.sock"),
        ("statement", "SELECT * FROM wp_posts"),
    ];
    let with_database = run
        .set(&by(metric::BEHIND, "php-fpm8.2"), [0.1, 0.3, 0.3])
        .set(&by(metric::BEHIND, "mariadbd"), [0.05, 0.4, 0.6])
        .set(&series(metric::MYSQL_RUNNING, &labels), [0.1, 1.0, 2.0]);
    let expected = "; mariadbd mostly executed `SELECT * FROM wp_posts`";
    check(
        &with_database,
        RuleId::C1,
        Certainty::Suspected,
        0.8,
        expected,
    );
}

#[test]
fn c1_is_only_possible_when_others_use_the_cpu() {
    let run = SyntheticRun::healthy()
        .set(metric::CPU_BUSY, [0.3, 0.9, 1.0])
        .set(&of(metric::PROCESS_CPU, metric::GENERATOR), [0.1, 0.4, 0.6])
        .set(&cpu_stall(), [0.01, 0.1, 0.6]);
    check(
        &run,
        RuleId::C1,
        Certainty::Possible,
        0.8,
        "generator, which needs a machine of its own",
    );
}

#[test]
fn c2_a_quota_that_stops_the_target() {
    let run = SyntheticRun::healthy().set(&cgroup(metric::CGROUP_CPU_THROTTLED), [0.0, 0.0, 8.0]);
    let expected =
        "cgroup /shop used up its CPU quota in 80 % of the periods; it may use 2.00 CPUs";
    check(&run, RuleId::C2, Certainty::Explicit, 1.0, expected);
    let rarely =
        SyntheticRun::healthy().set(&cgroup(metric::CGROUP_CPU_THROTTLED), [0.0, 0.0, 0.5]);
    assert_eq!(rarely.find(), [], "5 % is not above 5 %");
}

#[test]
fn c3_one_thread_that_is_always_busy() {
    let hot = [("process", metric::TARGET), ("tid", "77"), ("comm", "node")];
    let run = SyntheticRun::healthy()
        .set(
            &of(metric::THREAD_BUSIEST, metric::TARGET),
            [0.2, 0.9, 0.99],
        )
        .set(&series(metric::THREAD_BUSIEST, &hot), [0.2, 0.9, 0.99]);
    let expected =
        "thread node (77) used 99 % of one CPU while all CPUs together were 50 % busy (4 CPUs)";
    check(&run, RuleId::C3, Certainty::Suspected, 0.6, expected);
    // On two CPUs shared with the generator the machine is busier than 70 %, and still has CPU to spare.
    let shared = SyntheticRun::healthy()
        .set(
            &of(metric::THREAD_BUSIEST, metric::TARGET),
            [0.2, 0.9, 0.99],
        )
        .set(metric::CPU_BUSY, [0.3, 0.7, 0.85])
        .set(&of(metric::PROCESS_CPU, metric::GENERATOR), [0.1, 0.2, 0.3]);
    check(&shared, RuleId::C3, Certainty::Suspected, 0.6, "85 % busy");
}

#[test]
fn c3_one_thread_behind_the_target() {
    let run = |comm| {
        let hot = [("process", metric::BEHIND), ("tid", "78"), ("comm", comm)];
        SyntheticRun::healthy()
            .set(
                &of(metric::THREAD_BUSIEST, metric::BEHIND),
                [0.2, 0.9, 0.99],
            )
            .set(&series(metric::THREAD_BUSIEST, &hot), [0.2, 0.9, 0.99])
    };
    let expected = "thread node (78) used 99 % of one CPU while all CPUs together were 50 % busy";
    check(
        &run("node"),
        RuleId::C3,
        Certainty::Suspected,
        0.6,
        expected,
    );
    // A session of a database has one thread: the database's own rules explain what keeps it busy.
    assert_eq!(run("mariadbd").find(), []);
}

#[test]
fn c3_threads_that_take_turns_at_an_interpreter() {
    let named = |comm| {
        let labels = [("process", metric::TARGET), ("pid", "77"), ("comm", comm)];
        series(metric::PROCESS_CPU, &labels)
    };
    let run = SyntheticRun::healthy().set(&named("python3"), [0.05, 0.2, 0.26]);
    let expected = "all threads of python3 (77) together used 1.04 CPUs while all 4 CPUs together were 50 % busy";
    check(&run, RuleId::C3, Certainty::Suspected, 0.6, expected);
    // Another runtime may just need as much, and one with libraries that compute beside it needs more.
    for (comm, share) in [("java", 0.26), ("python3", 0.2), ("python3", 0.5)] {
        let run = SyntheticRun::healthy().set(&named(comm), [0.05, 0.1, share]);
        assert_eq!(run.find(), [], "{comm}, {share}");
    }
}

#[test]
fn handshakes_that_keep_one_thread_busy() {
    let busiest = metric::series(metric::THREAD_BUSIEST, &[("process", metric::TARGET)]);
    let run = calm()
        .set(&busiest, [0.2, 0.9, 0.99])
        .failing_windows(|window| window.handshakes = 800);
    let expected = "; there were 800 TLS handshakes a second, 0.8 per answer";
    check(&run, RuleId::C3, Certainty::Suspected, 0.6, expected);
    let found = run.find();
    assert!(found[0].remedy.contains("resume sessions"), "{found:#?}");
}

#[test]
fn cpus_that_others_use_or_that_are_hot() {
    let stolen = calm().set(&mode("steal"), [0.0, 0.01, 0.2]);
    let expected = "the hypervisor took 20 % of this machine's CPU time";
    check(&stolen, RuleId::C4, Certainty::Possible, 0.6, expected);
    let hot = calm().set(metric::CPU_CLOCK, [1.2, 1.1, 0.6]);
    let expected = "the CPUs ran at 60 % of their rated clock while they were 50 % busy";
    check(&hot, RuleId::C7, Certainty::Possible, 0.6, expected);
    // With little to do they may run slowly.
    let idle = hot.set(metric::CPU_BUSY, [0.2, 0.2, 0.2]);
    assert_eq!(idle.find(), []);
}

#[test]
fn cpu_time_in_the_kernel() {
    let system = target(metric::PROCESS_CPU_TIME, "cpu.mode", "system");
    let run = calm()
        .set(metric::CPU_BUSY, [0.3, 0.7, 0.95])
        .set(&of(metric::PROCESS_CPU, metric::TARGET), [0.2, 0.6, 0.9])
        .set(&system, [0.2, 1.0, 3.0]);
    let expected = "the target spent 75 % of its CPU time in the kernel";
    check(&run, RuleId::C6, Certainty::Suspected, 0.6, expected);
    let spare = calm().set(&system, [0.2, 1.0, 3.0]);
    assert_eq!(spare.find(), [], "there is CPU to spare");
    // The use of the CPU is reported beside its saturation.
    let full = run.set(&stall("cpu", "some"), [0.0, 0.1, 0.6]);
    let found = full.find();
    assert_eq!(rule_of(&found[0]), RuleId::C1, "{found:#?}");
    assert_eq!(rules_and_causes(&found)[1].1, Some(RuleId::C1));
}

#[test]
fn threads_that_wait_for_each_other() {
    let more: fn(&mut Window) = |window| {
        window.offered = 2000;
        window.sent = 2000;
    };
    let run = calm()
        .set(&switches("voluntary"), [400.0, 3200.0, 40_000.0])
        .failing_windows(more);
    let expected = "the target's 32 threads blocked 20 times per request";
    check(&run, RuleId::C5, Certainty::Suspected, 0.4, expected);
    let locked = target(metric::THREAD_WAITS, "on", "lock");
    let run = calm().set(&locked, [0.0, 2.0, 28.0]).failing_windows(more);
    let expected =
        "28.0 of the target's 32 threads on average waited for a lock, 2.0 at the load that passed";
    check(&run, RuleId::C5, Certainty::Suspected, 0.4, expected);
    // A pool's threads wait for one as well while they have nothing to do.
    let pool = calm().set(&locked, [30.0, 28.0, 9.0]).failing_windows(more);
    assert_eq!(pool.find(), []);
    let answered = calm()
        .set(&switches("voluntary"), [400.0, 3200.0, 8000.0])
        .failing_windows(|window| {
            window.offered = 2000;
            window.outcomes.add_many(Outcome::Ok, 1000);
        });
    assert_eq!(answered.find(), [], "twice as much was answered");
}
