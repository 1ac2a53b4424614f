//! Components of every kind that are found on this machine, read without load.

use std::time::Duration;

use plimsoll_testkit::program::databases::{Mariadb, Postgres};
use plimsoll_testkit::program::engines::{Jvm, Uwsgi};
use plimsoll_testkit::program::servers::{Apache, Gunicorn, Pgbouncer};
use plimsoll_testkit::program::{Haproxy, Memcached, Nginx, Redis};
use plimsoll_testkit::turns::{alone_for, measuring};

use crate::kill::after;
use crate::support::{CommandOutput, Sandbox, interrupt};
use crate::watch::so_far;

/// Watches this machine until these series were read and this was said. A part that gets no CPU for a second is read in a later
/// one, and seconds are left out where Plimsoll gets none.
fn watched_until(place: &Sandbox, series: &[String], note: &str) -> CommandOutput {
    let rendered = place.path().join("rendered");
    let words = ["watch", "--for", "10m", "--watch", "auto"];
    let child = place
        .command(&[&words[..], &["--out", "w.run", "--json"]].concat())
        .stderr(std::fs::File::create(&rendered).unwrap())
        .spawn()
        .unwrap();
    let text = || std::fs::read_to_string(&rendered).unwrap();
    let is_complete = || {
        let readings = so_far(place).map(|loaded| loaded.readings);
        let is_read = |name: &String| {
            let values = readings.as_ref().and_then(|table| table.values(name));
            values.is_some()
        };
        series.iter().all(is_read) && text().contains(note)
    };
    let mut polls = 0;
    while !is_complete() {
        after(Duration::from_millis(20));
        polls += 1;
        assert!(polls < 3000, "not all of it is read: {}", text());
    }
    interrupt(&child);
    let output = CommandOutput::from(child.wait_with_output().unwrap());
    CommandOutput {
        stderr: text(),
        ..output
    }
}

#[test]
fn parts_are_watched_without_load() {
    let _turn = measuring();
    let nginx = Nginx::start(64, true, "location / { return 204; }");
    let silent = Nginx::start(64, false, "location / { return 204; }");
    let haproxy = Haproxy::start("", "  server s1 127.0.0.1:1 maxconn 20");
    let redis = Redis::start("");
    let locked = Redis::start("requirepass hidden");
    let memcached = Memcached::start(64);
    let postgres = Postgres::start("");
    let mariadb = Mariadb::start("");
    let pgbouncer = Pgbouncer::start(&postgres, 2);
    let gunicorn = Gunicorn::start(1, "0.1");
    let apache = Apache::start(4, gunicorn.address);
    let (jvm, uwsgi) = (
        Jvm::start(&["-Xmx64m"], 2, "sleep 1"),
        Uwsgi::start(1, "0.1"),
    );
    let places = [
        nginx.page(),
        haproxy.socket.display().to_string(),
        redis.address.to_string(),
        memcached.address.to_string(),
        postgres.socket().display().to_string(),
        mariadb.socket.display().to_string(),
        pgbouncer.address.to_string(),
        gunicorn.address.to_string(),
        apache.page(),
        jvm.counters().display().to_string(),
        uwsgi.stats.to_string(),
    ];
    let setting = format!(
        "plimsoll.part.setting{{at={},setting=maxconn,of=app/s1,file={}:13}}",
        haproxy.socket.display(),
        haproxy.configuration.display()
    );
    let denied = format!(
        "Redis at {} cannot be watched: it denies access (NOAUTH",
        locked.address
    );
    let mut expected: Vec<String> = places
        .iter()
        .map(|place| format!("plimsoll.probe.answer_time{{at={place}}}"))
        .collect();
    expected.push(setting);
    let output = alone_for(|| watched_until(&Sandbox::new(), &expected, &denied));
    assert_eq!(output.code, 130, "{output:?}");
    let json = output.json();
    assert!(!json["readings"].as_array().unwrap().is_empty());
    let series = json["series"].as_object().unwrap();
    for name in &expected {
        assert!(series.contains_key(name), "{name} is not in {json:#}");
    }
    let notes = json["notes"].to_string();
    for expected in [
        format!(
            "add to `http {{ … }}` in {}",
            silent.configuration.display()
        ),
        format!("found and watched: Redis at {}", redis.address),
        denied,
    ] {
        assert!(notes.contains(&expected), "`{expected}` is not in {notes}");
        assert!(
            output.stderr.contains(&expected),
            "`{expected}` is not in {}",
            output.stderr
        );
    }
}
