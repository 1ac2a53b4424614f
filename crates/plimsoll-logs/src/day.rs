//! The day of a log: what its requests tell of demand, in one pass and bounded memory.
//!
//! [`Day::take`] adds a request, [`Day::finish`] sums up. Nothing here reads a file or a clock. Where a log is too large to
//! be counted exactly, a sketch takes over, and the summary states its error.

mod cache_replay;
mod clients;
mod clock;
mod countries;
mod crawlers;
mod distinct;
mod finish;
mod frequent;
mod haproxy;
mod hash;
mod kind;
mod popularity;
pub mod summary;
mod termination;
#[cfg(test)]
mod tests;
mod timeline;
mod times;
mod upstream;
mod zipf;

use std::collections::BTreeMap;

use self::cache_replay::{CacheReplay, Cacheable};
use self::clients::{ClientRequest, Clients, ProgramSign, client_hash};
use self::clock::LogClock;
use self::countries::Countries;
use self::distinct::Distinct;
use self::frequent::Frequent;
use self::haproxy::Haproxy;
pub use self::kind::RequestKind;
use self::popularity::Popularity;
use self::timeline::{Timeline, TimelineEntry};
use self::times::{Sizes, TimesByKind};
use self::upstream::Upstream;
use crate::entry::{CacheOutcome, LogEntry};

/// Counters of landing pages.
const LANDINGS_MAX: usize = 28_000;
/// Statuses of responses that a cache may store without being asked to (RFC 9110, 15.1), and 304 for one that it has.
const STORABLE: [u16; 12] = [200, 203, 204, 300, 301, 304, 308, 404, 405, 410, 414, 501];
const KINDS: usize = RequestKind::ALL.len();

/// What to find out beside what the log has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DayOptions {
    /// Content of a `MaxMind` database of countries.
    pub countries: Option<Vec<u8>>,
    /// Sizes of the edge's cache through which the log is replayed, bytes, ascending.
    pub cache_sizes: Vec<u64>,
    /// How long a response is taken to be fresh, seconds; `None`: as long as it is stored.
    pub cache_lifetime_s: Option<u32>,
}

/// Why a day cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum DayError {
    /// The database of countries is invalid.
    #[error("not a MaxMind database")]
    Countries(#[from] maxminddb::MaxMindDbError),
    /// The database has no networks.
    #[error("the MaxMind database is empty")]
    NoCountries,
}

/// Sums up the requests of a log.
#[derive(Debug)]
pub struct Day {
    cache_lifetime_s: Option<u32>,
    requests: u64,
    /// Beginnings of the first and the last request, ms.
    span_ms: Option<(i64, i64)>,
    clock: LogClock,
    timeline: Timeline,
    by_kind: [u64; KINDS],
    statuses: Box<[u64]>,
    times: TimesByKind,
    sizes: [Sizes; KINDS],
    bytes: ByteCounts,
    cache: [[u64; CACHE_OUTCOMES]; KINDS],
    origin: OriginCounts,
    popularity: Popularity,
    clients: ClientCounts,
    replay: CacheReplay,
    haproxy: Option<Box<Haproxy>>,
    upstream: Option<Box<Upstream>>,
}

const CACHE_OUTCOMES: usize = 5;

#[derive(Debug, Default)]
struct ByteCounts {
    known: u64,
    total: u64,
    /// Requests with a known ratio, and bytes after and before compression.
    has_ratio: bool,
    compressed: u64,
    after: f64,
    before: f64,
}

/// Requests that reached the service.
#[derive(Debug, Default)]
struct OriginCounts {
    /// Requests of which the log tells whether they did.
    known: u64,
    through: u64,
}

#[derive(Debug)]
struct ClientCounts {
    table: Clients,
    distinct: Distinct,
    countries: Option<Countries>,
    landings: Frequent,
    /// Requests without an address.
    unknown: u64,
    with_agent: u64,
    page_views: u64,
    /// Requests by weight: of all clients and of programs by sign.
    weight: u64,
    by_agent: u64,
    by_robots: u64,
    by_pace: u64,
    crawler_page_views: u64,
    names: BTreeMap<u16, u64>,
}

impl Day {
    /// A day without requests.
    ///
    /// # Errors
    /// When the database of countries is none.
    pub fn new(options: DayOptions) -> Result<Self, DayError> {
        let lifetime_s = options.cache_lifetime_s.unwrap_or(u32::MAX);
        Ok(Self {
            cache_lifetime_s: options.cache_lifetime_s,
            requests: 0,
            span_ms: None,
            clock: LogClock::default(),
            timeline: Timeline::default(),
            by_kind: [0; KINDS],
            statuses: vec![0; 1000].into(),
            times: TimesByKind::new(),
            sizes: std::array::from_fn(|_| Sizes::new()),
            bytes: ByteCounts::default(),
            cache: [[0; CACHE_OUTCOMES]; KINDS],
            origin: OriginCounts::default(),
            popularity: Popularity::new(),
            clients: ClientCounts::new(options.countries.map(Countries::new).transpose()?),
            replay: CacheReplay::new(&options.cache_sizes, lifetime_s),
            haproxy: None,
            upstream: None,
        })
    }

    /// Number of requests so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Adds a request. Times count from beginnings.
    pub fn take(&mut self, entry: &LogEntry<'_>) {
        let began_ms = entry.began_ms();
        let path = without_query(&entry.path);
        let kind = RequestKind::of(&entry.method, path, entry.host.as_deref());
        self.requests += 1;
        self.by_kind[kind as usize] += 1;
        self.statuses[usize::from(entry.status).min(999)] += 1;
        self.clock.observe(entry.at_ms);
        let (from, to) = self.span_ms.unwrap_or((began_ms, began_ms));
        self.span_ms = Some((from.min(began_ms), to.max(began_ms)));
        let lasted_us = entry.lasted_ms.and_then(times::micros);
        if let Some(us) = lasted_us {
            self.times.record_us(kind, us);
        }
        self.bytes.take(entry);
        if let Some(bytes) = entry.bytes {
            self.sizes[kind as usize].record(bytes);
        }
        if let Some(outcome) = entry.cache {
            self.cache[kind as usize][outcome as usize] += 1;
        }
        let is_through = self.origin.take(entry);
        self.take_server_times(entry);
        self.timeline.add(
            began_ms,
            &TimelineEntry {
                kind,
                is_server_error: entry.status >= 500,
                is_through,
                bytes: entry.bytes.unwrap_or(0),
                lasted_us,
            },
        );
        let url = self.popularity.take(entry, kind);
        let at_s = began_ms.div_euclid(1000);
        self.clients.take(entry, path, kind, at_s);
        self.replay(entry, kind, url, at_s);
    }

    fn take_server_times(&mut self, entry: &LogEntry<'_>) {
        if let Some(details) = &entry.haproxy {
            let haproxy = self.haproxy.get_or_insert_with(|| Box::new(Haproxy::new()));
            haproxy.take(details, entry.status);
        }
        if let Some(times) = &entry.upstream {
            let upstream = self
                .upstream
                .get_or_insert_with(|| Box::new(Upstream::new()));
            upstream.take(times);
        }
    }

    fn replay(&mut self, entry: &LogEntry<'_>, kind: RequestKind, url: u64, at_s: i64) {
        let is_cacheable = matches!(&*entry.method, "GET" | "HEAD")
            && STORABLE.contains(&entry.status)
            && entry.cache != Some(CacheOutcome::Bypass);
        if !is_cacheable {
            return;
        }
        // A 304 and a HEAD have no body; what is stored is the body of others.
        let own = entry
            .bytes
            .filter(|_| entry.status != 304 && entry.method == "GET");
        self.replay.take(
            &Cacheable {
                hash: url,
                key_len: entry.path.len() + entry.host.as_deref().map_or(0, str::len),
                body_len: own,
                at_s,
            },
            kind,
        );
    }
}

impl ByteCounts {
    fn take(&mut self, entry: &LogEntry<'_>) {
        let Some(bytes) = entry.bytes else { return };
        self.known += 1;
        self.total = self.total.saturating_add(bytes);
        if let Some(ratio) = entry.compression_ratio {
            self.has_ratio = true;
            if ratio.is_finite() && ratio > 0.0 {
                self.compressed += 1;
                self.after += bytes as f64;
                self.before += bytes as f64 * f64::from(ratio);
            }
        }
    }
}

impl OriginCounts {
    /// Whether the log tells that the request reached the service.
    fn take(&mut self, entry: &LogEntry<'_>) -> bool {
        let is_through = match (entry.cache, &entry.haproxy, &entry.upstream) {
            (Some(outcome), ..) => !matches!(outcome, CacheOutcome::Hit | CacheOutcome::Stale),
            (None, Some(details), _) => !matches!(details.server, "" | haproxy::NO_SERVER),
            (None, None, Some(_)) => true,
            (None, None, None) => return false,
        };
        self.known += 1;
        self.through += u64::from(is_through);
        is_through
    }
}

impl ClientCounts {
    fn new(countries: Option<Countries>) -> Self {
        Self {
            table: Clients::default(),
            distinct: Distinct::new(),
            countries,
            landings: Frequent::new(LANDINGS_MAX),
            unknown: 0,
            with_agent: 0,
            page_views: 0,
            weight: 0,
            by_agent: 0,
            by_robots: 0,
            by_pace: 0,
            crawler_page_views: 0,
            names: BTreeMap::new(),
        }
    }

    fn take(&mut self, entry: &LogEntry<'_>, path: &str, kind: RequestKind, at_s: i64) {
        let is_page_view = kind == RequestKind::Page
            && entry.method == "GET"
            && matches!(entry.status, 200..300 | 304);
        self.page_views += u64::from(is_page_view);
        let Some(address) = entry.address.as_deref() else {
            self.unknown += 1;
            return;
        };
        let agent = entry.agent.as_deref().unwrap_or_default();
        self.with_agent += u64::from(!agent.is_empty());
        let client = client_hash(address, agent);
        self.distinct.add(client);
        let request = ClientRequest {
            at_s,
            address,
            agent,
            path,
            is_page_view,
        };
        let countries = &mut self.countries;
        let number = |address: &str| countries.as_mut().map_or(0, |list| list.number(address));
        let Some(state) = self.table.take(client, &request, number) else {
            return;
        };
        self.weight += state.weight;
        if let Some(countries) = &mut self.countries {
            countries.count(state.country, state.weight);
        }
        if state.begins_visit {
            let hash = hash::hash(path.as_bytes());
            self.landings.add(hash, ["", path], 0, state.weight);
        }
        match state.sign {
            Some(ProgramSign::Agent(number)) => {
                self.by_agent += state.weight;
                *self.names.entry(number).or_default() += state.weight;
                self.crawler_page_views += u64::from(is_page_view) * state.weight;
            }
            Some(ProgramSign::Robots) => self.by_robots += state.weight,
            Some(ProgramSign::Pace) => self.by_pace += state.weight,
            None => {}
        }
    }
}

fn without_query(path: &str) -> &str {
    match memchr::memchr2(b'?', b'#', path.as_bytes()) {
        Some(end) => &path[..end],
        None => path,
    }
}

/// A moment as RFC 3339 in UTC; one that no calendar has becomes the nearest that it has.
pub(crate) fn moment(at_ms: i64) -> String {
    let moment = jiff::Timestamp::from_millisecond(at_ms);
    let nearest = if at_ms < 0 {
        jiff::Timestamp::MIN
    } else {
        jiff::Timestamp::MAX
    };
    moment.unwrap_or(nearest).to_string()
}

/// The whole number next to a value; what is negative or no number is 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float beyond u64 saturates, and no number is 0"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}
