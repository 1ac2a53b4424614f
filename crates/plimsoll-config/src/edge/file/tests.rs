use std::collections::BTreeMap;
use std::time::Duration;

use std::path::PathBuf;

use super::*;
use crate::document::TestSurroundings;
use crate::edge::Action;
use crate::edge::{
    BalancingPolicy, Ceiling, HashKey, PathMatch, PathParameters, Rewrite, RouteMatch,
};

/// These files, and a token in the environment.
pub(super) fn folder<'c>(
    files: impl IntoIterator<Item = (&'static str, &'c [u8])>,
) -> TestSurroundings {
    TestSurroundings {
        variables: BTreeMap::from([("TOKEN", "a-secret-token")]),
        ..TestSurroundings::with_files(files)
    }
}

pub(super) fn lookup(
    server: &ServerConfig,
    resolvers: &[SocketAddr],
) -> Result<Vec<SocketAddr>, String> {
    match (server.host.as_str(), resolvers) {
        ("app.example", []) => Ok(vec![SocketAddr::from(([192, 0, 2, 1], server.port))]),
        ("app.internal", [_]) => Ok(vec![SocketAddr::from(([192, 0, 2, 2], server.port))]),
        _ => Err("no such host".to_owned()),
    }
}

fn read_text(text: &str) -> Result<EdgeConfig, Diagnostics> {
    let folder = folder([
        ("shell.html", &b"<p>soon"[..]),
        ("ca.pem", &b"a certificate"[..]),
    ]);
    read(text, &folder, &lookup)
}

#[test]
fn the_shortest_file_is_enough() {
    let edge = read_text("pools: { app: { servers: [http://127.0.0.1:3000] } }").unwrap();
    assert_eq!(edge.listen[0].address.port(), 8080);
    assert_eq!(edge.routes, [RouteConfig::everything(0)]);
    assert_eq!(edge.pools[0].servers[0].name, "127.0.0.1:3000");
}

#[test]
fn the_file_of_the_manual_is_read() {
    let edge = read_text(
        "listen: [{ address: 0.0.0.0:443, tls: [{ cert: a.pem, key: a.key }] }]\n\
         pools: { app: { servers: [{ url: http://127.0.0.1:3000, max_in_flight: 15 }], queue: 30 } }\n\
         routes: [{ match: { host: a.example, path: /news/* }, pool: app, cache: { ttl: 30s }, fallback: shell.html }]\n",
    )
    .unwrap();
    assert_eq!(edge.listen[0].tls[0].key, PathBuf::from("a.key"));
    assert_eq!(edge.pools[0].servers[0].max_in_flight, Some(15));
    assert_eq!(edge.pools[0].queue, Some(30));
    let route = &edge.routes[0];
    assert_eq!(
        route.matches,
        RouteMatch {
            hosts: vec!["a.example".to_owned()],
            path: PathMatch::Prefix("/news/".to_owned()),
            ..RouteMatch::default()
        }
    );
    let cache = route.cache.as_ref().unwrap();
    assert_eq!(cache.ttl, Some(Duration::from_secs(30)));
    assert_eq!(route.fallback.as_ref().unwrap().content, b"<p>soon");
}

#[test]
fn every_word_has_its_meaning() {
    let edge = read_text(
        "listen: 127.0.0.1:80\n\
         trusted: [10.0.0.0/8, ::1]\n\
         admin: { address: 0.0.0.0:9191, token: \"{{ env('TOKEN') }}\" }\n\
         access_log: { file: '-', format: combined }\n\
         limits: { body: 1MiB, per_address: 20, head_timeout: 2s }\n\
         pools:\n  \
           a: { servers: [http://127.0.0.1:1], balance: { hash: header X-User }, max_in_flight: \"{{ env('LIMIT', 'adaptive') }}\" }\n  \
           b: { servers: [http://127.0.0.1:1], balance: { cookie: stay }, max_in_flight: 3, retries: 5% }\n\
         routes:\n\
         - { match: { path: '~^/u/([0-9]+)', methods: [GET], share: 5% }, pool: b, class: sheddable,\n    \
             rewrite: { regex: '^/u/', with: /users/ }, request_headers: { X-A: b, Cookie: }, steering_headers: X-Script-Name, rate: { limit: 10/s } }\n\
         - { match: { path: /old }, redirect: { to: 'https://{host}/new', status: 301 }, path_parameters: kept, case: ignored }\n\
         - { pool: a }\n",
    )
    .unwrap();
    assert_eq!(edge.admin.unwrap().token.as_deref(), Some("a-secret-token"));
    assert_eq!(edge.limits.body_len_max, 1 << 20);
    assert_eq!(edge.trusted.len(), 2);
    assert_eq!(
        edge.pools[0].load_balancer,
        BalancingPolicy::Hash(HashKey::Header("X-User".to_owned()))
    );
    assert_eq!(
        edge.pools[1].load_balancer,
        BalancingPolicy::Cookie("stay".to_owned())
    );
    assert_eq!(edge.pools[0].ceiling, Ceiling::Adaptive);
    assert_eq!(edge.pools[1].ceiling, Ceiling::Fixed(3));
    let route = &edge.routes[0];
    assert_eq!(
        route.rewrite,
        Some(Rewrite::Regex("^/u/".to_owned(), "/users/".to_owned()))
    );
    assert_eq!(route.request_headers[1].value, None);
    assert_eq!(route.steering_headers, ["X-Script-Name"]);
    assert_eq!(route.rate.unwrap().burst, 10);
    assert_eq!(route.matches.share, Some(0.05));
    assert_eq!((route.path_parameters, route.case_ignored), (None, false));
    let old = &edge.routes[1];
    assert_eq!(
        (old.path_parameters, old.case_ignored),
        (Some(PathParameters::Kept), true)
    );
}

#[test]
fn servers_have_names_encryption_and_zones() {
    let text = "resolver: '[::1]:8600'\n\
         zone: west\n\
         pools:\n  \
           a: { servers: [{ url: 'https://app.internal', zone: west }], tls: { ca: ca.pem, name: app } }\n  \
           b: { servers: [https://192.0.2.9], tls: { insecure: true } }\n\
         routes: [{ pool: a }]\n";
    let two = text.replace("'[::1]:8600'", "[127.0.0.1:8600, 10.0.0.2]");
    let error = read_text(&two).unwrap_err().to_string();
    assert!(error.contains("no such host"), "{error}");
    let edge = read_text(text).unwrap();
    assert_eq!(edge.resolvers, ["[::1]:8600".parse().unwrap()]);
    let (a, b) = (&edge.pools[0], &edge.pools[1]);
    assert_eq!(a.servers[0].addresses, ["192.0.2.2:443".parse().unwrap()]);
    let zones = (a.servers[0].zone.as_deref(), a.zone.as_deref());
    assert_eq!(zones, (Some("west"), Some("west")));
    assert_eq!(a.tls.authorities.as_ref().unwrap().pem, b"a certificate");
    assert_eq!(a.tls.name.as_deref(), Some("app"));
    assert!(b.tls.insecure && b.servers[0].tls && !b.servers[0].is_named());
}

#[test]
fn encryption_that_cannot_be_is_named() {
    for (pool, message) in [
        (
            "[http://app.example], tls: { insecure: true }",
            "no server of the pool uses TLS",
        ),
        (
            "[https://app.example], tls: { ca: ca.pem, insecure: true }",
            "mutually exclusive",
        ),
        (
            "[https://app.example], tls: { ca: gone.pem }",
            "`gone.pem` cannot be read",
        ),
        (
            "[https://app.example], tls: { name: 'a b' }",
            "not a host name",
        ),
        (
            "[https://app.example], tls: { verify: false }",
            "unknown key `verify`",
        ),
        (
            "[https://app.example/x]",
            "is not the URL of a server alone",
        ),
    ] {
        let diagnostics = read_text(&format!("pools: {{ a: {{ servers: {pool} }} }}"));
        let diagnostics = diagnostics.unwrap_err().to_string();
        assert!(diagnostics.contains(message), "{pool}: {diagnostics}");
    }
    let diagnostics = read_text("resolver: here\npools: { a: { servers: [http://app.example] } }");
    assert!(
        diagnostics
            .unwrap_err()
            .to_string()
            .contains("`here` is not an address")
    );
}

#[test]
fn certificates_are_obtained_into_a_folder() {
    let mut edge = read_text(
        "listen: [{ address: 0.0.0.0:443, tls: [{ acme: [A.example, www.a.example] }, { cert: c.pem, key: c.key }] }]\n\
         acme: { terms_agreed: true, email: ops@a.example }\n\
         pools: { app: { servers: [http://app.example] } }\n",
    )
    .unwrap();
    edge.keep_state_in(std::path::Path::new("/state"));
    let acme = edge.acme.unwrap();
    assert_eq!(
        acme.directory,
        "https://acme-v02.api.letsencrypt.org/directory"
    );
    assert_eq!(acme.certificates[0].names, ["a.example", "www.a.example"]);
    let files = &edge.listen[0].tls;
    assert_eq!(files[0], acme.certificates[0].files);
    assert_eq!(
        files[0].cert,
        PathBuf::from("/state/certificates/a.example.pem")
    );
    assert_eq!(files[1].cert, PathBuf::from("c.pem"));
}

#[test]
fn certificates_that_cannot_be_obtained_are_named() {
    for (acme, tls, message) in [
        ("", "acme: a.example", "`acme` is missing"),
        ("acme: {}", "acme: a.example", "`terms_agreed` is missing"),
        (
            "acme: { terms_agreed: false }",
            "acme: a.example",
            "the terms of the certificate authority are not accepted",
        ),
        (
            "acme: { terms_agreed: true, directory: 'http://x' }",
            "acme: a.example",
            "is not an https:// URL",
        ),
        (
            "acme: { terms_agreed: true, email: ops }",
            "acme: a.example",
            "`ops` is not an email address",
        ),
        (
            "acme: { terms_agreed: true }",
            "acme: '*.a.example'",
            "wildcards need",
        ),
        (
            "acme: { terms_agreed: true }",
            "acme: localhost",
            "is not a public DNS name",
        ),
        (
            "acme: { terms_agreed: true }",
            "acme: 192.0.2.1",
            "is not a public DNS name",
        ),
        (
            "acme: { terms_agreed: true }",
            "acme: a.example, cert: a.pem",
            "mutually exclusive",
        ),
        (
            "acme: { terms_agreed: true }",
            "cert: a.pem, key: a.key",
            "no listener uses it",
        ),
        (
            "acme: { terms_agreed: true }",
            "acme: a.example }, { acme: [a.example, b.example]",
            "two certificates have the same first name",
        ),
    ] {
        let text = format!(
            "listen: [{{ address: 0.0.0.0:443, tls: [{{ {tls} }}] }}]\n{acme}\n\
             pools: {{ app: {{ servers: [http://app.example] }} }}\n"
        );
        let diagnostics = read_text(&text).unwrap_err().to_string();
        assert!(diagnostics.contains(message), "{text}: {diagnostics}");
    }
}

#[test]
fn steering_headers_are_names_that_clients_may_send() {
    let diagnostics = read_text(
        "pools: { app: { servers: [http://127.0.0.1:1] } }\n\
         routes:\n\
         - { pool: app, steering_headers: [X-Script-Name, 'a b', x_forwarded_for, TE, Host] }\n",
    )
    .unwrap_err();
    let text = diagnostics.lines("edge.yaml").join("\n");
    for expected in [
        "3:50: `a b` is not a header name",
        "3:57: the edge sets the header `x_forwarded_for` itself",
        "the edge sets the header `TE` itself",
        "the edge sets the header `Host` itself",
        "such as X-HTTP-Method-Override",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn all_faults_are_told_at_once() {
    let diagnostics = read_text(
        "listn: 127.0.0.1:80\n\
         trusted: ten\n\
         pools:\n  \
           app: { servers: [http://nowhere, http://127.0.0.1:1, http://127.0.0.1:1], balance: round_robbin }\n\
         routes:\n\
         - { match: { path: news }, pool: ap }\n\
         - { pool: app, redirect: { to: x } }\n\
         - { pool: app, request_headers: { Content-Length: 3, X: \"a\\r\\nb\" }, fallback: gone.html }\n\
         - { pool: app, match: { path: '~(' }, rewrite: { prefix: /x } }\n\
         limits: { head: 1 }\n",
    )
    .unwrap_err();
    let lines = diagnostics.lines("edge.yaml");
    let expected = [
        ("1:1", "unknown key `listn`", "listen"),
        ("2:10", "`ten` is not an address range", "10.0.0.0/8"),
        ("4:20", "no such host", "http://host:port"),
        ("4:56", "duplicate server 127.0.0.1:1", "weight"),
        (
            "4:86",
            "unknown balancing policy `round_robbin`",
            "round_robin",
        ),
        (
            "6:20",
            "the path `news` does not start with a slash",
            "/below/*",
        ),
        ("6:34", "unknown pool `ap`", "app"),
        (
            "7:16",
            "`pool` and `redirect` are mutually exclusive",
            "pool",
        ),
        ("8:35", "the header `Content-Length` cannot be set", "frame"),
        (
            "8:57",
            "a header's value has no control characters",
            "one line",
        ),
        ("8:79", "`gone.html` cannot be read", "file"),
        ("9:31", "invalid regular expression", "such as"),
        ("9:58", "the match has no prefix to replace", "/below/*"),
        ("10:17", "1 byte is out of range", "1KiB"),
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, (place, message, remedy)) in lines.iter().zip(expected) {
        assert!(
            line.starts_with(&format!("edge.yaml:{place}: {message}")) && line.contains(remedy),
            "{line} is not {place} {message} {remedy}"
        );
    }
}

#[test]
fn what_is_missing_is_named() {
    for (text, message) in [
        ("", "the configuration is empty"),
        ("cores: 2", "the configuration has no pool"),
        ("pools: { a: { servers: [] } }", "the pool has no server"),
        ("pools: { a: { queue: 3 } }", "`servers` is missing"),
        (
            "pools: { a: { servers: [http://127.0.0.1:1] }, b: { servers: [http://127.0.0.1:2] } }",
            "several pools need routes",
        ),
        ("a: b: c", "1:"),
    ] {
        let diagnostics = read_text(text).unwrap_err().to_string();
        assert!(diagnostics.contains(message), "{text}: {diagnostics}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[ -~\n]{0,200}") {
        let _ = read_text(&text);
    }
}

/// Mutations of a configuration: other keys, values and nesting.
fn plausible_text() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let word = prop::sample::select(vec![
        "listen",
        "pools",
        "routes",
        "admin",
        "access_log",
        "cores",
        "trusted",
        "limits",
        "user",
        "drain",
        "address",
        "tls",
        "app",
        "servers",
        "url",
        "max_in_flight",
        "queue",
        "balance",
        "match",
        "path",
        "host",
        "methods",
        "share",
        "pool",
        "fallback",
        "rewrite",
        "prefix",
        "regex",
        "with",
        "rate",
        "limit",
        "burst",
        "redirect",
        "to",
        "cache",
        "ttl",
        "class",
        "head",
        "body",
        "token",
        "answer_headers",
        "steering_headers",
        "check",
        "every",
        "eject",
        "retries",
    ]);
    let value = prop_oneof![
        prop::sample::select(vec![
            "",
            "0",
            "1",
            "-1",
            "99999999999999999999",
            "1.5",
            "10s",
            "0s",
            "64MiB",
            "10%",
            "100/s",
            "~^/(",
            "~^/a",
            "/x/*",
            "*.a.example",
            "app",
            "adaptive",
            "true",
            "127.0.0.1:80",
            "http://127.0.0.1:1",
            "shell.html",
            "{{ env('TOKEN') }}",
            "{{ env('X",
            "[a, 1, {b: c}]",
            "{ url: http://127.0.0.1:2, weight: 3 }",
            "[",
            "}",
            "&a x",
            "*a",
            "|",
            "\"\\u0000\"",
            "10.0.0.0/8",
            "::/129",
            "$1$x${",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,12}",
    ];
    let line = (0_usize..4, any::<bool>(), word, value).prop_map(|(depth, item, word, value)| {
        let dash = if item { "- " } else { "" };
        format!("{}{dash}{word}: {value}\n", "  ".repeat(depth))
    });
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.concat())
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2000))]

    #[test]
    fn plausible_text_is_read_or_refused_with_reasons(text in plausible_text()) {
        match read_text(&text) {
            Ok(edge) => for route in &edge.routes {
                if let Action::Pool(index) = route.action {
                    proptest::prop_assert!(index < edge.pools.len());
                }
            },
            Err(faults) => proptest::prop_assert!(!faults.to_string().is_empty()),
        }
    }
}
