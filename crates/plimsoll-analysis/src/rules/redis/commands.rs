//! Slow commands of Redis.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::component::place;
use crate::diagnosis::measure::{before, subject_of};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::{H4, H9, K1, K3};
use crate::diagnosis::stretch::{Stretch3, View, bounded};
use crate::rules::in_front::ON_THE_MACHINE;
use crate::rules::redis::THREAD_BUSY;

/// Mean time of a command from which it is slow, s: half of the slow log's default threshold.
const COMMAND_SLOW_S: f64 = 0.005;
/// Growth of the share of the thread's time since low load from which it came with the load; or this share at all.
const GROWN: f64 = 1.5;
const MOSTLY: f64 = 0.5;
/// Share of its one thread's time that such a command may have.
const COMMAND_SHARE_MAX: f64 = 0.05;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    K3,
    "slow command (KEYS, big ranges, Lua)",
    &[Check {
        strength: Strength::Explicit,
        tier: Tier::Store,
        symptom: Symptom::Change(redis_slow),
        words: redis_slow_words,
        remedy: "request less at once",
        explains: &[ON_THE_MACHINE, &[H4, H9, K1]],
    }],
)];

/// Mean time of a command, s.
fn time_of_command(view: &View<'_>, label_set: &str) -> Option<f64> {
    let time = view.mean(&format!("{}{label_set}", metric::REDIS_COMMAND_TIME))?;
    let calls = view.mean(&format!("{}{label_set}", metric::REDIS_COMMAND_CALLS))?;
    (calls > 0.0).then(|| time / calls)
}

/// The stretch with Redis's command metrics, and whether it is not the failing one: with a saturated thread it may
/// not answer INFO in time, and the load below shows what saturated it.
fn view_with_commands<'v, 'a>(over: &'v Stretch3<'a>, at: &str) -> (&'v View<'a>, bool) {
    let has_commands = |view: &View<'_>| {
        let mut own = view.series_of(metric::REDIS_COMMAND_TIME);
        own.any(|series| place(series) == at && view.mean(series).is_some())
    };
    let thread = metric::series(metric::REDIS_MAIN_THREAD, &[("at", at)]);
    let is_used_up = over
        .failing
        .mean(&thread)
        .is_some_and(|used| used >= THREAD_BUSY);
    if has_commands(&over.failing) || !is_used_up {
        (&over.failing, false)
    } else if over.passing.is_measured() {
        (&over.passing, true)
    } else {
        (&over.base, true)
    }
}

/// K3: one command repeatedly occupies Redis's one thread for long. The time of all calls is counted, not only the
/// slow log: that needs no further access, and an occasional slow command is no limit.
fn redis_slow(over: &Stretch3<'_>) -> Vec<Sign> {
    let commands = over.failing.series_of(metric::REDIS_COMMAND_TIME);
    let signs = commands.filter_map(|series| {
        let label_set = subject_of(series);
        let (view, is_below) = view_with_commands(over, place(label_set));
        let share = view.mean(series)?;
        let each = time_of_command(view, label_set)?;
        let is_much = share >= COMMAND_SHARE_MAX || is_below && is_dearest(view, series, share);
        let low = before(over, |view| view.mean(series)).unwrap_or(0.0);
        // A saturated thread yields few samples, and those are from the start.
        let thread = metric::series(metric::REDIS_MAIN_THREAD, &[("at", place(label_set))]);
        let is_used = over.failing.mean(&thread).is_some_and(|used| used > MOSTLY);
        let grew = is_below
            || share >= GROWN * low
            || share > MOSTLY
            || is_used && is_dearest(view, series, share);
        Some(Sign::of(
            label_set,
            share,
            each >= COMMAND_SLOW_S && is_much && grew,
        ))
    });
    signs.collect()
}

/// Whether no other command takes more of the thread's time.
fn is_dearest(view: &View<'_>, series: &str, share: f64) -> bool {
    let mut all = view.series_of(metric::REDIS_COMMAND_TIME);
    all.all(|other| place(other) != place(series) || view.mean(other).unwrap_or(0.0) <= share)
}

fn redis_slow_words(case: &RuleMatch<'_>) -> Words {
    let at = place(case.label_set);
    let (view, is_below) = view_with_commands(case.over, at);
    let command = label(case.label_set, "command")
        .unwrap_or("?")
        .to_uppercase();
    let time = case.series(metric::REDIS_COMMAND_TIME);
    let each = case
        .over
        .evidence((&time, "mean time of the command", "s"), |view| {
            time_of_command(view, case.label_set)
        });
    let remedy = match command.as_str() {
        "KEYS" => {
            "use SCAN instead, which returns a few keys at a time, or keep the names in a set"
        }
        "EVAL" | "EVALSHA" | "FCALL" => "let the script do less, or split it",
        "SMEMBERS" | "HGETALL" | "LRANGE" | "ZRANGE" | "SORT" => {
            "request a portion (SSCAN, HSCAN, a smaller range), or keep fewer elements under one key"
        }
        "DEL" | "FLUSHALL" | "FLUSHDB" => "use UNLINK, or ASYNC: another thread frees the memory",
        _ => "request less at once",
    };
    let each_ms = time_of_command(view, case.label_set).unwrap_or(0.0) * 1e3;
    let sentence = if is_below {
        format!(
            "{command} took {each_ms:.1} ms on average at the load below; at this one Redis's one thread was saturated \
             and did not answer INFO"
        )
    } else {
        format!(
            "{command} took {each_ms:.1} ms on average and occupied Redis's one thread {:.0} % of the time: all other \
             commands waited",
            view.mean(&time).unwrap_or(0.0) * 100.0
        )
    };
    Words::new(format!("the command {command} of Redis ({at})"), sentence)
        .with(bounded(
            case.line(&time, "time of Redis's thread on it, per second"),
            Some(COMMAND_SHARE_MAX),
        ))
        .with(bounded(each, Some(COMMAND_SLOW_S)))
        .with(case.line(
            &case.series(metric::REDIS_COMMAND_CALLS),
            "executions, per second",
        ))
        .advising(format!(
            "{remedy}; `redis-cli SLOWLOG GET 10` shows the keys"
        ))
}
