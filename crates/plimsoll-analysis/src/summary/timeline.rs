//! Windows and readings on one shared time axis, merged to as many points as a picture can show.
//!
//! Points are merged honestly: histograms and counts by adding, levels by mean and maximum side by side. A point
//! that covers no window does not exist, so a gap in the measurement stays a gap in the picture.

use plimsoll_model::histogram::Histogram;
use plimsoll_model::journey::StepId;
use plimsoll_model::run::Run;
use plimsoll_model::trial::{Percentiles, TrialKind};
use plimsoll_model::window::Window;

use super::{answered, percentiles};

/// Steps that read well on an axis, s.
const STEPS_S: [u32; 11] = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800];

/// A run on one time axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Seconds that one point covers.
    pub step_s: u32,
    /// Points in time order; none where nothing was measured.
    pub points: Vec<Point>,
}

/// `step_s` seconds of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// First second, a multiple of the step.
    pub second: u32,
    /// Arrivals due per second.
    pub offered: f64,
    /// Complete answers per second.
    pub completed: f64,
    /// Failed requests per second.
    pub failed: f64,
    /// Response time of good answers, µs; `None` without any.
    pub response_us: Option<Percentiles>,
    /// Requests due and not finished: highest end of a second.
    pub in_flight_max: u64,
    /// Users in the run: highest end of a second; 0 without journeys.
    pub users_max: u64,
    /// What WebSockets did; `None` without them.
    pub websocket: Option<WebSocketPoint>,
}

/// `step_s` seconds of WebSockets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WebSocketPoint {
    /// Connections open: highest end of a second.
    pub open_max: u64,
    /// Messages that came, per second.
    pub messages_in: f64,
    /// Messages that were sent, per second.
    pub messages_out: f64,
    /// From a broadcast's stamp to its receipt, µs; `None` without any.
    pub broadcast_us: Option<Percentiles>,
}

impl WebSocketPoint {
    fn of(windows: &[&Window]) -> Option<Self> {
        let websockets = || {
            let windows = windows.iter();
            windows.filter_map(|window| window.websocket.as_deref())
        };
        websockets().next()?;
        let mut broadcast = Histogram::new();
        for channel in websockets().flat_map(|websocket| websocket.channels.values()) {
            broadcast.merge(&channel.latency);
        }
        let seconds = windows.len() as f64;
        let open = windows.iter().map(|window| window.connections);
        Some(Self {
            open_max: open.max().unwrap_or(0),
            messages_in: websockets()
                .map(|websocket| websocket.messages_in)
                .sum::<u64>() as f64
                / seconds,
            messages_out: websockets()
                .map(|websocket| websocket.messages_out)
                .sum::<u64>() as f64
                / seconds,
            broadcast_us: percentiles(&broadcast),
        })
    }
}

/// `step_s` seconds of some steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepPoint {
    /// First second, a multiple of the step.
    pub second: u32,
    /// Response time of good answers, µs.
    pub response_us: Percentiles,
}

/// Mean and maximum of a series over the seconds of one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Arithmetic mean.
    pub mean: f64,
    /// Highest value.
    pub max: f64,
}

impl Timeline {
    /// The whole run in at most `points_max` points.
    ///
    /// # Panics
    /// When `points_max` is 0.
    pub fn of(run: &Run, points_max: u32) -> Self {
        assert!(points_max > 0, "a timeline needs at least one point");
        let last_window = run.windows.last().map(|window| window.second);
        let last = last_window.max(run.readings.seconds().last().copied());
        let seconds = last.map_or(0, |second| second + 1);
        let fits = |step: &u32| seconds.div_ceil(*step) <= points_max;
        let step_s = STEPS_S
            .into_iter()
            .find(fits)
            .unwrap_or_else(|| seconds.div_ceil(points_max));
        // The self-test is of the generator: its rates would hide the target's.
        let self_tests: Vec<(u32, u32)> = self_tests(run).collect();
        let of_target = |window: &&Window| {
            let inside = |&(from, to): &(u32, u32)| (from..to).contains(&window.second);
            !self_tests.iter().any(inside)
        };
        let windows: Vec<&Window> = run.windows.iter().filter(of_target).collect();
        let chunks = windows.chunk_by(|a, b| a.second / step_s == b.second / step_s);
        Self {
            step_s,
            points: chunks.map(|chunk| Point::of(chunk, step_s)).collect(),
        }
    }

    /// The steps of `ids` together at the same points; points without a good answer are left out.
    pub fn steps(&self, run: &Run, ids: &[StepId]) -> Vec<StepPoint> {
        let chunks = run
            .windows
            .chunk_by(|a, b| a.second / self.step_s == b.second / self.step_s);
        let points = chunks.filter_map(|chunk| {
            let mut response = Histogram::new();
            for window in chunk {
                for step in ids.iter().filter_map(|id| window.steps.get(id)) {
                    response.merge(&step.response);
                }
            }
            Some(StepPoint {
                second: chunk[0].second / self.step_s * self.step_s,
                response_us: percentiles(&response)?,
            })
        });
        points.collect()
    }

    /// A series of readings at the same points as (first second, level); points without a value are left out.
    pub fn levels(&self, run: &Run, series: &str) -> Vec<(u32, Level)> {
        let Some(values) = run.readings.values(series) else {
            return Vec::new();
        };
        let rows = run.readings.seconds().iter().copied().zip(values.iter());
        levels_of(rows.map(|(second, &value)| (second, value)), self.step_s)
    }
}

/// Seconds of the trials against the server that does nothing, each until the next trial began.
fn self_tests(run: &Run) -> impl Iterator<Item = (u32, u32)> + '_ {
    let started = &run.trials_started;
    started
        .iter()
        .enumerate()
        .filter(|(_, trial)| trial.2.kind == TrialKind::SelfTest)
        .map(|(index, trial)| {
            let until = started.get(index + 1).map_or(u32::MAX, |next| next.1);
            (trial.1, until)
        })
}

/// Values by second, merged into steps; NaN is a gap.
pub fn levels_of(rows: impl Iterator<Item = (u32, f64)>, step_s: u32) -> Vec<(u32, Level)> {
    let rows: Vec<(u32, f64)> = rows.filter(|row| !row.1.is_nan()).collect();
    rows.chunk_by(|a, b| a.0 / step_s == b.0 / step_s)
        .map(|chunk| {
            let sum: f64 = chunk.iter().map(|row| row.1).sum();
            let level = Level {
                mean: sum / chunk.len() as f64,
                max: chunk
                    .iter()
                    .map(|row| row.1)
                    .fold(f64::NEG_INFINITY, f64::max),
            };
            (chunk[0].0 / step_s * step_s, level)
        })
        .collect()
}

impl Point {
    /// The point of a chunk of windows, which is not empty.
    fn of(windows: &[&Window], step_s: u32) -> Self {
        let seconds = windows.len() as f64;
        let per_second = |count: fn(&Window) -> u64| {
            windows.iter().map(|window| count(window)).sum::<u64>() as f64 / seconds
        };
        let mut response = Histogram::new();
        for window in windows {
            response.merge(&window.response);
        }
        Self {
            second: windows[0].second / step_s * step_s,
            offered: per_second(|window| window.offered),
            completed: per_second(answered),
            failed: per_second(|window| window.outcomes.failed()),
            response_us: percentiles(&response),
            in_flight_max: windows
                .iter()
                .map(|window| window.in_flight)
                .max()
                .unwrap_or(0),
            users_max: windows.iter().map(|window| window.users).max().unwrap_or(0),
            websocket: WebSocketPoint::of(windows),
        }
    }
}
