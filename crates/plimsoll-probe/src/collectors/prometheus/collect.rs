//! Chosen series of a metrics page in the Prometheus format, and the pools in such pages.

use std::collections::BTreeMap;

use plimsoll_model::component::{ComponentAddress, Selector};
use plimsoll_model::metric;

use super::parse::{self, MetricSample, ParsedExposition};
use super::pool_series;
use crate::clock;
use crate::collectors::link::{ComponentLink, ScrapeError, get_once, shortly};
use crate::collectors::metrics::{MetricsRecorder, Sink};
use crate::collectors::{Collected, Scraper};

/// Default path of the page.
const PATH: &str = "/metrics";
/// Series recorded of one page at most.
const SERIES_MAX: usize = 128;
/// Similar names that are listed where one was not found.
const NEAR_MAX: usize = 3;
/// Series that identifies a program's process.
const STARTED: &str = "process_start_time_seconds";

/// A metrics page.
#[derive(Debug, Default)]
pub(crate) struct PrometheusCollector {
    series: Vec<Selector>,
    /// Counters by series as they were last, and when that was.
    before: BTreeMap<String, f64>,
    before_ns: u64,
    was_read: bool,
}

impl PrometheusCollector {
    pub(crate) fn new(place: &ComponentAddress) -> Self {
        let series = match place {
            ComponentAddress::Figures { series, .. } => series.clone(),
            _ => Vec::new(),
        };
        Self {
            series,
            ..Self::default()
        }
    }

    /// Chosen names that are missing, with existing names of the same prefix.
    fn missing(&self, page: &ParsedExposition) -> Option<String> {
        let is_there = |wanted: &&Selector| {
            let mut samples = page.samples.iter();
            samples.any(|sample| wanted.fits(&sample.name, &sample.labels))
        };
        let missing: Vec<&Selector> = self
            .series
            .iter()
            .filter(|wanted| !is_there(wanted))
            .collect();
        let first = missing.first()?;
        let beginning = first.name().split('_').next().unwrap_or_default();
        let near = page.names.iter().filter(|name| name.starts_with(beginning));
        let near: Vec<&str> = near.take(NEAR_MAX).map(String::as_str).collect();
        let near = if near.is_empty() {
            String::new()
        } else {
            format!("; similar names: {}, …", near.join(", "))
        };
        let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
        Some(format!(
            "{} is not among the {} names of the metrics page{near}",
            missing.join(", "),
            page.names.len()
        ))
    }

    fn is_selected(&self, sample: &MetricSample, metrics: &MetricsRecorder<'_>) -> bool {
        let mut series = self.series.iter();
        series.any(|wanted| wanted.fits(&sample.name, &sample.labels))
            || metrics.has_limit(&sample.name)
    }
}

/// Counters of one page, and the time since the last one.
struct CounterTotals<'a> {
    before: &'a BTreeMap<String, f64>,
    now: BTreeMap<String, f64>,
    seconds: f64,
}

impl CounterTotals<'_> {
    /// Increase of a counter per second. A decrease means a reset: that second's increase is left out.
    fn per_second(&mut self, key: String, total: f64) -> Option<f64> {
        let risen = self.before.get(&key).map(|before| total - before);
        self.now.insert(key, total);
        let risen = risen.filter(|&risen| risen >= 0.0 && self.seconds > 0.0)?;
        Some(risen / self.seconds)
    }
}

/// Series with known names, chosen or not.
fn record_pools(
    page: &ParsedExposition,
    totals: &mut CounterTotals<'_>,
    metrics: &mut MetricsRecorder<'_>,
) {
    for sample in page.samples.iter().take(SERIES_MAX) {
        let Some(meaning) = pool_series::meaning(&sample.name, &sample.labels) else {
            continue;
        };
        let labels = [("to", meaning.to), ("pool", meaning.pool)];
        let labels = &labels[..if meaning.to.is_empty() { 0 } else { 2 }];
        let value = if meaning.metric == metric::POOL_WAITS {
            totals.per_second(metric::series(meaning.metric, labels), sample.value)
        } else {
            Some(sample.value)
        };
        metrics.level(meaning.metric, labels, value);
    }
}

/// Note for pages without chosen series and without known names.
const NOTHING_KNOWN: &str = "no series of the metrics page has a name that Plimsoll knows (connection pools, .NET \
    threads): choose some, `series: [NAME, …]`";

fn has_meaning(page: &ParsedExposition, metrics: &MetricsRecorder<'_>) -> bool {
    let mut names = page.names.iter();
    names.any(|name| pool_series::is_known(name) || metrics.has_limit(name))
}

impl PrometheusCollector {
    fn record(&mut self, text: &str, metrics: &mut MetricsRecorder<'_>) -> Collected {
        let page = parse::page(text, |name| {
            name == STARTED
                || pool_series::is_known(name)
                || metrics.has_limit(name)
                || self.series.iter().any(|wanted| wanted.fits_name(name))
        });
        if page.names.is_empty() {
            return Err(ScrapeError::Strange(shortly(text)));
        }
        let started = page.samples.iter().find(|sample| sample.name == STARTED);
        if let Some(started) = started {
            metrics.identity(&started.value.to_string());
        }
        if !self.was_read
            && let Some(missing) = self.missing(&page)
        {
            metrics.note("missing", &missing);
        }
        if !self.was_read && self.series.is_empty() && !has_meaning(&page, metrics) {
            metrics.note("nothing known", NOTHING_KNOWN);
        }
        self.was_read = true;
        let now_ns = clock::now_ns();
        let mut totals = CounterTotals {
            before: &self.before,
            now: BTreeMap::new(),
            seconds: now_ns.saturating_sub(self.before_ns) as f64 / 1e9,
        };
        record_pools(&page, &mut totals, metrics);
        let mut recorded = 0;
        for sample in &page.samples {
            if !self.is_selected(sample, metrics) {
                continue;
            }
            recorded += 1;
            if recorded > SERIES_MAX {
                let text = format!(
                    "only {SERIES_MAX} series of a metrics page are recorded: choose fewer, by labels"
                );
                metrics.note("too many", &text);
                break;
            }
            if !sample.is_counter {
                metrics.own_gauge(&sample.name, &sample.labels, sample.value);
                continue;
            }
            let own = sample.labels.iter();
            let own: Vec<_> = own
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            let key = metric::series(&sample.name, &own);
            let per_second = totals.per_second(key, sample.value);
            metrics.own_counter(&sample.name, &sample.labels, per_second);
        }
        self.before = totals.now;
        self.before_ns = now_ns;
        Ok(())
    }
}

fn fetch(link: &mut ComponentLink) -> Result<String, ScrapeError> {
    let path = link.place().path().unwrap_or(PATH).to_owned();
    get_once(link, &path)
}

impl Scraper for PrometheusCollector {
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let text = fetch(link)?;
        self.record(&text, sink.answered())
    }

    fn remedy(&self, error: &ScrapeError) -> String {
        match error {
            ScrapeError::Denied(_) => {
                "allow access from this machine without a login: Plimsoll sends no \
                credentials"
                    .to_owned()
            }
            _ => "name the URL of the metrics page, such as `watch: { prometheus: { url: \
                http://127.0.0.1:9100/metrics, series: […] } }`; https:// is not supported yet"
                .to_owned(),
        }
    }
}
