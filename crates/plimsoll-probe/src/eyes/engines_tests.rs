//! Eyes on a real JVM, uWSGI and Varnish.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use plimsoll_model::metric::series;
use plimsoll_model::part::PartPlace;
use plimsoll_testkit::program::engines::{Jvm, Uwsgi, Varnish};

use super::tests::{LONG, Watched};
use super::*;

fn over(kind: PartKind, place: PartPlace) -> Watched {
    let part = Part {
        kind,
        place,
        login: None,
    };
    Watched::over(vec![part], LONG)
}

fn begin(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn ask(address: SocketAddr) {
    let mut answer = String::new();
    begin(address).read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// Looks within which a server has told what it does.
const LOOKS_MAX: u32 = 3000;

#[track_caller]
fn look_until(watched: &mut Watched, is_told: impl Fn(&Readings) -> bool) {
    let told = (0..LOOKS_MAX).any(|_| is_told(&watched.look()));
    assert!(told, "{}", watched.notes());
}

#[test]
fn a_jvm_is_seen_by_its_counters() {
    let options = ["-Xmx32m", "-Xmn4m", "-XX:+UseSerialGC"];
    let jvm = Jvm::start(&options, 2, "collect 8192");
    let path = jvm.counters();
    let at = path.display().to_string();
    let mut watched = over(PartKind::Jvm, PartPlace::File(path));
    let of = |metric: &str, labels: &[(&str, &str)]| {
        series(metric, &[&[("at", at.as_str())], labels].concat())
    };
    let first = watched.look().values;
    let limit = first.get(&of(metric::JVM_OLD_LIMIT, &[]));
    assert_eq!(limit, Some(&f64::from(28 << 20)), "{first:#?}");
    let heap = of(metric::SETTING, &[("setting", "-Xmx")]);
    assert_eq!(first.get(&heap), Some(&f64::from(32 << 20)), "{first:#?}");
    // More objects than fit into what is young: some are collected while somebody looks.
    ask(jvm.address);
    let seen = watched.look().values;
    let young = of(metric::JVM_GC_COUNT, &[("kind", "young")]);
    assert!(
        seen.get(&young).is_some_and(|&count| count > 0.0),
        "{seen:#?}"
    );
    let pause = seen.get(&of(metric::JVM_GC_PAUSE, &[]));
    assert!(pause.is_some_and(|&pause| pause > 0.0), "{seen:#?}");
    let pool = seen.get(&of(metric::JVM_POOL, &[("pool", "pool-1-thread-")]));
    assert_eq!(pool, Some(&1.0), "{seen:#?}");
    let waiting = seen.get(&of(metric::JVM_WAITING, &[]));
    assert_eq!(waiting, Some(&0.0), "{seen:#?}");
    assert_eq!(watched.notes(), "");
    drop(jvm);
    watched.look();
    let notes = watched.notes();
    assert!(
        notes.contains("is not seen: nobody answers there"),
        "{notes}"
    );
}

#[test]
fn a_request_that_uwsgi_carries_out_is_seen() {
    let uwsgi = Uwsgi::start(1, "1000");
    let at = uwsgi.stats.to_string();
    let place = PartPlace::Tcp {
        host: uwsgi.stats.ip().to_string(),
        port: uwsgi.stats.port(),
    };
    let mut watched = over(PartKind::Uwsgi, place);
    let of = |metric: &str| series(metric, &[("at", at.as_str())]);
    let seen = watched.look().values;
    for (name, right) in [
        (of(metric::UWSGI_BUSY), 0.0),
        (of(metric::UWSGI_PLACES), 1.0),
        (of(metric::UWSGI_QUEUE), 0.0),
    ] {
        assert_eq!(seen.get(&name), Some(&right), "{name}: {seen:#?}");
    }
    let _asked = begin(uwsgi.address);
    let busy = of(metric::UWSGI_BUSY);
    look_until(&mut watched, |seen| seen.values.get(&busy) == Some(&1.0));
    assert_eq!(watched.notes(), "");
}

#[test]
fn varnish_is_seen_by_the_command_that_was_named() {
    let varnish = Varnish::start(10, "127.0.0.1:1".parse().unwrap());
    let place = PartPlace::Command(varnish.command());
    let at = place.to_string();
    let mut watched = over(PartKind::Varnish, place);
    let threads = series(metric::VARNISH_THREADS, &[("at", at.as_str())]);
    // They are made one after the other, and one more than it is told to have.
    let has_all = |seen: &Readings| seen.values.get(&threads).is_some_and(|&all| all >= 5.0);
    look_until(&mut watched, has_all);
    assert_eq!(watched.notes(), "");
    let place = PartPlace::Command("varnishstat -j -t 0 -n /no/such/folder".to_owned());
    let mut watched = over(PartKind::Varnish, place);
    watched.look();
    let notes = watched.notes();
    assert!(notes.contains("adduser USER varnish"), "{notes}");
}
