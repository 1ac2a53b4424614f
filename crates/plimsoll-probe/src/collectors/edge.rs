//! Metrics of an edge, scraped as by any metrics collector: text over HTTP from its admin address. An edge of this process
//! is read without a connection.

use std::fmt::{self, Debug, Formatter};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_model::component::ComponentAddress;
use plimsoll_model::metric;
use plimsoll_model::reading::Readings;

use super::link::{ComponentLink, get_once};
use super::prometheus::parse::page;
use super::threads::{Collectors, Scraped};
use crate::clock;
use crate::files::Files;
use crate::meter::Meter;
use crate::parse::whole;

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

    /// Reads its metrics.
    pub(crate) fn read(&self, meter: &mut Meter) {
        record(&(self.0)().unwrap_or_default(), meter);
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

/// An edge that is scraped. Its series carry no address: there is one edge.
#[derive(Debug)]
struct EdgeCollector {
    link: ComponentLink,
    meter: Meter,
}

impl EdgeCollector {
    fn scrape(&mut self, patience: Duration) -> Scraped {
        self.link.begin(patience);
        match get_once(&mut self.link, PATH) {
            Ok(text) => {
                self.meter.begin(clock::now_ns());
                record(&text, &mut self.meter);
                (self.meter.finish(0), Vec::new())
            }
            Err(error) => {
                let at = self.link.place();
                let text = format!("the edge's metrics at {at} were not read: {error}");
                (Readings::default(), vec![("metrics", text)])
            }
        }
    }
}

impl Collectors {
    /// Starts a thread for the edge with this admin address.
    pub(crate) fn add_edge(&mut self, address: SocketAddr, files: &mut Files) {
        let place = ComponentAddress::Tcp {
            host: address.ip().to_string(),
            port: address.port(),
        };
        let mut edge = EdgeCollector {
            link: ComponentLink::new(place),
            meter: Meter::default(),
        };
        let (name, patience) = (format!("edge at {address}"), self.patience);
        self.start(name, patience, move || edge.scrape(patience), files);
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
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;
    use crate::collectors::fixture::{CollectorFixture, LONG};

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

    /// Scrapes the edge, for which the test answers.
    fn scrape(watched: &mut CollectorFixture, listener: &TcpListener, answer: &str) -> Readings {
        watched.collectors.call();
        let mut stream = listener.accept().unwrap().0;
        let mut head = [0; 1024];
        let count = stream.read(&mut head).unwrap();
        assert!(head[..count].starts_with(b"GET /metrics HTTP/1.0\r\n"));
        stream.write_all(answer.as_bytes()).unwrap();
        drop(stream);
        let mut readings = Readings::default();
        watched.collectors.gather(&mut readings, &mut watched.files);
        readings
    }

    #[test]
    fn an_edge_is_scraped_over_http() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut watched = CollectorFixture::over(Vec::new(), LONG);
        let address = listener.local_addr().unwrap();
        watched.collectors.add_edge(address, &mut watched.files);
        let page =
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nplimsoll_edge_connections 1\n";
        let readings = scrape(&mut watched, &listener, page);
        let right = [(metric::EDGE_CONNECTIONS.to_owned(), 1.0)];
        assert_eq!(readings.values, right.into_iter().collect());
        assert_eq!(watched.notes(), "");
        for _ in 0..2 {
            let refusal = "HTTP/1.1 401 Unauthorized\r\n\r\n";
            let readings = scrape(&mut watched, &listener, refusal);
            assert_eq!(readings, Readings::default());
        }
        let right = format!(
            "the edge's metrics at {address} were not read: it denies access (HTTP/1.1 401 Unauthorized)"
        );
        assert_eq!(watched.notes(), right);
    }
}
