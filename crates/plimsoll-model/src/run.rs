//! A recorded execution of a plan: the only durable artefact. Reports are functions of it.

use std::time::Duration;

use crate::browser::PageVisit;
use crate::event::{Event, Header};
use crate::finding::Finding;
use crate::load_line::{GateResult, SearchResult};
use crate::reading::SeriesTable;
use crate::trial::{Trial, TrialKind, TrialSpec};
use crate::verdict::{Verdict, VoidReason};
use crate::window::Window;
use crate::worker::WorkerRecord;

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEnding {
    /// The judgement.
    pub verdict: Verdict,
    /// Why the measurement is not valid; empty when it is.
    pub void: Vec<VoidReason>,
    /// CPU time of the whole process over the run, µs.
    pub process_cpu_us: u64,
    /// Highest resident memory of the process, bytes.
    pub rss_bytes_max: u64,
}

/// Everything a run log holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Plan, host, versions. The plan's load is the one that was carried out, with the changes that somebody made.
    pub header: Header,
    /// Seconds of results, ascending; gaps between trials.
    pub windows: Vec<Window>,
    /// Values of the probes.
    pub readings: SeriesTable,
    /// Visits of browsers, in the order of their ends.
    pub visits: Vec<PageVisit>,
    /// Hosts that carried a part of the load each, by name: of a search, of all its trials together but self-tests. Empty where
    /// this machine carried it.
    pub workers: Vec<WorkerRecord>,
    /// Trials that began: (index, first second, how).
    pub trials_started: Vec<(u32, u32, TrialSpec)>,
    /// Trials that were judged.
    pub trials: Vec<Trial>,
    /// Notes with their second of run time.
    pub notes: Vec<(u32, String)>,
    /// Result of the search, when there was one and it ended.
    pub search: Option<SearchResult>,
    /// Result of the gate, when there was one and it ended.
    pub gate: Option<GateResult>,
    /// Named limits, best first.
    pub findings: Vec<Finding>,
    /// `None` when the log was cut off.
    pub ending: Option<RunEnding>,
}

impl Run {
    /// A run with only its header known.
    pub fn new(header: Header) -> Self {
        Self {
            header,
            windows: Vec::new(),
            readings: SeriesTable::default(),
            visits: Vec::new(),
            workers: Vec::new(),
            trials_started: Vec::new(),
            trials: Vec::new(),
            notes: Vec::new(),
            search: None,
            gate: None,
            findings: Vec::new(),
            ending: None,
        }
    }

    /// Adds what workers did in a load. A search has many; in its self-tests nothing is sent to the target, so that they count
    /// nowhere.
    fn add_workers(&mut self, workers: Vec<WorkerRecord>) {
        let is_self_test = self
            .trials_started
            .last()
            .is_some_and(|(_, _, spec)| spec.kind == TrialKind::SelfTest);
        for worker in workers {
            let worker = if is_self_test {
                worker.without_counts()
            } else {
                worker
            };
            let mut known = self.workers.iter_mut();
            match known.find(|known| known.name == worker.name) {
                Some(known) => known.add_load(&worker),
                None => self.workers.push(worker),
            }
        }
    }

    /// Folds one more event in.
    pub fn apply(&mut self, event: Event) {
        match event {
            Event::RunStarted(header) => self.header = *header,
            // Readings without load are no run; a log of them begins with this event. Of estimates, the result has the last.
            Event::WatchStarted(_) | Event::LineEstimated { .. } => {}
            Event::TrialStarted {
                index,
                second,
                spec,
            } => self.trials_started.push((index, second, spec)),
            Event::WindowClosed(window) => {
                if let Some(scenario) = &mut self.header.plan.scenario {
                    scenario.name_steps(&window.steps_named);
                }
                self.windows.push(*window);
            }
            Event::ReadingsTaken(readings) => self.readings.push(&readings),
            Event::PageVisited(visit) => self.visits.push(*visit),
            Event::WorkersEnded(workers) => self.add_workers(workers),
            Event::TrialEnded(trial) => self.trials.push(*trial),
            Event::NoteMade { second, text } => self.notes.push((second, text)),
            Event::MomentMarked { second, text } => {
                self.notes.push((second, format!("marked: {text}")));
            }
            Event::LoadChanged {
                second,
                after_s,
                to,
                unit,
                by,
            } => {
                let plan = &mut self.header.plan;
                // What a later version can change, and this one cannot, is a note at least.
                if let Ok(load) = plan.load.changed(Duration::from_secs(after_s.into()), to) {
                    plan.load = load;
                }
                let text = format!("load changed to {to} {} from {by}", unit.symbol());
                self.notes.push((second, text));
            }
            Event::StopRequested { second, by } => {
                self.notes.push((second, format!("stopped from {by}")));
            }
            Event::SearchEnded(result) => self.search = Some(*result),
            Event::GateEnded(result) => self.gate = Some(result),
            Event::FindingsMade(findings) => self.findings = findings,
            Event::RunEnded {
                verdict,
                void,
                process_cpu_us,
                rss_bytes_max,
            } => {
                self.ending = Some(RunEnding {
                    verdict,
                    void,
                    process_cpu_us,
                    rss_bytes_max,
                });
            }
        }
    }

    /// Windows of the seconds `[from, to)`.
    pub fn windows_between(&self, from: u32, to: u32) -> &[Window] {
        let start = self.windows.partition_point(|window| window.second < from);
        let end = self.windows.partition_point(|window| window.second < to);
        &self.windows[start..end.max(start)]
    }
}
