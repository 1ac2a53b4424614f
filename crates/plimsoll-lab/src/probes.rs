//! Reads the probes once a second, on a thread of their own, in step with the windows.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use plimsoll_analysis::whole_run;
use plimsoll_model::event::Event;
use plimsoll_model::metric;
use plimsoll_model::part::Part;
use plimsoll_model::reading::Readings;
use plimsoll_probe::{Probe, ProbePlan};

use crate::clock::RunClock;
use crate::conductor::SharedLog;
use crate::error::LabError;

/// Seconds of machine use kept for judging trials; longer than any trial.
const RECENT_MAX: usize = 4000;

/// How busy the machine was in one second, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineUse {
    /// Second of run time.
    pub second: u32,
    /// Share of all cores that was not idle.
    pub busy: f64,
    /// Share that the hypervisor gave to others.
    pub steal: f64,
}

#[derive(Debug, Default)]
struct Shared {
    stopping: bool,
    recent: VecDeque<MachineUse>,
    notes: Vec<String>,
    told: Vec<String>,
    target_is_local: bool,
    parts: Vec<Part>,
}

/// The running thread.
#[derive(Debug)]
pub struct Probes {
    shared: Arc<(Mutex<Shared>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Probes {
    /// Opens the probes and reads them at the end of every second of run time.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(plan: ProbePlan, clock: RunClock, log: SharedLog) -> Result<Self, LabError> {
        let shared = Arc::new((Mutex::new(Shared::default()), Condvar::new()));
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("probes".to_owned())
            .spawn(move || read_every_second(Probe::open(plan), clock, &log, &theirs))
            .map_err(LabError::Thread)?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Machine use in the seconds `[from, to)` that were read.
    pub fn machine_use(&self, from: u32, to: u32) -> Vec<MachineUse> {
        let shared = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        shared
            .recent
            .iter()
            .copied()
            .filter(|seen| (from..to).contains(&seen.second))
            .collect()
    }

    /// The newest machine use.
    pub fn latest(&self) -> Option<MachineUse> {
        self.shared
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recent
            .back()
            .copied()
    }

    /// Whether the target runs on this machine, as far as the probe has seen.
    pub fn target_is_local(&self) -> bool {
        self.shared
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .target_is_local
    }

    /// Parts of the service that are asked about themselves.
    pub fn parts(&self) -> Vec<Part> {
        let shared = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        shared.parts.clone()
    }

    /// What was said of parts of the service since this was asked last.
    pub fn take_told(&self) -> Vec<String> {
        std::mem::take(
            &mut self
                .shared
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .told,
        )
    }

    /// Ends the thread and hands back what could not be read.
    pub fn stop(mut self) -> Vec<String> {
        self.end();
        std::mem::take(
            &mut self
                .shared
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .notes,
        )
    }

    fn end(&mut self) {
        self.shared
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .stopping = true;
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // A probe that panicked has printed why; what was measured is kept.
            let _ = thread.join();
        }
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        self.end();
    }
}

fn read_every_second(
    mut probe: Probe,
    clock: RunClock,
    log: &SharedLog,
    shared: &(Mutex<Shared>, Condvar),
) {
    // The first reading of a counter has nothing to compare with, so it is taken before the first window; what it
    // defines goes into the log with the second one.
    let mut defined = probe.read(0).new_series;
    let mut guard = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
    guard.parts = probe.parts().to_vec();
    drop(guard);
    let mut second = u32::try_from(clock.elapsed().as_secs()).unwrap_or(u32::MAX);
    loop {
        let guard = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = clock.until(second + 1);
        let (mut guard, _) = shared
            .1
            .wait_timeout_while(guard, wait, |shared| !shared.stopping)
            .unwrap_or_else(PoisonError::into_inner);
        if guard.stopping {
            guard.notes = probe.notes();
            return;
        }
        drop(guard);
        let mut readings = probe.read(second);
        readings.new_series.append(&mut defined);
        remember(shared, machine_use(&readings), &mut probe);
        log.append(Event::ReadingsTaken(readings));
        // Seconds missed while the machine was too busy stay missing.
        second = (second + 1).max(u32::try_from(clock.elapsed().as_secs()).unwrap_or(u32::MAX));
    }
}

fn remember(shared: &(Mutex<Shared>, Condvar), seen: MachineUse, probe: &mut Probe) {
    let mut guard = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
    if guard.recent.len() == RECENT_MAX {
        guard.recent.pop_front();
    }
    guard.recent.push_back(seen);
    guard.target_is_local = probe.target_is_local();
    guard.told.append(&mut probe.take_told());
}

fn machine_use(readings: &Readings) -> MachineUse {
    let value = |name: &str| readings.values.get(name).copied().unwrap_or(0.0);
    MachineUse {
        second: readings.second,
        busy: value(metric::CPU_BUSY),
        steal: value(&whole_run::steal_series()),
    }
}
