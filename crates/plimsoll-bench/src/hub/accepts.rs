//! Clients of the benchmark itself, opened as fast as one core can: accepts, and memory of idle
//! clients.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::clock::Stopwatch;

use plimsoll_harness::definition::Chapter;
use plimsoll_harness::sample::Sample;

use super::RunningHub;
use crate::bench::{Bench, us_each};

/// Clients that come before, so that what the program keeps once is not charged to the others.
const FIRST: usize = 200;
/// Handshakes under way at once: fewer than any of the hubs lets wait.
const AT_ONCE: usize = 128;
const PATIENCE: Duration = Duration::from_secs(20);

/// Opens and subscribes all clients, and measures.
pub(super) fn measure(bench: &Bench, chapter: &Chapter, subject: &str) -> Result<Sample> {
    let hub = RunningHub::start(bench, chapter, subject)?;
    let clients: usize = chapter.number("clients")?;
    let mut sockets = Vec::with_capacity(FIRST + clients);
    let port = hub.server.port();
    open(port, FIRST, &mut sockets)?;
    subscribe(&hub, &mut sockets)?;
    let (memory, cpu) = (hub.server.memory()?, hub.server.run_time()?);
    let stopwatch = Stopwatch::start();
    open(port, clients, &mut sockets)?;
    let wall = stopwatch.elapsed();
    let cpu = hub.server.run_time()?.saturating_sub(cpu);
    subscribe(&hub, &mut sockets[FIRST..])?;
    let grown = hub.server.memory()?.saturating_sub(memory);
    reaches(&hub, &mut sockets)?;
    let cpu_us = us_each(cpu, clients as f64);
    Ok(Sample::default()
        .with("rate", clients as f64 / wall.as_secs_f64())
        .with("cpu_us", cpu_us)
        .with("full", 1e6 / cpu_us)
        .with("kib", grown as f64 / clients as f64 / 1_024.0))
}

/// Opens more WebSockets.
pub(super) fn open(port: u16, count: usize, sockets: &mut Vec<TcpStream>) -> Result<()> {
    let request = format!(
        "GET /live HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    );
    let end = sockets.len() + count;
    let mut answered = sockets.len();
    // The oldest is read while the youngest are under way: neither side waits for a whole flock of the other's.
    while answered < end {
        if sockets.len() < end && sockets.len() - answered < AT_ONCE {
            let mut stream = TcpStream::connect(("127.0.0.1", port))?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.write_all(request.as_bytes())?;
            sockets.push(stream);
        } else {
            welcomed(&mut sockets[answered])?;
            answered += 1;
        }
    }
    Ok(())
}

/// Reads the answer to a handshake.
fn welcomed(stream: &mut TcpStream) -> Result<()> {
    let head = read_until(stream, b"\r\n\r\n").context("a handshake was not answered")?;
    ensure!(
        head.starts_with(b"HTTP/1.1 101"),
        "a handshake was answered `{}`",
        String::from_utf8_lossy(&head)
            .lines()
            .next()
            .unwrap_or_default()
    );
    Ok(())
}

/// Reads until these bytes have come.
pub(super) fn read_until(stream: &mut TcpStream, mark: &[u8]) -> Result<Vec<u8>> {
    let mut received = Vec::new();
    let mut piece = [0; 4_096];
    while !received.windows(mark.len()).any(|window| window == mark) {
        let count = stream.read(&mut piece)?;
        ensure!(
            count > 0,
            "it was closed after `{}`",
            String::from_utf8_lossy(&received)
        );
        received.extend_from_slice(&piece[..count]);
    }
    Ok(received)
}

/// A text as a client must send it: masked (RFC 6455, 5.3), here by zeros, which change nothing.
pub(super) fn frame(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81];
    match text.len() {
        len @ 0..126 => frame.push(0x80 | len.to_le_bytes()[0]),
        len => {
            frame.push(0x80 | 0x7e);
            let len = u16::try_from(len).expect("our texts are shorter than 64 KiB");
            frame.extend_from_slice(&len.to_be_bytes());
        }
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(text.as_bytes());
    frame
}

/// Sends this command from all clients, and waits until it is done for each: the hub executes a client's commands in order.
pub(super) fn send_to_all(sockets: &mut [TcpStream], text: impl Fn(usize) -> String) -> Result<()> {
    for (place, stream) in sockets.iter_mut().enumerate() {
        let mut frames = frame(&text(place));
        frames.extend_from_slice(&frame(r#"{"unsubscribe":["nothing"],"id":7}"#));
        stream.write_all(&frames)?;
    }
    for stream in sockets {
        read_until(stream, br#"{"id":7,"done":true}"#).context("a subscription was not taken")?;
    }
    Ok(())
}

fn subscribe(hub: &RunningHub, sockets: &mut [TcpStream]) -> Result<()> {
    if hub.is_ours {
        send_to_all(sockets, |_| r#"{"subscribe":["all"]}"#.to_owned())?;
    }
    Ok(())
}

/// They are subscribers: a message comes to the first and to the last.
fn reaches(hub: &RunningHub, sockets: &mut [TcpStream]) -> Result<()> {
    hub.publish(r#"{"n":"for everybody"}"#)?;
    let ends = [0, sockets.len() - 1];
    for place in ends {
        read_until(&mut sockets[place], b"for everybody").context("a message did not come")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_masked_and_tell_their_length() {
        assert_eq!(frame("ab"), [0x81, 0x82, 0, 0, 0, 0, b'a', b'b']);
        let long = frame(&"x".repeat(300));
        assert_eq!(long[..8], [0x81, 0xfe, 1, 44, 0, 0, 0, 0]);
        assert_eq!(long.len(), 308);
    }
}
