//! Reloads under load: no request may fail, and no WebSocket may be closed.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use anyhow::{Result, ensure};
use plimsoll_harness::child::POLL;
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::port::free_ports;
use plimsoll_harness::sample::Sample;
use plimsoll_harness::template::Values;
use tungstenite::{Message, WebSocket};

use crate::bench::Bench;

/// Time from one reload to the next, in which each WebSocket is asked once.
const EVERY: Duration = Duration::from_secs(1);
/// The load lasts so much longer than the reloads.
const MORE_S: u32 = 4;
const PATIENCE: Duration = Duration::from_secs(10);
/// A thread of the echo server keeps next to nothing.
const STACK_LEN: usize = 128 << 10;

pub(super) fn measure(bench: &Bench, chapter: &Chapter) -> Result<Sample> {
    let (count, reloads): (usize, u32) = (chapter.number("sockets")?, chapter.number("reloads")?);
    let pages = bench.start("kilobyte", bench.client_core, &Values::default())?;
    let ports = free_ports(2)?;
    let (port, admin) = (ports[0], ports[1]);
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("edge.yaml");
    let values = Values::default()
        .with("port", port)
        .with("admin_port", admin)
        .with("pages", pages.port())
        .with("echo", echo_server()?.port())
        .with("echo_max", 2 * count)
        .with("file", file.display());
    let edition = |number: u32| {
        let values = values.clone().with("edition", number);
        bench.filled(
            "benchmarks/edge/reload.yaml",
            &values.with("queue", 1_000 + number),
        )
    };
    std::fs::write(&file, edition(0)?)?;
    let edge = bench.start("reloaded", bench.server_core, &values)?;
    let mut sockets = (0..count)
        .map(|_| socket(port))
        .collect::<Result<Vec<_>>>()?;
    let (url, rate) = (edge.url(), chapter.text("rate")?);
    let words = format!("{url}/ --rate {rate}/s --for {}s", reloads + MORE_S);
    let (mut done, mut outcome) = (0, Ok(()));
    let (report, command) =
        bench.generate_meanwhile(&words, &[(&url, "URL")], POLL, |elapsed| {
            if outcome.is_ok() && done < reloads && elapsed >= EVERY * (done + 1) {
                done += 1;
                let text = edition(done);
                outcome = text.and_then(|text| bench.reload(admin, &file, &text));
                sockets.retain_mut(|socket| is_alive(socket, done));
            }
        })?;
    outcome?;
    let (good, all) = report.outcomes()?;
    Ok(Sample::of(command)
        .with("done", done.into())
        .with("requests", all as f64)
        .with("lost", (all - good) as f64)
        .with("cut", (count - sockets.len()) as f64)
        .void(report.void()))
}

/// Echo server with a thread per client, until the process ends.
fn echo_server() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // One that cannot be served is missed by the client.
            let _ = std::thread::Builder::new()
                .stack_size(STACK_LEN)
                .spawn(move || serve(stream));
        }
    });
    Ok(address)
}

fn serve(stream: TcpStream) {
    let Ok(mut socket) = tungstenite::accept(stream) else {
        return;
    };
    while let Ok(message) = socket.read() {
        if message.is_text() && socket.send(message).is_err() {
            return;
        }
    }
}

fn socket(port: u16) -> Result<WebSocket<TcpStream>> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let (mut socket, _) = tungstenite::client(format!("ws://127.0.0.1:{port}/echo"), stream)
        .map_err(|error| anyhow::anyhow!("a WebSocket was not opened: {error}"))?;
    ensure!(is_alive(&mut socket, 0), "a WebSocket does not echo");
    Ok(socket)
}

fn is_alive(socket: &mut WebSocket<TcpStream>, edition: u32) -> bool {
    let sent = Message::text(format!("edition {edition}"));
    socket.send(sent.clone()).is_ok() && socket.read().is_ok_and(|received| received == sent)
}
