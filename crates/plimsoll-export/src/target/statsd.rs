//! `StatsD` over UDP. A second's durations are at most a hundred timings of equal weight, with a sample rate: a receiver that
//! counts the lines has the right percentiles (`StatsD`), and so has one that weighs them (`DogStatsD`).

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use plimsoll_model::histogram::Histogram;

use super::Target;
use crate::definition;
use crate::record::{Point, Record, RunLabels, Value, seconds};
use crate::send_error::SendError;

/// Longest datagram, bytes: fits into a packet of Ethernet.
const DATAGRAM_MAX: usize = 1_400;
/// Most timings of a metric in a second.
const TIMINGS_MAX: u64 = 100;
/// Longest part of a name or of a tag, bytes.
const PART_MAX: usize = 200;

/// The socket.
pub(super) struct Statsd {
    socket: UdpSocket,
    /// With tags of `DogStatsD`.
    has_tags: bool,
    run: RunLabels,
}

impl Statsd {
    pub(super) fn open(
        address: SocketAddr,
        has_tags: bool,
        run: RunLabels,
    ) -> Result<Self, String> {
        let local: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(local).and_then(|socket| {
            socket.connect(address)?;
            Ok(socket)
        });
        Ok(Self {
            socket: socket.map_err(|error| error.to_string())?,
            has_tags,
            run,
        })
    }
}

impl Target for Statsd {
    fn send(&mut self, records: &[Arc<Record>]) -> Result<(), SendError> {
        let mut datagram = String::new();
        let mut result = Ok(());
        for second in seconds(records) {
            for point in &second.points {
                for line in self.lines(point) {
                    if datagram.len() + line.len() + 1 > DATAGRAM_MAX {
                        // An error may be that of the datagram before: this one, or the next, arrives.
                        result = result.and(self.flush(&mut datagram));
                    }
                    datagram.push_str(&line);
                    datagram.push('\n');
                }
            }
        }
        result.and(self.flush(&mut datagram))
    }
}

impl Statsd {
    fn flush(&self, datagram: &mut String) -> Result<(), SendError> {
        if datagram.is_empty() {
            return Ok(());
        }
        let sent = self.socket.send(datagram.as_bytes());
        datagram.clear();
        // Nobody knows whether a datagram arrives: sent again, counts would double.
        sent.map(drop).map_err(|error| SendError {
            message: error.to_string(),
            may_repeat: false,
        })
    }

    fn lines(&self, point: &Point) -> Vec<String> {
        let name = self.name(point);
        let tags = self.tags(point);
        match &point.value {
            Value::Gauge(level) if *level >= 0.0 => vec![format!("{name}:{level}|g{tags}")],
            // A gauge with a sign is a change.
            Value::Gauge(level) => vec![
                format!("{name}:0|g{tags}"),
                format!("{name}:{level}|g{tags}"),
            ],
            Value::Counter { increase, .. } if *increase > 0.0 => {
                vec![format!("{name}:{increase}|c{tags}")]
            }
            Value::Counter { .. } => Vec::new(),
            Value::Times { second, .. } => timings(&name, second, self.sample(point), &tags),
        }
    }

    /// How observations are written. `StatsD` has timings alone, `DogStatsD` has histograms of anything.
    fn sample(&self, point: &Point) -> SampleFormat {
        match (point.definition.is_time(), self.has_tags) {
            (true, _) => SampleFormat::MILLISECONDS,
            (false, has_tags) => SampleFormat {
                kind: if has_tags { "h" } else { "ms" },
                per_unit: 1e6,
            },
        }
    }

    /// `plimsoll.requests`, and without tags the labels' values behind it: `plimsoll.requests.ok`.
    fn name(&self, point: &Point) -> String {
        let name = &*point.definition.prometheus;
        let name = name.strip_prefix("plimsoll_").unwrap_or(name);
        let name = name.trim_end_matches("_total").trim_end_matches("_seconds");
        let mut name = format!("plimsoll.{name}");
        if !self.has_tags {
            for (_, value) in &point.labels {
                name.push('.');
                push_plain(&mut name, value);
            }
        }
        name
    }

    fn tags(&self, point: &Point) -> String {
        if !self.has_tags {
            return String::new();
        }
        let mut tags = String::from("|#run:");
        push_plain(&mut tags, &self.run.run);
        for (name, value) in &point.labels {
            let _ = write!(tags, ",{}:", definition::tag(name));
            push_plain(&mut tags, value);
        }
        tags
    }
}

/// How an observation is written.
#[derive(Clone, Copy, Debug)]
struct SampleFormat {
    /// Type of the protocol.
    kind: &'static str,
    /// Recorded units in one of those that are written.
    per_unit: f64,
}

impl SampleFormat {
    /// Timings.
    const MILLISECONDS: Self = Self {
        kind: "ms",
        per_unit: 1e3,
    };
}

/// Observations with three decimals, the least first.
fn timings(name: &str, second: &Histogram, format: SampleFormat, tags: &str) -> Vec<String> {
    let SampleFormat { kind, per_unit } = format;
    let lines = parts(second).into_iter().map(|(len, recorded)| {
        let value = recorded / per_unit;
        match len {
            1 => format!("{name}:{value:.3}|{kind}{tags}"),
            _ => format!("{name}:{value:.3}|{kind}|@{}{tags}", sample_rate(len)),
        }
    });
    lines.collect()
}

/// The observations of a second in parts of equal size, fastest first: how many they are, and their mean, µs.
fn parts(second: &Histogram) -> Vec<(u64, f64)> {
    let count = second.count();
    let part_count = count.min(TIMINGS_MAX);
    let mut buckets = second.buckets().iter().copied();
    let (mut value, mut left) = (0, 0);
    let mut parts = Vec::new();
    for part in 0..part_count {
        let len = (part + 1) * count / part_count - part * count / part_count;
        let (mut sum, mut missing) = (0.0, len);
        while missing > 0 {
            if left == 0 {
                let Some(bucket) = buckets.next() else { break };
                (value, left) = bucket;
            }
            let taken = left.min(missing);
            sum += value as f64 * taken as f64;
            (left, missing) = (left - taken, missing - taken);
        }
        parts.push((len, sum / len as f64));
    }
    parts
}

/// The rate of one line for `len`. A receiver that cuts its reciprocal to an integer has `len`, too.
fn sample_rate(len: u64) -> f64 {
    let rate = 1.0 / len as f64;
    if 1.0 / rate < len as f64 {
        rate.next_down()
    } else {
        rate
    }
}

/// A part of a name or a tag: without the separators of the protocol, and not longer than a line may be.
fn push_plain(text: &mut String, part: &str) {
    let is_plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let end = text.len() + PART_MAX;
    for c in part.chars().map(|c| if is_plain(c) { c } else { '_' }) {
        if text.len() + c.len_utf8() > end {
            break;
        }
        text.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(counts: &[(u64, u64)]) -> Histogram {
        let mut second = Histogram::new();
        for &(us, count) in counts {
            second.record(us, count);
        }
        second
    }

    #[test]
    fn timings_keep_number_sum_and_percentiles() {
        for counts in [
            &[(900, 7), (1_000, 1), (250_000, 1_234)][..],
            &[(900, 1)],
            &[(500, 901), (2_000, 98), (9_000_000, 1)],
            &[(500, 30), (700, 69)],
        ] {
            let second = second(counts);
            let parts = parts(&second);
            let (count, lines) = (second.count(), parts.len() as u64);
            assert_eq!(parts.iter().map(|part| part.0).sum::<u64>(), count);
            assert!(lines == count.min(TIMINGS_MAX));
            let (shortest, longest) = (count / lines, count.div_ceil(lines));
            assert!(
                parts
                    .iter()
                    .all(|part| part.0 == shortest || part.0 == longest)
            );
            let sum: f64 = parts.iter().map(|&(len, us)| len as f64 * us).sum();
            let buckets = second.buckets().iter();
            let expected: f64 = buckets.map(|&(us, count)| (us * count) as f64).sum();
            assert!((sum / expected - 1.0).abs() < 1e-9, "{parts:?}");
            // A part is the share of its rank: between the percentiles around it.
            for (index, &(_, us)) in parts.iter().enumerate() {
                let at = |part: usize| second.quantile(part as f64 / lines as f64).unwrap();
                let (from, to) = (at(index), at(index + 1));
                assert!((from as f64..=to as f64).contains(&us), "{index}: {us}");
            }
        }
        let timings = |second: &Histogram, tags: &str| {
            super::timings("t", second, SampleFormat::MILLISECONDS, tags)
        };
        assert_eq!(timings(&Histogram::new(), ""), [""; 0]);
        assert_eq!(timings(&second(&[(900, 1)]), "|#a:b"), ["t:0.900|ms|#a:b"]);
    }

    #[test]
    fn a_score_is_no_time() {
        let score = |has_tags: bool| {
            let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let run = RunLabels {
                run: "r".to_owned(),
                command: "run",
            };
            let statsd = Statsd::open(receiver.local_addr().unwrap(), has_tags, run).unwrap();
            let point = Point {
                definition: definition::PAGE_CLS,
                labels: vec![("page".to_owned(), "news".to_owned())],
                value: Value::Times {
                    total: Arc::default(),
                    second: second(&[(250_000, 1)]),
                },
            };
            statsd.lines(&point)
        };
        assert_eq!(score(false), ["plimsoll.page_cls.news:0.250|ms"]);
        assert_eq!(score(true), ["plimsoll.page_cls:0.250|h|#run:r,page:news"]);
    }

    #[test]
    fn a_sample_rate_gives_the_number_back() {
        for len in (1..10_000).chain([1_000_003, 999_999_999]) {
            let read: f64 = sample_rate(len).to_string().parse().unwrap();
            let back = 1.0 / read;
            assert!(
                back >= len as f64 && back - (len as f64) < 1e-6 * back,
                "{len}"
            );
        }
    }

    #[test]
    fn parts_of_names_are_short_and_plain() {
        let mut text = String::new();
        push_plain(&mut text, &format!("a b:|#,{}", "ö".repeat(500)));
        assert!(text.starts_with("a_b____ö"), "{text}");
        assert_eq!(text.len(), PART_MAX - 1);
    }
}
