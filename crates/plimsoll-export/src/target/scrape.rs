//! A page at an address that Prometheus scrapes. One thread answers, one scraper after the other.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_model::lock::lock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Target;
use crate::clock::Deadline;
use crate::prometheus::page::{Families, PROTOBUF, TEXT};
use crate::record::{Point, Record, RunLabels, Value, seconds};
use crate::send_error::SendError;

/// Longest head of a request, bytes.
const HEAD_MAX: usize = 16 << 10;
/// How long a scraper may take, all in all.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the thread looks for the end.
const GLANCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

type Key = (String, Vec<(String, String)>);

/// The newest value of each series, and whether it is of the load.
type Values = BTreeMap<Key, (bool, Point)>;
type Newest = Arc<Mutex<Values>>;

/// The page while it is served.
pub(super) struct ScrapePage {
    address: SocketAddr,
    newest: Newest,
    is_ended: Arc<AtomicBool>,
}

impl ScrapePage {
    pub(super) fn serve(address: SocketAddr, run: RunLabels) -> Result<Self, String> {
        let (address, listener) = TcpListener::bind(address)
            .and_then(|listener| {
                listener.set_nonblocking(true)?;
                Ok((listener.local_addr()?, listener))
            })
            .map_err(|error| format!("cannot listen on {address}: {error}"))?;
        let (newest, is_ended) = (Newest::default(), Arc::new(AtomicBool::new(false)));
        let (theirs, flag) = (Arc::clone(&newest), Arc::clone(&is_ended));
        std::thread::Builder::new()
            .name("scrape".to_owned())
            .spawn(move || serve(&listener, &theirs, &run, &flag))
            .map_err(|error| error.to_string())?;
        Ok(Self {
            address,
            newest,
            is_ended,
        })
    }
}

impl Drop for ScrapePage {
    fn drop(&mut self) {
        self.is_ended.store(true, Ordering::Relaxed);
    }
}

impl Target for ScrapePage {
    fn address(&self) -> Option<String> {
        Some(format!("http://{}/metrics", self.address))
    }

    fn send(&mut self, records: &[Arc<Record>]) -> Result<(), SendError> {
        let mut newest = lock(&self.newest);
        for second in seconds(records) {
            // A level that is no longer read is no longer there; counters stay.
            newest.retain(|_, (is_load, point)| {
                !matches!(point.value, Value::Gauge(_)) || *is_load != second.is_load
            });
            for point in &second.points {
                let key = (
                    point.definition.prometheus.to_string(),
                    point.labels.clone(),
                );
                newest.insert(key, (second.is_load, point.clone()));
            }
        }
        Ok(())
    }
}

fn serve(listener: &TcpListener, newest: &Newest, run: &RunLabels, is_ended: &AtomicBool) {
    while !is_ended.load(Ordering::Relaxed) {
        let mut polled = [PollFd::new(listener, PollFlags::IN)];
        if !matches!(poll(&mut polled, Some(&GLANCE)), Ok(1..)) {
            continue;
        }
        if let Ok((stream, _)) = listener.accept() {
            // A scraper that goes away is its own affair.
            let _ = answer(stream, newest, run);
        }
    }
}

fn answer(mut stream: TcpStream, newest: &Newest, run: &RunLabels) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    let deadline = Deadline::after(PATIENCE);
    let head = head(&mut stream, deadline)?;
    let mut words = head.split_ascii_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next());
    let path = target.unwrap_or_default().split('?').next();
    let (status, kind, body) = match (method, path) {
        ("GET" | "HEAD", Some("/metrics")) => {
            let newest = lock(newest).clone();
            let families = Families::of(newest.values().map(|(_, point)| point));
            if wants_protobuf(&head) {
                ("200 OK", PROTOBUF, families.protobuf(run))
            } else {
                ("200 OK", TEXT, families.text(run).into_bytes())
            }
        }
        ("GET" | "HEAD", _) => (
            "404 Not Found",
            TEXT,
            b"the metrics are at /metrics\n".to_vec(),
        ),
        _ => ("405 Method Not Allowed", TEXT, b"valid: GET\n".to_vec()),
    };
    let len = body.len();
    let mut response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len}\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    )
    .into_bytes();
    if method != "HEAD" {
        response.extend(body);
    }
    let mut rest = &response[..];
    while !rest.is_empty() {
        stream.set_write_timeout(Some(left(deadline)?))?;
        let len = stream.write(rest)?;
        rest = &rest[len..];
    }
    Ok(())
}

/// The head of a request.
fn head(stream: &mut TcpStream, deadline: Deadline) -> std::io::Result<String> {
    let mut head = Vec::new();
    let mut buffer = [0; 2048];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        stream.set_read_timeout(Some(left(deadline)?))?;
        let len = stream.read(&mut buffer)?;
        if len == 0 || head.len() + len > HEAD_MAX {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        head.extend_from_slice(&buffer[..len]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn left(deadline: Deadline) -> std::io::Result<Duration> {
    let left = deadline.left();
    if left.is_zero() {
        return Err(std::io::ErrorKind::TimedOut.into());
    }
    Ok(left)
}

/// Whether protobuf is what the scraper likes best, as Prometheus does where native histograms are enabled.
fn wants_protobuf(head: &str) -> bool {
    let accept = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("accept").then_some(value)
    });
    let quality = |entry: &str| {
        let q = entry
            .split(';')
            .find_map(|part| part.trim().strip_prefix("q="));
        q.map_or(1.0, |q| q.trim().parse().unwrap_or(0.0))
    };
    let (mut protobuf, mut text) = (0.0_f64, 0.0_f64);
    for entry in accept.unwrap_or_default().split(',') {
        let entry = entry.trim();
        if entry.starts_with("application/vnd.google.protobuf")
            && entry.contains("encoding=delimited")
        {
            protobuf = protobuf.max(quality(entry));
        } else if entry.starts_with("text/plain") {
            text = text.max(quality(entry));
        }
    }
    protobuf > text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of Prometheus 2.42 with native histograms, and that of 3.5 without.
    #[test]
    fn the_form_is_the_one_that_the_scraper_likes_best() {
        for (accept, expected) in [
            (
                "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                true,
            ),
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                false,
            ),
            (
                "text/plain, application/vnd.google.protobuf;encoding=delimited;q=0.2",
                false,
            ),
        ] {
            let head = format!("GET /metrics HTTP/1.1\r\nACCEPT: {accept}\r\n\r\n");
            assert_eq!(wants_protobuf(&head), expected, "{accept}");
        }
        assert!(!wants_protobuf("GET /metrics HTTP/1.1\r\n\r\n"));
    }
}
