//! The admin address: metrics for authorized clients, nothing for requests that a foreign page triggered.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plimsoll_config::edge::{Admin, EdgeConfig, PoolConfig};

use crate::support::{
    Afloat, ObservedEdge, Scripted, get, plain, pool, quick_check, send_request, start,
    status_and_body,
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn with_admin(mut edge: EdgeConfig, token: Option<&str>) -> Afloat {
    edge.admin = Some(Admin {
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        must_bind: true,
        token: token.map(str::to_owned),
    });
    start(&edge)
}

fn query_admin(edge: &Afloat, request: &str) -> String {
    let admin = edge.admin();
    let request = request.replace("{admin}", &admin.to_string());
    send_request(admin, format!("{request}Connection: close\r\n\r\n"))
}

#[test]
fn metrics_count_what_happened() {
    let server = Scripted::always(OK);
    let edge = with_admin(plain(pool(&[server.address])), None);
    for _ in 0..3 {
        assert_eq!(status_and_body(&get(edge.address, "/")).0, 200);
    }
    send_request(edge.address, "nonsense\r\n\r\n");
    let response = query_admin(&edge, "GET /metrics HTTP/1.1\r\nHost: {admin}\r\n");
    let server = format!("{{pool=\"app\",server=\"{}\"}}", server.address);
    for line in [
        "plimsoll_edge_requests_total 4",
        "plimsoll_edge_answers_total{class=\"2xx\"} 3",
        "plimsoll_edge_answers_total{class=\"4xx\"} 1",
        "plimsoll_edge_own_answers_total{reason=\"bad-request\"} 1",
        "plimsoll_edge_answer_seconds_count 3",
        "plimsoll_edge_server_connects_total 1",
        &format!("plimsoll_edge_server_answers_total{server} 3"),
        &format!("plimsoll_edge_server_in_flight{server} 0"),
        &format!("plimsoll_edge_server_up{server} 1"),
    ] {
        assert!(
            response.lines().any(|candidate| candidate == line),
            "{line} is not in {response}"
        );
    }
    let response = query_admin(
        &edge,
        "GET /metrics HTTP/1.1\r\nHost: {admin}\r\nAccept: application/openmetrics-text\r\n",
    );
    assert!(response.ends_with("# EOF\n"));
    let response = query_admin(&edge, "GET /figures HTTP/1.1\r\nHost: localhost:1\r\n");
    assert_eq!(status_and_body(&response).0, 421);
    let response = query_admin(&edge, "GET /figures HTTP/1.1\r\nHost: {admin}\r\n");
    let figures: serde_json::Value = serde_json::from_str(status_and_body(&response).1).unwrap();
    assert_eq!(figures["statuses"], serde_json::json!([0, 3, 0, 1, 0]));
    assert_eq!(
        status_and_body(&query_admin(
            &edge,
            "GET /healthz HTTP/1.1\r\nHost: {admin}\r\n"
        )),
        (200, "ok\n")
    );
    let page = query_admin(&edge, "GET / HTTP/1.1\r\nHost: {admin}\r\n");
    assert!(page.contains("default-src 'none'") && page.contains("name=\"viewport\""));
    assert!(!page.contains("unsafe-inline") && !page.contains("<style"));
    for (path, kind) in [
        ("/edge.js", "text/javascript"),
        ("/charts.js", "text/javascript"),
        ("/style.css", "text/css"),
    ] {
        let file = query_admin(
            &edge,
            &format!("GET {path} HTTP/1.1\r\nHost: {{admin}}\r\n"),
        );
        assert_eq!(status_and_body(&file).0, 200, "{path}");
        assert!(
            file.to_lowercase()
                .contains(&format!("content-type: {kind}")),
            "{path}"
        );
    }
}

#[test]
fn who_was_sent_by_another_site_is_refused() {
    let server = Scripted::always(OK);
    let edge = with_admin(plain(pool(&[server.address])), None);
    let reload = "POST /reload HTTP/1.1\r\nHost: {admin}\r\nContent-Length: 2\r\n";
    let cases = [
        (
            421,
            "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n".to_owned(),
        ),
        (
            403,
            "GET /metrics HTTP/1.1\r\nHost: {admin}\r\nOrigin: http://evil.example\r\n".to_owned(),
        ),
        (
            403,
            "GET /metrics HTTP/1.1\r\nHost: {admin}\r\nOrigin: null\r\n".to_owned(),
        ),
        (
            200,
            "GET /metrics HTTP/1.1\r\nHost: {admin}\r\nOrigin: http://{admin}\r\n".to_owned(),
        ),
        (415, format!("{reload}Content-Type: text/plain\r\n")),
        (
            415,
            format!("{reload}Content-Type: application/x-www-form-urlencoded\r\n"),
        ),
        (415, reload.to_owned()),
        (405, "GET /reload HTTP/1.1\r\nHost: {admin}\r\n".to_owned()),
        (
            405,
            "POST /metrics HTTP/1.1\r\nHost: {admin}\r\nContent-Length: 0\r\n".to_owned(),
        ),
        (
            404,
            "GET /etc/passwd HTTP/1.1\r\nHost: {admin}\r\n".to_owned(),
        ),
    ];
    for (status, request) in cases {
        let admin = edge.admin();
        let request = request.replace("{admin}", &admin.to_string());
        let response = send_request(admin, format!("{request}Connection: close\r\n\r\n{{}}"));
        assert_eq!(status_and_body(&response).0, status, "{request}");
    }
}

#[test]
fn a_token_is_asked_for_where_others_can_reach_it() {
    let server = Scripted::always(OK);
    let edge = with_admin(plain(pool(&[server.address])), Some("a-long-token"));
    for (status, line) in [
        (401, ""),
        (401, "Authorization: Bearer a-long-tokem\r\n"),
        (200, "Authorization: Bearer a-long-token\r\n"),
    ] {
        let response = query_admin(
            &edge,
            &format!("GET /metrics HTTP/1.1\r\nHost: {{admin}}\r\n{line}"),
        );
        assert_eq!(status_and_body(&response).0, status);
        for path in ["/status", "/figures"] {
            let head = format!("GET {path} HTTP/1.1\r\nHost: {{admin}}\r\n{line}");
            let answered = status_and_body(&query_admin(&edge, &head)).0;
            assert!(
                answered == status || (status == 200 && answered == 503),
                "{path}: {answered}"
            );
        }
    }
    let stream = query_admin(&edge, "GET /events HTTP/1.1\r\nHost: {admin}\r\n");
    assert_eq!(status_and_body(&stream).0, 401);
    // A browser sends no token with the address of a page: the page asks for it, and holds nothing before.
    for path in ["/", "/edge.js"] {
        let head = format!("GET {path} HTTP/1.1\r\nHost: {{admin}}\r\n");
        assert_eq!(status_and_body(&query_admin(&edge, &head)).0, 200, "{path}");
        let foreign = format!("GET {path} HTTP/1.1\r\nHost: evil.example\r\n");
        assert_eq!(
            status_and_body(&query_admin(&edge, &foreign)).0,
            421,
            "{path}"
        );
    }
    let mut open = plain(pool(&[server.address]));
    open.admin = Some(Admin {
        address: SocketAddr::from(([0, 0, 0, 0], 0)),
        must_bind: true,
        token: None,
    });
    let refused = plimsoll_edge::start(&open, plimsoll_edge::Hooks::none());
    assert!(matches!(
        refused,
        Err(plimsoll_edge::EdgeError::AdminOpen(_))
    ));
}

#[test]
fn checks_take_a_server_out_and_bring_it_back() {
    let well = Arc::new(AtomicBool::new(true));
    let state = Arc::clone(&well);
    let server = Scripted::start(move |mut connection| {
        while let Some(head) = connection.head() {
            let good = state.load(Ordering::SeqCst) || !head.starts_with("GET /health");
            let status = if good { "200 OK" } else { "500 No" };
            connection.send(format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok"));
        }
    });
    let pool = PoolConfig {
        check: Some(quick_check()),
        ..pool(&[server.address])
    };
    let observed = ObservedEdge::start(&plain(pool));
    let address = observed.edge.address;
    assert_eq!(status_and_body(&get(address, "/")).0, 200);
    well.store(false, Ordering::SeqCst);
    observed.wait_for_message("fails its health checks");
    let response = get(address, "/");
    assert_eq!(status_and_body(&response).0, 503);
    assert!(response.contains("X-Plimsoll: no-server"));
    well.store(true, Ordering::SeqCst);
    observed.wait_for_message("is healthy again");
    assert_eq!(status_and_body(&get(address, "/")).0, 200);
}
