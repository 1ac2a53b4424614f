//! Experiments in virtual time: a known law, noise by the seed of the trial, and kills.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use plimsoll_analysis::experiment::effect::{Criteria, Direction};
use plimsoll_analysis::experiment::trial::Scale;
use plimsoll_model::experiment::TrialOrder;
use plimsoll_model::price::Price;
use plimsoll_model::seed::Seed;
use plimsoll_testkit::normal::standard_normal;
use rand::RngExt as _;
use serde_json::json;

use super::comparison_blocks::ComparisonBlocks;
use super::forecast::{CellPrice, CellPrices, ExperimentForecast};
use super::log::{ExperimentHeader, FILE_NAME, FORMAT};
use super::matrix::{MatrixBlocks, MatrixDesign, Race};
use super::trial::{RecordedOutcome, TrialRole, TrialTraffic};
use super::*;

/// An origin in virtual time: the load line of a cell is known, its noise depends on the trial alone.
struct VirtualOrigin {
    /// Logarithm of the load line by cell.
    law: fn(usize) -> f64,
    /// Time of a trial by cell, ms, before noise.
    lasting_ms: fn(usize) -> f64,
    /// Trials after which the process is killed, within a trial.
    kill_after: Option<usize>,
    carried_out: usize,
    /// Outcome of a trial other than a measurement.
    fate: fn(&PlannedTrial) -> Option<RecordedOutcome>,
}

impl VirtualOrigin {
    fn new(law: fn(usize) -> f64) -> Self {
        Self {
            law,
            lasting_ms: |_| 60_000.0,
            kill_after: None,
            carried_out: 0,
            fate: |_| None,
        }
    }
}

impl Conduct for VirtualOrigin {
    fn trial(
        &mut self,
        trial: &PlannedTrial,
        _records: &[TrialRecord],
    ) -> Result<TrialRecord, TrialError> {
        if self.kill_after == Some(self.carried_out) {
            return Err(TrialError::Interrupted);
        }
        self.carried_out += 1;
        let mut random = trial.seed.derive(u64::from(trial.index)).generator();
        let noise = standard_normal(&mut random);
        let line = ((self.law)(trial.cell) + 0.03 * noise).exp();
        let lasting = (self.lasting_ms)(trial.cell) * (1.0 + 0.05 * noise.clamp(-3.0, 3.0));
        // Time goes on from trial to trial, also in a process that continues.
        let began_ms = u64::from(trial.index) * 100_000;
        let outcome = (self.fate)(trial).unwrap_or_else(|| {
            RecordedOutcome::Measured(BTreeMap::from([("load_line".to_owned(), line)]))
        });
        Ok(TrialRecord {
            trial: *trial,
            began_ms,
            ended_ms: began_ms + whole(lasting),
            outcome,
            traffic: TrialTraffic {
                requests: whole(line * 1000.0),
                bytes_out: whole(line * 1e6),
            },
            runs: Vec::new(),
            notes: Vec::new(),
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive and far below 2^53"
)]
fn whole(value: f64) -> u64 {
    value as u64
}

struct Nobody;

impl ExperimentWatcher for Nobody {}

fn design(cells: usize, trials: u32) -> MatrixDesign {
    MatrixDesign {
        cells,
        trials,
        order: TrialOrder::Random,
        seed: Seed(5),
        reference: Some(0),
        estimated_ms: vec![60_000; cells],
        race: None,
    }
}

fn header() -> ExperimentHeader {
    ExperimentHeader {
        format: FORMAT,
        command: "matrix".to_owned(),
        source: "virtual".to_owned(),
        started_at: "2026-11-26T10:00:00Z".to_owned(),
        started_unix_ms: 0,
        seed: 5,
        definition: json!({}),
    }
}

fn carry_out(
    folder: &Path,
    blocks: &mut dyn Blocks,
    origin: &mut VirtualOrigin,
) -> (ExperimentEnd, Vec<TrialRecord>) {
    let mut log = ExperimentLog::open(folder, header()).unwrap();
    let stop = StopFlag::default();
    let end = run_experiment(&mut log, blocks, origin, &stop, &mut Nobody).unwrap();
    (end, log.records().to_vec())
}

#[test]
fn every_block_has_a_reference_and_every_cell() {
    let folder = tempfile::tempdir().unwrap();
    let mut origin = VirtualOrigin::new(|_| 0.0);
    let (end, records) = carry_out(
        folder.path(),
        &mut MatrixBlocks::new(design(5, 3)),
        &mut origin,
    );
    assert_eq!((end, records.len()), (ExperimentEnd::Complete, 18));
    assert_eq!(MatrixBlocks::trials_total(&design(5, 3)), 18);
    for block in records.chunks(6) {
        assert_eq!(block[0].trial.role, TrialRole::Reference);
        let mut cells: Vec<usize> = block[1..].iter().map(|record| record.trial.cell).collect();
        cells.sort_unstable();
        assert_eq!(cells, [0, 1, 2, 3, 4]);
        assert!(
            block
                .iter()
                .all(|record| record.trial.seed == block[0].trial.seed),
            "chance is equal within a block"
        );
    }
    let orders: Vec<Vec<usize>> = records
        .chunks(6)
        .map(|block| block.iter().map(|record| record.trial.cell).collect())
        .collect();
    assert!(orders[0] != orders[1] || orders[1] != orders[2]);
    // A complete experiment is not repeated.
    let (end, again) = carry_out(
        folder.path(),
        &mut MatrixBlocks::new(design(5, 3)),
        &mut VirtualOrigin {
            kill_after: Some(0),
            ..VirtualOrigin::new(|_| 9.0)
        },
    );
    assert_eq!((end, again), (ExperimentEnd::Complete, records));
}

#[test]
fn fifty_kills_change_nothing() {
    let law = |cell: usize| 0.1 * cell as f64;
    let whole = tempfile::tempdir().unwrap();
    let mut blocks = MatrixBlocks::new(design(9, 10));
    let (_, expected) = carry_out(whole.path(), &mut blocks, &mut VirtualOrigin::new(law));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE_NAME);
    let mut random = Seed(12).generator();
    let mut carried_out = 0;
    for kill in 0..50 {
        let mut origin = VirtualOrigin {
            kill_after: Some(random.random_range(0..4)),
            ..VirtualOrigin::new(law)
        };
        let mut blocks = MatrixBlocks::new(design(9, 10));
        let (end, _) = carry_out(folder.path(), &mut blocks, &mut origin);
        assert_eq!(end, ExperimentEnd::Interrupted, "kill {kill}");
        carried_out += origin.carried_out;
        // A kill may come while one of the last lines is written.
        let content = fs::read(&path).unwrap();
        let ends = content
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(index, _)| index + 1);
        let ends: Vec<usize> = ends.collect();
        let from = ends[ends.len().saturating_sub(3)];
        let cut = random.random_range(from..=content.len());
        fs::write(&path, &content[..cut]).unwrap();
    }
    let mut origin = VirtualOrigin::new(law);
    let mut blocks = MatrixBlocks::new(design(9, 10));
    let (end, records) = carry_out(folder.path(), &mut blocks, &mut origin);
    assert_eq!(end, ExperimentEnd::Complete);
    let bits = |records: &[TrialRecord]| serde_json::to_string(records).unwrap();
    assert_eq!(bits(&records), bits(&expected), "bit by bit");
    let repeated = carried_out + origin.carried_out - expected.len();
    assert!(
        repeated <= 50,
        "{repeated}: at most the running trial is repeated"
    );
}

#[test]
fn a_comparison_goes_on_after_kills() {
    let criteria = Criteria {
        replicates: 100,
        ..Criteria::standard(Direction::HigherIsBetter, Scale::Ratio, Seed(5))
    };
    let new = || ComparisonBlocks::new([4, 8], Duration::from_hours(1), criteria, Seed(5));
    let law = |cell: usize| -0.02 * cell as f64;
    let whole = tempfile::tempdir().unwrap();
    let (_, expected) = carry_out(whole.path(), &mut new(), &mut VirtualOrigin::new(law));
    assert!(expected.len() >= 16, "{}", expected.len());
    let folder = tempfile::tempdir().unwrap();
    for kill in 0..40 {
        let mut origin = VirtualOrigin {
            kill_after: Some(kill % 3),
            ..VirtualOrigin::new(law)
        };
        let (end, records) = carry_out(folder.path(), &mut new(), &mut origin);
        if end == ExperimentEnd::Complete {
            let bits = |records: &[TrialRecord]| serde_json::to_string(records).unwrap();
            assert_eq!(bits(&records), bits(&expected), "bit by bit");
            let results = [&records, &expected].map(|records| new().result(records));
            assert_eq!(results[0], results[1]);
            return;
        }
    }
    panic!("it does not come to its end");
}

#[test]
fn a_log_with_other_trials_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut origin = VirtualOrigin::new(|_| 0.0);
    carry_out(
        folder.path(),
        &mut MatrixBlocks::new(design(5, 3)),
        &mut origin,
    );
    let mut log = ExperimentLog::open(folder.path(), header()).unwrap();
    let mut blocks = MatrixBlocks::new(design(4, 3));
    let stop = StopFlag::default();
    let result = run_experiment(&mut log, &mut blocks, &mut origin, &stop, &mut Nobody);
    let text = result.unwrap_err().to_string();
    assert!(text.contains("is not that of the experiment"), "{text}");
}

#[test]
fn a_stop_ends_before_the_next_trial() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = ExperimentLog::open(folder.path(), header()).unwrap();
    let stop = StopFlag::default();
    stop.raise();
    let mut origin = VirtualOrigin::new(|_| 0.0);
    let mut blocks = MatrixBlocks::new(design(5, 3));
    let end = run_experiment(&mut log, &mut blocks, &mut origin, &stop, &mut Nobody).unwrap();
    assert_eq!(
        (end, origin.carried_out, log.records().len()),
        (ExperimentEnd::Interrupted, 0, 0)
    );
}

#[test]
fn void_trials_are_made_up_for_and_failed_ones_are_results() {
    let folder = tempfile::tempdir().unwrap();
    let mut origin = VirtualOrigin {
        fate: |trial| match (trial.block, trial.cell, trial.role) {
            (0, 2, TrialRole::Cell) => Some(RecordedOutcome::Void("robbed".to_owned())),
            (_, 3, _) => Some(RecordedOutcome::Failed("it died".to_owned())),
            _ => None,
        },
        ..VirtualOrigin::new(|_| 0.0)
    };
    let mut blocks = MatrixBlocks::new(design(4, 2));
    let (end, records) = carry_out(folder.path(), &mut blocks, &mut origin);
    assert_eq!((end, records.len()), (ExperimentEnd::Complete, 12));
    let made_up: Vec<(TrialRole, usize)> = records[10..]
        .iter()
        .map(|record| (record.trial.role, record.trial.cell))
        .collect();
    assert_eq!(made_up, [(TrialRole::Reference, 0), (TrialRole::Cell, 2)]);
}

#[test]
fn further_blocks_for_void_trials_are_in_the_forecast() {
    #[derive(Default)]
    struct Totals(Vec<usize>);
    impl ExperimentWatcher for Totals {
        fn trial_started(&mut self, _: &PlannedTrial, records: &[TrialRecord], left: &[usize]) {
            self.0.push(records.len() + left.len());
        }

        fn trial_ended(&mut self, records: &[TrialRecord], left: &[usize]) {
            self.0.push(records.len() + left.len());
        }
    }
    let totals_of = |fate: fn(&PlannedTrial) -> Option<RecordedOutcome>| {
        let folder = tempfile::tempdir().unwrap();
        let mut log = ExperimentLog::open(folder.path(), header()).unwrap();
        let mut origin = VirtualOrigin {
            fate,
            ..VirtualOrigin::new(|_| 0.0)
        };
        let mut blocks = MatrixBlocks::new(design(4, 2));
        let (stop, mut totals) = (StopFlag::default(), Totals::default());
        run_experiment(&mut log, &mut blocks, &mut origin, &stop, &mut totals).unwrap();
        totals.0
    };
    assert!(totals_of(|_| None).iter().all(|total| *total == 10));
    // Known as soon as the trial is void: a trial and its reference.
    let once = totals_of(|trial| {
        let is_robbed = (trial.block, trial.cell, trial.role) == (0, 2, TrialRole::Cell);
        is_robbed.then(|| RecordedOutcome::Void("robbed".to_owned()))
    });
    let known = once.iter().position(|total| *total == 12).unwrap();
    assert!(once[..known].iter().all(|total| *total == 10), "{once:?}");
    assert!(once[known..].iter().all(|total| *total == 12), "{once:?}");
    assert_eq!(once.len(), 24);
    // No more than two further blocks.
    let always = totals_of(|trial| {
        let is_robbed = (trial.cell, trial.role) == (2, TrialRole::Cell);
        is_robbed.then(|| RecordedOutcome::Void("robbed".to_owned()))
    });
    assert_eq!((always.len(), always.last()), (28, Some(&14)));
}

/// The forecast after the first block, against the real end.
struct FirstBlock {
    prices: CellPrices,
    forecast: Option<ExperimentForecast>,
}

impl ExperimentWatcher for FirstBlock {
    fn block_ended(&mut self, block: u32, records: &[TrialRecord], left: &[usize]) {
        if block == 0 {
            // Nothing of the truth is in the estimates: each is a minute.
            let estimated = [60_000; 6];
            let forecast =
                ExperimentForecast::of(&estimated, Some(&self.prices), records, left, None);
            self.forecast = Some(forecast);
        }
    }
}

/// Cells of one to six CPUs at a tenth an hour each; a million requests and ten GB cost as much as an hour of ten CPUs.
fn prices() -> CellPrices {
    let price = Price {
        currency: "EUR".to_owned(),
        cpu_hour: 0.1,
        request: 1e-6,
        gb_out: 0.1,
        ..Price::default()
    };
    let cell = |cpus: u32| CellPrice {
        hour: price.cpu_hour * f64::from(cpus),
        price: price.clone(),
    };
    CellPrices::new("EUR".to_owned(), (1..=6).map(cell).collect())
}

#[test]
fn the_forecast_after_a_block_is_within_a_fifth() {
    let void = |trial: &PlannedTrial| {
        let is_void = trial.block == 0 && trial.cell == 5;
        is_void.then(|| RecordedOutcome::Void("robbed".to_owned()))
    };
    let fates: [fn(&PlannedTrial) -> Option<RecordedOutcome>; 2] = [|_| None, void];
    for (seed, fate) in (0..20).flat_map(|seed| fates.map(|fate| (seed, fate))) {
        let folder = tempfile::tempdir().unwrap();
        let mut log = ExperimentLog::open(folder.path(), ExperimentHeader { seed, ..header() });
        let log = log.as_mut().unwrap();
        let mut origin = VirtualOrigin {
            lasting_ms: |cell| 20_000.0 * (1.0 + cell as f64),
            fate,
            ..VirtualOrigin::new(|cell| 0.3 * cell as f64)
        };
        let mut watcher = FirstBlock {
            prices: prices(),
            forecast: None,
        };
        let mut blocks = MatrixBlocks::new(design(6, 5));
        let stop = StopFlag::default();
        run_experiment(log, &mut blocks, &mut origin, &stop, &mut watcher).unwrap();
        let taken: u64 = log.records().iter().map(TrialRecord::lasted_ms).sum();
        let forecast = watcher.forecast.unwrap();
        let time = forecast.total_ms() / taken as f64;
        let price = forecast.total_price().unwrap() / watcher.prices.spent(log.records());
        assert!((0.8..=1.2).contains(&time), "seed {seed}: time {time}");
        assert!((0.8..=1.2).contains(&price), "seed {seed}: price {price}");
    }
}

#[test]
fn the_price_is_of_resources_requests_and_traffic() {
    let mut origin = VirtualOrigin::new(|_| 0.0);
    let trial = PlannedTrial {
        index: 0,
        block: 0,
        position: 0,
        cell: 3,
        role: TrialRole::Cell,
        seed: Seed(1),
    };
    let mut record = origin.trial(&trial, &[]).unwrap();
    (record.began_ms, record.ended_ms) = (0, 1_800_000);
    record.traffic = TrialTraffic {
        requests: 2_000_000,
        bytes_out: 3_000_000_000,
    };
    // Half an hour of four CPUs, two million requests, three GB.
    let spent = prices().spent(&[record.clone()]);
    assert!((spent - (0.2 + 2.0 + 0.3)).abs() < 1e-9, "{spent}");
    // Two more such trials in a budget that has room for one.
    let budget = Some(Duration::from_hours(1));
    let records = [record];
    let forecast = ExperimentForecast::of(&[0; 6], Some(&prices()), &records, &[3, 3], budget);
    let left = forecast.price_left.unwrap();
    assert!(
        (forecast.left_ms - 1_800_000.0).abs() < 1e-6,
        "{forecast:?}"
    );
    assert!((left - spent).abs() < 1e-9, "{left}");
}

/// Twelve cells: one to four cores at their price, each with three caches of which the first is the best.
fn raced(budget: Option<Duration>, seed: u64) -> Vec<TrialRecord> {
    let law = |cell: usize| 0.3 * (cell / 3) as f64 - 0.12 * (cell % 3) as f64;
    let race = budget.map(|budget| Race {
        budget,
        metric: "load_line".to_owned(),
        criteria: Criteria::standard(Direction::HigherIsBetter, Scale::Ratio, Seed(0)),
        prices: (0..12).map(|cell| f64::from(cell / 3 + 1)).collect(),
    });
    let design = MatrixDesign {
        race,
        seed: Seed(seed),
        ..design(12, 10)
    };
    simulate(&mut MatrixBlocks::new(design), &mut VirtualOrigin::new(law))
}

/// An experiment without a log.
fn simulate(blocks: &mut MatrixBlocks, origin: &mut VirtualOrigin) -> Vec<TrialRecord> {
    let mut records = Vec::new();
    for block in 0..BLOCKS_MAX {
        let planned = blocks.next_block(block, &records);
        for trial in trials_of(block, records.len(), &planned, blocks.seed()) {
            if blocks.is_spent(&trial, &records) {
                return records;
            }
            records.push(origin.trial(&trial, &[]).unwrap());
        }
        if planned.is_empty() {
            break;
        }
    }
    records
}

/// The best cell of each price by the mean of its logarithms.
fn front(records: &[TrialRecord]) -> Vec<usize> {
    let mean = |cell: usize| {
        let values: Vec<f64> = records
            .iter()
            .filter(|record| record.trial.cell == cell && record.trial.role == TrialRole::Cell)
            .filter_map(|record| match &record.outcome {
                RecordedOutcome::Measured(metrics) => Some(metrics["load_line"].ln()),
                _ => None,
            })
            .collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    (0..4)
        .map(|cores| {
            let cells = 3 * cores..3 * cores + 3;
            let best = cells.max_by(|a, b| mean(*a).total_cmp(&mean(*b)));
            best.unwrap()
        })
        .collect()
}

#[test]
fn a_race_saves_two_fifths_and_keeps_the_front() {
    let (mut saved, mut same) = (0.0, 0);
    let plenty = Some(Duration::from_hours(100));
    for seed in 0..200 {
        let (whole, race) = (raced(None, seed), raced(plenty, seed));
        saved += 1.0 - race.len() as f64 / whole.len() as f64;
        same += u32::from(front(&whole) == front(&race));
    }
    assert!(saved / 200.0 >= 0.4, "{saved}");
    assert!(same >= 190, "{same} of 200");
}

#[test]
fn a_budget_is_kept() {
    let budget = Duration::from_mins(40);
    let records = raced(Some(budget), 3);
    let taken: u64 = records.iter().map(TrialRecord::lasted_ms).sum();
    assert!(taken <= 40 * 60_000, "{taken} ms");
    assert!(taken >= 35 * 60_000, "{taken} ms: it is spent");
}

#[test]
fn a_cell_that_only_fails_is_dropped_by_a_race_alone() {
    for (race, expected) in [(false, 4), (true, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let race = race.then(|| Race {
            budget: Duration::from_hours(9),
            metric: "load_line".to_owned(),
            criteria: Criteria::standard(Direction::HigherIsBetter, Scale::Ratio, Seed(0)),
            prices: vec![1.0, 2.0, 3.0],
        });
        let design = MatrixDesign {
            race,
            ..design(3, 4)
        };
        let mut origin = VirtualOrigin {
            fate: |trial| {
                (trial.cell == 2).then(|| RecordedOutcome::Failed("not ready".to_owned()))
            },
            ..VirtualOrigin::new(|cell| cell as f64)
        };
        let (_, records) = carry_out(folder.path(), &mut MatrixBlocks::new(design), &mut origin);
        let failed = records.iter().filter(|record| record.trial.cell == 2);
        assert_eq!(failed.count(), expected);
    }
}
