//! A search of a peer that spends its last trials on what ours ends with: pairs of its choice beside the default, and only what
//! is confirmed is adopted. None of the peers has such a rule.

use anyhow::Result;
use plimsoll_analysis::experiment::effect::{Criteria, Direction, Effect};
use plimsoll_analysis::experiment::trial::Scale;
use plimsoll_model::seed::Seed;
use plimsoll_testkit::surfaces::{ResponseSurface, Setting};

use super::proposer::{MeasuredTrial, Proposer};

/// Trials of the pairs: the fewest that can confirm anything, as in our search.
const PAIR_TRIALS: usize = 12;
/// Gain that has to be exceeded, as in our search.
const MARGIN: f64 = 0.03;
/// Label of the seed of the bootstrap.
const BOOTSTRAP: u64 = 2;

/// A search and the confirmation of its choice.
pub(super) struct ConfirmedProposer<P> {
    search: P,
    /// Trials that are left to the search.
    searching: u64,
    default: Setting,
    /// Set when the pairs begin.
    candidate: Option<Setting>,
    /// Lines of the pairs, `None` where the service failed.
    lines: Vec<Option<f64>>,
    seed: Seed,
}

impl<P: Proposer> ConfirmedProposer<P> {
    /// Trials that are left to a search of so many.
    pub(super) fn searching(trials: u64) -> u64 {
        trials.saturating_sub(PAIR_TRIALS as u64)
    }

    pub(super) fn new(search: P, surface: &ResponseSurface, seed: Seed, trials: u64) -> Self {
        Self {
            search,
            searching: Self::searching(trials),
            default: surface.default_setting(),
            candidate: None,
            lines: Vec::new(),
            seed: seed.derive(BOOTSTRAP),
        }
    }

    /// Whether the gain is confirmed: all pairs are measured, nothing failed, and the lower bound is above the margin.
    fn is_confirmed(&self) -> bool {
        let lines: Option<Vec<f64>> = self.lines.iter().copied().collect();
        let Some(lines) = lines.filter(|lines| lines.len() == PAIR_TRIALS) else {
            return false;
        };
        let differences: Vec<f64> = lines
            .chunks_exact(2)
            .enumerate()
            .map(|(pair, lines)| {
                let difference = (lines[1] / lines[0]).ln();
                if pair % 2 == 0 {
                    difference
                } else {
                    -difference
                }
            })
            .collect();
        let criteria = Criteria::standard(Direction::HigherIsBetter, Scale::Ratio, self.seed);
        Effect::of_pairs(&differences, criteria).is_some_and(|it| it.low() > 1.0 + MARGIN)
    }
}

/// Whether a trial of the pairs has the candidate: A B B A.
fn has_candidate(trial: usize) -> bool {
    matches!(trial % 4, 1 | 2)
}

impl<P: Proposer> Proposer for ConfirmedProposer<P> {
    fn propose(&mut self) -> Result<Option<Setting>> {
        if self.candidate.is_none() {
            if self.searching > 0
                && let Some(setting) = self.search.propose()?
            {
                return Ok(Some(setting));
            }
            self.candidate = Some(self.search.choice());
        }
        let candidate = self.candidate.as_ref();
        let candidate =
            candidate.filter(|it| **it != self.default && self.lines.len() < PAIR_TRIALS);
        let next = |candidate: &Setting| {
            if has_candidate(self.lines.len()) {
                candidate.clone()
            } else {
                self.default.clone()
            }
        };
        Ok(candidate.map(next))
    }

    fn learn(&mut self, trial: MeasuredTrial) -> Result<()> {
        if self.candidate.is_some() {
            self.lines.push(trial.line);
            return Ok(());
        }
        self.searching -= 1;
        self.search.learn(trial)
    }

    fn choice(&mut self) -> Setting {
        self.search.choice()
    }

    fn result(&mut self) -> Setting {
        let candidate = self.candidate.clone();
        let adopted = candidate.filter(|_| self.is_confirmed());
        adopted.unwrap_or_else(|| self.default.clone())
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_testkit::surfaces;

    use super::*;

    /// Proposes and chooses one setting.
    struct Stubborn(Setting);

    impl Proposer for Stubborn {
        fn propose(&mut self) -> Result<Option<Setting>> {
            Ok(Some(self.0.clone()))
        }

        fn learn(&mut self, _: MeasuredTrial) -> Result<()> {
            Ok(())
        }

        fn choice(&mut self) -> Setting {
            self.0.clone()
        }
    }

    /// Settings that were proposed in twenty trials with these lines, and the result.
    fn run(
        surface: &'static ResponseSurface,
        setting: Setting,
        line: impl Fn(bool) -> Option<f64>,
    ) -> (usize, Setting) {
        let default = surface.default_setting();
        let mut search = ConfirmedProposer::new(Stubborn(setting), surface, Seed(1), 20);
        let mut trials = 0;
        while let Some(setting) = search.propose().unwrap() {
            let line = line(setting != default).map(|it| it * (1.0 + 0.001 * trials as f64));
            let at_s = 0.0;
            search
                .learn(MeasuredTrial {
                    setting,
                    at_s,
                    line,
                })
                .unwrap();
            trials += 1;
        }
        (trials, search.result())
    }

    #[test]
    fn only_what_six_pairs_confirm_is_adopted() {
        let surface = surfaces::all().next().unwrap();
        let (default, best) = (surface.default_setting(), surface.best().setting);
        let of = |ratio: f64| {
            let line = move |is_best: bool| Some(if is_best { ratio } else { 1.0 });
            run(surface, best.clone(), line)
        };
        assert_eq!(of(1.2), (20, best.clone()));
        assert_eq!(of(1.02), (20, default.clone()));
        let failing = |is_best: bool| (!is_best).then_some(1.0);
        assert_eq!(run(surface, best.clone(), failing), (20, default.clone()));
        // Nothing is compared with itself.
        assert_eq!(run(surface, default.clone(), |_| Some(1.0)), (8, default));
    }
}
