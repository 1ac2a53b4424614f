//! Follows a run and hands its records to a thread for each destination.

mod worker;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_model::event::Event;

use crate::aggregate::Aggregator;
use crate::clock::{self, Deadline};
use crate::experiment;
use crate::record::{Record, RunLabels};
use crate::request::{ExportHeader, ExportRequest};
use crate::target::{self, Target, Unavailable};
use worker::Worker;

/// How long the end of a run waits for destinations.
const PATIENCE: Duration = Duration::from_secs(3);

/// What became of a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// As the user wrote it, without secrets.
    pub destination: String,
    /// Records that the destination accepted: seconds of results and of readings, and moments.
    pub sent: u64,
    /// Records that were dropped, or that it has not accepted yet.
    pub dropped: u64,
    /// The last error.
    pub error: Option<String>,
}

impl Report {
    /// A sentence about what was lost; `None` if nothing was.
    pub fn loss(&self) -> Option<String> {
        if self.dropped == 0 && self.error.is_none() {
            return None;
        }
        let (destination, sent, dropped) = (&self.destination, self.sent, self.dropped);
        let total = sent + dropped;
        let reason = self.error.as_deref();
        let reason = reason.unwrap_or("it was too slow");
        Some(match dropped {
            0 => format!("export {destination}: late, and complete: {reason}"),
            _ => format!(
                "export {destination}: {dropped} of {total} records were not accepted: {reason}"
            ),
        })
    }
}

/// The exports of one run. Clones are of the same run.
#[derive(Clone, Debug)]
pub struct Exporter(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    aggregator: Aggregator,
    workers: Vec<Arc<Worker>>,
    /// Where pages are served.
    addresses: Vec<String>,
    /// Destinations whose losses were returned already.
    noted: BTreeSet<String>,
    /// How long a flush and the end wait for destinations.
    patience: Duration,
}

impl Exporter {
    /// Opens the destinations and starts a thread for each. A destination that cannot be opened is a loss from the start and
    /// no error: [`Exporter::unavailable`] has it. `run` is the name of the run in labels.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start(
        requests: &[ExportRequest],
        headers: &[ExportHeader],
        run: &str,
        command: &'static str,
    ) -> std::io::Result<Self> {
        let labels = RunLabels {
            run: run.to_owned(),
            command,
        };
        let mut addresses = Vec::new();
        let open = |request: &ExportRequest| {
            let opened = target::open(request, headers, &labels);
            let (target, error): (Box<dyn Target>, _) = match opened {
                Ok(target) => (target, None),
                Err(message) => (Box::new(Unavailable(message.clone())), Some(message)),
            };
            addresses.extend(target.address());
            Worker::start(request.to_string(), target, error).map(Arc::new)
        };
        let workers = requests.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self(Arc::new(Mutex::new(State {
            aggregator: Aggregator::default(),
            workers,
            addresses,
            noted: BTreeSet::new(),
            patience: PATIENCE,
        }))))
    }

    /// Waits so long for destinations that stand still, instead of a few seconds.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        self.lock().patience = patience;
        self
    }

    /// Takes an event of the run. Never waits.
    pub fn observe(&self, event: &Event) {
        let state = &mut *self.lock();
        if let Some(record) = state.aggregator.observe(event, clock::unix_ms()) {
            state.hand_over(&Arc::new(record));
        }
    }

    /// Takes a line of the log of an experiment. Never waits.
    pub fn observe_experiment(&self, line: &str) {
        if let Some(record) = experiment::trial_ended(line, clock::unix_ms()) {
            self.lock().hand_over(&Arc::new(record));
        }
    }

    /// URLs of the pages that are served to scrapers.
    pub fn pages(&self) -> Vec<String> {
        self.lock().addresses.clone()
    }

    /// Sentences about destinations that could not be opened.
    pub fn unavailable(&self) -> Vec<String> {
        let reports = self.lock().reports();
        let failed = reports.iter().filter_map(|report| {
            let (destination, reason) = (&report.destination, report.error.as_ref()?);
            Some(format!(
                "export {destination}: {reason}; the measurement goes on without it"
            ))
        });
        failed.collect()
    }

    /// Waits until the destinations have what was observed so far, a few seconds at most. Losses of destinations that had none
    /// before, as sentences.
    pub fn flush(&self) -> Vec<String> {
        let (workers, deadline) = self.lock().workers_and_deadline();
        for worker in &workers {
            worker.ask_to_flush();
        }
        for worker in &workers {
            worker.wait_for_flush(deadline);
        }
        self.lock().new_losses()
    }

    /// Ends the exports; waits a few seconds at most. Losses of destinations that had none before, as
    /// sentences.
    pub fn finish(&self) -> Vec<String> {
        let (workers, deadline) = self.lock().workers_and_deadline();
        for worker in &workers {
            worker.end();
        }
        for worker in &workers {
            worker.wait_for_end(deadline);
        }
        self.lock().new_losses()
    }

    /// What became of each destination so far.
    pub fn reports(&self) -> Vec<Report> {
        self.lock().reports()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn workers_and_deadline(&self) -> (Vec<Arc<Worker>>, Deadline) {
        (self.workers.clone(), Deadline::after(self.patience))
    }

    fn hand_over(&self, record: &Arc<Record>) {
        for worker in &self.workers {
            worker.hand_over(record);
        }
    }

    fn new_losses(&mut self) -> Vec<String> {
        let mut losses = Vec::new();
        for report in self.reports() {
            if let Some(loss) = report.loss()
                && self.noted.insert(report.destination)
            {
                losses.push(loss);
            }
        }
        losses
    }

    fn reports(&self) -> Vec<Report> {
        self.workers.iter().map(|worker| worker.report()).collect()
    }
}
