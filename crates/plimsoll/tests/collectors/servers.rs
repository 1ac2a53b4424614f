//! Application servers and session poolers at their limits: the first finding.

use plimsoll_testkit::program::databases::Postgres;
use plimsoll_testkit::program::runtimes::Puma;
use plimsoll_testkit::program::servers::{Gunicorn, Pgbouncer};

use crate::found::{assert_field_contains, best, found};
use crate::support::Sandbox;
use plimsoll_testkit::turns::alone;

#[test]
fn gunicorn_has_one_worker() {
    let _alone = alone();
    let gunicorn = Gunicorn::start(1, "0.1");
    let watch = format!("gunicorn: {}\n", gunicorn.address);
    let url = format!("http://{}/", gunicorn.address);
    let Some(found) = found(&Sandbox::new(), &url, &watch, ["3/s:3s", "60/s:6s"], &[]) else {
        return;
    };
    let best = best(&found, "R2");
    assert_field_contains(&best, "limit", &["workers of gunicorn"]);
    assert_field_contains(
        &best,
        "sentence",
        &["the only worker of gunicorn was busy", "connections waited"],
    );
    assert_field_contains(&best, "remedy", &["raise `--workers` (now 1)"]);
}

#[test]
fn pgbouncer_has_a_pool_of_two() {
    let _alone = alone();
    let database = Postgres::start("");
    let pooler = Pgbouncer::start(&database, 2);
    let application = Puma::before(&pooler.url(), 16, "SELECT pg_sleep(0.1)");
    let watch = format!(
        "pgbouncer: {}\npostgres: {}\n",
        pooler.address,
        database.url()
    );
    let load = ["4/s:3s", "100/s:6s"];
    let Some(found) = found(&Sandbox::new(), &application.url(), &watch, load, &[]) else {
        return;
    };
    let best = best(&found, "P11");
    assert_field_contains(&best, "limit", &["pool postgres/postgres of pgbouncer"]);
    assert_field_contains(
        &best,
        "sentence",
        &[
            "all 2 sessions of pgbouncer's pool",
            "clients waited for one",
        ],
    );
    let file = format!("{}:9", pooler.configuration.display());
    assert_field_contains(&best, "remedy", &["(now 2)", &file]);
}
