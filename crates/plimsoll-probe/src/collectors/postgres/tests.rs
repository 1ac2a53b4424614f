//! The collector of PostgreSQL on a real one.

use plimsoll_model::component::ComponentKind;
use plimsoll_model::metric::{self, series};
use plimsoll_model::reading::label;
use plimsoll_sql::clauses::Select;
use plimsoll_sql::summary_table::{Dialect, by_triggers, refreshed};
use plimsoll_testkit::program::databases::Postgres;

use crate::collectors::fixture::{CollectorFixture, setting, tcp, wait_for_statement};

#[test]
fn postgres_is_seen_by_who_may() {
    let server = Postgres::start("max_connections = 17\nwork_mem = 2MB");
    server.execute(
        "CREATE ROLE plimsoll LOGIN PASSWORD 'see n' IN ROLE pg_monitor; CREATE TABLE stock (id int, n int); \
         INSERT INTO stock VALUES (1, 1)",
    );
    let place = tcp(server.address);
    let at = place.to_string();
    let mut watched = CollectorFixture::of(ComponentKind::Postgres, place, "plimsoll", "see n");
    let _holder = server.hold("BEGIN; UPDATE stock SET n = 5 WHERE id = 1;\n");
    let blocking = series(
        metric::POSTGRES_BLOCKING,
        &[
            ("at", &at),
            ("state", "idle in transaction"),
            ("statement", "UPDATE stock SET n = ? WHERE id = ?"),
        ],
    );
    let of = |metric: &str, label: (&str, &str)| series(metric, &[("at", &at), label]);
    let idle = of(metric::POSTGRES_SESSIONS, ("state", "idle in transaction"));
    // The session holds the row once the server has confirmed it.
    while watched.scrape().values.get(&idle) != Some(&1.0) {}
    let _waiter = server.hold("UPDATE stock SET n = 7 WHERE id = 1;\n");
    let waiting = of(metric::POSTGRES_ACTIVE, ("wait", "lock"));
    let samples = std::iter::repeat_with(|| watched.scrape().values);
    let mut samples = samples.skip_while(|values| values.get(&waiting) != Some(&1.0));
    let values = samples.next().unwrap();
    let file = server.configuration().display().to_string();
    for (series, right) in [
        (of(metric::POSTGRES_SESSIONS, ("state", "all")), 3.0),
        (
            of(
                metric::POSTGRES_WAITING,
                ("statement", "UPDATE stock SET n = ? WHERE id = ?"),
            ),
            1.0,
        ),
        (blocking, 1.0),
        (series(metric::POSTGRES_LOCKS_WAITED, &[("at", &at)]), 1.0),
        (series(metric::POSTGRES_REFUSED, &[("at", &at)]), 0.0),
        (series(metric::POSTGRES_DEADLOCKS, &[("at", &at)]), 0.0),
        (setting(&at, "max_connections", &format!("{file}:5")), 17.0),
        (
            setting(&at, "work_mem", &format!("{file}:6")),
            2.0 * 1_048_576.0,
        ),
    ] {
        assert_eq!(values.get(&series), Some(&right), "{series} in {values:#?}");
    }
    assert!(
        values.contains_key(&series(metric::POSTGRES_COMMITS, &[("at", &at)])),
        "{values:#?}"
    );
    // The limit of other sessions, not the one that the collector set for its own.
    let limit = [("at", at.as_str()), ("setting", "statement_timeout")];
    assert_eq!(values.get(&series(metric::SETTING, &limit)), Some(&0.0));
    let size = values.get(&series(metric::DATABASE_SIZE, &[("at", &at)]));
    assert!(size.is_some_and(|&size| size > 1e6), "{size:?}");
    assert_eq!(watched.notes(), "");
}

#[test]
fn postgres_turns_away_who_may_not_ask() {
    let server = Postgres::start("");
    server.execute("CREATE ROLE plimsoll LOGIN PASSWORD 'seen'");
    let place = tcp(server.address);
    for (password, expected) in [
        (
            "wrong",
            [
                "cannot be watched: it denies access (password authentication failed",
                "IN ROLE pg_monitor",
            ],
        ),
        (
            "",
            [
                "cannot be watched: it denies access (a password is required",
                "IN ROLE pg_monitor",
            ],
        ),
        (
            "seen",
            [
                "shows this role only its own sessions",
                "GRANT pg_monitor TO",
            ],
        ),
    ] {
        let mut watched =
            CollectorFixture::of(ComponentKind::Postgres, place.clone(), "plimsoll", password);
        watched.scrape();
        watched.scrape();
        let notes = watched.notes();
        assert!(expected.iter().all(|text| notes.contains(text)), "{notes}");
        assert_eq!(notes.lines().count(), 1, "{notes}");
    }
}

#[test]
fn postgres_that_has_no_session_left_says_so_and_is_seen_again() {
    let server = Postgres::start("max_connections = 5\nsuperuser_reserved_connections = 1");
    server.execute(
        "CREATE ROLE plimsoll LOGIN PASSWORD 'seen' IN ROLE pg_monitor; CREATE ROLE shop LOGIN",
    );
    let place = tcp(server.address);
    let at = place.to_string();
    let full = || {
        let own = server
            .execute("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'");
        own.trim() == "5"
    };
    let held: Vec<_> = (0..4).map(|_| server.hold("SELECT 1;\n")).collect();
    while !full() {}
    let mut watched = CollectorFixture::of(ComponentKind::Postgres, place, "plimsoll", "seen");
    let refused = series(metric::POSTGRES_REFUSED, &[("at", &at)]);
    // A session is left for administrators, and none for others.
    assert_eq!(watched.scrape().values.get(&refused), Some(&1.0));
    drop(held);
    while watched.scrape().values.get(&refused) != Some(&0.0) {}
    assert_eq!(watched.notes(), "");
}

#[test]
fn postgres_tells_what_statements_cost_and_how_they_are_planned() {
    let server = Postgres::start("");
    server.execute(
        "CREATE ROLE plimsoll LOGIN PASSWORD 'seen' IN ROLE pg_monitor, pg_read_all_data; \
         CREATE TABLE orders AS SELECT i AS id, i AS customer FROM generate_series(1, 2000) i; \
         CREATE INDEX one ON orders (id); CREATE INDEX other ON orders (id); ANALYZE orders",
    );
    let at = server.address.to_string();
    let mut watched = CollectorFixture::of(
        ComponentKind::Postgres,
        tcp(server.address),
        "plimsoll",
        "seen",
    );
    watched.scrape();
    for customer in 1..=3 {
        server.execute(&format!(
            "SELECT count(*) FROM orders WHERE customer = {customer}"
        ));
    }
    let values = watched.scrape().values;
    let labels = [
        ("at", at.as_str()),
        (
            "statement",
            "SELECT count(*) FROM orders WHERE customer = ?",
        ),
    ];
    for metric in [
        metric::STATEMENT_CALLS,
        metric::STATEMENT_TIME,
        metric::STATEMENT_ROWS,
        metric::STATEMENT_BLOCKS,
    ] {
        let value = values.get(&series(metric, &labels));
        assert!(
            value.is_some_and(|&value| value > 0.0),
            "{metric} in {values:#?}"
        );
    }
    let plans: Vec<&String> = values
        .keys()
        .filter(|name| name.starts_with(metric::STATEMENT_PLAN))
        .collect();
    let right = "Seq Scan on orders with filter (customer = ?)";
    assert!(plans.iter().any(|plan| plan.contains(right)), "{plans:#?}");
    // Earlier counts, and the collector's own queries, do not belong to the run.
    let others = values
        .keys()
        .filter(|name| name.starts_with(metric::STATEMENT_CALLS));
    assert_eq!(others.count(), 1, "{values:#?}");
    let notes = watched.notes();
    assert!(
        notes.contains("`DROP INDEX CONCURRENTLY other`") && notes.lines().count() == 1,
        "{notes}"
    );
}

#[test]
fn postgres_that_does_not_show_statements_is_told_what_would() {
    let server = Postgres::start("");
    server.execute("DROP EXTENSION pg_stat_statements; CREATE ROLE plimsoll LOGIN PASSWORD 'seen' IN ROLE pg_monitor");
    let mut watched = CollectorFixture::of(
        ComponentKind::Postgres,
        tcp(server.address),
        "plimsoll",
        "seen",
    );
    watched.scrape();
    watched.scrape();
    let notes = watched.notes();
    let expected =
        "as an administrator, in database postgres `CREATE EXTENSION pg_stat_statements`";
    assert!(
        notes.contains(expected) && notes.lines().count() == 1,
        "{notes}"
    );
}

#[test]
fn postgres_pretends_that_an_index_is_there() {
    let server = Postgres::start("max_parallel_workers_per_gather = 0");
    let known =
        server.execute("SELECT count(*) FROM pg_available_extensions WHERE name = 'hypopg'");
    assert_eq!(
        known.trim(),
        "1",
        "HypoPG is missing: apt-get install postgresql-NN-hypopg"
    );
    server.execute(
        "CREATE EXTENSION hypopg; CREATE TABLE orders (id int PRIMARY KEY, customer int, note text); \
         INSERT INTO orders SELECT i, i, 'a note of an order' FROM generate_series(1, 50000) i; ANALYZE orders",
    );
    let mut watched =
        CollectorFixture::of(ComponentKind::Postgres, tcp(server.address), "postgres", "");
    let work = || drop(server.execute("SELECT count(*) FROM orders WHERE customer = 7"));
    let statement = "SELECT count(*) FROM orders WHERE customer = ?";
    let (series, with) =
        wait_for_statement(&mut watched, work, metric::STATEMENT_WITH_INDEX, statement);
    assert_eq!(label(&series, "index"), Some("orders (customer)"));
    let (series, without) =
        wait_for_statement(&mut watched, work, metric::STATEMENT_PLAN, statement);
    let plan = label(&series, "plan").unwrap();
    assert!(plan.contains("Seq Scan on orders"), "{plan}");
    assert!(with < without / 10.0, "{with} {without}");
    // It was not created.
    let indexes = server.execute("SELECT count(*) FROM pg_indexes WHERE tablename = 'orders'");
    assert_eq!(indexes.trim(), "1");
}

#[test]
fn a_summary_kept_by_triggers_is_what_postgres_would_compute() {
    let server = Postgres::start("");
    server.execute(
        "CREATE TABLE articles (id int PRIMARY KEY, site int NOT NULL, topic text NOT NULL, size int NOT NULL); \
         INSERT INTO articles SELECT i, 1 + i % 2, chr(97 + i % 3), i % 11 FROM generate_series(1, 300) i",
    );
    let statements = [
        "SELECT topic, count(*) AS n, sum(size) FROM articles WHERE site = ? GROUP BY topic ORDER BY sum(size) DESC, topic",
        "SELECT count(*) FROM articles WHERE topic = ?",
        "SELECT count(*), sum(size) FROM articles",
    ];
    let kept = statements.map(|statement| {
        let table = by_triggers(&Select::of(statement).unwrap(), Dialect::Postgres).unwrap();
        server.execute(&table.create);
        table.read
    });
    server.execute(
        "UPDATE articles SET topic = 'c' WHERE id % 5 = 0; UPDATE articles SET size = size + 3 WHERE id % 4 = 0; \
         DELETE FROM articles WHERE id % 7 = 0; INSERT INTO articles VALUES (9001, 2, 'd', 4), (9002, 1, 'd', 5); \
         UPDATE articles SET site = 3 - site WHERE id % 9 = 0; DELETE FROM articles WHERE topic = 'b' AND site = 1",
    );
    for (statement, read) in statements.iter().zip(&kept) {
        for value in ["1", "2", "'a'", "'b'", "'x'"] {
            let is_site = value.starts_with(|first: char| first.is_ascii_digit());
            if statement.contains('?') && statement.contains("site = ?") != is_site {
                continue;
            }
            let [right, found] =
                [*statement, read.as_str()].map(|text| server.execute(&text.replace('?', value)));
            assert_eq!(found, right, "{read} for {value}");
        }
    }
    // A result that is computed as a whole.
    let statement =
        "SELECT topic, avg(size)::int, max(id) FROM articles GROUP BY topic ORDER BY topic";
    let table = refreshed(&Select::of(statement).unwrap(), Dialect::Postgres, 10).unwrap();
    server.execute(&table.create);
    assert_eq!(server.execute(&table.read), server.execute(statement));
}
