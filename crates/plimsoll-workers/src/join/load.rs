//! The load of a worker, on a thread of its own.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

use plimsoll_load::{NullServer, RunningLoad, SessionCarryOver, Stay, Stopper, Used};
use plimsoll_model::window::Window;
use plimsoll_model::worker::HostUse;
use plimsoll_probe::host_sampler::HostSampler;

use super::preparation::PartLoad;

/// Seconds that may wait while a connection is made.
const EVENTS_MAX: usize = 32;

/// What the load did.
#[derive(Debug)]
pub(super) enum LoadEvent {
    /// A second was over.
    Second { window: Box<Window>, host: HostUse },
    /// It is over, with the drain.
    Ended {
        used: Used,
        plan_error: Option<String>,
        /// Its users, where they stay for the next load.
        carry_over: SessionCarryOver,
    },
    /// Its thread is gone.
    Lost,
}

/// A load that goes on. Dropping it aborts it.
#[derive(Debug)]
pub(super) struct CarriedLoad {
    stopper: Stopper,
    events: Option<Receiver<LoadEvent>>,
    thread: Option<JoinHandle<()>>,
}

impl CarriedLoad {
    /// # Errors
    /// When the load cannot be started: why, and what helps.
    pub(super) fn begin(load: PartLoad, stay: Option<Stay>) -> Result<Self, String> {
        let PartLoad {
            job,
            share,
            null_server,
        } = load;
        let running = plimsoll_load::start_share(job, share, stay);
        let running = running.map_err(|error| error.to_string())?;
        let stopper = running.stopper();
        let (sender, events) = sync_channel(EVENTS_MAX);
        let thread = std::thread::Builder::new()
            .name("windows".to_owned())
            .spawn(move || carry(running, null_server, &sender))
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Self {
            stopper,
            events: Some(events),
            thread: Some(thread),
        })
    }

    /// What it did next, if anything.
    pub(super) fn next_event(&self) -> Option<LoadEvent> {
        match self.events.as_ref()?.try_recv() {
            Ok(event) => Some(event),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(LoadEvent::Lost),
        }
    }

    /// No further arrivals; requests in flight drain.
    pub(super) fn stop(&self) {
        self.stopper.stop();
    }

    /// No further arrivals, and no drain.
    pub(super) fn abort(&self) {
        self.stopper.abort();
    }
}

impl Drop for CarriedLoad {
    fn drop(&mut self) {
        self.stopper.abort();
        // The thread may wait to hand over a second.
        self.events = None;
        if let Some(thread) = self.thread.take() {
            // Its panic has been printed.
            let _ = thread.join();
        }
    }
}

/// Hands over what a load does. In a self-test the server is there until its end.
fn carry(
    mut running: RunningLoad,
    null_server: Option<NullServer>,
    events: &SyncSender<LoadEvent>,
) {
    let mut sampler = HostSampler::new();
    while let Some(window) = running.next_window() {
        let second = LoadEvent::Second {
            window: Box::new(window),
            host: sampler.sample(),
        };
        if events.send(second).is_err() {
            return;
        }
    }
    let _ = events.send(LoadEvent::Ended {
        used: plimsoll_load::own_use(),
        plan_error: running.plan_error().map(ToOwned::to_owned),
        carry_over: running.take_carry_over(),
    });
    drop(running);
    drop(null_server);
}
