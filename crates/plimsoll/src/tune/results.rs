//! What the trials show, and the files that hold it.

use plimsoll_analysis::experiment::metrics::LOAD_LINE;
use plimsoll_analysis::tuning::{Observation, Score, TuneOutcome};
use plimsoll_lab::experiment::log::ExperimentHeader;
use plimsoll_lab::experiment::trial::{RecordedOutcome, TrialRecord, TrialRole};
use plimsoll_lab::experiment::tuning::{TuneBlocks, TuneStage};
use plimsoll_lab::output;
use plimsoll_lab::run_log::{self, LoadedRunLog};
use plimsoll_model::experiment::ExperimentEnd;
use plimsoll_report::tune::{
    self, SearchedLine, SearchedLines, TuneFiles, TuneObject, TuneReport, TuneTrial, TunedSource,
    UserRow,
};

use super::{PreparedTune, TUNED_FILE, apply_command};
use crate::cycles::limit_of;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::screen::{Screen, print};

/// Why a search of the load line that was carried out has no result.
const NO_LINE: &str = "the search found no load line; give it more time with `limit`, such as 4m";
/// Name of the page.
const PAGE: &str = "report.html";

/// A search with everything that its result is made of.
pub(super) struct SearchResult<'r> {
    prepared: &'r PreparedTune,
    header: &'r ExperimentHeader,
    records: &'r [TrialRecord],
    end: ExperimentEnd,
    outcome: TuneOutcome,
    trials: Vec<TuneTrial>,
    searches: SearchedLines,
    next_limit: Option<String>,
}

/// What is known beside the trials.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    pub(super) undone: bool,
    pub(super) applied: Vec<String>,
    pub(super) by_hand: Vec<String>,
    pub(super) users: Vec<UserRow>,
    /// What the settings were measured with; `None` where the file of the settings stays as it is.
    pub(super) source: Option<TunedSource>,
}

impl<'r> SearchResult<'r> {
    pub(super) fn of(
        prepared: &'r PreparedTune,
        blocks: &TuneBlocks,
        (header, records): (&'r ExperimentHeader, &'r [TrialRecord]),
        end: ExperimentEnd,
    ) -> Self {
        let outcome = blocks.outcome(records);
        let best = outcome.best.as_ref().filter(|_| outcome.adopt);
        let cell = best.map_or(blocks.default_cell(), |best| blocks.cell_of(&best.levels));
        let run = |cell| {
            let record = blocks.limit_record(records, cell)?;
            let path = prepared.file.folder.join(record.runs.last()?);
            run_log::read(&path).ok()
        };
        let recommended = run(cell);
        let searches = SearchedLines {
            default: run(blocks.default_cell()).as_ref().and_then(searched_line),
            best: best.and(recommended.as_ref()).and_then(searched_line),
        };
        Self {
            prepared,
            header,
            records,
            end,
            trials: trials(
                prepared,
                &blocks.scores(records),
                records,
                blocks.default_cell(),
            ),
            searches,
            next_limit: recommended.and_then(|reading| limit_of(&reading.run)),
            outcome,
        }
    }

    fn report<'a>(
        &'a self,
        delivery: &'a Delivery,
        files: TuneFiles,
        command: &'a str,
    ) -> TuneReport<'a> {
        TuneReport {
            name: &self.prepared.file.experiment.name,
            started_at: &self.header.started_at,
            seed: self.header.seed,
            state: self.end,
            knobs: &self.prepared.tuning().knobs,
            load_unit: self.prepared.unit.symbol(),
            objective: Some(self.prepared.objective.to_string()),
            trials: &self.trials,
            outcome: &self.outcome,
            searches: self.searches,
            next_limit: self.next_limit.as_deref(),
            undone: delivery.undone,
            applied: &delivery.applied,
            by_hand: &delivery.by_hand,
            users: &delivery.users,
            files,
            apply_command: command,
        }
    }

    /// Writes the page and the settings, prints the result, and returns the exit code.
    pub(super) fn deliver(
        &self,
        delivery: &Delivery,
        json: bool,
        screen: Screen,
    ) -> Result<Exit, CliError> {
        let folder = &self.prepared.file.folder;
        let command = apply_command(self.prepared);
        let (page, settings) = (folder.join(PAGE), folder.join(TUNED_FILE));
        let files = TuneFiles {
            settings: Some(settings.clone()).filter(|it| delivery.source.is_some() || it.exists()),
            report: Some(page.clone()),
            log: Some(folder.join(plimsoll_lab::experiment::log::FILE_NAME)),
        };
        let report = self.report(delivery, files, &command);
        let written = delivery.source.iter().try_for_each(|source| {
            let text = tune::settings_file(&report, source);
            write(&settings, &text)
        });
        let written = written.and_then(|()| write(&page, &tune::render(&report)));
        if json {
            print(&TuneObject::of(&report).json());
        } else {
            print(&tune::summary(&report, screen.colours_data()));
        }
        written.map(|()| self.exit())
    }

    /// 130 when it was stopped, 6 when more than a third of the trials are void, 3 when the service failed in all others, 4
    /// when the load line of the settings that stand was not found.
    fn exit(&self) -> Exit {
        if self.end == ExperimentEnd::Interrupted {
            return Exit::Interrupted;
        }
        let count = |is: fn(&RecordedOutcome) -> bool| {
            let of_kind = self.records.iter().filter(|record| is(&record.outcome));
            of_kind.count()
        };
        let void = count(|outcome| matches!(outcome, RecordedOutcome::Void(_)));
        let measured = count(|outcome| matches!(outcome, RecordedOutcome::Measured(_)));
        if 3 * void > self.records.len() {
            Exit::Void
        } else if measured == 0 {
            Exit::Missed
        } else if self.outcome.baseline.is_none() {
            Exit::Undecided
        } else {
            Exit::Met
        }
    }
}

fn write(path: &std::path::Path, text: &str) -> Result<(), CliError> {
    output::write_whole(path, text.as_bytes()).map_err(|error| {
        CliError::usage(format!("cannot write {}: {error}", path.display()))
            .remedy("free some space; the same command writes it again")
    })
}

/// The trials for the report. Scores are those of all trials but the last search of the load line.
fn trials(
    prepared: &PreparedTune,
    scores: &[Observation],
    records: &[TrialRecord],
    default_cell: usize,
) -> Vec<TuneTrial> {
    let mut scores = scores.iter();
    let trial = |record: &TrialRecord| {
        let is_search = record.trial.role == TrialRole::Limit;
        let score = if is_search && record.trial.cell != default_cell {
            searched(&record.outcome)
        } else {
            scores.next().map_or(Score::Void, |observed| observed.score)
        };
        TuneTrial {
            index: record.trial.index,
            levels: prepared.file.experiment.design.levels_at(record.trial.cell),
            purpose: match TuneStage::of(&record.trial) {
                TuneStage::Baseline => "load line as it stands",
                TuneStage::Search => "search",
                TuneStage::Confirm => "confirmation",
                TuneStage::Limit => "load line",
            },
            is_search,
            began_s: record.began_ms as f64 / 1e3,
            lasted_s: record.lasted_ms() as f64 / 1e3,
            score,
            reason: match &record.outcome {
                RecordedOutcome::Measured(_) if is_search && score == Score::Void => {
                    Some(NO_LINE.to_owned())
                }
                RecordedOutcome::Measured(_) => None,
                RecordedOutcome::Failed(reason) | RecordedOutcome::Void(reason) => {
                    Some(reason.clone())
                }
            },
        }
    };
    records.iter().map(trial).collect()
}

/// The line of a full search.
fn searched_line(reading: &LoadedRunLog) -> Option<SearchedLine> {
    let line = reading.run.search.as_ref()?.line.as_ref().ok()?;
    Some(SearchedLine {
        low: line.low,
        line: line.median,
        high: line.high,
    })
}

/// What a search of the load line found.
fn searched(outcome: &RecordedOutcome) -> Score {
    match outcome {
        RecordedOutcome::Failed(_) => Score::Failed,
        RecordedOutcome::Void(_) => Score::Void,
        RecordedOutcome::Measured(metrics) => metrics
            .get(LOAD_LINE)
            .map_or(Score::Void, |line| Score::Line(*line)),
    }
}
