//! The waiting page: a place in line that a browser keeps until it is admitted.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use plimsoll_config::edge::{Ceiling, EdgeConfig, PoolConfig, WaitingRoomConfig};
use tempfile::TempDir;

use crate::support::{
    Afloat, PATIENCE, Scripted, connect, open_admin, plain, pool, read_until, send_request,
    start_at_rest, status_and_body, wait_for,
};

const BROWSER: &str =
    "Accept: text/html\r\nSec-Fetch-Dest: document\r\nUser-Agent: Mozilla/5.0\r\n";

/// Browsers in the line of the only route.
const IN_LINE: &str = "plimsoll_edge_in_line{route=\"/*\"}";

fn with_line(server: SocketAddr, waiting: WaitingRoomConfig) -> EdgeConfig {
    let mut edge = plain(PoolConfig {
        ceiling: Ceiling::Fixed(1),
        queue: Some(0),
        ..pool(&[server])
    });
    edge.routes[0].waiting = Some(waiting);
    edge
}

/// A server that responds on command.
fn held() -> (Scripted, Receiver<()>, Sender<()>) {
    let (came, comes) = mpsc::channel();
    let (go, may) = mpsc::channel::<()>();
    let both = Mutex::new((came, may));
    let server = Scripted::start(move |mut connection| {
        while connection.head().is_some() {
            let both = both.lock().unwrap();
            both.0.send(()).unwrap();
            if both.1.recv().is_err() {
                return;
            }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nin");
        }
    });
    (server, comes, go)
}

/// A browser with its cookie.
#[derive(Default)]
struct CookieClient {
    cookie: Option<String>,
}

impl CookieClient {
    fn get(&mut self, edge: &Afloat) -> String {
        let cookie = self.cookie.as_ref();
        let cookie = cookie.map_or_else(String::new, |cookie| format!("Cookie: {cookie}\r\n"));
        let response = send_request(
            edge.address,
            format!("GET / HTTP/1.1\r\nHost: a\r\n{BROWSER}{cookie}Connection: close\r\n\r\n"),
        );
        let set = response
            .lines()
            .find_map(|line| line.strip_prefix("Set-Cookie: "));
        if let Some(set) = set {
            self.cookie = set.split(';').next().map(str::to_owned);
        }
        response
    }

    /// Its place; `None` when it is admitted.
    fn place(&mut self, edge: &Afloat) -> Option<u32> {
        let response = self.get(edge);
        let (status, body) = status_and_body(&response);
        if status == 200 {
            return None;
        }
        assert_eq!(status, 503, "{response}");
        for line in [
            "X-Plimsoll: waiting\r\n",
            "Cache-Control: no-store\r\n",
            "Retry-After: ",
        ] {
            assert!(response.contains(line), "{response}");
        }
        let (_, place) = body.split_once("<div class=\"place\">").unwrap();
        Some(place.split('<').next().unwrap().parse().unwrap())
    }
}

fn hold_the_place(edge: &Afloat, comes: &Receiver<()>) -> std::net::TcpStream {
    let mut first = connect(edge.address);
    first
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    comes.recv_timeout(PATIENCE).unwrap();
    first
}

#[test]
fn figures_show_the_line() {
    let (server, comes, _go) = held();
    let mut edge = with_line(
        server.address,
        WaitingRoomConfig {
            retry: Duration::from_mins(5),
            ..WaitingRoomConfig::default()
        },
    );
    edge.admin = Some(open_admin());
    let edge = start_at_rest(&edge);
    let _first = hold_the_place(&edge, &comes);
    for place in 1..=3 {
        assert_eq!(CookieClient::default().place(&edge), Some(place));
    }
    let admin = edge.admin();
    let request = format!("GET /figures HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n");
    let response = send_request(admin, request);
    let figures: serde_json::Value = serde_json::from_str(status_and_body(&response).1).unwrap();
    let route = &figures["routes"][0];
    assert_eq!(
        (&route["name"], &route["in_line"]),
        (&"/*".into(), &3.into())
    );
    assert_eq!(
        figures["pools"][0]["servers"][0]["in_flight"], 1,
        "{figures}"
    );
    assert_eq!(figures["alarms"], serde_json::json!([]));
}

#[test]
fn those_who_wait_get_in_in_their_order() {
    let (server, comes, go) = held();
    let edge = start_at_rest(&with_line(
        server.address,
        WaitingRoomConfig {
            queue_len_max: 3,
            ..WaitingRoomConfig::default()
        },
    ));
    let mut first = hold_the_place(&edge, &comes);
    let (mut a, mut b, mut c) = (
        CookieClient::default(),
        CookieClient::default(),
        CookieClient::default(),
    );
    assert_eq!(a.place(&edge), Some(1));
    assert_eq!(b.place(&edge), Some(2));
    assert_eq!(c.place(&edge), Some(3));
    assert_eq!(
        (b.place(&edge), a.place(&edge)),
        (Some(2), Some(1)),
        "a place is kept"
    );
    // Others are rejected plainly: robots, clients that do not accept HTML, and those beyond the limit.
    let refused = [
        "User-Agent: Googlebot/2.1\r\n",
        "Accept: application/json\r\n",
        "Sec-Fetch-Dest: script\r\n",
        BROWSER,
    ];
    for headers in refused {
        let response = send_request(
            edge.address,
            format!("GET / HTTP/1.1\r\nHost: a\r\n{headers}Connection: close\r\n\r\n"),
        );
        assert_eq!(status_and_body(&response).0, 503);
        assert!(
            response.contains("X-Plimsoll: queue-full\r\n") && response.contains("Retry-After: ")
        );
        assert!(!response.contains("Set-Cookie"), "{response}");
    }
    go.send(()).unwrap();
    read_until(&mut first, "\r\n\r\nin");
    // There is room now, but not for those behind.
    assert_eq!(c.place(&edge), Some(3));
    assert_eq!(b.place(&edge), Some(2));
    let come_in = |browser: &mut CookieClient| {
        go.send(()).unwrap();
        assert_eq!(browser.place(&edge), None);
        comes.recv_timeout(PATIENCE).unwrap();
    };
    come_in(&mut a);
    // An admitted browser bypasses the line; a copy of the place that it used is worthless.
    come_in(&mut a);
    assert!(a.cookie.as_ref().unwrap().contains("=p"));
    assert_eq!(c.place(&edge), Some(2));
    come_in(&mut b);
    come_in(&mut c);
    // The line is empty: everybody is served.
    come_in(&mut CookieClient::default());
}

#[test]
fn whoever_is_in_is_first_when_there_is_no_room() {
    let (server, comes, go) = held();
    let edge = start_at_rest(&with_line(server.address, WaitingRoomConfig::default()));
    let mut first = hold_the_place(&edge, &comes);
    let mut a = CookieClient::default();
    assert_eq!(a.place(&edge), Some(1));
    go.send(()).unwrap();
    read_until(&mut first, "\r\n\r\nin");
    go.send(()).unwrap();
    assert_eq!(a.place(&edge), None);
    comes.recv_timeout(PATIENCE).unwrap();
    let _busy = hold_the_place(&edge, &comes);
    let mut b = CookieClient::default();
    assert_eq!(b.place(&edge), Some(1));
    assert_eq!(a.place(&edge), Some(1));
    assert!(a.cookie.as_ref().unwrap().contains("=p"), "its pass stays");
    drop(go);
}

#[test]
fn a_page_of_ones_own_is_filled_and_told_when_to_ask_again() {
    let (server, comes, go) = held();
    let page = "<style>b{color:red}</style><b>{place}</b> {wait}".to_owned();
    let waiting = WaitingRoomConfig {
        page: Some(page),
        ..WaitingRoomConfig::default()
    };
    let edge = start_at_rest(&with_line(server.address, waiting));
    let _busy = hold_the_place(&edge, &comes);
    let response = CookieClient::default().get(&edge);
    assert_eq!(
        status_and_body(&response).1,
        "<style>b{color:red}</style><b>1</b> not known yet"
    );
    assert!(response.contains("\r\nRefresh: 1\r\n"), "{response}");
    drop(go);
}

/// How many browsers got in so far.
#[derive(Default)]
struct Admissions {
    count: Mutex<u32>,
    grown: Condvar,
}

impl Admissions {
    /// Requests the page until it is served, each time after another browser got in; its places on the way.
    fn get_in(&self, edge: &Afloat) -> Vec<u32> {
        let mut browser = CookieClient::default();
        let mut places = Vec::new();
        loop {
            let before = *self.count.lock().unwrap();
            let Some(place) = browser.place(edge) else {
                break;
            };
            places.push(place);
            let count = self.count.lock().unwrap();
            let waited = self
                .grown
                .wait_timeout_while(count, PATIENCE, |count| *count == before);
            assert!(!waited.unwrap().1.timed_out(), "nobody gets in: {places:?}");
        }
        *self.count.lock().unwrap() += 1;
        self.grown.notify_all();
        places
    }
}

/// The number of the place that a request had; `None` for one that never waited.
fn place_number(head: &str) -> Option<usize> {
    let cookie = head
        .lines()
        .find_map(|line| line.strip_prefix("Cookie: "))?;
    let (_, number) = cookie.split_once("=w")?;
    usize::from_str_radix(number.split('.').next()?, 16).ok()
}

/// Sixty browsers at once before a server that serves one after the other.
#[test]
fn a_crowd_gets_in_while_the_server_is_kept_busy() {
    let (server, comes, go) = held();
    let mut edge = with_line(server.address, WaitingRoomConfig::default());
    edge.pools[0].queue = Some(2);
    let edge = start_at_rest(&edge);
    let admissions = Admissions::default();
    std::thread::scope(|scope| {
        let browsers: Vec<_> = (0..60)
            .map(|_| scope.spawn(|| admissions.get_in(&edge)))
            .collect();
        // One is at the server, and two are in its queue.
        wait_for(&edge, IN_LINE, 57.0);
        for _ in 0..60 {
            comes.recv_timeout(PATIENCE).expect("somebody comes");
            go.send(()).unwrap();
        }
        for browser in browsers {
            let places = browser.join().unwrap();
            assert!(
                places.is_sorted_by(|a, b| a >= b),
                "nobody falls back: {places:?}"
            );
        }
    });
    let requests = server.requests();
    let numbers: Vec<usize> = requests
        .iter()
        .filter_map(|head| place_number(head))
        .collect();
    assert_eq!((requests.len(), numbers.len()), (60, 57));
    // As many at the front may try as have got in: nobody gets in before half of those ahead.
    for (got_in, &number) in numbers.iter().enumerate() {
        assert!(number <= got_in + got_in.max(1), "{numbers:?}");
    }
}

/// A real browser, ended with the test.
struct Chromium {
    process: Child,
    _profile: TempDir,
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Chromium {
    fn open(url: &str) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let process = Command::new("chromium")
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .arg("--remote-debugging-port=0")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(url)
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("chromium is installed: apt-get install chromium");
        Self {
            process,
            _profile: profile,
        }
    }
}

#[test]
fn chromium_keeps_its_place_and_gets_in_by_itself() {
    let (server, comes, go) = held();
    let mut edge = with_line(server.address, WaitingRoomConfig::default());
    edge.admin = Some(open_admin());
    let edge = start_at_rest(&edge);
    let mut first = hold_the_place(&edge, &comes);
    let _browser = Chromium::open(&format!("http://{}/", edge.address));
    wait_for(&edge, IN_LINE, 1.0);
    go.send(()).unwrap();
    read_until(&mut first, "\r\n\r\nin");
    // It requests its icon as well, which needs no place.
    let page = loop {
        comes.recv_timeout(PATIENCE).expect("it comes by itself");
        let last = server.requests().pop().unwrap();
        go.send(()).unwrap();
        if last.starts_with("GET / ") {
            break last;
        }
    };
    assert!(
        page.contains("HeadlessChrome") && page.contains("Cookie: plimsoll_place_"),
        "{page}"
    );
}
