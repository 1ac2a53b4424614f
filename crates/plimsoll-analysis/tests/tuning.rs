//! Searches for settings on twenty surfaces whose best setting is known, with 5 % noise.

#![expect(
    clippy::print_stdout,
    reason = "what each surface gave explains a failure"
)]

use plimsoll_analysis::stats::line::mean;
use plimsoll_analysis::stats::order::{median, quantile};
use plimsoll_analysis::tuning::{
    Guard, KnobSpace, Levels, Observation, Phase, Score, Space, Step, TuneLimits, TuneSearch,
};
use plimsoll_model::seed::Seed;
use plimsoll_testkit::surfaces::{self, ResponseSurface};

/// Searches of a surface.
const SEEDS: u64 = 3;
/// Searches of a surface without gain.
const SEEDS_WITHOUT_GAIN: u64 = 10;
/// Seconds of a trial.
const TRIAL_S: f64 = 60.0;
/// Share of the best line that is to be reached.
const SHARE: f64 = 0.95;
/// Trials in which it is to be reached, by the median.
const TRIALS_MAX: f64 = 40.0;

/// Searches of a surface by one that has little time, ...
const SEEDS_OF_SHORT: u64 = 4;
/// ... of as many blocks, ...
const SHORT: [usize; 2] = [2, 5];
/// ... of which what is found may be a smaller share of the best line, by chance, than where the search does not know it.
const CHANCE: f64 = 0.02;

/// More trials than any search has.
const NEVER: f64 = 1e3;

/// A search of a surface from begin to end.
struct SurfaceSearch {
    /// Trials after which the best setting so far carries [`SHARE`] of the best line; [`NEVER`] when none does.
    reached_after: f64,
    /// Whether the default is left.
    adopts: bool,
    /// Line of what is adopted, or of the default, divided by the best.
    final_share: f64,
    trials: usize,
}

fn space(surface: &ResponseSurface) -> Space {
    let knobs = surface.knobs().iter().map(|knob| KnobSpace {
        levels: knob.levels(),
        is_ordered: knob.is_ordered(),
        default: knob.default,
        usual: None,
    });
    Space::new(knobs.collect())
}

/// The limits of a search that has time for so many blocks.
fn limits(blocks: usize, observations: &[Observation]) -> TuneLimits {
    let known = observations.last().map_or(0, |last| last.block + 1);
    let left = blocks.saturating_sub(usize::try_from(known).unwrap_or(usize::MAX));
    let is_search = |trial: &&Observation| trial.phase == Phase::Search;
    let standard = TuneLimits::STANDARD;
    TuneLimits {
        blocks: left,
        evaluations: if left == 0 {
            observations.iter().filter(is_search).count()
        } else {
            standard.evaluations
        },
        ..standard
    }
}

/// A search with time for so many blocks before its confirmation.
fn search(surface: &ResponseSurface, best_line: f64, seed: u64, blocks: usize) -> SurfaceSearch {
    let search = |observations: &[Observation]| {
        TuneSearch::new(space(surface), Seed(seed), limits(blocks, observations))
    };
    let share = |levels: &[usize]| surface.line(levels, 0.0).unwrap_or(0.0) / best_line;
    let mut observations: Vec<Observation> = Vec::new();
    let mut reached_after = NEVER;
    for block in 0.. {
        let (phase, settings) = match search(&observations).next(&observations, &|_| true) {
            Step::Search(settings) => (Phase::Search, settings),
            Step::Confirm { candidate, order } => {
                let default = surface.default_setting();
                let of = |is_candidate| if is_candidate { &candidate } else { &default };
                (Phase::Confirm, order.map(|side| of(side).clone()).to_vec())
            }
            Step::Done => break,
        };
        for levels in settings {
            observations.push(trial(
                surface,
                levels,
                block,
                phase,
                seed,
                observations.len(),
            ));
        }
        if reached_after >= NEVER {
            let best = search(&observations).incumbent(&observations);
            if best.is_some_and(|levels| share(&levels) >= SHARE) {
                reached_after = observations.len() as f64;
            }
        }
    }
    let outcome = search(&observations).outcome(&observations);
    let kept = outcome
        .best
        .filter(|_| outcome.adopt)
        .map_or_else(|| surface.default_setting(), |best| best.levels);
    SurfaceSearch {
        reached_after,
        adopts: outcome.adopt,
        final_share: share(&kept),
        trials: observations.len(),
    }
}

fn trial(
    surface: &ResponseSurface,
    levels: Levels,
    block: u32,
    phase: Phase,
    seed: u64,
    number: usize,
) -> Observation {
    let at_s = number as f64 * TRIAL_S;
    let noise = Seed(seed).derive(1);
    let score = match surface.measured(&levels, at_s, noise, number as u64) {
        Some(line) => Score::Line(line),
        None => Score::Failed,
    };
    Observation {
        levels,
        block,
        at_s,
        phase,
        score,
        guard: Guard::default(),
    }
}

fn searches(surface: &'static ResponseSurface, seeds: u64, blocks: usize) -> Vec<SurfaceSearch> {
    let best = surface.best();
    let found: Vec<SurfaceSearch> = (0..seeds)
        .map(|seed| search(surface, best.line, seed, blocks))
        .collect();
    let of =
        |value: &dyn Fn(&SurfaceSearch) -> f64| -> Vec<f64> { found.iter().map(value).collect() };
    let default = surface.line(&surface.default_setting(), 0.0).unwrap_or(0.0) / best.line;
    println!(
        "{:22} {:24} default {default:.2}, {SHARE} after {:5.1} (90 %: {:5.1}), left {:2}/{seeds}, final {:.3} (low {:.3}), \
         trials {:4.1}",
        surface.id(),
        surface.shape(),
        median(&of(&|search| search.reached_after)).unwrap_or(f64::NAN),
        quantile(&of(&|search| search.reached_after), 0.9).unwrap_or(f64::NAN),
        found.iter().filter(|search| search.adopts).count(),
        median(&of(&|search| search.final_share)).unwrap_or(f64::NAN),
        quantile(&of(&|search| search.final_share), 0.1).unwrap_or(f64::NAN),
        median(&of(&|search| search.trials as f64)).unwrap_or(f64::NAN),
    );
    found
}

#[test]
fn most_of_the_best_line_is_reached_in_forty_trials() {
    let found: Vec<SurfaceSearch> = surfaces::all()
        .filter(|surface| !surface.is_without_gain())
        .flat_map(|surface| searches(surface, SEEDS, usize::MAX))
        .collect();
    let reached: Vec<f64> = found.iter().map(|search| search.reached_after).collect();
    let middle = median(&reached).unwrap();
    println!("{SHARE} of the best after {middle} trials");
    assert!(middle <= TRIALS_MAX, "{middle}");
}

/// The share of the best line that the best setting carries which a search has found in so many blocks. Whether it `knows` that there
/// are no more changes what it tries.
fn share_after(
    surface: &ResponseSurface,
    best_line: f64,
    seed: u64,
    (blocks, knows): (usize, bool),
) -> f64 {
    let mut observations: Vec<Observation> = Vec::new();
    let search = |observations: &[Observation]| {
        let blocks = if knows { blocks } else { usize::MAX };
        let limits = limits(blocks, observations);
        TuneSearch::new(space(surface), Seed(seed), limits)
    };
    for block in (0..).take(blocks) {
        let Step::Search(settings) = search(&observations).next(&observations, &|_| true) else {
            break;
        };
        for levels in settings {
            let number = observations.len();
            let trial = trial(surface, levels, block, Phase::Search, seed, number);
            observations.push(trial);
        }
    }
    let best = search(&observations).incumbent(&observations);
    let line = best.and_then(|levels| surface.line(&levels, 0.0));
    line.unwrap_or(0.0) / best_line
}

#[test]
fn a_search_that_knows_how_short_it_is_finds_no_less() {
    let mut gained = Vec::new();
    for blocks in SHORT {
        let mut shares: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
        for surface in surfaces::all().filter(|surface| !surface.is_without_gain()) {
            let best = surface.best();
            for seed in 0..SEEDS_OF_SHORT {
                for (shares, knows) in shares.iter_mut().zip([false, true]) {
                    shares.push(share_after(surface, best.line, seed, (blocks, knows)));
                }
            }
        }
        let [unknown, known] = shares.map(|shares| mean(&shares).unwrap());
        println!("{blocks} blocks: {known:.3} of the best, {unknown:.3} where that is not known");
        gained.push(known - unknown);
    }
    let gained = mean(&gained).unwrap();
    assert!(gained > -CHANCE, "{gained}");
}

#[test]
fn a_short_search_keeps_a_default_without_better() {
    let found: Vec<SurfaceSearch> = surfaces::all()
        .filter(|surface| surface.is_without_gain())
        .flat_map(|surface| searches(surface, SEEDS_WITHOUT_GAIN / 2, SHORT[0]))
        .collect();
    let kept = found.iter().filter(|search| !search.adopts).count();
    assert!(kept * 20 >= found.len() * 19, "{kept} of {}", found.len());
}

#[test]
fn a_default_without_better_is_kept() {
    let found: Vec<SurfaceSearch> = surfaces::all()
        .filter(|surface| surface.is_without_gain())
        .flat_map(|surface| searches(surface, SEEDS_WITHOUT_GAIN, usize::MAX))
        .collect();
    let kept = found.iter().filter(|search| !search.adopts).count();
    println!("kept in {kept} of {}", found.len());
    assert!(kept * 20 >= found.len() * 19, "{kept} of {}", found.len());
}
