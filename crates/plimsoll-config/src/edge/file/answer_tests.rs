//! Keys about responses, IP filters, rate alerts and traces.

use std::time::Duration;

use super::tests::{folder, lookup};
use super::*;
use crate::edge::{CompressCoding, Parents, WaitingRoomConfig};

const POOLS: &str = "pools: { app: { servers: [http://127.0.0.1:3000] } }\n";

fn read_with(text: &str) -> Result<EdgeConfig, Diagnostics> {
    let folder = folder([
        ("shell.html", &b"<p>soon"[..]),
        ("wait.html", &b"<p>{place}"[..]),
        ("latin.html", &b"\xe9"[..]),
        (
            "bad.txt",
            &b"# ours\n10.0.0.0/8 # office\n\nten\n1.2.3.4.5\n"[..],
        ),
        ("good.txt", &b"# ours\r\n192.0.2.0/24\r\n::1\n"[..]),
        ("no.mmdb", &b"not a database"[..]),
    ]);
    read(&format!("{POOLS}{text}"), &folder, &lookup)
}

#[test]
fn answers_are_told_in_short_and_at_length() {
    let edge = read_with(
        "crawlers: [mybot, 'other bot']\n\
         routes:\n\
         - { pool: app, match: { path: /a }, fallback: shell.html, waiting: true, compress: true }\n\
         - { pool: app, match: { path: /b }, fallback: { captured: 'http://a.example/s?x', header: X-Shell, every: 5s, size: 2KiB },\n    \
             waiting: { page: wait.html, most: 7, retry: 3s, stay: 1m },\n    \
             compress: { codings: [gzip, br], level: 9, types: ['text/*'], least: 10, cpu: 5% } }\n\
         - { pool: app, fallback: { file: shell.html, captured: /s }, waiting: false, compress: false }\n",
    )
    .unwrap();
    assert_eq!(edge.crawlers, ["mybot", "other bot"]);
    let [short, long, mixed] = edge.routes.as_slice() else {
        panic!("{:?}", edge.routes);
    };
    assert!(short.learned_fallback.is_none() && short.fallback.is_some());
    assert_eq!(short.waiting, Some(WaitingRoomConfig::default()));
    assert_eq!(short.compress, Some(crate::edge::Compress::default()));
    let learned_fallback = long.learned_fallback.as_ref().unwrap();
    let captured = learned_fallback.captured.as_ref().unwrap();
    assert_eq!(
        (captured.host.as_deref(), captured.target.as_str()),
        (Some("a.example"), "/s?x")
    );
    assert_eq!(learned_fallback.header.as_deref(), Some("X-Shell"));
    assert_eq!(
        (learned_fallback.every, learned_fallback.len_max),
        (Duration::from_secs(5), 2048)
    );
    let waiting = long.waiting.as_ref().unwrap();
    assert_eq!(waiting.page.as_deref(), Some("<p>{place}"));
    assert_eq!(
        (waiting.queue_len_max, waiting.retry),
        (7, Duration::from_secs(3))
    );
    let compress = long.compress.as_ref().unwrap();
    assert_eq!(
        compress.codings,
        [CompressCoding::Gzip, CompressCoding::Brotli]
    );
    assert_eq!((compress.level, compress.len_min), (9, 10));
    assert!((compress.cpu_share - 0.05).abs() < 1e-9);
    assert!(mixed.fallback.is_some() && mixed.learned_fallback.is_some());
    assert!(mixed.waiting.is_none() && mixed.compress.is_none());
}

#[test]
fn fragments_are_told_in_short_and_at_length() {
    use crate::edge::{FragmentPages, Fragments};
    let edge = read_with(
        "routes:\n\
         - { pool: app, match: { path: /a }, fragments: true }\n\
         - { pool: app, match: { path: /b }, fragments: { pages: said, most: 5, depth: 1, size: 2KiB, timeout: 800ms } }\n\
         - { pool: app, fragments: false }\n",
    )
    .unwrap();
    let [short, long, none] = edge.routes.as_slice() else {
        panic!("{:?}", edge.routes);
    };
    assert_eq!(short.fragments, Some(Fragments::default()));
    assert_eq!(none.fragments, None);
    let expected = Fragments {
        pages: FragmentPages::Said,
        most: 5,
        depth: 1,
        len_max: 2048,
        timeout: Duration::from_millis(800),
    };
    assert_eq!(long.fragments, Some(expected));
}

#[test]
fn who_is_let_in_and_who_is_told() {
    let edge = read_with(
        "access: { allow: 10.0.0.0/8, deny: [all], deny_files: good.txt }\n\
         alarm: { webhook: 'https://hooks.example/a?b=c', headers: { X-Key: k }, every: 30s, history: 10, factor: 5, least: 2/s }\n\
         traces: { to: 'http://[::1]:4318', share: 25%, parents: trusted, service: shop }\n",
    )
    .unwrap();
    let access = edge.access.unwrap();
    assert_eq!((access.allow.len(), access.deny.len()), (1, 4));
    let rate_alert = edge.rate_alert.unwrap();
    let webhook = rate_alert.webhook.unwrap();
    assert_eq!((webhook.secure, webhook.port), (true, 443));
    assert_eq!(webhook.target, "/a?b=c");
    assert_eq!(webhook.headers, [("X-Key".to_owned(), "k".to_owned())]);
    assert_eq!(
        (rate_alert.every, rate_alert.history),
        (Duration::from_secs(30), 10)
    );
    let traces = edge.traces.unwrap();
    assert_eq!((traces.to.host.as_str(), traces.to.port), ("::1", 4318));
    assert_eq!(
        (traces.to.target.as_str(), traces.parents),
        ("/v1/traces", Parents::Trusted)
    );
    assert!((traces.share - 0.25).abs() < 1e-9);
    assert_eq!(
        read_with("alarm: true\n").unwrap().rate_alert,
        Some(crate::edge::RateAlert::default())
    );
    assert_eq!(read_with("alarm: false\n").unwrap().rate_alert, None);
}

/// Configurations, the places of their errors, and the messages.
const INVALID_CONFIGS: &[(&str, &str, &str)] = &[
    (
        "access: { allow: 10.0.0.0/8 }",
        "2:9",
        "`allow` alone has no effect",
    ),
    (
        "crawlers: [ab]",
        "2:12",
        "`ab` is not valid as a crawler name",
    ),
    (
        "crawlers: Mozilla",
        "2:11",
        "`Mozilla` is not valid as a crawler name",
    ),
    (
        "routes: [{ pool: app, fallback: {} }]",
        "2:33",
        "the source of the fallback is missing",
    ),
    (
        "routes: [{ pool: app, fallback: { captured: shell } }]",
        "2:45",
        "`shell` is not a URL of the pool",
    ),
    (
        "routes: [{ pool: app, fallback: { captured: '/a b' } }]",
        "2:45",
        "the path has no spaces",
    ),
    (
        "routes: [{ pool: app, fallback: { header: 'X A' } }]",
        "2:43",
        "`X A` is not a header name",
    ),
    (
        "routes: [{ pool: app, fallback: { header: X, size: 1GiB } }]",
        "2:52",
        "1GiB is out of range",
    ),
    (
        "routes: [{ pool: app, waiting: { retry: 100ms } }]",
        "2:41",
        "100ms is out of range",
    ),
    (
        "routes: [{ pool: app, waiting: { page: latin.html } }]",
        "2:40",
        "`latin.html` is not UTF-8",
    ),
    (
        "routes: [{ pool: app, waiting: maybe }]",
        "2:32",
        "unknown value `maybe`",
    ),
    (
        "routes: [{ pool: app, compress: { codings: [deflate] } }]",
        "2:45",
        "unknown value `deflate`",
    ),
    (
        "routes: [{ pool: app, compress: { level: 10 } }]",
        "2:42",
        "`10` is out of range",
    ),
    (
        "routes: [{ pool: app, compress: { types: html } }]",
        "2:42",
        "`html` is not a media type",
    ),
    (
        "routes: [{ pool: app, fragments: { depth: 11 } }]",
        "2:43",
        "`11` is out of range",
    ),
    (
        "routes: [{ pool: app, fragments: { timeout: 2h } }]",
        "2:45",
        "2h is out of range",
    ),
    (
        "routes: [{ pool: app, path_parameters: keep }]",
        "2:40",
        "unknown value `keep`",
    ),
    (
        "routes: [{ pool: app, case: lower }]",
        "2:29",
        "unknown value `lower`",
    ),
    (
        "access: { deny: ten }",
        "2:17",
        "`ten` is not an address range",
    ),
    (
        "access: { deny_files: bad.txt }",
        "2:23",
        "line 4 of `bad.txt`: `ten` is not an address range",
    ),
    (
        "access: { deny_files: bad.txt }",
        "2:23",
        "line 5 of `bad.txt`: `1.2.3.4.5` is not an address range",
    ),
    (
        "access: { countries: { database: no.mmdb, deny: DE } }",
        "2:34",
        "`no.mmdb` is not a country database",
    ),
    (
        "access: { countries: { database: no.mmdb, deny: Germany } }",
        "2:49",
        "invalid country code `Germany`",
    ),
    (
        "access: { countries: { deny: DE } }",
        "2:22",
        "`database` is missing",
    ),
    (
        "alarm: { webhook: 'ftp://x' }",
        "2:19",
        "`ftp://x` is not a valid destination URL",
    ),
    (
        "alarm: { webhook: 'http://u:p@x/' }",
        "2:19",
        "`http://u:p@x/` is not a valid destination URL",
    ),
    ("alarm: { history: 4 }", "2:19", "`4` is out of range"),
    ("traces: {}", "2:9", "`to` is missing"),
    (
        "traces: { to: 'http://x', parents: some }",
        "2:36",
        "unknown value `some`",
    ),
    ("traces: { to: 'http://x', share: 200% }", "2:34", ""),
];

#[test]
fn their_faults_are_told_too() {
    for (text, place, message) in INVALID_CONFIGS {
        let diagnostics = read_with(&format!("{text}\n")).unwrap_err();
        let lines = diagnostics.lines("edge.yaml");
        let wanted = format!("edge.yaml:{place}: {message}");
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with(&wanted) && line.contains("; valid: ")),
            "{wanted} is not in {lines:#?}"
        );
    }
}
