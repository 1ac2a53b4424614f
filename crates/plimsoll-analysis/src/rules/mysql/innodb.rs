//! `InnoDB`: row locks, its buffer pool and its redo log.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;

use crate::diagnosis::component::{of_component, place};
use crate::diagnosis::mitigation::{LimitSetting, Takes};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{D1, D3, Q1, Q2, Q6, Q7, Q8, Q9};
use crate::diagnosis::statements::most;
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::databases::append_statement;
use crate::rules::in_front::BEFORE_STORES;
use crate::rules::mysql::{in_seconds, now, over_all};

/// Share of the pages that may come from files, and a rate per second beyond a cold start.
const READS_MAX: f64 = 0.01;
const READS_MIN: f64 = 50.0;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        Q6,
        "InnoDB row locks",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Store,
            symptom: Symptom::Signs(row_locks),
            words: row_locks_words,
            remedy: "make transactions shorter, write to a hot row last in the transaction, \
                 split rows that all transactions write, or put the writes in a queue",
            explains: &[BEFORE_STORES, &[Q1, Q2]],
        }],
    ),
    Rule::new(
        Q7,
        "buffer pool too small",
        &[Check {
            strength: Strength::Utilisation,
            tier: Tier::Store,
            symptom: Symptom::Signs(pool),
            words: pool_words,
            remedy: "raise `innodb_buffer_pool_size`",
            explains: &[BEFORE_STORES, &[Q1, D1, D3]],
        }],
    )
    .with_setting(LimitSetting::Component(
        "innodb_buffer_pool_size",
        Takes::Memory,
    )),
    Rule::new(
        Q8,
        "InnoDB redo log",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Store,
            symptom: Symptom::Increase {
                metric: metric::MYSQL_LOG_WAITS,
            },
            words: log_words,
            remedy: "give the redo log more room",
            explains: &[&[D1, D3]],
        }],
    )
    .with_setting(LimitSetting::Component(
        "innodb_log_buffer_size",
        Takes::Memory,
    )),
    Rule::new(
        Q9,
        "InnoDB flushing of dirty pages",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Store,
            symptom: Symptom::Increase {
                metric: metric::MYSQL_POOL_WAITS,
            },
            words: flush_words,
            remedy: "write changed pages faster",
            explains: &[&[D1, D3]],
        }],
    )
    .with_setting(LimitSetting::Component(
        "innodb_io_capacity",
        Takes::Nothing,
    )),
];

/// Q6: sessions wait for rows.
fn row_locks(view: &View<'_>) -> Vec<Sign> {
    let mut signs = in_seconds(view, |label_set, row| {
        Some(row.get(&of_component(metric::MYSQL_ROW_LOCKS_WAITED, label_set))? >= 1.0)
    });
    for sign in &mut signs {
        let waiting = view.mean(&of_component(
            metric::MYSQL_ROW_LOCKS_WAITED,
            &sign.label_set,
        ));
        sign.magnitude = waiting.unwrap_or(0.0);
    }
    signs
}

fn row_locks_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let [waited, time] = [metric::MYSQL_ROW_LOCKS_WAITED, metric::MYSQL_ROW_LOCK_TIME]
        .map(|metric| of_component(metric, case.label_set));
    let mut sentence = format!(
        "on average, {:.0} sessions of MariaDB waited for a row that another session had locked",
        view.mean(&waited).unwrap_or(0.0).max(1.0)
    );
    append_statement(
        &mut sentence,
        case,
        metric::MYSQL_RUNNING,
        "most frequent statement, running or waiting",
    );
    let holders = most(
        view,
        metric::MYSQL_BLOCKING,
        place(case.label_set),
        "statement",
    );
    match holders.first() {
        Some(("nothing", _)) => append_clause(
            &mut sentence,
            format_args!("; the session that holds the lock is idle in an open transaction"),
        ),
        Some((statement, _)) => append_clause(
            &mut sentence,
            format_args!("; the session that holds the lock executes `{statement}`"),
        ),
        None => {}
    }
    Words::new(
        format!("row locks in MariaDB ({})", place(case.label_set)),
        sentence,
    )
    .with(bounded(
        case.line(&waited, "sessions waiting for a row"),
        Some(1.0),
    ))
    .with(case.line(&time, "time waited for rows, per second"))
}

/// Q7: the buffer pool does not hold the working set.
fn pool(view: &View<'_>) -> Vec<Sign> {
    over_all(view, |label_set| {
        let reads = view.mean(&of_component(metric::MYSQL_POOL_READS, label_set))?;
        let asked = view.mean(&of_component(metric::MYSQL_POOL_REQUESTS, label_set))?;
        Some((reads, reads >= READS_MIN && reads > READS_MAX * asked))
    })
}

fn pool_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let [reads, asked] = [metric::MYSQL_POOL_READS, metric::MYSQL_POOL_REQUESTS]
        .map(|metric| of_component(metric, case.label_set));
    let (per_second, all) = (
        view.mean(&reads).unwrap_or(0.0),
        view.mean(&asked).unwrap_or(0.0),
    );
    Words::new(
        format!("innodb_buffer_pool_size of MariaDB ({})", place(case.label_set)),
        format!(
            "MariaDB read {per_second:.0} pages a second from files, {:.0} % of those it needed, because its buffer \
             pool does not hold them",
            100.0 * per_second / all.max(1.0)
        ),
    )
    .with(case.line(&reads, "pages read from files, per second"))
    .with(case.line(&asked, "pages needed, per second"))
    .advising(format!(
        "read less: add an index for the columns searched; or raise `innodb_buffer_pool_size`{}, up to two thirds of \
         the memory on a dedicated database machine",
        now(case, "innodb_buffer_pool_size", true)
    ))
}

/// Q8.
fn log_words(case: &RuleMatch<'_>) -> Words {
    let waits = case.series(metric::MYSQL_LOG_WAITS);
    Words::new(
        format!("innodb_log_buffer_size of MariaDB ({})", place(case.label_set)),
        format!(
            "sessions of MariaDB waited {:.0} times a minute because the buffer of its redo log was full",
            (case.failing().mean(&waits).unwrap_or(0.0) * 60.0).max(1.0)
        ),
    )
    .with(bounded(case.line(&waits, "waits for the redo log, per second"), Some(0.0)))
    .advising(format!(
        "write less at once, give the log a faster disk, or raise `innodb_log_buffer_size`{}",
        now(case, "innodb_log_buffer_size", true)
    ))
}

/// Q9.
fn flush_words(case: &RuleMatch<'_>) -> Words {
    let waits = case.series(metric::MYSQL_POOL_WAITS);
    Words::new(
        format!("free pages in MariaDB's buffer pool ({})", place(case.label_set)),
        format!(
            "sessions of MariaDB waited {:.0} times a minute for a free page, because dirty pages were not flushed \
             fast enough",
            (case.failing().mean(&waits).unwrap_or(0.0) * 60.0).max(1.0)
        ),
    )
    .with(bounded(case.line(&waits, "waits for a free page, per second"), Some(0.0)))
    .advising(format!(
        "raise `innodb_io_capacity`{} where the disk can take more, or `innodb_buffer_pool_size`{}",
        now(case, "innodb_io_capacity", false),
        now(case, "innodb_buffer_pool_size", true)
    ))
}
