//! The comparison of a candidate with the default, in pairs of trials that follow each other.
//!
//! Six pairs are the fewest that a test by ranks can decide. A gain that is far beyond the noise is plain after four, by
//! Student's law at a confidence that leaves the chance of a false alarm as it is (docs/decisions/0517).

use plimsoll_model::seed::Seed;

use super::evidence::log_carried;
use super::observation::{Guard, Observation, Phase, Score};
use super::outcome::RejectedWhy;
use crate::experiment::effect::{Criteria, Direction, Effect};
use crate::experiment::trial::Scale;
use crate::stats::exact::student_quantile;
use crate::stats::order::median;
use crate::stats::ranks;
use crate::stats::student::mean_interval;

/// Gain over the default that has to be exceeded.
pub(super) const MARGIN: f64 = 0.03;
/// Pairs after which there may be an answer.
const PAIRS_MIN: usize = 6;
/// Pairs after which a plain gain is an answer.
const PLAIN_PAIRS_MIN: usize = 4;
/// Confidence of a plain gain.
const PLAIN_CONFIDENCE: f64 = 0.999;
/// Deviation of trials, as a logarithm, with which is reckoned at least: few trials may be alike by chance.
const NOISE_MIN: f64 = 0.05;
/// Confidence of intervals that are shown.
const CONFIDENCE: f64 = 0.95;
/// Pairs after which there is no further block.
const PAIRS_MAX: usize = 12;
/// Blocks at most, with void ones.
const BLOCKS_MAX: usize = 8;
/// What must not get worse may be this much above what is allowed: it is measured as well.
const GUARD_MARGIN: f64 = 0.03;

/// The state of a confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Confirmation {
    /// Another block is needed.
    Open,
    /// The gain is confirmed.
    Confirmed,
    /// It is not.
    Rejected(RejectedWhy),
}

/// The trials of a candidate beside the default.
#[derive(Clone, Debug)]
pub(super) struct ConfirmTrials {
    /// Differences of logarithms of pairs, candidate minus default.
    differences: Vec<f64>,
    /// Logarithms of what the candidate carried in these pairs.
    lines: Vec<f64>,
    /// The same of the default.
    default_lines: Vec<f64>,
    /// Whether it may carry more: a load ended before the service did.
    pub(super) is_at_least: bool,
    /// Trials of the candidate in which the service failed.
    failed: usize,
    blocks: usize,
    worse: Option<RejectedWhy>,
    criteria: Criteria,
}

/// An estimate with its interval of 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimated {
    pub(super) value: f64,
    /// 0 with too few trials.
    pub(super) low: f64,
    /// ∞ with too few trials.
    pub(super) high: f64,
}

/// The trials of a block in the order of time.
type InOrder<'a> = Vec<&'a Observation>;

impl ConfirmTrials {
    /// The trials of `candidate` among all observations.
    pub(super) fn of(
        observations: &[Observation],
        default: &[usize],
        candidate: &[usize],
        seed: Seed,
    ) -> Self {
        let blocks = blocks_with(observations, candidate);
        let own: Vec<&Observation> = blocks
            .iter()
            .flatten()
            .copied()
            .filter(|trial| trial.levels == candidate)
            .collect();
        let failed = own
            .iter()
            .filter(|trial| trial.score == Score::Failed)
            .count();
        let pairs: Vec<Pair> = blocks
            .iter()
            .flat_map(|block| pairs(block, default, candidate))
            .collect();
        Self {
            differences: pairs.iter().map(Pair::difference).collect(),
            lines: pairs.iter().map(|pair| pair.candidate).collect(),
            default_lines: pairs.iter().map(|pair| pair.default).collect(),
            is_at_least: own
                .iter()
                .any(|trial| matches!(trial.score, Score::AtLeast(_))),
            failed,
            blocks: blocks.len(),
            worse: worse(&own),
            criteria: Criteria::standard(Direction::HigherIsBetter, Scale::Ratio, seed),
        }
    }

    /// Pairs that count.
    pub(super) fn pairs(&self) -> usize {
        self.differences.len()
    }

    /// The gain as a ratio to the default; `None` without pairs.
    pub(super) fn gain(&self) -> Option<Estimated> {
        let effect = Effect::of_pairs(&self.differences, self.criteria)?;
        let by_ranks = Estimated {
            value: effect.estimate(),
            low: effect.low(),
            high: effect.high(),
        };
        Some(self.unless_plain(by_ranks, &self.differences))
    }

    /// What the candidate carried in the pairs, in the unit of the load; `None` without pairs.
    pub(super) fn line(&self) -> Option<Estimated> {
        self.line_of(&self.lines)
    }

    /// What the default carried in the pairs; `None` without pairs.
    pub(super) fn default_line(&self) -> Option<Estimated> {
        self.line_of(&self.default_lines)
    }

    fn line_of(&self, logarithms: &[f64]) -> Option<Estimated> {
        let line = ranks::signed_rank(logarithms, CONFIDENCE)?;
        let by_ranks = Estimated {
            value: line.estimate.exp(),
            low: line.low.exp(),
            high: line.high.exp(),
        };
        Some(self.unless_plain(by_ranks, logarithms))
    }

    /// The estimate; of a plain gain, for which ranks have too few pairs, with the interval of the mean of logarithms.
    fn unless_plain(&self, by_ranks: Estimated, logarithms: &[f64]) -> Estimated {
        let interval = mean_interval(logarithms, CONFIDENCE).filter(|_| self.is_plain_gain());
        interval.map_or(by_ranks, |(low, _, high)| Estimated {
            low: low.exp(),
            high: high.exp(),
            ..by_ranks
        })
    }

    /// Whether too few pairs for ranks show a gain that is far beyond the noise.
    fn is_plain_gain(&self) -> bool {
        (PLAIN_PAIRS_MIN..PAIRS_MIN).contains(&self.pairs())
            && mean_interval(&self.differences, PLAIN_CONFIDENCE)
                .is_some_and(|(low, _, _)| low > MARGIN.ln_1p())
    }

    /// Whether the gain is confirmed.
    pub(super) fn state(&self) -> Confirmation {
        if self.failed > 0 {
            return Confirmation::Rejected(RejectedWhy::Failed);
        }
        let is_last = self.pairs() >= PAIRS_MAX || self.blocks >= BLOCKS_MAX;
        let is_enough = self.pairs() >= PAIRS_MIN || self.is_plain_gain();
        let gain = self.gain().filter(|_| is_enough);
        match (gain, self.worse) {
            (None, _) if !is_last => Confirmation::Open,
            (Some(_), Some(why)) => Confirmation::Rejected(why),
            (Some(gain), None) if gain.low > 1.0 + MARGIN => Confirmation::Confirmed,
            // More pairs narrow the interval; they hardly move the estimate.
            (Some(gain), None) if !is_last && gain.value > 1.0 + MARGIN => Confirmation::Open,
            _ => Confirmation::Rejected(RejectedWhy::NotConfirmed),
        }
    }
}

/// Pairs that a confirmation takes at least where a gain, a logarithm, is expected, and trials differ by this deviation, a
/// logarithm: of a plain gain fewer than of others.
pub(super) fn pairs_needed(gain: f64, deviation: f64) -> usize {
    let error = deviation.max(NOISE_MIN) * (2.0 / PLAIN_PAIRS_MIN as f64).sqrt();
    let reach = student_quantile(PLAIN_PAIRS_MIN as f64 - 1.0, PLAIN_CONFIDENCE);
    if reach.is_some_and(|reach| gain > MARGIN.ln_1p() + reach * error) {
        PLAIN_PAIRS_MIN
    } else {
        PAIRS_MIN
    }
}

/// The blocks of the confirmation that hold a trial of `candidate`, each in the order of time.
fn blocks_with<'a>(observations: &'a [Observation], candidate: &[usize]) -> Vec<InOrder<'a>> {
    super::blocks(observations, Phase::Confirm)
        .into_iter()
        .filter(|block| block.iter().any(|trial| trial.levels == candidate))
        .collect()
}

/// A trial of the default and one of the candidate that were both measured: logarithms of what they carried.
#[derive(Clone, Copy, Debug)]
struct Pair {
    default: f64,
    candidate: f64,
    /// Whether the line of the default was reached.
    is_bounded: bool,
}

impl Pair {
    fn difference(&self) -> f64 {
        let difference = self.candidate - self.default;
        // A default whose line was not reached may carry as much as the candidate.
        if self.is_bounded {
            difference
        } else {
            difference.min(0.0)
        }
    }
}

/// The pairs of a block: the first trials of both, the second of both, ...
fn pairs(block: &[&Observation], default: &[usize], candidate: &[usize]) -> Vec<Pair> {
    let of = |levels: &[usize]| -> Vec<Score> {
        let own = block.iter().filter(|trial| trial.levels == levels);
        own.map(|trial| trial.score).collect()
    };
    let pairs = of(default).into_iter().zip(of(candidate));
    pairs
        .filter_map(|(default, candidate)| {
            Some(Pair {
                default: log_carried(&default)?,
                candidate: log_carried(&candidate)?,
                is_bounded: matches!(default, Score::Line(_)),
            })
        })
        .collect()
}

/// What gets worse by the medians over the trials of the candidate.
fn worse(trials: &[&Observation]) -> Option<RejectedWhy> {
    let is_worse = |ratio: &dyn Fn(&Guard) -> Option<f64>| {
        let ratios: Vec<f64> = trials
            .iter()
            .filter_map(|trial| ratio(&trial.guard))
            .collect();
        median(&ratios).is_some_and(|middle| middle > 1.0 + GUARD_MARGIN)
    };
    if is_worse(&|guard| guard.errors_ratio) {
        Some(RejectedWhy::WorseErrors)
    } else if is_worse(&|guard| guard.memory_ratio) {
        Some(RejectedWhy::WorseMemory)
    } else if is_worse(&|guard| guard.price_ratio) {
        Some(RejectedWhy::WorsePrice)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_testkit::normal::standard_normal;

    use super::*;

    /// Blocks of a candidate that carries `ratio` times as much, with 5 % noise.
    fn trials(blocks: u32, ratio: f64, seed: u64) -> Vec<Observation> {
        let mut random = Seed(seed).generator();
        let mut observations = Vec::new();
        for block in 0..blocks {
            for (position, level) in [0, 1, 1, 0].into_iter().enumerate() {
                let line = 100.0 * if level == 1 { ratio } else { 1.0 };
                observations.push(Observation {
                    levels: vec![level],
                    block,
                    at_s: f64::from(block) * 240.0 + position as f64 * 60.0,
                    phase: Phase::Confirm,
                    score: Score::Line(line * (0.05 * standard_normal(&mut random)).exp()),
                    guard: Guard::default(),
                });
            }
        }
        observations
    }

    fn state(observations: &[Observation]) -> Confirmation {
        ConfirmTrials::of(observations, &[0], &[1], Seed(1)).state()
    }

    #[test]
    fn a_plain_gain_is_confirmed_by_four_pairs() {
        assert_eq!(state(&trials(1, 20.0, 1)), Confirmation::Open);
        let observations = trials(2, 20.0, 1);
        assert_eq!(state(&observations), Confirmation::Confirmed);
        let trials = ConfirmTrials::of(&observations, &[0], &[1], Seed(1));
        let (gain, line) = (trials.gain().unwrap(), trials.line().unwrap());
        assert!(
            15.0 < gain.low && gain.low < gain.value && gain.value < gain.high,
            "{gain:?}"
        );
        assert!((line.value / 2000.0 - 1.0).abs() < 0.1);
        assert!(1500.0 < line.low && line.high < 2700.0, "{line:?}");
        // The line of the default is that of the same pairs.
        let default = trials.default_line().unwrap();
        assert!((line.value / default.value / gain.value - 1.0).abs() < 0.05);
        assert!(default.low < default.value && default.value < default.high);
    }

    #[test]
    fn a_plain_gain_needs_fewer_pairs() {
        // t of 3 degrees at 99.9 % is 12.924, and 5 % of each trial are 3.5 % of a mean of four differences.
        assert_eq!(pairs_needed(0.48, 0.01), 6);
        assert_eq!(pairs_needed(0.49, 0.01), 4);
        assert_eq!(pairs_needed(0.49, 0.06), 6);
        assert_eq!(pairs_needed(2.7, 0.2), 4);
        assert_eq!(pairs_needed(0.0, 0.05), 6);
    }

    #[test]
    fn lines_are_those_of_the_pairs() {
        let mut observations = trials(3, 2.0, 1);
        observations[0].score = Score::Void;
        observations[1].score = Score::Line(1e6);
        let trials = ConfirmTrials::of(&observations, &[0], &[1], Seed(1));
        assert_eq!((trials.pairs(), trials.lines.len()), (5, 5));
        assert!(trials.line().unwrap().value < 250.0);
    }

    #[test]
    fn six_pairs_confirm_a_large_gain() {
        assert_eq!(state(&trials(2, 1.2, 1)), Confirmation::Open);
        let observations = trials(3, 2.0, 1);
        assert_eq!(state(&observations), Confirmation::Confirmed);
        let trials = ConfirmTrials::of(&observations, &[0], &[1], Seed(1));
        assert_eq!((trials.pairs(), trials.lines.len()), (6, 6));
        assert!((trials.gain().unwrap().value / 2.0 - 1.0).abs() < 0.1);
    }

    #[test]
    fn no_gain_is_hardly_ever_confirmed() {
        let confirmed = (0..200)
            .filter(|&seed| {
                (2..=6).any(|blocks| state(&trials(blocks, 1.0, seed)) == Confirmation::Confirmed)
            })
            .count();
        assert!(confirmed <= 2, "{confirmed} of 200");
    }

    #[test]
    fn further_pairs_are_measured_while_they_may_confirm() {
        let found: Vec<Confirmation> = (0..50).map(|seed| state(&trials(3, 1.09, seed))).collect();
        assert!(found.contains(&Confirmation::Open));
        let last: Vec<Confirmation> = (0..50).map(|seed| state(&trials(6, 1.09, seed))).collect();
        assert!(!last.contains(&Confirmation::Open));
    }

    #[test]
    fn a_failure_ends_it() {
        let mut observations = trials(1, 2.0, 1);
        observations[1].score = Score::Failed;
        assert_eq!(
            state(&observations),
            Confirmation::Rejected(RejectedWhy::Failed)
        );
    }

    #[test]
    fn what_must_not_get_worse_rejects() {
        let mut observations = trials(3, 2.0, 1);
        for trial in &mut observations {
            trial.guard.errors_ratio = Some(1.01);
            trial.guard.memory_ratio = Some(1.4);
        }
        assert_eq!(
            state(&observations),
            Confirmation::Rejected(RejectedWhy::WorseMemory)
        );
    }

    #[test]
    fn void_pairs_do_not_count_and_end_after_a_while() {
        let mut observations = trials(3, 1.2, 1);
        observations[0].score = Score::Void;
        assert_eq!(state(&observations), Confirmation::Open);
        let mut observations = trials(8, 2.0, 1);
        for trial in &mut observations {
            trial.score = Score::Void;
        }
        assert_eq!(
            state(&observations),
            Confirmation::Rejected(RejectedWhy::NotConfirmed)
        );
    }

    #[test]
    fn a_default_whose_line_was_not_reached_confirms_nothing() {
        let mut observations = trials(3, 2.0, 1);
        for trial in observations.iter_mut().filter(|trial| trial.levels == [0]) {
            trial.score = Score::AtLeast(90.0);
        }
        assert_eq!(
            state(&observations),
            Confirmation::Rejected(RejectedWhy::NotConfirmed)
        );
    }
}
