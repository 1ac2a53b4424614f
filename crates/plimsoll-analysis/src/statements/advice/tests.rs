//! Advice on statements, over made-up counts.

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
        usage("SELECT name, place FROM menus", 1.0, 0.4),
        usage("SELECT name FROM users WHERE id = $1", 1.0, 0.4),
        usage("SELECT body FROM news", 0.2, 0.4),
        usage("UPDATE counters SET n = n + 1", 1.0, 0.4),
    ];
    let advised = advice(&uses);
    assert_eq!(advised.len(), 1, "{advised:#?}");
    assert!(
        advised[0]
            .reason
            .starts_with("`SELECT name, place FROM menus` is executed 1.0 times")
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
        advised[0]
            .reason
            .ends_with("an aggregate over many rows is what costs"),
        "{advised:#?}"
    );
    assert!(
        sql(&advised).contains("CREATE TRIGGER keep_articles_by_topic AFTER"),
        "{advised:#?}"
    );
    assert!(
        sql(&advised).ends_with("SELECT topic, n FROM articles_by_topic WHERE n > 0;"),
        "{advised:#?}"
    );
    // Changes so frequent that they would wait for each other: 12 groups, each with at most 50 a second.
    let changes = usage("INSERT INTO articles VALUES (?)", 14.0, 0.1);
    let advised = advice(&[dear.clone(), changes]);
    assert!(
        sql(&advised)
            .contains("CREATE MATERIALIZED VIEW articles_computed AS SELECT topic, count(*)"),
        "{advised:#?}"
    );
    // 50 times 40 ms a second, or once in ten seconds.
    let expected = "takes about 0.4 % of a CPU instead of 200 %; it costs writes nothing";
    assert!(advised[0].remedy.contains(expected), "{advised:#?}");
    dear.without_index = Some(0.0);
    assert!(sql(&advice(&[dear.clone()])).contains("ON DUPLICATE KEY UPDATE"));
    dear.statement = "SELECT topic, avg(size) FROM articles GROUP BY topic".to_owned();
    assert!(sql(&advice(&[dear.clone()])).contains("CREATE EVENT"));
    // Asked for so seldom that keeping it costs as much.
    dear.calls = 0.2;
    dear.calls_per_request = Some(0.004);
    assert_eq!(advice(&[dear]), []);
}

/// The statements of the first advice.
#[track_caller]
fn sql(advised: &[Advice]) -> &str {
    advised[0].sql.as_deref().unwrap()
}

#[test]
fn the_cost_to_writes_is_part_of_the_advice() {
    let read = usage("SELECT count(*) FROM orders WHERE customer = ?", 1.0, 20.0);
    let write = usage("INSERT INTO orders VALUES (?)", 0.2, 0.4);
    let advised = advice(&[read.clone(), write.clone()]);
    let expected = "each of the 10.0 changes of orders a second that were counted also changes a row of it (up to 0.4 ms, \
        0.4 % of a CPU in all, in place of 100 %), and changes with the same customer wait for each other";
    assert!(advised[0].remedy.contains(expected), "{advised:#?}");
    // Changes that would cost more than the reads do.
    let writes = usage("UPDATE orders SET n = n + ? WHERE id = ?", 20.0, 0.4);
    assert_eq!(advice(&[read.clone(), writes]), []);
    // An index spares the work, and costs less.
    let mut indexed = read.clone();
    indexed.index = Some("CREATE INDEX CONCURRENTLY ON orders (customer)".to_owned());
    assert_eq!(advice(&[indexed, write]), []);
    // Of other values each time, and nothing that triggers could keep.
    let mut other = read;
    other.statement = "SELECT max(placed) FROM orders WHERE customer = ?".to_owned();
    assert_eq!(advice(&[other]), []);
}

#[test]
fn a_sort_and_a_temporary_table_are_named() {
    let mut sorted = usage(
        "SELECT topic, count(*) FROM articles GROUP BY topic ORDER BY topic",
        1.0,
        40.0,
    );
    sorted.sorted = Some(30_000.0);
    assert!(
        advice(&[sorted.clone()])[0]
            .reason
            .contains("a sort of 30000 rows is what costs")
    );
    sorted.on_disk = Some(1.0);
    assert!(
        advice(&[sorted.clone()])[0]
            .reason
            .contains("a temporary table on disk")
    );
    sorted.spilt = Some(3.0 * 1_048_576.0);
    assert!(
        advice(&[sorted])[0]
            .reason
            .contains("3.0 MiB in temporary files")
    );
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

/// A read of one row.
fn point(statement: &str, calls_per_request: f64) -> StatementUse {
    StatementUse {
        rows: 1.0,
        ..usage(statement, calls_per_request, 0.2)
    }
}

#[test]
fn a_result_that_changes_as_often_as_it_is_read_is_not_cached() {
    let read = usage("SELECT name, value FROM counters", 1.0, 0.4);
    assert_eq!(advice(std::slice::from_ref(&read)).len(), 1);
    let write = usage("UPDATE counters SET n = n + ?", 0.5, 0.01);
    assert_eq!(advice(&[read, write]), []);
}

#[test]
fn what_differs_each_time_is_not_cached() {
    for statement in [
        "SELECT name FROM menus ORDER BY random()",
        "SELECT LAST_INSERT_ID()",
        "SELECT now()",
        "SELECT name FROM menus WHERE …",
    ] {
        assert_eq!(advice(&[usage(statement, 1.0, 40.0)]), [], "{statement}");
    }
}

#[test]
fn settings_that_each_request_reads_again() {
    let read = point("SELECT value FROM site_settings WHERE name = ?", 3.0);
    let advised = advice(std::slice::from_ref(&read));
    assert!(
        advised[0]
            .reason
            .contains("no statement that was counted wrote to site_settings"),
        "{advised:#?}"
    );
    assert!(
        advised[0]
            .remedy
            .contains("saves 0.60 ms of database time and 3 round trips"),
        "{advised:#?}"
    );
    let write = usage(
        "UPDATE site_settings SET value = ? WHERE name = ?",
        0.01,
        0.2,
    );
    assert_eq!(advice(&[read, write]), []);
    for silent in [
        point("SELECT value FROM user_settings WHERE name = ?", 1.0),
        point(
            "SELECT value FROM settings WHERE tenant_id = ? AND name = ?",
            1.0,
        ),
        point("SELECT value FROM settings WHERE name = ?", 0.5),
        point("SELECT name FROM products WHERE id = ?", 1.0),
    ] {
        assert_eq!(advice(std::slice::from_ref(&silent)), [], "{silent:#?}");
    }
}

#[test]
fn questions_for_the_schema_before_each_insert() {
    let insert = usage("INSERT INTO events (a) VALUES (?)", 0.5, 0.3);
    let shown = usage("SHOW TABLES LIKE ?", 0.5, 0.8);
    let described = usage("DESCRIBE events", 1.0, 0.8);
    let advised = advice(&[insert.clone(), shown.clone(), described]);
    assert_eq!(advised.len(), 2, "{advised:#?}");
    let expected =
        "`DESCRIBE events` is executed 2 times for each `INSERT INTO events (a) VALUES (?)`";
    assert!(advised[0].reason.starts_with(expected), "{advised:#?}");
    assert!(
        advised[1]
            .remedy
            .starts_with("create and check events once"),
        "{advised:#?}"
    );
    // At the start of sessions, and not with each insert; and beside no insert at all.
    let seldom = usage("SHOW TABLES LIKE ?", 0.07, 0.8);
    assert_eq!(advice(&[insert, seldom]), []);
    assert_eq!(advice(&[shown]), []);
}

#[test]
fn two_reads_of_a_row_could_be_one() {
    let name = point("SELECT name FROM users WHERE id = ?", 1.0);
    let email = point("SELECT email, name FROM users WHERE id = $1", 1.0);
    let advised = advice(&[
        name.clone(),
        StatementUse {
            statement: email.statement.replace("$1", "?"),
            ..email
        },
    ]);
    assert_eq!(advised.len(), 1, "{advised:#?}");
    assert_eq!(sql(&advised), "SELECT name, email FROM users WHERE id = ?;");
    for other in [
        point("SELECT email FROM users WHERE id = ?", 0.9),
        point("SELECT email FROM users WHERE login = ?", 1.0),
        point("SELECT total FROM orders WHERE id = ?", 1.0),
        point("SELECT email FROM users WHERE id = ? FOR UPDATE", 1.0),
        usage("SELECT email FROM users WHERE id = ?", 1.0, 0.2),
    ] {
        assert_eq!(advice(&[name.clone(), other.clone()]), [], "{other:#?}");
    }
}

#[test]
fn an_update_can_return_the_row_that_is_read_beside_it() {
    let read = point("SELECT title FROM posts WHERE id = ?", 1.0);
    let change = point("UPDATE posts SET views = views + ? WHERE id = ?", 1.0);
    let advised = advice(&[read.clone(), change.clone()]);
    assert_eq!(
        sql(&advised),
        "UPDATE posts SET views = views + ? WHERE id = ? RETURNING title;"
    );
    // MariaDB's updates return nothing.
    let of_mariadb = [&read, &change].map(|usage| StatementUse {
        without_index: Some(0.0),
        ..usage.clone()
    });
    assert_eq!(advice(&of_mariadb), []);
    // The new value may be computed from the one that was read.
    let replaced = point("UPDATE posts SET title = ? WHERE id = ?", 1.0);
    assert_eq!(advice(&[read, replaced]), []);
    let key = point("SELECT LAST_INSERT_ID()", 1.0);
    let insert = usage("INSERT INTO orders (a) VALUES (?)", 1.0, 0.2);
    let advised = advice(&[key, insert]);
    assert!(
        advised[0].remedy.contains("INSERT … RETURNING"),
        "{advised:#?}"
    );
}

#[test]
fn what_the_request_already_carried() {
    let known = point("SELECT id FROM articles WHERE id = ?", 1.0);
    let advised = advice(std::slice::from_ref(&known));
    assert!(
        advised[0]
            .reason
            .contains("returns nothing but the values that it is given"),
        "{advised:#?}"
    );
    let session = point("SELECT user_id, role FROM sessions WHERE token = ?", 1.0);
    let advised = advice(std::slice::from_ref(&session));
    assert!(advised[0].remedy.contains("signed cookie"), "{advised:#?}");
    // It is often not there; it is locked; it changes with each request; it is no session.
    let missing = StatementUse { rows: 0.6, ..known };
    let write = usage("UPDATE sessions SET last = ? WHERE token = ?", 0.8, 0.01);
    assert_eq!(advice(&[missing]), []);
    assert_eq!(advice(&[session, write]), []);
    for silent in [
        "SELECT id FROM articles WHERE id = ? FOR UPDATE",
        "SELECT id FROM users WHERE login = ?",
        "SELECT name FROM users WHERE id = ?",
    ] {
        assert_eq!(advice(&[point(silent, 1.0)]), [], "{silent}");
    }
}
