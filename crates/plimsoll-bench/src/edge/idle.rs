//! Memory of idle client connections.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::edges::{ClientTransport, EdgeKind, EdgeOptions, EdgePrograms};
use crate::context::BenchContext;
use crate::server::{BenchServer, kilobyte};

pub(super) const CLIENTS: usize = 10_000;
/// Clients that come before, so that what the program keeps once is not charged to the others.
const FIRST: usize = 100;
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of the edge's memory per idle client.
pub(super) struct IdleMemory {
    pub(super) edge: EdgeKind,
    pub(super) bytes_per_client: Result<f64>,
}

pub(super) fn run(ground: &BenchContext, programs: &EdgePrograms) -> Vec<IdleMemory> {
    [EdgeKind::Plimsoll, EdgeKind::Nginx]
        .map(|edge| {
            println!("idle clients: {}", edge.name());
            let bytes_per_client = measure(ground, programs, edge);
            println!("  {bytes_per_client:?} bytes a client");
            IdleMemory {
                edge,
                bytes_per_client,
            }
        })
        .into()
}

fn measure(ground: &BenchContext, programs: &EdgePrograms, edge: EdgeKind) -> Result<f64> {
    let origin = BenchServer::nginx(ground.client_core, &kilobyte())?;
    let manner = EdgeOptions {
        transport: ClientTransport::Plain,
        logs: false,
    };
    let server = edge.start(programs, ground.server_core, origin.port(), manner)?;
    let mut clients = (0..FIRST)
        .map(|_| client(server.port()))
        .collect::<Result<Vec<_>>>()?;
    let before = server.resident()?;
    for _ in 0..CLIENTS {
        clients.push(client(server.port())?);
    }
    let grown = server.resident()?.saturating_sub(before);
    let open = clients.iter().filter(|client| is_open(client)).count();
    ensure!(
        open == clients.len(),
        "only {open} of {} clients are still connected",
        clients.len()
    );
    Ok(grown as f64 / CLIENTS as f64)
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
