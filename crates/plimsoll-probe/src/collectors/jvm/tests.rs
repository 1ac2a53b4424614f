//! The collector of JVMs on a real one.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use plimsoll_model::component::{ComponentAddress, ComponentKind};
use plimsoll_model::metric::{self, series};
use plimsoll_testkit::program::engines::Jvm;

use crate::collectors::fixture::CollectorFixture;

#[test]
fn a_jvm_is_seen_by_its_counters() {
    let options = ["-Xmx32m", "-Xmn4m", "-XX:+UseSerialGC"];
    let jvm = Jvm::start(&options, 2, "collect 8192");
    let path = jvm.counters();
    let at = path.display().to_string();
    let mut watched =
        CollectorFixture::of(ComponentKind::Jvm, ComponentAddress::File(path), "", "");
    let of = |metric: &str, labels: &[(&str, &str)]| {
        series(metric, &[&[("at", at.as_str())], labels].concat())
    };
    let first = watched.scrape().values;
    let limit = first.get(&of(metric::JVM_OLD_LIMIT, &[]));
    assert_eq!(limit, Some(&f64::from(28 << 20)), "{first:#?}");
    let heap = of(metric::SETTING, &[("setting", "-Xmx")]);
    assert_eq!(first.get(&heap), Some(&f64::from(32 << 20)), "{first:#?}");
    // More objects than fit into the young generation: some are collected between samples.
    let mut stream = TcpStream::connect(jvm.address).unwrap();
    let request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
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
