//! ESI pages: each fragment has a lifetime of its own, and personal fragments stay personal.

mod ill;
mod packed;

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use plimsoll_config::edge::{EdgeConfig, FragmentPages, Fragments, RouteConfig};

use super::{ageing, cached, page, request, value};
use crate::programs::curl;
use crate::support::{
    Afloat, PATIENCE, Scripted, connect, get, metric, open_admin, read_until, send_request, start,
    status_and_body,
};

const HTML: &str = "Content-Type: text/html\nCache-Control: max-age=600";

/// No fragment is late: a thread of the test or of its server may stand still.
fn patient() -> Fragments {
    Fragments {
        timeout: PATIENCE,
        ..Fragments::default()
    }
}

/// Everything to one server, with ESI assembly.
fn with_esi(server: SocketAddr) -> EdgeConfig {
    let mut edge = cached(server);
    edge.routes[0].fragments = Some(patient());
    edge.admin = Some(open_admin());
    edge
}

/// A server that answers by path.
fn site(answer: impl Fn(&str, &str) -> Vec<u8> + Send + Sync + 'static) -> Scripted {
    Scripted::start(move |mut connection| {
        while let Some(head) = connection.head() {
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            connection.send(answer(&path, &head));
        }
    })
}

fn html(body: &str) -> Vec<u8> {
    page(HTML, body).into_bytes()
}

fn none() -> Vec<u8> {
    b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone".to_vec()
}

/// How often a path was requested.
fn request_count(site: &Scripted, path: &str) -> usize {
    let start = format!("GET {path} ");
    let requests = site.requests();
    requests
        .iter()
        .filter(|head| head.starts_with(&start))
        .count()
}

/// Waits until a path is requested.
#[track_caller]
fn wait_for_request(site: &Scripted, path: &str) {
    let start = format!("GET {path} ");
    site.wait_for_requests(path, |heads| {
        heads.iter().any(|head| head.starts_with(&start))
    });
}

/// The fragment outcomes in a response's headers.
fn fragments(answer: &str) -> &str {
    let status = value(answer, "cache-status");
    status
        .split_once("fragments=\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or("", |(text, _)| text)
}

/// The name in the cookie `user`.
fn user(head: &str) -> &str {
    head.split_once("user=")
        .and_then(|(_, rest)| rest.split(|char: char| !char.is_alphanumeric()).next())
        .unwrap_or("nobody")
}

/// A page with a lifetime of ten minutes, a clock of one and a personal box.
fn platform() -> Scripted {
    let ticks = AtomicUsize::new(0);
    site(move |path, head| match path {
        "/" => html("<p><esi:include src=\"/clock\"/> <esi:include src=\"box?a=1&amp;b=2\"/></p>"),
        "/clock" => {
            let tick = ticks.fetch_add(1, Ordering::SeqCst);
            page("Cache-Control: max-age=60", &tick.to_string()).into_bytes()
        }
        "/box?a=1&b=2" => page("Cache-Control: private", user(head)).into_bytes(),
        _ => none(),
    })
}

fn as_user(edge: &Afloat, name: &str) -> String {
    request(edge.address, "GET /", &format!("Cookie: user={name}"))
}

#[test]
fn each_part_has_its_own_lifetime() {
    let origin = platform();
    let (edge, age) = ageing(&with_esi(origin.address));
    let first = as_user(&edge, "anna");
    assert_eq!(body(&first), "<p>0 anna</p>", "{first}");
    let second = as_user(&edge, "bert");
    assert!(body(&second).ends_with(" bert</p>"), "{second}");
    assert_eq!(value(&second, "cache-control"), "private, no-cache");
    assert!(
        value(&second, "cache-status").starts_with("plimsoll; hit"),
        "{second}"
    );
    // The clock is fetched again when its minute is over, the page is not.
    age.advance(Duration::from_secs(61));
    assert_eq!(body(&as_user(&edge, "anna")), "<p>1 anna</p>");
    assert_eq!(request_count(&origin, "/"), 1);
    assert!(request_count(&origin, "/clock") >= 2);
    assert!(request_count(&origin, "/box?a=1&b=2") >= 3);
    assert!(metric(&edge, "plimsoll_edge_fragments_total{result=\"fetched\"}") >= Some(4.0));
    assert!(origin.requests()[0].contains("Surrogate-Capability: plimsoll=\"ESI/1.0\"\r\n"));
}

/// The body of a response, unchunked.
fn body(answer: &str) -> String {
    let content = status_and_body(answer).1;
    if !value(answer, "transfer-encoding").eq_ignore_ascii_case("chunked") {
        return content.to_owned();
    }
    let (mut rest, mut whole) = (content, String::new());
    while let Some((len, behind)) = rest.split_once("\r\n") {
        let len = usize::from_str_radix(len, 16).unwrap();
        whole.push_str(&behind[..len]);
        rest = &behind[len + 2..];
        if len == 0 {
            break;
        }
    }
    whole
}

#[test]
fn nobody_sees_the_box_of_another() {
    let origin = platform();
    let edge = start(&with_esi(origin.address));
    let address = edge.address;
    let users: Vec<_> = (0..8)
        .map(|number| {
            std::thread::spawn(move || {
                let name = format!("user{number}x");
                for _ in 0..40 {
                    let answer = request(address, "GET /", &format!("Cookie: user={name}"));
                    let body = body(&answer);
                    assert!(body.ends_with(&format!(" {name}</p>")), "{name}: {answer}");
                }
            })
        })
        .collect();
    for user in users {
        user.join().unwrap();
    }
    assert_eq!(request_count(&origin, "/"), 1);
    assert_eq!(request_count(&origin, "/box?a=1&b=2"), 8 * 40);
}

#[test]
fn what_all_may_have_says_for_how_long() {
    let origin = site(|path, _| match path {
        "/" => html("a<esi:include src=\"/b\"/>c"),
        _ => page("Cache-Control: max-age=20", "b").into_bytes(),
    });
    let edge = start(&with_esi(origin.address));
    get(edge.address, "/");
    let answer = get(edge.address, "/");
    assert_eq!(status_and_body(&answer), (200, "abc"), "{answer}");
    assert_eq!(value(&answer, "content-length"), "3");
    let lifetime = value(&answer, "cache-control");
    let lifetime: u32 = lifetime.strip_prefix("max-age=").unwrap().parse().unwrap();
    assert!((1..=20).contains(&lifetime), "{answer}");
    assert_eq!(fragments(&answer), "1 hit");
    assert_eq!(
        (request_count(&origin, "/"), request_count(&origin, "/b")),
        (1, 1)
    );
}

#[test]
fn a_fragment_is_purged_alone() {
    let number = AtomicUsize::new(0);
    let origin = site(move |path, _| {
        let number = number.fetch_add(1, Ordering::SeqCst);
        match path {
            "/" => html(&format!("{number}<esi:include src=\"/b\"/>")),
            _ => page("Cache-Control: max-age=60", &format!("-{number}")).into_bytes(),
        }
    });
    let edge = start(&with_esi(origin.address));
    assert_eq!(body(&get(edge.address, "/")), "0-1");
    assert_eq!(body(&get(edge.address, "/")), "0-1");
    post_to_admin(
        &edge,
        "/purge",
        r#"{"url": "http://a.example/b", "hard": true}"#,
    );
    assert_eq!(body(&get(edge.address, "/")), "0-2");
}

/// The admin address's reply to a command.
fn post_to_admin(edge: &Afloat, path: &str, order: &str) -> String {
    let (admin, len) = (edge.admin(), order.len());
    let response = send_request(
        admin,
        format!(
            "POST {path} HTTP/1.1\r\nHost: {admin}\r\nContent-Type: application/json\r\n\
             Content-Length: {len}\r\nConnection: close\r\n\r\n{order}"
        ),
    );
    assert_eq!(status_and_body(&response).0, 200, "{response}");
    response
}

#[test]
fn nothing_is_said_that_is_true_of_the_page_alone() {
    let origin = site(|path, _| {
        match path {
        "/" => page(
            "Content-Type: text/html\nCache-Control: max-age=60\nETag: \"a\"\nLast-Modified: Sun, 22 Nov 2026 11:00:00 GMT",
            "a<esi:include src=\"/b\"/>c",
        )
        .into_bytes(),
        "/plain" => page(
            "Content-Type: text/html\nCache-Control: max-age=60\nETag: \"a\"",
            "plain",
        )
        .into_bytes(),
        _ => page("Cache-Control: max-age=60", "b").into_bytes(),
    }
    });
    let edge = start(&with_esi(origin.address));
    for headers in [
        "",
        "If-None-Match: \"a\"",
        "Range: bytes=0-0",
        "Range: bytes=0-0",
    ] {
        let answer = request(edge.address, "GET /", headers);
        assert_eq!(
            (status_and_body(&answer).0, body(&answer)),
            (200, "abc".to_owned()),
            "{answer}"
        );
        for gone in ["etag", "last-modified", "age", "accept-ranges"] {
            assert_eq!(value(&answer, gone), "", "{answer}");
        }
    }
    let head = request(edge.address, "HEAD /", "");
    assert_eq!(status_and_body(&head), (200, ""), "{head}");
    assert_eq!(value(&head, "content-length"), "", "{head}");
    assert_eq!(value(&head, "etag"), "", "{head}");
    // A page without tags is an ordinary page.
    get(edge.address, "/plain");
    let same = request(edge.address, "GET /plain", "If-None-Match: \"a\"");
    assert_eq!(status_and_body(&same).0, 304, "{same}");
    let partial = request(edge.address, "GET /plain", "Range: bytes=1-2");
    assert_eq!(status_and_body(&partial), (206, "la"), "{partial}");
}

#[test]
fn parts_of_what_is_not_kept_are_whole_too() {
    let origin = site(|path, head| {
        match path {
        "/" if head.contains("Range: ") => {
            b"HTTP/1.1 206 Part\r\nContent-Type: text/html\r\nContent-Range: bytes 0-0/9\r\nContent-Length: 1\r\n\r\n<".to_vec()
        }
        "/" => page("Content-Type: text/html\nCache-Control: no-store", "a<esi:include src=\"/b\"/>c").into_bytes(),
        _ => page("Cache-Control: max-age=60", "b").into_bytes(),
    }
    });
    let edge = start(&with_esi(origin.address));
    let answer = request(edge.address, "GET /", "Range: bytes=0-0");
    assert_eq!(
        (status_and_body(&answer).0, body(&answer)),
        (200, "abc".to_owned()),
        "{answer}"
    );
    assert_eq!(value(&answer, "cache-control"), "private, no-store");
}

#[test]
fn clients_of_every_version_get_it() {
    let origin = platform();
    let edge = start(&with_esi(origin.address));
    let old = send_request(
        edge.address,
        "GET / HTTP/1.0\r\nHost: a.example\r\nCookie: user=anna\r\n\r\n",
    );
    assert!(status_and_body(&old).1.ends_with(" anna</p>"), "{old}");
    assert_eq!(value(&old, "transfer-encoding"), "");
    let url = format!("http://{}/", edge.address);
    let new = curl(&["-s", "--http2-prior-knowledge", "-b", "user=bert", &url]);
    assert!(new.ends_with(" bert</p>"), "{new}");
    // Several on one connection.
    let mut client = connect(edge.address);
    let line = "GET / HTTP/1.1\r\nHost: a.example\r\nCookie: user=carl\r\n\r\n";
    client.write_all(line.repeat(3).as_bytes()).unwrap();
    for _ in 0..3 {
        read_until(&mut client, "carl");
        read_until(&mut client, "</p>");
    }
}

#[test]
fn forms_are_answered_with_whole_pages() {
    let origin = Scripted::start(|mut connection| {
        while let Some(head) = connection.head() {
            if head.starts_with("POST ") {
                let mut content = [0; 5];
                connection.stream.read_exact(&mut content).unwrap();
                assert_eq!(&content, b"a=b&c");
                connection.send(page(
                    "Content-Type: text/html",
                    "a<esi:include src=\"/b\"/>c",
                ));
            } else {
                assert!(!head.contains("ontent-"), "{head}");
                connection.send(page("Cache-Control: private", "b"));
            }
        }
    });
    let edge = start(&with_esi(origin.address));
    let mut client = connect(edge.address);
    let post =
        "POST /form HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\nContent-Type: x/y\r\n\r\n";
    client.write_all(post.as_bytes()).unwrap();
    client.write_all(b"a=b").unwrap();
    client
        .write_all(format!("&c{post}a=b&c").as_bytes())
        .unwrap();
    for _ in 0..2 {
        let head = read_until(&mut client, "\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        read_until(&mut client, "c\r\n0\r\n\r\n");
    }
}

#[test]
fn only_hosts_of_the_configuration_are_asked() {
    let origin = site(|path, head| {
        if path == "/" {
            return html(
                "a<esi:include src=\"http://b.example/x\"/><esi:include src=\"//c.example/x\"/>d",
            );
        }
        assert!(!head.contains("secret"), "{head}");
        let text = if head.contains("b.example") { "b" } else { "c" };
        page("Cache-Control: max-age=60", text).into_bytes()
    });
    let mut config = with_esi(origin.address);
    let mut named = RouteConfig::everything(0);
    named.matches.hosts = vec!["b.example".to_owned()];
    config.routes.insert(0, named);
    let edge = start(&config);
    let answer = request(
        edge.address,
        "GET /",
        "Cookie: user=secret\nAuthorization: secret",
    );
    assert_eq!(body(&answer), "abd", "{answer}");
}

#[test]
fn pages_are_left_alone_where_nothing_is_said() {
    let tag = "a<esi:include src=\"/b\"/>";
    let origin = site(move |path, _| {
        match path {
        "/said" => page(
            "Content-Type: text/plain\nCache-Control: max-age=60\nSurrogate-Control: no-store, content=\"ESI/1.0\"",
            tag,
        )
        .into_bytes(),
        "/b" => page("Cache-Control: max-age=60", "b").into_bytes(),
        _ => html(tag),
    }
    });
    let off = start(&cached(origin.address));
    let answer = get(off.address, "/");
    assert_eq!(status_and_body(&answer), (200, tag), "{answer}");
    assert!(!origin.requests()[0].contains("Surrogate"));
    let mut config = with_esi(origin.address);
    config.routes[0].fragments = Some(Fragments {
        pages: FragmentPages::Said,
        ..patient()
    });
    let on_request = start(&config);
    assert_eq!(status_and_body(&get(on_request.address, "/")), (200, tag));
    for _ in 0..2 {
        let answer = get(on_request.address, "/said");
        assert_eq!(body(&answer), "ab", "{answer}");
        assert_eq!(value(&answer, "surrogate-control"), "");
    }
}

#[test]
fn it_can_be_asked_what_a_page_is_made_of() {
    let origin = platform();
    let edge = start(&with_esi(origin.address));
    get(edge.address, "/");
    let explanation = post_to_admin(&edge, "/why", r#"{"url": "http://a.example/"}"#);
    assert!(explanation.contains("box?a=1&b=2"), "{explanation}");
}

#[test]
fn long_pages_stay_as_they_are() {
    let long = format!("<esi:include src=\"/b\"/>{}", "x".repeat(3000));
    let sent = long.clone();
    let origin = site(move |path, _| match path {
        "/kept" => html(&sent),
        _ => page("Content-Type: text/html\nCache-Control: no-store", &sent).into_bytes(),
    });
    let mut config = with_esi(origin.address);
    config.routes[0].fragments = Some(Fragments {
        len_max: 2048,
        ..patient()
    });
    let edge = start(&config);
    for path in ["/kept", "/kept", "/passed"] {
        assert_eq!(
            status_and_body(&get(edge.address, path)),
            (200, &*long),
            "{path}"
        );
    }
}
