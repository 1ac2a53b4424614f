//! Metrics of an edge, scraped as by any metrics collector: text over HTTP from its admin address. An edge of this process
//! is read without a connection.
//!
//! It is scraped once a second on a thread of its own, as components are: an edge that has no processor left answers late, and
//! what it answers counts for the next second then.

use std::fmt::{self, Debug, Formatter};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use plimsoll_model::component::ComponentAddress;
use plimsoll_model::metric;

use crate::collectors::link::{ComponentLink, ScrapeError, get_once};
use crate::collectors::prometheus::parse::page;
use crate::files::Files;
use crate::meter::Meter;
use crate::parse::whole;

/// Time-out of one scrape.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a second's readings wait for it after everything else was read.
const WAIT: Duration = Duration::from_millis(200);
/// Path of its metrics.
const PATH: &str = "/metrics";

/// Name in the edge's text, and the metric here.
const LEVELS: [(&str, &str); 6] = [
    ("plimsoll_edge_connections", metric::EDGE_CONNECTIONS),
    ("plimsoll_edge_waiting", metric::EDGE_WAITING),
    ("plimsoll_edge_server_in_flight", metric::EDGE_IN_FLIGHT),
    ("plimsoll_edge_server_limit", metric::EDGE_LIMIT),
    ("plimsoll_edge_cache_objects", metric::EDGE_CACHE_OBJECTS),
    ("plimsoll_edge_cache_bytes", metric::EDGE_CACHE_BYTES),
];
const COUNTERS: [(&str, &str); 10] = [
    ("plimsoll_edge_answers_total", metric::EDGE_ANSWERS),
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

/// Where the metrics of an edge are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EdgeSource {
    /// Its admin address.
    Admin(SocketAddr),
    /// The edge of this process.
    Own(OwnEdge),
}

/// Metrics of the edge of this process, as Prometheus text; `None` after its end.
#[derive(Clone)]
pub struct OwnEdge(Arc<dyn Fn() -> Option<String> + Send + Sync>);

impl OwnEdge {
    /// Calls `read` once a second, from the thread of the probe.
    pub fn new(read: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }
}

impl Debug for OwnEdge {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("OwnEdge")
    }
}

impl PartialEq for OwnEdge {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for OwnEdge {}

/// Reads the metrics of an edge.
#[derive(Debug)]
pub(crate) enum EdgeReader {
    Scraped(EdgeClient),
    Own(OwnEdge),
}

impl EdgeReader {
    pub(crate) fn new(source: EdgeSource) -> Self {
        match source {
            EdgeSource::Admin(address) => Self::Scraped(EdgeClient::new(address)),
            EdgeSource::Own(edge) => Self::Own(edge),
        }
    }

    /// Begins to scrape it, for the second that is read now.
    pub(crate) fn call(&mut self) {
        if let Self::Scraped(client) = self {
            client.call();
        }
    }

    /// Reads its metrics.
    pub(crate) fn read(&mut self, files: &mut Files, meter: &mut Meter) {
        match self {
            Self::Scraped(client) => client.read(files, meter),
            Self::Own(edge) => record(&(edge.0)().unwrap_or_default(), meter),
        }
    }
}

/// Its page of metrics, or why there is none.
type Scraped = Result<String, ScrapeError>;

/// An edge that is scraped.
#[derive(Debug)]
pub(crate) struct EdgeClient {
    place: ComponentAddress,
    /// How long a second waits for its answer.
    wait: Duration,
    /// Its thread, or why there is none.
    thread: io::Result<ScrapingThread>,
    /// An answer that came after its second had been read.
    late: Option<Scraped>,
}

/// The thread that scrapes, which ends when nobody can call it any more.
#[derive(Debug)]
struct ScrapingThread {
    calls: SyncSender<()>,
    answers: Receiver<Scraped>,
    /// It was called and has not answered yet.
    is_busy: bool,
}

impl ScrapingThread {
    fn start(place: ComponentAddress, patience: Duration) -> io::Result<Self> {
        let (calls, called) = sync_channel(1);
        let (sender, answers) = sync_channel(1);
        std::thread::Builder::new()
            .name("edge-scrape".to_owned())
            .spawn(move || {
                let mut link = ComponentLink::new(place);
                while called.recv().is_ok() {
                    link.begin(patience);
                    if sender.send(get_once(&mut link, PATH)).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            calls,
            answers,
            is_busy: false,
        })
    }

    /// Its answer, if it comes within this time.
    fn answer(&mut self, within: Duration) -> Option<Scraped> {
        if !self.is_busy {
            return None;
        }
        let answer = self.answers.recv_timeout(within).ok()?;
        self.is_busy = false;
        Some(answer)
    }
}

impl EdgeClient {
    fn new(address: SocketAddr) -> Self {
        Self::with_times(address, PATIENCE, WAIT)
    }

    fn with_times(address: SocketAddr, patience: Duration, wait: Duration) -> Self {
        let place = ComponentAddress::Tcp {
            host: address.ip().to_string(),
            port: address.port(),
        };
        Self {
            thread: ScrapingThread::start(place.clone(), patience),
            place,
            wait,
            late: None,
        }
    }

    /// Calls its thread, unless that waits for an earlier answer still.
    fn call(&mut self) {
        if let Ok(thread) = &mut self.thread {
            self.late = thread.answer(Duration::ZERO).or(self.late.take());
            thread.is_busy = thread.is_busy || thread.calls.try_send(()).is_ok();
        }
    }

    /// Reads its metrics; an edge that does not respond is noted once, and scraped again.
    fn read(&mut self, files: &mut Files, meter: &mut Meter) {
        let late = self.late.take();
        let answer = match &mut self.thread {
            Ok(thread) => thread.answer(self.wait).or(late),
            Err(error) => Some(Err(ScrapeError::Absent(format!(
                "its thread cannot be started: {error}"
            )))),
        };
        match answer {
            Some(Ok(text)) => record(&text, meter),
            Some(Err(error)) => files.note(
                "edge",
                &format!(
                    "the edge's metrics at {} were not read: {error}",
                    self.place
                ),
            ),
            None => {}
        }
    }
}

/// Records the known metrics of a page.
fn record(text: &str, meter: &mut Meter) {
    let find = |known: &[(&str, &'static str)], name: &str| {
        let found = known.iter().find(|(edge, _)| *edge == name);
        found.map(|(_, metric)| *metric)
    };
    let is_known = |name: &str| find(&LEVELS, name).or(find(&COUNTERS, name)).is_some();
    for sample in page(text, is_known).samples {
        let labels = sample.labels.iter();
        let labels: Vec<(&str, &str)> = labels
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        if let Some(metric) = find(&LEVELS, &sample.name) {
            meter.gauge(metric, &labels, sample.value);
        }
        if let Some(metric) = find(&COUNTERS, &sample.name) {
            meter.counter(metric, &labels, whole(sample.value), 1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::{Read as _, Write as _};
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
        record(TEXT, &mut meter);
        meter.begin(3_000_000_000);
        record(
            "plimsoll_edge_requests_total 23\nplimsoll_edge_cache_hits_total 20\n",
            &mut meter,
        );
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

    /// Time-out for the other side on a loaded machine.
    const LONG: Duration = Duration::from_mins(1);

    /// Takes a request for the metrics, and answers it.
    fn answer(listener: &TcpListener, text: &str) {
        let mut stream = listener.accept().unwrap().0;
        let mut head = [0; 1024];
        let count = stream.read(&mut head).unwrap();
        assert!(head[..count].starts_with(b"GET /metrics HTTP/1.0\r\n"));
        stream.write_all(text.as_bytes()).unwrap();
    }

    /// The values of a second, and its notes.
    fn second(edge: &mut EdgeClient) -> (BTreeMap<String, f64>, String) {
        let (mut files, mut meter) = (Files::new("/".into()), Meter::default());
        meter.begin(1_000_000_000);
        edge.read(&mut files, &mut meter);
        (meter.finish(0).values, files.notes().join("\n"))
    }

    #[test]
    fn an_edge_is_asked_over_http() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut edge = EdgeClient::with_times(listener.local_addr().unwrap(), LONG, LONG);
        edge.call();
        answer(
            &listener,
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nplimsoll_edge_connections 1\n",
        );
        let (values, notes) = second(&mut edge);
        assert_eq!(
            (values[metric::EDGE_CONNECTIONS], notes.as_str()),
            (1.0, "")
        );
        edge.call();
        answer(&listener, "HTTP/1.1 401 Unauthorized\r\n\r\n");
        let (values, notes) = second(&mut edge);
        assert!(values.is_empty(), "{values:?}");
        let expected = "it denies access (HTTP/1.1 401 Unauthorized)";
        assert!(notes.contains(expected), "{notes}");
    }

    #[test]
    fn what_an_edge_answers_late_counts_for_the_next_second() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections = |edge: &mut EdgeClient| {
            let (values, notes) = second(edge);
            assert_eq!(notes, "");
            values.get(metric::EDGE_CONNECTIONS).copied()
        };
        let mut edge = EdgeClient::with_times(address, LONG, Duration::ZERO);
        edge.call();
        assert_eq!(connections(&mut edge), None);
        answer(
            &listener,
            "HTTP/1.1 200 OK\r\n\r\nplimsoll_edge_connections 1\n",
        );
        // It comes while the next second is read,
        edge.wait = LONG;
        assert_eq!(connections(&mut edge), Some(1.0));
        // or has come when that begins, and the edge is late again.
        edge.wait = Duration::ZERO;
        edge.late = Some(Ok("plimsoll_edge_connections 2\n".to_owned()));
        edge.call();
        assert_eq!(connections(&mut edge), Some(2.0));
    }
}
