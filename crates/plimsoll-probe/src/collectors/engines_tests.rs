//! Collectors on a real JVM, uWSGI and Varnish.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use plimsoll_model::component::ComponentAddress;
use plimsoll_model::metric::series;
use plimsoll_testkit::program::engines::{Jvm, Uwsgi, Varnish};

use super::tests::{CollectorFixture, LONG};
use super::*;

fn over(kind: ComponentKind, place: ComponentAddress) -> CollectorFixture {
    let component = Component {
        kind,
        place,
        login: None,
    };
    CollectorFixture::over(vec![component], LONG)
}

fn begin(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn request(address: SocketAddr) {
    let mut answer = String::new();
    begin(address).read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// Samples within which a server must report its activity.
const SCRAPES_MAX: u32 = 3000;

#[track_caller]
fn scrape_until(watched: &mut CollectorFixture, is_met: impl Fn(&Readings) -> bool) {
    let was_met = (0..SCRAPES_MAX).any(|_| is_met(&watched.scrape()));
    assert!(was_met, "{}", watched.notes());
}

#[test]
fn a_jvm_is_seen_by_its_counters() {
    let options = ["-Xmx32m", "-Xmn4m", "-XX:+UseSerialGC"];
    let jvm = Jvm::start(&options, 2, "collect 8192");
    let path = jvm.counters();
    let at = path.display().to_string();
    let mut watched = over(ComponentKind::Jvm, ComponentAddress::File(path));
    let of = |metric: &str, labels: &[(&str, &str)]| {
        series(metric, &[&[("at", at.as_str())], labels].concat())
    };
    let first = watched.scrape().values;
    let limit = first.get(&of(metric::JVM_OLD_LIMIT, &[]));
    assert_eq!(limit, Some(&f64::from(28 << 20)), "{first:#?}");
    let heap = of(metric::SETTING, &[("setting", "-Xmx")]);
    assert_eq!(first.get(&heap), Some(&f64::from(32 << 20)), "{first:#?}");
    // More objects than fit into the young generation: some are collected between samples.
    request(jvm.address);
    let values = watched.scrape().values;
    let young = of(metric::JVM_GC_COUNT, &[("kind", "young")]);
    assert!(
        values.get(&young).is_some_and(|&count| count > 0.0),
        "{values:#?}"
    );
    let pause = values.get(&of(metric::JVM_GC_PAUSE, &[]));
    assert!(pause.is_some_and(|&pause| pause > 0.0), "{values:#?}");
    let pool = values.get(&of(metric::JVM_POOL, &[("pool", "pool-1-thread-")]));
    assert_eq!(pool, Some(&1.0), "{values:#?}");
    let waiting = values.get(&of(metric::JVM_WAITING, &[]));
    assert_eq!(waiting, Some(&0.0), "{values:#?}");
    assert_eq!(watched.notes(), "");
    drop(jvm);
    watched.scrape();
    let notes = watched.notes();
    assert!(
        notes.contains("cannot be watched: nothing answers there"),
        "{notes}"
    );
}

#[test]
fn a_request_that_uwsgi_carries_out_is_seen() {
    let uwsgi = Uwsgi::start(1, "1000");
    let at = uwsgi.stats.to_string();
    let place = ComponentAddress::Tcp {
        host: uwsgi.stats.ip().to_string(),
        port: uwsgi.stats.port(),
    };
    let mut watched = over(ComponentKind::Uwsgi, place);
    let of = |metric: &str| series(metric, &[("at", at.as_str())]);
    let values = watched.scrape().values;
    for (name, right) in [
        (of(metric::UWSGI_BUSY), 0.0),
        (of(metric::UWSGI_PLACES), 1.0),
        (of(metric::UWSGI_QUEUE), 0.0),
    ] {
        assert_eq!(values.get(&name), Some(&right), "{name}: {values:#?}");
    }
    let _asked = begin(uwsgi.address);
    let busy = of(metric::UWSGI_BUSY);
    scrape_until(&mut watched, |readings| {
        readings.values.get(&busy) == Some(&1.0)
    });
    assert_eq!(watched.notes(), "");
}

#[test]
fn varnish_is_seen_by_the_command_that_was_named() {
    let varnish = Varnish::start(10, "127.0.0.1:1".parse().unwrap());
    let place = ComponentAddress::Command(varnish.command());
    let at = place.to_string();
    let mut watched = over(ComponentKind::Varnish, place);
    let threads = series(metric::VARNISH_THREADS, &[("at", at.as_str())]);
    // They are created one after the other, and one more than configured.
    let has_all =
        |readings: &Readings| readings.values.get(&threads).is_some_and(|&all| all >= 5.0);
    scrape_until(&mut watched, has_all);
    assert_eq!(watched.notes(), "");
    let place = ComponentAddress::Command("varnishstat -j -t 0 -n /no/such/folder".to_owned());
    let mut watched = over(ComponentKind::Varnish, place);
    watched.scrape();
    let notes = watched.notes();
    assert!(notes.contains("adduser USER varnish"), "{notes}");
}
