//! What PostgreSQL reads and writes: buffers, the log, checkpoints.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;

use crate::diagnosis::component::{of_component, place, subjects, written};
use crate::diagnosis::mitigation::{LimitSetting, Takes};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::{D1, D3, P1, P4, P5, P6, P10, P11};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::databases::append_statement;
use crate::rules::in_front::BEFORE_STORES;
use crate::rules::postgres::{WaitLabels, wait_words, waits};

const READ_MAX: f64 = 0.20;
const COMMIT_MAX: f64 = 0.15;
/// Share of the blocks found in memory below which the working set does not fit.
const HIT_MIN: f64 = 0.95;
const READ: WaitLabels = &[("event", "DataFileRead")];
const COMMIT: WaitLabels = &[("event", "WALSync"), ("event", "WALWrite")];
/// Checkpoints in one stretch that are none by chance.
const CHECKPOINTS_MIN: f64 = 2.0;
/// Times a second that buffers of the log may be full.
const WAL_FULL_MAX: f64 = 1.0;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        P5,
        "working set > buffers",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Store,
            symptom: Symptom::Signs(reads),
            words: reads_words,
            remedy: "read less: add an index for the columns searched; then add memory",
            explains: &[BEFORE_STORES, &[P11, P1, P4, D1, D3]],
        }],
    )
    .tried_on_series(),
    Rule::new(
        P6,
        "commit fsync",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Store,
            symptom: Symptom::Signs(commits),
            words: commits_words,
            remedy: "commit several rows at once, give the log a faster disk, or accept losing \
                 the last moments with `synchronous_commit = off`",
            explains: &[BEFORE_STORES, &[P11, P1, P4, D1, D3]],
        }],
    ),
    Rule::new(
        P10,
        "checkpoint/WAL settings",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Store,
            symptom: Symptom::Signs(checkpoints),
            words: checkpoints_words,
            remedy: "raise `max_wal_size`",
            explains: &[BEFORE_STORES, &[P11, D1, D3]],
        }],
    )
    .tried_on_series()
    .with_setting(LimitSetting::Component("max_wal_size", Takes::Nothing)),
];

fn hit_ratio(view: &View<'_>, label_set: &str) -> Option<f64> {
    let hit = view.mean(&of_component(metric::POSTGRES_BLOCKS_HIT, label_set))?;
    let read = view.mean(&of_component(metric::POSTGRES_BLOCKS_READ, label_set))?;
    (hit + read > 0.0).then(|| hit / (hit + read))
}

/// P5: blocks are read from files, and found in memory too seldom.
fn reads(view: &View<'_>) -> Vec<Sign> {
    let mut signs = waits(view, READ, READ_MAX);
    for sign in &mut signs {
        sign.present &= hit_ratio(view, &sign.label_set).is_some_and(|ratio| ratio < HIT_MIN);
    }
    signs
}

fn reads_words(case: &RuleMatch<'_>) -> Words {
    let label_set = case.label_set;
    let hits = case.over.evidence(
        (
            &of_component(metric::POSTGRES_BLOCKS_HIT, label_set),
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
fn commits(view: &View<'_>) -> Vec<Sign> {
    waits(view, COMMIT, COMMIT_MAX)
}

fn commits_words(case: &RuleMatch<'_>) -> Words {
    let [commits, wal] = [metric::POSTGRES_COMMITS, metric::POSTGRES_WAL]
        .map(|metric| of_component(metric, case.label_set));
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

/// P10: checkpoints are requested ahead of schedule, or the WAL buffers are full.
fn checkpoints(view: &View<'_>) -> Vec<Sign> {
    let seconds = view.rows().count() as f64;
    let signs = subjects(view, metric::POSTGRES_REFUSED)
        .into_iter()
        .filter_map(|label_set| {
            let mean = |metric| view.mean(&of_component(metric, &label_set));
            let requested = mean(metric::POSTGRES_CHECKPOINTS_REQUESTED)? * seconds;
            let timed = mean(metric::POSTGRES_CHECKPOINTS_TIMED)? * seconds;
            let full = mean(metric::POSTGRES_WAL_FULL).unwrap_or(0.0);
            let too_many = requested > timed && requested >= CHECKPOINTS_MIN;
            Some(Sign {
                magnitude: requested + full,
                present: too_many || full > WAL_FULL_MAX,
                label_set,
            })
        });
    signs.collect()
}

fn checkpoints_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let [requested, full, wal] = [
        metric::POSTGRES_CHECKPOINTS_REQUESTED,
        metric::POSTGRES_WAL_FULL,
        metric::POSTGRES_WAL,
    ]
    .map(|metric| of_component(metric, case.label_set));
    let now = |name: &str| {
        let setting = view.setting(at, name, "");
        let now = setting
            .map(|(now, file)| format!(" (now {:.0} MiB){}", now / 1_048_576.0, written(file)));
        now.unwrap_or_default()
    };
    Words::new(
        format!("max_wal_size and wal_buffers of PostgreSQL ({at})"),
        format!(
            "PostgreSQL made {:.1} checkpoints a minute ahead of schedule, and its WAL buffers were full {:.0} times a \
             second",
            view.mean(&requested).unwrap_or(0.0) * 60.0,
            view.mean(&full).unwrap_or(0.0)
        ),
    )
    .with(case.line(&requested, "requested checkpoints, per second"))
    .with(case.line(&full, "times the WAL buffers were full, per second"))
    .with(case.line(&wal, "written to the write-ahead log, per second"))
    .advising(format!(
        "raise `max_wal_size`{}, which takes that much disk, and `wal_buffers`{}, which needs a restart",
        now("max_wal_size"),
        now("wal_buffers")
    ))
}
