//! Whole searches in virtual time, on services whose best settings are known.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use plimsoll_analysis::experiment::metrics::LOAD_LINE;
use plimsoll_analysis::experiment::metrics::ramp::{Crossing, RisenLoad};
use plimsoll_config::document::{FileError, Surroundings};
use plimsoll_model::plan::LoadUnit;
use plimsoll_testkit::surfaces::{self, ResponseSurface};

use super::*;
use crate::experiment::log::{ExperimentHeader, ExperimentLog, FORMAT};
use crate::experiment::trial::{Conduct, TrialError, TrialTraffic};
use crate::experiment::{ExperimentWatcher, run_experiment};
use crate::progress::StopFlag;
use plimsoll_model::experiment::ExperimentEnd;

/// Time of a trial.
const TRIAL_MS: u64 = 50_000;
/// The line of a rising load is above that of a search.
const RAMP_BIAS: f64 = 1.15;
const HOURS: Duration = Duration::from_hours(3);

struct NoFiles;

impl Surroundings for NoFiles {
    fn file(&self, _path: &str, _len_max: u64) -> Result<Vec<u8>, FileError> {
        Err(FileError::Unreadable("there are no files".to_owned()))
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
}

fn surface(id: &str) -> &'static ResponseSurface {
    surfaces::all().find(|surface| surface.id() == id).unwrap()
}

fn experiment(surface: &ResponseSurface) -> Arc<Experiment> {
    let mut knobs = String::new();
    let mut words = String::new();
    for knob in surface.knobs() {
        let levels = (0..knob.levels()).map(|level| knob.text(level));
        let levels = levels.collect::<Vec<_>>().join(", ");
        let (name, default) = (knob.name, knob.text(knob.default));
        writeln!(
            knobs,
            "  {name}: {{ values: [{levels}], default: {default} }}"
        )
        .unwrap();
        write!(words, ", \"{{{{ {name} }}}}\"").unwrap();
    }
    let text = format!(
        "knobs:\n{knobs}measure: {{ url: \"http://127.0.0.1:1/\", objective: \"p95 < 500ms\" }}\n\
         apply:\n  - command: [serve{words}]\n"
    );
    match plimsoll_config::experiment::read(&text, "test", &NoFiles) {
        Ok(experiment) => Arc::new(experiment),
        Err(diagnostics) => panic!("{diagnostics}\n{text}"),
    }
}

/// A service that carries what a surface says.
struct VirtualService {
    surface: &'static ResponseSurface,
    experiment: Arc<Experiment>,
    ramps: TrialRamps,
    /// Trials until the program is killed.
    trials_left: u32,
    /// The outcome of the load line of the default, if not its line.
    baseline: Option<RecordedOutcome>,
    loads: Cell<u32>,
    /// How much longer a trial takes of a setting that carries more than twice what the default does, ms.
    slow_ms: u64,
}

impl VirtualService {
    fn risen(
        &mut self,
        trial: &PlannedTrial,
        records: &[TrialRecord],
        line: f64,
    ) -> RecordedOutcome {
        let mut metrics = BTreeMap::new();
        let mut next = self.ramps.first(trial, records).ok();
        let mut number = 0;
        while let Some(shape) = next {
            let crossing = if line < shape.from {
                Crossing::Below(shape.from)
            } else if line > shape.to {
                Crossing::Above(shape.to)
            } else {
                Crossing::At(line)
            };
            let risen = RisenLoad {
                crossing,
                errors: 0.0,
                bad: 0.8,
            };
            lines::add(&mut metrics, risen);
            next = self.ramps.after(crossing, number);
            number += 1;
        }
        self.loads.set(self.loads.get() + number);
        RecordedOutcome::Measured(metrics)
    }
}

impl Conduct for VirtualService {
    fn trial(
        &mut self,
        trial: &PlannedTrial,
        records: &[TrialRecord],
    ) -> Result<TrialRecord, TrialError> {
        if self.trials_left == 0 {
            return Err(TrialError::Interrupted);
        }
        self.trials_left -= 1;
        let began_ms = records.last().map_or(0, |last| last.ended_ms);
        let levels = self.experiment.design.levels_at(trial.cell);
        let at_s = began_ms as f64 / 1e3;
        let line = self
            .surface
            .measured(&levels, at_s, Seed(5), u64::from(trial.index));
        let outcome = match (line, trial.role) {
            (_, TrialRole::Limit) if records.len() < 2 && self.baseline.is_some() => {
                self.baseline.clone().unwrap()
            }
            (None, _) => RecordedOutcome::Failed("out of memory".to_owned()),
            (Some(line), TrialRole::Limit) => {
                RecordedOutcome::Measured(BTreeMap::from([(LOAD_LINE.to_owned(), line)]))
            }
            (Some(line), _) => self.risen(trial, records, line * RAMP_BIAS),
        };
        let default = self.surface.line(&self.surface.default_setting(), at_s);
        let is_slow = line > default.map(|line| 2.0 * line);
        Ok(TrialRecord {
            trial: *trial,
            began_ms,
            ended_ms: began_ms + TRIAL_MS + if is_slow { self.slow_ms } else { 0 },
            outcome,
            traffic: TrialTraffic::default(),
            runs: Vec::new(),
            notes: Vec::new(),
        })
    }
}

struct NoWatcher;

impl ExperimentWatcher for NoWatcher {}

/// A search of a surface, in a folder of its own.
struct Search {
    surface: &'static ResponseSurface,
    folder: tempfile::TempDir,
    within: Duration,
    seed: u64,
    slow_ms: u64,
}

impl Search {
    fn of(id: &str, within: Duration) -> Self {
        Self {
            surface: surface(id),
            folder: tempfile::tempdir().unwrap(),
            within,
            seed: 11,
            slow_ms: 0,
        }
    }

    fn blocks(&self) -> TuneBlocks {
        let machine = HeldResources::default();
        TuneBlocks::new(
            experiment(self.surface),
            Seed(self.seed),
            self.within,
            machine,
        )
    }

    /// Carries the search out, or the rest of it, until it ends or is killed after so many trials.
    fn run(
        &self,
        trials: u32,
        baseline: Option<RecordedOutcome>,
    ) -> (ExperimentEnd, Vec<TrialRecord>) {
        let header = ExperimentHeader {
            format: FORMAT,
            command: "tune".to_owned(),
            source: "test".to_owned(),
            started_at: String::new(),
            started_unix_ms: 0,
            seed: self.seed,
            definition: serde_json::Value::Null,
        };
        let mut log = ExperimentLog::open(self.folder.path(), header).unwrap();
        let mut blocks = self.blocks();
        let objective = plimsoll_config::objective::objective("p95 < 500ms").unwrap();
        let unit = LoadUnit::RequestsPerSecond;
        let mut service = VirtualService {
            surface: self.surface,
            experiment: experiment(self.surface),
            ramps: TrialRamps::new(blocks.default_cell(), objective, unit),
            trials_left: trials,
            baseline,
            loads: Cell::new(0),
            slow_ms: self.slow_ms,
        };
        let end = run_experiment(
            &mut log,
            &mut blocks,
            &mut service,
            &StopFlag::default(),
            &mut NoWatcher,
        );
        let loads = service.loads.get() as usize;
        assert!(loads <= 3 * log.records().len(), "{loads} loads");
        (end.unwrap(), log.records().to_vec())
    }

    fn whole(&self) -> (ExperimentEnd, Vec<TrialRecord>) {
        self.run(u32::MAX, None)
    }
}

fn of_role(records: &[TrialRecord], role: TrialRole) -> Vec<usize> {
    let records = records.iter().filter(|record| record.trial.role == role);
    records.map(|record| record.trial.cell).collect()
}

#[test]
fn a_planted_best_is_found_confirmed_and_searched() {
    let search = Search::of("gunicorn", HOURS);
    let (end, records) = search.whole();
    assert_eq!(end, ExperimentEnd::Complete);
    let blocks = search.blocks();
    let outcome = blocks.outcome(&records);
    assert!(outcome.adopt, "{}", outcome.reason);
    let best = outcome.best.unwrap();
    let line = search.surface.line(&best.levels, 0.0).unwrap();
    let ratio = line / search.surface.best().line;
    assert!(ratio > 0.9, "{ratio} with {:?}", best.levels);
    // The default's line by a whole search first, the best's last.
    let (default, cell) = (blocks.default_cell(), blocks.cell_of(&best.levels));
    assert_eq!(of_role(&records, TrialRole::Limit), [default, cell]);
    assert_eq!(records.last().unwrap().trial.cell, cell);
    let stages: Vec<TuneStage> = records.iter().map(|it| TuneStage::of(&it.trial)).collect();
    assert_eq!(stages[0], TuneStage::Baseline);
    assert_eq!(stages.last(), Some(&TuneStage::Limit));
    assert!(stages.contains(&TuneStage::Search) && stages.contains(&TuneStage::Confirm));
    // The gain is that of the law, whatever rising loads add.
    let default = search.surface.line(&search.surface.default_setting(), 0.0);
    let gain = line / default.unwrap() - 1.0;
    assert!(
        best.gain_low <= gain && gain <= best.gain_high,
        "{gain} outside {} to {}",
        best.gain_low,
        best.gain_high
    );
}

#[test]
fn a_search_that_is_killed_goes_on_to_the_same_result() {
    let whole = Search::of("apache-mpm", HOURS);
    let (_, expected) = whole.whole();
    let killed = Search::of("apache-mpm", HOURS);
    for trials in [1, 6, 13, 3, 20, 0] {
        let (end, _) = killed.run(trials, None);
        assert_eq!(end, ExperimentEnd::Interrupted);
    }
    let (end, records) = killed.whole();
    assert_eq!(end, ExperimentEnd::Complete);
    assert_eq!(records, expected);
    assert_eq!(
        killed.blocks().outcome(&records),
        whole.blocks().outcome(&expected)
    );
}

#[test]
fn a_short_search_that_is_killed_goes_on_to_the_same_result() {
    let within = Duration::from_mins(20);
    let whole = Search::of("apache-mpm", within);
    let expected = whole.whole();
    let killed = Search::of("apache-mpm", within);
    for trials in [3, 2, 1, 4, 3] {
        let (_, records) = killed.run(trials, None);
        assert_eq!(records[..], expected.1[..records.len()]);
    }
    assert_eq!(killed.whole(), expected);
}

#[test]
fn a_default_that_is_best_is_kept() {
    let without_gain = surfaces::all().find(|surface| surface.is_without_gain());
    let search = Search::of(without_gain.unwrap().id(), HOURS);
    let (end, records) = search.whole();
    assert_eq!(end, ExperimentEnd::Complete);
    let outcome = search.blocks().outcome(&records);
    assert!(!outcome.adopt, "{}", outcome.reason);
    let limits = of_role(&records, TrialRole::Limit);
    assert_eq!(limits, [search.blocks().default_cell()]);
}

#[test]
fn time_for_the_confirmation_is_kept_free() {
    let within = Duration::from_mins(40);
    let search = Search::of("gunicorn", within);
    let (_, records) = search.whole();
    let taken = Duration::from_millis(records.iter().map(TrialRecord::lasted_ms).sum());
    assert!(taken <= within, "{taken:?}");
    assert!(of_role(&records, TrialRole::Confirm).len() >= 8);
    let tried = of_role(&records, TrialRole::Cell).len();
    assert!((8..40).contains(&tried), "{tried}");
    // Hardly any time is an end without a result.
    let search = Search::of("gunicorn", Duration::from_mins(2));
    let (end, records) = search.whole();
    assert_eq!(end, ExperimentEnd::Spent);
    assert!(!search.blocks().outcome(&records).adopt);
}

#[test]
fn time_is_kept_for_a_candidate_whose_trials_take_longer() {
    let within = Duration::from_mins(40);
    for seed in 1..=8 {
        let search = Search {
            seed,
            slow_ms: 2 * TRIAL_MS,
            ..Search::of("gunicorn", within)
        };
        let (end, records) = search.whole();
        let confirming = of_role(&records, TrialRole::Confirm).len();
        assert!(confirming >= 8, "seed {seed}: {confirming}, {end:?}");
        assert!(search.blocks().outcome(&records).adopt, "seed {seed}");
    }
}

#[test]
fn a_plain_gain_is_confirmed_in_twenty_trials() {
    // A search, a block, the best beside itself with less, four pairs and a search: a quarter of an hour.
    let short = Duration::from_mins(17);
    let plain = (1..=8).filter(|seed| {
        let search = Search {
            seed: *seed,
            ..Search::of("buffer-pool", short)
        };
        let (_, records) = search.whole();
        let taken = Duration::from_millis(records.iter().map(TrialRecord::lasted_ms).sum());
        assert!(taken <= short, "{taken:?}");
        let outcome = search.blocks().outcome(&records);
        let is_plain = outcome.adopt && outcome.best.is_some_and(|best| best.pairs == 4);
        if is_plain {
            assert_eq!(of_role(&records, TrialRole::Reference).len(), 2);
            assert_eq!(of_role(&records, TrialRole::Confirm).len(), 8);
            assert_eq!(of_role(&records, TrialRole::Limit).len(), 2);
        }
        is_plain
    });
    assert!(plain.count() >= 1);
}

#[test]
fn without_the_line_of_the_default_there_is_no_search() {
    let search = Search::of("gunicorn", HOURS);
    let failed = RecordedOutcome::Failed("never ready".to_owned());
    let (end, records) = search.run(u32::MAX, Some(failed));
    assert_eq!((end, records.len()), (ExperimentEnd::Complete, 1));
    assert_eq!(search.blocks().outcome(&records).baseline, None);
    // Chance gets a second trial.
    let search = Search::of("gunicorn", HOURS);
    let void = RecordedOutcome::Void("robbed".to_owned());
    let (end, records) = search.run(u32::MAX, Some(void));
    assert_eq!((end, records.len()), (ExperimentEnd::Complete, 2));
}

#[test]
fn a_trial_may_take_as_long_as_its_parts() {
    let blocks = Search::of("gunicorn", HOURS).blocks();
    let mut experiment = Experiment::clone(&blocks.experiment);
    let longest = |experiment: Experiment| {
        let machine = HeldResources::default();
        TuneBlocks::new(Arc::new(experiment), Seed(1), HOURS, machine).longest_trial()
    };
    let before = longest(experiment.clone());
    experiment.warm = Some(Warm::For(Duration::from_mins(5)));
    assert_eq!(longest(experiment), before + Duration::from_mins(5));
}
