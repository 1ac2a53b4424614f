//! Servers by HTTPS: a real nginx, certificates of a test authority.

use std::io::Write as _;
use std::net::SocketAddr;

use plimsoll_config::edge::{
    Authorities, Check, EdgeConfig, PoolConfig, ServerConfig, ServerTls, Timeouts,
};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

use crate::programs::{NginxOrigin, curl};
use crate::support::{
    ObservedEdge, PATIENCE, Scripted, ScriptedConnection, connect, get, plain, pool, read_until,
    start, status_and_body,
};

/// Reports nginx's view of the connection.
const ABOUT: &str = "location = /about { return 200 \
    \"$ssl_server_name|$ssl_alpn_protocol|$ssl_protocol|$connection|$connection_requests|$http_host\"; }";

/// An authority, and a folder with a certificate of `name` that it signed.
pub(crate) fn certified(name: &str) -> (Authorities, TempDir) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new([name.to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cert.pem"), certificate.pem()).unwrap();
    std::fs::write(folder.path().join("key.pem"), key.serialize_pem()).unwrap();
    let authorities = Authorities {
        name: "ca.pem".to_owned(),
        pem: authority.pem().into_bytes(),
    };
    (authorities, folder)
}

/// An nginx that speaks TLS with the certificate in its folder.
fn nginx(folder: TempDir, locations: &str) -> NginxOrigin {
    let at = folder.path().display().to_string();
    let certificate = format!(
        "ssl_certificate {at}/cert.pem; ssl_certificate_key {at}/key.pem; ssl_protocols TLSv1.2 TLSv1.3;"
    );
    NginxOrigin::in_folder(folder, "ssl", &format!("{certificate} {locations}"))
}

fn secure(address: SocketAddr, tls: ServerTls) -> EdgeConfig {
    let pool = pool(&[address]);
    plain(PoolConfig {
        servers: vec![ServerConfig {
            tls: true,
            ..ServerConfig::at(address)
        }],
        tls,
        timeouts: Timeouts {
            // The handshake is within it, and nginx may stand still.
            connect: PATIENCE,
            ..pool.timeouts
        },
        ..pool
    })
}

fn trusting(authorities: &Authorities, name: &str) -> ServerTls {
    ServerTls {
        authorities: Some(authorities.clone()),
        name: Some(name.to_owned()),
        insecure: false,
    }
}

#[test]
fn what_nginx_has_comes_by_https_and_connections_are_kept() {
    let (authorities, folder) = certified("app.example");
    let lines: Vec<String> = (0..400_000).map(|line| line.to_string()).collect();
    let big = lines.join("\n");
    std::fs::write(folder.path().join("big"), &big).unwrap();
    let nginx = nginx(
        folder,
        &format!(
            "{ABOUT} location = /gzip {{ gzip on; gzip_min_length 1; gzip_types *; try_files /big =404; }}"
        ),
    );
    let edge = start(&secure(
        nginx.address,
        trusting(&authorities, "app.example"),
    ));
    let about = |path: &str| {
        let response = get(edge.address, path);
        assert_eq!(status_and_body(&response).0, 200, "{response}");
        let fields = status_and_body(&response).1.split('|').map(str::to_owned);
        fields.collect::<Vec<String>>()
    };
    let first = about("/about");
    assert_eq!(first[..3], ["app.example", "http/1.1", "TLSv1.3"]);
    assert_eq!(first[4..], ["1", "a.example"]);
    for number in 2..6 {
        let next = about("/about");
        assert_eq!((&next[3], &next[4]), (&first[3], &number.to_string()));
    }
    let url = |path: &str| format!("http://{}{path}", edge.address);
    assert!(curl(&[&url("/big")]) == big);
    assert!(curl(&["--compressed", &url("/gzip")]) == big);
    assert_eq!(curl(&["-r", "0-3", &url("/big")]), big[..4]);
    let urls: Vec<String> = (0..20)
        .map(|number| url(&format!("/big?{number}")))
        .collect();
    let mut arguments = vec!["-Z", "--parallel-max", "20"];
    arguments.extend(urls.iter().map(String::as_str));
    assert_eq!(curl(&arguments).len(), 20 * big.len());
}

/// Reports the length of each request's body; performs the WebSocket handshake and then echoes.
fn counting(mut connection: ScriptedConnection) {
    while let Some(head) = connection.head() {
        if head.to_ascii_lowercase().contains("upgrade: websocket") {
            connection.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n");
            let mut piece = vec![0; 65536];
            while let Ok(count @ 1..) = std::io::Read::read(&mut connection.stream, &mut piece) {
                connection.send(&piece[..count]);
            }
            return;
        }
        let body = connection.body(&head).unwrap();
        let text = format!("{} bytes", body.len());
        connection.send(format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}",
            text.len()
        ));
    }
}

#[test]
fn bodies_and_tunnels_go_up_encrypted() {
    let behind = Scripted::start(counting);
    let (authorities, folder) = certified("app.example");
    let nginx = nginx(
        folder,
        &format!(
            "client_max_body_size 0; location / {{ proxy_pass http://{}; proxy_http_version 1.1; \
             proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $http_connection; }}",
            behind.address
        ),
    );
    let edge = start(&secure(
        nginx.address,
        trusting(&authorities, "app.example"),
    ));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("body");
    std::fs::write(&file, vec![b'x'; 8_000_000]).unwrap();
    let url = format!("http://{}/", edge.address);
    let body = format!("@{}", file.display());
    for _ in 0..3 {
        assert_eq!(curl(&["--data-binary", &body, &url]), "8000000 bytes");
        assert_eq!(curl(&["-d", "hello", &url]), "5 bytes");
    }
    let mut stream = connect(edge.address);
    stream
        .write_all(
            b"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        )
        .unwrap();
    read_until(&mut stream, "\r\n\r\n");
    let piece = format!("{}end{}", "y".repeat(200_000), "z".repeat(200_000));
    let (mut writer, text) = (stream.try_clone().unwrap(), format!("{piece}!"));
    let writing = std::thread::spawn(move || writer.write_all(text.as_bytes()).unwrap());
    assert!(read_until(&mut stream, "!") == format!("{piece}!"));
    writing.join().unwrap();
}

#[test]
fn who_is_not_vouched_for_gets_no_requests_and_it_is_said() {
    let (authorities, folder) = certified("app.example");
    let nginx = nginx(folder, ABOUT);
    let others = certified("app.example").0;
    for tls in [
        trusting(&authorities, "other.example"),
        trusting(&others, "app.example"),
        ServerTls::default(),
    ] {
        let observed = ObservedEdge::start(&secure(nginx.address, tls));
        let response = get(observed.edge.address, "/about");
        assert_eq!(status_and_body(&response).0, 502, "{response}");
        let message = observed.wait_for_message("its certificate is not accepted");
        assert!(
            message.contains(&nginx.address.to_string()) && message.contains("insecure"),
            "{message}"
        );
    }
    let insecure = ServerTls {
        insecure: true,
        ..ServerTls::default()
    };
    let observed = ObservedEdge::start(&secure(nginx.address, insecure.clone()));
    observed.wait_for_message("warning: the certificates of the pool `app` are NOT checked");
    assert_eq!(
        status_and_body(&get(observed.edge.address, "/about")).0,
        200
    );
    // A reload that enables verification opens new connections; unverified ones are not reused.
    let checked = secure(nginx.address, trusting(&others, "app.example"));
    observed.reload(&checked).unwrap();
    observed.wait_for_message("the new configuration is in use");
    observed.answers_with(502);
}

#[test]
fn a_server_without_encryption_is_named() {
    let server = Scripted::start(|mut connection| {
        connection.send("HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n");
        while let Ok(1..) = std::io::Read::read(&mut connection.stream, &mut [0; 1024]) {}
    });
    let observed = ObservedEdge::start(&secure(server.address, ServerTls::default()));
    assert_eq!(status_and_body(&get(observed.edge.address, "/")).0, 502);
    assert!(
        observed
            .wait_for_message("TLS handshake failed")
            .contains("HTTPS")
    );
}

#[test]
fn authorities_that_are_none_do_not_start() {
    for (pem, expected) in [
        (&b"nothing"[..], "no certificate found"),
        (
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "cannot use",
        ),
    ] {
        let tls = ServerTls {
            authorities: Some(Authorities {
                name: "ca.pem".to_owned(),
                pem: pem.to_vec(),
            }),
            ..ServerTls::default()
        };
        let edge = secure(SocketAddr::from(([127, 0, 0, 1], 1)), tls);
        let refused = plimsoll_edge::start(&edge, plimsoll_edge::Hooks::none())
            .err()
            .unwrap();
        let why = std::error::Error::source(&refused).unwrap().to_string();
        assert!(why.contains("ca.pem") && why.contains(expected), "{why}");
    }
}

#[test]
fn checks_are_encrypted_too() {
    let (authorities, folder) = certified("app.example");
    let nginx = nginx(
        folder,
        "location = /health { return 200 ok; } location = / { return 200 page; }",
    );
    let mut edge = secure(nginx.address, trusting(&authorities, "app.example"));
    edge.pools[0].check = Some(Check {
        path: Some("/health".to_owned()),
        every: std::time::Duration::from_millis(50),
        timeout: PATIENCE,
        fall: 1,
        rise: 1,
    });
    let observed = ObservedEdge::start(&edge);
    assert_eq!(
        status_and_body(&get(observed.edge.address, "/")),
        (200, "page")
    );
    drop(nginx);
    observed.wait_for_message("fails its health checks");
}

#[test]
fn an_answer_without_a_length_that_is_reset_is_not_taken_for_whole() {
    let server = Scripted::start(|mut connection| {
        connection.head();
        connection.send("HTTP/1.0 200 OK\r\n\r\nthe first half");
        // The client has received it: only the reset follows.
        let mut byte = [0];
        let _ = std::io::Read::read(&mut connection.stream, &mut byte);
        let socket = socket2::Socket::from(connection.stream);
        socket.set_linger(Some(std::time::Duration::ZERO)).unwrap();
    });
    let edge = start(&plain(pool(&[server.address])));
    let mut stream = connect(edge.address);
    stream
        .write_all(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        .unwrap();
    read_until(&mut stream, "the first half\r\n");
    // More of the request's body makes the server continue, and reset.
    stream.write_all(b"1\r\nx\r\n").unwrap();
    assert_eq!(crate::support::read_all(&mut stream), "");
}
