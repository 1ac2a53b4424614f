//! What the page needs of an event, reduced where the event happens: numbers, and no histograms.

use plimsoll_analysis::verdict::lag_bound_us;
use plimsoll_model::browser::PageVisit;
use plimsoll_model::event::{Event, Header, WatchHeader};
use plimsoll_model::histogram::Histogram;
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::redact;
use plimsoll_model::trial::{Trial, TrialKind, TrialSpec};
use plimsoll_model::window::Window;
use serde_json::{Value, json};

use crate::columns::{ColumnValue, Merge};
use crate::readings::{SeriesChoice, ShownSeries};
use crate::text::clip;
use crate::workers;

/// Steps shown one by one.
pub(crate) const STEPS_MAX: usize = 40;

/// What has happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Update {
    /// A run began; all of an earlier one goes.
    Began { head: Value, steps: Vec<Value> },
    /// Values of one second.
    Values {
        second: u32,
        values: Vec<ColumnValue>,
    },
    /// Steps or series that appeared.
    Named {
        section: &'static str,
        entries: Vec<Value>,
    },
    /// A trial began.
    TrialBegan(Value),
    /// A trial was judged.
    TrialEnded(Value),
    /// A sentence for the reader, or a moment that somebody marked.
    Noted { section: &'static str, entry: Value },
    /// A line of the log of an experiment.
    Experiment(Value),
    /// A part that replaces what was there: the progress, the findings, the ending.
    Section { name: &'static str, value: Value },
}

/// Reduces the events of one run after another.
#[derive(Debug, Default)]
pub(crate) struct Reducer {
    objective: Option<Objective>,
    cores: f64,
    series: SeriesChoice,
    /// A server that does nothing is measured, whose rates would dwarf those of the target.
    is_self_test: bool,
    /// Viewers may change the load.
    may_change: bool,
}

impl Reducer {
    /// The same, of a load that viewers may change.
    pub(crate) fn changeable(may_change: bool) -> Self {
        Self {
            may_change,
            ..Self::default()
        }
    }

    /// The updates of an event, in order.
    pub(crate) fn reduce(&mut self, event: &Event) -> Vec<Update> {
        match event {
            Event::RunStarted(header) => vec![self.begin(header)],
            Event::WatchStarted(header) => vec![self.begin_watch(header)],
            Event::TrialStarted {
                index,
                second,
                spec,
            } => {
                self.is_self_test = spec.kind == TrialKind::SelfTest;
                vec![Update::TrialBegan(begun_entry(*index, *second, spec))]
            }
            Event::WindowClosed(_) if self.is_self_test => Vec::new(),
            Event::WindowClosed(window) => self.window(window),
            Event::ReadingsTaken(readings) => {
                let (named, values) = self.series.of(readings);
                let named = Update::Named {
                    section: "series",
                    entries: named.iter().map(ShownSeries::entry).collect(),
                };
                let values = Update::Values {
                    second: readings.second,
                    values,
                };
                vec![named, values]
            }
            Event::PageVisited(visit) => vec![visited(visit)],
            // Their sum is shown while it grows.
            Event::WorkersEnded(records) => section("workers", workers::entries(records)),
            Event::TrialEnded(trial) => vec![Update::TrialEnded(trial_entry(trial))],
            Event::NoteMade { second, text } => vec![noted("notes", *second, text)],
            Event::MomentMarked { second, text } => vec![noted("marks", *second, text)],
            Event::LoadChanged {
                second, to, unit, ..
            } => vec![noted("marks", *second, &format!("{to} {}", unit.symbol()))],
            Event::StopRequested { second, by } => {
                vec![noted("marks", *second, &format!("stopped from {by}"))]
            }
            Event::LineEstimated {
                second,
                low,
                median,
                high,
            } => vec![estimate(*second, (*low, *median, *high))],
            Event::SearchEnded(result) => section("search", json!(result)),
            Event::GateEnded(result) => section("gate", json!(result)),
            Event::FindingsMade(findings) => {
                section("findings", json!({ "is_final": true, "list": findings }))
            }
            Event::RunEnded { verdict, void, .. } => {
                let void: Vec<String> = void.iter().map(ToString::to_string).collect();
                section("ending", json!({ "verdict": verdict, "void": void }))
            }
        }
    }

    fn begin(&mut self, header: &Header) -> Update {
        let plan = &header.plan;
        self.objective.clone_from(&plan.objective);
        self.cores = f64::from(plan.cores);
        self.series = SeriesChoice::default();
        self.is_self_test = false;
        let scenario = plan.scenario.as_ref();
        let steps = scenario.map_or(&[][..], |scenario| scenario.steps.as_slice());
        let steps = (0_u64..).zip(steps).take(STEPS_MAX);
        let bound = plan.objective.as_ref().and_then(Objective::strictest);
        let unit = plan.find.map_or(LoadUnit::default(), |find| find.unit);
        let changes = plan.load.changeable_unit().ok();
        let changes = changes.filter(|_| self.may_change && header.command == "run");
        let head = json!({
            "kind": header.command,
            "name": plan.name,
            "target": plan.target.url,
            "started_at": header.started_at,
            "objective": plan.objective.as_ref().map(ToString::to_string),
            "bound": bound.map(|bound| json!({ "quantile": bound.quantile_name(), "us": bound.within_us })),
            "unit": unit.symbol(),
            "has_users": scenario.is_some(),
            "changes": changes.map(LoadUnit::symbol),
            "journeys": scenario.map(|scenario| scenario.journeys.iter().map(|journey| clip(&journey.name)).collect::<Vec<_>>()),
        });
        Update::Began {
            head,
            steps: steps
                .map(|(id, step)| step_entry(id, &step.label, step.journey))
                .collect(),
        }
    }

    fn begin_watch(&mut self, header: &WatchHeader) -> Update {
        *self = Self::default();
        Update::Began {
            head: json!({
                "kind": "watch",
                "target": header.target,
                "started_at": header.started_at,
            }),
            steps: Vec::new(),
        }
    }

    fn window(&self, window: &Window) -> Vec<Update> {
        let mut updates = Vec::with_capacity(2);
        if !window.steps_named.is_empty() {
            let named = window.steps_named.iter();
            let entries = named
                .map(|(id, info)| step_entry(u64::from(*id), &info.label, info.journey))
                .filter(|entry| entry["id"].as_u64().is_some_and(|id| id < STEPS_MAX as u64));
            updates.push(Update::Named {
                section: "steps",
                entries: entries.collect(),
            });
        }
        updates.push(Update::Values {
            second: window.second,
            values: self.values(window),
        });
        updates
    }

    fn values(&self, window: &Window) -> Vec<ColumnValue> {
        let mut row = Row::default();
        row.mean("offered", window.offered as f64);
        row.mean("completed", window.completed() as f64);
        row.mean("failed", window.outcomes.failed() as f64);
        for (outcome, count) in window.outcomes.iter() {
            if count > 0 && !outcome.is_ok() {
                row.mean(&format!("fail.{}", outcome.name()), count as f64);
            }
        }
        row.percentiles(
            "",
            &window.response,
            &[("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)],
        );
        row.phases(window);
        row.max("in_flight", window.in_flight as f64);
        row.max("waiting", window.waiting as f64);
        row.max("connections", window.connections as f64);
        row.mean("bytes_in", window.bytes_in as f64);
        row.mean("bytes_out", window.bytes_out as f64);
        if window.users > 0 {
            row.max("users", window.users as f64);
        }
        row.percentiles("", &window.lag, &[("lag_p99", 0.99)]);
        if let Some(websocket) = &window.websocket {
            row.mean("ws.in", websocket.messages_in as f64);
            row.mean("ws.out", websocket.messages_out as f64);
        }
        for (id, step) in window.steps.iter().take(STEPS_MAX) {
            let prefix = format!("step.{id}.");
            row.mean(&format!("{prefix}completed"), step.outcomes.total() as f64);
            row.mean(&format!("{prefix}failed"), step.outcomes.failed() as f64);
            row.percentiles(
                &prefix,
                &step.response,
                &[("p50", 0.5), ("p95", 0.95), ("p99", 0.99)],
            );
        }
        row.max("void", if self.is_void(window) { 1.0 } else { 0.0 });
        row.values
    }

    /// Whether the generator lacked something in this second, as a verdict judges it for a whole trial.
    fn is_void(&self, window: &Window) -> bool {
        let bound = self.objective.as_ref().map_or(1000.0, lag_bound_us);
        let lag = window.lag.quantile(0.99).unwrap_or(0) as f64;
        let generator = window.generator;
        let cores = self.cores.max(1.0);
        lag > bound
            || generator.ports_exhausted > 0
            || generator.descriptors_exhausted > 0
            || generator.loop_cpu_us as f64 > 0.85e6 * cores
    }
}

/// Values of one second under their keys.
#[derive(Default)]
struct Row {
    values: Vec<ColumnValue>,
}

impl Row {
    fn put(&mut self, key: &str, merge: Merge, value: f64) {
        self.values.push(ColumnValue {
            key: key.to_owned(),
            merge,
            value,
        });
    }

    fn mean(&mut self, key: &str, value: f64) {
        self.put(key, Merge::Mean, value);
    }

    fn max(&mut self, key: &str, value: f64) {
        self.put(key, Merge::Max, value);
    }

    /// Nothing without observations.
    fn percentiles(&mut self, prefix: &str, histogram: &Histogram, quantiles: &[(&str, f64)]) {
        for &(name, quantile) in quantiles {
            if let Some(value) = histogram.quantile(quantile) {
                self.max(&format!("{prefix}{name}"), value as f64);
            }
        }
    }

    /// Where the time of a good answer goes: means that add up to its response time, and what new connections take before.
    fn phases(&mut self, window: &Window) {
        if let (Some(response), Some(service)) = (window.response.mean(), window.service.mean()) {
            // An answer that was read at once has its first byte with its last.
            let partial = window.partial.as_deref();
            let transfer = partial.and_then(|partial| {
                let all = partial.transfer.mean()? * partial.transfer.count() as f64;
                Some(all / window.service.count() as f64)
            });
            let transfer = transfer.unwrap_or(0.0);
            // Both are means of buckets.
            self.mean("phase.before", (response - service).max(0.0));
            self.mean("phase.first_byte", (service - transfer).max(0.0));
            self.mean("phase.transfer", transfer);
        }
        for (key, histogram) in [
            ("phase.connect", &window.connect),
            ("phase.tls", &window.tls),
        ] {
            if let Some(mean) = histogram.mean() {
                self.mean(key, mean);
            }
        }
    }
}

/// What a browser measured, in the second in which the visit ended; of several the worst.
fn visited(visit: &PageVisit) -> Update {
    let mut row = Row::default();
    let times = &visit.times;
    for (key, time) in [
        ("page.first_paint", times.first_contentful_paint_us),
        ("page.largest_paint", times.largest_contentful_paint_us),
        ("page.ready", times.ready_us),
    ] {
        if let Some(us) = time.filter(|_| visit.is_ready()) {
            row.max(key, us as f64);
        }
    }
    if let Some(ppm) = times.layout_shift_ppm.filter(|_| visit.is_ready()) {
        row.max("page.layout_shift", ppm as f64 / 1e6);
    }
    row.max("page.failed", if visit.is_ready() { 0.0 } else { 1.0 });
    Update::Values {
        second: visit.second,
        values: row.values,
    }
}

/// The load line as the search estimates it: three columns of the time axis.
pub(crate) fn estimate(second: u32, (low, median, high): (f64, f64, f64)) -> Update {
    let mut row = Row::default();
    for (key, value) in [
        ("line.low", low),
        ("line.median", median),
        ("line.high", high),
    ] {
        row.mean(key, value);
    }
    Update::Values {
        second,
        values: row.values,
    }
}

fn section(name: &'static str, value: Value) -> Vec<Update> {
    vec![Update::Section { name, value }]
}

fn noted(section: &'static str, second: u32, text: &str) -> Update {
    Update::Noted {
        section,
        entry: json!({ "second": second, "text": clip(&redact::text(text)) }),
    }
}

fn step_entry(id: u64, label: &str, journey: u32) -> Value {
    json!({ "id": id, "label": clip(label), "journey": journey })
}

fn begun_entry(index: u32, second: u32, spec: &TrialSpec) -> Value {
    json!({
        "index": index, "start": second, "kind": spec.kind.name(), "load": spec.rate,
        "unit": spec.unit.symbol(), "end": second + spec.offered_s(),
    })
}

fn trial_entry(trial: &Trial) -> Value {
    use plimsoll_model::verdict::TrialVerdict;
    let why = match &trial.verdict {
        TrialVerdict::Pass => Vec::new(),
        TrialVerdict::Fail { reason } => vec![json!(reason)],
        TrialVerdict::Void { reasons } => reasons
            .iter()
            .map(|reason| json!(reason.to_string()))
            .collect(),
    };
    json!({
        "index": trial.index,
        "kind": trial.spec.kind.name(),
        "load": trial.spec.rate,
        "unit": trial.spec.unit.symbol(),
        "counts": trial.spec.kind.counts_for_line(),
        "start": trial.start_second,
        "from": trial.measured.0,
        "to": trial.measured.1,
        "verdict": trial.verdict.name(),
        "why": why,
        "throughput": trial.throughput,
        "errors": trial.errors,
        "requests": trial.requests,
        "p50": trial.response_us.p50,
        "p95": trial.response_us.p95,
        "p99": trial.response_us.p99,
        "objective_us": trial.objective_us,
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_model::browser::{PageTimes, VisitFailure};
    use plimsoll_model::window::PartialReads;

    use super::*;

    /// The values of the only update of an event, by key.
    fn values(event: &Event) -> Vec<(String, f64)> {
        let updates = Reducer::default().reduce(event);
        let [Update::Values { second: 7, values }] = &updates[..] else {
            panic!("{updates:?}");
        };
        let values = values.iter();
        values
            .map(|value| (value.key.clone(), value.value))
            .collect()
    }

    #[test]
    fn phases_of_an_answer_add_up_to_its_response_time() {
        let mut window = Window::new(7);
        window.response.record(100, 3);
        window.response.record(60, 1);
        window.service.record(50, 4);
        window.connect.record(20, 2);
        let mut partial = PartialReads::default();
        partial.service.record(50, 1);
        partial.first_byte.record(30, 1);
        partial.transfer.record(20, 1);
        window.partial = Some(Box::new(partial));
        let values = values(&Event::WindowClosed(Box::new(window)));
        let of = |key: &str| values.iter().find(|(name, _)| name == key).map(|it| it.1);
        let [before, first, transfer] =
            ["phase.before", "phase.first_byte", "phase.transfer"].map(|key| of(key).unwrap());
        assert!((before + first + transfer - 90.0).abs() < 0.5, "{values:?}");
        assert!((before - 40.0).abs() < 0.5 && (transfer - 5.0).abs() < 0.5);
        assert_eq!(of("phase.connect"), Some(20.0));
        assert_eq!(of("phase.tls"), None);
    }

    #[test]
    fn a_visit_is_shown_in_the_second_in_which_it_ended() {
        let times = PageTimes {
            first_contentful_paint_us: Some(100_000),
            ready_us: Some(400_000),
            layout_shift_ppm: Some(250_000),
            ..PageTimes::default()
        };
        let visit = PageVisit {
            second: 7,
            times,
            ..PageVisit::default()
        };
        let shown = |visit: &PageVisit| values(&Event::PageVisited(Box::new(visit.clone())));
        let known = [
            ("page.first_paint", 1e5),
            ("page.ready", 4e5),
            ("page.layout_shift", 0.25),
            ("page.failed", 0.0),
        ];
        assert_eq!(
            shown(&visit),
            known.map(|(key, value)| (key.to_owned(), value))
        );
        let failed = PageVisit {
            failure: Some(VisitFailure::Timeout),
            ..visit
        };
        assert_eq!(shown(&failed), [("page.failed".to_owned(), 1.0)]);
    }
}
