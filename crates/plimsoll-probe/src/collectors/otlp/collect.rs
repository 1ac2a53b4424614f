//! A receiver of OTLP: traced services export their spans, and the time of each route is broken down; metrics become
//! readings.
//!
//! The receiver accepts messages at any time; once a second complete requests are added up and recorded.

use plimsoll_model::component::ComponentAddress;
use plimsoll_model::metric;

use super::receiver::Receiver;
use crate::clock;
use crate::collectors::link::{ComponentLink, ScrapeError};
use crate::collectors::metrics::{MetricsRecorder, Sink};
use crate::collectors::receiving::{Receiving, SILENT_MAX};
use crate::collectors::{Collected, Scraper};

/// Share of spans without a request from which a note is made.
const WITHOUT_REQUEST: f64 = 0.05;

/// The receiver, and its notes so far.
#[derive(Debug)]
pub(crate) struct OtlpCollector {
    receiving: Receiving<Receiver>,
    came: u64,
    has_metrics: bool,
    without_request: u64,
    is_loss_reported: bool,
}

impl OtlpCollector {
    pub(crate) fn new(place: &ComponentAddress) -> Self {
        Self {
            receiving: Receiving::at(place.clone(), Receiver::open),
            came: 0,
            has_metrics: false,
            without_request: 0,
            is_loss_reported: false,
        }
    }

    fn report_silence(&mut self, metrics: &mut MetricsRecorder<'_>) {
        if !self.receiving.is_silent(self.came > 0 || self.has_metrics) {
            return;
        }
        let text = format!(
            "no spans arrived at {place} in {SILENT_MAX} s; give the service OTEL_TRACES_EXPORTER=otlp, \
             OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, OTEL_EXPORTER_OTLP_ENDPOINT=http://{place} and \
             OTEL_BSP_SCHEDULE_DELAY=1000 (without the last, spans arrive five seconds late); for its metrics \
             OTEL_METRICS_EXPORTER=otlp and OTEL_METRIC_EXPORT_INTERVAL=1000",
            place = self.receiving.place()
        );
        metrics.note("silent", &text);
    }

    fn report_loss(&mut self, metrics: &mut MetricsRecorder<'_>) {
        let share = self.without_request as f64 / self.came.max(1) as f64;
        if share < WITHOUT_REQUEST || self.came < 1000 || self.is_loss_reported {
            return;
        }
        self.is_loss_reported = true;
        let text = format!(
            "{:.0} % of the spans belong to no known request: components that handle requests must be traced too \
             (spans of kind SERVER or CONSUMER), and be sampled together with their calls \
             (OTEL_TRACES_SAMPLER=parentbased_traceidratio)",
            share * 100.0
        );
        metrics.note("without request", &text);
    }
}

impl Scraper for OtlpCollector {
    fn collect(&mut self, _link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let (receiver, seconds) = self.receiving.sample()?;
        let metrics = sink.answered();
        let has_metrics = {
            let mut meters = receiver.meters();
            meters.record(clock::now_ns(), metrics);
            meters.has_received()
        };
        let (fate, refused) = {
            let mut gather = receiver.gather();
            gather.fold(clock::now_ns());
            gather.totals.record(seconds, metrics);
            for (service, least_s) in gather.clocks.least() {
                let labels = [("service", service)];
                metrics.level(metric::TRACE_CLOCK, &labels, Some(least_s));
            }
            let news = gather.clocks.news();
            if !news.is_empty() {
                metrics.note("clock", &news.join("; "));
            }
            (gather.fate(), receiver.take_refusal())
        };
        self.has_metrics = has_metrics;
        self.came += fate.came;
        self.without_request += fate.without_request;
        let per_second = |count: u64| Some(count as f64 / seconds).filter(|rate| rate.is_finite());
        metrics.level(metric::TRACE_SPANS, &[], per_second(fate.came));
        let lost = fate.left_out + fate.without_request;
        metrics.level(metric::TRACE_SPANS_LOST, &[], per_second(lost));
        if let Some(reason) = refused {
            metrics.note("refused", &reason);
        }
        if fate.left_out > 0 {
            let text = "more spans arrived than can be held until their requests are complete; trace a share of the \
                requests: OTEL_TRACES_SAMPLER=parentbased_traceidratio, OTEL_TRACES_SAMPLER_ARG=0.1";
            metrics.note("too many", text);
        }
        self.report_silence(metrics);
        self.report_loss(metrics);
        Ok(())
    }

    fn remedy(&self, _error: &ScrapeError) -> String {
        "name an address of this machine and a free port, such as `watch: { otlp: 127.0.0.1:4318 }`"
            .to_owned()
    }
}
