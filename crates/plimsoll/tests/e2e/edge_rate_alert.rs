//! Rate alerts over TLS: the webhook is called if its certificate is trusted, otherwise the reason is reported.

use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use crate::edge::{RunningEdge, get, origin, wait_until};
use crate::received;
use crate::support::Sandbox;

/// Maximum number of polls, 2 ms apart, before a test fails.
const POLLS_MAX: u32 = 10_000;

/// A server with a certificate for `localhost` of an authority that is written to a file; what is posted comes out.
fn receiver(authority_file: &Path) -> (SocketAddr, Receiver<(String, Value)>) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap();
    std::fs::write(authority_file, authority.pem()).unwrap();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key);
    let config = Arc::new(config.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, taken) = sync_channel(100);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, sender) = (Arc::clone(&config), sender.clone());
            std::thread::spawn(move || take(stream, config, &sender));
        }
    });
    (address, taken)
}

/// Takes one post; `None` when there was none, as from a client that does not trust the certificate.
fn take(
    stream: TcpStream,
    config: Arc<ServerConfig>,
    sender: &SyncSender<(String, Value)>,
) -> Option<()> {
    let connection = ServerConnection::new(config).ok()?;
    let mut stream = BufReader::new(StreamOwned::new(connection, stream));
    let (head, body) = received::request(&mut stream)?;
    let stream = stream.get_mut();
    stream
        .write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        .ok()?;
    stream.flush().ok()?;
    sender
        .send((head, serde_json::from_slice(&body).ok()?))
        .ok()
}

/// Whether an edge has counted so often that it knows which rates are usual.
fn has_usual_range(edge: &RunningEdge) -> bool {
    let metrics = get(edge.admin, "/metrics");
    let histories = metrics
        .lines()
        .filter(|line| line.starts_with("plimsoll_edge_rate_alarm_history{"));
    let counts: Vec<u32> = histories
        .filter_map(|line| line.rsplit(' ').next()?.parse().ok())
        .collect();
    !counts.is_empty() && counts.iter().all(|&count| count >= 5)
}

#[test]
fn a_webhook_is_called_over_tls_by_an_edge_that_trusts_it() {
    let place = Sandbox::new();
    let authority = place.path().join("ca.pem");
    let (webhook, taken) = receiver(&authority);
    let port = webhook.port();
    // Two requests in each of two periods are a surge, however slow the machine is.
    let configure = |name: &str| {
        let text = format!(
            "cores: 1\nadmin: 127.0.0.1:0\naccess_log: off\npools: {{ app: {{ servers: [\"http://{}\"] }} }}\n\
             alarm: {{ webhook: \"https://localhost:{port}/{name}\", every: 100ms, history: 600, factor: 1, least: 1/s }}\n",
            origin()
        );
        std::fs::write(place.path().join(format!("{name}.yaml")), text).unwrap();
    };
    configure("trusting");
    configure("doubting");
    // Whom a program trusts besides the system's roots is said as OpenSSL has it said.
    let arguments = ["--config", "trusting.yaml"];
    let trusting = RunningEdge::start_with(&place, &arguments, |command| {
        command.env("SSL_CERT_FILE", &authority);
    });
    let arguments = ["--config", "doubting.yaml"];
    let mut doubting = RunningEdge::start_with(&place, &arguments, |command| {
        command
            .env_remove("SSL_CERT_FILE")
            .env_remove("SSL_CERT_DIR");
    });
    for edge in [&trusting, &doubting] {
        wait_until("five counts of nothing are usual", || has_usual_range(edge));
    }
    assert_eq!(taken.try_recv(), Err(TryRecvError::Empty), "quiet is usual");
    let alert = (0..POLLS_MAX).find_map(|_| {
        for edge in [&trusting, &doubting] {
            assert!(get(edge.address, "/").ends_with("ok"));
        }
        taken.recv_timeout(Duration::from_millis(2)).ok()
    });
    let (head, event) = alert.expect("a surge is told");
    assert!(head.starts_with("POST /trusting HTTP/1.1\r\n"), "{head}");
    assert_eq!(
        (&event["event"], &event["direction"]),
        (&"raised".into(), &"above".into())
    );
    // The other may have counted what was too little for one more second: it is asked until it has told.
    let address = doubting.address;
    let (end, has_ended) = sync_channel::<()>(0);
    let client = std::thread::spawn(move || {
        while has_ended.try_recv() == Err(TryRecvError::Empty) {
            get(address, "/");
        }
    });
    let line = doubting.wait_for_line("the webhook did not accept an alert");
    drop(end);
    client.join().unwrap();
    assert!(line.contains("UnknownIssuer"), "{line}");
    let of_the_other = taken
        .try_iter()
        .find(|(head, _)| head.contains("/doubting"));
    assert!(of_the_other.is_none(), "{of_the_other:?}");
    assert_eq!(trusting.end().code(), Some(0));
}
