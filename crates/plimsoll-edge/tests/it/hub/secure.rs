//! Sources and shared streams by TLS: real servers with certificates of a test authority.

use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use plimsoll_config::edge::{
    Authorities, HubConfig, HubShared, HubSharedKind, HubSource, HubSourceKind, ServerTls,
};
use plimsoll_testkit::port;
use plimsoll_testkit::program::databases::Postgres;
use plimsoll_testkit::program::{Nats, Redis};
use serde_json::json;

use super::shared::JOINED;
use super::sources::{expect_message, nats, of, redis, source, with_source};
use super::{HubClient, live, only_hub, publish};
use crate::origins::certified;
use crate::support::{ObservedEdge, start, wait_for};

const NAME: &str = "hub.test";

fn trusting(authorities: &Authorities, name: &str) -> ServerTls {
    ServerTls {
        authorities: Some(authorities.clone()),
        name: Some(name.to_owned()),
        insecure: false,
    }
}

/// Connects by TLS, and rejects a server with the wrong certificate.
fn only_who_is_known(source: &HubSource, authorities: &Authorities) -> ObservedEdge {
    let (strangers, _) = certified(NAME);
    let with = |tls| HubSource {
        tls: Some(tls),
        ..source.clone()
    };
    let observed = ObservedEdge::start(&with_source(with(trusting(&strangers, NAME))));
    let message = observed.wait_for_message("is unavailable");
    assert!(message.contains("TLS handshake failed"), "{message}");
    assert!(
        message.contains("`tls: { ca, name, insecure }`"),
        "{message}"
    );
    let another = trusting(authorities, "other.test");
    observed.reload(&with_source(with(another))).unwrap();
    let message = observed.wait_for_message("is unavailable");
    assert!(message.contains("TLS handshake failed"), "{message}");
    observed
        .reload(&with_source(with(trusting(authorities, NAME))))
        .unwrap();
    observed.wait_for_message("are published to the hub");
    observed
}

/// A Redis reachable in clear text, and by TLS at another port.
fn secure_redis(folder: &Path) -> (Redis, SocketAddr) {
    let (plain, secure) = (port::unused(), port::unused());
    let at = folder.display();
    let lines = format!(
        "appendonly no\ntls-port {}\ntls-cert-file {at}/cert.pem\ntls-key-file {at}/key.pem\ntls-auth-clients no",
        secure.port()
    );
    (Redis::start_at(plain, &lines), secure)
}

#[test]
fn streams_of_redis_come_by_tls() {
    let (authorities, folder) = certified(NAME);
    let (server, secure) = secure_redis(folder.path());
    let group = "edge-1".to_owned();
    let source = source(HubSourceKind::RedisStream { group }, secure, &["updates"]);
    let observed = only_who_is_known(&source, &authorities);
    let mut client = HubClient::open(observed.edge.address);
    client.subscribe("updates");
    redis(server.address, "XADD updates * data 1");
    expect_message(&mut client, "updates", &json!(1));
}

#[test]
fn what_edges_share_goes_by_tls() {
    let (authorities, folder) = certified(NAME);
    let (_server, secure) = secure_redis(folder.path());
    let streams = port::unused();
    let _nats = Nats::streaming_at(streams, &tls_of_nats(folder.path()));
    for (kind, at) in [
        (HubSharedKind::Redis, secure),
        (HubSharedKind::Nats, streams),
    ] {
        let edge = start(&only_hub(HubConfig {
            shared: Some(HubShared {
                kind,
                host: at.ip().to_string(),
                port: at.port(),
                user: None,
                password: None,
                tls: Some(trusting(&authorities, NAME)),
                name: "live".to_owned(),
                messages_max: 100,
                bytes_max: 1 << 20,
            }),
            ..live()
        }));
        wait_for(&edge, JOINED, 1.0);
        let mut client = HubClient::open(edge.address);
        client.subscribe("a");
        publish(&edge, "a", &json!("x".repeat(20_000)));
        expect_message(&mut client, "a", &json!("x".repeat(20_000)));
    }
}

fn tls_of_nats(folder: &Path) -> String {
    let at = folder.display();
    format!("tls {{ cert_file: \"{at}/cert.pem\", key_file: \"{at}/key.pem\" }}")
}

#[test]
fn subjects_of_nats_come_by_tls() {
    let (authorities, folder) = certified(NAME);
    let at = port::unused();
    let lines = format!(
        "allow_non_tls: true\nauthorization {{ user: u, password: a-secret }}\n{}",
        tls_of_nats(folder.path())
    );
    let _server = Nats::start_at(at, &lines);
    let source = HubSource {
        user: Some("u".to_owned()),
        password: Some("a-secret".to_owned()),
        ..source(HubSourceKind::Nats, at, &["news"])
    };
    let observed = only_who_is_known(&source, &authorities);
    let mut client = HubClient::open(observed.edge.address);
    client.subscribe("news");
    nats(at, "news", "1");
    expect_message(&mut client, "news", &json!(1));
    // No fallback to clear text for a server without TLS.
    let plain = port::unused();
    let _plain = Nats::start_at(plain, "");
    let wanting = HubSource {
        port: plain.port(),
        tls: Some(ServerTls::default()),
        ..source
    };
    observed.reload(&with_source(wanting)).unwrap();
    let message = observed.wait_for_message("is unavailable");
    assert!(message.contains("does not offer TLS"), "{message}");
}

#[test]
fn notifications_of_postgres_come_by_tls() {
    let (authorities, folder) = certified(NAME);
    // The server reads its key as another user, and must be its only reader.
    let key = folder.path().join("key.pem");
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    if std::fs::metadata(&key).unwrap().uid() == 0 {
        let owned = Command::new("chown").arg("postgres").arg(&key).status();
        assert!(owned.unwrap().success());
    }
    let at = folder.path().display();
    let lines = format!("ssl = on\nssl_cert_file = '{at}/cert.pem'\nssl_key_file = '{at}/key.pem'");
    let server = Postgres::start(&lines);
    server.execute("CREATE ROLE plimsoll LOGIN PASSWORD 'a-secret'");
    let database = "postgres".to_owned();
    let source = HubSource {
        user: Some("plimsoll".to_owned()),
        password: Some("a-secret".to_owned()),
        ..source(
            HubSourceKind::Postgres { database },
            server.address,
            &["odds"],
        )
    };
    let observed = only_who_is_known(&source, &authorities);
    let mut client = HubClient::open(observed.edge.address);
    client.subscribe("odds");
    server.execute("NOTIFY odds, '1'");
    expect_message(&mut client, "odds", &json!(1));
    let secure = server.execute(
        "SELECT 'secure' FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'plimsoll' AND ssl",
    );
    assert!(secure.contains("secure"), "{secure}");
    let source = HubSource {
        tls: Some(trusting(&authorities, NAME)),
        ..source
    };
    wait_for(&observed.edge, &of("connected", &source), 1.0);
}
