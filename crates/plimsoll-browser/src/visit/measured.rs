//! What a page itself knows of its times: a script asks the browser's performance entries, in a world of its own that the
//! page's scripts do not see and cannot change.

use plimsoll_model::browser::PageTimes;
use serde::Deserialize;
use serde_json::json;

use super::layout_shift;
use super::ready::Busy;
use crate::clock::Deadline;
use crate::protocol::{CallError, Session};

const SCRIPT: &str = include_str!("measure.js");
/// Name of the script's world.
const WORLD: &str = "plimsoll";
/// The part of a task that blocks nobody, µs.
const TASK_US: u64 = 50_000;

/// Answer of the script; times in ms since the beginning of the page, 0 where something has not happened.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    now: f64,
    nodes: u64,
    load_start: Option<f64>,
    load: Option<f64>,
    first_contentful_paint: Option<f64>,
    largest_contentful_paint: Option<f64>,
    long_tasks: Vec<(f64, f64)>,
    /// Moment and score of each.
    layout_shifts: Vec<(f64, f64)>,
}

/// The same, µs.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// When it was measured.
    pub(super) now_us: u64,
    pub(super) nodes: u64,
    pub(super) load_start_us: Option<u64>,
    pub(super) load_us: Option<u64>,
    first_contentful_paint_us: Option<u64>,
    largest_contentful_paint_us: Option<u64>,
    long_tasks: Vec<Busy>,
    layout_shift_ppm: u64,
}

impl Measured {
    fn of(answer: &Answer) -> Self {
        let happened = |ms: Option<f64>| ms.map(micros).filter(|us| *us > 0);
        Self {
            now_us: micros(answer.now),
            nodes: answer.nodes,
            load_start_us: happened(answer.load_start),
            load_us: happened(answer.load),
            first_contentful_paint_us: happened(answer.first_contentful_paint),
            largest_contentful_paint_us: happened(answer.largest_contentful_paint),
            long_tasks: answer
                .long_tasks
                .iter()
                .map(|&(from, to)| Busy {
                    from_us: micros(from),
                    to_us: micros(to),
                })
                .collect(),
            layout_shift_ppm: rounded(layout_shift::cumulative(&answer.layout_shifts) * 1e6),
        }
    }

    /// Long tasks, and the moment of the largest paint.
    pub(super) fn busy(&self) -> impl Iterator<Item = Busy> {
        let paint = self.largest_contentful_paint_us.map(|at_us| Busy {
            from_us: at_us,
            to_us: at_us,
        });
        self.long_tasks.iter().copied().chain(paint)
    }

    /// Its times, with the long tasks up to the moment when the page was ready.
    pub(super) fn fill_in(&self, times: &mut PageTimes, ready_us: Option<u64>) {
        times.first_contentful_paint_us = self.first_contentful_paint_us;
        times.largest_contentful_paint_us = self.largest_contentful_paint_us;
        times.load_us = self.load_us;
        times.layout_shift_ppm = Some(self.layout_shift_ppm);
        let until = ready_us.unwrap_or(u64::MAX);
        for task in self.long_tasks.iter().filter(|task| task.from_us < until) {
            times.long_tasks += 1;
            times.blocking_us += (task.to_us - task.from_us).saturating_sub(TASK_US);
        }
    }
}

/// Asks the page; `None` when its answer is not understood.
pub(super) fn measure(
    session: &Session,
    deadline: Deadline,
) -> Result<Option<Measured>, CallError> {
    let tree = session.call("Page.getFrameTree", &json!({}), deadline)?;
    let params = json!({ "frameId": tree["frameTree"]["frame"]["id"], "worldName": WORLD });
    let world = session.call("Page.createIsolatedWorld", &params, deadline)?;
    let params = json!({
        "expression": SCRIPT,
        "contextId": world["executionContextId"],
        "returnByValue": true,
    });
    let answer = session.call("Runtime.evaluate", &params, deadline)?;
    let answer = Answer::deserialize(&answer["result"]["value"]).ok();
    Ok(answer.as_ref().map(Measured::of))
}

fn micros(ms: f64) -> u64 {
    rounded(ms * 1e3)
}

fn rounded(value: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to a range that fits"
    )]
    let whole = value.clamp(0.0, 1e15).round() as u64;
    whole
}
