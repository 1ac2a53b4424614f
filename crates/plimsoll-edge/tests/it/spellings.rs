//! Paths that servers read in their own ways: no spelling reaches what a route guards, with real Tomcat and Jetty.

use std::io::Write as _;
use std::net::SocketAddr;

use plimsoll_config::edge::{
    EdgeConfig, Fragments, IpFilterConfig, Network, PathMatch, PathParameters, Rate, Rewrite,
    RouteConfig,
};
use plimsoll_testkit::program::servlets::Servlets;

use crate::support::{
    Afloat, Scripted, connect, get, plain, pool, read_until, start, status_and_body,
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Ambiguous building blocks of paths.
pub(crate) const SPELLINGS: [&str; 96] = [
    "/admin",
    "/admin/",
    "/admin/x",
    "/admin?x",
    "/admin/?;x",
    "/admin;a",
    "/admin;a/x",
    "/admin;a=b;c=d/x",
    "/admin;/x",
    "/admin/x;a",
    "/admin/;a/x",
    "/;a/admin/x",
    "/;/admin/x",
    "/;a;b/;c/admin/x",
    "/pub/..;/admin/x",
    "/pub/..;a=b/admin/x",
    "/pub/.;/..;/admin/x",
    "/pub;a/..;b/admin/x",
    "/pub/%2e%2e;/admin/x",
    "/pub/.%2e;a/admin/x",
    "/pub/%2e.;/admin/x",
    "/pub/..%3b/admin/x",
    "/pub/..%3B/..;/admin/x",
    "/..;/admin/x",
    "/.;/admin/x",
    "/./admin/x",
    "/%2e/admin/x",
    "/%2e;/admin/x",
    "/pub/../admin/x",
    "/pub/%2e%2e/admin/x",
    "/pub/%2E%2E/admin",
    "/pub/x/../../admin/x",
    "/pub/..//admin/x",
    "/pub//../admin/x",
    "//admin/x",
    "///admin///x",
    "//pub/admin/x",
    "//x/admin/x",
    "/x//admin/x",
    "/%2fadmin/x",
    "/%2Fadmin%2Fx",
    "/admin%2fx",
    "/admin%2f",
    "/pub%2f..%2fadmin%2fx",
    "/pub/..%2fadmin/x",
    "/pub/..;%2fadmin/x",
    "/pub;%2f..%2fadmin/x",
    "/%5cadmin/x",
    "/admin%5cx",
    "/pub%5c..%5cadmin%5cx",
    "/pub/..%5cadmin/x",
    "/pub/..\\admin\\x",
    "\\admin\\x",
    "/\\admin/x",
    "/admin\\x",
    "/%61dmin/x",
    "/%61%64%6d%69%6e/x",
    "/%61dmin;a/x",
    "/adm%69n%3ba/x",
    "/admin%3b/x",
    "/admin%3ba=b/x",
    "/admin%253b/x",
    "/%2561dmin/x",
    "/pub/%252e%252e/admin/x",
    "/pub/..%252fadmin/x",
    "/%252fadmin/x",
    "/admin%252fx",
    "/%25252fadmin",
    "/%u0061dmin/x",
    "/%u002fadmin/x",
    "/pub/%u002e%u002e/admin/x",
    "/%u2215admin/x",
    "/%25u0061dmin/x",
    "/%c0%afadmin/x",
    "/pub/%c0%ae%c0%ae/admin/x",
    "/pub%c0%af..%c0%afadmin/x",
    "/%c1%a1dmin/x",
    "/%e0%80%afadmin/x",
    "/pub/%e0%80%ae%e0%80%ae/admin/x",
    "/%f0%80%80%afadmin/x",
    "/%ef%bc%8fadmin/x",
    "/%ef%bd%81dmin/x",
    "/pub/%ef%bc%8e%ef%bc%8e/admin/x",
    "/admin%00/x",
    "/admin/%00",
    "/admin%09/x",
    "/%09admin/x",
    "/admin%0a/x",
    "/%ffadmin/x",
    "/admin%20/x",
    "/admin%3fx",
    "/admin%23x",
    "/pub#/../admin/x",
    "/admin#x",
    "http://a.example/admin;a/x",
    "http://a.example/pub/..;/admin/x",
];

pub(crate) fn route(path: &str, parameters: Option<PathParameters>) -> RouteConfig {
    let mut route = RouteConfig::everything(0);
    if path != "/*" {
        route.matches.path = match path.strip_suffix('*') {
            Some(start) => PathMatch::Prefix(start.to_owned()),
            None => PathMatch::Exact(path.to_owned()),
        };
    }
    route.path_parameters = parameters;
    route
}

/// A route that denies everybody.
pub(crate) fn guard(path: &str, parameters: Option<PathParameters>) -> RouteConfig {
    RouteConfig {
        access: Some(IpFilterConfig {
            deny: Network::all().to_vec(),
            ..IpFilterConfig::default()
        }),
        ..route(path, parameters)
    }
}

pub(crate) fn before(server: SocketAddr, routes: Vec<RouteConfig>) -> Afloat {
    start(&EdgeConfig {
        routes,
        ..plain(pool(&[server]))
    })
}

#[test]
fn no_spelling_reaches_what_is_guarded_in_tomcat_or_jetty() {
    let kept = Some(PathParameters::Kept);
    let servers = Servlets::start();
    for server in servers.addresses {
        // Without the edge they are served.
        let direct = SPELLINGS
            .iter()
            .filter(|target| get(server, target).contains("the admin is at"));
        assert!(direct.count() >= 12, "{server} reads what is sent");
        let guarded = [
            vec![
                guard("/admin/*", None),
                route("/pub/*", kept),
                route("/*", None),
            ],
            vec![
                guard("/admin/*", kept),
                route("/pub/*", kept),
                route("/*", kept),
            ],
            vec![route("/pub/*", kept), guard("/*", None)],
        ];
        for routes in guarded {
            let is_closed = routes.len() == 2;
            let edge = before(server, routes);
            for target in SPELLINGS {
                let response = get(edge.address, target);
                assert!(
                    !response.contains("the admin is at"),
                    "{target}: {response}"
                );
                let (status, body) = status_and_body(&response);
                assert!(
                    !is_closed
                        || matches!(status, 400 | 403)
                        || body.starts_with("the page is at /pub"),
                    "{target}: {response}"
                );
            }
            for (target, read) in [
                ("/pub/x", "/pub/x"),
                ("/pub/x;v=1", "/pub/x"),
                ("/pub;jsessionid=1/x", "/pub/x"),
                ("/pub;jsessionid=1/x;v=2/y?z;a", "/pub/x/y"),
                ("/pub/%e4%bd%a0%20b", "/pub/"),
                ("/pub/100%25", "/pub/100%"),
            ] {
                // A server that does not know parameters has such a page elsewhere.
                if is_closed && target.starts_with("/pub;") {
                    continue;
                }
                let response = get(edge.address, target);
                assert!(
                    status_and_body(&response)
                        .1
                        .starts_with(&format!("the page is at {read}")),
                    "{target}: {response}"
                );
            }
        }
    }
}

#[test]
fn case_is_ignored_where_a_route_says_so() {
    let server = Scripted::always(OK);
    let caseless = RouteConfig {
        case_ignored: true,
        ..guard("/Admin/*", None)
    };
    let edge = before(server.address, vec![caseless, route("/*", None)]);
    for target in [
        "/admin",
        "/ADMIN/x",
        "/aDmIn/",
        "/%41dmin/x",
        "/%61DMIN;a/x",
        "/ADMIN%2fx",
        "/%2541dmin/x",
        "/admin./x",
        "/ADMIN.../x",
        "/admin%20/x",
        "/admin%20.%20/x",
        "/admin::$DATA/x",
        "/admin:$i30:$INDEX_ALLOCATION/x",
        "/ADMINI~1/x",
        "/AD12AB~1/x",
        "/pub/..%20/admin/x",
        "/pub/.../admin/x",
    ] {
        let status = status_and_body(&get(edge.address, target)).0;
        assert!(matches!(status, 400 | 403), "{target}: {status}");
    }
    assert_eq!(server.requests(), Vec::<String>::new());
    for target in [
        "/Administrator",
        "/x.y/ADMIN.",
        "/~admin/x",
        "/x:y/z",
        "/pub/%20x",
    ] {
        assert_eq!(
            status_and_body(&get(edge.address, target)).0,
            200,
            "{target}"
        );
    }
    // On case-sensitive servers, Windows names are ordinary names.
    let edge = before(
        server.address,
        vec![guard("/admin/*", None), route("/*", None)],
    );
    for target in ["/ADMIN/x", "/admin./x", "/ADMINI~1/x"] {
        assert_eq!(
            status_and_body(&get(edge.address, target)).0,
            200,
            "{target}"
        );
    }
}

#[test]
fn whatever_a_route_does_is_done_to_all_spellings() {
    let server = Scripted::always(OK);
    let seldom = RouteConfig {
        rate: Some(Rate {
            per_second: 0.001,
            burst: 1,
        }),
        ..route("/search", None)
    };
    let joined = RouteConfig {
        rewrite: Some(Rewrite::Regex(
            "^/join/(.*)-(.*)$".to_owned(),
            "/$1$2".to_owned(),
        )),
        ..route("/join/*", None)
    };
    let old = RouteConfig {
        rewrite: Some(Rewrite::Prefix("/new/".to_owned())),
        case_ignored: true,
        ..route("/old/*", None)
    };
    let edge = before(
        server.address,
        vec![
            seldom,
            joined,
            old,
            guard("/admin/*", None),
            route("/*", None),
        ],
    );
    let status = |target: &str| status_and_body(&get(edge.address, target)).0;
    let asked = |target: &str| {
        server
            .requests()
            .pop()
            .unwrap()
            .starts_with(&format!("GET {target} "))
    };
    assert_eq!(status("/search"), 200);
    for (target, expected) in [
        ("/search?q=a", 429),
        ("/%73earch", 429),
        ("//search", 429),
        ("/search;a", 400),
        ("/search%3ba", 400),
        ("/;a/search", 400),
        ("/%2573earch", 400),
        ("/%c1%b3earch", 400),
        ("/search%09", 400),
        // Two harmless parts that join.
        ("/join/.-./admin/x", 400),
        ("/join/%2-e%2e/admin/x", 400),
        ("/join/a/.-.;/x", 400),
        ("/OLD/..;/x", 400),
    ] {
        assert_eq!(status(target), expected, "{target}");
    }
    assert_eq!(server.requests().len(), 1);
    assert!(status("/join/a-b") == 200 && asked("/ab"));
    assert!(status("/OLD/x?y") == 200 && asked("/new/x?y"));
    assert!(status("/Old") == 200 && asked("/new/"));
    // An upgrade request has a path as well.
    let before = server.requests().len();
    for target in [
        "/admin/ws",
        "/admin;a/ws",
        "/pub/..;/admin/ws",
        "/%2561dmin/ws",
    ] {
        let request = format!(
            "GET {target} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        );
        let mut stream = connect(edge.address);
        stream.write_all(request.as_bytes()).unwrap();
        let head = read_until(&mut stream, "\r\n\r\n");
        assert!(
            matches!(status_and_body(&head).0, 400 | 403),
            "{target}: {head}"
        );
    }
    assert_eq!(server.requests().len(), before);
}

#[test]
fn no_page_includes_what_its_client_may_not_ask_for() {
    let server = Scripted::start(|mut connection| {
        while let Some(head) = connection.head() {
            let body = if head.starts_with("GET /page ") {
                let targets = [
                    "/admin/x",
                    "/admin;a/x",
                    "/pub/%2e%2e;/admin/x",
                    "/%2561dmin/x",
                    "/;a/admin/x",
                ];
                let includes = targets
                    .map(|target| format!("<esi:include src=\"{target}\" onerror=\"continue\"/>"));
                format!("a{}<esi:include src=\"/pub\"/>b", includes.concat())
            } else {
                "included".to_owned()
            };
            connection.send(format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ));
        }
    });
    let page = RouteConfig {
        fragments: Some(Fragments::default()),
        ..route("/*", None)
    };
    let edge = before(server.address, vec![guard("/admin/*", None), page]);
    let response = get(edge.address, "/page");
    assert!(response.contains("included"), "{response}");
    assert_eq!(response.matches("included").count(), 1, "{response}");
    let mut asked: Vec<_> = server
        .requests()
        .iter()
        .map(|head| head.split(' ').nth(1).unwrap().to_owned())
        .collect();
    asked.sort();
    assert_eq!(asked, ["/page", "/pub"]);
}
