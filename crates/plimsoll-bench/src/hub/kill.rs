//! Two edges share a Redis; one is killed under load, and its subscribers continue at the other.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::clock::{Stopwatch, pause};
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::sample::Sample;
use plimsoll_harness::template::Values;
use rustix::process::Signal;

use super::RunningHub;
use crate::bench::Bench;

const CHANNELS: u32 = 10;
/// Messages a second, channel after channel.
const PER_SECOND: u32 = 100;
/// How long is published before the kill, and after it.
const BEFORE: Duration = Duration::from_secs(3);
const AFTER: Duration = Duration::from_secs(6);
const SETTLE: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn measure(bench: &Bench, chapter: &Chapter) -> Result<Sample> {
    let redis = bench.start("redis", bench.server_core, &Values::default())?;
    let hub = format!(
        "{{ path: /live, shared: '127.0.0.1:{}', waiting: 10000, waiting_size: 16MiB, \
         channels: [{{ match: '*', history: 10000, history_size: 16MiB }}] }}",
        redis.port()
    );
    let (doomed, left) = (start(bench, &hub)?, start(bench, &hub)?);
    let mut readers = (0..chapter.number("readers")?)
        .map(|number: u32| {
            let edge = if number.is_multiple_of(2) {
                &doomed
            } else {
                &left
            };
            KillReader::open(edge.server.port(), number / 2 % CHANNELS)
        })
        .collect::<Result<Vec<_>>>()?;
    let stopwatch = Stopwatch::start();
    while !readers.iter().all(|reader| reader.is_answered) {
        ensure!(
            stopwatch.elapsed() < PATIENCE,
            "not all readers were let in"
        );
        for reader in &mut readers {
            ensure!(reader.step()?, "a reader was sent away");
        }
    }
    pause(SETTLE);
    let back = publish_and_kill(&doomed, &left, &mut readers)?;
    Ok(evaluate(&readers, back))
}

/// An edge that has found Redis.
fn start(bench: &Bench, hub: &str) -> Result<RunningHub> {
    let running = RunningHub::edge(bench, hub)?;
    let stopwatch = Stopwatch::start();
    while running.metric("plimsoll_edge_hub_shared_joined")? < 1.0 {
        ensure!(
            stopwatch.elapsed() < PATIENCE,
            "an edge does not find Redis"
        );
        pause(Duration::from_millis(20));
    }
    Ok(running)
}

/// Messages of each channel.
fn messages() -> u32 {
    let seconds = (BEFORE + AFTER).as_secs();
    u32::try_from(seconds).unwrap_or_default() * PER_SECOND / CHANNELS
}

/// Publishes to the edge that is left and kills the other meanwhile, until everybody has the last message; how long it
/// took until all readers were answered again.
fn publish_and_kill(
    doomed: &RunningHub,
    left: &RunningHub,
    readers: &mut [KillReader],
) -> Result<Duration> {
    let stopwatch = Stopwatch::start();
    let (mut number, mut killed, mut back) = (0, None, None);
    loop {
        let now = stopwatch.elapsed();
        if number < messages() * CHANNELS && now >= Duration::from_secs(1) / PER_SECOND * number {
            let data = format!(r#"{{"n":{}}}"#, number / CHANNELS + 1);
            let status = left.publish_to(&format!("c-{}", number % CHANNELS), &data)?;
            ensure!(status == 200, "a publication was answered {status}");
            number += 1;
        }
        if killed.is_none() && now >= BEFORE {
            doomed.server.signal(Signal::KILL)?;
            killed = Some(stopwatch.elapsed());
        }
        for reader in &mut *readers {
            if !reader.step()? {
                reader.reopen(left.server.port())?;
            }
        }
        if let (Some(killed), None) = (killed, back)
            && readers
                .iter()
                .all(|reader| reader.is_answered && reader.port == left.server.port())
        {
            back = Some(stopwatch.elapsed().saturating_sub(killed));
        }
        let is_read = number == messages() * CHANNELS && readers.iter().all(KillReader::has_last);
        if let (Some(back), true) = (back, is_read || now >= BEFORE + AFTER + PATIENCE) {
            return Ok(back);
        }
        ensure!(now < BEFORE + AFTER + PATIENCE, "not all readers came back");
        pause(Duration::from_millis(1));
    }
}

/// Readers that moved, and messages that are lost, lost without a notice, and doubled.
fn evaluate(readers: &[KillReader], back: Duration) -> Sample {
    let (mut lost_all, mut unreported, mut doubled) = (0.0, 0.0, 0.0);
    for reader in readers {
        let received: BTreeSet<u32> = reader.numbers.iter().copied().collect();
        let lost = f64::from(messages()) - received.len() as f64;
        lost_all += lost;
        unreported += if reader.is_loss_reported { 0.0 } else { lost };
        doubled += (reader.numbers.len() - received.len()) as f64;
    }
    let moved = readers.iter().filter(|reader| reader.has_moved).count();
    Sample::default()
        .with("moved", moved as f64)
        .with("back_s", back.as_secs_f64())
        .with("messages", messages().into())
        .with("lost", lost_all)
        .with("unreported", unreported)
        .with("doubled", doubled)
}

/// A reader of Server-Sent Events, which never waits.
struct KillReader {
    stream: TcpStream,
    port: u16,
    channel: u32,
    held: Vec<u8>,
    /// The last id received.
    id: Option<String>,
    is_answered: bool,
    has_moved: bool,
    /// It received the notice that it cannot recover.
    is_loss_reported: bool,
    numbers: Vec<u32>,
}

impl KillReader {
    fn open(port: u16, channel: u32) -> Result<Self> {
        Ok(Self {
            stream: connect(port, channel, None)?,
            port,
            channel,
            held: Vec::new(),
            id: None,
            is_answered: false,
            has_moved: false,
            is_loss_reported: false,
            numbers: Vec::new(),
        })
    }

    /// Goes on at another edge, from where it was.
    fn reopen(&mut self, port: u16) -> Result<()> {
        self.stream = connect(port, self.channel, self.id.as_deref())?;
        self.port = port;
        self.held.clear();
        self.is_answered = false;
        self.has_moved = true;
        Ok(())
    }

    fn has_last(&self) -> bool {
        self.numbers.last() == Some(&messages())
    }

    /// Takes what there is; whether it is still connected.
    fn step(&mut self) -> Result<bool> {
        let mut piece = [0; 16_384];
        let is_connected = loop {
            match self.stream.read(&mut piece) {
                Ok(0) => break false,
                Ok(count) => self.held.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break false,
            }
        };
        if !self.is_answered {
            let Some(end) = position(&self.held, b"\r\n\r\n") else {
                return Ok(is_connected);
            };
            ensure!(
                self.held.starts_with(b"HTTP/1.1 200"),
                "a reader was refused"
            );
            self.held.drain(..end + 4);
            self.is_answered = true;
        }
        while let Some(end) = position(&self.held, b"\n\n") {
            let event: Vec<u8> = self.held.drain(..end + 2).collect();
            self.take(&String::from_utf8_lossy(&event));
        }
        Ok(is_connected)
    }

    fn take(&mut self, event: &str) {
        for line in event.lines() {
            if let Some(id) = line.strip_prefix("id: ") {
                self.id = Some(id.to_owned());
            } else if line.contains(r#""recovered":false"#) {
                self.is_loss_reported = true;
            } else if let Some((_, rest)) = line.rsplit_once(r#""n":"#) {
                let digits = rest.trim_end_matches('}');
                self.numbers.extend(digits.parse::<u32>());
            }
        }
    }
}

fn connect(port: u16, channel: u32, id: Option<&str>) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).context("an edge takes nobody")?;
    let id = id.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
    let request =
        format!("GET /live?channel=c-{channel} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{id}\r\n");
    stream.write_all(request.as_bytes())?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

fn position(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn what_is_lost_and_what_is_doubled_is_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut reader = KillReader::open(port, 3).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        // A connection that is closed with a question unread is reset, and what it sent may be lost.
        let mut asked = [0; 1024];
        let mut len = 0;
        while position(&asked[..len], b"\r\n\r\n").is_none() {
            len += server.read(&mut asked[len..]).unwrap();
        }
        server.write_all(b"HTTP/1.1 200 OK\r\n\r\n:\n\n").unwrap();
        for number in (1..=messages()).filter(|number| *number != 2).chain([3]) {
            let event = format!("id: 7:{number}\ndata: {{\"data\":{{\"n\":{number}}}}}\n\n");
            server.write_all(event.as_bytes()).unwrap();
        }
        drop(server);
        // What is not there yet comes: the server has closed.
        while reader.step().unwrap() {}
        assert_eq!(reader.id.as_deref(), Some("7:3"));
        let counts = |reader: &KillReader| {
            let result = evaluate(std::slice::from_ref(reader), Duration::ZERO);
            ["lost", "unreported", "doubled", "moved"]
                .map(|name| result.number(name).unwrap().to_string())
        };
        assert_eq!(counts(&reader), ["1", "1", "1", "0"]);
        reader.take("data: {\"subscribed\":\"c-3\",\"recovered\":false}");
        assert_eq!(counts(&reader), ["1", "0", "1", "0"]);
    }
}
