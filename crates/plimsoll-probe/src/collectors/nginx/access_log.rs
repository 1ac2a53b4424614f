//! nginx, by its access log: how long requests took, and where, at the 95th percentile of each second.

pub(super) mod directives;
pub(super) mod parse;

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_model::metric;

use crate::collectors::link::{ComponentLink, ScrapeError};
use crate::collectors::metrics::{ComponentMetadata, MetricsRecorder, Sink};
use crate::collectors::tail::Tail;
use crate::collectors::{Collected, Scraper};
use parse::{AccessLogLayout, COMBINED, PHASES};

/// The quantile recorded for a second, %.
const QUANTILE: usize = 95;
/// The first status of an error.
const ERRORS: u16 = 400;
/// The remedy for a log without times.
const TIMES: &str = "the access log of nginx holds no request times: add to `http { … }` `log_format times \
    '$remote_addr [$time_local] \"$request\" $status $body_bytes_sent $request_time $upstream_connect_time \
    $upstream_header_time $upstream_response_time';` and write it by `access_log /var/log/nginx/access.log times;`";

/// A log that is followed.
#[derive(Debug)]
pub(crate) struct AccessLogCollector {
    tail: Tail,
    format: AccessLogLayout,
    /// Responses by status, errors only.
    errors: BTreeMap<u16, u64>,
    was_read: bool,
}

impl AccessLogCollector {
    /// Its format is that of the configuration, or nginx' default.
    pub(crate) fn new(path: &Path, known: &ComponentMetadata) -> Self {
        Self {
            tail: Tail::new(path, known.named_by),
            format: AccessLogLayout::new(known.log_format.as_deref().unwrap_or(COMBINED)),
            errors: BTreeMap::new(),
            was_read: false,
        }
    }
}

/// The value below which that share of the others lies.
fn quantile(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let rank = (values.len() * QUANTILE).div_ceil(100);
    values.get(rank.saturating_sub(1)).copied()
}

impl AccessLogCollector {
    fn record(&mut self, text: &str, metrics: &mut MetricsRecorder<'_>) {
        let mut times: [Vec<f64>; PHASES.len()] = Default::default();
        let (mut read, mut strange) = (0_u64, 0_u64);
        for line in self.tail.whole_lines(text).lines() {
            let Some(line) = self.format.line(line) else {
                strange += 1;
                continue;
            };
            read += 1;
            for (all, time) in times.iter_mut().zip(line.times) {
                all.extend(time);
            }
            if let Some(status) = line.status.filter(|&status| status >= ERRORS) {
                *self.errors.entry(status).or_default() += 1;
            }
        }
        self.tail.note_gaps(metrics);
        if !self.was_read && !self.format.has_times() {
            metrics.note("no times", TIMES);
        }
        self.was_read = true;
        if strange > read {
            metrics.note(
                "another format",
                "most lines of the access log of nginx do not match its `log_format`: another server writes it, or \
                 the format was changed without a reload",
            );
        }
        for (phase, all) in PHASES.into_iter().zip(times) {
            metrics.level(metric::NGINX_TIME, &[("phase", phase)], quantile(all));
        }
        for (status, total) in &self.errors {
            let status = status.to_string();
            let labels = [("status", status.as_str())];
            metrics.tally(metric::NGINX_ERRORS, &labels, *total);
        }
    }
}

impl Scraper for AccessLogCollector {
    fn collect(&mut self, _link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let text = self.tail.news()?;
        self.record(&text, sink.answered());
        Ok(())
    }

    fn remedy(&self, _error: &ScrapeError) -> String {
        self.tail.remedy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_second() {
        assert_eq!(quantile(Vec::new()), None);
        assert_eq!(quantile(vec![0.5]), Some(0.5));
        let hundred = (1..=100).rev().map(f64::from).collect();
        assert_eq!(quantile(hundred), Some(95.0));
    }
}
