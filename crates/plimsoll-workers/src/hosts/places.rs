//! How far each worker of a file of hosts is.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_model::load_hosts::WorkerPlace;
use plimsoll_model::lock::lock;
use plimsoll_ssh::SshCloser;

/// Workers that are started at once: logins and copies of the program share one line here.
const STARTING_MAX: usize = 8;

/// How far a worker is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlaceStage {
    /// Others are started before it.
    Queued,
    /// `ssh` logs in, or the program is sent: so many percent.
    Starting(u64),
    /// It was started, and joins.
    Started,
    /// Why it was not started.
    Failed(String),
    /// It has ended, with this status.
    Over(String),
}

#[derive(Debug)]
struct Place {
    name: String,
    ssh: String,
    stage: PlaceStage,
    /// Ends its connection, while there is one.
    closer: Option<SshCloser>,
    /// Its thread has nothing more to do.
    has_ended: bool,
}

#[derive(Debug)]
struct PlacesState {
    places: Vec<Place>,
    /// Other workers are started.
    may_start: bool,
    /// The run is over.
    is_closing: bool,
}

/// The places of all workers.
#[derive(Debug)]
pub(super) struct Places {
    state: Mutex<PlacesState>,
    changed: Condvar,
}

impl Places {
    pub(super) fn new(places: &[WorkerPlace]) -> Self {
        let places = places.iter().map(|place| Place {
            name: place.name.clone(),
            ssh: place.ssh.to_string(),
            stage: PlaceStage::Queued,
            closer: None,
            has_ended: false,
        });
        Self {
            state: Mutex::new(PlacesState {
                places: places.collect(),
                may_start: true,
                is_closing: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Waits until a worker may be started; false when none is any more.
    pub(super) fn take_turn(&self, index: usize) -> bool {
        let state = lock(&self.state);
        let waited = self.changed.wait_while(state, |state| {
            let starting = state.places.iter().filter(|place| place.is_starting());
            state.may_start && starting.count() >= STARTING_MAX
        });
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        if state.may_start {
            state.places[index].stage = PlaceStage::Starting(0);
        }
        state.may_start
    }

    /// A worker is so far.
    pub(super) fn set(&self, index: usize, stage: PlaceStage) {
        lock(&self.state).places[index].stage = stage;
        self.changed.notify_all();
    }

    /// So many bytes of the program were sent.
    pub(super) fn sending(&self, index: usize, sent: u64, all: u64) {
        let percent = (100 * sent).checked_div(all).unwrap_or(0);
        lock(&self.state).places[index].stage = PlaceStage::Starting(percent);
    }

    /// A connection can be ended by this.
    pub(super) fn opened(&self, index: usize, closer: SshCloser) {
        let mut state = lock(&self.state);
        if !state.may_start {
            closer.close();
        }
        state.places[index].closer = Some(closer);
    }

    /// The thread of a place is about to end.
    pub(super) fn ended(&self, index: usize) {
        let mut state = lock(&self.state);
        let place = &mut state.places[index];
        place.closer = None;
        place.has_ended = true;
        self.changed.notify_all();
    }

    pub(super) fn is_closing(&self) -> bool {
        lock(&self.state).is_closing
    }

    /// No other worker is started; those that are being started are ended.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.may_start = false;
        state.is_closing = true;
        let starting = state.places.iter().filter(|place| place.is_starting());
        starting.for_each(Place::end);
        self.changed.notify_all();
    }

    /// Waits until all have ended, at most for a time.
    pub(super) fn wait_for_end(&self, within: Duration) {
        let state = lock(&self.state);
        let goes_on = |state: &mut PlacesState| state.places.iter().any(|place| !place.has_ended);
        // Poisoned or late: they are ended next.
        drop(self.changed.wait_timeout_while(state, within, goes_on));
    }

    /// Ends all connections.
    pub(super) fn end_all(&self) {
        lock(&self.state).places.iter().for_each(Place::end);
    }

    /// Ends the connections of those that are not ready, and starts no other.
    pub(super) fn end_missing(&self, ready: &[String]) {
        let mut state = lock(&self.state);
        state.may_start = false;
        let places = state.places.iter();
        let missing = places.filter(|place| !ready.contains(&place.name));
        missing.for_each(Place::end);
        self.changed.notify_all();
    }

    /// How many have failed, or ended before they were ready.
    pub(super) fn lost(&self, ready: &[String]) -> u32 {
        let state = lock(&self.state);
        let places = state.places.iter();
        let lost = places.filter(|place| place.is_over() && !ready.contains(&place.name));
        u32::try_from(lost.count()).unwrap_or(u32::MAX)
    }

    /// Those that are not ready: those that will not come first.
    pub(super) fn missing(&self, ready: &[String]) -> Vec<String> {
        let state = lock(&self.state);
        let missing = state
            .places
            .iter()
            .filter(|place| !ready.contains(&place.name));
        let (over, others): (Vec<&Place>, Vec<&Place>) = missing.partition(|place| place.is_over());
        over.into_iter().chain(others).map(Place::text).collect()
    }
}

impl Place {
    fn is_starting(&self) -> bool {
        matches!(self.stage, PlaceStage::Starting(_))
    }

    fn is_over(&self) -> bool {
        matches!(self.stage, PlaceStage::Failed(_) | PlaceStage::Over(_))
    }

    fn end(&self) {
        if let Some(closer) = &self.closer {
            closer.close();
        }
    }

    /// Its name, and how far it is.
    fn text(&self) -> String {
        let name = &self.name;
        let what = match &self.stage {
            PlaceStage::Queued => "others are started before it".to_owned(),
            PlaceStage::Starting(0) => format!("ssh logs in to {}", self.ssh),
            PlaceStage::Starting(percent) => format!("{percent} % of the program sent"),
            PlaceStage::Started => "started, and not ready yet".to_owned(),
            PlaceStage::Failed(why) => why.clone(),
            PlaceStage::Over(status) => {
                format!("the worker ended before it was ready{status}; its messages are above")
            }
        };
        format!("{name} ({what})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(count: usize) -> Places {
        let place = |number| WorkerPlace {
            ssh: "me@host".parse().unwrap(),
            name: format!("w{number}"),
            region: None,
        };
        Places::new(&(0..count).map(place).collect::<Vec<_>>())
    }

    #[test]
    fn eight_are_started_at_once() {
        let places = places(10);
        for index in 0..8 {
            assert!(places.take_turn(index));
        }
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| places.take_turn(8));
            // The end of any of them lets another begin.
            places.set(3, PlaceStage::Started);
            assert!(waiting.join().unwrap());
            let waiting = scope.spawn(|| places.take_turn(9));
            places.end_missing(&[]);
            assert!(!waiting.join().unwrap());
        });
    }

    #[test]
    fn who_is_missing_is_named_with_the_reason() {
        let places = places(5);
        let ready = ["w1".to_owned()];
        for index in 0..4 {
            assert!(places.take_turn(index));
        }
        places.sending(0, 34, 100);
        places.set(1, PlaceStage::Started);
        places.set(2, PlaceStage::Failed("ssh ended".to_owned()));
        places.set(3, PlaceStage::Over(" (exit status: 2)".to_owned()));
        assert_eq!(places.lost(&ready), 2);
        assert_eq!(
            places.missing(&ready),
            [
                "w2 (ssh ended)",
                "w3 (the worker ended before it was ready (exit status: 2); its messages are above)",
                "w0 (34 % of the program sent)",
                "w4 (others are started before it)",
            ]
        );
        // One that was ready is lost by its silence, not here.
        places.set(1, PlaceStage::Over(String::new()));
        assert_eq!(places.lost(&ready), 2);
        (0..5).for_each(|index| places.ended(index));
        places.wait_for_end(Duration::from_mins(1));
    }
}
