//! Decompression bombs: the edge decompresses only bodies that it parses, and at most as many bytes as it would parse.

use std::io::Write as _;

use super::process::{
    AttackedEdge, MIB, PATIENCE, ScriptedOrigin, answer, connect, exchange, get, now,
};
use crate::support::Sandbox;

/// Unpacked size of each bomb.
const UNPACKED_LEN: usize = 128 << 20;
/// The longest page that is parsed.
const INSPECTED_MAX: &str = "1MiB";

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(4));
    packer.write_all(content).unwrap();
    packer.finish().unwrap()
}

fn zeros(to: &mut impl std::io::Write) {
    let piece = vec![0; 1 << 20];
    for _ in 0..UNPACKED_LEN / piece.len() {
        to.write_all(&piece).unwrap();
    }
}

/// Bodies with their coding.
fn bombs() -> Vec<(&'static str, Vec<u8>)> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(4));
    zeros(&mut packer);
    let flat = packer.finish().unwrap();
    let mut brotli = Vec::new();
    let mut packer = brotli::CompressorWriter::new(&mut brotli, 4096, 2, 24);
    zeros(&mut packer);
    drop(packer);
    let mut packer = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    packer.window_log(27).unwrap();
    zeros(&mut packer);
    let zstd = packer.finish().unwrap();
    // A member of nothing, tens of thousands of times.
    let members = gzip(b"").repeat(40_000);
    vec![
        ("gzip", gzip(&flat)),
        ("gzip", flat),
        ("br", brotli),
        ("zstd", zstd),
        ("gzip", members),
    ]
}

fn body_of(answer: &[u8]) -> &[u8] {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    &answer[end.unwrap() + 4..]
}

/// Pages with fragments, and pages learned as the fallback: both are decompressed.
#[test]
fn bombs_of_the_origin_go_on_as_they_came() {
    let bombs = bombs();
    let count = bombs.len();
    let kept = bombs.clone();
    let origin = ScriptedOrigin::start(move |head, stream| {
        let path = head.split(' ').nth(1).unwrap();
        let number: usize = path
            .strip_prefix("/bomb/")?
            .split('?')
            .next()?
            .parse()
            .ok()?;
        let (coding, body) = &kept[number];
        let lines = format!(
            "Content-Type: text/html\r\nContent-Encoding: {coding}\r\nX-Shell: /bomb/*\r\nCache-Control: no-store\r\n"
        );
        Some(stream.write_all(&answer(&lines, body)).is_ok())
    });
    let configuration = format!(
        "listen: 127.0.0.1:0\npools: {{ app: {{ servers: [\"http://{}\"], max_in_flight: 10000 }} }}\n\
         routes:\n  - {{ pool: app, fragments: {{ size: {INSPECTED_MAX} }}, \
         fallback: {{ header: X-Shell, size: {INSPECTED_MAX}, every: 1ms }} }}\n",
        origin.address
    );
    let edge = AttackedEdge::start(Sandbox::new(), &configuration);
    edge.serves(20);
    let (memory, address) = (edge.memory(), edge.address());
    let began = now();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4 * count)
            .map(|number| {
                let expected = &bombs[number % count].1;
                scope.spawn(move || {
                    let path = format!("/bomb/{}?{number}", number % count);
                    let answer = get(address, &path);
                    assert!(answer.starts_with(b"HTTP/1.1 200 "), "{path}");
                    assert!(body_of(&answer) == expected, "{path} is not what came");
                })
            })
            .collect();
        edge.serves(10);
        for client in clients {
            client.join().unwrap();
        }
    });
    assert!(began.elapsed() < PATIENCE);
    // Each is gathered (up to 1 MiB) and unpacked (up to 1 MiB more); the windows of the decoders come on top.
    let grown = edge.memory_peak().saturating_sub(memory);
    assert!(grown <= 64 * MIB, "{grown} bytes");
}

/// Compressed bodies of clients are forwarded unchanged.
#[test]
fn bombs_of_clients_are_never_unpacked() {
    let bombs = bombs();
    let origin = ScriptedOrigin::start(|head, stream| {
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length").then_some(value)
        });
        let mut body = vec![0; length?.parse().ok()?];
        std::io::Read::read_exact(stream, &mut body).ok()?;
        Some(stream.write_all(&answer("", &body)).is_ok())
    });
    let configuration = format!("listen: 127.0.0.1:0\n{}", origin.pool());
    let edge = AttackedEdge::start(Sandbox::new(), &configuration);
    edge.serves(20);
    let memory = edge.memory();
    for (coding, body) in &bombs {
        let mut stream = connect(edge.address());
        let head = format!(
            "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        let mut answer = Vec::new();
        std::io::Read::read_to_end(&mut stream, &mut answer).unwrap();
        assert!(body_of(&answer) == body, "{coding}: not what was sent");
    }
    // A body that is to be unpacked on the way is refused, never unpacked.
    let request = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n";
    assert!(exchange(edge.address(), request).starts_with(b"HTTP/1.1 501 "));
    let grown = edge.memory_peak().saturating_sub(memory);
    assert!(grown <= 8 * MIB, "{grown} bytes");
}
