//! The collector of gunicorn on a real one.

use std::net::TcpStream;

use plimsoll_model::component::ComponentKind;
use plimsoll_model::metric::{self, series};
use plimsoll_testkit::program::servers::Gunicorn;

use crate::collectors::fixture::{CollectorFixture, tcp};

#[test]
fn connections_that_wait_for_gunicorn_are_seen() {
    let gunicorn = Gunicorn::start(1, "0.1");
    let at = gunicorn.address.to_string();
    let mut watched = CollectorFixture::of(ComponentKind::Gunicorn, tcp(gunicorn.address), "", "");
    let of = |metric: &str| series(metric, &[("at", &at)]);
    let (taken, waiting) = (of(metric::GUNICORN_TAKEN), of(metric::GUNICORN_WAITING));
    // A worker waits for the request of the connection that it has accepted.
    let _first = TcpStream::connect(gunicorn.address).unwrap();
    while watched.scrape().values.get(&taken) != Some(&1.0) {}
    let _other = TcpStream::connect(gunicorn.address).unwrap();
    let values = watched.scrape().values;
    assert_eq!(
        (values.get(&taken), values.get(&waiting)),
        (Some(&1.0), Some(&1.0)),
        "{values:#?}"
    );
    assert_eq!(watched.notes(), "");
    drop(gunicorn);
    watched.scrape();
    assert!(
        watched
            .notes()
            .contains("nothing listens there on this machine"),
        "{}",
        watched.notes()
    );
}
