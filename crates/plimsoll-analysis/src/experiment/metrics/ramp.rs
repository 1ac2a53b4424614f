//! The load line of a single rising load.
//!
//! Answers are good until the service falls behind; from then on nearly all are bad. The load crosses its line at the moment
//! at which half of the answers became bad: the end of the stretch that maximises Σ(n/2 − bad), between the neighbouring
//! seconds in proportion. A queue takes time to grow to the bound, so the load at that moment is above the line: by up to a
//! half where it rises quickly. The line is what a service carries whose queue, as a fluid, has grown to the bound at that
//! moment (docs/decisions/0510).
//!
//! A service that refuses what it cannot carry answers half badly only at twice its line, and without any queue. No line is
//! above the most good answers of a second, and a load that ends with a tenth of bad answers has crossed it
//! (docs/decisions/0516). One that has more failures or late answers than its objective allows has crossed it where that began
//! (docs/decisions/0519, 0523).
//!
//! Loads are rates of requests or of users, or numbers of users; the line is in the unit of the load.

mod beyond;
mod shares;

use plimsoll_model::histogram::Histogram;
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::Load;
use plimsoll_model::run::Run;
use plimsoll_model::window::Window;

pub use self::beyond::BeyondLine;
use self::beyond::Trailing;

/// Share of bad answers at which the service is behind.
const BAD_SHARE: f64 = 0.5;
/// Share of bad answers at the end of a load at which the service was behind.
const BEHIND_SHARE: f64 = 0.1;
/// Share of the line up to which the load is plainly below it.
const PLAINLY_BELOW: f64 = 0.9;
/// Halvings until a capacity is known to the last digit that is shown.
const HALVINGS: u32 = 50;

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

impl Crossing {
    /// The lower of two.
    fn min(self, other: Self) -> Self {
        match (self, other) {
            (Self::Below(own), Self::Below(others)) => Self::Below(own.min(others)),
            (Self::At(own), Self::At(others)) => Self::At(own.min(others)),
            (Self::Above(own), Self::Above(others)) => Self::Above(own.min(others)),
            (Self::Below(_), _) | (Self::At(_), Self::Above(_)) => self,
            _ => other,
        }
    }
}

/// What a load shows that rises through the load line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RisenLoad {
    /// Where it crossed the line.
    pub crossing: Crossing,
    /// Share of requests that failed while the load was plainly below the line, 0 to 1; over the whole of a load that began
    /// beyond it.
    pub errors: f64,
    /// Share of bad answers before the service fell behind, failed or late, 0 to 1; over the whole of a load that began
    /// beyond the line.
    pub bad: f64,
}

/// A load that changes linearly.
#[derive(Clone, Copy, Debug)]
struct LinearPhase {
    from: f64,
    to: f64,
    lasting_s: f64,
}

/// A load that rises, in phases of different slopes.
#[derive(Clone, Debug)]
struct Ramp {
    /// When it begins, s.
    start_s: f64,
    /// At least one.
    phases: Vec<LinearPhase>,
}

impl Ramp {
    fn from(&self) -> f64 {
        self.phases[0].from
    }

    fn to(&self) -> f64 {
        self.phases[self.phases.len() - 1].to
    }

    fn lasting_s(&self) -> f64 {
        self.phases.iter().map(|phase| phase.lasting_s).sum()
    }

    /// The load at a moment after its begin.
    fn load_at(&self, second: f64) -> f64 {
        load_at(&self.phases, second)
    }

    /// The line of a service that is beyond it from a moment on.
    fn crossing_at(&self, second: f64) -> Crossing {
        if second <= 0.0 {
            Crossing::Below(self.from())
        } else {
            Crossing::At(self.load_at(second))
        }
    }
}

/// The load of phases at a moment after their begin.
fn load_at(phases: &[LinearPhase], second: f64) -> f64 {
    let mut begin_s = 0.0;
    for phase in phases {
        let part = (second - begin_s) / phase.lasting_s;
        if part <= 1.0 {
            return phase.from + (phase.to - phase.from) * part;
        }
        begin_s += phase.lasting_s;
    }
    phases.last().map_or(0.0, |last| last.to)
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
    let objective = run.header.plan.objective.as_ref()?;
    risen_in(&run.header.plan.load, objective, &run.windows)
}

/// What a load shows of the line, by the windows from its begin on; `None` as of [`risen`].
pub fn risen_in(load: &Load, objective: &Objective, windows: &[Window]) -> Option<RisenLoad> {
    let phases = phases(load)?;
    let ramp = last_ramp(&phases)?;
    let within_us = bound_us(objective);
    let begin = windows.first()?.second.checked_add(whole(ramp.start_s)?)?;
    let (before, rising) =
        windows.split_at(windows.partition_point(|window| window.second < begin));
    let answers = rising
        .iter()
        .map(|window| SecondAnswers::of(window, within_us));
    let answers: Vec<SecondAnswers> = answers.collect();
    let end = end_of_good(&answers);
    let good = if end == 0 { answers.len() } else { end };
    let lateness_s = lateness_s(objective);
    let crossing = match turn(&answers, end, &ramp, lateness_s)? {
        // Users wait for their answers before they send more: no queue grows by itself, and none is refused for long.
        RampTurn::At(due_s) if matches!(load, Load::Users { .. }) => {
            Crossing::At(ramp.load_at(due_s))
        }
        RampTurn::Bound(crossing) if matches!(load, Load::Users { .. }) => crossing,
        RampTurn::Bound(Crossing::Above(least)) if is_behind_at_end(&answers, &ramp) => {
            Crossing::At(most_good(load, rising, &answers, &ramp).min(least))
        }
        RampTurn::Bound(crossing) => crossing,
        RampTurn::At(due_s) => {
            let wait_s = (lateness_s - usual_s(before)).max(0.0);
            let line = carried(&phases, ramp.start_s + due_s, wait_s);
            Crossing::At(line.min(most_good(load, rising, &answers, &ramp)))
        }
    };
    let beyond = shares::crossing(rising, &ramp, objective);
    let crossing = beyond.map_or(crossing, |beyond| beyond.min(crossing));
    let below = match crossing {
        Crossing::At(line) => {
            let is_below =
                |index: &usize| ramp.load_at(*index as f64 + 1.0) <= PLAINLY_BELOW * line;
            (0..good).take_while(is_below).count()
        }
        Crossing::Above(_) | Crossing::Below(_) => good,
    };
    let share = |seconds: &[SecondAnswers], of: fn(&SecondAnswers) -> f64| {
        let all: f64 = seconds.iter().map(|second| second.all).sum();
        seconds.iter().map(of).sum::<f64>() / all.max(1.0)
    };
    Some(RisenLoad {
        crossing,
        errors: share(&answers[..below], |second| second.failed),
        bad: share(&answers[..good], |second| second.bad),
    })
}

/// Whether the last seconds of a load had more bad answers than a service has that carries it.
fn is_behind_at_end(answers: &[SecondAnswers], ramp: &Ramp) -> bool {
    let rising = while_rising(answers, ramp);
    let mut last = Trailing::default();
    for second in rising {
        last.push(*second);
    }
    last.bad() > BEHIND_SHARE * last.all()
}

/// The most good answers of a second, in the unit of the load: nothing was carried beyond that.
fn most_good(load: &Load, rising: &[Window], answers: &[SecondAnswers], ramp: &Ramp) -> f64 {
    let most = answers
        .iter()
        .map(|second| second.all - second.bad)
        .fold(0.0, f64::max);
    if matches!(load, Load::Open { .. }) {
        return most;
    }
    // A session has several requests.
    let seconds = rising.iter().enumerate();
    let (requests, sessions) = seconds.fold((0.0, 0.0), |(requests, sessions), (index, window)| {
        let at_s = (index as f64 + 0.5).min(ramp.lasting_s());
        (
            requests + window.offered as f64,
            sessions + ramp.load_at(at_s),
        )
    });
    most * sessions / f64::max(requests, 1.0)
}

/// Where a load turned bad.
#[derive(Clone, Copy, Debug)]
enum RampTurn {
    /// Half of the requests that were due at this second of the ramp had bad answers.
    At(f64),
    /// It turned nowhere, or before the ramp.
    Bound(Crossing),
}

fn turn(answers: &[SecondAnswers], end: usize, ramp: &Ramp, lateness_s: f64) -> Option<RampTurn> {
    if answers.iter().all(|second| second.all <= 0.0) {
        return None;
    }
    if end == 0 {
        return Some(RampTurn::Bound(Crossing::Below(ramp.from())));
    }
    if !turns_bad(answers, end) {
        let seconds = answers.len() as f64;
        let offered = if seconds >= ramp.lasting_s().floor() {
            ramp.to()
        } else {
            // Of a load that was cut off, as much as it offered.
            ramp.load_at((seconds - lateness_s).max(0.0))
        };
        return Some(RampTurn::Bound(Crossing::Above(offered)));
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
        RampTurn::Bound(Crossing::Below(ramp.from()))
    } else if due_s > ramp.lasting_s() {
        RampTurn::Bound(Crossing::Above(ramp.to()))
    } else {
        RampTurn::At(due_s)
    })
}

/// What a service carries that has become `wait_s` late with what was due at `due_s`, the load rising: with a fluid of rate
/// a(t), a service of capacity C has a queue of ∫ max(a − C, 0) then, which takes it `wait_s`.
fn carried(phases: &[LinearPhase], due_s: f64, wait_s: f64) -> f64 {
    let (mut low, mut high) = (0.0, load_at(phases, due_s));
    if wait_s <= 0.0 {
        return high;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if queued(phases, due_s, middle) > wait_s * middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// ∫ max(a − capacity, 0) up to a moment.
fn queued(phases: &[LinearPhase], until_s: f64, capacity: f64) -> f64 {
    let mut begin_s = 0.0;
    let mut sum = 0.0;
    for phase in phases {
        let lasting_s = phase.lasting_s.min(until_s - begin_s);
        if lasting_s <= 0.0 {
            continue;
        }
        let slope = (phase.to - phase.from) / phase.lasting_s;
        let excess = phase.from - capacity;
        let end = excess + slope * lasting_s;
        sum += match (excess > 0.0, end > 0.0) {
            (true, true) => f64::midpoint(excess, end) * lasting_s,
            (false, true) => end * end / (2.0 * slope),
            (true, false) => -excess * excess / (2.0 * slope),
            (false, false) => 0.0,
        };
        begin_s += phase.lasting_s;
    }
    sum
}

/// The usual response time before a load rises, s; 0 where nothing was answered.
fn usual_s(before: &[Window]) -> f64 {
    let mut times = Histogram::new();
    for window in before {
        times.merge(&window.response);
    }
    times.quantile(0.5).map_or(0.0, |usual| usual as f64 / 1e6)
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

/// The phases that rise without a break up to the last that rises. Those before them may rise up to where they begin.
fn last_ramp(phases: &[LinearPhase]) -> Option<Ramp> {
    let rises = |phase: &LinearPhase| phase.to > phase.from && phase.lasting_s > 0.0;
    let last = phases.iter().rposition(rises)?;
    let is_break = |pair: &[LinearPhase]| {
        !rises(&pair[0]) || (pair[0].to - pair[1].from).abs() > 1e-9 * pair[1].from
    };
    let begin = phases[..=last].windows(2).rposition(is_break);
    let begin = begin.map_or(0, |index| index + 1);
    let (before, rising) = (&phases[..begin], &phases[begin..=last]);
    let leads_to = |phase: &LinearPhase| phase.to <= phase.from || phase.to <= rising[0].from;
    before.iter().all(leads_to).then(|| Ramp {
        start_s: before.iter().map(|phase| phase.lasting_s).sum(),
        phases: rising.to_vec(),
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a second of a run"
)]
fn whole(seconds: f64) -> Option<u32> {
    (seconds < f64::from(u32::MAX)).then(|| seconds.round() as u32)
}

/// The seconds of a load without those of its rest, which come after its end.
fn while_rising<'a, T>(seconds: &'a [T], ramp: &Ramp) -> &'a [T] {
    let end = whole(ramp.lasting_s()).map_or(seconds.len(), |end| seconds.len().min(end as usize));
    &seconds[..end]
}

/// The first second behind the good stretch: 0 when all is bad.
fn end_of_good(answers: &[SecondAnswers]) -> usize {
    end_of_gain(
        answers
            .iter()
            .map(|second| BAD_SHARE * second.all - second.bad),
    )
}

/// The first second behind the stretch from the begin that gains most; 0 where none gains.
fn end_of_gain(gains: impl Iterator<Item = f64>) -> usize {
    let (mut sum, mut best, mut end) = (0.0, 0.0, 0);
    for (index, gain) in gains.enumerate() {
        sum += gain;
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

/// Seconds of a load before it rises; 0 of one that does not.
pub fn lead_s(load: &Load) -> u32 {
    let ramp = phases(load).and_then(|phases| last_ramp(&phases));
    ramp.and_then(|ramp| whole(ramp.start_s.ceil()))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
