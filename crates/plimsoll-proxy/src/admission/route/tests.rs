use plimsoll_wire::request_head::{header_buffer, parse};

use super::*;

fn route(matches: RouteMatch) -> edge::RouteConfig {
    edge::RouteConfig {
        matches,
        ..edge::RouteConfig::everything(0)
    }
}

fn prefix(path: &str) -> edge::RouteConfig {
    route(RouteMatch {
        path: PathMatch::Prefix(path.to_owned()),
        ..RouteMatch::default()
    })
}

fn with<T>(request: &str, check: impl FnOnce(&RequestHead<'_, '_>) -> T) -> T {
    let mut room = header_buffer();
    check(&parse(request.as_bytes(), &mut room).expect("a valid head"))
}

fn routes_of(routes: &[edge::RouteConfig]) -> Result<Routes, regex::Error> {
    let shared: Vec<Arc<RouteShared>> = routes
        .iter()
        .map(|route| Arc::new(RouteShared::new(route, &[], 1).unwrap()))
        .collect();
    Routes::new(routes, &shared, &[])
}

fn find(routes: &Routes, path: &str) -> Result<Option<usize>, Confused> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: a.example:80\r\nX-A: 1\r\n\r\n");
    with(&request, |head| routes.find(head, 0.5))
}

#[test]
fn paths_are_matched_as_they_are_meant() {
    let exact = route(RouteMatch {
        path: PathMatch::Exact("/a b".to_owned()),
        ..RouteMatch::default()
    });
    let expression = route(RouteMatch {
        path: PathMatch::Regex("^/[0-9]+$".to_owned()),
        ..RouteMatch::default()
    });
    let routes = routes_of(&[prefix("/admin/"), exact, expression, prefix("/")]).unwrap();
    for (path, expected) in [
        ("/admin/x", 0),
        ("/admin", 0),
        ("/administrator", 3),
        ("//admin//x", 0),
        ("/%61dmin/x", 0),
        ("/a%20b", 1),
        ("/12", 2),
        ("/12?x=/admin/", 2),
        ("/x/..well", 3),
        ("/.well-known/x", 3),
        ("/x%2Fy", 3),
    ] {
        assert_eq!(find(&routes, path), Ok(Some(expected)), "{path}");
    }
    for path in [
        "/x/../admin/x",
        "/x/%2e%2e/admin/x",
        "/x/.%2E/admin",
        "/x/..",
        "/./x",
        "/admin%2fx",
        "/x%2f..%2fadmin%2fx",
        "/%5cadmin%5c..%5c",
        "/x%00",
        "/x%",
        "/x%zz",
        "/x%4",
    ] {
        assert_eq!(find(&routes, path), Err(Confused), "{path}");
    }
}

#[test]
fn one_route_for_everything_still_refuses_dots() {
    let routes = routes_of(&[edge::RouteConfig::everything(0)]).unwrap();
    assert_eq!(find(&routes, "/a/../b"), Err(Confused));
    assert_eq!(find(&routes, "/a%2fb//c"), Ok(Some(0)));
}

#[test]
fn everything_that_is_said_must_hold() {
    let wanted = RouteMatch {
        hosts: vec!["*.example".to_owned()],
        methods: vec!["GET".to_owned()],
        headers: vec![("x-a".to_owned(), Some("1".to_owned()))],
        ..RouteMatch::default()
    };
    let takes = |change: &dyn Fn(&mut RouteMatch)| {
        let mut wanted = wanted.clone();
        change(&mut wanted);
        find(&routes_of(&[route(wanted)]).unwrap(), "/").unwrap() == Some(0)
    };
    assert!(takes(&|_| ()));
    assert!(takes(&|wanted| wanted.hosts = vec!["A.example".to_owned()]));
    assert!(takes(&|wanted| wanted.headers[0].1 = None));
    assert!(takes(&|wanted| wanted.share = Some(0.6)));
    assert!(!takes(&|wanted| wanted.share = Some(0.4)));
    assert!(!takes(&|wanted| wanted.hosts = vec!["example".to_owned()]));
    assert!(!takes(
        &|wanted| wanted.hosts = vec!["*.a.example".to_owned()]
    ));
    assert!(!takes(&|wanted| wanted.methods = vec!["POST".to_owned()]));
    assert!(!takes(&|wanted| wanted.headers[0].1 = Some("2".to_owned())));
}

#[test]
fn hosts_are_compared_without_port_and_case() {
    for (asked, meant, is) in [
        ("A.example:8080", "a.example", true),
        ("a.example.", "a.example", true),
        ("[::1]:80", "[::1]", true),
        ("[::1]", "[::1]", true),
        ("b.a.example", "*.a.example", true),
        ("a.example", "*.a.example", false),
        ("evila.example", "*.a.example", false),
    ] {
        assert_eq!(is_host(Some(asked), meant), is, "{asked} {meant}");
    }
    assert!(!is_host(None, "a"));
}

#[test]
fn paths_are_rewritten_without_their_query() {
    let rewriting = |path: PathMatch, rewrite| edge::RouteConfig {
        rewrite: Some(rewrite),
        ..route(RouteMatch {
            path,
            ..RouteMatch::default()
        })
    };
    let strip = rewriting(
        PathMatch::Prefix("/api/".to_owned()),
        Rewrite::Prefix("/".to_owned()),
    );
    let expression = rewriting(
        PathMatch::Any,
        Rewrite::Regex("^/u/([^/]+)".to_owned(), "/users/$1".to_owned()),
    );
    let routes = routes_of(&[strip, expression]).unwrap();
    let rewritten = |index: usize, target: &str| routes.get(index).rewritten(target);
    assert_eq!(
        rewritten(0, "/api/x?y=/api/"),
        Ok(Some("/x?y=/api/".to_owned()))
    );
    assert_eq!(rewritten(0, "/api"), Ok(Some("/".to_owned())));
    assert_eq!(rewritten(0, "//api/x"), Err(Confused));
    assert_eq!(
        rewritten(1, "/u/7/x?z"),
        Ok(Some("/users/7/x?z".to_owned()))
    );
}

#[test]
fn redirects_are_filled() {
    let routes = routes_of(&[edge::RouteConfig {
        action: Action::Redirect {
            status: 308,
            location: "https://{host}{target}".to_owned(),
        },
        ..edge::RouteConfig::everything(0)
    }])
    .unwrap();
    let location = with("GET /x?y HTTP/1.1\r\nHost: a.example\r\n\r\n", |head| {
        routes.get(0).location(head)
    });
    assert_eq!(location, Some((308, "https://a.example/x?y".to_owned())));
}

#[test]
fn only_browsers_get_the_page() {
    let extra = ["my.bot".to_owned()];
    let takes = |method: &str, headers: &str| {
        let request = format!("{method} / HTTP/1.1\r\nHost: a\r\n{headers}\r\n");
        with(&request, |head| {
            takes_page(head, &crawlers(&extra).unwrap())
        })
    };
    assert!(takes("GET", ""));
    assert!(takes("HEAD", "Accept: text/html,application/xml;q=0.9\r\n"));
    assert!(takes("GET", "Accept: */*\r\nSec-Fetch-Dest: document\r\n"));
    assert!(!takes("POST", ""));
    assert!(!takes("GET", "Accept: application/json\r\n"));
    assert!(!takes("GET", "Accept: */*\r\nSec-Fetch-Dest: script\r\n"));
    assert!(!takes(
        "GET",
        "User-Agent: Mozilla/5.0 (compatible; Googlebot/2.1)\r\n"
    ));
    assert!(!takes("GET", "User-Agent: My.Bot/1\r\n"));
    assert!(
        takes("GET", "User-Agent: My-Bot/1\r\n"),
        "names are no expressions"
    );
    assert!(!takes("GET", "Accept: text/html;q=0, */*\r\n"));
    assert!(takes("GET", "Accept: text/*, text/html;q=0.5\r\n"));
}

proptest::proptest! {
    #[test]
    fn any_path_is_taken_or_refused(path in "/[ -~]{0,40}") {
        let _ = Readings::of(path_of(&path).as_bytes());
    }
}
