//! Searches for settings on twenty surfaces whose best setting is known, with 5 % noise.

#![expect(
    clippy::print_stdout,
    reason = "what each surface gave explains a failure"
)]

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

fn search(surface: &ResponseSurface, best_line: f64, seed: u64) -> SurfaceSearch {
    let search = TuneSearch::new(space(surface), Seed(seed), TuneLimits::STANDARD);
    let share = |levels: &[usize]| surface.line(levels, 0.0).unwrap_or(0.0) / best_line;
    let mut observations: Vec<Observation> = Vec::new();
    let mut reached_after = NEVER;
    for block in 0.. {
        let (phase, settings) = match search.next(&observations, &|_| true) {
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
            let best = search.incumbent(&observations);
            if best.is_some_and(|levels| share(&levels) >= SHARE) {
                reached_after = observations.len() as f64;
            }
        }
    }
    let outcome = search.outcome(&observations);
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

fn searches(surface: &'static ResponseSurface, seeds: u64) -> Vec<SurfaceSearch> {
    let best = surface.best();
    let found: Vec<SurfaceSearch> = (0..seeds)
        .map(|seed| search(surface, best.line, seed))
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
        .flat_map(|surface| searches(surface, SEEDS))
        .collect();
    let reached: Vec<f64> = found.iter().map(|search| search.reached_after).collect();
    let middle = median(&reached).unwrap();
    println!("{SHARE} of the best after {middle} trials");
    assert!(middle <= TRIALS_MAX, "{middle}");
}

#[test]
fn a_default_without_better_is_kept() {
    let found: Vec<SurfaceSearch> = surfaces::all()
        .filter(|surface| surface.is_without_gain())
        .flat_map(|surface| searches(surface, SEEDS_WITHOUT_GAIN))
        .collect();
    let kept = found.iter().filter(|search| !search.adopts).count();
    println!("kept in {kept} of {}", found.len());
    assert!(kept * 20 >= found.len() * 19, "{kept} of {}", found.len());
}
