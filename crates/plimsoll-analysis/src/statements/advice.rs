//! Remedies for statements other than an index: results that are the same for every request, results that could be
//! precomputed, and statements added by drivers and ORMs. Each with its savings.

use super::StatementUse;

/// Executions per request from which every request counts as executing it.
const EVERY: f64 = 0.9;
/// What takes less of the database's time for each request is not worth a word, ms.
const WORTH_MS: f64 = 0.05;
/// A statement that takes this long is worth being worked out ahead, ms.
const DEAR_MS: f64 = 5.0;
/// Refresh interval of a precomputed result, s.
const RENEWED_S: f64 = 10.0;
/// It pays where refreshing takes at most this share of the statement's present time.
const PAYS: f64 = 0.2;
/// Statements without work of their own in one request that are worth a word.
const IDLE_MIN: f64 = 2.0;
/// First words of statements that only frame transactions or set something.
const FRAMES: [&str; 13] = [
    "BEGIN",
    "START",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE",
    "SET",
    "RESET",
    "SHOW",
    "DISCARD",
    "DEALLOCATE",
    "PREPARE",
    "USE",
];
/// Whole statements by which pools and drivers check whether a session lives, and of what kind it is.
const CHECKS: [&str; 7] = [
    "select $1",
    "select ?",
    "select 1",
    "select version()",
    "select version ( )",
    "select @@version",
    "select @@session.transaction_read_only",
];
/// Tables of a database about itself, which mappers read to learn the columns of others.
const CATALOGS: [&str; 5] = [
    "pg_attribute",
    "pg_type",
    "pg_class",
    "pg_catalog",
    "information_schema",
];
/// What makes a statement work out something from many rows.
const GATHERING: [&str; 8] = [
    "group by", "count(", "count (", "sum(", "sum (", "avg(", "avg (", "distinct",
];

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The observation.
    pub reason: String,
    /// What to do.
    pub remedy: String,
    /// The database's time that it would save for each request, ms.
    pub saves_ms: f64,
}

/// Remedies for these statements, the largest saving first.
pub fn advice(uses: &[StatementUse]) -> Vec<Advice> {
    let reads = uses.iter().filter(|usage| is_plain_read(usage));
    let mut all: Vec<Advice> = reads
        .filter_map(|usage| worked_out(usage).or_else(|| alike(usage)))
        .collect();
    all.extend(overhead(uses));
    all.retain(|advice| advice.saves_ms >= WORTH_MS);
    all.sort_by(|a, b| b.saves_ms.total_cmp(&a.saves_ms));
    all
}

/// The database's time in each request, ms.
fn per_request_ms(usage: &StatementUse) -> f64 {
    usage.calls_per_request.unwrap_or(0.0) * usage.each_ms
}

fn first_word(statement: &str) -> &str {
    statement.split([' ', ';', '(']).next().unwrap_or_default()
}

/// It reads, with the same values at each execution: it has no placeholder.
fn is_plain_read(usage: &StatementUse) -> bool {
    let has_values = usage.statement.contains(['?', '$']) || usage.statement.contains("/*");
    first_word(&usage.statement).eq_ignore_ascii_case("select") && !has_values && !is_idle(usage)
}

/// It does nothing for the request by itself.
fn is_idle(usage: &StatementUse) -> bool {
    let lower = usage
        .statement
        .trim_end_matches(';')
        .trim()
        .to_ascii_lowercase();
    let first = first_word(&usage.statement);
    FRAMES.iter().any(|frame| first.eq_ignore_ascii_case(frame))
        || CHECKS.contains(&lower.as_str())
        || CATALOGS.iter().any(|catalog| lower.contains(catalog))
}

/// A statement with the same text in every request: its result is the same for all until its tables change.
fn alike(usage: &StatementUse) -> Option<Advice> {
    let calls = usage.calls_per_request.filter(|&calls| calls >= EVERY)?;
    let saves_ms = per_request_ms(usage);
    Some(Advice {
        reason: format!(
            "`{}` is executed {calls:.1} times per request, with the same text in all requests",
            usage.statement
        ),
        remedy: format!(
            "cache its result in the application, for a while or until its tables change: this saves {saves_ms:.1} ms \
             of database time per request"
        ),
        saves_ms,
    })
}

/// A result computed anew each time from many rows, which could be precomputed.
fn worked_out(usage: &StatementUse) -> Option<Advice> {
    let lower = usage.statement.to_ascii_lowercase();
    let gathers =
        GATHERING.iter().any(|word| lower.contains(word)) || lower.matches(" join ").count() > 1;
    // Shares of one second of one session, now and when it is renewed now and then.
    let (now, renewed) = (
        usage.calls * usage.each_ms / 1e3,
        usage.each_ms / 1e3 / RENEWED_S,
    );
    if !gathers || usage.each_ms < DEAR_MS || renewed > PAYS * now {
        return None;
    }
    let how = if usage.without_index.is_some() {
        // Counted by MariaDB and MySQL, which know none.
        "keep its rows in a table that an EVENT refreshes (`CREATE EVENT … ON SCHEDULE EVERY 10 SECOND`)"
    } else {
        "keep its rows in a materialized view (`CREATE MATERIALIZED VIEW … AS` this statement) with a unique index, \
         and refresh it by `REFRESH MATERIALIZED VIEW CONCURRENTLY`"
    };
    Some(Advice {
        reason: format!(
            "`{}` computes the same {:.0} rows {:.1} times a second, {:.1} ms each",
            usage.statement, usage.rows, usage.calls, usage.each_ms
        ),
        remedy: format!(
            "{how}: refreshed every {RENEWED_S:.0} s, it takes about {:.1} % of a CPU instead of {:.0} %; readers get \
             data up to {RENEWED_S:.0} s old",
            renewed * 100.0,
            now * 100.0
        ),
        saves_ms: per_request_ms(usage) * (1.0 - renewed / now),
    })
}

/// What drivers, pools and mappers add to the work of requests.
fn overhead(uses: &[StatementUse]) -> Option<Advice> {
    let idle: Vec<&StatementUse> = uses.iter().filter(|usage| is_idle(usage)).collect();
    let calls = |usage: &StatementUse| usage.calls_per_request.unwrap_or(0.0);
    let of_idle: f64 = idle.iter().map(|usage| calls(usage)).sum();
    let of_all: f64 = uses.iter().map(calls).sum();
    let saves_ms: f64 = idle.iter().map(|usage| per_request_ms(usage)).sum();
    let mut most = idle;
    most.sort_by(|a, b| calls(b).total_cmp(&calls(a)));
    let named: Vec<String> = most
        .iter()
        .take(3)
        .map(|usage| format!("`{}` {:.1}", usage.statement, calls(usage)))
        .collect();
    (of_idle >= IDLE_MIN).then(|| Advice {
        reason: format!(
            "{of_idle:.1} of the {of_all:.1} statements per request do no work of their own ({}): each costs a round trip",
            named.join(", ")
        ),
        remedy: format!(
            "let the pool validate only sessions idle for long, run single reads without a transaction (autocommit), \
             set constant settings once for the role (`ALTER ROLE … SET …`), and let the ORM cache table metadata: \
             this saves {saves_ms:.1} ms of database time and up to {of_idle:.0} round trips per request"
        ),
        // Round trips cost the request more than the database.
        saves_ms: saves_ms.max(WORTH_MS),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(statement: &str, calls_per_request: f64, each_ms: f64) -> StatementUse {
        StatementUse {
            at: "db:5432".to_owned(),
            statement: statement.to_owned(),
            share: 0.1,
            calls: calls_per_request * 50.0,
            calls_per_request: Some(calls_per_request),
            each_ms,
            rows: 12.0,
            examined_per_row: None,
            without_index: None,
            sorted: None,
            on_disk: None,
            spilt: None,
            plan: None,
            with_index: None,
            index: None,
        }
    }

    #[test]
    fn what_all_requests_ask_for_alike() {
        let uses = [
            usage("SELECT name, value FROM settings", 1.0, 0.4),
            usage("SELECT name FROM users WHERE id = $1", 1.0, 0.4),
            usage("SELECT body FROM news", 0.2, 0.4),
            usage("UPDATE counters SET n = n + 1", 1.0, 0.4),
        ];
        let advised = advice(&uses);
        assert_eq!(advised.len(), 1, "{advised:#?}");
        assert!(
            advised[0]
                .reason
                .starts_with("`SELECT name, value FROM settings` is executed 1.0 times")
        );
        assert!(advised[0].remedy.contains("saves 0.4 ms"), "{advised:#?}");
    }

    #[test]
    fn what_is_worked_out_again_and_again() {
        let mut dear = usage(
            "SELECT topic, count(*) FROM articles GROUP BY topic",
            1.0,
            40.0,
        );
        let advised = advice(std::slice::from_ref(&dear));
        assert!(
            advised[0].remedy.contains("CREATE MATERIALIZED VIEW"),
            "{advised:#?}"
        );
        // 50 times 40 ms a second, or once in ten seconds.
        let expected = "takes about 0.4 % of a CPU instead of 200 %";
        assert!(advised[0].remedy.contains(expected), "{advised:#?}");
        dear.without_index = Some(0.0);
        assert!(advice(&[dear.clone()])[0].remedy.contains("CREATE EVENT"));
        // Asked for so seldom that keeping it costs as much.
        dear.calls = 0.2;
        dear.calls_per_request = Some(0.004);
        assert_eq!(advice(&[dear]), []);
    }

    #[test]
    fn what_drivers_add() {
        let uses = [
            usage("SELECT $1", 1.0, 0.02),
            usage("BEGIN", 1.0, 0.01),
            usage("COMMIT", 1.0, 0.03),
            usage("SELECT t.oid FROM pg_type t WHERE t.typname = $1", 0.5, 0.2),
            usage("SELECT name FROM users WHERE id = $1", 2.5, 0.4),
        ];
        let advised = advice(&uses);
        assert_eq!(advised.len(), 1, "{advised:#?}");
        let expected =
            "3.5 of the 6.0 statements per request do no work of their own (`SELECT $1` 1.0, ";
        assert!(advised[0].reason.starts_with(expected), "{advised:#?}");
        assert_eq!(advice(&uses[1..3]).len(), 1);
        assert_eq!(advice(&uses[1..2]), []);
    }
}
