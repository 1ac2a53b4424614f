//! The course of whole searches on a law that is known: what is tried, how often, and what survives a kill.

mod short;

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_testkit::normal::standard_normal;

use super::space::tests::{choice, ordered};
use super::*;
use crate::stats::order::median;

const LIMITS: TuneLimits = TuneLimits::STANDARD;

fn space() -> Space {
    Space::new(vec![
        ordered(8, 1),
        ordered(6, 3),
        choice(3, 0),
        ordered(4, 1),
    ])
}

/// Workers help as far as the pool suffices, and both together do not fit into the memory; the third choice is worth a fifth;
/// the last knob does nothing.
fn law(levels: &[usize]) -> Score {
    if levels[0] + levels[1] > 9 {
        return Score::Failed;
    }
    let workers = 50.0 * (levels[0].min(6) + 1) as f64;
    let pool = 80.0 * (levels[1] + 1) as f64;
    Score::Line(workers.min(pool) * if levels[2] == 2 { 1.2 } else { 1.0 })
}

fn noisy(score: Score, trial: u64) -> Score {
    let mut random = Seed(99).derive(trial).generator();
    match score {
        Score::Line(line) => Score::Line(line * (0.05 * standard_normal(&mut random)).exp()),
        other => other,
    }
}

/// A search with a law until it is done; the steps, and the observations.
fn run(
    search: &TuneSearch,
    feasible: &dyn Fn(&[usize]) -> bool,
    measure: impl Fn(&[usize], u64) -> Score,
) -> (Vec<Step>, Vec<Observation>) {
    let mut observations: Vec<Observation> = Vec::new();
    let mut steps = Vec::new();
    for block in 0.. {
        assert!(block < 100, "the search does not end");
        let step = search.next(&observations, feasible);
        steps.push(step.clone());
        let (phase, settings) = match step {
            Step::Search(settings) => (Phase::Search, settings),
            Step::Confirm { candidate, order } => {
                let default = search.space.default_levels();
                let of = |is_candidate| if is_candidate { &candidate } else { &default };
                (Phase::Confirm, order.map(|side| of(side).clone()).to_vec())
            }
            Step::Done => break,
        };
        for levels in settings {
            let trial = observations.len() as u64;
            observations.push(Observation {
                score: measure(&levels, trial),
                levels,
                block,
                at_s: trial as f64 * 60.0,
                phase,
                guard: Guard::default(),
            });
        }
    }
    (steps, observations)
}

fn search(seed: u64) -> TuneSearch {
    TuneSearch::new(space(), Seed(seed), LIMITS)
}

#[test]
fn each_block_holds_the_default_and_nothing_is_explored_twice() {
    let search = search(1);
    let feasible = |levels: &[usize]| levels[3] != 3;
    let (steps, observations) = run(&search, &feasible, |levels, trial| {
        noisy(law(levels), trial)
    });
    for step in &steps {
        if let Step::Search(settings) = step {
            assert!(settings.contains(&space().default_levels()));
            assert!((2..=8).contains(&settings.len()), "{settings:?}");
        }
    }
    assert!(observations.iter().all(|trial| feasible(&trial.levels)));
    // What was screened and proposed is distinct: eleven settings, then four a round.
    let exploring: Vec<&Vec<Levels>> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Search(settings) => Some(settings),
            _ => None,
        })
        .take(5)
        .collect();
    let others = exploring.iter().flat_map(|settings| settings.iter());
    let others: Vec<&Levels> = others
        .filter(|levels| !space().is_default(levels))
        .collect();
    let distinct: BTreeSet<&Levels> = others.iter().copied().collect();
    assert_eq!((others.len(), distinct.len()), (19, 19));
    assert_eq!(steps.last(), Some(&Step::Done));
}

#[test]
fn a_planted_best_is_found_and_adopted() {
    let adopted = (0..10).filter(|&seed| {
        let search = search(seed);
        let (_, observations) = run(&search, &|_| true, |levels, trial| {
            noisy(law(levels), trial)
        });
        let outcome = search.outcome(&observations);
        assert!(outcome.adopt, "{outcome:?}");
        let best = outcome.best.unwrap();
        assert!(best.gain_low > 0.03 && best.pairs >= 4, "{best:?}");
        assert!(best.low <= best.line && best.line <= best.high);
        assert!(outcome.importance[0] > outcome.importance[3]);
        assert!((outcome.importance.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert_eq!(outcome.evaluations, observations.len());
        let Score::Line(line) = law(&best.levels) else {
            return false;
        };
        // The best: workers at level 6, the pool at 3, the third choice: 320 · 1.2.
        line >= 0.9 * 384.0
    });
    let count = adopted.count();
    assert!(count >= 8, "{count} of 10");
}

#[test]
fn a_search_that_was_killed_continues_as_if_it_had_not_been() {
    let search = search(3);
    let (steps, observations) = run(&search, &|_| true, |levels, trial| {
        noisy(law(levels), trial)
    });
    let mut whole: BTreeMap<u32, Vec<Observation>> = BTreeMap::new();
    for observation in &observations {
        let block = whole.entry(observation.block).or_default();
        block.push(observation.clone());
    }
    let mut known: Vec<Observation> = Vec::new();
    for (step, block) in steps.iter().zip(whole.values()) {
        let again = TuneSearch::new(space(), Seed(3), LIMITS);
        assert_eq!(again.next(&known, &|_| true), *step);
        known.extend(block.iter().cloned());
    }
    assert_eq!(search.next(&known, &|_| true), Step::Done);
    assert_eq!(search.outcome(&known), search.outcome(&observations));
}

#[test]
fn lowered_limits_end_exploring_at_once() {
    let mut observations = Vec::new();
    let feasible: &dyn Fn(&[usize]) -> bool = &|_| true;
    for block in 0..5 {
        let Step::Search(settings) = search(4).next(&observations, feasible) else {
            panic!("exploring ended after {block} blocks");
        };
        for levels in settings {
            let trial = observations.len() as u64;
            observations.push(Observation {
                score: noisy(law(&levels), trial),
                levels,
                block,
                at_s: trial as f64 * 60.0,
                ..Observation::default()
            });
        }
    }
    let limits = |evaluations| TuneLimits {
        evaluations,
        ..LIMITS
    };
    let next = |evaluations| {
        TuneSearch::new(space(), Seed(4), limits(evaluations)).next(&observations, feasible)
    };
    let next_without_time = |evaluations| {
        let limits = TuneLimits {
            reverts: false,
            ..limits(evaluations)
        };
        TuneSearch::new(space(), Seed(4), limits).next(&observations, feasible)
    };
    let known: BTreeSet<&Levels> = observations.iter().map(|trial| &trial.levels).collect();
    match next(40) {
        Step::Search(settings) => assert!(settings.iter().all(|levels| known.contains(levels))),
        other => panic!("a race, not {other:?}"),
    }
    // Short of time, the best runs beside itself without what hardly matters, and is confirmed.
    let Step::Search(joint) = next(20) else {
        panic!("no reversion");
    };
    let distinct: BTreeSet<&Levels> = joint.iter().collect();
    assert_eq!((joint.len(), distinct.len()), (5, 3));
    assert!(matches!(next_without_time(20), Step::Confirm { .. }));
}

#[test]
fn void_trials_are_tried_once_more_and_never_again() {
    let search = search(5);
    let (_, observations) = run(&search, &|_| true, |levels, trial| {
        if levels[2] == 1 {
            Score::Void
        } else {
            noisy(law(levels), trial)
        }
    });
    let mut counts: BTreeMap<&Levels, usize> = BTreeMap::new();
    for trial in observations.iter().filter(|trial| trial.levels[2] == 1) {
        *counts.entry(&trial.levels).or_default() += 1;
    }
    assert!(counts.values().all(|count| *count <= 2), "{counts:?}");
    let outcome = search.outcome(&observations);
    assert_eq!(outcome.void, counts.values().sum::<usize>());
    assert!(
        outcome
            .rejected
            .iter()
            .all(|rejected| rejected.levels[2] != 1)
    );
}

#[test]
fn what_fails_is_rejected_for_it() {
    let search = search(6);
    let (_, observations) = run(&search, &|_| true, |levels, trial| {
        noisy(law(levels), trial)
    });
    let outcome = search.outcome(&observations);
    assert!(outcome.failed > 0);
    for rejected in &outcome.rejected {
        let has_failed = law(&rejected.levels) == Score::Failed;
        assert_eq!(rejected.why == RejectedWhy::Failed, has_failed);
        assert_eq!(rejected.ratio.is_none(), has_failed);
    }
    let failed = observations
        .iter()
        .filter(|trial| trial.score == Score::Failed)
        .map(|trial| &trial.levels);
    let distinct: BTreeSet<&Levels> = failed.collect();
    assert_eq!(distinct.len(), outcome.failed, "none is tried again");
}

#[test]
fn a_default_that_is_best_is_kept() {
    let search = search(7);
    let flat = |levels: &[usize], trial| {
        let worse = f64::from(u8::from(levels[0] != 1)) * 0.2;
        noisy(Score::Line(100.0 * (1.0 - worse)), trial)
    };
    let (steps, observations) = run(&search, &|_| true, flat);
    let outcome = search.outcome(&observations);
    assert!(!outcome.adopt, "{outcome:?}");
    assert!(outcome.reason.starts_with("The default is kept"));
    assert!(steps.len() <= 25, "{}", steps.len());
}

#[test]
fn when_only_the_default_is_feasible_the_search_is_over() {
    let search = search(8);
    let feasible = |levels: &[usize]| levels == [1, 3, 0, 1];
    assert_eq!(search.next(&[], &feasible), Step::Done);
    let outcome = search.outcome(&[]);
    assert_eq!((outcome.baseline, outcome.best.is_none()), (None, true));
    assert_eq!(search.incumbent(&[]), None);
}

#[test]
fn an_unbounded_line_counts_as_better_than_what_it_exceeded() {
    let search = search(9);
    let (_, observations) = run(&search, &|_| true, |levels, trial| {
        match noisy(law(levels), trial) {
            Score::Line(line) if line > 300.0 => Score::AtLeast(300.0),
            other => other,
        }
    });
    let outcome = search.outcome(&observations);
    let best = outcome.best.unwrap();
    assert!(outcome.adopt && matches!(law(&best.levels), Score::Line(line) if line > 290.0));
    // No more than was carried.
    assert!(best.line <= 300.0 + 1e-9, "{best:?}");
}

#[test]
fn before_the_confirmation_the_best_has_no_interval() {
    let search = search(1);
    let (_, mut observations) = run(&search, &|_| true, |levels, trial| {
        noisy(law(levels), trial)
    });
    observations.retain(|trial| trial.phase == Phase::Search);
    observations.push(Observation {
        levels: space().default_levels(),
        phase: Phase::Baseline,
        score: Score::Line(100.0),
        ..Observation::default()
    });
    let outcome = search.outcome(&observations);
    let best = outcome.best.unwrap();
    assert_eq!((best.pairs, outcome.adopt), (0, false));
    // Its line is the middle of what was measured, however high the default's is.
    let own = observations
        .iter()
        .filter(|trial| trial.levels == best.levels);
    let lines = own.filter_map(|trial| match trial.score {
        Score::Line(line) => Some(line),
        _ => None,
    });
    assert_eq!(
        Some(best.line),
        median(&lines.map(f64::ln).collect::<Vec<_>>()).map(f64::exp)
    );
    assert!(best.gain_low <= -1.0 && best.gain_high.is_infinite());
    assert_eq!(outcome.evaluations, observations.len() - 1);
    assert!(
        outcome
            .reason
            .contains("nothing of that was confirmed before the search ended"),
        "{}",
        outcome.reason
    );
}

#[test]
fn a_candidate_without_a_trial_of_the_default_beside_it_has_no_best() {
    // What a search of a server of 17.3/s gave when the trials of the default were void: a line of 3,985/s.
    let search = search(1);
    let of = |levels: Levels, phase, score| Observation {
        levels,
        phase,
        score,
        ..Observation::default()
    };
    let default = space().default_levels();
    let mut observations = vec![
        of(default.clone(), Phase::Baseline, Score::Line(17.3)),
        of(default, Phase::Search, Score::Void),
        of(vec![7, 1, 0, 0], Phase::Search, Score::AtLeast(208.0)),
        of(vec![2, 1, 0, 0], Phase::Search, Score::Line(40.0)),
    ];
    let outcome = search.outcome(&observations);
    assert_eq!((outcome.baseline, outcome.best), (Some(17.3), None));
    assert!(!outcome.adopt);
    assert!(
        outcome
            .reason
            .contains("no trial of it counts beside the 2 other"),
        "{}",
        outcome.reason
    );
    assert!(
        outcome
            .rejected
            .iter()
            .all(|it| (it.why, it.ratio) == (RejectedWhy::NotConfirmed, None))
    );
    // Beside the default it has what was carried, and no more.
    observations[1].score = Score::Line(17.0);
    let best = search.outcome(&observations).best.unwrap();
    assert_eq!((best.levels, best.is_at_least), (vec![7, 1, 0, 0], true));
    assert!((best.line - 208.0).abs() < 1e-9 && (best.gain - 191.0 / 17.0).abs() < 1e-9);
}

/// One worker of a server behind a proxy, which only waits, and settings of both and of a database that do nothing: what a
/// draft of `tune --discover` had of such a stack, with what usually suffices or without.
fn waiting_workers(is_known: bool) -> Space {
    let mut knobs = vec![
        ordered(7, 0),
        ordered(5, 0),
        ordered(5, 0),
        ordered(7, 0),
        ordered(7, 2),
        ordered(7, 2),
        ordered(5, 1),
        ordered(4, 0),
    ];
    if is_known {
        for (knob, usual) in [(0, 5), (1, 2), (2, 2)] {
            knobs[knob].usual = Some(usual);
        }
    }
    Space::new(knobs)
}

/// Workers and threads of 1, 2, 4, 8 or 16: sixteen requests wait at once at most.
fn waiting(levels: &[usize]) -> Score {
    let at_once = (1_u32 << (levels[1] + levels[2])).min(16);
    Score::Line(46.0 * f64::from(at_once))
}

/// Searches with time for a single block before the confirmation: the steps, the observations and the result of each.
fn short_searches(is_known: bool) -> Vec<(Vec<Step>, TuneOutcome)> {
    let limits = TuneLimits {
        evaluations: 5,
        ..LIMITS
    };
    let feasible = |levels: &[usize]| (1 << levels[1]) * (1 << levels[2]) <= 20;
    let searches = (0..20).map(|seed| {
        let search = TuneSearch::new(waiting_workers(is_known), Seed(seed), limits);
        let (steps, observations) = run(&search, &feasible, |levels, trial| {
            noisy(waiting(levels), trial + 1_000 * seed)
        });
        (steps, search.outcome(&observations))
    });
    searches.collect()
}

/// The changes of workers and threads do something; those of others that were adopted are marked, unless noise showed them
/// to matter in the block `joint`.
fn assert_idle_changes_are_marked(outcome: &TuneOutcome, joint: &[Levels]) -> Vec<usize> {
    let best = outcome.best.as_ref().unwrap();
    let space = waiting_workers(false);
    let changed = space.changed(&best.levels);
    for knob in changed.iter().filter(|knob| !(1..=2).contains(*knob)) {
        let was_tried = joint.contains(&space.reverted(&best.levels, &[*knob]));
        assert!(was_tried || outcome.unshown.contains(knob), "{outcome:?}");
    }
    changed
}

#[test]
fn a_plain_lack_of_workers_is_found_in_the_first_block() {
    let mut small = 0;
    for (steps, outcome) in short_searches(true) {
        let Step::Search(first) = &steps[0] else {
            panic!("{steps:?}");
        };
        assert!(first.contains(&vec![6, 4, 0, 0, 2, 2, 1, 0]), "{first:?}");
        // A block, the winner beside itself with less, and four pairs.
        let Step::Search(joint) = &steps[1] else {
            panic!("{steps:?}");
        };
        assert_eq!(joint.len(), 5);
        assert!(matches!(
            steps[2..],
            [Step::Confirm { .. }, Step::Confirm { .. }, Step::Done]
        ));
        let best = outcome.best.as_ref().unwrap();
        assert!(outcome.adopt && best.pairs == 4, "{outcome:?}");
        assert_eq!(waiting(&best.levels), Score::Line(736.0), "{best:?}");
        // The lines of both are of the pairs that the gain is of.
        let ratio = best.line / best.default_line - 1.0;
        assert!(
            best.gain_low <= ratio && ratio <= best.gain_high,
            "{best:?}"
        );
        let changed = assert_idle_changes_are_marked(&outcome, joint);
        small += usize::from(changed.iter().all(|knob| *knob < 3));
    }
    assert!(small >= 15, "{small} of 20");
}

#[test]
fn changes_that_do_nothing_go_back_in_a_short_search_or_are_marked() {
    let (mut adopted, mut reduced) = (0, 0);
    for (steps, outcome) in short_searches(false) {
        if !outcome.adopt {
            continue;
        }
        adopted += 1;
        let best = outcome.best.as_ref().unwrap();
        let Step::Search(joint) = &steps[1] else {
            panic!("{steps:?}");
        };
        assert!(joint.contains(&best.levels), "what is adopted was measured");
        let changed = assert_idle_changes_are_marked(&outcome, joint);
        let back: BTreeSet<usize> = outcome.reverted.iter().map(|it| it.knob).collect();
        assert!(changed.iter().all(|knob| !back.contains(knob)));
        assert!(outcome.reverted.iter().all(|it| it.together == back.len()));
        reduced += usize::from(!back.is_empty());
    }
    assert!(adopted >= 15 && reduced >= 3, "{reduced} of {adopted}");
}
