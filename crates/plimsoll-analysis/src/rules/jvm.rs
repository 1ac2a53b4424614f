//! Rules about JVMs, from their own metrics.

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::bounds::ALWAYS_BUSY;
use crate::diagnosis::component::{of_component, place};
use crate::diagnosis::measure::{SUSTAINED, mebibytes, subject_of, sustained};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{C1, C3, J3, J4, J5, R1};
use crate::diagnosis::stretch::{SecondValues, View, bounded};
use crate::rules::in_front::BEFORE_PROGRAMS;

/// Share of the time that a collector may take, and from which it explains that no CPU is left.
const GC_SHARE: f64 = 0.10;
const GC_HEAVY: f64 = 0.30;
/// Share of the tightest bound that a pause may take.
const PAUSE_SHARE: f64 = 0.25;
/// Share of an old generation that is as good as all of it.
const OLD_FULL: f64 = 0.85;
/// Share of a pool's threads, and threads, for which as many connections must wait.
const WAITING_SHARE: f64 = 0.1;
const WAITING_MIN: f64 = 2.0;
const KINDS: [&str; 3] = ["young", "full", "concurrent"];

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        J3,
        "JVM garbage collection",
        &[
            // A share of a third of the time explains the shortage; a tenth does not.
            Check {
                strength: Strength::Queue,
                tier: Tier::Runtime,
                symptom: Symptom::Signs(jvm_collects_most),
                words: jvm_collects_words,
                remedy: "give the JVM a larger heap",
                explains: &[BEFORE_PROGRAMS, &[J5, C1, C3]],
            },
            Check {
                strength: Strength::Queue,
                tier: Tier::Runtime,
                symptom: Symptom::Signs(jvm_collects),
                words: jvm_collects_words,
                remedy: "give the JVM a larger heap",
                explains: &[BEFORE_PROGRAMS],
            },
        ],
    ),
    Rule::new(
        J4,
        "JVM heap too small or leak",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Runtime,
            symptom: Symptom::Signs(jvm_heap),
            words: jvm_heap_words,
            remedy: "raise `-Xmx`, or find the leak",
            explains: &[BEFORE_PROGRAMS, &[J3, J5, C1, C3]],
        }],
    ),
    Rule::new(
        J5,
        "servlet threads",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Runtime,
            symptom: Symptom::Signs(jvm_pool),
            words: jvm_pool_words,
            remedy: "give the pool more threads",
            explains: &[BEFORE_PROGRAMS],
        }],
    )
    .follows_like(&[R1]),
];

fn of_kind(metric: &str, label_set: &str, kind: &str) -> String {
    metric::series(metric, &[("at", place(label_set)), ("kind", kind)])
}

/// Share of a second that the garbage collector took; `None` where it was not reported.
fn gc_share(row: SecondValues<'_>, label_set: &str) -> Option<f64> {
    let times = KINDS
        .iter()
        .filter_map(|kind| row.get(&of_kind(metric::JVM_GC_TIME, label_set, kind)));
    times.reduce(|all, time| all + time)
}

fn mean_gc_share(view: &View<'_>, label_set: &str) -> Option<f64> {
    let shares: Vec<f64> = view
        .rows()
        .filter_map(|row| gc_share(row, label_set))
        .collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// JVMs whose garbage collector takes more than a share of the time in a fifth of the seconds.
fn collecting(view: &View<'_>, above: f64) -> Vec<Sign> {
    let machines = view.series_of(metric::JVM_GC_PAUSE);
    let signs = machines.filter_map(|pause| {
        let label_set = subject_of(pause);
        let share = view.share_of_seconds(|row| Some(gc_share(row, label_set)? > above))?;
        Some(Sign {
            label_set: label_set.to_owned(),
            magnitude: mean_gc_share(view, label_set)?,
            present: share >= SUSTAINED,
        })
    });
    signs.collect()
}

/// J3: the garbage collector takes so much of the time that the rest does not suffice.
fn jvm_collects_most(view: &View<'_>) -> Vec<Sign> {
    collecting(view, GC_HEAVY)
}

/// J3: the collector takes more than a tenth of the time, or stops everything for long.
fn jvm_collects(view: &View<'_>) -> Vec<Sign> {
    let bound_s = view.context.bound_us.map(|bound| bound as f64 / 1e6);
    let heavy = jvm_collects_most(view);
    let signs = collecting(view, GC_SHARE).into_iter().map(|mut sign| {
        let pause = of_component(metric::JVM_GC_PAUSE, &sign.label_set);
        let is_long = view.share_of_seconds(|row| {
            let most = PAUSE_SHARE * bound_s?;
            Some(row.get(&pause)? > most)
        });
        sign.present |= is_long.is_some_and(|share| share >= SUSTAINED);
        let is_heavy = heavy
            .iter()
            .any(|heavy| heavy.present && heavy.label_set == sign.label_set);
        sign.present &= !is_heavy;
        sign
    });
    signs.collect()
}

/// The limit of a heap as text: ` (now 64 MiB)`.
fn heap_now(view: &View<'_>, at: &str) -> String {
    let heap = view.setting(at, "-Xmx", "");
    heap.map_or_else(
        || " (not set: a quarter of the memory)".to_owned(),
        |(bytes, _)| format!(" (now {:.0} MiB)", mebibytes(bytes)),
    )
}

fn jvm_collects_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let (at, label_set) = (place(case.label_set), case.label_set);
    let pause = of_component(metric::JVM_GC_PAUSE, label_set);
    let count = |kind: &str| view.mean(&of_kind(metric::JVM_GC_COUNT, label_set, kind));
    let longest = view.max(&pause).unwrap_or(0.0);
    let share = mean_gc_share(view, label_set).unwrap_or(0.0).min(1.0);
    let mut sentence = format!(
        "the JVM's garbage collector took {:.0} % of the time and stopped all threads for up to {:.0} ms",
        share * 100.0,
        longest * 1e3
    );
    append_clause(
        &mut sentence,
        format_args!(
            ", in {:.1} young and {:.1} full collections a second",
            count("young").unwrap_or(0.0),
            count("full").unwrap_or(0.0)
        ),
    );
    let bound = view.context.bound_us;
    let pauses = bounded(
        case.line(&pause, "longest pause"),
        bound.map(|bound| PAUSE_SHARE * bound as f64 / 1e6),
    );
    let mut words = Words::new(format!("the garbage collector of the JVM ({at})"), sentence);
    for (kind, label) in [
        ("young", "time in young collections, per second"),
        ("full", "time in full collections, per second"),
        (
            "concurrent",
            "time in pauses of concurrent collections, per second",
        ),
    ] {
        words = words.with(case.line(&of_kind(metric::JVM_GC_TIME, label_set, kind), label));
    }
    words
        .with(pauses)
        .with(case.line(&of_component(metric::JVM_STOPPED, label_set), "time with all threads stopped, per second"))
        .advising(format!(
            "raise the heap, `-Xmx`{}, as far as memory allows; if pauses are too long, use another collector \
             (`-XX:+UseZGC`, or `-XX:+UseG1GC -XX:MaxGCPauseMillis=50`); allocate less per request: `jcmd PID \
             JFR.start duration=30s filename=a.jfr settings=profile` shows where",
            heap_now(view, at)
        ))
}

/// J4: live objects fill the JVM's old generation.
fn jvm_heap(view: &View<'_>) -> Vec<Sign> {
    let machines = view.series_of(metric::JVM_OLD_AFTER);
    let signs = machines.filter_map(|after| {
        let label_set = subject_of(after);
        let limit = of_component(metric::JVM_OLD_LIMIT, label_set);
        let share = view.share_of_seconds(|row| {
            let limit = row.get(&limit).filter(|&limit| limit > 0.0)?;
            Some(row.get(after)? > OLD_FULL * limit)
        });
        sustained(label_set, share)
    });
    signs.collect()
}

fn jvm_heap_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let (at, label_set) = (place(case.label_set), case.label_set);
    let [after, used, limit] = [
        metric::JVM_OLD_AFTER,
        metric::JVM_OLD_USED,
        metric::JVM_OLD_LIMIT,
    ]
    .map(|metric| of_component(metric, label_set));
    let most = view.max(&limit).unwrap_or(0.0);
    let full = of_kind(metric::JVM_GC_COUNT, label_set, "full");
    let mut sentence = format!(
        "after full collections {:.0} % of the {:.0} MiB of the JVM's old generation were still used",
        100.0 * view.max(&after).unwrap_or(0.0) / most.max(1.0),
        mebibytes(most)
    );
    if let Some(share) = mean_gc_share(view, label_set) {
        append_clause(
            &mut sentence,
            format_args!(
                "; {:.1} full collections a second, with all others, took {:.0} % of the time",
                view.mean(&full).unwrap_or(0.0),
                share.min(1.0) * 100.0
            ),
        );
    }
    Words::new(format!("the heap of the JVM ({at})"), sentence)
        .with(bounded(
            case.line(&after, "old generation after a full collection"),
            Some(OLD_FULL * most),
        ))
        .with(case.line(&used, "old generation, used"))
        .with(case.line(&full, "full collections, per second"))
        .advising(format!(
            "if the live data is needed, raise `-Xmx`{}; if it grows without end, find the leak: compare `jcmd PID \
             GC.class_histogram` now and later, or use `-XX:+HeapDumpOnOutOfMemoryError`, and bound what is kept per \
             request",
            heap_now(view, at)
        ))
}

/// The pool that most likely serves: of those that neither grew nor shrank, the largest.
fn pool_of<'a>(view: &View<'a>, label_set: &str) -> Option<(&'a str, f64)> {
    let own = view
        .series_of(metric::JVM_POOL)
        .filter(|series| place(series) == place(label_set));
    own.filter_map(|series| {
        let most = view.max(series)?;
        let mean = view.mean(series)?;
        (mean + 0.5 > most).then_some((label(series, "pool")?, most))
    })
    .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// J5: all threads of a pool are busy (Jolokia); or connections wait with unread bytes while a thread pool does not
/// grow.
fn jvm_pool(view: &View<'_>) -> Vec<Sign> {
    let reported = view.series_of(metric::JVM_POOL_BUSY).filter_map(|busy| {
        let label_set = subject_of(busy);
        let limit = format!("{}{label_set}", metric::JVM_POOL_LIMIT);
        let share = view.share_of_seconds(|row| Some(row.get(busy)? >= row.get(&limit)?))?;
        Some(Sign {
            label_set: label_set.to_owned(),
            magnitude: share,
            present: share >= ALWAYS_BUSY,
        })
    });
    let observed = view.series_of(metric::JVM_WAITING).filter_map(|waiting| {
        let label_set = subject_of(waiting);
        let (_, threads) = pool_of(view, label_set)?;
        let most = (WAITING_SHARE * threads).max(WAITING_MIN);
        let share = view.share_of_seconds(|row| Some(row.get(waiting)? >= most));
        sustained(label_set, share)
    });
    reported.chain(observed).collect()
}

fn jvm_pool_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let (at, label_set) = (place(case.label_set), case.label_set);
    let remedy = |name: &str, now: f64| {
        format!(
            "if the CPUs have room, give the pool {name} more threads (now {now:.0}): `server.tomcat.threads.max` of \
             Spring Boot, `maxThreads` in Tomcat's server.xml or Jetty's jetty-threadpool.xml, or the size given to \
             `Executors`; or, from Java 21 on, virtual threads (`spring.threads.virtual.enabled=true`); first find \
             what its requests wait for: `jcmd PID Thread.print`"
        )
    };
    if let Some(name) = label(label_set, "pool") {
        let [busy, limit] =
            [metric::JVM_POOL_BUSY, metric::JVM_POOL_LIMIT].map(|metric| case.series(metric));
        let most = view.max(&limit).unwrap_or(0.0);
        let line = bounded(case.line(&busy, "threads serving a request"), Some(most));
        return Words::new(
            format!("threads of the JVM's pool {name} ({at})"),
            format!("all {most:.0} threads of the JVM's pool {name} were busy"),
        )
        .with(line)
        .advising(remedy(name, most));
    }
    let waiting = of_component(metric::JVM_WAITING, label_set);
    let (name, threads) = pool_of(view, label_set).unwrap_or(("?", 0.0));
    let pool = metric::series(metric::JVM_POOL, &[("at", at), ("pool", name)]);
    let name = format!("{name}*");
    Words::new(
        format!("threads of the JVM's pool {name} ({at})"),
        format!(
            "up to {:.0} connections to the JVM waited for a thread to read their requests, while its pool {name} \
             stayed at {threads:.0} threads",
            view.max(&waiting).unwrap_or(0.0)
        ),
    )
    .with(bounded(
        case.line(&waiting, "connections not yet accepted or read"),
        Some((WAITING_SHARE * threads).max(WAITING_MIN)),
    ))
    .with(case.line(&pool, "threads of the pool"))
    .with(case.line(&of_component(metric::JVM_THREADS, label_set), "threads of the JVM"))
    .advising(remedy(&name, threads))
}
