//! Bytes of an answer, and of a message, against users and minutes.

use std::collections::BTreeSet;

use plimsoll_model::journey::StepInfo;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::window::Window;

use super::step_name;
use crate::stats::plane::{RegressionPlane, plane_through};

/// Answers and seconds that make a point.
const POINT_ANSWERS: u64 = 50;
const POINT_SECONDS: usize = 3;
/// Points from which there is a slope.
const POINTS_MIN: usize = 12;
/// Share of good answers below which a second tells nothing: answers with errors are short.
const GOOD_MIN: f64 = 0.98;
/// Ratio of the most to the fewest users from which they vary; and the difference at which a point ends.
const USERS_VARY: f64 = 1.5;
const USERS_ALIKE: f64 = 0.2;
/// Minutes from which there is a slope over time.
const MINUTES_MIN: f64 = 1.0;
/// Correlation above which users and time cannot be told apart.
const TOGETHER: f64 = 0.9;
/// Growth over the run from which it is worth a word: as a share, and bytes.
const RISE_SHARE: f64 = 0.2;
const RISE_BYTES: f64 = 256.0;
/// Share of the slope that the upper half must have: what grows only at first has a bound.
const GOES_ON: f64 = 0.5;
/// Confidence of the interval that is shown; that of all slopes together decides.
const CONFIDENCE: f64 = 0.95;

/// What was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Payload {
    /// Answers of all requests.
    Answers,
    /// Answers of a step.
    Step(u32),
    /// Messages of WebSockets.
    Messages,
}

/// With what it grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowsWith {
    /// With users, at equal times.
    Users,
    /// With time, at equal users.
    Time,
    /// With users or with time, which rose together.
    Either,
}

/// A payload whose mean size grows.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// What was sent.
    pub payload: Payload,
    /// Its name in texts.
    pub name: String,
    /// With what.
    pub with: GrowsWith,
    /// Bytes more for each user, or for each minute, with the 95 % interval.
    pub slope: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Fewest and most users, or first and last minute.
    pub range: (f64, f64),
    /// Bytes there, by the line.
    pub bytes: (f64, f64),
}

/// A mean over some seconds: users, minutes, bytes of each.
type Point = [f64; 3];

/// Count and bytes of a payload in one second; `None` where the second tells nothing of it.
fn amount(window: &Window, payload: Payload) -> Option<(u64, u64)> {
    let (outcomes, bytes) = match payload {
        Payload::Messages => {
            let websocket = window.websocket.as_ref()?;
            return Some((websocket.messages_in, websocket.bytes_in));
        }
        Payload::Answers => (&window.outcomes, window.bytes_in),
        Payload::Step(id) => {
            let step = window.steps.get(&id)?;
            (&step.outcomes, step.bytes_in)
        }
    };
    let (all, good) = (outcomes.total(), outcomes.get(Outcome::Ok));
    (good as f64 >= GOOD_MIN * all as f64).then_some((all, bytes))
}

/// Users in a second: those of journeys, else the WebSockets.
fn users(window: &Window) -> f64 {
    let held = if window.websocket.is_some() {
        window.connections
    } else {
        0
    };
    window.users.max(held) as f64
}

/// Seconds that are summed up to a point.
#[derive(Default)]
struct Sum {
    seconds: usize,
    users: f64,
    minutes: f64,
    count: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, window: &Window, (count, bytes): (u64, u64)) {
        self.seconds += 1;
        self.users += users(window);
        self.minutes += f64::from(window.second) / 60.0;
        self.count += count;
        self.bytes += bytes;
    }

    /// Whether so many users belong to the same point.
    fn is_alike(&self, users: f64) -> bool {
        let mean = self.users / self.seconds.max(1) as f64;
        self.seconds == 0 || (users - mean).abs() <= USERS_ALIKE * mean.max(1.0)
    }

    fn point(&self) -> Option<Point> {
        let seconds = self.seconds as f64;
        let is_enough = self.seconds >= POINT_SECONDS && self.count >= POINT_ANSWERS;
        is_enough.then(|| {
            let each = self.bytes as f64 / self.count as f64;
            [self.users / seconds, self.minutes / seconds, each]
        })
    }
}

fn points(windows: &[&Window], payload: Payload) -> Vec<Point> {
    let mut points = Vec::new();
    let mut sum = Sum::default();
    let mut before = None;
    for window in windows {
        let follows = before.is_none_or(|second: u32| window.second == second.saturating_add(1));
        before = Some(window.second);
        let Some(amount) = amount(window, payload) else {
            sum = Sum::default();
            continue;
        };
        if !follows || !sum.is_alike(users(window)) {
            sum = Sum::default();
        }
        sum.add(window, amount);
        if let Some(point) = sum.point() {
            points.push(point);
            sum = Sum::default();
        }
    }
    points
}

/// The payloads of these seconds: answers by step where there are steps. Where WebSockets share connections with requests
/// without steps, answers have no size of their own.
fn payloads(windows: &[&Window]) -> Vec<Payload> {
    let steps: BTreeSet<u32> = windows
        .iter()
        .flat_map(|window| window.steps.keys().copied())
        .collect();
    let has_messages = windows.iter().any(|window| window.websocket.is_some());
    let mut payloads: Vec<Payload> = steps.into_iter().map(Payload::Step).collect();
    if has_messages {
        payloads.push(Payload::Messages);
    } else if payloads.is_empty() {
        payloads.push(Payload::Answers);
    }
    payloads
}

/// Every payload that grows over these seconds, in ascending order, the largest growth first.
pub fn growths(windows: &[&Window], steps: &[StepInfo]) -> Vec<Growth> {
    let payloads = payloads(windows);
    // Each has two slopes: together they are wrong in at most one of twenty runs without growth.
    let confidence = 1.0 - (1.0 - CONFIDENCE) / (2.0 * payloads.len().max(1) as f64);
    let mut found: Vec<Growth> = payloads
        .into_iter()
        .filter_map(|payload| {
            let name = match payload {
                Payload::Answers => "the answers".to_owned(),
                Payload::Step(id) => format!("the answers of {}", step_name(steps, id)),
                Payload::Messages => "the messages".to_owned(),
            };
            growth(&points(windows, payload), payload, &name, confidence)
        })
        .collect();
    let rise = |growth: &Growth| growth.bytes.1 - growth.bytes.0;
    found.sort_by(|a, b| rise(b).total_cmp(&rise(a)));
    found
}

fn ends(points: &[Point], index: usize) -> (f64, f64) {
    let values = points.iter().map(|point| point[index]);
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |ends, value| {
        (ends.0.min(value), ends.1.max(value))
    })
}

fn growth(points: &[Point], payload: Payload, name: &str, confidence: f64) -> Option<Growth> {
    if points.len() < POINTS_MIN {
        return None;
    }
    let ((fewest, most), (first, last)) = (ends(points, 0), ends(points, 1));
    let users_vary = most >= USERS_VARY * fewest.max(1.0);
    let time_passes = last - first >= MINUTES_MIN;
    // A variable that hardly varies is held at its mean.
    let with_held = |points: &[Point], hold: [bool; 2]| -> Vec<Point> {
        let still = |x: f64, hold: bool| if hold { 1.0 } else { x };
        let all = points.iter();
        all.map(|point| [still(point[0], hold[0]), still(point[1], hold[1]), point[2]])
            .collect()
    };
    let both = plane_through(&with_held(points, [!users_vary, !time_passes]));
    let is_apart = both.is_some_and(|plane| plane.correlation.abs() <= TOGETHER);
    let (hold, candidates) = match (users_vary, time_passes) {
        (true, true) if !is_apart => ([false, true], &[(0, GrowsWith::Either)][..]),
        (true, true) => (
            [false, false],
            &[(0, GrowsWith::Users), (1, GrowsWith::Time)][..],
        ),
        (true, false) => ([false, true], &[(0, GrowsWith::Users)][..]),
        (false, true) => ([true, false], &[(1, GrowsWith::Time)][..]),
        (false, false) => return None,
    };
    let plane = plane_through(&with_held(points, hold))?;
    let grows = candidates.iter().filter_map(|&(index, with)| {
        let slope = plane.slopes[index]?;
        let range = [(fewest, most), (first, last)][index];
        let bytes = line(&plane, index, range);
        let rise = bytes.1 - bytes.0;
        let is_sure = slope.interval(confidence).0 > 0.0;
        let is_much = rise >= RISE_BYTES && rise >= RISE_SHARE * bytes.0.max(1.0);
        let middle = f64::midpoint(range.0, range.1);
        let upper: Vec<Point> = points
            .iter()
            .copied()
            .filter(|point| point[index] >= middle)
            .collect();
        let goes_on = plane_through(&with_held(&upper, hold))
            .and_then(|upper| upper.slopes[index])
            .is_none_or(|upper| upper.value >= GOES_ON * slope.value);
        let (low, high) = slope.interval(CONFIDENCE);
        (is_sure && is_much && goes_on).then(|| Growth {
            payload,
            name: name.to_owned(),
            with,
            slope: slope.value,
            low,
            high,
            range,
            bytes,
        })
    });
    let rise = |growth: &Growth| growth.bytes.1 - growth.bytes.0;
    grows.max_by(|a, b| rise(a).total_cmp(&rise(b)))
}

/// Heights of the plane at the ends of a range, where the other variable is at its mean.
fn line(plane: &RegressionPlane, index: usize, range: (f64, f64)) -> (f64, f64) {
    let height = |x: f64| {
        let mut at = plane.middle();
        at[index] = x;
        plane.height(at)
    };
    (height(range.0).max(0.0), height(range.1))
}

/// Bytes with their unit.
fn size(bytes: f64) -> String {
    match bytes.abs() {
        ..1e3 => format!("{bytes:.0} bytes"),
        1e3..1e6 => format!("{:.1} kB", bytes / 1e3),
        _ => format!("{:.1} MB", bytes / 1e6),
    }
}

impl Growth {
    /// One sentence with the numbers.
    pub fn sentence(&self) -> String {
        let (each, unit, remark) = match self.with {
            GrowsWith::Users => ("with each user", "users", ""),
            GrowsWith::Time => ("each minute", "minutes", ""),
            GrowsWith::Either => (
                "with each user",
                "users",
                "; users and time rose together, so that it may be time",
            ),
        };
        let [slope, low, high] = [self.slope, self.low, self.high].map(size);
        let [first, last] = [self.bytes.0, self.bytes.1].map(size);
        let digits = usize::from(self.with == GrowsWith::Time);
        let (from, to) = self.range;
        format!(
            "{} grew by {slope} {each} (95 % interval {low} to {high}), from {first} at {from:.digits$} to {last} at \
             {to:.digits$} {unit}{remark}",
            self.name
        )
    }

    /// What to do.
    pub fn remedy(&self) -> &'static str {
        match (self.payload, self.with) {
            (Payload::Messages, GrowsWith::Users) => {
                "send what changed and not the whole state, group changes of several users into one message at an interval, \
                 and send lists of users only to those who show them"
            }
            (Payload::Messages, _) => {
                "send what changed and not the whole history: a snapshot once, when a subscriber joins, and then changes"
            }
            (_, GrowsWith::Users) => {
                "bound what one answer contains: pages with a limit, the rows of this user only, and lists of users in parts"
            }
            (_, _) => {
                "bound what one answer contains: pages with a limit, the newest rows or those since the last answer \
                 (`ETag`, `since=`), and delete or archive what nobody reads"
            }
        }
    }
}
