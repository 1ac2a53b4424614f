//! Sessions of MariaDB: too many, or computing.

use plimsoll_model::component::ComponentKind;
use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::SeriesTable;

use crate::diagnosis::bounds::CONNECTIONS_FULL;
use crate::diagnosis::component::{of_component, place};
use crate::diagnosis::gauges::{Gauge, slots};
use crate::diagnosis::mitigation::{LimitSetting, Takes};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{C1, Q1, Q2};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::databases::{self, ComputingSessions};
use crate::rules::in_front::BEFORE_STORES;
use crate::rules::mysql::{OWN, in_seconds, now};

/// Running sessions to one CPU above which they wait for CPUs.
const RUNNING_PER_CPU: f64 = 2.0;
/// Busy share of the CPUs below which they are not the limit.
const BUSY: f64 = 0.9;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        Q1,
        "MySQL `max_connections`",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Store,
            symptom: Symptom::Signs(connections),
            words: connections_words,
            remedy: "let clients share sessions",
            explains: &[BEFORE_STORES],
        }],
    )
    .with_setting(LimitSetting::Component("max_connections", Takes::Nothing)),
    Rule::new(
        Q2,
        "MySQL CPU/concurrency",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Store,
            symptom: Symptom::Signs(cpu),
            words: cpu_words,
            remedy: "find the most expensive statements and add an index for them, cache their \
                 results, or let fewer run at once",
            explains: &[BEFORE_STORES, &[Q1, C1]],
        }],
    ),
];

/// Q1: connections are refused, or nearly.
fn connections(view: &View<'_>) -> Vec<Sign> {
    in_seconds(view, |label_set, row| {
        let most = view.setting(place(label_set), "max_connections", "");
        let is_full = most.is_some_and(|(most, _)| {
            let all = row.get(&of_component(metric::MYSQL_SESSIONS, label_set));
            all.is_some_and(|all| all >= CONNECTIONS_FULL * most)
        });
        let refused = row
            .get(&of_component(metric::MYSQL_REFUSED, label_set))
            .unwrap_or(0.0);
        Some(
            row.get(&of_component(metric::MYSQL_COLLECTOR_REFUSED, label_set))? > 0.0
                || refused > 0.0
                || is_full,
        )
    })
}

fn connections_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let [all, refused] = [metric::MYSQL_SESSIONS, metric::MYSQL_REFUSED]
        .map(|metric| of_component(metric, case.label_set));
    let most = view
        .setting(at, "max_connections", "")
        .map(|(most, _)| most);
    let mut sentence = format!(
        "MariaDB had up to {:.0} sessions",
        view.max(&all).unwrap_or(0.0)
    );
    if let Some(most) = most {
        append_clause(&mut sentence, format_args!(" of at most {most:.0}"));
    }
    let per_second = view.mean(&refused).unwrap_or(0.0);
    if per_second > 0.0 {
        append_clause(
            &mut sentence,
            format_args!(
                "; it refused {:.0} connections a second",
                per_second.max(1.0)
            ),
        );
    }
    Words::new(format!("max_connections of MariaDB ({at})"), sentence)
        .with(bounded(case.line(&refused, "connections refused, per second"), Some(0.0)))
        .with(bounded(case.line(&all, "sessions"), most))
        .advising(format!(
            "let clients share sessions: a smaller pool in each process, or a proxy that pools (ProxySQL, MaxScale); \
             raising `max_connections`{} costs memory for each",
            now(case, "max_connections", false)
        ))
}

/// Q2: more sessions run than the CPUs can carry, and the CPUs are busy.
fn cpu(view: &View<'_>) -> Vec<Sign> {
    in_seconds(view, |label_set, row| {
        let local = view.serves_requests_in(row)?;
        // Who waits for a row counts as running.
        let waiting = row.get(&of_component(metric::MYSQL_ROW_LOCKS_WAITED, label_set));
        let running = row.get(&of_component(metric::MYSQL_SESSIONS_RUNNING, label_set))?;
        let running = running - waiting.unwrap_or(0.0) - OWN;
        let is_busy = row.get(metric::CPU_BUSY)? >= BUSY;
        Some(local && is_busy && running > RUNNING_PER_CPU * row.get(metric::CPU_COUNT)?)
    })
}

fn cpu_words(case: &RuleMatch<'_>) -> Words {
    let computing = ComputingSessions {
        series: &of_component(metric::MYSQL_SESSIONS_RUNNING, case.label_set),
        label: "sessions executing a statement",
        by_statement: metric::MYSQL_RUNNING,
        per_cpu: RUNNING_PER_CPU,
    };
    databases::cpu_words(case, ComponentKind::Mysql, &computing)
}

/// Sessions of MariaDB.
pub(crate) fn gauges(readings: &SeriesTable) -> Vec<Gauge> {
    slots(
        readings,
        metric::MYSQL_SESSIONS,
        ("max_connections", &[Q1]),
        "max_connections of MariaDB",
    )
}
