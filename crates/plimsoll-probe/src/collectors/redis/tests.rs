//! The collector of Redis on a real one.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use plimsoll_model::component::{Component, ComponentKind};
use plimsoll_model::metric::{self, series};
use plimsoll_testkit::program::Redis;

use crate::collectors::fixture::{CollectorFixture, LONG, login, tcp};

#[test]
fn who_may_not_ask_is_told_once_what_gives_access() {
    let redis = Redis::start("requirepass hidden\nuser plimsoll on >seen -@all +ping");
    let clients = series(metric::REDIS_CLIENTS, &[("at", &redis.address.to_string())]);
    for (login, expected) in [
        (None, ["NOAUTH", "give its password"]),
        (Some(login("", "wrong")), ["WRONGPASS", "give its password"]),
        (Some(login("plimsoll", "seen")), ["NOPERM", "ACL SETUSER"]),
    ] {
        let component = Component {
            kind: ComponentKind::Redis,
            place: tcp(redis.address),
            login,
        };
        let mut watched = CollectorFixture::over(vec![component], LONG);
        for _ in 0..3 {
            assert!(!watched.scrape().values.contains_key(&clients));
        }
        let notes = watched.notes();
        assert!(expected.iter().all(|word| notes.contains(word)), "{notes}");
        assert!(
            !notes.contains("wrong;") && notes.lines().count() == 1,
            "{notes}"
        );
    }
    // A refused collector does not try again: the log counts each refusal once.
    let mut stream = TcpStream::connect(redis.address).unwrap();
    stream
        .write_all(b"AUTH hidden\r\nACL LOG\r\nQUIT\r\n")
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let counted = |count: &str| text.matches(&format!("count\r\n{count}")).count();
    assert_eq!((counted(":1\r\n"), counted("")), (2, 2), "{text}");
}
