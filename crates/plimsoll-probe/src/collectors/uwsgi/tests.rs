//! The collector of uWSGI on a real one.

use std::io::Write as _;
use std::net::TcpStream;

use plimsoll_model::component::ComponentKind;
use plimsoll_model::metric::{self, series};
use plimsoll_testkit::program::engines::Uwsgi;

use crate::collectors::fixture::{CollectorFixture, tcp};

#[test]
fn a_request_that_uwsgi_carries_out_is_seen() {
    let uwsgi = Uwsgi::start(1, "1000");
    let at = uwsgi.stats.to_string();
    let mut watched = CollectorFixture::of(ComponentKind::Uwsgi, tcp(uwsgi.stats), "", "");
    let of = |metric: &str| series(metric, &[("at", at.as_str())]);
    let values = watched.scrape().values;
    for (name, right) in [
        (of(metric::UWSGI_BUSY), 0.0),
        (of(metric::UWSGI_PLACES), 1.0),
        (of(metric::UWSGI_QUEUE), 0.0),
    ] {
        assert_eq!(values.get(&name), Some(&right), "{name}: {values:#?}");
    }
    let mut stream = TcpStream::connect(uwsgi.address).unwrap();
    let request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let busy = of(metric::UWSGI_BUSY);
    watched.scrape_until(|readings| readings.values.get(&busy) == Some(&1.0));
    assert_eq!(watched.notes(), "");
}
