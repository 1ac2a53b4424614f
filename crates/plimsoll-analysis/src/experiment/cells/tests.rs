use plimsoll_model::seed::Seed;
use plimsoll_testkit::normal::standard_normal;
use rand::RngExt as _;

use super::super::effect::Criteria;
use super::super::trial::tests::measured;
use super::super::trial::{ExperimentTrial, Role};
use super::*;

/// Eight cells in `blocks` blocks that differ by 10 %, noise 3 %; the level of a cell by `law`.
fn fit(
    blocks: u32,
    seed: u64,
    missing: Option<(u32, usize)>,
    law: impl Fn(usize) -> f64,
) -> CellFit {
    let mut random = Seed(seed).derive(8).generator();
    let mut trials: Vec<ExperimentTrial> = Vec::new();
    for block in 0..blocks {
        let disturbed = 0.1 * random.random_range(-1.0_f64..1.0);
        for cell in 0..8 {
            let noise = standard_normal(&mut random);
            if missing != Some((block, cell)) {
                let value = (law(cell) + disturbed + 0.03 * noise).exp();
                trials.push(measured(block, 0.0, Role::Cell(vec![cell]), value));
            }
        }
    }
    let criteria = Criteria::standard(Direction::HigherIsBetter, Scale::Ratio, Seed(0));
    CellFit::of(&Matrix::of(&trials, "m", &[8], criteria)).unwrap()
}

#[test]
fn the_best_is_kept_as_often_as_claimed() {
    // All alike is the hardest: every cell is the best, and each may be lost. The first of the equals is asked for.
    let kept = (0..300)
        .filter(|&seed| {
            let fit = fit(3, seed, None, |_| 0.0);
            fit.best(0.95).iter().any(|score| score.cell() == [0])
        })
        .count();
    // 95 % of 300 less three standard deviations.
    assert!(kept >= 274, "{kept} of 300");
}

#[test]
fn a_clear_best_stands_alone() {
    let alone = (0..50)
        .filter(|&seed| {
            let fit = fit(
                3,
                seed,
                Some((1, 2)),
                |cell| if cell == 5 { 0.3 } else { 0.0 },
            );
            let best = fit.best(0.95);
            best.len() == 1 && best[0].cell() == [5]
        })
        .count();
    assert!(alone >= 49, "{alone} of 50");
}

#[test]
fn a_missing_value_moves_no_cell_by_its_block() {
    // Without noise the additive fit is exact, whatever is missing.
    let mut trials = Vec::new();
    for block in 0..3_u32 {
        for cell in 0..3_usize {
            if (block, cell) != (2, 0) {
                let value = (f64::from(block) + 0.1 * cell as f64).exp();
                trials.push(measured(block, 0.0, Role::Cell(vec![cell]), value));
            }
        }
    }
    let criteria = Criteria::standard(Direction::HigherIsBetter, Scale::Ratio, Seed(0));
    let fit = CellFit::of(&Matrix::of(&trials, "m", &[3], criteria)).unwrap();
    let scores = fit.scores();
    assert_eq!(scores[0].cell(), [2]);
    assert!(
        (scores[0].score - scores[2].score - 0.2).abs() < 1e-6,
        "{scores:?}"
    );
    assert_eq!(scores[2].trials(), 2);
}

#[test]
fn a_race_drops_what_is_dearer_and_worse() {
    let fit = fit(3, 1, None, |cell| if cell < 4 { 0.0 } else { -0.5 });
    let price = |cell: &[usize]| if cell[0] == 7 { 1.0 } else { 2.0 };
    let mut dropped: Vec<usize> = fit
        .dominated(price, RACE_CONFIDENCE)
        .iter()
        .map(|score| score.cell()[0])
        .collect();
    dropped.retain(|cell| *cell > 3);
    dropped.sort_unstable();
    // The last is the cheapest: slow, but on the front.
    assert_eq!(dropped, [4, 5, 6]);
}

#[test]
fn too_little_has_no_fit() {
    let criteria = Criteria::standard(Direction::HigherIsBetter, Scale::Ratio, Seed(0));
    let trials = [measured(0, 0.0, Role::Cell(vec![0]), 1.0)];
    assert_eq!(CellFit::of(&Matrix::of(&trials, "m", &[1], criteria)), None);
    assert_eq!(CellFit::of(&Matrix::of(&[], "m", &[1], criteria)), None);
}
/// Twelve cells: cores 1 to 4 at their price, each with three caches of which the first is the best.
fn raced(blocks: u32, is_race: bool, seed: u64) -> (usize, Vec<usize>) {
    let law = |cell: usize| 0.3 * (cell / 3) as f64 - 0.12 * (cell % 3) as f64;
    let price = |cell: &[usize]| (cell[0] / 3 + 1) as f64;
    let criteria = Criteria::standard(Direction::HigherIsBetter, Scale::Ratio, Seed(0));
    let mut random = Seed(seed).derive(11).generator();
    let mut alive: Vec<usize> = (0..12).collect();
    let mut trials: Vec<ExperimentTrial> = Vec::new();
    for block in 0..blocks {
        // The noise of dropped cells is drawn as well, so that both ways see the same.
        for cell in 0..12 {
            let noise = standard_normal(&mut random);
            if alive.contains(&cell) {
                let value = (law(cell) + 0.03 * noise).exp();
                trials.push(measured(block, 0.0, Role::Cell(vec![cell]), value));
            }
        }
        let fit = CellFit::of(&Matrix::of(&trials, "m", &[12], criteria));
        if let Some(fit) = fit.filter(|_| is_race) {
            let dropped = fit.dominated(price, RACE_CONFIDENCE);
            alive.retain(|cell| dropped.iter().all(|score| score.cell() != [*cell]));
        }
    }
    let fit = CellFit::of(&Matrix::of(&trials, "m", &[12], criteria)).unwrap();
    let scores = fit.scores();
    let is_on_front = |index: usize| {
        scores[..index]
            .iter()
            .all(|better| price(better.cell()) > price(scores[index].cell()))
    };
    let mut front: Vec<usize> = (0..scores.len())
        .filter(|index| is_on_front(*index))
        .map(|index| scores[index].cell()[0])
        .collect();
    front.sort_unstable();
    (trials.len(), front)
}

#[test]
fn a_race_saves_trials_and_keeps_the_front() {
    let (mut saved, mut same) = (0.0, 0);
    for seed in 0..200 {
        let (all, front) = raced(10, false, seed);
        let (raced_trials, raced_front) = raced(10, true, seed);
        saved += 1.0 - raced_trials as f64 / all as f64;
        same += i32::from(front == raced_front);
    }
    assert!(saved / 200.0 >= 0.4, "{saved}");
    assert!(same >= 190, "{same} of 200");
}
