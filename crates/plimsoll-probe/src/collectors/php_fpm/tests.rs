//! The collector of PHP-FPM on a real one.

use std::net::TcpStream;

use plimsoll_model::component::{Component, ComponentKind};
use plimsoll_model::metric::{self, series};
use plimsoll_testkit::program::runtimes::PhpFpm;

use crate::collectors::ComponentMetadata;
use crate::collectors::fixture::{CollectorFixture, LONG, tcp};

/// No status page: one process of two handles a request, then both do while a third waits.
#[test]
fn processes_of_php_fpm_are_seen_where_it_has_no_page() {
    let fpm = PhpFpm::without_page(2, "fgets(fopen('php://input', 'r'));");
    let known = ComponentMetadata {
        pid: Some(fpm.program.pid()),
        pool: Some("www".to_owned()),
        ..ComponentMetadata::default()
    };
    let at = fpm.address.to_string();
    let component = Component {
        kind: ComponentKind::PhpFpm,
        place: tcp(fpm.address),
        login: None,
    };
    let mut watched = CollectorFixture::knowing(vec![(component, known)], LONG);
    let counts = |watched: &mut CollectorFixture| {
        let values = watched.scrape().values;
        let count = |state| {
            let labels = [("at", at.as_str()), ("state", state)];
            values
                .get(&series(metric::PHP_FPM_PROCESSES, &labels))
                .copied()
        };
        let waiting = values
            .get(&series(metric::PHP_FPM_QUEUE, &[("at", &at)]))
            .copied();
        (count("idle"), count("active"), count("all"), waiting)
    };
    // A process accepts a connection and waits for the request.
    let mut held = Vec::new();
    for expected in [
        (Some(2.0), Some(0.0), Some(2.0), Some(0.0)),
        (Some(1.0), Some(1.0), Some(2.0), Some(0.0)),
        (Some(0.0), Some(2.0), Some(2.0), Some(0.0)),
        (Some(0.0), Some(2.0), Some(2.0), Some(1.0)),
    ] {
        while counts(&mut watched) != expected {}
        held.push(TcpStream::connect(fpm.address).unwrap());
    }
    assert_eq!(watched.notes(), "");
}
