//! Where a rising load begins to have more bad answers than its objective allows.
//!
//! A service that refuses a tenth of all requests at any load is never half bad, and one of whose parts is behind answers the
//! rest well: neither carries the load. It crosses its line where bad answers go beyond the allowed share for good: the end of
//! the stretch that maximises Σ(allowed · n − bad) (docs/decisions/0519, 0523).

use plimsoll_model::objective::Objective;
use plimsoll_model::window::Window;

use super::beyond::Trailing;
use super::{Crossing, Ramp, SecondAnswers, end_of_gain, while_rising};

/// Failures that are allowed, in shares of what the objective allows: a rising load has few requests at each level.
const LENIENCE: f64 = 3.0;
/// The bad answers of a single second count as so many times what is allowed, at most: a restart passes.
const SECOND_MAX: f64 = 10.0;
/// Fewer bad answers behind the good stretch are chance.
const BAD_MIN: f64 = 5.0;
/// Standard deviations of their number by which late answers behind it are more than allowed; less is chance. The end of the
/// stretch is where they begin to be most, so that a few more than allowed are there by itself.
const DEVIATIONS: f64 = 3.0;
/// The same before a load ends for it: it is judged each second, and what comes later cannot take it back.
const DEVIATIONS_TO_END: f64 = 6.0;
/// Seconds behind the good stretch before a load ends for it: what is slow until it is warm passes.
const LASTING_S: u32 = 20;

/// Where the load went beyond the shares of its objective: of failures, and of answers later than each bound on the response
/// time; `None` where it did not.
pub(super) fn crossing(rising: &[Window], ramp: &Ramp, objective: &Objective) -> Option<Crossing> {
    let rising = while_rising(rising, ramp);
    let answers = |within_us: Option<u64>| -> Vec<SecondAnswers> {
        let seconds = rising.iter();
        seconds
            .map(|window| SecondAnswers::of(window, within_us))
            .collect()
    };
    let crossings = allowances(objective).filter_map(|Allowance { within_us, share }| {
        let answers = answers(within_us);
        let good = end_of_allowed(&answers, share)?;
        let behind = Behind::of(&answers[good..]);
        if within_us.is_some() && !behind.is_beyond_chance(share, DEVIATIONS) {
            return None;
        }
        // A late answer was due a bound before it came.
        let lateness_s = within_us.map_or(0.0, |bound| bound as f64 / 1e6);
        Some(ramp.crossing_at(good as f64 - lateness_s))
    });
    crossings.reduce(Crossing::min)
}

/// The share of bad answers that an objective allows.
#[derive(Clone, Copy, Debug)]
struct Allowance {
    /// The bound beyond which an answer is late, µs; failures alone are bad without one.
    within_us: Option<u64>,
    share: f64,
}

fn allowances(objective: &Objective) -> impl Iterator<Item = Allowance> {
    let failures = objective.errors_max.map(|max| Allowance {
        within_us: None,
        share: LENIENCE * max,
    });
    let late = objective.latency.iter().map(|bound| Allowance {
        within_us: Some(bound.within_us),
        share: 1.0 - bound.quantile,
    });
    failures.into_iter().chain(late).filter(|it| it.share > 0.0)
}

/// What the answers of a second lie below what is allowed; negative where more are bad.
fn gain(second: SecondAnswers, allowed: f64) -> f64 {
    let within = allowed * second.all;
    within - second.bad.min(SECOND_MAX * within)
}

/// The first second behind those with no more bad answers than allowed; `None` where nothing is bad behind them.
fn end_of_allowed(seconds: &[SecondAnswers], allowed: f64) -> Option<usize> {
    let good = end_of_gain(seconds.iter().map(|second| gain(*second, allowed)));
    (Behind::of(&seconds[good..]).bad >= BAD_MIN).then_some(good)
}

/// The answers behind the good stretch.
#[derive(Clone, Copy, Debug, Default)]
struct Behind {
    seconds: u32,
    all: f64,
    bad: f64,
}

impl Behind {
    fn of(seconds: &[SecondAnswers]) -> Self {
        let mut behind = Self::default();
        for second in seconds {
            behind.add(*second);
        }
        behind
    }

    fn add(&mut self, second: SecondAnswers) {
        self.seconds = self.seconds.saturating_add(1);
        self.all += second.all;
        self.bad += second.bad;
    }

    /// Whether there are more bad answers than chance makes of the allowed share.
    fn is_beyond_chance(self, allowed: f64, deviations: f64) -> bool {
        let expected = allowed * self.all;
        self.bad - expected >= deviations * expected.sqrt()
    }
}

/// Notices while a load rises that it has gone beyond a share of its objective for good.
#[derive(Clone, Debug)]
pub(super) struct SharesWatch(Vec<ShareWatch>);

impl SharesWatch {
    pub(super) fn new(objective: &Objective) -> Self {
        let watches = allowances(objective).map(|allowance| ShareWatch {
            allowance,
            below_best: 0.0,
            behind: Behind::default(),
            trailing: Trailing::default(),
        });
        Self(watches.collect())
    }

    /// Takes the next second; whether the load is beyond a share.
    pub(super) fn closes(&mut self, window: &Window) -> bool {
        let mut is_beyond = false;
        for watch in &mut self.0 {
            is_beyond |= watch.closes(window);
        }
        is_beyond
    }
}

/// The same of one share.
#[derive(Clone, Debug)]
struct ShareWatch {
    allowance: Allowance,
    /// The gain since the end of the stretch that gains most; at most 0.
    below_best: f64,
    behind: Behind,
    trailing: Trailing,
}

impl ShareWatch {
    fn closes(&mut self, window: &Window) -> bool {
        let Allowance { within_us, share } = self.allowance;
        let second = SecondAnswers::of(window, within_us);
        self.trailing.push(second);
        self.below_best += gain(second, share);
        if self.below_best > 0.0 {
            self.below_best = 0.0;
            self.behind = Behind::default();
            return false;
        }
        self.behind.add(second);
        self.behind.seconds >= LASTING_S
            && self.behind.bad >= BAD_MIN
            && self.behind.is_beyond_chance(share, DEVIATIONS_TO_END)
            && self.trailing.bad() > share * self.trailing.all()
    }
}
