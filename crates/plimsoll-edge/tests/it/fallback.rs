//! Fallbacks in all forms: which requests receive one, and where it is learned.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use plimsoll_config::edge::{
    Captured, Ceiling, Compress, EdgeConfig, Fallback, LearnedFallback, PoolConfig, RouteConfig,
};

use crate::compress::unpacked;
use crate::support::{
    Afloat, ObservedEdge, PATIENCE, Scripted, ScriptedConnection, connect, plain, pool, read_until,
    send_request, start, status_and_body,
};

const BROWSER: &str = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\nSec-Fetch-Dest: document\r\n\
                       User-Agent: Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0\r\n";

/// No queue, one slot at the server.
fn narrow(server: SocketAddr) -> EdgeConfig {
    plain(PoolConfig {
        ceiling: Ceiling::Fixed(1),
        queue: Some(0),
        ..pool(&[server])
    })
}

fn file(content: &str) -> Fallback {
    Fallback {
        name: "shell.html".to_owned(),
        content: content.as_bytes().to_vec(),
        media_type: "text/html".to_owned(),
    }
}

fn learned_fallback(captured: Option<&str>, header: Option<&str>) -> LearnedFallback {
    LearnedFallback {
        captured: captured.map(|target| Captured {
            host: None,
            target: target.to_owned(),
        }),
        header: header.map(str::to_owned),
        len_max: 1000,
        every: Duration::from_millis(50),
    }
}

/// The head of a response, and its raw body.
fn fetch_bytes(edge: &Afloat, line: &str, headers: &str) -> (String, Vec<u8>) {
    let mut stream = connect(edge.address);
    let request = format!("{line} HTTP/1.1\r\nHost: a\r\n{headers}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let head = read_until(&mut stream, "\r\n\r\n");
    let mut body = Vec::new();
    stream.read_to_end(&mut body).unwrap();
    (head, body)
}

fn fetch(edge: &Afloat, line: &str, headers: &str) -> String {
    let request = format!("{line} HTTP/1.1\r\nHost: a\r\n{headers}Connection: close\r\n\r\n");
    send_request(edge.address, request)
}

/// Occupies the only slot at the server while the returned connection lives.
fn occupy(edge: &Afloat, came: &mpsc::Receiver<()>) -> std::net::TcpStream {
    let mut stream = connect(edge.address);
    stream
        .write_all(b"GET /hang HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    came.recv_timeout(PATIENCE).unwrap();
    stream
}

/// Responds with `answer`; never responds to `/hang`, whose arrival it reports.
fn origin(
    answer: impl Fn(&mut ScriptedConnection, &str) + Send + Sync + 'static,
) -> (Scripted, mpsc::Receiver<()>) {
    let (sender, came) = mpsc::channel();
    let sender = Mutex::new(sender);
    let server = Scripted::start(move |mut connection| {
        while let Some(head) = connection.head() {
            if head.starts_with("GET /hang ") {
                sender.lock().unwrap().send(()).unwrap();
            } else {
                answer(&mut connection, &head);
            }
        }
    });
    (server, came)
}

#[test]
fn only_those_who_can_fill_it_get_a_fallback() {
    let (server, came) = origin(|_, _| ());
    let mut edge = narrow(server.address);
    edge.routes[0].fallback = Some(file("<p>soon"));
    edge.crawlers = vec!["MyBot".to_owned()];
    let edge = start(&edge);
    let _busy = occupy(&edge, &came);
    let gets = [
        BROWSER,
        "",
        "Accept: */*\r\n",
        "Accept: text/html;q=0.1\r\n",
        "Accept: image/png\r\nAccept: TEXT/HTML\r\n",
        "User-Agent: curl/8.0\r\n",
        "Sec-Fetch-Dest: Document\r\n",
    ];
    for headers in gets {
        let response = fetch(&edge, "GET /", headers);
        assert_eq!(status_and_body(&response), (200, "<p>soon"), "{headers}");
        for line in ["X-Plimsoll: fallback\r\n", "Cache-Control: no-store\r\n"] {
            assert!(response.contains(line), "{response}");
        }
        assert_eq!(
            status_and_body(&fetch(&edge, "HEAD /", headers)),
            (200, ""),
            "{headers}"
        );
    }
    let gets_none = [
        "Accept: application/json\r\n",
        "Accept: text/html;q=0, application/json\r\n",
        "Accept: text/html;q=0, */*\r\n",
        "Accept: */*;q=0\r\n",
        "Sec-Fetch-Dest: empty\r\n",
        "Sec-Fetch-Dest: image\r\nAccept: */*\r\n",
        "Sec-Fetch-Dest: iframe\r\n",
        "User-Agent: Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)\r\n",
        "User-Agent: Mozilla/5.0 (compatible; bingbot/2.0)\r\n",
        "User-Agent: Mozilla/5.0 (compatible; mybot/1.0)\r\n",
    ];
    for headers in gets_none {
        let response = fetch(&edge, "GET /", headers);
        assert_eq!(status_and_body(&response).0, 503, "{headers}");
        assert!(
            response.contains("X-Plimsoll: queue-full\r\n") && response.contains("Retry-After: ")
        );
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        let response = fetch(&edge, &format!("{method} /"), BROWSER);
        assert_eq!(status_and_body(&response).0, 503, "{method}");
    }
}

#[test]
fn an_answer_that_says_so_becomes_the_shell_of_its_paths() {
    let (server, came) = origin(|connection, head| {
        let target = head.split(' ').nth(1).unwrap();
        let (mark, body) = match target {
            "/news/shell" => (
                "X-Plimsoll-Shell: /news/*\r\nSet-Cookie: s=1\r\n",
                "<p>news",
            ),
            "/long" => ("X-Plimsoll-Shell: /long\r\n", "LONG"),
            "/bad" => ("X-Plimsoll-Shell: nowhere\r\n", "<p>bad"),
            _ => ("", "<p>page"),
        };
        let body = if body == "LONG" {
            "x".repeat(2000)
        } else {
            body.to_owned()
        };
        let len = body.len();
        connection.send(format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n{mark}Content-Length: {len}\r\n\r\n{body}"
        ));
    });
    let mut edge = narrow(server.address);
    edge.cores = Some(2);
    edge.routes[0].fallback = Some(file("<p>file"));
    edge.routes[0].learned_fallback = Some(learned_fallback(None, Some("X-Plimsoll-Shell")));
    let edge = start(&edge);
    for target in ["/news/shell", "/long", "/bad", "/news/other"] {
        let response = fetch(&edge, &format!("GET {target}"), BROWSER);
        assert_eq!(status_and_body(&response).0, 200);
        assert!(
            !response.contains("X-Plimsoll"),
            "the mark ends here: {response}"
        );
    }
    // Neither a HEAD nor a POST teaches a page.
    fetch(&edge, "POST /news/shell", "Content-Length: 0\r\n");
    let _busy = occupy(&edge, &came);
    for (target, page) in [
        ("/news/a?b", "<p>news"),
        ("/news", "<p>news"),
        ("/long", "<p>file"),
        ("/", "<p>file"),
    ] {
        // Both loops have it, whichever accepts the connection.
        for _ in 0..4 {
            let response = fetch(&edge, &format!("GET {target}"), BROWSER);
            assert_eq!(status_and_body(&response), (200, page), "{target}");
            assert!(response.contains("X-Plimsoll: fallback\r\n"));
            assert!(
                response.contains("Cache-Control: no-store\r\n")
                    && !response.contains("Set-Cookie")
            );
        }
    }
}

#[test]
fn a_compressed_shell_is_kept_as_it_reads() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(b"<p>packed").unwrap();
    let packed = encoder.finish().unwrap();
    let (server, came) = origin(move |connection, _| {
        let len = packed.len();
        connection.send(format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nX-Shell: *\r\nContent-Length: {len}\r\n\r\n"
        ));
        connection.send(&packed);
    });
    let mut edge = narrow(server.address);
    edge.routes[0].learned_fallback = Some(learned_fallback(None, Some("X-Shell")));
    let edge = start(&edge);
    fetch(&edge, "GET /", BROWSER);
    let _busy = occupy(&edge, &came);
    assert_eq!(
        status_and_body(&fetch(&edge, "GET /", BROWSER)),
        (200, "<p>packed")
    );
}

#[test]
fn a_page_of_the_pool_is_fetched_and_the_last_good_one_stays() {
    let well = Arc::new(AtomicBool::new(true));
    let fetched = Arc::new(AtomicUsize::new(0));
    let (state, count) = (Arc::clone(&well), Arc::clone(&fetched));
    let (server, came) = origin(move |connection, head| {
        if !head.starts_with("GET /shell ") {
            return connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
        let number = count.fetch_add(1, Ordering::SeqCst);
        let status = if state.load(Ordering::SeqCst) {
            "200 OK"
        } else {
            "500 No"
        };
        connection.send(format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: 12\r\n\r\n<p>{number:09}"
        ));
    });
    let mut edge = narrow(server.address);
    edge.routes[0] = RouteConfig {
        learned_fallback: Some(learned_fallback(Some("/shell"), None)),
        ..edge.routes[0].clone()
    };
    let observed = ObservedEdge::start(&edge);
    let edge = &observed.edge;
    let _busy = occupy(edge, &came);
    let page = || {
        let response = fetch(edge, "GET /", BROWSER);
        let (status, body) = status_and_body(&response);
        let number: Option<usize> = body.strip_prefix("<p>").and_then(|body| body.parse().ok());
        (status, number)
    };
    let mut baseline = 0;
    edge.wait_until("the page is fetched", || match page() {
        (200, Some(number)) => {
            baseline = number;
            true
        }
        _ => false,
    });
    // It is fetched periodically.
    edge.wait_until("a later page is fetched", || page().1.unwrap() > baseline);
    well.store(false, Ordering::SeqCst);
    let why = observed.wait_for_message("stays in use");
    assert!(why.contains("/shell") && why.contains("500"), "{why}");
    let last = page();
    assert_eq!(last.0, 200);
    let asked = fetched.load(Ordering::SeqCst);
    edge.wait_until("it is tried again", || {
        assert_eq!(page(), last, "the last good one");
        fetched.load(Ordering::SeqCst) >= asked + 2
    });
    well.store(true, Ordering::SeqCst);
    observed.wait_for_message("fetched again");
}

/// Checks that a fallback is compressed for clients that accept it, and that it is the same page.
#[track_caller]
fn check_codings(edge: &Afloat, page: &str) {
    for (accepted, coding) in [
        ("gzip", "gzip"),
        ("br;q=0.5, gzip;q=0.1", "br"),
        ("zstd, br, gzip", "zstd"),
        ("", ""),
        ("identity", ""),
    ] {
        let headers = format!("Accept-Encoding: {accepted}\r\n");
        let (head, body) = fetch_bytes(edge, "GET /", &headers);
        assert!(head.contains("X-Plimsoll: fallback\r\n"), "{head}");
        assert!(head.contains("Vary: Accept-Encoding\r\n"), "{head}");
        let encoded = format!("Content-Encoding: {coding}\r\n");
        assert_eq!(
            head.contains("Content-Encoding"),
            !coding.is_empty(),
            "{head}"
        );
        assert!(coding.is_empty() || head.contains(&encoded), "{head}");
        let len = format!("Content-Length: {}\r\n", body.len());
        assert!(head.contains(&len), "{head}");
        assert_eq!(body.len() < page.len() / 2, !coding.is_empty(), "{head}");
        assert!(unpacked(coding, &body) == page, "{head}");
        let (of_head, nothing) = fetch_bytes(edge, "HEAD /", &headers);
        assert!(of_head.contains(&len) && nothing.is_empty(), "{of_head}");
    }
}

#[test]
fn a_fallback_is_compressed_where_its_route_compresses() {
    let (server, came) = origin(|_, _| ());
    let page = "<p>The page comes as soon as there is room.</p>".repeat(100);
    let mut edge = narrow(server.address);
    edge.routes[0].fallback = Some(file(&page));
    let plain_edge = start(&edge);
    edge.routes[0].compress = Some(Compress::default());
    let edge = start(&edge);
    let busy = occupy(&edge, &came);
    check_codings(&edge, &page);
    drop(busy);
    let _busy = occupy(&plain_edge, &came);
    let (head, body) = fetch_bytes(&plain_edge, "GET /", "Accept-Encoding: gzip\r\n");
    assert!(
        !head.contains("Encoding") && body == page.as_bytes(),
        "{head}"
    );
}

#[test]
fn a_short_fallback_stays_as_it_is() {
    let (server, came) = origin(|_, _| ());
    let mut edge = narrow(server.address);
    edge.routes[0].fallback = Some(file("<p>soon"));
    edge.routes[0].compress = Some(Compress::default());
    let edge = start(&edge);
    let _busy = occupy(&edge, &came);
    let (head, body) = fetch_bytes(&edge, "GET /", "Accept-Encoding: gzip\r\n");
    assert!(!head.contains("Encoding") && body == b"<p>soon", "{head}");
}

#[test]
fn a_learnt_fallback_is_compressed_soon_after() {
    let page = "<p>The page comes as soon as there is room.</p>".repeat(20);
    let answer = page.clone();
    let (server, came) = origin(move |connection, _| {
        let len = answer.len();
        connection.send(format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Shell: *\r\nContent-Length: {len}\r\n\r\n{answer}"
        ));
    });
    let mut edge = narrow(server.address);
    edge.routes[0].learned_fallback = Some(learned_fallback(None, Some("X-Shell")));
    edge.routes[0].compress = Some(Compress {
        len_min: 100,
        ..Compress::default()
    });
    let edge = start(&edge);
    fetch(&edge, "GET /", BROWSER);
    let _busy = occupy(&edge, &came);
    edge.wait_until("a compressed fallback", || {
        fetch_bytes(&edge, "GET /", "Accept-Encoding: gzip\r\n")
            .0
            .contains("Content-Encoding: gzip")
    });
    check_codings(&edge, &page);
}
