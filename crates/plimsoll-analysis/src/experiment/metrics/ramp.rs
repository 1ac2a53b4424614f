//! The load line of a single rising load.
//!
//! Answers are good until the service falls behind; from then on nearly all are bad. The line is the rate at which requests
//! were due when half of the answers became bad: the end of the stretch that maximises Σ(n/2 − bad), between the
//! neighbouring seconds in proportion. A queue takes time to grow, so this is above the line that a search finds; of
//! two ramps with the same load the ratio is that of the lines.

use plimsoll_model::objective::LatencyBound;
use plimsoll_model::plan::Load;
use plimsoll_model::run::Run;
use plimsoll_model::schedule::LoadPhase;
use plimsoll_model::window::Window;

/// Share of bad answers at which the service is behind.
const BAD_SHARE: f64 = 0.5;

/// The line, 1/s; `None` for a load of another form, without a bound on time, and where the load did not cross the line.
pub(super) fn line(run: &Run) -> Option<f64> {
    let Load::Open { phases, .. } = &run.header.plan.load else {
        return None;
    };
    let bound = run.header.plan.objective.as_ref()?.strictest()?;
    let (start_s, ramp) = only_ramp(phases)?;
    let first = run.windows.first()?.second;
    let windows = run.windows_between(first.checked_add(whole(start_s)?)?, u32::MAX);
    let shares: Vec<(f64, f64)> = windows.iter().map(|window| bad(window, bound)).collect();
    let end = end_of_good(&shares)?;
    let share = |index: usize| {
        let (all, bad) = shares[index];
        if all > 0.0 { bad / all } else { 1.0 }
    };
    let (before, after) = (share(end - 1), share(end));
    let part = if after > before {
        ((BAD_SHARE - before) / (after - before)).clamp(0.0, 1.0)
    } else {
        0.5
    };
    // From the middle of a second to the middle of the next; a bad answer was due a bound before it came.
    let due_s = end as f64 - 0.5 + part - bound.within_us as f64 / 1e6;
    let lasting_s = ramp.lasting_ns as f64 / 1e9;
    (0.0..=lasting_s)
        .contains(&due_s)
        .then(|| ramp.from + (ramp.to - ramp.from) * due_s / lasting_s)
}

/// The only phase that rises, and when it begins, s.
fn only_ramp(phases: &[LoadPhase]) -> Option<(f64, &LoadPhase)> {
    let mut rising = phases.iter().enumerate().filter(|(_, it)| it.to > it.from);
    let (index, ramp) = rising.next().filter(|_| rising.next().is_none())?;
    let before: u64 = phases[..index].iter().map(|phase| phase.lasting_ns).sum();
    Some((before as f64 / 1e9, ramp))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a second of a run"
)]
fn whole(seconds: f64) -> Option<u32> {
    (seconds < f64::from(u32::MAX)).then(|| seconds.round() as u32)
}

/// Answers of a second, and those that are bad.
fn bad(window: &Window, bound: LatencyBound) -> (f64, f64) {
    let slow = window.response.count_above(bound.within_us);
    let failed = window.outcomes.failed();
    (window.completed() as f64, (slow + failed) as f64)
}

/// The first second of the stretch that is bad to the end; `None` when all or none is.
fn end_of_good(shares: &[(f64, f64)]) -> Option<usize> {
    let (mut sum, mut best, mut end) = (0.0, 0.0, 0);
    for (index, (all, bad)) in shares.iter().enumerate() {
        sum += BAD_SHARE * all - bad;
        if sum > best {
            (best, end) = (sum, index + 1);
        }
    }
    (end > 0 && end < shares.len()).then_some(end)
}
