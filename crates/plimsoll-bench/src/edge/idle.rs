//! Memory of idle client connections.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Result, ensure};
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::sample::Sample;
use plimsoll_harness::template::Values;

use crate::bench::Bench;

/// Clients that come before, so that what the program keeps once is not charged to the others.
const FIRST: usize = 100;
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn measure(bench: &Bench, chapter: &Chapter, edge: &str) -> Result<Sample> {
    let origin = bench.start("kilobyte", bench.client_core, &Values::default())?;
    let server = super::start(bench, chapter, edge, origin.port(), &Values::default())?;
    let count: usize = chapter.number("clients")?;
    let mut clients = (0..FIRST)
        .map(|_| client(server.port()))
        .collect::<Result<Vec<_>>>()?;
    let before = server.resident()?;
    for _ in 0..count {
        clients.push(client(server.port())?);
    }
    let grown = server.resident()?.saturating_sub(before);
    let open = clients.iter().filter(|client| is_open(client)).count();
    ensure!(
        open == clients.len(),
        "only {open} of {} clients are still connected",
        clients.len()
    );
    Ok(Sample::default().with("kib", grown as f64 / count as f64 / 1_024.0))
}

/// A client that has been served once.
fn client(port: u16) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")?;
    let mut answer = Vec::new();
    let mut piece = [0; 4_096];
    while !answer.ends_with(b"xxxx") {
        let count = stream.read(&mut piece)?;
        ensure!(
            count > 0,
            "the answer ends early: {}",
            String::from_utf8_lossy(&answer)
        );
        answer.extend_from_slice(&piece[..count]);
    }
    Ok(stream)
}

fn is_open(client: &TcpStream) -> bool {
    let peeked = client
        .set_nonblocking(true)
        .and_then(|()| client.peek(&mut [0]));
    peeked.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}
