//! A span receiver: traced services export their spans, and the time of each route is broken down.
//!
//! The receiver accepts messages at any time; once a second complete requests are added up and recorded.

use std::io;

use plimsoll_model::component::ComponentAddress;
use plimsoll_model::metric;

use super::receiver::Receiver;
use crate::clock;
use crate::collectors::Scraper;
use crate::collectors::link::{ComponentLink, ScrapeError};
use crate::collectors::metrics::{MetricsRecorder, Sink};

/// Seconds without a span after which a note explains how to export spans.
const SILENT_MAX: u32 = 10;
/// Share of spans without a request from which a note is made.
const WITHOUT_REQUEST: f64 = 0.05;

/// The receiver, and its notes so far.
#[derive(Debug)]
pub(crate) struct OtlpCollector {
    place: ComponentAddress,
    receiver: io::Result<Receiver>,
    before_ns: u64,
    seconds: u32,
    came: u64,
    without_request: u64,
    is_silence_reported: bool,
    is_loss_reported: bool,
}

impl OtlpCollector {
    pub(crate) fn new(place: &ComponentAddress) -> Self {
        Self {
            receiver: open(place),
            place: place.clone(),
            before_ns: clock::now_ns(),
            seconds: 0,
            came: 0,
            without_request: 0,
            is_silence_reported: false,
            is_loss_reported: false,
        }
    }

    fn report_silence(&mut self, metrics: &mut MetricsRecorder<'_>) {
        self.seconds = self.seconds.saturating_add(1);
        if self.came > 0 || self.seconds < SILENT_MAX || self.is_silence_reported {
            return;
        }
        self.is_silence_reported = true;
        let text = format!(
            "no spans arrived at {place} in {SILENT_MAX} s; give the service OTEL_TRACES_EXPORTER=otlp, \
             OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, OTEL_EXPORTER_OTLP_ENDPOINT=http://{place} and \
             OTEL_BSP_SCHEDULE_DELAY=1000 (without the last, spans arrive five seconds late)",
            place = self.place
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

fn open(place: &ComponentAddress) -> io::Result<Receiver> {
    match place {
        ComponentAddress::Tcp { host, port } => Receiver::open(host, *port),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

impl Scraper for OtlpCollector {
    fn collect(
        &mut self,
        _link: &mut ComponentLink,
        sink: &mut Sink<'_>,
    ) -> Result<(), ScrapeError> {
        if self.receiver.is_err() {
            self.receiver = open(&self.place);
        }
        let receiver = match &self.receiver {
            Ok(receiver) => receiver,
            Err(error) => return Err(ScrapeError::CannotListen(error.to_string())),
        };
        let metrics = sink.answered();
        let now_ns = clock::now_ns();
        let seconds = now_ns.saturating_sub(self.before_ns) as f64 / 1e9;
        self.before_ns = now_ns;
        let (fate, refused) = {
            let mut gather = receiver.gather();
            gather.fold(now_ns);
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
