//! The collector of pgbouncer on a real one.

use plimsoll_model::component::ComponentKind;
use plimsoll_model::metric::{self, series};
use plimsoll_testkit::program::databases::Postgres;
use plimsoll_testkit::program::servers::Pgbouncer;

use crate::collectors::fixture::{CollectorFixture, tcp};

#[test]
fn clients_that_wait_for_pgbouncer_are_seen() {
    let database = Postgres::start("");
    let pooler = Pgbouncer::start(&database, 2);
    let at = pooler.address.to_string();
    let mut watched = CollectorFixture::of(ComponentKind::Pgbouncer, tcp(pooler.address), "", "");
    let _held = ["BEGIN; SELECT 1;\n"; 2].map(|statements| pooler.hold(statements));
    let of = |metric: &str, state: &str| {
        let labels = [
            ("at", at.as_str()),
            ("pool", "postgres/postgres"),
            ("state", state),
        ];
        series(metric, &labels)
    };
    let used = of(metric::PGBOUNCER_SESSIONS, "active");
    while watched.scrape().values.get(&used) != Some(&2.0) {}
    let _waiting = pooler.hold("SELECT 1;\n");
    let waiting = of(metric::PGBOUNCER_CLIENTS, "waiting");
    let samples = std::iter::repeat_with(|| watched.scrape().values);
    let mut samples = samples.skip_while(|values| values.get(&waiting) != Some(&1.0));
    let values = samples.next().unwrap();
    let size = [
        ("at", at.as_str()),
        ("setting", "pool_size"),
        ("of", "postgres"),
    ];
    assert_eq!(
        values.get(&series(metric::SETTING, &size)),
        Some(&2.0),
        "{values:#?}"
    );
    assert_eq!(
        values.get(&of(metric::PGBOUNCER_SESSIONS, "idle")),
        Some(&0.0),
        "{values:#?}"
    );
    assert_eq!(watched.notes(), "");
}
