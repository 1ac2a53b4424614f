//! Trials on a real service: the cell is applied, loads are sent, and everything is put back.

mod rising;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_analysis::experiment::metrics::{MetricValues, RunMetrics, Validity};
use plimsoll_model::labels;
use plimsoll_model::verdict::Verdict;
use plimsoll_probe::EdgeSource;

use super::trial::{
    Conduct, PlannedTrial, RecordedOutcome, TrialError, TrialRecord, TrialRole, TrialTraffic,
};
use super::warm::WarmWatcher;
use crate::active_run::{Assignment, Finished};
use crate::clock;
use crate::error::LabError;
use crate::limit::{self, LimitOrder};
use crate::progress::{StopFlag, Watcher};
use crate::run::{self, EarlyEnd};
use crate::service::{ApplyFault, ApplyFaultKind, ExperimentServices, Service};

/// Folder of the run files, in that of the experiment.
pub const RUNS: &str = "runs";

/// The loads of a trial, one after the other.
#[derive(Debug)]
pub struct TrialWork {
    /// Load before them that is not measured.
    pub warm: Option<WarmLoad>,
    /// The loads; at least one.
    pub loads: Vec<TrialLoad>,
}

/// Load that is not measured.
#[derive(Debug)]
pub struct WarmLoad {
    /// The load, for as long as it may take.
    pub assignment: Assignment,
    /// End as soon as the response time is steady.
    pub until_steady: bool,
}

/// A load of a trial.
#[derive(Debug)]
pub struct TrialLoad {
    /// Its name among several: `300/s`. With several loads, metrics have it as the label `load`.
    pub name: String,
    /// The plan; the path of its run file is set by the trial.
    pub assignment: Assignment,
    /// The search, if it is one.
    pub search: Option<LimitOrder>,
    /// Whether it rises and ends as soon as it is clearly beyond the load line. The trial then goes on with
    /// [`TrialLoads::further`].
    pub ends_beyond_line: bool,
}

/// Makes the loads of trials.
pub trait TrialLoads {
    /// The loads of a trial; `records` are those of the trials before it.
    ///
    /// # Errors
    /// The reason, when the trial cannot be carried out: it is void.
    fn work(&mut self, trial: &PlannedTrial, records: &[TrialRecord]) -> Result<TrialWork, String>;

    /// The load after the load `number`, from 0, of a trial whose loads end beyond the load line; `None` when the line is
    /// found, or no further load would find it.
    fn further(
        &mut self,
        _trial: &PlannedTrial,
        _finished: &Finished,
        _number: u32,
    ) -> Option<TrialLoad> {
        None
    }
}

/// Carries out trials on a real service.
pub struct ServiceTrials<'t> {
    /// The services.
    pub services: ExperimentServices,
    /// Makes the loads.
    pub loads: &'t mut dyn TrialLoads,
    /// Folder of the experiment.
    pub folder: PathBuf,
    /// Begin of the experiment by the wall clock, ms since 1970.
    pub started_unix_ms: u64,
    /// Stop of the user.
    pub stop: StopFlag,
    /// Observer of the loads.
    pub watcher: &'t mut dyn Watcher,
}

impl Conduct for ServiceTrials<'_> {
    fn trial(
        &mut self,
        trial: &PlannedTrial,
        records: &[TrialRecord],
    ) -> Result<TrialRecord, TrialError> {
        let began_ms = clock::unix_ms().saturating_sub(self.started_unix_ms);
        let (mut runs, mut notes) = (Vec::new(), Vec::new());
        let mut traffic = TrialTraffic::default();
        let outcome = match self.services.apply(trial.cell) {
            Err(fault) => failed_by(fault)?,
            Ok(mut service) => {
                let mut measurement = Measurement {
                    trial,
                    records,
                    loads: self.loads,
                    folder: &self.folder,
                    stop: &self.stop,
                    watcher: self.watcher,
                    runs: &mut runs,
                    notes: &mut notes,
                    traffic: &mut traffic,
                };
                let outcome = measurement.carry_out(&mut service);
                notes.extend(service.notes().iter().cloned());
                // Also after an error: nothing stays changed.
                notes.extend(service.stop()?);
                outcome?
            }
        };
        for note in &notes {
            self.watcher.noted(&format!("note: {note}"));
        }
        let ended_ms = clock::unix_ms().saturating_sub(self.started_unix_ms);
        Ok(TrialRecord {
            trial: *trial,
            began_ms,
            ended_ms: ended_ms.max(began_ms),
            outcome,
            traffic,
            runs,
            notes,
        })
    }
}

/// What a fault means for the trial: a failed service, or the end of the experiment.
fn failed_by(fault: ApplyFault) -> Result<RecordedOutcome, TrialError> {
    if fault.is_of_trial() {
        Ok(RecordedOutcome::Failed(fault.to_string()))
    } else if fault.kind() == ApplyFaultKind::Interrupted {
        Err(TrialError::Interrupted)
    } else {
        Err(fault.into())
    }
}

/// A trial on a service that is applied.
struct Measurement<'m> {
    trial: &'m PlannedTrial,
    records: &'m [TrialRecord],
    loads: &'m mut dyn TrialLoads,
    folder: &'m Path,
    stop: &'m StopFlag,
    watcher: &'m mut dyn Watcher,
    runs: &'m mut Vec<String>,
    notes: &'m mut Vec<String>,
    traffic: &'m mut TrialTraffic,
}

impl Measurement<'_> {
    fn carry_out(&mut self, service: &mut Service<'_>) -> Result<RecordedOutcome, TrialError> {
        let work = match self.loads.work(self.trial, self.records) {
            Ok(work) => work,
            Err(reason) => return Ok(RecordedOutcome::Void(reason)),
        };
        if let Err(fault) = self.prepare(service) {
            return failed_by(fault);
        }
        if let Some(warm) = work.warm {
            self.warm(service, warm)?;
        }
        let has_several = work.loads.len() > 1;
        let mut metrics = MetricValues::new();
        for load in work.loads {
            let label = has_several.then(|| load.name.clone());
            let values = if load.ends_beyond_line {
                self.rise(service, load)?
            } else {
                self.measure(service, load)?
            };
            match values {
                Ok(values) => metrics.extend(labelled(values, label.as_deref())),
                Err(outcome) => return Ok(with_health(service, outcome)),
            }
        }
        Ok(with_health(service, RecordedOutcome::Measured(metrics)))
    }

    /// The metrics of a load, or the outcome of the trial without them.
    fn measure(
        &mut self,
        service: &Service<'_>,
        load: TrialLoad,
    ) -> Result<Result<MetricValues, RecordedOutcome>, TrialError> {
        let finished = match self.send(service, load, None)? {
            Ok(finished) => finished,
            Err(outcome) => return Ok(Err(outcome)),
        };
        Ok(values_of(&finished))
    }

    fn prepare(&mut self, service: &mut Service<'_>) -> Result<(), ApplyFault> {
        service.ready()?;
        service.reset()?;
        self.settle(service)
    }

    fn settle(&mut self, service: &mut Service<'_>) -> Result<(), ApplyFault> {
        let settled = service.settle()?;
        if !settled.restless.is_empty() {
            let restless = settled.restless.join(", ");
            self.notes
                .push(format!("the load began before all was at rest: {restless}"));
        }
        Ok(())
    }

    fn warm(&mut self, service: &Service<'_>, warm: WarmLoad) -> Result<(), TrialError> {
        let own_stop = StopFlag::default();
        let mut watcher = WarmWatcher::new(
            self.watcher,
            self.stop.clone(),
            own_stop.clone(),
            warm.until_steady,
        );
        let mut assignment = warm.assignment;
        let path = self.folder.join(RUNS).join("warm-up.run");
        aim(&mut assignment, service, path.clone())?;
        match run::run(assignment, own_stop, &mut watcher) {
            Ok(finished) => self.traffic.add(&finished.run.windows),
            Err(LabError::Load(error)) => self.notes.push(format!("no warm-up: {error}")),
            Err(error) => return Err(error.into()),
        }
        // Nothing reads it; the next trial overwrites one that stays.
        let _ = fs::remove_file(path);
        if self.stop.is_raised() {
            return Err(TrialError::Interrupted);
        }
        Ok(())
    }

    /// Sends a load, which `early_end` may end before its time. A load that cannot be sent leaves the trial without a result.
    fn send(
        &mut self,
        service: &Service<'_>,
        load: TrialLoad,
        early_end: Option<EarlyEnd<'_>>,
    ) -> Result<Result<Finished, RecordedOutcome>, TrialError> {
        let role = match self.trial.role {
            TrialRole::Reference => "reference".to_owned(),
            TrialRole::Cell | TrialRole::Confirm | TrialRole::Limit => {
                format!("cell{}", self.trial.cell)
            }
        };
        let part = match self.runs.len() {
            0 => String::new(),
            index => format!("-{index}"),
        };
        let name = format!("{RUNS}/{:05}-{role}{part}.run", self.trial.index);
        let mut assignment = load.assignment;
        aim(&mut assignment, service, self.folder.join(&name))?;
        let stop = self.stop.clone();
        let sent = match (load.search, early_end) {
            (Some(order), _) => limit::limit(assignment, &order, stop, self.watcher),
            (None, None) => run::run(assignment, stop, self.watcher),
            (None, Some(early_end)) => run::run_until(assignment, stop, self.watcher, early_end),
        };
        let finished = match sent {
            Ok(finished) => finished,
            // Too few descriptors, for example: other cells may need less.
            Err(LabError::Load(error)) => {
                return Ok(Err(RecordedOutcome::Void(error.to_string())));
            }
            Err(error) => return Err(error.into()),
        };
        self.traffic.add(&finished.run.windows);
        self.runs.push(name);
        if self.is_interrupted(&finished) {
            return Err(TrialError::Interrupted);
        }
        Ok(Ok(finished))
    }

    fn is_interrupted(&self, finished: &Finished) -> bool {
        let ending = finished.run.ending.as_ref();
        self.stop.is_raised() && ending.is_none_or(|end| end.verdict == Verdict::Interrupted)
    }
}

/// A service that died or swapped has failed, whatever was measured.
fn with_health(service: &mut Service<'_>, outcome: RecordedOutcome) -> RecordedOutcome {
    let health = service.health();
    if health.is_good() {
        outcome
    } else {
        RecordedOutcome::Failed(health.failures.join("; "))
    }
}

/// Points a load at the service that is applied, and its run file at `path`. The file of a trial that was killed is
/// replaced.
fn aim(assignment: &mut Assignment, service: &Service<'_>, path: PathBuf) -> Result<(), LabError> {
    assignment.probes.pids.extend(service.processes());
    if let Some(edge) = service.edge() {
        // Only where connections go: name, `Host` and path stay those of the target.
        let target = &mut assignment.plan.target;
        assignment.probes.target_address = target.addresses.first().copied();
        target.addresses = vec![edge.address];
        target.tls = edge.is_secure;
        assignment.probes.edge = Some(EdgeSource::Admin(edge.admin));
    }
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(crate::run_log::RunLogError::Open { path, source }.into());
        }
        _ => {}
    }
    assignment.log_path = path;
    Ok(())
}

/// The metrics of a load, or why the trial has none.
fn values_of(finished: &Finished) -> Result<MetricValues, RecordedOutcome> {
    if let Some(reason) = &finished.not_written {
        let text = format!("the run file is incomplete: {reason}");
        return Err(RecordedOutcome::Void(text));
    }
    let metrics = RunMetrics::of(&finished.run);
    match metrics.validity() {
        Validity::Valid => Ok(metrics.values_with_steps()),
        Validity::Failed(reason) => Err(RecordedOutcome::Failed(reason.clone())),
        Validity::Unreachable => {
            let target = &finished.run.header.plan.target;
            let reason = format!(
                "nothing ever connected to {}; check the address, and let `ready` wait until the service listens",
                target.url
            );
            Err(RecordedOutcome::Failed(reason))
        }
        Validity::Void(reasons) => Err(RecordedOutcome::Void(reasons.join("; "))),
    }
}

/// Metrics of a load among several: each has the label `load`.
fn labelled(values: MetricValues, load: Option<&str>) -> MetricValues {
    let Some(load) = load else {
        return values;
    };
    let rename = |(name, value): (String, f64)| {
        let metric = labels::metric(&name).to_owned();
        let mut pairs: Vec<(&str, &str)> = labels::labels(&name).collect();
        pairs.push(("load", load));
        (labels::series(&metric, &pairs), value)
    };
    values.into_iter().map(rename).collect::<BTreeMap<_, _>>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_several_loads_have_the_load_as_a_label() {
        let values = MetricValues::from([
            ("p95".to_owned(), 1.0),
            ("p95{journey=shop,step=cart}".to_owned(), 2.0),
        ]);
        assert_eq!(labelled(values.clone(), None), values);
        let names: Vec<String> = labelled(values, Some("300/s")).into_keys().collect();
        assert_eq!(
            names,
            ["p95{journey=shop,step=cart,load=300/s}", "p95{load=300/s}"]
        );
    }
}
