//! Encrypted clients, HTTP/2, and PROXY headers.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use plimsoll_config::edge::{Certificate, EdgeConfig, Network};
use tempfile::TempDir;

use crate::support::{Afloat, Scripted, connect, plain, pool, read_all, start, status_and_body};

fn certificate(folder: &TempDir, name: &str) -> Certificate {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let write = |ending: &str, content: String| -> PathBuf {
        let path = folder.path().join(format!("{name}.{ending}"));
        std::fs::write(&path, content).unwrap();
        path
    };
    Certificate {
        cert: write("pem", made.cert.pem()),
        key: write("key", made.signing_key.serialize_pem()),
    }
}

pub(crate) fn secure(mut edge: EdgeConfig, names: &[&str]) -> (Afloat, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    edge.listen[0].tls = names
        .iter()
        .map(|name| certificate(&folder, name))
        .collect();
    (start(&edge), folder)
}

pub(crate) fn curl(edge: &Afloat, host: &str, arguments: &[&str]) -> String {
    let port = edge.address.port();
    let output = Command::new("curl")
        .args(["-sS", "--max-time", "60", "-k", "--resolve"])
        .arg(format!("{host}:{port}:127.0.0.1"))
        .args(arguments)
        .output()
        .expect("curl is installed: apt-get install curl");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Echoes the received head, after reading a body of the announced length.
fn mirror() -> Scripted {
    Scripted::start(|mut connection| {
        while let Some(head) = connection.head() {
            let body = connection.body(&head).unwrap();
            let echo = format!("{head}{}", String::from_utf8_lossy(&body));
            connection.send(format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{echo}",
                echo.len()
            ));
        }
    })
}

#[test]
fn curl_speaks_both_versions_over_tls() {
    let server = mirror();
    let (edge, _folder) = secure(plain(pool(&[server.address])), &["a.example"]);
    let url = format!("https://a.example:{}/x?y=z", edge.address.port());
    for (flag, version) in [("--http1.1", "1.1"), ("--http2", "2")] {
        let response = curl(
            &edge,
            "a.example",
            &[flag, "-w", "|%{http_version}", "-b", "c=d", &url],
        );
        assert!(response.ends_with(&format!("|{version}")), "{response}");
        assert!(
            response.starts_with("GET /x?y=z HTTP/1.1\r\n"),
            "{response}"
        );
        let host = format!("ost: a.example:{}\r\n", edge.address.port());
        for line in [&host, "ookie: c=d\r\n", "X-Forwarded-Proto: https\r\n"] {
            assert!(response.contains(line), "{line} is not in {response}");
        }
        let response = curl(&edge, "a.example", &[flag, "-d", "hello", &url]);
        assert!(response.ends_with("\r\n\r\nhello"), "{response}");
        assert_eq!(
            curl(
                &edge,
                "a.example",
                &[flag, "-I", "-o", "/dev/null", "-w", "%{http_code}", &url]
            ),
            "200"
        );
    }
}

/// A server's body for a path: unique bytes and length.
fn bytes_of(number: usize) -> Vec<u8> {
    let byte = |at: usize| (at * 31 + number * 7 + at / 251) % 256;
    (0..300_000 + 1_001 * number)
        .map(|at| u8::try_from(byte(at)).unwrap())
        .collect()
}

/// Serves them, framed in one of several ways.
fn library() -> Scripted {
    Scripted::start(|mut connection| {
        while let Some(head) = connection.head() {
            let path = head.split(' ').nth(1).unwrap();
            let number: usize = path.trim_start_matches('/').parse().unwrap();
            let body = bytes_of(number);
            // One chunk, chunks of odd lengths, or no chunks.
            let piece = [body.len(), 4_093, 65_536][number % 3];
            if number % 4 == 3 {
                connection.send(format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
                    body.len()
                ));
                connection.send(&body);
                continue;
            }
            connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            for piece in body.chunks(piece) {
                let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
                chunk.extend_from_slice(piece);
                chunk.extend_from_slice(b"\r\n");
                connection.send(chunk);
            }
            connection.send("0\r\n\r\n");
        }
    })
}

/// Requests all streams at once on one connection and writes each to a file of its own.
///
/// Node, because it is third-party. Not curl: 7.88 sometimes waits forever when the last frame of a stream is empty,
/// whatever proxy sends it.
const MANY: &str = "
const [url, folder, count] = process.argv.slice(1);
const client = require('node:http2').connect(url, { rejectUnauthorized: false });
const one = (number) => new Promise((resolve, reject) => {
  const pieces = [];
  const stream = client.request({ ':path': `/${number}` });
  stream.on('data', (piece) => pieces.push(piece));
  stream.on('error', reject);
  stream.on('end', () => {
    require('node:fs').writeFileSync(`${folder}/${number}`, Buffer.concat(pieces));
    resolve();
  });
});
Promise.all(Array.from({ length: Number(count) }, (_, number) => one(number))).then(() => client.close());
";

#[test]
fn many_streams_share_a_connection_and_keep_their_bytes_apart() {
    let server = library();
    let (edge, folder) = secure(plain(pool(&[server.address])), &["a.example"]);
    let url = format!("https://127.0.0.1:{}", edge.address.port());
    for _ in 0..3 {
        let output = Command::new("node")
            .args(["-e", MANY, &url])
            .arg(folder.path())
            .arg("60")
            .output()
            .expect("node is installed: apt-get install nodejs");
        assert!(output.status.success(), "{output:?}");
        for number in 0..60 {
            let got = std::fs::read(folder.path().join(number.to_string())).unwrap();
            let expected = bytes_of(number);
            let differs = got
                .iter()
                .zip(&expected)
                .position(|(actual, other)| actual != other);
            assert!(
                got == expected,
                "stream {number}: {} bytes instead of {}, first difference at {differs:?}",
                got.len(),
                expected.len()
            );
        }
    }
}

#[test]
fn each_name_has_its_certificate() {
    let server = mirror();
    let (edge, folder) = secure(plain(pool(&[server.address])), &["a.example", "b.example"]);
    for (name, shown) in [
        ("a.example", "a.example"),
        ("b.example", "b.example"),
        ("c.example", "a.example"),
    ] {
        let url = format!("https://{name}:{}/", edge.address.port());
        // A self-signed certificate is its own authority: curl accepts it for the names in it.
        let ca = folder.path().join(format!("{shown}.pem"));
        let strict = Command::new("curl")
            .args(["-sS", "-o", "/dev/null", "--cacert"])
            .arg(ca)
            .args([
                "--resolve",
                &format!("{name}:{}:127.0.0.1", edge.address.port()),
                &url,
            ])
            .status()
            .unwrap();
        assert_eq!(strict.success(), name == shown, "{name}");
    }
}

#[test]
fn a_key_that_is_not_the_certificates_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (first, other) = (
        certificate(&folder, "a.example"),
        certificate(&folder, "b.example"),
    );
    let mut edge = plain(pool(&["127.0.0.1:1".parse().unwrap()]));
    let mut refused = |cert: &PathBuf, key: &PathBuf| {
        edge.listen[0].tls = vec![Certificate {
            cert: cert.clone(),
            key: key.clone(),
        }];
        match plimsoll_edge::start(&edge, plimsoll_edge::Hooks::none()) {
            Err(plimsoll_edge::EdgeError::Tls(error)) => error.to_string(),
            _ => panic!("it started"),
        }
    };
    assert!(refused(&first.cert, &other.key).contains("b.example.key"));
    assert!(refused(&first.cert, &folder.path().join("none.key")).contains("none.key"));
    assert!(refused(&first.key, &first.key).contains("holds no certificate"));
}

#[test]
fn a_trusted_proxy_says_whom_it_speaks_for() {
    let server = mirror();
    let mut edge = plain(pool(&[server.address]));
    edge.listen[0].proxy_protocol = true;
    edge.trusted = vec![Network::parse("127.0.0.0/8").unwrap()];
    let edge = start(&edge);
    let request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let response_to = |start: &[u8]| {
        let mut stream = connect(edge.address);
        let _ = stream.write_all(&[start, request.as_bytes()].concat());
        read_all(&mut stream)
    };
    let text = response_to(b"PROXY TCP4 192.0.2.7 192.0.2.1 5000 80\r\n");
    assert!(text.contains("X-Forwarded-For: 192.0.2.7\r\n"), "{text}");
    let binary = response_to(
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c\xc0\x00\x02\x08\xc0\x00\x02\x01\x13\x88\x00\x50",
    );
    assert!(
        binary.contains("X-Forwarded-For: 192.0.2.8\r\n"),
        "{binary}"
    );
    assert_eq!(response_to(b""), "");
    assert_eq!(response_to(b"PROXY nonsense\r\n"), "");
}

#[test]
fn a_trusted_peer_is_believed_and_its_client_counted() {
    let server = mirror();
    let mut edge = plain(pool(&[server.address]));
    edge.trusted = vec![Network::parse("127.0.0.1").unwrap()];
    edge.routes[0].rate = Some(plimsoll_config::edge::Rate {
        per_second: 0.001,
        burst: 1,
    });
    let edge = start(&edge);
    let fetch_as = |client: &str| {
        let request = format!(
            "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 6.6.6.6, {client}\r\nConnection: close\r\n\r\n"
        );
        crate::support::send_request(edge.address, request)
    };
    let response = fetch_as("192.0.2.7");
    assert!(
        response.contains("X-Forwarded-For: 6.6.6.6, 192.0.2.7, 127.0.0.1\r\n"),
        "{response}"
    );
    let again = fetch_as("192.0.2.7");
    assert_eq!(status_and_body(&again).0, 429);
    assert!(again.contains("X-Plimsoll: rate-limited\r\n"));
    assert_eq!(status_and_body(&fetch_as("192.0.2.8")).0, 200);
}
