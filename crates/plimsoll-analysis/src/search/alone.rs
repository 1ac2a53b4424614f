//! What one client alone saw, without load.

use plimsoll_model::load_line::NoLine;

#[derive(Clone, Copy, Debug)]
pub(super) struct Alone {
    pub(super) mean_s: f64,
    pub(super) objective_us: Option<u64>,
    pub(super) errors: f64,
}

/// The objective is missed before there is any load.
pub(super) fn missed_at_once(alone: Alone) -> NoLine {
    NoLine::MissedAtOnce {
        alone_us: alone.objective_us,
        errors: alone.errors,
    }
}
