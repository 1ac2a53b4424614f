//! Rules about stores, from their own metrics.

use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::component::{place, written};
use crate::diagnosis::measure::{before, subject_of, sustained};
use crate::diagnosis::rule::{RuleMatch, Sign, Words, append_clause};
use crate::diagnosis::stretch::{Stretch3, View, bounded};

/// Share of one CPU from which the thread that executes commands is saturated.
const THREAD_BUSY: f64 = 0.95;
/// A hit ratio that fell by less has not fallen: as rule S5 has it.
const HIT_RATIO_FALL: f64 = 0.05;

/// K1: Redis executes commands on one thread, which is busy.
pub(crate) fn redis_thread(view: &View<'_>) -> Vec<Sign> {
    let threads = view.series_of(metric::REDIS_MAIN_THREAD);
    threads
        .filter_map(|series| {
            let share = view.share_of_seconds(|row| Some(row.get(series)? >= THREAD_BUSY));
            sustained(subject_of(series), share)
        })
        .collect()
}

pub(crate) fn redis_thread_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let thread = case.series(metric::REDIS_MAIN_THREAD);
    let commands = case.series(metric::REDIS_COMMANDS);
    let mut sentence = format!(
        "the thread that executes Redis's commands used {:.0} % of a CPU",
        view.mean(&thread).unwrap_or(0.0) * 100.0
    );
    match view.mean(&commands) {
        Some(commands) => append_clause(
            &mut sentence,
            format_args!(" at {commands:.0} commands a second"),
        ),
        None => append_clause(
            &mut sentence,
            format_args!(", and it did not answer INFO in time"),
        ),
    }
    Words::new(format!("the one thread of Redis ({at})"), sentence)
        .with(bounded(
            case.line(&thread, "CPU time of its thread, per second"),
            Some(THREAD_BUSY),
        ))
        .with(case.line(&commands, "commands, per second"))
}

fn ratio(view: &View<'_>, hits: &str, misses: &str) -> Option<f64> {
    let (hits, misses) = (view.mean(hits)?, view.mean(misses)?);
    (hits + misses > 0.0).then(|| hits / (hits + misses))
}

/// Whether the hit ratio was lower under the failing load than before; `None` without lookups.
fn has_fallen(case: &RuleMatch<'_>, hits: &str, misses: &str) -> Option<bool> {
    let failing = ratio(&case.over.failing, hits, misses)?;
    let before = ratio(&case.over.passing, hits, misses).or(ratio(&case.over.base, hits, misses));
    Some(before.is_none_or(|before| failing < before - HIT_RATIO_FALL))
}

/// The texts of a store that evicts, and its evidence.
fn evicted(
    case: &RuleMatch<'_>,
    words: (String, String),
    evictions: &str,
    [hits, misses]: [&str; 2],
) -> Words {
    let (limit, mut sentence) = words;
    let fallen = has_fallen(case, hits, misses);
    if let Some(ratio) = ratio(case.failing(), hits, misses) {
        append_clause(
            &mut sentence,
            format_args!("; {:.0} % of the lookups were hits", ratio * 100.0),
        );
    }
    let found = case
        .over
        .evidence((hits, "hit ratio", "1"), |view| ratio(view, hits, misses));
    Words::new(limit, sentence)
        .with(bounded(
            case.line(evictions, "evictions, per second"),
            Some(0.0),
        ))
        .with(found)
        // Evicting unused entries is normal for a cache.
        .doubtful_if(fallen != Some(true))
}

/// K2: Redis throws keys away because its memory is full.
pub(crate) fn redis_evicted_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let evictions = case.series(metric::REDIS_EVICTED);
    let memory = case.series(metric::REDIS_MEMORY);
    let setting = view.setting(at, "maxmemory", "");
    let most = setting.map(|(most, _)| most);
    let mut sentence = format!(
        "Redis evicted {:.0} keys a second",
        view.mean(&evictions).unwrap_or(0.0).max(1.0)
    );
    if let Some(most) = most {
        append_clause(
            &mut sentence,
            format_args!(" because its `maxmemory` of {} is full", mebibytes(most)),
        );
    }
    let series = [metric::REDIS_HITS, metric::REDIS_MISSES].map(|metric| case.series(metric));
    let words = (format!("maxmemory of Redis ({at})"), sentence);
    evicted(case, words, &evictions, [&series[0], &series[1]])
        .with(bounded(case.line(&memory, "memory of Redis"), most))
        .advising(memory_remedy(case))
}

fn memory_remedy(case: &RuleMatch<'_>) -> String {
    match case
        .failing()
        .setting(place(case.label_set), "maxmemory", "")
    {
        Some((now, file)) => format!(
            "raise `maxmemory` (now {}){} or by `redis-cli CONFIG SET maxmemory {:.0}`, shorten the TTL of keys, or \
             store less in each",
            mebibytes(now),
            written(file),
            2.0 * now
        ),
        None => {
            "raise Redis's `maxmemory`, shorten the TTL of keys, or store less in each".to_owned()
        }
    }
}

/// K2 with eviction disabled: Redis refuses to write.
pub(crate) fn redis_refused_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let refused = case.series(metric::REDIS_OUT_OF_MEMORY);
    let memory = case.series(metric::REDIS_MEMORY);
    let policies = view.series_of(metric::SETTING);
    let mut own = policies.filter(|series| {
        label(series, "at") == Some(at) && label(series, "setting") == Some("maxmemory-policy")
    });
    let policy = own
        .find_map(|series| label(series, "of"))
        .unwrap_or("noeviction");
    let most = view.setting(at, "maxmemory", "").map(|(most, _)| most);
    Words::new(
        format!("maxmemory of Redis ({at})"),
        format!(
            "Redis refused {:.0} commands a second because its memory is full and its policy is `{policy}`",
            view.mean(&refused).unwrap_or(0.0).max(1.0)
        ),
    )
    .with(bounded(
        case.line(&refused, "commands refused, per second"),
        Some(0.0),
    ))
    .with(bounded(case.line(&memory, "memory of Redis"), most))
    .advising(format!(
        "{}; or let it evict keys: `maxmemory-policy allkeys-lru`",
        memory_remedy(case)
    ))
}

/// K4: Redis refuses connections.
pub(crate) fn redis_rejected_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let rejected = case.series(metric::REDIS_REJECTED);
    let clients = case.series(metric::REDIS_CLIENTS);
    let setting = view.setting(at, "maxclients", "");
    let most = setting.map(|(most, _)| most);
    let mut sentence = format!(
        "Redis refused {:.0} connections a second",
        view.mean(&rejected).unwrap_or(0.0).max(1.0)
    );
    if let Some(most) = most {
        append_clause(
            &mut sentence,
            format_args!(" because its limit of {most:.0} clients was reached"),
        );
    }
    let now = most
        .map(|most| format!(" (now {most:.0})"))
        .unwrap_or_default();
    let file = written(setting.and_then(|(_, file)| file));
    Words::new(format!("maxclients of Redis ({at})"), sentence)
        .with(bounded(
            case.line(&rejected, "connections refused, per second"),
            Some(0.0),
        ))
        .with(bounded(case.line(&clients, "clients connected"), most))
        .advising(format!(
            "keep connections in a pool in the application; or raise `maxclients`{now}{file}, with the limit of open files"
        ))
}

/// K5: writes wait for the disk.
pub(crate) fn redis_fsync_words(case: &RuleMatch<'_>) -> Words {
    let delayed = case.series(metric::REDIS_FSYNC_DELAYED);
    let at = place(case.label_set);
    let per_minute = case.failing().mean(&delayed).unwrap_or(0.0) * 60.0;
    Words::new(
        format!("append-only file of Redis ({at})"),
        format!(
            "{:.0} times a minute Redis waited for the disk to write its append-only file",
            per_minute.max(1.0)
        ),
    )
    .with(bounded(
        case.line(&delayed, "writes that waited for the disk, per second"),
        Some(0.0),
    ))
}

/// K6: memcached refuses connections because its connections are used up.
pub(crate) fn memcached_connections_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let refused = case.series(metric::MEMCACHED_REFUSED);
    let most = view
        .setting(at, "max_connections", "")
        .map(|(most, _)| most);
    let now = most
        .map(|most| format!(" (now {most:.0})"))
        .unwrap_or_default();
    let per_minute = view.mean(&refused).unwrap_or(0.0) * 60.0;
    Words::new(
        format!("connections of memcached ({at})"),
        format!(
            "memcached refused {:.0} connections a minute because its limit{now} was reached",
            per_minute.max(1.0)
        ),
    )
    .with(bounded(
        case.line(&refused, "connections refused, per second"),
        Some(0.0),
    ))
    .with(bounded(
        case.line(&case.series(metric::MEMCACHED_CONNECTIONS), "connections open"),
        most,
    ))
    .advising(format!(
        "keep connections to memcached in a pool, or raise its limit of connections: option -c{now}, on Debian in \
         /etc/memcached.conf"
    ))
}

/// K6: memcached throws items away because its memory is full.
pub(crate) fn memcached_evictions_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let evictions = case.series(metric::MEMCACHED_EVICTIONS);
    let most = view.setting(at, "limit_maxbytes", "").map(|(most, _)| most);
    let now = most
        .map(|most| format!(" (now {})", mebibytes(most)))
        .unwrap_or_default();
    let series =
        [metric::MEMCACHED_HITS, metric::MEMCACHED_MISSES].map(|metric| case.series(metric));
    let words = (
        format!("memory of memcached ({at})"),
        format!(
            "memcached evicted {:.0} items a second because its memory{now} is full",
            view.mean(&evictions).unwrap_or(0.0).max(1.0)
        ),
    );
    evicted(case, words, &evictions, [&series[0], &series[1]])
        .with(bounded(
            case.line(&case.series(metric::MEMCACHED_MEMORY), "memory of its items"),
            most,
        ))
        .advising(format!(
            "give memcached more memory: option -m{now}, on Debian in /etc/memcached.conf; or store less, with shorter TTLs"
        ))
}

/// Mean time of a command from which it is slow, s: half of the slow log's default threshold.
const COMMAND_SLOW_S: f64 = 0.005;
/// Growth of the share of the thread's time since low load from which it came with the load; or this share at all.
const GROWN: f64 = 1.5;
const MOSTLY: f64 = 0.5;
/// Share of its one thread's time that such a command may have.
const COMMAND_SHARE_MAX: f64 = 0.05;

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
pub(crate) fn redis_slow(over: &Stretch3<'_>) -> Vec<Sign> {
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

pub(crate) fn redis_slow_words(case: &RuleMatch<'_>) -> Words {
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

fn mebibytes(bytes: f64) -> String {
    let mebibytes = bytes / 1_048_576.0;
    if mebibytes >= 10.0 {
        format!("{mebibytes:.0} MiB")
    } else {
        format!("{mebibytes:.1} MiB")
    }
}
