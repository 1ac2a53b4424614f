//! The load line of a single rising load.
//!
//! Answers are good until the service falls behind; from then on nearly all are bad. The line is the load at the moment at
//! which half of the answers became bad: the end of the stretch that maximises Σ(n/2 − bad), between the neighbouring
//! seconds in proportion. A queue takes time to grow, so this is above the line that a search finds; of two ramps with the
//! same load the ratio is that of the lines.
//!
//! Loads are rates of requests or of users, or numbers of users; the line is in the unit of the load.

use std::collections::VecDeque;

use plimsoll_model::objective::Objective;
use plimsoll_model::plan::Load;
use plimsoll_model::run::Run;
use plimsoll_model::window::Window;

/// Share of bad answers at which the service is behind.
const BAD_SHARE: f64 = 0.5;
/// Seconds over which a rising load is judged while it goes on.
const TRAILING_S: usize = 3;
/// Seconds for which it must be beyond the line before it may end.
const BEYOND_S: u32 = 3;

/// Where a rising load crossed the load line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crossing {
    /// It crossed the line here.
    At(f64),
    /// It did not reach the line: the line is at least this.
    Above(f64),
    /// It began beyond the line: the line is at most this.
    Below(f64),
}

/// What a load shows that rises through the load line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RisenLoad {
    /// Where it crossed the line.
    pub crossing: Crossing,
    /// Share of requests that failed while the load was below the line, 0 to 1; over the whole of a load that began beyond
    /// it.
    pub errors: f64,
    /// Share of bad answers in the same time: failed or late, 0 to 1.
    pub bad: f64,
}

/// A load that changes linearly.
#[derive(Clone, Copy, Debug)]
struct LinearPhase {
    from: f64,
    to: f64,
    lasting_s: f64,
}

/// Answers of a second.
#[derive(Clone, Copy, Debug, Default)]
struct SecondAnswers {
    all: f64,
    bad: f64,
    failed: f64,
    /// Whether answers were due and none came.
    is_silent: bool,
}

impl SecondAnswers {
    fn of(window: &Window, within_us: Option<u64>) -> Self {
        let slow = within_us.map_or(0, |bound| window.response.count_above(bound));
        let failed = window.outcomes.failed();
        let all = window.completed();
        Self {
            all: all as f64,
            bad: (slow + failed) as f64,
            failed: failed as f64,
            is_silent: all == 0 && (window.offered > 0 || window.in_flight > 0),
        }
    }

    fn bad_share(self) -> f64 {
        if self.all > 0.0 {
            self.bad / self.all
        } else {
            1.0
        }
    }
}

/// What the load of a run shows of the line; `None` for a load of another form, without an objective, and without answers.
pub fn risen(run: &Run) -> Option<RisenLoad> {
    let phases = phases(&run.header.plan.load)?;
    let objective = run.header.plan.objective.as_ref()?;
    let (start_s, ramp) = last_ramp(&phases)?;
    let within_us = bound_us(objective);
    let first = run.windows.first()?.second;
    let windows = run.windows_between(first.checked_add(whole(start_s)?)?, u32::MAX);
    let answers = windows
        .iter()
        .map(|window| SecondAnswers::of(window, within_us));
    let answers: Vec<SecondAnswers> = answers.collect();
    let end = end_of_good(&answers);
    let good = if end == 0 { answers.len() } else { end };
    let sum = |of: fn(&SecondAnswers) -> f64| answers[..good].iter().map(of).sum::<f64>();
    let all = sum(|second| second.all).max(1.0);
    Some(RisenLoad {
        crossing: crossing(&answers, end, &ramp, lateness_s(objective))?,
        errors: sum(|second| second.failed) / all,
        bad: sum(|second| second.bad) / all,
    })
}

fn crossing(
    answers: &[SecondAnswers],
    end: usize,
    ramp: &LinearPhase,
    lateness_s: f64,
) -> Option<Crossing> {
    if answers.iter().all(|second| second.all <= 0.0) {
        return None;
    }
    if end == 0 {
        return Some(Crossing::Below(ramp.from));
    }
    let load_at = |second: f64| ramp.from + (ramp.to - ramp.from) * second / ramp.lasting_s;
    if !turns_bad(answers, end) {
        let seconds = answers.len() as f64;
        if seconds >= ramp.lasting_s.floor() {
            return Some(Crossing::Above(ramp.to));
        }
        // Of a load that was cut off, as much as it offered.
        return Some(Crossing::Above(load_at((seconds - lateness_s).max(0.0))));
    }
    let (before, after) = (answers[end - 1].bad_share(), answers[end].bad_share());
    let part = if after > before {
        ((BAD_SHARE - before) / (after - before)).clamp(0.0, 1.0)
    } else {
        0.5
    };
    // From the middle of a second to the middle of the next; a bad answer was due a bound before it came.
    let due_s = end as f64 - 0.5 + part - lateness_s;
    Some(if due_s < 0.0 {
        Crossing::Below(ramp.from)
    } else if due_s > ramp.lasting_s {
        Crossing::Above(ramp.to)
    } else {
        Crossing::At(load_at(due_s))
    })
}

/// The bound on the response time, µs; none where errors alone are judged.
fn bound_us(objective: &Objective) -> Option<u64> {
    objective.strictest().map(|bound| bound.within_us)
}

/// How long after a request was due its answer is known to be bad, s.
fn lateness_s(objective: &Objective) -> f64 {
    objective
        .strictest()
        .map_or(0.0, |bound| bound.within_us as f64 / 1e6)
}

fn phases(load: &Load) -> Option<Vec<LinearPhase>> {
    match load {
        Load::Open { phases, .. } | Load::Sessions { phases, .. } => {
            let phases = phases.iter().map(|phase| LinearPhase {
                from: phase.from,
                to: phase.to,
                lasting_s: phase.lasting_ns as f64 / 1e9,
            });
            Some(phases.collect())
        }
        Load::Users { phases, .. } => {
            let phases = phases.iter().map(|phase| LinearPhase {
                from: phase.from,
                to: phase.to,
                lasting_s: phase.lasting.as_secs_f64(),
            });
            Some(phases.collect())
        }
        Load::Closed { .. } | Load::WebSockets(_) => None,
    }
}

/// The last phase that rises, and when it begins, s. Those before it may rise up to where it begins.
fn last_ramp(phases: &[LinearPhase]) -> Option<(f64, LinearPhase)> {
    let index = phases.iter().rposition(|phase| phase.to > phase.from)?;
    let (before, ramp) = (&phases[..index], phases[index]);
    let leads_to = |phase: &LinearPhase| phase.to <= phase.from || phase.to <= ramp.from;
    let lasts = ramp.lasting_s > 0.0 && before.iter().all(leads_to);
    let start_s = before.iter().map(|phase| phase.lasting_s).sum();
    lasts.then_some((start_s, ramp))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a second of a run"
)]
fn whole(seconds: f64) -> Option<u32> {
    (seconds < f64::from(u32::MAX)).then(|| seconds.round() as u32)
}

/// The first second behind the good stretch: 0 when all is bad.
fn end_of_good(answers: &[SecondAnswers]) -> usize {
    let (mut sum, mut best, mut end) = (0.0, 0.0, 0);
    for (index, second) in answers.iter().enumerate() {
        sum += BAD_SHARE * second.all - second.bad;
        if sum > best {
            (best, end) = (sum, index + 1);
        }
    }
    end
}

/// Whether the answers behind the good stretch are bad, and not just missing or few: those of a drain.
fn turns_bad(answers: &[SecondAnswers], end: usize) -> bool {
    let (good, rest) = answers.split_at(end);
    let a_second = good.iter().map(|second| second.all).sum::<f64>() / end as f64;
    let bad: f64 = rest.iter().map(|second| second.bad).sum();
    bad > 0.0 && bad >= BAD_SHARE * a_second
}

/// Notices while a load rises that it is clearly beyond the line: more than half of the answers of three seconds are bad,
/// for three seconds.
#[derive(Clone, Debug)]
pub struct BeyondLine {
    within_us: Option<u64>,
    /// Seconds that are not judged.
    lead_s: u32,
    /// Seconds in which no answer need have come.
    patience_s: u32,
    closed: u32,
    trailing: VecDeque<SecondAnswers>,
    beyond: u32,
}

impl BeyondLine {
    /// Of a load that rises after `lead_s` seconds.
    pub fn new(objective: &Objective, lead_s: u32) -> Self {
        let patience_s = whole(lateness_s(objective).ceil()).unwrap_or(u32::MAX);
        Self {
            within_us: bound_us(objective),
            lead_s,
            patience_s: patience_s.max(1),
            closed: 0,
            trailing: VecDeque::new(),
            beyond: 0,
        }
    }

    /// Takes the next second; whether the load is beyond the line.
    pub fn closes(&mut self, window: &Window) -> bool {
        self.closed = self.closed.saturating_add(1);
        if self.closed <= self.lead_s {
            return false;
        }
        if self.trailing.len() == TRAILING_S {
            self.trailing.pop_front();
        }
        self.trailing
            .push_back(SecondAnswers::of(window, self.within_us));
        let is_beyond = self.trailing.len() == TRAILING_S && self.is_bad();
        self.beyond = if is_beyond { self.beyond + 1 } else { 0 };
        self.beyond >= BEYOND_S
    }

    fn is_bad(&self) -> bool {
        let sum = |of: fn(&SecondAnswers) -> f64| self.trailing.iter().map(of).sum::<f64>();
        let all = sum(|second| second.all);
        if all > 0.0 {
            return sum(|second| second.bad) > BAD_SHARE * all;
        }
        let is_late = self.closed > self.patience_s.saturating_add(self.lead_s);
        is_late && self.trailing.iter().all(|second| second.is_silent)
    }
}

#[cfg(test)]
mod tests;
