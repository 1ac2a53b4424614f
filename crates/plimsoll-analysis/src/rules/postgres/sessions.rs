//! Sessions of PostgreSQL: too many, computing, or idle in a transaction.

use plimsoll_model::component::ComponentKind;
use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::{SeriesTable, label};

use crate::diagnosis::bounds::CONNECTIONS_FULL;
use crate::diagnosis::component::{of_component, place, subjects, written};
use crate::diagnosis::gauges::{Gauge, population, setting_of, share};
use crate::diagnosis::measure::sustained;
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{C1, P1, P2, P3, P4, P7, P8, P11};
use crate::diagnosis::statements::most;
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::databases::{self, ComputingSessions, append_statement};
use crate::rules::in_front::BEFORE_STORES;
use crate::rules::postgres::locks::locks;
use crate::rules::postgres::{active, sessions};

/// Running sessions to one CPU above which they wait for CPUs.
const RUNNING_PER_CPU: f64 = 1.5;
/// How long a transaction may be idle, s.
const IDLE_MAX_S: f64 = 5.0;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        P1,
        "PostgreSQL `max_connections`",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Store,
            symptom: Symptom::Signs(connections),
            words: connections_words,
            remedy: "let clients share sessions",
            explains: &[BEFORE_STORES, &[P11]],
        }],
    ),
    Rule::new(
        P2,
        "PostgreSQL CPU",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Store,
            symptom: Symptom::Signs(cpu),
            words: cpu_words,
            remedy: "find the most expensive statements and add an index for them, cache their \
                 results, or add CPUs or replicas",
            explains: &[BEFORE_STORES, &[P11, P1, P4, C1]],
        }],
    ),
    Rule::new(
        P8,
        "idle transactions",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Store,
            symptom: Symptom::Signs(idle),
            words: idle_words,
            remedy: "end transactions before waiting for anything else, and let the server end \
                 idle ones: `ALTER SYSTEM SET idle_in_transaction_session_timeout = '10s'`, then \
                 `SELECT pg_reload_conf()`",
            explains: &[BEFORE_STORES, &[P11, P1, P3]],
        }],
    ),
];

/// Sessions that anybody may have: some are kept for administrators.
fn most_sessions(view: &View<'_>, at: &str) -> Option<f64> {
    let (most, _) = view.setting(at, "max_connections", "")?;
    let reserved = view.setting(at, "superuser_reserved_connections", "");
    Some(most - reserved.map_or(0.0, |(reserved, _)| reserved))
}

/// P1: as many sessions as there may be, or nearly.
fn connections(view: &View<'_>) -> Vec<Sign> {
    let signs = subjects(view, metric::POSTGRES_REFUSED)
        .into_iter()
        .filter_map(|label_set| {
            let most = most_sessions(view, place(&label_set)).unwrap_or(f64::INFINITY);
            let (all, refused) = (
                sessions(&label_set, "all"),
                of_component(metric::POSTGRES_REFUSED, &label_set),
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

fn connections_words(case: &RuleMatch<'_>) -> Words {
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
/// machine, or of one that an agent watches.
fn cpu(view: &View<'_>) -> Vec<Sign> {
    let signs = subjects(view, metric::POSTGRES_REFUSED)
        .into_iter()
        .filter_map(|label_set| {
            let running = active(&label_set, ("wait", "none"));
            let share = view.share_of_seconds(|row| {
                let local = view.serves_requests_in(row)?;
                Some(local && row.get(&running)? > RUNNING_PER_CPU * row.get(metric::CPU_COUNT)?)
            });
            sustained(&label_set, share)
        });
    signs.collect()
}

fn cpu_words(case: &RuleMatch<'_>) -> Words {
    let computing = ComputingSessions {
        series: &active(case.label_set, ("wait", "none")),
        label: "sessions running without a wait",
        by_statement: metric::POSTGRES_RUNNING,
        per_cpu: RUNNING_PER_CPU,
    };
    databases::cpu_words(case, ComponentKind::Postgres, &computing)
}

/// P8: a transaction stays open and does nothing while others wait for locks.
fn idle(view: &View<'_>) -> Vec<Sign> {
    let mut signs = locks(view);
    for sign in &mut signs {
        let idle = of_component(metric::POSTGRES_IDLE_IN_TRANSACTION, &sign.label_set);
        let idle_s = view.max(&idle).unwrap_or(0.0);
        let holds = most(
            view,
            metric::POSTGRES_BLOCKING,
            place(&sign.label_set),
            "state",
        );
        // A role with full access reads the lock holder; another reads only that a session is idle.
        let holds_it = holds.is_empty() || holds.iter().any(|(state, _)| state.starts_with("idle"));
        sign.present &= idle_s > IDLE_MAX_S && holds_it;
        sign.magnitude = idle_s;
    }
    signs
}

fn idle_words(case: &RuleMatch<'_>) -> Words {
    let idle = of_component(metric::POSTGRES_IDLE_IN_TRANSACTION, case.label_set);
    let mut sentence = format!(
        "a transaction was idle for {:.0} s while others waited for its locks",
        case.failing().max(&idle).unwrap_or(0.0)
    );
    append_statement(
        &mut sentence,
        case,
        metric::POSTGRES_BLOCKING,
        "its last statement",
    );
    append_statement(
        &mut sentence,
        case,
        metric::POSTGRES_WAITING,
        "most of them wait to execute",
    );
    Words::new(
        format!(
            "an idle transaction in PostgreSQL ({})",
            place(case.label_set)
        ),
        sentence,
    )
    .with(bounded(
        case.line(&idle, "idle time of the oldest transaction"),
        Some(IDLE_MAX_S),
    ))
    .with(case.line(
        &sessions(case.label_set, "idle in transaction"),
        "sessions idle in a transaction",
    ))
}

/// Sessions of a PostgreSQL on this machine that compute, as a share of its CPUs.
pub(crate) fn cpu_gauges(readings: &SeriesTable) -> Vec<Gauge> {
    let own = readings.names_of(metric::POSTGRES_ACTIVE);
    let computing = own.filter(|series| label(series, "wait") == Some("none"));
    let here = computing.filter(|series| {
        let at = place(series);
        let near = ["/", "127.", "localhost", "[::1]"];
        near.iter().any(|begin| at.starts_with(begin))
    });
    let gauges = here.map(|series| share(series, &[P2, P7, C1], 1.0, "CPU of PostgreSQL"));
    gauges
        .map(|gauge| gauge.of_whole(metric::CPU_COUNT.to_owned()))
        .collect()
}

/// Sessions of PostgreSQL.
pub(crate) fn gauges(readings: &SeriesTable) -> Vec<Gauge> {
    let own = readings.names_of(metric::POSTGRES_SESSIONS);
    let all = own.filter(|series| label(series, "state") == Some("all"));
    let gauges = all.filter_map(|series| {
        let whole = setting_of(readings, place(series), "max_connections")?;
        Some(population(
            series,
            whole,
            &[P1],
            "max_connections of PostgreSQL",
        ))
    });
    gauges.collect()
}
