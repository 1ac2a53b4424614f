//! Offset of services' clocks from this machine's, by the spans that they send. No figure mixes two clocks; where
//! they differ, logs of several machines cannot be compared directly.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::parse::OtlpSpan;

/// Distinct services at most.
const SERVICES_MAX: usize = 64;
/// A span that ended so far in the future was timed by a clock that is ahead, s.
const AHEAD_S: f64 = 0.5;
/// SDKs export finished spans within seconds; if no span arrives sooner than this, the clock is behind, s.
const BEHIND_S: f64 = 15.0;
/// Number of spans from which the earliest arrival is meaningful.
const SPANS_MIN: u64 = 20;

#[derive(Clone, Copy, Debug)]
struct ServiceClock {
    spans: u64,
    /// Shortest time between a span's end by their clock and its arrival by ours, s; below zero where it arrived
    /// before it ended.
    least_s: f64,
    is_reported: bool,
}

/// Services, and how far their clocks are.
#[derive(Debug, Default)]
pub(super) struct Clocks(BTreeMap<Arc<str>, ServiceClock>);

impl Clocks {
    /// Records spans that arrived at a time, ns since 1970.
    pub(super) fn take(&mut self, spans: &[OtlpSpan], wall_ns: u64) {
        for span in spans.iter().filter(|span| span.end_ns > 0) {
            if self.0.len() >= SERVICES_MAX && !self.0.contains_key(&span.service) {
                continue;
            }
            let later = wall_ns.saturating_sub(span.end_ns) as f64;
            let sooner = span.end_ns.saturating_sub(wall_ns) as f64;
            let clock = self
                .0
                .entry(Arc::clone(&span.service))
                .or_insert(ServiceClock {
                    spans: 0,
                    least_s: f64::INFINITY,
                    is_reported: false,
                });
            clock.spans += 1;
            clock.least_s = clock.least_s.min((later - sooner) / 1e9);
        }
    }

    /// Services with the shortest delay of their spans, s: below zero their clocks are ahead by at least that.
    pub(super) fn least(&self) -> impl Iterator<Item = (&str, f64)> {
        let sure = self.0.iter().filter(|(_, clock)| clock.spans >= SPANS_MIN);
        sure.map(|(service, clock)| (&**service, clock.least_s))
    }

    /// Notes on clocks that are off, each once.
    pub(super) fn news(&mut self) -> Vec<String> {
        let mut news = Vec::new();
        for (service, clock) in &mut self.0 {
            if clock.is_reported || clock.spans < SPANS_MIN {
                continue;
            }
            let (least_s, spans) = (clock.least_s, clock.spans);
            let off = if least_s < -AHEAD_S {
                format!("at least {:.1} s ahead of", -least_s)
            } else if least_s > BEHIND_S {
                format!("up to {least_s:.1} s behind")
            } else {
                continue;
            };
            clock.is_reported = true;
            news.push(format!(
                "the clock of {service} is {off} this machine's, according to {spans} spans: no figure here mixes \
                 both clocks, but times in its logs do not match this report; synchronize it by NTP (`timedatectl \
                 set-ntp true`)"
            ));
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::SpanKind;
    use super::*;

    fn spans(service: &str, end_s: u64) -> Vec<OtlpSpan> {
        let span = OtlpSpan {
            service: Arc::from(service),
            trace: 1,
            id: 1,
            parent: 0,
            kind: SpanKind::Server,
            name: "x".to_owned(),
            start_ns: 1,
            end_ns: end_s * 1_000_000_000,
            is_error: false,
            attributes: Vec::new(),
        };
        vec![span; 30]
    }

    #[test]
    fn clocks_that_are_off_are_told_once() {
        let mut clocks = Clocks::default();
        let moment_s = 1_700_000_000;
        let now_ns = moment_s * 1_000_000_000;
        clocks.take(&spans("shop", moment_s - 5), now_ns);
        clocks.take(&spans("pay", moment_s + 7), now_ns);
        clocks.take(&spans("mail", moment_s - 90), now_ns);
        let news = clocks.news();
        assert_eq!(news.len(), 2, "{news:?}");
        assert!(news[0].starts_with(
            "the clock of mail is up to 90.0 s behind this machine's, according to 30 spans"
        ));
        assert!(news[1].starts_with("the clock of pay is at least 7.0 s ahead of this machine's"));
        assert_eq!(clocks.news(), Vec::<String>::new());
        let least: Vec<_> = clocks
            .least()
            .map(|(service, least)| (service.to_owned(), least.round()))
            .collect();
        assert_eq!(
            least,
            [
                ("mail".to_owned(), 90.0),
                ("pay".to_owned(), -7.0),
                ("shop".to_owned(), 5.0)
            ]
        );
    }
}
