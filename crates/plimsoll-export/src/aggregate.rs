//! From the events of a run to points: counters and histograms since its start.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_model::browser::PageVisit;
use plimsoll_model::event::{Event, Header, WatchHeader};
use plimsoll_model::histogram::Histogram;
use plimsoll_model::journey::{StepId, StepInfo};
use plimsoll_model::load_line::{Estimate, SearchResult};
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::reading::{Readings, SeriesInfo, SeriesKind};
use plimsoll_model::redact;
use plimsoll_model::trial::Trial;
use plimsoll_model::verdict::{TrialVerdict, Verdict};
use plimsoll_model::websocket::WebSocketWindow;
use plimsoll_model::window::Window;

use crate::definition::{self as metric, Definition};
use crate::exponential::Exponential;
use crate::record::{Moment, MomentKind, Point, Record, Second, Value};

/// Most series of a run; those that come later are left out.
const SERIES_MAX: usize = 20_000;

/// Most visits that wait for the next second; those that come later are left out.
const VISITS_MAX: usize = 1_000;

/// A load line above this is one that nothing bounds.
const LINE_MAX: f64 = 1e12;

type Key = (String, Vec<(String, String)>);

/// State of a run since its start.
#[derive(Debug, Default)]
pub(crate) struct Aggregator {
    /// Second 0 of run time, ms since 1970.
    epoch_ms: u64,
    /// Labels of [`metric::INFO`].
    about: Vec<(String, String)>,
    counters: BTreeMap<Key, f64>,
    times: BTreeMap<Key, Arc<Exponential>>,
    steps: BTreeMap<StepId, StepInfo>,
    /// Pages that browsers visit.
    pages: Vec<String>,
    /// Visits that ended since the last second of the load.
    visits: Vec<PageVisit>,
    /// Unit of the loads of a search.
    unit: LoadUnit,
    /// The load line as the search estimates it.
    line: Option<Estimate>,
    /// The second after the last window.
    next_second: u32,
    series: BTreeMap<String, SeriesInfo>,
}

impl Aggregator {
    /// What an event means for those who watch; `now_ms` is its wall-clock time.
    pub(crate) fn observe(&mut self, event: &Event, now_ms: u64) -> Option<Record> {
        match event {
            Event::RunStarted(header) => Some(self.start(header, now_ms)),
            Event::WatchStarted(header) => Some(self.start_watch(header, now_ms)),
            Event::WindowClosed(window) => Some(self.window(window)),
            Event::ReadingsTaken(readings) => Some(self.readings(readings)),
            Event::TrialEnded(trial) => Some(self.trial(trial)),
            Event::PageVisited(visit) => {
                // With the next second of a load.
                if self.visits.len() < VISITS_MAX {
                    self.visits.push((**visit).clone());
                }
                None
            }
            Event::LineEstimated {
                low, median, high, ..
            } => {
                let (low, median, high) = (*low, *median, *high);
                // With the next second of a load.
                self.line = Some(Estimate { low, median, high });
                None
            }
            Event::SearchEnded(result) => self.search(result),
            Event::NoteMade { text, .. } | Event::MomentMarked { text, .. } => {
                Some(moment(MomentKind::Note, now_ms, text.clone()))
            }
            Event::LoadChanged { to, unit, .. } => Some(moment(
                MomentKind::Note,
                now_ms,
                format!("Load changed to {to} {}", unit.symbol()),
            )),
            Event::RunEnded { verdict, .. } => Some(moment(
                MomentKind::End,
                now_ms,
                format!("Run ended: {}", verdict_word(*verdict)),
            )),
            _ => None,
        }
    }

    fn start(&mut self, header: &Header, now_ms: u64) -> Record {
        self.epoch_ms = now_ms;
        (self.line, self.next_second) = (None, 0);
        self.unit = header
            .plan
            .find
            .map_or(LoadUnit::default(), |find| find.unit);
        let target = redact::url(&header.plan.target.url).into_owned();
        if let Some(scenario) = &header.plan.scenario {
            let steps = scenario.steps.iter().cloned();
            self.steps = (0..).zip(steps).collect();
        }
        let browser = header.plan.browser.as_deref();
        self.pages = browser.map_or_else(Vec::new, |browser| browser.pages.clone());
        self.visits.clear();
        let text = format!("plimsoll {} of {target} started", header.command);
        self.about = owned(&[
            ("command", &header.command),
            ("plan", &header.plan.name),
            ("target", &target),
        ]);
        moment(MomentKind::Start, now_ms, text)
    }

    fn start_watch(&mut self, header: &WatchHeader, now_ms: u64) -> Record {
        self.epoch_ms = now_ms;
        let target = header.target.clone().unwrap_or_default();
        self.about = owned(&[("command", "watch"), ("target", &target)]);
        moment(
            MomentKind::Start,
            now_ms,
            "plimsoll watch started".to_owned(),
        )
    }

    fn at_ms(&self, second: u32) -> u64 {
        self.epoch_ms + u64::from(second) * 1_000
    }

    fn trial(&self, trial: &Trial) -> Record {
        let word = match trial.verdict {
            TrialVerdict::Pass => "met",
            TrialVerdict::Fail { .. } => "broken",
            TrialVerdict::Void { .. } => "void",
        };
        let end = trial.measured.1.max(trial.start_second);
        Record::Moment(Moment {
            kind: MomentKind::Trial,
            from_ms: self.at_ms(trial.start_second),
            to_ms: self.at_ms(end),
            text: format!(
                "Trial {} ({}), {:.4} {}: objective {word}, p95 {} ms",
                trial.index,
                trial.spec.kind.name(),
                trial.spec.rate,
                trial.spec.unit.symbol(),
                trial.response_us.p95 as f64 / 1e3,
            ),
        })
    }

    /// The line that a search found, as its last second.
    fn search(&mut self, result: &SearchResult) -> Option<Record> {
        let line = result.line.as_ref().ok()?;
        self.unit = line.unit;
        self.line = Some(Estimate {
            low: line.low,
            median: line.median,
            high: line.high,
        });
        let mut points = Points {
            of: self,
            points: Vec::new(),
        };
        points.line();
        let points = points.points;
        Some(self.second(self.next_second, true, points))
    }

    fn second(&self, second: u32, is_load: bool, points: Vec<Point>) -> Record {
        Record::Second(Second {
            at_ms: self.at_ms(second.saturating_add(1)),
            run_time: second,
            is_load,
            points,
        })
    }

    fn window(&mut self, window: &Window) -> Record {
        self.next_second = window.second.saturating_add(1);
        let named = window.steps_named.iter();
        self.steps
            .extend(named.map(|(&id, info)| (id, info.clone())));
        let mut points = Points {
            of: self,
            points: Vec::with_capacity(64),
        };
        points.about();
        points.counts(window);
        points.levels(window);
        points.line();
        points.times(metric::RESPONSE, &[], &window.response);
        points.times(metric::SERVICE, &[], &window.service);
        points.times(metric::FAILED, &[], &window.failed);
        points.times(metric::LAG, &[], &window.lag);
        points.steps(window);
        points.visits();
        if let Some(websocket) = &window.websocket {
            points.websocket(websocket);
        }
        let points = points.points;
        self.second(window.second, true, points)
    }

    fn readings(&mut self, readings: &Readings) -> Record {
        for (name, info) in &readings.new_series {
            if self.series.len() < SERIES_MAX {
                self.series.insert(name.clone(), info.clone());
            }
        }
        let series = std::mem::take(&mut self.series);
        let mut points = Points {
            of: self,
            points: Vec::with_capacity(readings.values.len()),
        };
        let known = readings.values.iter();
        for (name, &value) in known.filter(|(_, value)| value.is_finite()) {
            let Some(info) = series.get(name) else {
                continue;
            };
            let (definition, labels) = metric::of_series(name, info);
            match info.kind {
                SeriesKind::Gauge => points.level(definition, labels, value),
                SeriesKind::Delta => points.count(definition, labels, value),
            }
        }
        let points = points.points;
        self.series = series;
        self.second(readings.second, false, points)
    }
}

/// The points of a second that is being read.
struct Points<'a> {
    of: &'a mut Aggregator,
    points: Vec<Point>,
}

impl Points<'_> {
    fn about(&mut self) {
        let labels = self.of.about.clone();
        self.level(metric::INFO, labels, 1.0);
    }

    fn counts(&mut self, window: &Window) {
        for (outcome, count) in window.outcomes.iter() {
            let labels = owned(&[("outcome", outcome.name())]);
            self.count_if_known(metric::REQUESTS, labels, count, outcome.is_ok());
        }
        for (status, &count) in &window.status {
            let labels = owned(&[("code", &status.to_string())]);
            self.count(metric::RESPONSES, labels, count as f64);
        }
        for (definition, count) in [
            (metric::OFFERED, window.offered),
            (metric::SENT, window.sent),
            (metric::OPENED, window.connections_opened),
            (metric::HANDSHAKES, window.handshakes),
            (metric::RECEIVED, window.bytes_in),
            (metric::WRITTEN, window.bytes_out),
            (metric::REDIRECTS, window.redirects),
            (metric::RETRIES, window.retries),
            (metric::ITERATIONS, window.iterations),
        ] {
            self.count(definition, Vec::new(), count as f64);
        }
        let cpu_s = window.generator.loop_cpu_us as f64 / 1e6;
        self.count(metric::GENERATOR_CPU, Vec::new(), cpu_s);
    }

    fn levels(&mut self, window: &Window) {
        for (definition, level) in [
            (metric::IN_FLIGHT, window.in_flight),
            (metric::WAITING, window.waiting),
            (metric::CONNECTIONS, window.connections),
            (metric::USERS, window.users),
        ] {
            self.level(definition, Vec::new(), level as f64);
        }
    }

    fn line(&mut self) {
        let Some(line) = self.of.line else { return };
        let unit = self.of.unit.symbol();
        for (bound, load) in [
            ("low", line.low),
            ("median", line.median),
            ("high", line.high),
        ] {
            if load < LINE_MAX {
                let labels = owned(&[("bound", bound), ("unit", unit)]);
                self.level(metric::LINE, labels, load);
            }
        }
    }

    fn steps(&mut self, window: &Window) {
        for (id, step) in &window.steps {
            let label = self.of.steps.get(id).map(|info| info.label.clone());
            let label = label.unwrap_or_else(|| format!("step {id}"));
            for (outcome, count) in step.outcomes.iter() {
                let labels = owned(&[("step", &label), ("outcome", outcome.name())]);
                self.count_if_known(metric::STEP_REQUESTS, labels, count, outcome.is_ok());
            }
            self.times(metric::STEP_RESPONSE, &[("step", &label)], &step.response);
        }
    }

    fn visits(&mut self) {
        for visit in std::mem::take(&mut self.of.visits) {
            let page = usize::try_from(visit.page).ok();
            let page = page.and_then(|page| self.of.pages.get(page).cloned());
            let page = page.unwrap_or_default();
            let outcome = if visit.is_ready() { "ready" } else { "failed" };
            let labels = owned(&[("page", &page), ("outcome", outcome)]);
            self.count(metric::PAGE_VISITS, labels, 1.0);
            let times = &visit.times;
            // Millionths of a score are recorded as the microseconds of a time.
            for (definition, us) in [
                (metric::PAGE_READY, times.ready_us),
                (metric::PAGE_LCP, times.largest_contentful_paint_us),
                (metric::PAGE_FCP, times.first_contentful_paint_us),
                (metric::PAGE_CLS, times.layout_shift_ppm),
                (metric::PAGE_TTFB, times.first_byte_us),
            ] {
                if let Some(us) = us.filter(|_| visit.is_ready()) {
                    let mut measured = Histogram::new();
                    measured.record(us, 1);
                    self.times(definition, &[("page", &page)], &measured);
                }
            }
        }
    }

    fn websocket(&mut self, websocket: &WebSocketWindow) {
        for (definition, count) in [
            (metric::WS_CONNECTED, websocket.connected),
            (metric::WS_RECEIVED, websocket.messages_in),
            (metric::WS_SENT, websocket.messages_out),
        ] {
            self.count(definition, Vec::new(), count as f64);
        }
        self.times(metric::WS_HANDSHAKE, &[], &websocket.handshake);
        self.times(metric::WS_REQUEST, &[], &websocket.request);
    }

    fn level(&mut self, definition: Definition, labels: Vec<(String, String)>, level: f64) {
        self.points.push(Point {
            definition,
            labels,
            value: Value::Gauge(level),
        });
    }

    /// A counter that appears once something was counted, or at once if `always`.
    fn count_if_known(
        &mut self,
        definition: Definition,
        labels: Vec<(String, String)>,
        count: u64,
        always: bool,
    ) {
        let key = (definition.prometheus.to_string(), labels);
        if count > 0 || always || self.of.counters.contains_key(&key) {
            self.count(definition, key.1, count as f64);
        }
    }

    fn count(&mut self, definition: Definition, labels: Vec<(String, String)>, increase: f64) {
        let key = (definition.prometheus.to_string(), labels.clone());
        if self.of.counters.len() >= SERIES_MAX && !self.of.counters.contains_key(&key) {
            return;
        }
        let total = self.of.counters.entry(key).or_default();
        // A counter of a component that was restarted falls; ours do not.
        *total += increase.max(0.0);
        self.points.push(Point {
            definition,
            labels,
            value: Value::Counter {
                total: *total,
                increase,
            },
        });
    }

    fn times(&mut self, definition: Definition, labels: &[(&str, &str)], second: &Histogram) {
        let key = (definition.prometheus.to_string(), owned(labels));
        if self.of.times.len() >= SERIES_MAX && !self.of.times.contains_key(&key) {
            return;
        }
        let labels = key.1.clone();
        let total = self.of.times.entry(key).or_default();
        Arc::make_mut(total).add(second);
        self.points.push(Point {
            definition,
            labels,
            value: Value::Times {
                total: Arc::clone(total),
                second: second.clone(),
            },
        });
    }
}

fn owned(labels: &[(&str, &str)]) -> Vec<(String, String)> {
    let labels = labels.iter();
    labels
        .map(|&(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn moment(kind: MomentKind, at_ms: u64, text: String) -> Record {
    Record::Moment(Moment {
        kind,
        from_ms: at_ms,
        to_ms: at_ms,
        text,
    })
}

const fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Met => "objective met, or nothing to judge",
        Verdict::Missed => "objective missed",
        Verdict::Undecided => "undecided",
        Verdict::Unreachable => "target unreachable",
        Verdict::Void => "measurement void",
        Verdict::Interrupted => "interrupted",
    }
}
