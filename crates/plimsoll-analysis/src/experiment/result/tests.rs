use std::collections::BTreeMap;

use plimsoll_testkit::normal::standard_normal;

use super::super::effect::EffectVerdict;
use super::super::trial::Role;
use super::*;

/// Cores 1, 2, 4, 8 times caches off, on, in `blocks` blocks; 2 % noise; the logarithm of the load line by levels.
fn trials(blocks: u32, seed: u64, law: impl Fn(usize, usize) -> f64) -> MatrixTrials {
    let factor = |name: &str, levels: &[&str], numbers: Option<&[f64]>| MatrixFactor {
        name: name.to_owned(),
        levels: levels.iter().map(|level| (*level).to_owned()).collect(),
        numbers: numbers.map(<[f64]>::to_vec),
    };
    let numbers = [1.0, 2.0, 4.0, 8.0];
    let cells: Vec<Vec<usize>> = (0..4)
        .flat_map(|cores| (0..2).map(move |cache| vec![cores, cache]))
        .collect();
    let mut random = Seed(seed).derive(4).generator();
    let mut trials = Vec::new();
    for block in 0..blocks {
        for (index, cell) in cells.iter().enumerate() {
            let noise = standard_normal(&mut random);
            let line = (law(cell[0], cell[1]) + 0.02 * noise).exp();
            let metrics = BTreeMap::from([
                (metrics::LOAD_LINE.to_owned(), line),
                (metrics::P95.to_owned(), 100.0 + noise),
            ]);
            let role = Role::Cell(cell.clone());
            let outcome = TrialOutcome::Measured(metrics);
            let trial = ExperimentTrial::new(block, trials.len() as f64, role, outcome);
            trials.push((index, trial));
        }
    }
    MatrixTrials {
        factors: vec![
            factor("cores", &["1", "2", "4", "8"], Some(&numbers)),
            factor("cache", &["off", "on"], None),
        ],
        prices: Some(cells.iter().map(|cell| numbers[cell[0]]).collect()),
        cells,
        trials,
        held: Vec::new(),
        weights: BTreeMap::new(),
        objective_s: Some(0.5),
        seed: Seed(1),
    }
}

fn amdahl(cores: usize) -> f64 {
    let cores: f64 = [1.0, 2.0, 4.0, 8.0][cores];
    (100.0 * cores / (1.0 + 0.1 * (cores - 1.0))).ln()
}

fn interactions(result: &MatrixResult) -> Vec<EffectVerdict> {
    let found = &result.effects[0].interactions;
    found
        .iter()
        .map(|interaction| interaction.verdict)
        .collect()
}

#[test]
fn a_planted_interaction_is_found_and_none_where_none_is() {
    let (mut found, mut false_alarms) = (0, 0);
    for seed in 0..20 {
        // The cache helps with eight cores alone.
        let helps = |cores: usize, cache: usize| {
            amdahl(cores) + if cores == 3 && cache == 1 { 0.3 } else { 0.0 }
        };
        let verdicts = interactions(&MatrixResult::of(&trials(8, seed, helps)));
        assert_eq!(verdicts.len(), 3);
        found += usize::from(verdicts[2] == EffectVerdict::Better);
        let plain = |cores: usize, cache: usize| amdahl(cores) + 0.2 * cache as f64;
        let result = MatrixResult::of(&trials(8, seed, plain));
        let is_alarm = |verdict: &EffectVerdict| {
            matches!(verdict, EffectVerdict::Better | EffectVerdict::Worse)
        };
        false_alarms += usize::from(interactions(&result).iter().any(is_alarm));
        let cache = result.effects[0].main.last().unwrap();
        assert_eq!(cache.verdict, EffectVerdict::Better, "seed {seed}");
        assert!((cache.effect.estimate() / 0.2_f64.exp() - 1.0).abs() < 0.02);
    }
    assert!(found >= 19, "{found} of 20");
    assert!(false_alarms <= 2, "{false_alarms} of 20");
}

#[test]
fn the_law_of_an_axis_and_its_front() {
    let result = MatrixResult::of(&trials(4, 3, |cores, cache| {
        amdahl(cores) - 0.2 * cache as f64
    }));
    assert_eq!(result.metric.as_deref(), Some(metrics::LOAD_LINE));
    let [law] = &result.laws[..] else {
        panic!("{:?}", result.laws);
    };
    assert_eq!((law.factor, law.points.len()), (0, 16));
    assert!((law.law.contention - 0.1).abs() < 0.03, "{:?}", law.law);
    let on_front: Vec<usize> = (0..8)
        .filter(|cell| result.cells[*cell].is_on_front)
        .collect();
    assert_eq!(on_front, [0, 2, 4, 6], "each core without the cache");
    assert!(result.cells[1].is_beaten && !result.cells[0].is_beaten);
    let best = &result.cells[6];
    assert!(best.may_be_best && best.measured == 4);
    let (low, high) = best.interval.unwrap();
    assert!(low < amdahl(3).exp() && amdahl(3).exp() < high);
}

#[test]
fn correlations_beyond_noise_are_those_of_the_law() {
    let result = MatrixResult::of(&trials(4, 5, |cores, _| amdahl(cores)));
    let map = &result.correlations;
    let beyond: Vec<(usize, &str)> = map
        .all
        .iter()
        .filter(|found| found.spearman.rho.abs() > map.noise)
        .map(|found| (found.factor, found.metric.as_str()))
        .collect();
    assert_eq!(beyond, [(0, metrics::LOAD_LINE)]);
    assert_eq!(map.all.len(), 4);
}

#[test]
fn nothing_measured_has_counts_alone() {
    let mut input = trials(1, 1, |_, _| 0.0);
    for (index, (_, trial)) in input.trials.iter_mut().enumerate() {
        let outcome = if index == 0 {
            TrialOutcome::Void
        } else {
            TrialOutcome::Failed
        };
        *trial = ExperimentTrial::new(0, 0.0, trial.role().clone(), outcome);
    }
    let result = MatrixResult::of(&input);
    assert_eq!((result.metric, result.effects.len()), (None, 0));
    assert_eq!((result.cells[0].void, result.cells[1].failed), (1, 1));
}

#[test]
fn the_main_metric_is_that_of_the_highest_load() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let main = |of: &[&str]| main_metric(&names(of));
    assert_eq!(main(&["p95", "load_line"]).as_deref(), Some("load_line"));
    assert_eq!(
        main(&["p95{load=1000/s}", "p95{load=300/s}", "p99{load=300/s}"]).as_deref(),
        Some("p95{load=1000/s}")
    );
    assert_eq!(main(&[]), None);
}

#[test]
fn meters_are_relative_to_the_first_cell_and_ranked_by_the_mean() {
    let input = trials(4, 2, |cores, cache| amdahl(cores) + 0.2 * cache as f64);
    let result = MatrixResult::of(&input);
    let first = &result.meters[0];
    assert!((first.load.unwrap() - 1.0).abs() < 1e-12);
    assert!((first.mean.unwrap() - 1.0).abs() < 1e-12);
    // Nothing is known of throughput and of CPU.
    assert_eq!((first.performance, first.used), (None, None));
    // The cache is free, and the price of cores outweighs what they add.
    let mean = |cell: usize| result.meters[cell].mean.unwrap();
    assert!(
        mean(1) > mean(0) && mean(6) < mean(0),
        "{:?}",
        result.meters
    );
    let [scale] = &result.scales[..] else {
        panic!("{:?}", result.scales);
    };
    // L = 100p/(1 + 0.1(p − 1)): 182 with two, 308 with four, 471 with eight.
    let expected = [0.909, 0.846, 0.765];
    for ((_, _, found), expected) in scale.steps.iter().zip(expected) {
        assert!((found - expected).abs() < 0.03, "{scale:?}");
    }
    assert_eq!(scale.steps.len(), 3);
    assert_eq!(scale.range, Some((1.0, 4.0)));
}

#[test]
fn productivity_is_throughput_by_value_by_price() {
    let mut input = trials(1, 1, |_, _| 0.0);
    for (_, trial) in &mut input.trials {
        let metrics = BTreeMap::from([
            (metrics::THROUGHPUT.to_owned(), 100.0),
            (metrics::P95.to_owned(), 500.0),
            (metrics::ERRORS.to_owned(), 0.0),
            (metrics::CPU.to_owned(), 0.5),
            (metrics::MEMORY.to_owned(), 1e9),
        ]);
        let outcome = TrialOutcome::Measured(metrics);
        *trial = ExperimentTrial::new(0, 0.0, trial.role().clone(), outcome);
    }
    let meters = MatrixResult::of(&input).meters;
    // At the objective an answer is worth a half; the first cell costs 1 an hour.
    assert!((meters[0].productivity.unwrap() - 50.0 * 3600.0).abs() < 1e-6);
    // Three sides of one: ½ · sin(120°) · 3.
    let unit = 0.5 * (2.0 * std::f64::consts::PI / 3.0).sin() * 3.0;
    assert!((meters[0].performance.unwrap() - unit).abs() < 1e-12);
    assert!((meters[0].used.unwrap() - unit).abs() < 1e-12);
    // Twice the price for the same.
    let cell = &meters[2];
    assert!((cell.allocated.unwrap() - 2.0).abs() < 1e-12);
    assert!(cell.used > meters[0].used && cell.mean < meters[0].mean);
    assert!((cell.worst_axis.unwrap() - 0.5).abs() < 1e-12);
}

#[test]
fn the_best_change_is_from_the_first_cell_to_the_best() {
    // With fewer blocks no exact test of seven cells reaches 5 %.
    let input = trials(12, 3, |cores, cache| amdahl(cores) + 0.4 * cache as f64);
    let result = MatrixResult::of(&input);
    let change = result.best_change(&input).unwrap();
    // Eight cores with the cache: 800/1.7 against 100, times e^0.4.
    assert_eq!((change.cell, change.verdict), (7, EffectVerdict::Better));
    let truth = 8.0 / 1.7 * 0.4_f64.exp();
    assert!((change.effect.estimate() / truth - 1.0).abs() < 0.03);
    assert!(change.effect.low() < truth && truth < change.effect.high());
}

#[test]
fn where_nothing_helps_the_best_change_is_none_for_the_better() {
    let input = trials(12, 3, |cores, cache| -0.2 * (cores + cache) as f64);
    let result = MatrixResult::of(&input);
    let change = result.best_change(&input).unwrap();
    assert_ne!(change.cell, REFERENCE);
    assert_eq!(change.verdict, EffectVerdict::Worse);
}

#[test]
fn weights_decide_what_the_mean_ranks_by() {
    // The second cell carries twice the load at half the response time, at a price of one more.
    let mut input = trials(4, 1, |cores, _| (cores as f64).exp2().ln());
    let mean = |input: &MatrixTrials| MatrixResult::of(input).meters[6].mean.unwrap();
    let even = mean(&input);
    input.weights = BTreeMap::from([("price".to_owned(), 0.0)]);
    let without_price = mean(&input);
    input.weights = BTreeMap::from([("price".to_owned(), 100.0)]);
    let by_price = mean(&input);
    assert!(by_price < even && even < without_price);
    // Eight cores cost eight times as much as one.
    assert!((by_price - 1.0 / 8.0).abs() < 0.02, "{by_price}");
}
