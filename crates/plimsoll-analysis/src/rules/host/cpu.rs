//! Rules about CPU steal, kernel time, handshakes, lock contention, and throttling.

pub(crate) mod busy;
pub(crate) mod thread;

use plimsoll_model::metric;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::window::Window;

use crate::diagnosis::measure::{
    SUSTAINED, cpu_without_generator, of_target, of_target_with, sustained,
};
use crate::diagnosis::rule::{RuleMatch, Sign, Words, append_clause};
use crate::diagnosis::stretch::{Stretch3, View, bounded};

/// Share of the CPUs' time that a hypervisor may take.
const STEAL_MAX: f64 = 0.05;
/// Mean busy share below which the machine has CPU to spare.
const CPU_TO_SPARE: f64 = 0.7;
/// Busy share from which the use of the CPU matters.
const CPU_SHORT: f64 = 0.9;
/// Share of the target's CPU time in the kernel above which the kernel is the limit.
const SYSTEM_MAX: f64 = 0.5;
/// Part of the busy CPU that must be the target's.
const MOSTLY: f64 = 0.5;
/// How many times more often threads of the target wait, for each request, than at the load that passed.
const WAITS_GROWTH: f64 = 2.0;
/// Threads that wait for a lock at once from which that is contention.
const LOCKED_MIN: f64 = 4.0;
/// Least growth of the offered load, and largest growth of throughput, for throughput to count as flat.
const FLAT: f64 = 1.1;
/// Times that threads were put off the CPU, for each time that they left it themselves.
const INVOLUNTARY_MAX: f64 = 0.25;
/// Clock as a share of the rated one below which CPUs are slowed down.
const CLOCK_MIN: f64 = 0.8;
/// Handshakes per answer from which connections are not kept, and per second.
const HANDSHAKES_MAX: f64 = 0.5;
const HANDSHAKES_MIN: f64 = 1.0;
/// What makes handshakes fewer and cheaper.
pub(crate) const FEWER_HANDSHAKES: &str = "keep connections alive longer (`keepalive_timeout` in nginx, `timeout \
    http-keep-alive` in HAProxy), resume sessions (`ssl_session_cache shared:TLS:10m`), and use an ECDSA certificate \
    instead of RSA";
/// CPUs that have little to do are slow because they may.
const CLOCK_BUSY: f64 = 0.5;

fn steal() -> String {
    metric::series(metric::CPU_UTILIZATION, &[("cpu.mode", "steal")])
}

fn percent(share: Option<f64>) -> f64 {
    share.unwrap_or(0.0) * 100.0
}

/// C4. Where steal invalidates all steps, each finding notes it.
pub(crate) fn stolen(view: &View<'_>) -> Vec<Sign> {
    if view.context.robbed {
        return Vec::new();
    }
    let steal = steal();
    let share = view.share_of_seconds(|row| Some(row.get(&steal)? > STEAL_MAX));
    sustained("", share).into_iter().collect()
}

pub(crate) fn stolen_words(case: &RuleMatch<'_>) -> Words {
    let steal = steal();
    Words::new(
        "CPU steal (the hypervisor serves other guests)",
        format!(
            "the hypervisor took {:.0} % of this machine's CPU time: the measurement does not show the service's own limit",
            percent(case.failing().mean(&steal))
        ),
    )
    .with(bounded(
        case.line(&steal, "share of CPU time stolen"),
        Some(STEAL_MAX),
    ))
    .with(case.line(metric::CPU_BUSY, "share of all CPUs that was busy"))
    // It is not the target's doing.
    .doubtful_if(true)
}

/// Context switches of the target's threads per request. Per answer would mislead: late answers do not count, which
/// inflates the ratio.
fn switches(view: &View<'_>, kind: &str) -> Option<f64> {
    let series = of_target_with(
        metric::PROCESS_SWITCHES,
        &[("process.context_switch.type", kind)],
    );
    let (_, requests) = rates(view)?;
    Some(view.mean(&series)? / requests.max(1.0))
}

/// Answers and arrivals per second.
fn rates(view: &View<'_>) -> Option<(f64, f64)> {
    let seconds = view.windows().len().max(1) as f64;
    let answers = view.sum(|window| window.outcomes.get(Outcome::Ok))? as f64 / seconds;
    let offered = view.sum(|window| window.offered.max(window.sent))? as f64 / seconds;
    Some((answers, offered))
}

/// C5: the offered load grows but not the throughput, the CPUs are idle, and threads block much more often.
pub(crate) fn contention(over: &Stretch3<'_>) -> Vec<Sign> {
    let (failing, passing) = (&over.failing, &over.passing);
    let sign = || {
        let (answers, offered) = rates(failing)?;
        let (answers_before, offered_before) = rates(passing)?;
        let pushed = switches(failing, "involuntary").unwrap_or(0.0);
        let idle = failing
            .share_of_seconds(|row| Some(cpu_without_generator(row)? < CPU_TO_SPARE))
            .is_some_and(|share| share > 1.0 - SUSTAINED);
        let threads = failing.mean(&of_target(metric::PROCESS_THREADS))?;
        let is_flat = offered >= FLAT * offered_before && answers <= FLAT * answers_before;
        let growth = waits_growth(over);
        let is_waiting = growth >= WAITS_GROWTH
            && pushed < INVOLUNTARY_MAX * switches(failing, "voluntary").unwrap_or(0.0);
        let locked = locked_growth(over);
        let is_locked = locked >= WAITS_GROWTH;
        Some(Sign::lone(
            growth.max(locked),
            is_flat && (is_waiting || is_locked) && idle && threads > 1.5,
        ))
    };
    sign().into_iter().collect()
}

/// How many times as often the target's threads leave the CPU by themselves, for each request, as at the load that passed.
fn waits_growth(over: &Stretch3<'_>) -> f64 {
    let waits = switches(&over.failing, "voluntary");
    let before = switches(&over.passing, "voluntary").filter(|&waits| waits > 0.0);
    waits
        .zip(before)
        .map_or(0.0, |(waits, before)| waits / before)
}

fn lock_series() -> String {
    of_target_with(metric::THREAD_WAITS, &[("on", "lock")])
}

/// Ratio of the target's threads waiting for a lock to those at the load that passed, where these are several: idle
/// threads wait for one too, but get fewer under load.
fn locked_growth(over: &Stretch3<'_>) -> f64 {
    let locked = over.failing.mean(&lock_series()).unwrap_or(0.0);
    let before = over.passing.mean(&lock_series()).unwrap_or(0.0);
    if locked < LOCKED_MIN {
        return 0.0;
    }
    locked / before.max(0.5)
}

pub(crate) fn contention_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let each = switches(view, "voluntary").unwrap_or(0.0);
    let threads = view
        .mean(&of_target(metric::PROCESS_THREADS))
        .unwrap_or(0.0);
    let evidence = case.over.evidence(
        (
            metric::PROCESS_SWITCHES,
            "voluntary context switches of its threads, per request",
            "1",
        ),
        |view| switches(view, "voluntary"),
    );
    let busy = percent(view.mean(metric::CPU_BUSY));
    let sentence = if locked_growth(case.over) >= WAITS_GROWTH {
        format!(
            "{:.1} of the target's {threads:.0} threads on average waited for a lock, {:.1} at the load that passed, \
             while the CPUs were {busy:.0} % busy and throughput did not rise",
            view.mean(&lock_series()).unwrap_or(0.0),
            case.over.passing.mean(&lock_series()).unwrap_or(0.0)
        )
    } else {
        format!(
            "the target's {threads:.0} threads blocked {each:.0} times per request, at least twice as often as at the \
             load that passed, while the CPUs were {busy:.0} % busy and throughput did not rise"
        )
    };
    Words::new("a lock that the target's threads wait for", sentence)
        .with(case.line(&lock_series(), "threads waiting for a lock"))
        .with(evidence)
        .with(case.line(metric::CPU_BUSY, "share of all CPUs that was busy"))
        .with(case.line(&of_target(metric::PROCESS_THREADS), "threads of the target"))
}

/// Share of the target's CPU time that it spent in the kernel.
fn system_share(view: &View<'_>) -> Option<f64> {
    let of = |mode| {
        view.mean(&of_target_with(
            metric::PROCESS_CPU_TIME,
            &[("cpu.mode", mode)],
        ))
    };
    let (user, system) = (of("user")?, of("system")?);
    (user + system > 0.0).then(|| system / (user + system))
}

/// C6: no CPU left, most of it is the target's, and that is in the kernel.
pub(crate) fn kernel_time(view: &View<'_>) -> Vec<Sign> {
    let Some(share) = system_share(view) else {
        return Vec::new();
    };
    let target = of_target(metric::PROCESS_CPU);
    let short = view.share_of_seconds(|row| {
        let busy = row.get(metric::CPU_BUSY)?;
        Some(busy >= CPU_SHORT && row.get(&target)? > MOSTLY * busy)
    });
    let is_short = sustained("", short).is_some_and(|sign| sign.present);
    vec![Sign::lone(share, share > SYSTEM_MAX && is_short)]
}

pub(crate) fn kernel_time_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let evidence = case.over.evidence(
        (
            metric::PROCESS_CPU_TIME,
            "share of the target's CPU time in the kernel",
            "1",
        ),
        system_share,
    );
    Words::new(
        "CPU time in the kernel",
        format!(
            "the CPUs were {:.0} % busy, and the target spent {:.0} % of its CPU time in the kernel: system calls, \
             copies and small packets",
            percent(view.mean(metric::CPU_BUSY)),
            percent(system_share(view))
        ),
    )
    .with(bounded(evidence, Some(SYSTEM_MAX)))
    .with(case.line(metric::CPU_BUSY, "share of all CPUs that was busy"))
}

/// C7: CPUs run below their rated clock under load, or report throttling.
pub(crate) fn clock(view: &View<'_>) -> Vec<Sign> {
    let busy = view.mean(metric::CPU_BUSY).unwrap_or(0.0);
    let slowed = view.mean(metric::CPU_SLOWED);
    let clock = view.mean(metric::CPU_CLOCK);
    if slowed.is_none() && clock.is_none() {
        return Vec::new();
    }
    let is_slow = clock.is_some_and(|clock| clock < CLOCK_MIN);
    let is_slowed = slowed.is_some_and(|times| times > 0.0);
    vec![Sign::lone(
        1.0 - clock.unwrap_or(1.0) + slowed.unwrap_or(0.0),
        busy >= CLOCK_BUSY && (is_slow || is_slowed),
    )]
}

pub(crate) fn clock_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let mut sentence = match view.mean(metric::CPU_CLOCK) {
        Some(clock) => format!(
            "the CPUs ran at {:.0} % of their rated clock",
            clock * 100.0
        ),
        None => "the CPUs throttled themselves".to_owned(),
    };
    append_clause(
        &mut sentence,
        format_args!(
            " while they were {:.0} % busy: heat, or a power limit",
            percent(view.mean(metric::CPU_BUSY))
        ),
    );
    Words::new("clock of the CPUs", sentence)
        .with(bounded(
            case.line(metric::CPU_CLOCK, "clock as a share of the rated one"),
            Some(CLOCK_MIN),
        ))
        .with(bounded(
            case.line(metric::CPU_SLOWED, "throttle events, per second"),
            Some(0.0),
        ))
        .with(case.line(metric::CPU_BUSY, "share of all CPUs that was busy"))
        // It is not the target's doing.
        .doubtful_if(true)
}

/// TLS handshakes of the generator for each answer, and per second.
fn handshakes(view: &View<'_>) -> Option<(f64, f64)> {
    let answers = view.sum(Window::completed)?;
    let handshakes = view.sum(|window| window.handshakes)? as f64;
    let seconds = view.windows().len().max(1) as f64;
    Some((handshakes / (answers as f64).max(1.0), handshakes / seconds))
}

/// A clause and a remedy for a CPU that may be busy with handshakes, where there is at least one per two answers.
pub(crate) fn handshakes_clause(view: &View<'_>) -> Option<(String, &'static str)> {
    let (each, per_second) = handshakes(view)?;
    (each > HANDSHAKES_MAX && per_second >= HANDSHAKES_MIN).then(|| {
        let clause =
            format!("; there were {per_second:.0} TLS handshakes a second, {each:.1} per answer");
        (clause, FEWER_HANDSHAKES)
    })
}

/// N13: a handshake for every other answer, and no CPU left. The CPU share of cryptography is not measured, so the
/// certainty is never high.
pub(crate) fn tls(view: &View<'_>) -> Vec<Sign> {
    let Some((each, per_second)) = handshakes(view) else {
        return Vec::new();
    };
    let short = view.share_of_seconds(|row| Some(row.get(metric::CPU_BUSY)? >= CPU_SHORT));
    let is_short = sustained("", short).is_some_and(|sign| sign.present);
    vec![Sign::lone(
        each,
        each > HANDSHAKES_MAX && per_second >= HANDSHAKES_MIN && is_short,
    )]
}

pub(crate) fn tls_words(case: &RuleMatch<'_>) -> Words {
    let (each, per_second) = handshakes(case.failing()).unwrap_or_default();
    let evidence = case
        .over
        .evidence(("handshakes", "TLS handshakes per answer", "1"), |view| {
            Some(handshakes(view)?.0)
        });
    Words::new(
        "TLS handshakes",
        format!(
            "there were {per_second:.0} TLS handshakes a second, {each:.1} per answer, while the CPUs were {:.0} % busy",
            case.failing().mean(metric::CPU_BUSY).unwrap_or(0.0) * 100.0
        ),
    )
    .with(bounded(evidence, Some(HANDSHAKES_MAX)))
    .with(case.line(metric::CPU_BUSY, "share of all CPUs that was busy"))
    .doubtful_if(true)
}
