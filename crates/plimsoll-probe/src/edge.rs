//! Metrics of an edge, scraped as by any metrics collector: text over HTTP from its admin address.
//!
//! It is scraped once a second on the thread of the probe, with a short time-out so that readings are not delayed.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use plimsoll_model::metric;

use crate::clock;
use crate::files::Files;
use crate::meter::Meter;

/// Time-out of one scrape.
const PATIENCE: Duration = Duration::from_millis(200);
/// Longest response accepted.
const ANSWER_LEN_MAX: usize = 1 << 20;

/// Name in the edge's text, and the metric here.
const LEVELS: [(&str, &str); 6] = [
    ("plimsoll_edge_connections", metric::EDGE_CONNECTIONS),
    ("plimsoll_edge_waiting", metric::EDGE_WAITING),
    ("plimsoll_edge_server_in_flight", metric::EDGE_IN_FLIGHT),
    ("plimsoll_edge_server_limit", metric::EDGE_LIMIT),
    ("plimsoll_edge_cache_objects", metric::EDGE_CACHE_OBJECTS),
    ("plimsoll_edge_cache_bytes", metric::EDGE_CACHE_BYTES),
];
const COUNTERS: [(&str, &str); 9] = [
    ("plimsoll_edge_requests_total", metric::EDGE_REQUESTS),
    (
        "plimsoll_edge_server_answers_total",
        metric::EDGE_SERVER_ANSWERS,
    ),
    ("plimsoll_edge_own_answers_total", metric::EDGE_OWN_ANSWERS),
    ("plimsoll_edge_cache_hits_total", metric::EDGE_CACHE_HITS),
    ("plimsoll_edge_cache_stale_total", metric::EDGE_CACHE_STALE),
    (
        "plimsoll_edge_cache_misses_total",
        metric::EDGE_CACHE_MISSES,
    ),
    (
        "plimsoll_edge_cache_collapsed_total",
        metric::EDGE_CACHE_COLLAPSED,
    ),
    (
        "plimsoll_edge_cache_passed_total",
        metric::EDGE_CACHE_PASSED,
    ),
    (
        "plimsoll_edge_cache_evictions_total",
        metric::EDGE_CACHE_EVICTIONS,
    ),
];

/// An edge that is scraped.
#[derive(Debug)]
pub(crate) struct EdgeClient {
    address: SocketAddr,
    patience: Duration,
}

impl EdgeClient {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            patience: PATIENCE,
        }
    }

    /// Reads its metrics; an edge that does not respond is noted once, and scraped again.
    pub(crate) fn read(&mut self, files: &mut Files, meter: &mut Meter) {
        match self.scrape() {
            Ok(text) => text.lines().for_each(|line| take(line, meter)),
            Err(error) => files.note(
                "edge",
                &format!(
                    "the edge's metrics at {} were not read: {error}",
                    self.address
                ),
            ),
        }
    }

    fn scrape(&self) -> io::Result<String> {
        let patience_ns = u64::try_from(self.patience.as_nanos()).unwrap_or(u64::MAX);
        let deadline_ns = clock::now_ns().saturating_add(patience_ns);
        let mut stream = TcpStream::connect_timeout(&self.address, self.patience)?;
        stream.set_write_timeout(Some(self.patience))?;
        let request = format!(
            "GET /metrics HTTP/1.0\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.address
        );
        stream.write_all(request.as_bytes())?;
        let mut bytes = Vec::new();
        let mut chunk = [0; 16 << 10];
        // The deadline also holds for a response that arrives slowly.
        loop {
            let left_ns = deadline_ns.saturating_sub(clock::now_ns());
            if left_ns == 0 || bytes.len() >= ANSWER_LEN_MAX {
                return Err(io::Error::other("its response is too long or too slow"));
            }
            stream.set_read_timeout(Some(Duration::from_nanos(left_ns)))?;
            match stream.read(&mut chunk)? {
                0 => break,
                count => bytes.extend_from_slice(&chunk[..count]),
            }
        }
        let answer = String::from_utf8_lossy(&bytes);
        let (head, body) = answer
            .split_once("\r\n\r\n")
            .ok_or_else(|| io::Error::other("it sent no HTTP response"))?;
        if head.split(' ').nth(1) != Some("200") {
            let line = head.lines().next().unwrap_or_default();
            return Err(io::Error::other(format!("it responded {line}")));
        }
        Ok(body.to_owned())
    }
}

/// Records a sample, if it is one of the known metrics.
fn take(line: &str, meter: &mut Meter) {
    let Some((name, rest)) = line.find(['{', ' ']).map(|at| line.split_at(at)) else {
        return;
    };
    let find = |known: &[(&str, &'static str)]| {
        let found = known.iter().find(|(edge, _)| *edge == name);
        found.map(|(_, metric)| *metric)
    };
    let (level, counter) = (find(&LEVELS), find(&COUNTERS));
    if level.is_none() && counter.is_none() {
        return;
    }
    let Some((labels, value)) = labels(rest) else {
        return;
    };
    let labels: Vec<(&str, &str)> = labels
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    if let (Some(metric), Ok(value)) = (level, value.parse::<f64>()) {
        meter.gauge(metric, &labels, value);
    }
    if let (Some(metric), Ok(total)) = (counter, value.parse::<u64>()) {
        meter.counter(metric, &labels, total, 1.0);
    }
}

/// The labels of a sample, and the text of its value.
fn labels(rest: &str) -> Option<(Vec<(&str, String)>, &str)> {
    let Some(mut rest) = rest.strip_prefix('{') else {
        return Some((Vec::new(), rest.trim()));
    };
    let mut labels = Vec::new();
    loop {
        if let Some(value) = rest.strip_prefix('}') {
            return Some((labels, value.trim()));
        }
        rest = rest.strip_prefix(',').unwrap_or(rest);
        let (name, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut characters = after.char_indices();
        let end = loop {
            match characters.next()? {
                (at, '"') => break at,
                (_, '\\') => match characters.next()?.1 {
                    'n' => value.push('\n'),
                    character => value.push(character),
                },
                (_, character) => value.push(character),
            }
        };
        labels.push((name, value));
        rest = &after[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const TEXT: &str = "# HELP plimsoll_edge_requests_total Requests that began.\n\
        plimsoll_edge_requests_total 3\n\
        plimsoll_edge_connections 2\n\
        plimsoll_edge_server_in_flight{pool=\"a\",server=\"b\\\"\\\\c\"} 7\n\
        plimsoll_edge_waiting{pool=\"a\"} nonsense\n\
        plimsoll_edge_cache_bytes 4096\n\
        plimsoll_edge_cache_hits_total 10\n\
        plimsoll_edge_unknown 4\n";

    #[test]
    fn samples_become_series() {
        let mut meter = Meter::default();
        meter.begin(1_000_000_000);
        TEXT.lines().for_each(|line| take(line, &mut meter));
        meter.begin(3_000_000_000);
        take("plimsoll_edge_requests_total 23", &mut meter);
        take("plimsoll_edge_cache_hits_total 20", &mut meter);
        let readings = meter.finish(1);
        let in_flight = metric::series(
            metric::EDGE_IN_FLIGHT,
            &[("pool", "a"), ("server", "b\"\\c")],
        );
        let expected = [
            (metric::EDGE_CONNECTIONS.to_owned(), 2.0),
            (in_flight, 7.0),
            (metric::EDGE_REQUESTS.to_owned(), 10.0),
            (metric::EDGE_CACHE_BYTES.to_owned(), 4096.0),
            (metric::EDGE_CACHE_HITS.to_owned(), 5.0),
        ];
        assert_eq!(readings.values, expected.into_iter().collect());
    }

    #[test]
    fn broken_labels_are_left_out() {
        for rest in ["{a", "{a=\"", "{a=\"b", "{a=\"b\\", "{a=\"b\"", "{a=b} 1"] {
            assert_eq!(labels(rest), None, "{rest}");
        }
        assert_eq!(labels("{} 1"), Some((Vec::new(), "1")));
    }

    #[test]
    fn an_edge_is_asked_over_http() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // Time-out for the other side on a loaded machine.
        let edge = EdgeClient {
            patience: Duration::from_mins(1),
            ..EdgeClient::new(listener.local_addr().unwrap())
        };
        let answer = |answer: &'static str| {
            let mut stream = listener.accept().unwrap().0;
            let mut head = [0; 1024];
            let count = stream.read(&mut head).unwrap();
            assert!(head[..count].starts_with(b"GET /metrics HTTP/1.0\r\n"));
            stream.write_all(answer.as_bytes()).unwrap();
        };
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| edge.scrape().unwrap());
            answer("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\na 1\n");
            assert_eq!(asked.join().unwrap(), "a 1\n");
            let asked = scope.spawn(|| edge.scrape().unwrap_err());
            answer("HTTP/1.1 401 Unauthorized\r\n\r\n");
            assert_eq!(
                asked.join().unwrap().to_string(),
                "it responded HTTP/1.1 401 Unauthorized"
            );
        });
        drop(listener);
        assert!(edge.scrape().is_err());
    }
}
