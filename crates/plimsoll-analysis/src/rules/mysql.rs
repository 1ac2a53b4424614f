//! Rules about MariaDB and MySQL, from their own metrics.

use plimsoll_model::metric;
use plimsoll_sql::index::{Index, advised};

use crate::diagnosis::bounds::CONNECTIONS_FULL;
use crate::diagnosis::component::{place, written};
use crate::diagnosis::measure::sustained;
use crate::diagnosis::rule::{RuleMatch, Sign, Words, append_clause};
use crate::diagnosis::statements::{busiest, counted, counted_words, each, each_most, most};
use crate::diagnosis::stretch::{SecondValues, View, bounded};

/// Running sessions to one CPU above which they wait for CPUs.
const RUNNING_PER_CPU: f64 = 2.0;
/// Busy share of the CPUs below which they are not the limit.
const BUSY: f64 = 0.9;
/// The collector's own session is running at each sample.
const OWN: f64 = 1.0;
/// Mean number of sessions executing a statement below which they are not significant.
const RUNNING_MIN: f64 = 1.0;
/// Rows for which a table may be read whole.
const ROWS_MAX: f64 = 10_000.0;
/// Share of the temporary tables that may be on disk, and a rate per second beyond the collector's own.
const ON_DISK_MAX: f64 = 0.1;
const ON_DISK_MIN: f64 = 10.0;
/// Rows that are sorted for one statement, and the share of the time of all that such statements take.
const SORTED_MIN: f64 = 1000.0;
const SORTING_MAX: f64 = 0.2;
/// Share of the pages that may come from files, and a rate per second beyond a cold start.
const READS_MAX: f64 = 0.01;
const READS_MIN: f64 = 50.0;

fn of(metric: &str, label_set: &str) -> String {
    metric::series(metric, &[("at", place(label_set))])
}

/// Every server, as the subject of a rule.
fn servers(view: &View<'_>) -> Vec<String> {
    let all = view.series_of(metric::MYSQL_COLLECTOR_REFUSED);
    all.map(|series| metric::series("", &[("at", place(series))]))
        .collect()
}

/// A condition on single seconds that must hold in a fifth of them.
fn in_seconds(
    view: &View<'_>,
    holds: impl Fn(&str, SecondValues<'_>) -> Option<bool>,
) -> Vec<Sign> {
    let signs = servers(view).into_iter().filter_map(|label_set| {
        let share = view.share_of_seconds(|row| holds(&label_set, row));
        sustained(&label_set, share)
    });
    signs.collect()
}

/// A condition on the stretch: how much of it there is, and whether it holds.
fn over_all(view: &View<'_>, measure: impl Fn(&str) -> Option<(f64, bool)>) -> Vec<Sign> {
    let signs = servers(view).into_iter().filter_map(|label_set| {
        let (magnitude, present) = measure(&label_set)?;
        Some(Sign {
            label_set,
            magnitude,
            present,
        })
    });
    signs.collect()
}

/// ` (now 151) in FILE`, as far as it is known, and how it is changed.
fn now(case: &RuleMatch<'_>, name: &str, is_bytes: bool) -> String {
    let setting = case.failing().setting(place(case.label_set), name, "");
    let known = setting.map(|(now, file)| {
        let now = if is_bytes {
            format!("{:.1} MiB", now / 1_048_576.0)
        } else {
            format!("{now:.0}")
        };
        let file = written(file);
        let file = if file.is_empty() {
            " under `[mysqld]`, on Debian in /etc/mysql/mariadb.conf.d/50-server.cnf,".to_owned()
        } else {
            file
        };
        format!(" (now {now}){file}")
    });
    format!(
        "{} or by `SET GLOBAL {name} = …`",
        known.unwrap_or_default()
    )
}

/// Names the statement that most sessions have.
fn append_statement(sentence: &mut String, case: &RuleMatch<'_>, metric: &'static str, what: &str) {
    let at = place(case.label_set);
    if let Some((statement, _)) = most(case.failing(), metric, at, "statement").first() {
        append_clause(sentence, format_args!("; {what}: `{statement}`"));
    }
}

/// Q1: connections are refused, or nearly.
pub(crate) fn connections(view: &View<'_>) -> Vec<Sign> {
    in_seconds(view, |label_set, row| {
        let most = view.setting(place(label_set), "max_connections", "");
        let is_full = most.is_some_and(|(most, _)| {
            let all = row.get(&of(metric::MYSQL_SESSIONS, label_set));
            all.is_some_and(|all| all >= CONNECTIONS_FULL * most)
        });
        let refused = row
            .get(&of(metric::MYSQL_REFUSED, label_set))
            .unwrap_or(0.0);
        Some(
            row.get(&of(metric::MYSQL_COLLECTOR_REFUSED, label_set))? > 0.0
                || refused > 0.0
                || is_full,
        )
    })
}

pub(crate) fn connections_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let [all, refused] =
        [metric::MYSQL_SESSIONS, metric::MYSQL_REFUSED].map(|metric| of(metric, case.label_set));
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
pub(crate) fn cpu(view: &View<'_>) -> Vec<Sign> {
    in_seconds(view, |label_set, row| {
        let local = row.get(metric::TARGET_IS_LOCAL)? > 0.0;
        // Who waits for a row counts as running.
        let waiting = row.get(&of(metric::MYSQL_ROW_LOCKS_WAITED, label_set));
        let running = row.get(&of(metric::MYSQL_SESSIONS_RUNNING, label_set))?;
        let running = running - waiting.unwrap_or(0.0) - OWN;
        let is_busy = row.get(metric::CPU_BUSY)? >= BUSY;
        Some(local && is_busy && running > RUNNING_PER_CPU * row.get(metric::CPU_COUNT)?)
    })
}

pub(crate) fn cpu_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let running = of(metric::MYSQL_SESSIONS_RUNNING, case.label_set);
    let cpus = view.max(metric::CPU_COUNT).unwrap_or(0.0);
    let mut sentence = format!(
        "{:.0} statements ran at once in MariaDB, on average, on {cpus:.0} CPUs",
        view.mean(&running).unwrap_or(0.0)
    );
    append_statement(&mut sentence, case, metric::MYSQL_RUNNING, "most of all");
    Words::new(
        format!("CPU for MariaDB ({})", place(case.label_set)),
        sentence,
    )
    .with(bounded(
        case.line(&running, "sessions executing a statement"),
        Some(RUNNING_PER_CPU * cpus),
    ))
    .with(case.line(metric::CPU_BUSY, "share of all CPUs that was busy"))
}

/// Q3: the server spends its time in table scans.
pub(crate) fn scans(view: &View<'_>) -> Vec<Sign> {
    over_all(view, |label_set| {
        let mean = |metric| view.mean(&of(metric, label_set));
        let running = mean(metric::MYSQL_SESSIONS_RUNNING)? - OWN;
        let (rows, scans) = (
            mean(metric::MYSQL_ROWS_SCANNED)?,
            mean(metric::MYSQL_SCANS)?,
        );
        let each = if scans > 0.0 { rows / scans } else { rows };
        let waiting = mean(metric::MYSQL_ROW_LOCKS_WAITED).unwrap_or(0.0);
        let is_it = running >= RUNNING_MIN && each > ROWS_MAX && waiting < 0.5 * running;
        Some((running.max(0.0), is_it))
    })
}

pub(crate) fn scans_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let [rows, scans] =
        [metric::MYSQL_ROWS_SCANNED, metric::MYSQL_SCANS].map(|metric| of(metric, case.label_set));
    let per_second = view.mean(&rows).unwrap_or(0.0);
    let mut sentence = format!(
        "MariaDB read {per_second:.0} rows a second by table scans, {:.0} per scanning statement",
        per_second / view.mean(&scans).unwrap_or(0.0).max(1.0)
    );
    let counted = counted_words(view, at);
    if counted.is_empty() {
        let what = "most of it in";
        append_statement(&mut sentence, case, metric::MYSQL_RUNNING, what);
    } else {
        sentence.push_str(&counted);
    }
    if let Some((_, rows)) = each_most(view, metric::STATEMENT_EXAMINED, at) {
        append_clause(&mut sentence, format_args!(", examining {rows:.0} rows"));
    }
    let index = busiest(view, metric::MYSQL_RUNNING, at).and_then(advised);
    let table = index.as_ref().map_or("…", |index| index.table.as_str());
    let columns = index
        .as_ref()
        .map_or_else(|| "columns it filters by".to_owned(), Index::columns);
    Words::new(format!("a missing index in MariaDB ({at})"), sentence)
        .with(case.line(&rows, "rows read by table scans, per second"))
        .with(case.line(&scans, "table scans, per second"))
        .advising(format!(
            "give the table an index: `ALTER TABLE {table} ADD INDEX ({columns})`; check with `EXPLAIN` that it is \
             used. It takes space and slows each write to the table"
        ))
}

/// The statement with the most sorted rows, where such statements take a significant share of the time: rows per
/// execution.
fn sorting<'a>(view: &View<'a>, at: &str) -> Option<(&'a str, f64)> {
    let counted = counted(view, at);
    let all: f64 = counted.iter().map(|entry| entry.time).sum();
    let sorted = counted.iter().filter_map(|entry| {
        let rows = each(view, metric::STATEMENT_SORTED, at, entry)?;
        (rows >= SORTED_MIN).then_some((entry, rows))
    });
    let sorted: Vec<_> = sorted.collect();
    let time: f64 = sorted.iter().map(|(entry, _)| entry.time).sum();
    let first = sorted.first().map(|(entry, rows)| (entry.statement, *rows));
    first.filter(|_| time > SORTING_MAX * all)
}

/// Q4: sorts do not fit into their buffer, or the server spends its time sorting.
pub(crate) fn sorts(view: &View<'_>) -> Vec<Sign> {
    over_all(view, |label_set| {
        let passes = view.mean(&of(metric::MYSQL_SORT_PASSES, label_set))?;
        let running = view
            .mean(&of(metric::MYSQL_SESSIONS_RUNNING, label_set))
            .unwrap_or(0.0)
            - OWN;
        if counted(view, place(label_set)).is_empty() {
            return Some((passes, passes > 0.0));
        }
        // What sorts take is known, and a few that go through files are no limit.
        let is_sorting = running >= RUNNING_MIN && sorting(view, place(label_set)).is_some();
        Some((running.max(0.0), is_sorting))
    })
}

pub(crate) fn sorts_words(case: &RuleMatch<'_>) -> Words {
    let (view, at) = (case.failing(), place(case.label_set));
    let passes = case.series(metric::MYSQL_SORT_PASSES);
    let per_minute = view.mean(&passes).unwrap_or(0.0) * 60.0;
    let sorting = sorting(view, at);
    let pieces = format!(
        "merged {:.0} sorts a minute from pieces, because they do not fit into the sort buffer",
        per_minute.max(1.0)
    );
    let mut sentence = match sorting {
        Some((statement, rows)) if per_minute > 0.0 => {
            format!("MariaDB sorted {rows:.0} rows for each `{statement}`; it {pieces}")
        }
        Some((statement, rows)) => format!("MariaDB sorted {rows:.0} rows for each `{statement}`"),
        None => format!("MariaDB {pieces}"),
    };
    let statement =
        sorting
            .map(|(statement, _)| statement)
            .or(busiest(view, metric::MYSQL_RUNNING, at));
    let index = statement.and_then(advised).map_or(String::new(), |index| {
        format!(
            ": `ALTER TABLE {} ADD INDEX ({})`",
            index.table,
            index.columns()
        )
    });
    append_statement(&mut sentence, case, metric::MYSQL_RUNNING, "most of it in");
    Words::new(format!("sort_buffer_size of MariaDB ({})", place(case.label_set)), sentence)
        .with(bounded(case.line(&passes, "sort merge passes, per second"), Some(0.0)))
        .advising(format!(
            "let an index give the order{index}, or raise `sort_buffer_size`{}; each sort of each session may allocate it",
            now(case, "sort_buffer_size", true)
        ))
}

/// Q5: temporary tables do not fit into memory.
pub(crate) fn temporary(view: &View<'_>) -> Vec<Sign> {
    over_all(view, |label_set| {
        let disk = view.mean(&of(metric::MYSQL_TEMPORARY_ON_DISK, label_set))?;
        let all = view.mean(&of(metric::MYSQL_TEMPORARY_TABLES, label_set))?;
        Some((disk, disk >= ON_DISK_MIN && disk > ON_DISK_MAX * all))
    })
}

pub(crate) fn temporary_words(case: &RuleMatch<'_>) -> Words {
    let [all, disk] = [
        metric::MYSQL_TEMPORARY_TABLES,
        metric::MYSQL_TEMPORARY_ON_DISK,
    ]
    .map(|metric| of(metric, case.label_set));
    let view = case.failing();
    let by = each_most(view, metric::STATEMENT_ON_DISK, place(case.label_set));
    let mut sentence = format!(
        "of {:.0} temporary tables a second, MariaDB wrote {:.0} to disk",
        view.mean(&all).unwrap_or(0.0),
        view.mean(&disk).unwrap_or(0.0)
    );
    if let Some((statement, each)) = by {
        append_clause(
            &mut sentence,
            format_args!("; `{statement}` makes {each:.1} each time"),
        );
    }
    append_statement(&mut sentence, case, metric::MYSQL_RUNNING, "most of it in");
    Words::new(format!("tmp_table_size of MariaDB ({})", place(case.label_set)), sentence)
        .with(case.line(&disk, "temporary tables on disk, per second"))
        .with(case.line(&all, "temporary tables, per second"))
        .advising(format!(
            "select fewer and shorter columns (a text column goes to disk at once), let an index give the groups, or raise \
             `tmp_table_size`{} and `max_heap_table_size`{}",
            now(case, "tmp_table_size", true),
            now(case, "max_heap_table_size", true)
        ))
}

/// Q6: sessions wait for rows.
pub(crate) fn row_locks(view: &View<'_>) -> Vec<Sign> {
    let mut signs = in_seconds(view, |label_set, row| {
        Some(row.get(&of(metric::MYSQL_ROW_LOCKS_WAITED, label_set))? >= 1.0)
    });
    for sign in &mut signs {
        let waiting = view.mean(&of(metric::MYSQL_ROW_LOCKS_WAITED, &sign.label_set));
        sign.magnitude = waiting.unwrap_or(0.0);
    }
    signs
}

pub(crate) fn row_locks_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let [waited, time] = [metric::MYSQL_ROW_LOCKS_WAITED, metric::MYSQL_ROW_LOCK_TIME]
        .map(|metric| of(metric, case.label_set));
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
pub(crate) fn pool(view: &View<'_>) -> Vec<Sign> {
    over_all(view, |label_set| {
        let reads = view.mean(&of(metric::MYSQL_POOL_READS, label_set))?;
        let asked = view.mean(&of(metric::MYSQL_POOL_REQUESTS, label_set))?;
        Some((reads, reads >= READS_MIN && reads > READS_MAX * asked))
    })
}

pub(crate) fn pool_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let [reads, asked] = [metric::MYSQL_POOL_READS, metric::MYSQL_POOL_REQUESTS]
        .map(|metric| of(metric, case.label_set));
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
pub(crate) fn log_words(case: &RuleMatch<'_>) -> Words {
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
pub(crate) fn flush_words(case: &RuleMatch<'_>) -> Words {
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
