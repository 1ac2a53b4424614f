//! The stream of the edge's page: the hour at once, then what changes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use plimsoll_config::edge::PoolConfig;
use plimsoll_testkit::port;
use serde_json::Value;

use crate::support::{
    Afloat, PATIENCE, Scripted, connect, get, open_admin, plain, pool, quick_check, start,
    status_and_body,
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Documents as they come.
struct Documents(BufReader<TcpStream>);

impl Documents {
    fn open(edge: &Afloat) -> Self {
        let admin = edge.admin();
        let mut stream = connect(admin);
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET /events HTTP/1.1\r\nHost: {admin}\r\n\r\n").unwrap();
        Self(BufReader::new(stream))
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended");
            if let Some(json) = line.strip_prefix("data: ") {
                return serde_json::from_str(json).unwrap();
            }
        }
    }

    /// The first document for which something holds.
    fn wait_for(&mut self, holds: impl Fn(&Value) -> bool) -> Value {
        std::iter::repeat_with(|| self.next())
            .find(|document| holds(document))
            .unwrap()
    }
}

fn is_wrong(document: &Value, kind: &str) -> bool {
    let wrong = document["status"]["wrong"].as_array();
    wrong.is_some_and(|wrong| wrong.iter().any(|condition| condition["kind"] == kind))
}

#[test]
fn a_server_that_ends_is_shown_until_it_is_back() {
    let (good, mut bad) = (Scripted::always(OK), None);
    let other = port::unused();
    let checked = PoolConfig {
        check: Some(quick_check()),
        ..pool(&[good.address, other])
    };
    let mut edge = plain(checked);
    edge.admin = Some(open_admin());
    let edge = start(&edge);
    let mut documents = Documents::open(&edge);
    let first = documents.next();
    assert_eq!(first["full"], true);
    let document = documents.wait_for(|document| is_wrong(document, "server_down"));
    assert_eq!(document["full"], false);
    let wrong = &document["status"]["wrong"][0];
    assert_eq!(wrong["subject"], format!("app {other}"));
    assert!(!wrong["remedy"].as_str().unwrap().is_empty());
    let sentence = document["status"]["sentence"].as_str().unwrap();
    assert!(
        sentence.contains(&format!(
            "server {other} of pool app fails its health checks since"
        )),
        "{sentence}"
    );
    assert_eq!(document["servers"]["rows"][0]["state"], "fails checks");
    assert_eq!(status_and_body(&get(edge.address, "/")).0, 200);
    bad.replace(Scripted::named_at(other, "other"));
    let document = documents.wait_for(|document| {
        document["status"]["wrong"]
            .as_array()
            .is_some_and(Vec::is_empty)
    });
    assert_eq!(document["servers"]["rows"][0]["state"], "in");
    // Who comes now has all seconds in the first document.
    let late = Documents::open(&edge).next();
    let offered = late["hour"]["columns"]["offered"].as_array().unwrap();
    assert!(
        offered.iter().any(|rate| rate.as_f64() > Some(0.0)),
        "{offered:?}"
    );
}
