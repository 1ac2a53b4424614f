//! What `plimsoll scale --replay` prints: one object as JSON, on the terminal and as a page.

mod object;
mod page;
mod text;

pub use object::*;
pub use page::render;
pub use text::summary;

use plimsoll_scale::judgement::{Judgement, ScalerRecord, judge};
use plimsoll_scale::{Decision, Replay, ReplaySecond};

/// A scaler over a trace: a policy that was replayed, or what somebody's scaler had.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalerRun {
    /// Its name.
    pub name: String,
    /// Second by second.
    pub seconds: Vec<ReplaySecond>,
    /// Decisions, in the order of time; none of a recorded scaler.
    pub decisions: Vec<Decision>,
    /// Decisions beyond those that are kept.
    pub decisions_left_out: u64,
    /// The judgement.
    pub judgement: Judgement,
    /// Hours that replicas are paid for; `None` of a recorded scaler.
    pub paid_hours: Option<f64>,
    /// The price, where there are prices.
    pub price: Option<f64>,
}

impl ScalerRun {
    /// A policy that was replayed.
    pub fn replayed(name: &str, replay: Replay) -> Self {
        Self {
            name: name.to_owned(),
            seconds: replay.seconds,
            decisions: replay.decisions,
            decisions_left_out: replay.decisions_left_out,
            judgement: replay.judgement,
            paid_hours: Some(replay.paid_hours),
            price: replay.price,
        }
    }

    /// What somebody's scaler had under the load of `like`; `None` where it is not as long.
    pub fn recorded(supply: &[u32], like: &[ReplaySecond]) -> Option<Self> {
        let seconds = like
            .iter()
            .zip(supply)
            .map(|(second, supply)| ReplaySecond {
                ready: *supply,
                held: *supply,
                served: 0.0,
                bad: 0.0,
                queue: 0.0,
                ..*second
            });
        let seconds: Vec<ReplaySecond> = seconds.collect();
        let demand: Vec<u32> = seconds.iter().map(|second| second.demand).collect();
        let offered: Vec<f64> = seconds.iter().map(|second| second.offered).collect();
        let judgement = judge(&ScalerRecord {
            demand: &demand,
            ready: supply,
            held: supply,
            offered: &offered,
            bad: None,
        })?;
        Some(Self {
            name: "recorded".to_owned(),
            seconds,
            decisions: Vec::new(),
            decisions_left_out: 0,
            judgement,
            paid_hours: None,
            price: None,
        })
    }
}
