//! Collectors on real programs, and on misbehaving listeners.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use plimsoll_model::component::{ComponentAddress, ComponentKind};
use plimsoll_model::metric::series;
use plimsoll_testkit::port;
use plimsoll_testkit::program::{Haproxy, Memcached, Nginx, Redis};

pub(super) use super::fixture::{CollectorFixture, LONG};
use super::fixture::{login, tcp};
use super::*;

fn over_tcp(kind: ComponentKind, address: SocketAddr) -> Component {
    Component {
        kind,
        place: tcp(address),
        login: None,
    }
}

fn over_redis(address: SocketAddr, password: &str) -> Component {
    Component {
        login: Some(login("", password)),
        ..over_tcp(ComponentKind::Redis, address)
    }
}

fn at(metric: &str, address: SocketAddr) -> String {
    series(metric, &[("at", &address.to_string())])
}

/// CPU time of each collector, seconds: the least of some, which is that of the work, since a hypervisor may count its own
/// time as that of a thread.
fn least_costs(watched: &mut CollectorFixture) -> BTreeMap<String, f64> {
    let mut costs: BTreeMap<String, f64> = BTreeMap::new();
    for _ in 0..5 {
        let values = watched.scrape().values.into_iter();
        for (name, cost) in values.filter(|(name, _)| name.starts_with(metric::PROBE_CPU_TIME)) {
            let least = costs.entry(name).or_insert(f64::INFINITY);
            *least = least.min(cost);
        }
    }
    costs
}

#[test]
fn every_kind_of_part_is_seen() {
    let nginx = Nginx::start(64, true, "location / { return 204; }");
    let haproxy = Haproxy::start("maxconn 30", "  server s1 127.0.0.1:1 maxconn 20");
    let redis = Redis::start("requirepass hidden\nmaxmemory 4mb");
    let memcached = Memcached::start(64);
    let page = ComponentAddress::Page {
        host: nginx.status.ip().to_string(),
        port: nginx.status.port(),
        path: "/nginx_status".to_owned(),
    };
    let socket = ComponentAddress::Socket(haproxy.socket.clone());
    let component = |kind, place| Component {
        kind,
        place,
        login: None,
    };
    let components = vec![
        component(ComponentKind::Nginx, page.clone()),
        component(ComponentKind::Haproxy, socket.clone()),
        over_redis(redis.address, "hidden"),
        over_tcp(ComponentKind::Memcached, memcached.address),
    ];
    let mut watched = CollectorFixture::over(components, LONG);
    watched.scrape();
    let values = watched.scrape().values;
    assert_eq!(watched.notes(), "");
    let (page, socket) = (page.to_string(), socket.to_string());
    let session = [("at", socket.as_str()), ("proxy", "app"), ("server", "s1")];
    let front = [
        ("at", socket.as_str()),
        ("proxy", "web"),
        ("server", "FRONTEND"),
    ];
    let redis_at = redis.address.to_string();
    let file = redis
        .program
        .path()
        .join("redis.conf")
        .display()
        .to_string();
    let memory = [
        ("at", redis_at.as_str()),
        ("setting", "maxmemory"),
        ("file", file.as_str()),
    ];
    for (series, right) in [
        (
            series(
                metric::NGINX_CONNECTIONS,
                &[("at", &page), ("state", "active")],
            ),
            1.0,
        ),
        (series(metric::NGINX_DROPPED, &[("at", &page)]), 0.0),
        (series(metric::HAPROXY_SESSIONS_LIMIT, &session), 20.0),
        (series(metric::HAPROXY_SESSIONS_LIMIT, &front), 30.0),
        (series(metric::SETTING, &memory), 4.0 * 1_048_576.0),
        (at(metric::REDIS_CLIENTS, redis.address), 1.0),
        (at(metric::REDIS_EVICTED, redis.address), 0.0),
        (at(metric::MEMCACHED_EVICTIONS, memcached.address), 0.0),
        (at(metric::MEMCACHED_REFUSED, memcached.address), 0.0),
    ] {
        assert_eq!(values.get(&series), Some(&right), "{series} in {values:#?}");
    }
    // Each second of a run costs so much once; a hundredth of a core is 10 ms.
    let costs = least_costs(&mut watched);
    assert_eq!(costs.len(), 4);
    assert!(costs.values().all(|&cost| cost < 0.01), "{costs:?}");
}

#[test]
fn a_part_that_is_started_anew_begins_its_counters_again() {
    let redis = Redis::start("");
    let address = redis.address;
    let mut watched = CollectorFixture::over(vec![over_tcp(ComponentKind::Redis, address)], LONG);
    let commands = at(metric::REDIS_COMMANDS, address);
    watched.scrape();
    assert!(watched.scrape().values.contains_key(&commands));
    drop(redis);
    assert!(!watched.scrape().values.contains_key(&commands));
    let _again = Redis::start_at(address, "");
    let values = watched.scrape().values;
    assert!(values.contains_key(&at(metric::REDIS_CLIENTS, address)));
    assert!(
        !values.contains_key(&commands),
        "nothing to compare with: {values:#?}"
    );
    assert!(watched.scrape().values.contains_key(&commands));
    let notes = watched.notes();
    for expected in [
        "nothing answers there",
        "was restarted",
        "after 1 failed scrapes",
    ] {
        assert!(notes.contains(expected), "{expected} not in {notes}");
    }
}

#[test]
fn a_counter_that_was_set_back_is_told_and_left_out() {
    let redis = Redis::start("");
    let mut watched =
        CollectorFixture::over(vec![over_tcp(ComponentKind::Redis, redis.address)], LONG);
    let commands = at(metric::REDIS_COMMANDS, redis.address);
    let mut stream = TcpStream::connect(redis.address).unwrap();
    let mut send = |command: &[u8]| {
        stream.write_all(command).unwrap();
        let mut answer = [0; 64];
        assert!(stream.read(&mut answer).unwrap() > 0);
    };
    for _ in 0..8 {
        send(b"PING\r\n");
    }
    watched.scrape();
    watched.scrape();
    send(b"CONFIG RESETSTAT\r\n");
    assert!(!watched.scrape().values.contains_key(&commands));
    assert!(watched.scrape().values.contains_key(&commands));
    let notes = watched.notes();
    assert!(
        notes.contains("decreased (redis.commands.processed)"),
        "{notes}"
    );
}

#[test]
fn what_a_part_refuses_is_counted() {
    let redis = Redis::start("maxclients 2");
    let memcached = Memcached::start(64);
    let components = vec![
        over_tcp(ComponentKind::Redis, redis.address),
        over_tcp(ComponentKind::Memcached, memcached.address),
    ];
    let mut watched = CollectorFixture::over(components, LONG);
    watched.scrape();
    let connect = |address: SocketAddr, count: usize| -> Vec<TcpStream> {
        let connected = (0..count).map(|_| TcpStream::connect(address).unwrap());
        connected.collect()
    };
    let (mut to_redis, mut to_memcached) =
        (connect(redis.address, 4), connect(memcached.address, 80));
    // The last one was refused once it receives the error, or its connection is closed.
    for last in [
        to_redis.last_mut().unwrap(),
        to_memcached.last_mut().unwrap(),
    ] {
        assert!(last.read(&mut [0; 64]).is_ok());
    }
    let values = watched.scrape().values;
    assert!(
        values[&at(metric::REDIS_REJECTED, redis.address)] > 0.0,
        "{values:#?}"
    );
    assert!(
        values[&at(metric::MEMCACHED_REFUSED, memcached.address)] > 0.0,
        "{values:#?}"
    );
}

/// A listener whose connections the test serves itself.
fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

#[test]
fn a_late_answer_counts_for_the_next_second() {
    let (listener, address) = listener();
    let mut watched =
        CollectorFixture::over(vec![over_tcp(ComponentKind::Memcached, address)], LONG);
    watched.collectors.wait = Duration::ZERO;
    assert_eq!(watched.scrape(), Readings::default());
    let (mut stream, _) = listener.accept().unwrap();
    stream
        .write_all(b"STAT pid 1\r\nSTAT curr_connections 3\r\nEND\r\n")
        .unwrap();
    watched.collectors.wait = LONG;
    let mut readings = Readings::default();
    watched.collectors.gather(&mut readings, &mut watched.files);
    assert_eq!(
        readings
            .values
            .get(&at(metric::MEMCACHED_CONNECTIONS, address)),
        Some(&3.0)
    );
}

#[test]
fn what_is_no_such_part_is_told() {
    let answers: [(&[u8], &str); 3] = [
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            "unexpected response (HTTP/1.1 400 Bad Request)",
        ),
        (b"", "closes the connection"),
        (b"-DENIED by me\r\n", "unexpected response (DENIED by me)"),
    ];
    for (answer, expected) in answers {
        let (listener, address) = listener();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 256]);
                let _ = stream.write_all(answer);
            }
        });
        let mut watched =
            CollectorFixture::over(vec![over_tcp(ComponentKind::Redis, address)], LONG);
        watched.scrape();
        watched.scrape();
        let notes = watched.notes();
        assert!(
            notes.contains(expected) && notes.lines().count() == 1,
            "{notes}"
        );
    }
}

#[test]
fn an_endless_answer_has_an_end() {
    let (listener, address) = listener();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let piece = vec![b'a'; 1 << 16];
        while stream.write_all(&piece).is_ok() {}
    });
    let mut watched = CollectorFixture::over(vec![over_tcp(ComponentKind::Haproxy, address)], LONG);
    watched.scrape();
    let notes = watched.notes();
    assert!(notes.contains("longer than 4 MiB"), "{notes}");
}

#[test]
fn nobody_is_waited_for_longer_than_a_question_may_take() {
    let (_listener, address) = listener();
    let silent = over_tcp(ComponentKind::Redis, address);
    let gone = over_tcp(ComponentKind::Memcached, port::unused());
    for (component, patience, expected) in [
        (
            silent,
            Duration::from_millis(20),
            "does not respond in time",
        ),
        (gone, LONG, "nothing answers there"),
    ] {
        let mut watched = CollectorFixture::over(vec![component], patience);
        watched.scrape();
        watched.scrape();
        let notes = watched.notes();
        assert!(notes.contains(expected), "{notes}");
        assert_eq!(notes.lines().count(), 1, "{notes}");
    }
}

/// One collector hangs forever; the other's readings continue, and the one that hangs is named.
#[test]
fn a_collector_that_hangs_is_named_and_holds_up_no_other() {
    let memcached = Memcached::start(64);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let hangs = silent.local_addr().unwrap();
    let components = vec![
        over_tcp(ComponentKind::Memcached, hangs),
        over_tcp(ComponentKind::Memcached, memcached.address),
    ];
    let mut watched = CollectorFixture::over(components, LONG);
    // The first second waits for no collector; later ones do not wait for a collector that is late.
    watched.collectors.wait = Duration::ZERO;
    watched.scrape();
    watched.collectors.wait = LONG;
    let other = at(metric::PROBE_ANSWER_TIME, memcached.address);
    while !watched.scrape().values.contains_key(&other) {}
    assert!(watched.scrape().values.contains_key(&other));
    assert_eq!(watched.notes(), "");
    // As if it were long ago.
    for handle in &mut watched.collectors.handles {
        (handle.called_ns, handle.patience) = (0, Duration::ZERO);
    }
    watched.scrape();
    let expected =
        format!("memcached at {hangs} cannot be watched: its collector has been blocked");
    let notes = watched.notes();
    assert!(notes.contains(&expected), "`{expected}` is not in {notes}");
    assert!(!notes.contains(&memcached.address.to_string()), "{notes}");
}
