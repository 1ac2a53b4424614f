//! Attacks on TLS: old versions, weak ciphers, renegotiation, early data, handshakes that never end. By `openssl` where it
//! supports them.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::process::{AttackedEdge, KIB, MIB, PATIENCE, SLOW, ScriptedOrigin, connect, get, now};
use crate::support::Sandbox;

/// Writes a certificate for `a.example`, and its key; where they are.
pub(super) fn certificate(place: &Sandbox) -> (String, String) {
    let made = rcgen::generate_simple_self_signed(["a.example".to_owned()]).unwrap();
    let write = |name: &str, text: String| {
        let path = place.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    (
        write("cert.pem", made.cert.pem()),
        write("key.pem", made.signing_key.serialize_pem()),
    )
}

/// An edge that listens without encryption, and with it.
fn start(origin: &ScriptedOrigin) -> AttackedEdge {
    let place = Sandbox::new();
    let (cert, key) = certificate(&place);
    let configuration = format!(
        "listen:\n  - 127.0.0.1:0\n  - {{ address: \"127.0.0.2:0\", tls: [ {{ cert: {cert}, key: {key} }} ] }}\n{}\
         limits: {{ head_timeout: {SLOW}, idle_timeout: {SLOW}, memory: 64MiB }}\n",
        origin.pool()
    );
    AttackedEdge::start(place, &configuration)
}

/// Output of `openssl s_client` with this input, whether or not the edge closes the connection.
fn openssl(address: SocketAddr, arguments: &[&str], input: &str) -> String {
    let mut child = Command::new("openssl")
        .args(["s_client", "-servername", "a.example", "-connect"])
        .arg(address.to_string())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("openssl is installed: apt-get install openssl");
    let mut stdin = child.stdin.take().unwrap();
    let _ = stdin.write_all(input.as_bytes());
    // Its input stays open: it ends when the edge ends the connection.
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    let bytes = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&bytes).into_owned()
}

const LAST: &str = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

#[test]
fn old_versions_and_weak_ciphers_get_no_handshake() {
    let origin = ScriptedOrigin::start(|_, _| None);
    let edge = start(&origin);
    let address = edge.addresses[1];
    // What is spoken, so that a refusal is the edge's and not the client's.
    for version in ["-tls1_2", "-tls1_3"] {
        let output = openssl(address, &[version, "-quiet"], LAST);
        assert!(output.contains("HTTP/1.1 200 OK"), "{version}: {output}");
    }
    let honest = origin.heads();
    assert_eq!(honest, 2);
    for version in ["-tls1", "-tls1_1"] {
        let output = openssl(address, &[version, "-cipher", "ALL:@SECLEVEL=0"], LAST);
        let is_refused = ["alert protocol version", "alert handshake failure"];
        assert!(
            is_refused.iter().any(|alert| output.contains(alert)),
            "{version}: {output}"
        );
        assert!(output.contains("Cipher is (NONE)"), "{version}: {output}");
    }
    for ciphers in [
        "AES128-SHA:AES256-GCM-SHA384",
        "ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA384",
        "eNULL:aNULL:@SECLEVEL=0",
    ] {
        let output = openssl(address, &["-tls1_2", "-cipher", ciphers], LAST);
        assert!(
            output.contains("alert handshake failure"),
            "{ciphers}: {output}"
        );
    }
    // SSL 3.0 and 2.0, which no client speaks any more, by hand: a hello, answered by an alert or nothing.
    let mut ssl3 = b"\x16\x03\x00\x00\x2d\x01\x00\x00\x29\x03\x00".to_vec();
    ssl3.extend_from_slice(&[7; 32]);
    ssl3.extend_from_slice(&[0, 0, 2, 0, 0x2f, 1, 0]);
    let ssl2 = b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10\x07\x00\xc0".to_vec();
    for hello in [ssl3, ssl2] {
        let answer = send_raw(address, &hello);
        assert!(answer.is_empty() || answer[0] == 0x15, "{answer:?}");
    }
    assert_eq!(origin.heads(), honest);
    edge.serves(5);
}

/// The response to bytes on a new connection, to its end.
fn send_raw(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(address);
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

#[test]
fn nobody_renegotiates_and_nothing_comes_early() {
    let origin = ScriptedOrigin::start(|_, _| None);
    let edge = start(&origin);
    let address = edge.addresses[1];
    // `R` asks `s_client` to renegotiate.
    let output = openssl(address, &["-tls1_2"], "R\n");
    assert!(output.contains("RENEGOTIATING"), "{output}");
    // Refused by a warning that waits for the next answer, which never comes: the connection has its time-out.
    let is_refused = ["no renegotiation", "unexpected eof"];
    assert!(
        is_refused.iter().any(|alert| output.contains(alert)),
        "{output}"
    );
    // A ticket for later, which allows no early data; and a client that would send some all the same.
    let ticket = edge.place.path().join("ticket");
    let early = edge.place.path().join("early");
    std::fs::write(&early, LAST).unwrap();
    let (ticket, early) = (ticket.to_str().unwrap(), early.to_str().unwrap());
    let output = openssl(address, &["-tls1_3", "-sess_out", ticket, "-ign_eof"], LAST);
    assert!(output.contains("Max Early Data: 0"), "{output}");
    let before = origin.heads();
    let arguments = ["-tls1_3", "-sess_in", ticket, "-early_data", early];
    let output = openssl(address, &arguments, "Q\n");
    assert!(!output.contains("Early data was accepted"), "{output}");
    assert_eq!(origin.heads(), before, "a request came early");
}

/// The hello of a client of our own, as bytes.
fn hello() -> Vec<u8> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from("a.example").unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).unwrap();
    bytes
}

/// A record of the handshake.
fn record(content: &[u8]) -> Vec<u8> {
    let len = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&[0x16, 3, 1, len[0], len[1]], content].concat()
}

/// The beginning of a hello of 64 KiB less one, in records as long as they may be.
fn endless() -> Vec<u8> {
    let mut content = vec![1, 0, 0xff, 0xfb, 3, 3];
    content.resize(0xffff, 0);
    content.chunks(16_000).flat_map(record).collect()
}

#[test]
fn handshakes_in_pieces_are_whole_or_end() {
    let origin = ScriptedOrigin::start(|_, _| None);
    let edge = start(&origin);
    let address = edge.addresses[1];
    // An honest hello in records of a few bytes is understood, or ends the connection: never more than that.
    let hello = hello();
    for len in [1, 7, 100] {
        let pieces: Vec<u8> = hello[5..].chunks(len).flat_map(record).collect();
        let answer = send_raw(address, &pieces);
        assert!(
            answer.is_empty() || matches!(answer[0], 0x16 | 0x15),
            "{answer:?}"
        );
    }
    let whole = send_raw(address, &hello);
    assert_eq!(whole[0], 0x16, "the hello is none");
    // No HTTP where TLS is spoken, and the other way round.
    let plain = send_raw(address, LAST.as_bytes());
    assert!(plain.is_empty() || plain[0] == 0x15, "{plain:?}");
    let other = send_raw(edge.address(), &hello);
    assert!(other.starts_with(b"HTTP/1.1 400 "), "{other:?}");
    // Empty records, alerts, and records of kinds that there are not.
    for kind in [0x14, 0x15, 0x16, 0x17, 0x18, 0xff] {
        let empty = [kind, 3, 1, 0, 0].repeat(10_000);
        let answer = send_raw(address, &empty);
        assert!(answer.is_empty() || answer[0] == 0x15, "{kind}: {answer:?}");
    }
    assert_eq!(origin.heads(), 0);
    edge.serves(5);
}

#[test]
fn a_flood_of_handshakes_is_bounded_in_memory_and_time() {
    const CLIENTS: u64 = 300;
    /// The 16 KiB that a hello may have, and what goes with them.
    const EACH_MAX: u64 = 48 * KIB;
    let origin = ScriptedOrigin::start(|_, _| None);
    let edge = start(&origin);
    let address = edge.addresses[1];
    edge.serves(20);
    let (memory, began) = (edge.memory(), now());
    let endless = endless();
    // Some go on beyond what a hello may have, the others stop just before.
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let mut stream = connect(address);
            let len = if number % 2 == 0 {
                endless.len()
            } else {
                15_000
            };
            let _ = stream.write_all(&endless[..len]);
            stream
        })
        .collect();
    let output = openssl(address, &["-tls1_3", "-quiet"], LAST);
    assert!(output.contains("HTTP/1.1 200 OK"), "{output}");
    edge.serves(20);
    for mut stream in clients {
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let is_late = read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
        assert!(!is_late, "a handshake stays for {:?}", began.elapsed());
        assert!(answer.is_empty() || answer[0] == 0x15, "{answer:?}");
    }
    assert!(began.elapsed() < PATIENCE);
    let grown = edge.memory_peak().saturating_sub(memory);
    assert!(
        grown <= CLIENTS * EACH_MAX,
        "{} bytes each",
        grown / CLIENTS
    );
    assert!(edge.metric("plimsoll_edge_connections_turned_away_total") >= CLIENTS as f64);
}

/// Records that never become whole count into the memory of the loop: when it is full, others are shed and it is not
/// exceeded.
#[test]
fn records_that_stay_halves_count_as_memory() {
    const CLIENTS: usize = 200;
    let origin = ScriptedOrigin::start(|_, _| None);
    let place = Sandbox::new();
    let (cert, key) = certificate(&place);
    let configuration = format!(
        "listen:\n  - 127.0.0.1:0\n  - {{ address: \"127.0.0.2:0\", tls: [ {{ cert: {cert}, key: {key} }} ] }}\n{}\
         limits: {{ head_timeout: 10m, idle_timeout: 10m, memory: 1MiB }}\n",
        origin.pool()
    );
    let edge = AttackedEdge::start(place, &configuration);
    let endless = endless();
    let memory = edge.memory();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let mut stream = connect(edge.addresses[1]);
            let _ = stream.write_all(&endless[..15_000]);
            stream
        })
        .collect();
    let began = now();
    loop {
        let answer = get(edge.address(), "/");
        if answer.starts_with(b"HTTP/1.1 503 ") {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "they count as nothing");
    }
    let grown = edge.memory_peak().saturating_sub(memory);
    assert!(grown <= 16 * MIB, "{grown} bytes");
    drop(clients);
    // When they have left, there is room again.
    while !get(edge.address(), "/").starts_with(b"HTTP/1.1 200 ") {
        assert!(began.elapsed() < PATIENCE, "there is no room again");
    }
}
