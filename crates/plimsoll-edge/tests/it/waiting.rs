//! The waiting page: a place in line that a browser keeps until it is admitted.

use std::io::Write as _;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use plimsoll_config::edge::{Ceiling, EdgeConfig, PoolConfig, WaitingRoomConfig};
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};
use tempfile::TempDir;

use crate::support::{
    Afloat, PATIENCE, Scripted, connect, open_admin, plain, pool, read_until, send_request, start,
    status_and_body, wait_for,
};

const BROWSER: &str =
    "Accept: text/html\r\nSec-Fetch-Dest: document\r\nUser-Agent: Mozilla/5.0\r\n";

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
    comes.recv().unwrap();
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
    let edge = start(&edge);
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
    let edge = start(&with_line(
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
        comes.recv().unwrap();
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
    let edge = start(&with_line(server.address, WaitingRoomConfig::default()));
    let mut first = hold_the_place(&edge, &comes);
    let mut a = CookieClient::default();
    assert_eq!(a.place(&edge), Some(1));
    go.send(()).unwrap();
    read_until(&mut first, "\r\n\r\nin");
    go.send(()).unwrap();
    assert_eq!(a.place(&edge), None);
    comes.recv().unwrap();
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
    let edge = start(&with_line(server.address, waiting));
    let _busy = hold_the_place(&edge, &comes);
    let response = CookieClient::default().get(&edge);
    assert_eq!(
        status_and_body(&response).1,
        "<style>b{color:red}</style><b>1</b> not known yet"
    );
    assert!(response.contains("\r\nRefresh: 1\r\n"), "{response}");
    drop(go);
}

/// Sixty browsers at once before a serial server of twenty pages a second.
#[test]
fn a_crowd_gets_in_while_the_server_is_kept_busy() {
    let law = KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::MIN,
        service: Service::Deterministic(Duration::from_millis(50)),
        ..KnownLawPlan::default()
    })
    .unwrap();
    let mut edge = with_line(
        law.address(),
        WaitingRoomConfig {
            retry: Duration::from_secs(2),
            ..WaitingRoomConfig::default()
        },
    );
    edge.pools[0].queue = Some(2);
    let edge = std::sync::Arc::new(start(&edge));
    let began = Instant::now();
    let browsers: Vec<_> = (0..60)
        .map(|_| {
            let edge = std::sync::Arc::clone(&edge);
            std::thread::spawn(move || {
                let mut browser = CookieClient::default();
                let mut places = Vec::new();
                // Nothing ever arrives on this connection: its read time-outs are the page's poll interval.
                let pace = connect(edge.address);
                while let Some(place) = browser.place(&edge) {
                    places.push(place);
                    pace.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
                    let _ = pace.peek(&mut [0]);
                    assert!(began.elapsed() < Duration::from_mins(1), "{places:?}");
                }
                (places, began.elapsed())
            })
        })
        .collect();
    let mut came_in: Vec<(Vec<u32>, Duration)> = Vec::new();
    for browser in browsers {
        came_in.push(browser.join().unwrap());
    }
    assert_eq!(law.counts().served, 60);
    assert!(law.counts().in_flight_max <= 1);
    for (places, _) in &came_in {
        assert!(
            places.is_sorted_by(|a, b| a >= b),
            "nobody falls back: {places:?}"
        );
    }
    // The first half of the places was admitted before the others, within a few seconds.
    came_in.retain(|(places, _)| !places.is_empty());
    came_in.sort_by_key(|(places, _)| places[0]);
    let half = came_in.len() / 2;
    let mean = |arrivals: &[(Vec<u32>, Duration)]| {
        arrivals.iter().map(|(_, at)| at.as_secs_f64()).sum::<f64>() / arrivals.len() as f64
    };
    let (early, late) = (mean(&came_in[..half]), mean(&came_in[half..]));
    assert!(early < late, "{early} s and {late} s");
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
    let edge = start(&edge);
    let mut first = hold_the_place(&edge, &comes);
    let _browser = Chromium::open(&format!("http://{}/", edge.address));
    wait_for(&edge, "plimsoll_edge_in_line{route=\"/*\"}", 1.0);
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
