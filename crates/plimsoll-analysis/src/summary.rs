//! The key numbers of a run, as every report shows them.
//!
//! A summary is a pure function of a [`Run`], made over its *judged* windows: for a plain run the windows after
//! the warm-up, for a search the judged seconds of every valid trial against the target. It never averages a
//! percentile; histograms are merged by adding counts. Where nothing was measured it gives `None`, never zero.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_model::histogram::Histogram;
use plimsoll_model::objective::{Answers, LatencyBound, Objective, reaches};
use plimsoll_model::outcome::{Outcome, OutcomeCounts};
use plimsoll_model::patience::PatienceCounts;
use plimsoll_model::plan::Plan;
use plimsoll_model::run::Run;
use plimsoll_model::trial::{Percentiles, Trial, TrialKind};
use plimsoll_model::verdict::{Verdict, VoidReason};
use plimsoll_model::window::Window;

pub mod breakdown;
pub mod browser;
pub mod cuts;
pub mod given_up;
pub mod phases;
pub mod processes;
pub mod resources;
pub mod throughput;
pub mod timeline;
pub mod traffic;
pub mod urls;
pub mod users;
pub mod websockets;

use breakdown::Breakdown;
use browser::BrowserSummary;
use phases::PhasesSummary;
use resources::ResourceSummary;
use throughput::LoadPoint;
use traffic::TrafficSummary;
use urls::UrlSummary;
use websockets::WebSocketSummary;

/// The numbers of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Judged seconds in which requests became due.
    pub seconds: f64,
    /// Arrivals due per second.
    pub offered: f64,
    /// Complete answers per second, good or not, while requests became due.
    pub completed: f64,
    /// Throughput at each load, in the order of time.
    pub throughput: Vec<LoadPoint>,
    /// Requests that ended, the drain included.
    pub requests: u64,
    /// The same by outcome.
    pub outcomes: OutcomeCounts,
    /// Answers by HTTP status.
    pub status: BTreeMap<u16, u64>,
    /// Of these answers, those that came by HTTP/2; the others came by HTTP/1.
    pub http2: u64,
    /// Response time (done − due) of good answers, µs; `None` without any.
    pub response_us: Option<Percentiles>,
    /// Service time (done − sent) of good answers, µs; `None` without any.
    pub service_us: Option<Percentiles>,
    /// Where the time goes on the network; `None` for logs of older versions, and where nothing was sent.
    pub phases: Option<PhasesSummary>,
    /// Requests by how long their answer took.
    pub classes: Classes,
    /// Requests by the bands of patience of the plan; `None` without any.
    pub patience: Option<PatienceCounts>,
    /// CPU and TCP states over the whole run; empty without readings.
    pub resources: Vec<ResourceSummary>,
    /// Bytes sent and received.
    pub traffic: TrafficSummary,
    /// What the generator itself used.
    pub generator: GeneratorSummary,
    /// The objective over all judged windows; `None` without an objective, for a search, which judges trials, and where
    /// nothing was measured that it bounds.
    pub objective: Option<ObjectiveResult>,
    /// The same by step, journey and group; `None` without journeys.
    pub breakdown: Option<Breakdown>,
    /// The same by URL of a plain load, or by route; empty with one URL.
    pub urls: Vec<UrlSummary>,
    /// What became of WebSockets; `None` without them.
    pub websocket: Option<WebSocketSummary>,
    /// What browsers measured beside the load; `None` without them.
    pub browser: Option<BrowserSummary>,
    /// The run's judgement; `None` when its log was cut off.
    pub verdict: Option<Verdict>,
    /// Why the measurement is not valid; empty when it is.
    pub void: Vec<VoidReason>,
}

/// Requests by how long their answer took, as newspapers count them: good, near the limit, over it, failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// The two bounds, ms.
    pub bounds_ms: [u64; 2],
    /// Good answers below the first bound.
    pub fast: u64,
    /// Good answers from the first to the second bound.
    pub middle: u64,
    /// Good answers above the second bound.
    pub slow: u64,
    /// Requests that failed.
    pub failed: u64,
}

/// What the generator itself used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GeneratorSummary {
    /// CPU of the whole process over the whole run, by request, µs; `None` when the log was cut off or no
    /// request ended.
    pub cpu_us_per_request: Option<f64>,
    /// 99th percentile of the generator's own lag (taken up − due), µs; `None` for closed load.
    pub lag_us_p99: Option<u64>,
    /// Highest resident memory, bytes; `None` when the log was cut off.
    pub rss_bytes: Option<u64>,
}

/// An objective over what was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectiveResult {
    /// Every latency bound.
    pub latency: Vec<BoundResult>,
    /// The bound on the share of failures: (highest share, share measured, whether it holds).
    pub errors: Option<(f64, f64, bool)>,
    /// The bound on the mean of good answers: (highest, µs; mean measured, µs; whether it holds).
    pub mean: Option<(u64, Option<f64>, bool)>,
    /// Every bound of the time from a broadcast's stamp to its receipt.
    pub broadcast: Vec<BoundResult>,
    /// The bound on reach: (lowest share, share measured, whether it holds).
    pub reach: Option<(f64, Option<f64>, bool)>,
    /// Whether every bound holds.
    pub met: bool,
}

/// A latency bound over what was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundResult {
    /// The bound.
    pub bound: LatencyBound,
    /// The quantile with failures as infinitely slow, µs; `None` when it is a failure.
    pub measured_us: Option<u64>,
    /// Whether the bound holds.
    pub holds: bool,
}

impl Summary {
    /// The numbers of `run`.
    pub fn of(run: &Run) -> Self {
        let plan = &run.header.plan;
        let spans = measured_spans(run);
        let total = SummaryTotals::of(spans.iter().flat_map(|span| span.windows(run)));
        let seconds: f64 = spans.iter().map(|span| span.seconds).sum();
        let answered: u64 = spans
            .iter()
            .flat_map(|span| span.due_windows(run))
            .map(answered)
            .sum();
        let per_second = |count: u64| {
            if seconds > 0.0 {
                count as f64 / seconds
            } else {
                0.0
            }
        };
        let websocket = WebSocketSummary::of(run, &spans);
        let objective = plan.objective.as_ref().filter(|_| !is_search(run));
        let objective = objective
            .and_then(|objective| ObjectiveResult::of_run(objective, &total, websocket.as_ref()));
        Self {
            seconds,
            offered: per_second(total.offered),
            completed: per_second(answered),
            throughput: LoadPoint::all(run, &spans),
            requests: total.outcomes.total(),
            response_us: percentiles(&total.response),
            service_us: percentiles(&total.service),
            phases: PhasesSummary::of(run, &spans),
            classes: total.classes(plan.classes_ms),
            patience: (!plan.patience.is_empty()).then(|| {
                PatienceCounts::of(&plan.patience, &total.response, total.outcomes.failed())
            }),
            resources: ResourceSummary::all(run),
            traffic: TrafficSummary::of(run, &spans),
            generator: GeneratorSummary::of(run, &total.lag),
            objective,
            breakdown: Breakdown::of(run, &spans, is_search(run), websocket.as_ref()),
            urls: UrlSummary::all(run, &spans),
            websocket,
            browser: BrowserSummary::of(run, &spans),
            outcomes: total.outcomes,
            status: total.status,
            http2: total.http2,
            verdict: run.ending.as_ref().map(|ending| ending.verdict),
            void: run
                .ending
                .as_ref()
                .map(|ending| ending.void.clone())
                .unwrap_or_default(),
        }
    }

    /// Answers by the version of HTTP they came by; versions that were not spoken are missing.
    pub fn protocols(&self) -> Vec<(&'static str, u64)> {
        let http1 = self.status.values().sum::<u64>().saturating_sub(self.http2);
        [("http/1.1", http1), ("h2", self.http2)]
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    /// Whether the objective of the plan bounds requests, and none ended in the judged seconds: no bound of these is met, and
    /// none is missed.
    pub fn lacks_requests(&self, plan: &Plan) -> bool {
        let objective = plan.objective.as_ref();
        self.requests == 0 && objective.is_some_and(Objective::has_request_bounds)
    }

    /// Share of requests that failed, 0 to 1; 0 without requests.
    pub fn error_share(&self) -> f64 {
        share(self.outcomes.failed(), self.requests)
    }
}

/// Complete answers of a window, good or not; a refused connection or a timeout completes nothing.
pub fn answered(window: &Window) -> u64 {
    let count = |outcome| window.outcomes.get(outcome);
    count(Outcome::Ok) + count(Outcome::WrongStatus) + count(Outcome::Expectation)
}

/// Percentiles of a histogram that holds something.
pub fn percentiles(histogram: &Histogram) -> Option<Percentiles> {
    (!histogram.is_empty()).then(|| Percentiles::of(histogram))
}

/// Smallest bucket value in µs that a share `quantile` of all requests stays within, failures being infinitely
/// slow; `None` when the quantile falls on a failure, or nothing was measured.
pub fn quantile_with_failures(answers: Answers<'_>, quantile: f64) -> Option<u64> {
    let good = answers.good.count();
    // What `LatencyBound::holds` allows to be bad, counted from the other end.
    let rank = answers.total() as f64 * quantile * (1.0 - 1e-12);
    let rank = rank.ceil().max(1.0);
    if good == 0 || rank > good as f64 {
        return None;
    }
    let mut cumulative = 0;
    for &(top, count) in answers.good.buckets() {
        cumulative += count;
        if cumulative as f64 >= rank {
            return Some(top);
        }
    }
    None
}

/// Answer classes of the judged seconds of one trial.
pub fn trial_classes(run: &Run, trial: &Trial) -> Classes {
    let windows = run.windows_between(trial.measured.0, trial.measured.1);
    SummaryTotals::of(windows.iter()).classes(run.header.plan.classes_ms)
}

fn share(count: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        count as f64 / whole as f64
    }
}

/// Seconds whose windows are judged together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeasuredSpan {
    /// First second.
    pub(crate) from: u32,
    /// End of the seconds in which requests became due.
    pub(crate) due_until: u32,
    /// End of the seconds in which requests ended.
    pub(crate) until: u32,
    /// Length of the stretch in which requests became due, s.
    pub(crate) seconds: f64,
}

impl MeasuredSpan {
    /// Whole seconds `[from, until)` in all of which requests became due.
    pub(crate) fn of_seconds(from: u32, until: u32) -> Self {
        Self {
            from,
            due_until: until,
            until,
            seconds: f64::from(until.saturating_sub(from)),
        }
    }

    fn windows<'a>(&self, run: &'a Run) -> impl Iterator<Item = &'a Window> + use<'a> {
        run.windows_between(self.from, self.until).iter()
    }

    fn due_windows<'a>(&self, run: &'a Run) -> impl Iterator<Item = &'a Window> + use<'a> {
        run.windows_between(self.from, self.due_until).iter()
    }
}

/// Whether the run is a search or a gate, whose trials are judged one by one. A sweep has steps, and is one run.
pub fn is_search(run: &Run) -> bool {
    run.header.command == "limit"
}

/// The judged stretches of a run.
fn measured_spans(run: &Run) -> Vec<MeasuredSpan> {
    if !is_search(run) {
        return plain_span(&run.header.plan, &run.windows)
            .into_iter()
            .collect();
    }
    let valid = run.trials.iter().filter(|trial| is_trial_judged(trial));
    valid
        .map(|trial| MeasuredSpan::of_seconds(trial.measured.0, trial.measured.1))
        .collect()
}

/// Whether a trial says something about the target as it is.
fn is_trial_judged(trial: &Trial) -> bool {
    // With a raised limit it was a different service.
    let is_other = matches!(trial.spec.kind, TrialKind::SelfTest | TrialKind::Mitigated);
    !is_other && !trial.verdict.is_void()
}

/// The judged seconds of a plain run.
pub(crate) fn plain_span(plan: &Plan, windows: &[Window]) -> Option<MeasuredSpan> {
    let (start, until) = (windows.first()?.second, windows.last()?.second + 1);
    let from = start.saturating_add(whole_seconds(plan.warmup));
    let due_until = start.saturating_add(whole_seconds(plan.load.lasting()));
    let lasting = plan.load.lasting().as_secs_f64();
    let lasting = lasting.min(f64::from(until - start));
    (from < until).then(|| MeasuredSpan {
        from,
        due_until: due_until.min(until),
        until,
        seconds: (lasting - f64::from(from - start)).max(0.0),
    })
}

/// The full seconds of a time of a run, which is not negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "seconds of a run, not negative; a float too large becomes the largest second"
)]
pub(crate) fn full_seconds(seconds: f64) -> u32 {
    seconds as u32
}

/// A duration in seconds, rounded up.
fn whole_seconds(duration: Duration) -> u32 {
    let rounded = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    u32::try_from(rounded).unwrap_or(u32::MAX)
}

/// Everything a summary adds up over windows.
#[derive(Clone, Debug, Default)]
struct SummaryTotals {
    offered: u64,
    outcomes: OutcomeCounts,
    status: BTreeMap<u16, u64>,
    http2: u64,
    response: Histogram,
    service: Histogram,
    lag: Histogram,
}

impl SummaryTotals {
    fn of<'a>(windows: impl Iterator<Item = &'a Window>) -> Self {
        let mut total = Self::default();
        for window in windows {
            total.offered += window.offered;
            total.outcomes.merge(&window.outcomes);
            for (&status, &count) in &window.status {
                *total.status.entry(status).or_default() += count;
            }
            total.http2 += window.http2;
            total.response.merge(&window.response);
            total.service.merge(&window.service);
            total.lag.merge(&window.lag);
        }
        total
    }

    fn answers(&self) -> Answers<'_> {
        Answers {
            good: &self.response,
            failed: self.outcomes.failed(),
        }
    }

    fn classes(&self, bounds_ms: [u64; 2]) -> Classes {
        Classes::of(&self.response, self.outcomes.failed(), bounds_ms)
    }
}

impl Classes {
    /// The classes of good answers, and of failures.
    pub(crate) fn of(good: &Histogram, failed: u64, bounds_ms: [u64; 2]) -> Self {
        // A bucket's upper bound represents its values: 800 ms itself is not below 800 ms.
        let below = (bounds_ms[0] * 1000).saturating_sub(1);
        let fast = good.count() - good.count_above(below);
        let slow = good.count_above(bounds_ms[1] * 1000);
        Self {
            bounds_ms,
            fast,
            middle: (good.count() - slow).saturating_sub(fast),
            slow,
            failed,
        }
    }

    /// All requests.
    pub fn total(&self) -> u64 {
        self.fast + self.middle + self.slow + self.failed
    }

    /// Name and count of each class, from fast to failed.
    pub fn named(&self) -> [(String, u64); 4] {
        let [fast, slow] = self.bounds_ms;
        [
            (format!("below {fast} ms"), self.fast),
            (format!("{fast} to {slow} ms"), self.middle),
            (format!("above {slow} ms"), self.slow),
            ("failed".to_owned(), self.failed),
        ]
    }

    /// Adds the counts of `other`, which has the same bounds.
    pub fn merge(&mut self, other: &Self) {
        debug_assert_eq!(
            self.bounds_ms, other.bounds_ms,
            "classes of different bounds do not merge"
        );
        self.fast += other.fast;
        self.middle += other.middle;
        self.slow += other.slow;
        self.failed += other.failed;
    }
}

impl GeneratorSummary {
    fn of(run: &Run, lag: &Histogram) -> Self {
        // The process' CPU covers the whole run, so it is shared out over all of its requests.
        let requests: u64 = run.windows.iter().map(Window::completed).sum();
        let ending = run.ending.as_ref();
        Self {
            cpu_us_per_request: ending
                .filter(|_| requests > 0)
                .map(|ending| ending.process_cpu_us as f64 / requests as f64),
            lag_us_p99: lag.quantile(0.99),
            rss_bytes: ending.map(|ending| ending.rss_bytes_max),
        }
    }
}

impl ObjectiveResult {
    fn of(objective: &Objective, answers: Answers<'_>) -> Self {
        let bound = |&bound: &LatencyBound| BoundResult {
            bound,
            measured_us: quantile_with_failures(answers, bound.quantile),
            holds: bound.holds(answers),
        };
        let errors = objective.errors_max.map(|max| {
            let measured = share(answers.failed, answers.total());
            (max, measured, objective.errors_hold(answers))
        });
        let mean = objective.mean_us_max;
        let mean = mean.map(|max| (max, answers.good.mean(), objective.mean_holds(answers)));
        Self {
            latency: objective.latency.iter().map(bound).collect(),
            errors,
            mean,
            broadcast: Vec::new(),
            reach: None,
            met: objective.holds(answers),
        }
    }

    /// The same over a run; where no request ended, the bounds of broadcasts alone. `None` when nothing of it was measured.
    fn of_run(
        objective: &Objective,
        total: &SummaryTotals,
        websocket: Option<&WebSocketSummary>,
    ) -> Option<Self> {
        let result = Self::of_broadcasts(objective, total.answers(), websocket);
        if total.outcomes.total() > 0 {
            return Some(result);
        }
        let has_broadcasts = objective.has_broadcast_bounds() && websocket.is_some();
        has_broadcasts.then(|| Self {
            latency: Vec::new(),
            errors: None,
            mean: None,
            ..result
        })
    }

    /// The same, with the objectives of broadcasts; without any of these it is not met.
    fn of_broadcasts(
        objective: &Objective,
        answers: Answers<'_>,
        websocket: Option<&WebSocketSummary>,
    ) -> Self {
        let nothing = WebSocketSummary::default();
        let websocket = websocket.unwrap_or(&nothing);
        let (latency, reach) = (
            &websocket.broadcast_latency,
            websocket.broadcasts.reached.ratio(),
        );
        let receipts = Answers {
            good: latency,
            failed: 0,
        };
        let bound = |&bound: &LatencyBound| BoundResult {
            bound,
            measured_us: quantile_with_failures(receipts, bound.quantile),
            holds: !latency.is_empty() && bound.holds(receipts),
        };
        let of_answers = Self::of(objective, answers);
        Self {
            broadcast: objective.broadcast.iter().map(bound).collect(),
            reach: objective.reach_min.map(|min| {
                let holds = reach.is_some_and(|reach| reaches(min, reach));
                (min, reach, holds)
            }),
            met: of_answers.met && objective.broadcasts_hold(latency, reach),
            ..of_answers
        }
    }
}

#[cfg(test)]
mod breakdown_tests;
#[cfg(test)]
pub(crate) mod tests;
