//! Reads the probes once a second, on a thread of their own, in step with the windows.
//!
//! Others may control the files read: a probe that does not return is abandoned, and the run ends without it.

mod browser_cpu;
mod component_machines;
mod with_agents;

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_agent::Agents;
use plimsoll_analysis::whole_run;
use plimsoll_model::component::Component;
use plimsoll_model::event::Event;
use plimsoll_model::lock::lock;
use plimsoll_model::metric;
use plimsoll_model::reading::Readings;
use plimsoll_model::redact;
use plimsoll_probe::{Activity, Probe, ProbePlan};

use crate::clock::RunClock;
use crate::error::LabError;
use crate::run_log::SharedLog;
use browser_cpu::BrowserCpu;
pub(crate) use with_agents::{RemotePlan, WithAgents, connect};

/// How long a probe may take to return when a run ends: a second's sample waits for components, and for files of
/// others.
pub(crate) const END_PATIENCE: Duration = Duration::from_secs(3);
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
    /// Share that the browsers of the plan used.
    pub browsers: f64,
}

#[derive(Debug, Default)]
struct ProbeState {
    stopping: bool,
    recent: VecDeque<MachineUse>,
    notes: Vec<String>,
    component_notes: Vec<String>,
    target_is_local: bool,
    components: Vec<Component>,
    /// The first second that was not read.
    next: u32,
    has_ended: bool,
}

/// What is read once a second.
pub(crate) trait Reads {
    /// The readings of a second.
    fn read(&mut self, second: u32) -> Readings;
    /// What could not be read.
    fn notes(&self) -> Vec<String>;
    /// Notes about components since the last call.
    fn take_component_notes(&mut self) -> Vec<String>;
    /// Components that are scraped.
    fn components(&self) -> Vec<Component>;
    /// Whether the target was found on this machine.
    fn target_is_local(&self) -> bool;
    /// Seconds begin now by this clock.
    fn begin(&mut self, _clock: RunClock) {}
    /// Adds what other machines read in the same second; may wait for them.
    fn add_remote(&mut self, _readings: &mut Readings) {}
}

impl Reads for Probe {
    fn read(&mut self, second: u32) -> Readings {
        Self::read(self, second)
    }

    fn notes(&self) -> Vec<String> {
        redacted(Self::notes(self))
    }

    fn take_component_notes(&mut self) -> Vec<String> {
        redacted(Self::take_announced(self))
    }

    fn components(&self) -> Vec<Component> {
        Self::components(self).to_vec()
    }

    fn target_is_local(&self) -> bool {
        Self::target_is_local(self)
    }
}

/// The probes, and the browser of the run.
struct WithBrowser<R> {
    probe: R,
    browser: Option<BrowserCpu>,
}

impl<R: Reads> Reads for WithBrowser<R> {
    fn read(&mut self, second: u32) -> Readings {
        let mut readings = self.probe.read(second);
        if let Some(browser) = &mut self.browser {
            browser.add_to(&mut readings);
        }
        readings
    }

    fn notes(&self) -> Vec<String> {
        self.probe.notes()
    }

    fn take_component_notes(&mut self) -> Vec<String> {
        self.probe.take_component_notes()
    }

    fn components(&self) -> Vec<Component> {
        self.probe.components()
    }

    fn target_is_local(&self) -> bool {
        self.probe.target_is_local()
    }
}

/// Notes quote texts of services, drivers and logs.
fn redacted(notes: Vec<String>) -> Vec<String> {
    let notes = notes.into_iter();
    notes.map(|text| redact::text(&text).into_owned()).collect()
}

/// What a probe leaves when it ends.
#[derive(Clone, Debug, Default)]
pub struct Stopped {
    /// What could not be read.
    pub notes: Vec<String>,
    /// It did not return, and was abandoned: its last activity.
    pub left_behind: Option<String>,
}

/// The running thread.
#[derive(Debug)]
pub struct Probes {
    shared: Arc<(Mutex<ProbeState>, Condvar)>,
    thread: Option<JoinHandle<()>>,
    activity: Activity,
}

impl Probes {
    /// Opens the probes and reads them at the end of every second of run time; also the CPU of a browser, by its process, and
    /// the agents of other machines.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(
        plan: ProbePlan,
        agents: Agents,
        browser: Option<u32>,
        clock: RunClock,
        log: SharedLog,
    ) -> Result<Self, LabError> {
        let open = move |activity| {
            let remote = RemotePlan::of(&plan, &agents);
            let probe = WithBrowser {
                probe: Probe::open_with(plan, activity),
                browser: browser.map(|process| BrowserCpu::new(process, clock)),
            };
            WithAgents::new(probe, agents, remote)
        };
        Self::start_with(open, clock, log)
    }

    fn start_with<R: Reads>(
        open: impl FnOnce(Activity) -> R + Send + 'static,
        clock: RunClock,
        log: SharedLog,
    ) -> Result<Self, LabError> {
        let shared = Arc::new((Mutex::new(ProbeState::default()), Condvar::new()));
        let theirs = Arc::clone(&shared);
        let activity = Activity::default();
        let thread_activity = activity.clone();
        let thread = std::thread::Builder::new()
            .name("probes".to_owned())
            .spawn(move || {
                // However it ends, no thread waits for it any more.
                let _ended = EndGuard(&theirs);
                read_every_second(open(thread_activity), clock, &log, &theirs);
            })
            .map_err(LabError::Thread)?;
        Ok(Self {
            shared,
            thread: Some(thread),
            activity,
        })
    }

    /// Machine use in the seconds `[from, to)` that were read.
    pub fn machine_use(&self, from: u32, to: u32) -> Vec<MachineUse> {
        let shared = lock(&self.shared.0);
        shared
            .recent
            .iter()
            .copied()
            .filter(|sample| (from..to).contains(&sample.second))
            .collect()
    }

    /// The newest machine use.
    pub fn latest(&self) -> Option<MachineUse> {
        lock(&self.shared.0).recent.back().copied()
    }

    /// Whether the target runs on this machine, as far as the probe knows.
    pub fn target_is_local(&self) -> bool {
        lock(&self.shared.0).target_is_local
    }

    /// Components that are scraped.
    pub fn components(&self) -> Vec<Component> {
        let shared = lock(&self.shared.0);
        shared.components.clone()
    }

    /// Notes about components since the last call.
    pub fn take_component_notes(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.shared.0).component_notes)
    }

    /// Ends the thread and returns what could not be read. A thread that does not end in time is abandoned, and its
    /// activity is added to that list.
    pub fn stop(mut self) -> Stopped {
        let left_behind = self.end();
        let mut shared = lock(&self.shared.0);
        let notes = std::mem::take(&mut shared.notes);
        Stopped { notes, left_behind }
    }

    fn end(&mut self) -> Option<String> {
        let thread = self.thread.take()?;
        let mut shared = lock(&self.shared.0);
        shared.stopping = true;
        self.shared.1.notify_all();
        let (shared, waited) = self
            .shared
            .1
            .wait_timeout_while(shared, END_PATIENCE, |shared| !shared.has_ended)
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return Some(left_behind(&self.activity, shared.next));
        }
        drop(shared);
        // A probe that panicked has printed why; measurements are kept.
        let _ = thread.join();
        None
    }
}

/// The note about a probe that did not return.
pub(crate) fn left_behind(activity: &Activity, next: u32) -> String {
    format!(
        "the probe of this machine did not return within {} s and was abandoned (it was {}): readings end before \
         second {next}; earlier readings are kept",
        END_PATIENCE.as_secs(),
        redact::text(&activity.now())
    )
}

/// Says that the thread has ended, whether it returned or panicked.
struct EndGuard<'a>(&'a (Mutex<ProbeState>, Condvar));

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        let mut shared = lock(&self.0.0);
        shared.has_ended = true;
        self.0.1.notify_all();
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        self.end();
    }
}

fn read_every_second(
    mut probe: impl Reads,
    clock: RunClock,
    log: &SharedLog,
    shared: &(Mutex<ProbeState>, Condvar),
) {
    probe.begin(clock);
    // The first sample of a counter has no predecessor, so it is taken before the first window; its definitions go
    // into the log with the second one.
    let mut defined = probe.read(0).new_series;
    let mut guard = lock(&shared.0);
    guard.components = probe.components();
    drop(guard);
    let mut second = u32::try_from(clock.elapsed().as_secs()).unwrap_or(u32::MAX);
    loop {
        let guard = lock(&shared.0);
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
        // After what judges trials: another machine may be late.
        probe.add_remote(&mut readings);
        log.append(Event::ReadingsTaken(readings));
        // Seconds missed while the machine was too busy stay missing.
        second = (second + 1).max(u32::try_from(clock.elapsed().as_secs()).unwrap_or(u32::MAX));
    }
}

fn remember(shared: &(Mutex<ProbeState>, Condvar), sample: MachineUse, probe: &mut impl Reads) {
    let mut guard = lock(&shared.0);
    if guard.recent.len() == RECENT_MAX {
        guard.recent.pop_front();
    }
    guard.recent.push_back(sample);
    guard.next = sample.second.saturating_add(1);
    // Reported if it does not return from the next second.
    guard.notes = probe.notes();
    guard.components = probe.components();
    guard.target_is_local = probe.target_is_local();
    guard
        .component_notes
        .append(&mut probe.take_component_notes());
}

fn machine_use(readings: &Readings) -> MachineUse {
    let value = |name: &str| readings.values.get(name).copied().unwrap_or(0.0);
    MachineUse {
        second: readings.second,
        busy: value(metric::CPU_BUSY),
        steal: value(&whole_run::steal_series()),
        browsers: value(metric::BROWSER_CPU),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    use super::*;

    /// A probe that does not return from a second until released.
    pub(crate) struct Stuck {
        from: u32,
        /// Signalled when it begins that second.
        began: SyncSender<()>,
        released: Receiver<()>,
    }

    /// What holds a probe, and signals it.
    pub(crate) struct Hold {
        /// Signalled when it begins the second from which it does not return.
        pub(crate) beginning: Receiver<()>,
        _release: SyncSender<()>,
    }

    impl Stuck {
        pub(crate) fn from(second: u32) -> (Self, Hold) {
            let (release, released) = sync_channel::<()>(1);
            let (began, beginning) = sync_channel::<()>(1);
            let stuck = Self {
                from: second,
                began,
                released,
            };
            let hold = Hold {
                beginning,
                _release: release,
            };
            (stuck, hold)
        }
    }

    impl Reads for Stuck {
        fn read(&mut self, second: u32) -> Readings {
            if second >= self.from {
                self.began.send(()).unwrap();
                let _ = self.released.recv();
            }
            Readings {
                second,
                ..Readings::default()
            }
        }

        fn notes(&self) -> Vec<String> {
            vec!["known before".to_owned()]
        }

        fn take_component_notes(&mut self) -> Vec<String> {
            Vec::new()
        }

        fn components(&self) -> Vec<Component> {
            Vec::new()
        }

        fn target_is_local(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_probe_that_does_not_come_back_is_left_behind() {
        let (stuck, hold) = Stuck::from(1);
        let probes =
            Probes::start_with(|_| stuck, RunClock::start(), SharedLog::nowhere()).unwrap();
        hold.beginning.recv().unwrap();
        let stopped = probes.stop();
        assert_eq!(stopped.notes, ["known before"]);
        let message = stopped.left_behind.unwrap_or_default();
        assert!(message.contains("was abandoned"), "{message}");
    }

    #[test]
    fn a_probe_that_does_not_begin_is_left_behind() {
        let (stuck, _hold) = Stuck::from(0);
        let open = move |_| {
            let _ = stuck.released.recv();
            stuck
        };
        let probes = Probes::start_with(open, RunClock::start(), SharedLog::nowhere()).unwrap();
        let message = probes.stop().left_behind.unwrap_or_default();
        assert!(
            message.contains("readings end before second 0"),
            "{message}"
        );
    }
}
