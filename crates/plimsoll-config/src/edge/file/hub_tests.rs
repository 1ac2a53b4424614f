use std::time::Duration;

use super::read;
use super::tests::{folder, lookup};
use crate::edge::{
    EdgeConfig, Endpoint, HubConfig, HubHooks, HubKey, HubRedis, HubRule, HubShared, HubSharedKind,
    HubSlow, HubSource, HubSourceKind, HubTokens, Rate, ServerTls,
};

fn read_text(text: &str) -> Result<EdgeConfig, String> {
    let folder = folder([]);
    read(text, &folder, &lookup).map_err(|diagnostics| diagnostics.to_string())
}

const EC: &[u8] = b"-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAETgt2weVvc3wyEzxB7gSGFXrVB5hh
FHARt1k692atuRsC1Xul1ZN0QV9k1ZTntxcZ9OoeG/3T+/KT/r8Y/C9oAg==
-----END PUBLIC KEY-----
";
const RSA: &[u8] = b"-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAp4zj+E0y1LVkSJyO5+tG
0f3MKAg9CLmsEHMeFiOcCbGk6VGdulYQBBuUyfE3lJjlTudDZ9ssA2GP0AIxgdqR
nrXDMPX5ujSWhaYUuhDUWs/kpjB2154uqGjN08hU08qpsVRkTzrDI9COCnYMgLUL
rVIPOJ7tKCb9ikmdIe4c3pGYhvn+N8shGOvDmjJRucTJniv4FlJZLPVUMcIsKSkt
fW4uqxSy9hy9vf+ScQa3cIGpIkV7B9S3fwZlaF7dGKLktfFUyF/U4bpDRTgGwmOs
Za5AqhFrIAGKS7nmRHoloUWdj6znu/CdwOlm9qQBB9ZIjlXIwwkp3O1rMTAWA70l
jwIDAQAB
-----END PUBLIC KEY-----
";
const ED: &[u8] = b"-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAF6SvkZBfrvhQAyxE8gkdGUKnVRrAf/SubXT41+aAyEY=
-----END PUBLIC KEY-----
";

fn read_with_keys(tokens: &str) -> Result<HubTokens, String> {
    let folder = folder([
        ("ec.pem", EC),
        ("rsa.pem", RSA),
        ("ed.pem", ED),
        ("no.pem", b"key"),
    ]);
    let text = format!("hub: {{ path: /live, tokens: {tokens} }}");
    let edge = read(&text, &folder, &lookup).map_err(|diagnostics| diagnostics.to_string())?;
    Ok(edge.hub.unwrap().tokens.unwrap())
}

#[test]
fn tokens_are_checked_with_a_secret_or_a_key() {
    let secret = "0123456789abcdef0123456789abcdef";
    let all = format!("{{ secret: {secret}, audience: live, public: [news, game-*] }}");
    let expected = HubTokens {
        key: HubKey::Secret(secret.to_owned()),
        audience: Some("live".to_owned()),
        public: vec!["news".to_owned(), "game-*".to_owned()],
    };
    let read = read_with_keys(&all).unwrap();
    assert_eq!(read, expected);
    assert!(!format!("{read:?}").contains(secret));
    let read = read_with_keys("{ key: ec.pem }").unwrap();
    assert!(matches!(read.key, HubKey::P256(point) if point.len() == 65));
    let read = read_with_keys("{ key: rsa.pem }").unwrap();
    assert!(matches!(read.key, HubKey::Rsa(der) if der.len() == 270));
    for (text, message) in [
        ("{ secret: short }", "the secret is too short"),
        ("{ key: ed.pem }", "contains no supported public key"),
        ("{ key: no.pem }", "contains no supported public key"),
        ("{ key: none.pem }", "cannot be read"),
        ("{ public: news }", "secret"),
        ("{ key: ec.pem, secret: a }", "secret"),
    ] {
        let error = read_with_keys(text).unwrap_err();
        assert!(error.contains(message), "{text}: {error}");
    }
}

#[test]
fn a_path_is_enough() {
    let edge = read_text("hub: /live").unwrap();
    assert_eq!(edge.hub, HubConfig::at("/live"));
    assert!(edge.pools.is_empty() && edge.routes.is_empty());
    let edge = read_text("hub: /live\npools: { app: { servers: [http://127.0.0.1:1] } }");
    assert_eq!(edge.unwrap().routes.len(), 1);
}

fn source(host: &str, port: u16) -> HubSource {
    HubSource {
        kind: HubSourceKind::Nats,
        host: host.to_owned(),
        port,
        user: None,
        password: None,
        tls: None,
        names: Vec::new(),
        channel: "*".to_owned(),
    }
}

#[test]
fn every_word_of_the_hub_has_its_meaning() {
    let edge = read_text(
        "hub:\n  \
           path: /live\n  \
           publish_token: \"{{ env('TOKEN') }}\"\n  \
           origins: [https://a.example, http://localhost:3000]\n  \
           slow: disconnect\n  \
           waiting: 8\n  \
           waiting_size: 32KiB\n  \
           subscriptions: 5\n  \
           commands: { limit: 2/s, burst: 4 }\n  \
           message: 1KiB\n  \
           ping: 10s\n  \
           compress: true\n  \
           most_channels: 50\n  \
           history_size: 1MiB\n  \
           redis: { address: 'redis.internal:6379', user: edge, password: secret, channels: game-* }\n  \
           channels:\n  \
           - { match: game-*, interval: 3s, conflate: merge, history: 0, history_age: 5s, history_size: 1KiB }\n  \
           - { match: chat, publish: true, presence: true, patches: true, rate: 20/s, replay: 10, subscribers: 300, data: 500 }\n",
    );
    let hub = edge.unwrap().hub.unwrap();
    let game = HubRule {
        interval: Some(Duration::from_secs(3)),
        merges: true,
        history_max: 0,
        history_age: Duration::from_secs(5),
        history_bytes_max: 1024,
        ..HubRule::of("game-*")
    };
    let chat = HubRule {
        clients_publish: true,
        presence: true,
        patches: true,
        rate: Some(20.0),
        replay: 10,
        subscribers_max: 300,
        data_len_max: 500,
        ..HubRule::of("chat")
    };
    let expected = HubConfig {
        publish_token: Some("a-secret-token".to_owned()),
        origins: vec![
            "https://a.example".to_owned(),
            "http://localhost:3000".to_owned(),
        ],
        channels: vec![game, chat],
        slow: HubSlow::Disconnect,
        waiting_max: 8,
        waiting_bytes_max: 32 << 10,
        subscriptions_max: 5,
        commands: Rate {
            per_second: 2.0,
            burst: 4,
        },
        message_len_max: 1024,
        ping: Duration::from_secs(10),
        compress: true,
        channels_max: 50,
        history_bytes_max: 1 << 20,
        redis: Some(HubRedis {
            host: "redis.internal".to_owned(),
            port: 6379,
            user: Some("edge".to_owned()),
            password: Some("secret".to_owned()),
            tls: None,
            patterns: vec!["game-*".to_owned()],
        }),
        ..HubConfig::at("/live").unwrap()
    };
    assert_eq!(hub, expected);
}

#[test]
fn sources_are_read() {
    let edge = read_text(
        "hub:\n  path: /live\n  sources:\n  \
           - { redis_stream: 'r:6379', listen: [updates, more], group: edge-1 }\n  \
           - { nats: 'n:4222', listen: game.>, channel: live-*, user: u, password: p }\n  \
           - { postgres: 'p:5432', listen: odds, user: app, database: shop, tls: { name: db.internal } }\n",
    );
    let expected = vec![
        HubSource {
            kind: HubSourceKind::RedisStream {
                group: "edge-1".to_owned(),
            },
            names: vec!["updates".to_owned(), "more".to_owned()],
            ..source("r", 6379)
        },
        HubSource {
            user: Some("u".to_owned()),
            password: Some("p".to_owned()),
            names: vec!["game.>".to_owned()],
            channel: "live-*".to_owned(),
            ..source("n", 4222)
        },
        HubSource {
            kind: HubSourceKind::Postgres {
                database: "shop".to_owned(),
            },
            user: Some("app".to_owned()),
            tls: Some(ServerTls {
                name: Some("db.internal".to_owned()),
                ..ServerTls::default()
            }),
            names: vec!["odds".to_owned()],
            ..source("p", 5432)
        },
    ];
    assert_eq!(edge.unwrap().hub.unwrap().sources, expected);
    assert_eq!(expected[1].channel_of("a*"), "live-a*");
}

#[test]
fn mercure_is_served_with_tokens() {
    let secret = "0123456789abcdef0123456789abcdef";
    let hub = |text: &str| read_text(&format!("hub: {{ path: /live, {text} }}"));
    let both = format!("mercure: true, tokens: {{ secret: {secret} }}");
    assert!(hub(&both).unwrap().hub.unwrap().mercure);
    assert!(!hub("mercure: false").unwrap().hub.unwrap().mercure);
    let error = hub("mercure: true").unwrap_err();
    assert!(error.contains("every client could publish"), "{error}");
    let listed = format!("{both}, subscription_events: true, active_subscriptions: 5");
    let listed = hub(&listed).unwrap().hub.unwrap();
    assert_eq!(
        (listed.subscription_events, listed.active_subscriptions_max),
        (true, 5)
    );
    let plain = hub(&both).unwrap().hub.unwrap();
    assert!(!plain.subscription_events);
    for (text, why) in [
        (
            "subscription_events: true".to_owned(),
            "with `mercure: true`",
        ),
        (
            format!("{both}, active_subscriptions: 5"),
            "with `subscription_events: true`",
        ),
        (
            format!("{both}, subscription_events: true, active_subscriptions: 0"),
            "from 1 to 1000000",
        ),
    ] {
        let error = hub(&text).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    // Mercure clients would bypass the hooks.
    for (word, is_rejected) in [
        ("connect", true),
        ("subscribe", true),
        ("publish", true),
        ("messages", false),
    ] {
        let asked = hub(&format!("{both}, hooks: {{ {word}: 'http://a' }}"));
        let error = asked.err().unwrap_or_default();
        assert_eq!(
            error.contains("do not apply to Mercure"),
            is_rejected,
            "{word}: {error}"
        );
    }
}

#[test]
fn edges_share_a_redis() {
    let shared = |text: &str| {
        let edge = read_text(&format!("hub: {{ path: /live, shared: {text} }}"));
        edge.unwrap().hub.unwrap().shared.unwrap()
    };
    let plain = HubShared {
        kind: HubSharedKind::Redis,
        host: "::1".to_owned(),
        port: 6379,
        user: None,
        password: None,
        tls: None,
        name: "plimsoll".to_owned(),
        messages_max: 100_000,
        bytes_max: 64 << 20,
    };
    assert_eq!(shared("'[::1]:6379'"), plain);
    let all = "{ address: 'a:1', user: edge, password: secret, tls: true, name: live-2, messages: 5, size: 1MiB }";
    let expected = HubShared {
        kind: HubSharedKind::Redis,
        host: "a".to_owned(),
        port: 1,
        user: Some("edge".to_owned()),
        password: Some("secret".to_owned()),
        tls: Some(ServerTls::default()),
        name: "live-2".to_owned(),
        messages_max: 5,
        bytes_max: 1 << 20,
    };
    assert_eq!(shared(all), expected);
    let expected = HubShared {
        kind: HubSharedKind::Nats,
        host: "n".to_owned(),
        port: 4222,
        name: "live".to_owned(),
        ..plain
    };
    assert_eq!(shared("{ nats: 'n:4222', name: live }"), expected);
    assert_eq!(expected.title(), "NATS at n:4222");
}

#[test]
fn an_application_is_asked() {
    let read = |text: &str| {
        let edge = read_text(&format!("hub: {{ path: /live, hooks: {text} }}"));
        edge.unwrap().hub.unwrap().hooks.unwrap()
    };
    let to = |target: &str, headers: &[(&str, &str)]| {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Some(Endpoint {
            secure: false,
            host: "app".to_owned(),
            port: 3000,
            target: target.to_owned(),
            headers: headers.iter().map(owned).collect(),
        })
    };
    let plain = HubHooks {
        subscribe: to("/may-read", &[]),
        ..HubHooks::none()
    };
    assert_eq!(read("{ subscribe: 'http://app:3000/may-read' }"), plain);
    let all = "{ connect: 'http://app:3000/c', subscribe: 'http://app:3000/s', publish: 'http://app:3000', \
               messages: 'http://app:3000/m?a=b', disconnect: 'http://app:3000/d', pass: [Cookie, x-user], headers: { X-Secret: ours }, timeout: 500ms, \
               in_flight: 8, per_client: 1, cache: 10s, down: allow }";
    let secret = [("X-Secret", "ours")];
    let expected = HubHooks {
        connect: to("/c", &secret),
        subscribe: to("/s", &secret),
        publish: to("/", &secret),
        messages: to("/m?a=b", &secret),
        disconnect: to("/d", &secret),
        passed: vec!["cookie".to_owned(), "x-user".to_owned()],
        timeout: Duration::from_millis(500),
        in_flight: 8,
        per_client: 1,
        cache: Some(Duration::from_secs(10)),
        allows_when_down: true,
    };
    assert_eq!(read(all), expected);
    let bounded = "hub: { path: /live, hooks: { connect: 'http://a' }, per_user: 3, per_token: 2 }";
    let hub = read_text(bounded).unwrap().hub.unwrap();
    assert_eq!((hub.per_user, hub.per_token), (Some(3), Some(2)));
    let made = "hub: { path: /live, hooks: { timeout: 1s, headers: { X-Secret: ours } }, \
                channels: [{ match: odds-*, interval: 3s, aggregate: 'http://app:3000/odds' }] }";
    let hub = read_text(made).unwrap().hub.unwrap();
    assert_eq!(hub.channels[0].aggregate, to("/odds", &secret));
}

#[test]
fn what_no_application_can_be_asked_is_named() {
    for (text, message) in [
        ("{ timeout: 1s }", "`hooks` has no hook"),
        ("{ conect: 'http://a' }", "unknown key `conect`"),
        ("{ connect: 'ftp://a' }", "is not a valid destination URL"),
        (
            "{ connect: 'http://u:p@a' }",
            "is not a valid destination URL",
        ),
        (
            "{ connect: 'http://a', pass: Content-Length }",
            "the header `content-length` cannot be forwarded",
        ),
        (
            "{ connect: 'http://a', pass: sec-websocket-key }",
            "cannot be forwarded",
        ),
        (
            "{ connect: 'http://a', down: maybe }",
            "unknown value `maybe`",
        ),
        (
            "{ connect: 'http://a', in_flight: 0 }",
            "`0` is out of range",
        ),
        (
            "{ connect: 'http://a' }, tokens: { secret: 0123456789abcdef0123456789abcdef }",
            "both authenticate clients",
        ),
        (
            "{ subscribe: 'http://a' }, per_user: 3",
            "`per_user` has no effect",
        ),
    ] {
        let error = read_text(&format!("hub: {{ path: /live, hooks: {text} }}")).unwrap_err();
        assert!(error.contains(message), "{text}: {error}");
    }
}

/// Configurations of a hub that are refused, and a piece of the error.
const NO_HUBS: &[(&str, &str)] = &[
    (
        "{ path: /live, shared: localhost }",
        "`localhost` is not an address",
    ),
    (
        "{ path: /live, shared: { name: a } }",
        "`address` is missing",
    ),
    (
        "{ path: /live, shared: { address: 'a:1', name: 'a b' } }",
        "`a b` cannot be the prefix of keys",
    ),
    (
        "{ path: /live, shared: { nats: 'a:1', name: 'a.b' } }",
        "`a.b` cannot be the name of a stream",
    ),
    (
        "{ path: /live, shared: { nats: 'a:1', address: 'a:2' } }",
        "edges share one broker",
    ),
    (
        "{ path: /live, shared: { address: 'a:1', size: 1 } }",
        "out of range",
    ),
    (
        "{ path: /live, shared: 'a:1', redis: 'a:1' }",
        "each edge that shares channels would publish",
    ),
    ("live", "`live` is not a path"),
    ("/live?x", "is not a path"),
    ("{ origins: '*' }", "`path` is missing"),
    ("{ path: /live, origins: a.example }", "is not an origin"),
    (
        "{ path: /live, publish_token: short }",
        "the token is too short",
    ),
    (
        "{ path: /live, redis: localhost }",
        "`localhost` is not an address",
    ),
    (
        "{ path: /live, redis: { address: 'a:1', user: x } }",
        "`user` needs a password",
    ),
    ("{ path: /live, slow: never }", "unknown value `never`"),
    ("{ path: /live, waiting_size: 1 }", "out of range"),
    (
        "{ path: /live, channels: [{ history: 3 }] }",
        "`match` is missing",
    ),
    (
        "{ path: /live, channels: [{ match: a, conflate: merge }] }",
        "`conflate` needs an interval",
    ),
    (
        "{ path: /live, channels: [{ match: a, aggregate: 'http://a' }] }",
        "`aggregate` needs an interval",
    ),
    (
        "{ path: /live, channels: [{ match: a, interval: 1s, conflate: merge, aggregate: 'http://a' }] }",
        "`conflate` and `aggregate` are mutually exclusive",
    ),
    (
        "{ path: /live, channels: [{ match: a, histroy: 1 }] }",
        "unknown key `histroy`",
    ),
];

#[test]
fn what_makes_no_hub_is_named() {
    for (text, message) in NO_HUBS {
        let error = read_text(&format!("hub: {text}")).unwrap_err();
        assert!(error.contains(message), "{text}: {error}");
    }
    let error = read_text("hub: /live\npools: {}").unwrap_err();
    assert!(error.contains("the configuration has no pool"), "{error}");
}

#[test]
fn what_makes_no_source_is_named() {
    for (text, message) in [
        (
            "{ path: /live, sources: [{ nats: 'a:1', listen: a }], shared: 'a:1' }",
            "every message from `sources`",
        ),
        (
            "{ path: /live, sources: [{ nats: 'a:1' }] }",
            "`listen` is missing",
        ),
        (
            "{ path: /live, sources: [{ listen: a }] }",
            "a required key is missing",
        ),
        (
            "{ path: /live, sources: [{ nats: 'a:1', postgres: 'a:1', listen: a }] }",
            "postgres",
        ),
        (
            "{ path: /live, sources: [{ nats: 'a:1', listen: a, group: b }] }",
            "`group` is only valid with `redis_stream`",
        ),
        (
            "{ path: /live, sources: [{ nats: 'a:1', listen: a b }] }",
            "`a b` is not a valid name to subscribe to",
        ),
        (
            "{ path: /live, sources: [{ nats: 'a:1', listen: a, user: u }] }",
            "`user` needs a password",
        ),
        (
            "{ path: /live, sources: [{ nats: 'a:1', listen: a }, { nats: 'a:1', listen: a }] }",
            "duplicate source",
        ),
    ] {
        let error = read_text(&format!("hub: {text}")).unwrap_err();
        assert!(error.contains(message), "{text}: {error}");
    }
}
