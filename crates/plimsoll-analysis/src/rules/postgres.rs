//! Rules about PostgreSQL, from its own metrics.

pub(crate) mod work;

use plimsoll_model::metric;

use crate::diagnosis::bounds::CONNECTIONS_FULL;
use crate::diagnosis::component::{place, written};
use crate::diagnosis::measure::sustained;
use crate::diagnosis::rule::{RuleMatch, Sign, Words, append_clause};
use crate::diagnosis::statements::most;
use crate::diagnosis::stretch::{View, bounded};

/// Running sessions to one CPU above which they wait for CPUs.
const RUNNING_PER_CPU: f64 = 1.5;
/// Mean number of active sessions below which shares of them are not significant.
pub(crate) const ACTIVE_MIN: f64 = 1.0;
/// Shares of the active sessions that wait, above which it is a limit.
const LOCK_MAX: f64 = 0.10;
const LIGHT_LOCK_MAX: f64 = 0.20;
const READ_MAX: f64 = 0.20;
const COMMIT_MAX: f64 = 0.15;
/// Share of the blocks found in memory below which the working set does not fit.
const HIT_MIN: f64 = 0.95;

/// What is waited for: labels of active sessions.
pub(crate) type WaitLabels = &'static [(&'static str, &'static str)];
pub(crate) const LOCK: WaitLabels = &[("wait", "lock")];
const LIGHT_LOCK: WaitLabels = &[("wait", "lwlock")];
const READ: WaitLabels = &[("event", "DataFileRead")];
const COMMIT: WaitLabels = &[("event", "WALSync"), ("event", "WALWrite")];

pub(crate) fn sessions(label_set: &str, state: &str) -> String {
    metric::series(
        metric::POSTGRES_SESSIONS,
        &[("at", place(label_set)), ("state", state)],
    )
}

fn active(label_set: &str, (name, value): (&str, &str)) -> String {
    metric::series(
        metric::POSTGRES_ACTIVE,
        &[("at", place(label_set)), (name, value)],
    )
}

pub(crate) fn of(metric: &str, label_set: &str) -> String {
    metric::series(metric, &[("at", place(label_set))])
}

/// Every server, as the subject of a rule.
pub(crate) fn servers(view: &View<'_>) -> Vec<String> {
    let all = view.series_of(metric::POSTGRES_REFUSED);
    all.map(|series| metric::series("", &[("at", place(series))]))
        .collect()
}

/// Share of the active sessions, over the stretch, that wait for one of these; `None` where there are too few.
pub(crate) fn share(view: &View<'_>, label_set: &str, waits: WaitLabels) -> Option<f64> {
    let all = view.mean(&sessions(label_set, "active"));
    let all = all.filter(|&all| all >= ACTIVE_MIN)?;
    let waiting = waits
        .iter()
        .filter_map(|wait| view.mean(&active(label_set, *wait)));
    Some(waiting.sum::<f64>() / all)
}

fn waits(view: &View<'_>, waits: WaitLabels, above: f64) -> Vec<Sign> {
    let signs = servers(view).into_iter().filter_map(|label_set| {
        let share = share(view, &label_set, waits)?;
        Some(Sign {
            label_set,
            magnitude: share,
            present: share > above,
        })
    });
    signs.collect()
}

/// Sessions that anybody may have: some are kept for administrators.
fn most_sessions(view: &View<'_>, at: &str) -> Option<f64> {
    let (most, _) = view.setting(at, "max_connections", "")?;
    let reserved = view.setting(at, "superuser_reserved_connections", "");
    Some(most - reserved.map_or(0.0, |(reserved, _)| reserved))
}

/// P1: as many sessions as there may be, or nearly.
pub(crate) fn connections(view: &View<'_>) -> Vec<Sign> {
    let signs = servers(view).into_iter().filter_map(|label_set| {
        let most = most_sessions(view, place(&label_set)).unwrap_or(f64::INFINITY);
        let (all, refused) = (
            sessions(&label_set, "all"),
            of(metric::POSTGRES_REFUSED, &label_set),
        );
        let share = view.share_of_seconds(|row| {
            let is_full = row
                .get(&all)
                .is_some_and(|all| all >= CONNECTIONS_FULL * most);
            Some(row.get(&refused)? > 0.0 || is_full)
        });
        sustained(&label_set, share)
    });
    signs.collect()
}

pub(crate) fn connections_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let setting = view.setting(at, "max_connections", "");
    let most = most_sessions(view, at);
    let (all, idle) = (
        sessions(case.label_set, "all"),
        sessions(case.label_set, "idle"),
    );
    let mut sentence = match (most, view.max(&all)) {
        (Some(most), Some(all)) => {
            format!(
                "PostgreSQL had up to {all:.0} sessions and allows {most:.0} for non-superusers"
            )
        }
        _ => "PostgreSQL refused sessions because `max_connections` was reached".to_owned(),
    };
    if let Some(idle) = view.mean(&idle).filter(|&idle| idle >= 1.0) {
        append_clause(
            &mut sentence,
            format_args!("; {idle:.0} of them were idle, on average"),
        );
    }
    let now = setting.map(|(now, file)| format!(" (now {now:.0}){}", written(file)));
    Words::new(format!("max_connections of PostgreSQL ({at})"), sentence)
        .with(bounded(
            case.line(&all, "sessions of clients"),
            most.map(|most| CONNECTIONS_FULL * most),
        ))
        .with(case.line(&sessions(case.label_set, "active"), "sessions executing a statement"))
        .with(case.line(&idle, "idle sessions"))
        .advising(format!(
            "let clients share sessions: a smaller pool in each process, or pgbouncer in transaction mode; raising \
             `max_connections`{} costs memory for each session and needs a restart",
            now.unwrap_or_default()
        ))
}

/// P2: more sessions run than the CPUs can carry. Told only where the server's CPUs are known: those of the target's
/// machine.
pub(crate) fn cpu(view: &View<'_>) -> Vec<Sign> {
    let signs = servers(view).into_iter().filter_map(|label_set| {
        let running = active(&label_set, ("wait", "none"));
        let share = view.share_of_seconds(|row| {
            let local = row.get(metric::TARGET_IS_LOCAL)? > 0.0;
            Some(local && row.get(&running)? > RUNNING_PER_CPU * row.get(metric::CPU_COUNT)?)
        });
        sustained(&label_set, share)
    });
    signs.collect()
}

pub(crate) fn cpu_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let running = active(case.label_set, ("wait", "none"));
    let cpus = view.max(metric::CPU_COUNT).unwrap_or(0.0);
    let mut sentence = format!(
        "{:.0} statements ran at once in PostgreSQL, on average, on {cpus:.0} CPUs",
        view.mean(&running).unwrap_or(0.0)
    );
    append_statement(&mut sentence, case, metric::POSTGRES_RUNNING, "most of all");
    Words::new(
        format!("CPU for PostgreSQL ({})", place(case.label_set)),
        sentence,
    )
    .with(bounded(
        case.line(&running, "sessions running without a wait"),
        Some(RUNNING_PER_CPU * cpus),
    ))
    .with(case.line(metric::CPU_BUSY, "share of all CPUs that was busy"))
}

/// Names the statement that most sessions have.
pub(crate) fn append_statement(
    sentence: &mut String,
    case: &RuleMatch<'_>,
    metric: &'static str,
    what: &str,
) {
    let at = place(case.label_set);
    if let Some((statement, _)) = most(case.failing(), metric, at, "statement").first() {
        append_clause(sentence, format_args!("; {what}: `{statement}`"));
    }
}

/// The texts of a wait that takes a share of the active sessions.
fn wait_words(
    case: &RuleMatch<'_>,
    limit: &str,
    what: &str,
    waits: WaitLabels,
    above: f64,
) -> Words {
    let label_set = case.label_set;
    let first = active(label_set, waits[0]);
    let waiting = case.over.evidence(
        (&first, "share of active sessions that wait for it", "1"),
        |view| share(view, label_set, waits),
    );
    let sentence = format!(
        "{:.0} % of PostgreSQL's active sessions waited {what}",
        waiting.failing.unwrap_or(0.0) * 100.0
    );
    Words::new(
        format!("{limit} in PostgreSQL ({})", place(label_set)),
        sentence,
    )
    .with(bounded(waiting, Some(above)))
    .with(case.line(
        &sessions(label_set, "active"),
        "sessions executing a statement",
    ))
}

/// P3: sessions wait for each other's locks.
pub(crate) fn locks(view: &View<'_>) -> Vec<Sign> {
    waits(view, LOCK, LOCK_MAX)
}

pub(crate) fn locks_words(case: &RuleMatch<'_>) -> Words {
    let waited = of(metric::POSTGRES_LOCKS_WAITED, case.label_set);
    let mut words = wait_words(
        case,
        "locks",
        "for a lock held by another session",
        LOCK,
        LOCK_MAX,
    )
    .with(case.line(&waited, "contended locks"));
    append_statement(
        &mut words.sentence,
        case,
        metric::POSTGRES_WAITING,
        "most of them to execute",
    );
    append_statement(
        &mut words.sentence,
        case,
        metric::POSTGRES_BLOCKING,
        "the holder's current or last statement",
    );
    words
}

/// P4.
pub(crate) fn light_locks(view: &View<'_>) -> Vec<Sign> {
    waits(view, LIGHT_LOCK, LIGHT_LOCK_MAX)
}

pub(crate) fn light_locks_words(case: &RuleMatch<'_>) -> Words {
    let mut words = wait_words(
        case,
        "internal locks",
        "for an internal lock",
        LIGHT_LOCK,
        LIGHT_LOCK_MAX,
    );
    let events = most(
        case.failing(),
        metric::POSTGRES_ACTIVE,
        place(case.label_set),
        "event",
    );
    let internal = events.iter().find(|(event, _)| *event != "DataFileRead");
    if let Some((event, _)) = internal {
        append_clause(&mut words.sentence, format_args!(", most of all {event}"));
    }
    words
}

fn hit_ratio(view: &View<'_>, label_set: &str) -> Option<f64> {
    let hit = view.mean(&of(metric::POSTGRES_BLOCKS_HIT, label_set))?;
    let read = view.mean(&of(metric::POSTGRES_BLOCKS_READ, label_set))?;
    (hit + read > 0.0).then(|| hit / (hit + read))
}

/// P5: blocks are read from files, and found in memory too seldom.
pub(crate) fn reads(view: &View<'_>) -> Vec<Sign> {
    let mut signs = waits(view, READ, READ_MAX);
    for sign in &mut signs {
        sign.present &= hit_ratio(view, &sign.label_set).is_some_and(|ratio| ratio < HIT_MIN);
    }
    signs
}

pub(crate) fn reads_words(case: &RuleMatch<'_>) -> Words {
    let label_set = case.label_set;
    let hits = case.over.evidence(
        (
            &of(metric::POSTGRES_BLOCKS_HIT, label_set),
            "share of blocks found in memory",
            "1",
        ),
        |view| hit_ratio(view, label_set),
    );
    let setting = case
        .failing()
        .setting(place(label_set), "shared_buffers", "");
    let now =
        setting.map(|(now, file)| format!(" (now {:.0} MiB){}", now / 1_048_576.0, written(file)));
    let mut words = wait_words(case, "buffers", "for blocks of files", READ, READ_MAX)
        .with(bounded(hits, Some(HIT_MIN)))
        .advising(format!(
            "read less: add an index for the columns searched; then add memory: `shared_buffers`{}, which needs a \
             restart, or RAM for the page cache",
            now.unwrap_or_default()
        ));
    append_statement(
        &mut words.sentence,
        case,
        metric::POSTGRES_RUNNING,
        "most of all to execute",
    );
    words
}

/// P6: commits wait for the log.
pub(crate) fn commits(view: &View<'_>) -> Vec<Sign> {
    waits(view, COMMIT, COMMIT_MAX)
}

pub(crate) fn commits_words(case: &RuleMatch<'_>) -> Words {
    let [commits, wal] =
        [metric::POSTGRES_COMMITS, metric::POSTGRES_WAL].map(|metric| of(metric, case.label_set));
    wait_words(
        case,
        "the write-ahead log",
        "for the write-ahead log",
        COMMIT,
        COMMIT_MAX,
    )
    .with(case.line(&commits, "transactions committed, per second"))
    .with(case.line(&wal, "written to the write-ahead log, per second"))
}
