//! Ambiguous requests: which path, which host, which header value.

use std::io::Write as _;

use plimsoll_config::edge::{
    Action, EdgeConfig, HeaderEdit, PathMatch, PoolConfig, Rewrite, RouteConfig, RouteMatch,
};

use crate::support::{
    Afloat, Scripted, before, connect, plain, pool, read_until, send_request, start,
    status_and_body,
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn fetch(edge: &Afloat, target: &str) -> String {
    send_request(
        edge.address,
        format!("GET {target} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"),
    )
}

fn route(matches: RouteMatch, action: Action) -> RouteConfig {
    RouteConfig {
        matches,
        action,
        ..RouteConfig::everything(0)
    }
}

fn at(path: PathMatch) -> RouteMatch {
    RouteMatch {
        path,
        ..RouteMatch::default()
    }
}

/// The path as a lenient server resolves it: decoded repeatedly, slashes either way, dots resolved.
fn as_lenient_as_can_be(target: &str) -> String {
    let path = target.split(['?', ';']).next().unwrap_or_default();
    let mut decoded = path.to_owned();
    for (code, byte) in [
        ("%25", "%"),
        ("%2f", "/"),
        ("%5c", "/"),
        ("%2e", "."),
        ("%61", "a"),
        ("\\", "/"),
    ] {
        decoded = decoded.to_lowercase().replace(code, byte);
    }
    let mut segments = Vec::new();
    for segment in decoded.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

#[test]
fn no_spelling_of_a_path_goes_round_its_route() {
    let (open, closed) = (Scripted::always(OK), Scripted::always(OK));
    let mut edge = plain(pool(&[open.address]));
    edge.pools.push(PoolConfig {
        name: "closed".to_owned(),
        ..pool(&[closed.address])
    });
    edge.routes = vec![
        route(at(PathMatch::Prefix("/admin/".to_owned())), Action::Pool(1)),
        RouteConfig::everything(0),
    ];
    let edge = start(&edge);
    for target in [
        "/admin/x",
        "//admin/x",
        "///admin//x",
        "/%61dmin/x",
        "/%61%64min/x",
        "/admin%2fx",
        "/admin%2Fx",
        "/%2fadmin/x",
        "/x/../admin/x",
        "/x/%2e%2e/admin/x",
        "/x/.%2E/admin/x",
        "/x/..%2fadmin/x",
        "/x%2f..%2fadmin/x",
        "/x/%2e%2e%2fadmin/x",
        "/x/..%5cadmin/x",
        "/x%5c..%5cadmin/x",
        "/./admin/x",
        "/%2e/admin/x",
        "/admin%5cx",
        "/x/..\\admin\\x",
        "/admin",
        "/admin/",
        "/admin/..%2fadmin/x",
        "http://a.example/admin/x",
        "http://a.example//admin/x",
        "/%2561dmin/../admin/x",
        "/admin/x%00",
        "/%",
        "/%2",
        "/%zz/../admin/x",
    ] {
        fetch(&edge, target);
    }
    for head in open.requests() {
        let target = head.split(' ').nth(1).unwrap();
        let meant = as_lenient_as_can_be(target);
        assert!(
            !meant.starts_with("/admin"),
            "{target} reached the open server, which may read {meant}"
        );
    }
    assert!(closed.requests().len() >= 6, "{:?}", closed.requests());
}

#[test]
fn a_host_is_one_and_the_routes_follow_it() {
    let (open, closed) = (Scripted::always(OK), Scripted::always(OK));
    let mut edge = plain(pool(&[open.address]));
    edge.pools.push(PoolConfig {
        name: "closed".to_owned(),
        ..pool(&[closed.address])
    });
    let inner = RouteMatch {
        hosts: vec!["inner.example".to_owned()],
        ..RouteMatch::default()
    };
    edge.routes = vec![route(inner, Action::Pool(1)), RouteConfig::everything(0)];
    let edge = start(&edge);
    let status = |request: &str| {
        status_and_body(&send_request(
            edge.address,
            format!("{request}Connection: close\r\n\r\n"),
        ))
        .0
    };
    for request in [
        "GET / HTTP/1.1\r\nHost: a.example\r\nHost: inner.example\r\n",
        "GET / HTTP/1.1\r\nHost: inner.example\r\nhost: a.example\r\n",
        "GET / HTTP/1.1\r\nHost: a.example, inner.example\r\n",
        "GET / HTTP/1.1\r\nHost: a.example inner.example\r\n",
        "GET / HTTP/1.1\r\nHost: a.example/inner.example\r\n",
        "GET / HTTP/1.1\r\nHost: a.example@inner.example\r\n",
        "GET / HTTP/1.1\r\nHost: a.example\\inner.example\r\n",
        "GET / HTTP/1.1\r\nHost: a.example:80:80\r\n",
        "GET / HTTP/1.1\r\nHost: [::1\r\n",
        "GET / HTTP/1.1\r\n Host: inner.example\r\n",
        "GET / HTTP/1.1\r\nHost : inner.example\r\n",
        "GET http://inner.example/ HTTP/1.1\r\nHost: a.example\r\n",
        "GET http://a.example@inner.example/ HTTP/1.1\r\nHost: a.example\r\n",
        "GET http://a.example#inner.example/ HTTP/1.1\r\nHost: a.example\r\n",
        "GET http:inner.example/ HTTP/1.1\r\nHost: a.example\r\n",
        "GET inner.example HTTP/1.1\r\nHost: a.example\r\n",
        "GET * HTTP/1.1\r\nHost: a.example\r\n",
        "GET / HTTP/1.1\r\n",
    ] {
        assert_eq!(status(request), 400, "{request:?}");
    }
    assert_eq!(open.requests(), Vec::<String>::new());
    for request in [
        "GET / HTTP/1.1\r\nHost: INNER.example\r\n",
        "GET / HTTP/1.1\r\nHost: inner.example:8080\r\n",
        "GET / HTTP/1.1\r\nHost: inner.example.\r\n",
        "GET http://inner.example/ HTTP/1.1\r\nHost: inner.example\r\n",
        "GET http://inner.example/ HTTP/1.0\r\n",
    ] {
        assert_eq!(status(request), 200, "{request:?}");
    }
    assert_eq!(open.requests(), Vec::<String>::new());
    assert_eq!(closed.requests().len(), 5);
    // `X_Forwarded_Host` maps to the same server variable as `X-Forwarded-Host`.
    assert_eq!(
        status("GET / HTTP/1.1\r\nHost: a.example\r\nX_Forwarded_Host: inner.example\r\n"),
        200
    );
    assert!(
        !open.requests()[0].contains("inner.example"),
        "{:?}",
        open.requests()
    );
}

fn rewriting(server: &Scripted) -> EdgeConfig {
    let mut edge = plain(pool(&[server.address]));
    let regex = PathMatch::Regex("^/go/".to_owned());
    edge.routes = vec![
        RouteConfig {
            rewrite: Some(Rewrite::Regex("^/go/(.*)$".to_owned(), "/to/$1".to_owned())),
            request_headers: vec![HeaderEdit {
                name: "X-Set".to_owned(),
                value: Some("by-us".to_owned()),
            }],
            ..route(at(regex), Action::Pool(0))
        },
        RouteConfig {
            rewrite: Some(Rewrite::Prefix("/new/".to_owned())),
            ..route(at(PathMatch::Prefix("/old/".to_owned())), Action::Pool(0))
        },
        route(
            at(PathMatch::Prefix("/moved/".to_owned())),
            Action::Redirect {
                status: 308,
                location: "https://{host}{target}".to_owned(),
            },
        ),
    ];
    edge
}

#[test]
fn nothing_is_injected_through_rewrites() {
    let server = Scripted::always(OK);
    let edge = start(&rewriting(&server));
    for (target, becomes) in [
        ("/go/a%0d%0aX:%20y", Some("/to/a%0d%0aX:%20y")),
        (
            "/go/a%20HTTP/1.1%0d%0aHost:%20b",
            Some("/to/a%20HTTP/1.1%0d%0aHost:%20b"),
        ),
        ("/go/$1$0${1}", Some("/to/$1$0${1}")),
        ("/go/?x=$1%0a", Some("/to/?x=$1%0a")),
        ("/old/a%0d%0aX:y", Some("/new/a%0d%0aX:y")),
        ("/old/..%2fgo", None),
        ("/%6fld/x", None),
        ("//old/x", None),
    ] {
        let before = server.requests().len();
        let response = fetch(&edge, target);
        let requests = server.requests();
        if let Some(becomes) = becomes {
            let got = requests.last().unwrap();
            assert_eq!(got.split(' ').nth(1), Some(becomes));
            assert!(!got.contains("\r\nX:"), "{got:?}");
            assert_eq!(got.matches("\r\nHost: ").count(), 1, "{got:?}");
        } else {
            assert_eq!(status_and_body(&response).0, 400, "{target}");
            assert_eq!(requests.len(), before, "{target}");
        }
    }
    // The value set by the route replaces the client's.
    let request = "GET /go/x HTTP/1.1\r\nHost: a\r\nx-set: theirs\r\nX_Set: theirs\r\nConnection: close\r\n\r\n";
    assert_eq!(status_and_body(&send_request(edge.address, request)).0, 200);
    let head = server.requests().pop().unwrap();
    assert!(head.contains("X-Set: by-us\r\n"), "{head}");
    assert!(!head.contains("theirs"), "{head}");
    let response = fetch(&edge, "/moved/a%0d%0aSet-Cookie:%20x=y");
    assert_eq!(status_and_body(&response).0, 308);
    assert!(
        response.contains("\r\nLocation: https://a.example/moved/a%0d%0aSet-Cookie:%20x=y\r\n"),
        "{response}"
    );
    assert!(!response.contains("\r\nSet-Cookie"), "{response}");
}

#[test]
fn an_answer_cannot_split_into_two() {
    for answer in [
        "HTTP/1.1 200 OK\r\nX: a\nSet-Cookie: b\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nX: a\r\n Y: b\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        "ICY 200 OK\r\n\r\n",
    ] {
        let server = Scripted::always(Box::leak(answer.to_owned().into_boxed_str()));
        let edge = before(server.address);
        let response = fetch(&edge, "/");
        assert_eq!(status_and_body(&response).0, 502, "{answer:?}");
        assert!(response.contains("X-Plimsoll: no-server\r\n"), "{response}");
    }
    // Data behind a response is not the response to the next request.
    let server = Scripted::start(|mut connection| {
        while let Some(head) = connection.head() {
            let path = head.split(' ').nth(1).unwrap().to_owned();
            connection.send(format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{path}\
                 HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
                path.len()
            ));
        }
    });
    let edge = before(server.address);
    let mut stream = connect(edge.address);
    for path in ["/one", "/two", "/three"] {
        write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        read_until(&mut stream, &format!("\r\n\r\n{path}"));
    }
}

#[test]
fn a_body_goes_on_in_framing_of_our_own() {
    let server = Scripted::start(|mut connection| {
        while connection.head().is_some() {
            let body = read_until(&mut connection.stream, "0\r\n\r\n");
            connection.send(format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ));
        }
    });
    let edge = before(server.address);
    let body = "5;a=\"b;c\"\r\nhello\r\n006 ;x\r\n world\r\n0;last\r\nContent-Length: 3\r\nHost: b\r\n\r\n";
    let response = send_request(
        edge.address,
        format!(
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\nTransfer_Encoding: identity\r\n\
             Content_Length: 3\r\nTrailer: Host\r\nTE: trailers\r\nConnection: close\r\n\r\n{body}"
        ),
    );
    let (status, got) = status_and_body(&response);
    assert_eq!(status, 200);
    let content: String = got
        .split("\r\n")
        .enumerate()
        .filter_map(|(at, chunk)| (at % 2 == 1).then_some(chunk))
        .collect();
    assert_eq!(content, "hello world");
    assert!(!got.contains(';') && !got.contains("Host"), "{got:?}");
    let head = server.requests().pop().unwrap().to_ascii_lowercase();
    assert_eq!(head.matches("transfer").count(), 1, "{head}");
    for gone in ["content", "trailer:", "te:"] {
        assert!(!head.contains(&format!("\r\n{gone}")), "{head}");
    }
}
