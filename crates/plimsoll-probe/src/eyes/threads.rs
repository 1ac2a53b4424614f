//! All eyes of a run, each on a thread of its own: called once a second, waited for shortly, and left where they hang.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use plimsoll_model::part::Part;
use plimsoll_model::reading::Readings;

use super::{Eye, Known, PATIENCE, Seen, own_name};
use crate::clock;
use crate::files::Files;

/// How long a second's readings wait for eyes that have not answered when all else was read.
const WAIT: Duration = Duration::from_millis(200);
/// Eyes of a run at most: those of parts that were found, and those that were named.
const EYES_MAX: usize = 256;
/// How much longer than it may an eye takes before it is said that it is stuck.
const STUCK_AFTER: Duration = Duration::from_secs(5);

/// The thread's work: one answer for each call, until nobody calls any more.
fn watch(mut eye: Eye, index: usize, calls: &Receiver<()>, answers: &SyncSender<Seen>) {
    while calls.recv().is_ok() {
        let (readings, notes) = eye.look();
        let seen = Seen {
            eye: index,
            readings,
            notes,
        };
        if answers.send(seen).is_err() {
            return;
        }
    }
}

/// A thread that is called.
#[derive(Debug)]
pub(super) struct Handle {
    name: String,
    calls: SyncSender<()>,
    /// It was called and has not answered yet.
    is_busy: bool,
    /// When it was called last.
    pub(super) called_ns: u64,
    /// It was called for the second that is read now: only then is it waited for.
    is_fresh: bool,
    /// How long it may take to answer.
    pub(super) patience: Duration,
}

/// All eyes of a run.
#[derive(Debug)]
pub(crate) struct Eyes {
    pub(super) wait: Duration,
    patience: Duration,
    pub(super) handles: Vec<Handle>,
    answers: Receiver<Seen>,
    sender: SyncSender<Seen>,
    /// Came after its second had been read.
    late: Vec<Seen>,
}

impl Default for Eyes {
    fn default() -> Self {
        // One place for each: an eye is called again only after its answer was taken.
        let (sender, answers) = sync_channel(EYES_MAX);
        Self {
            wait: WAIT,
            patience: PATIENCE,
            handles: Vec::new(),
            answers,
            sender,
            late: Vec::new(),
        }
    }
}

impl Eyes {
    #[cfg(test)]
    pub(super) fn open_with(
        parts: Vec<(Part, Known)>,
        files: &mut Files,
        patience: Duration,
    ) -> Self {
        let mut eyes = Self {
            patience,
            ..Self::default()
        };
        eyes.add(parts, files);
        eyes
    }

    /// Starts a thread for each part. A thread that cannot be started is noted.
    pub(crate) fn add(&mut self, parts: Vec<(Part, Known)>, files: &mut Files) {
        if parts.is_empty() {
            return;
        }
        let own_name = own_name(files);
        for (part, known) in parts {
            let eye = Eye::new(part, known, self.patience, &own_name);
            let (calls, called) = sync_channel(1);
            let (name, index) = (eye.name.clone(), self.handles.len());
            let (patience, sender) = (eye.patience, self.sender.clone());
            if index >= EYES_MAX {
                let text = format!("{name} is not seen: no more than {EYES_MAX} parts are watched");
                files.tell("eyes", &text);
                return;
            }
            let thread = std::thread::Builder::new()
                .name("eye".to_owned())
                .spawn(move || watch(eye, index, &called, &sender));
            match thread {
                // It ends by itself when it is called no more, at the latest when its patience does.
                Ok(_) => self.handles.push(Handle {
                    name,
                    calls,
                    is_busy: false,
                    called_ns: 0,
                    is_fresh: false,
                    patience,
                }),
                Err(error) => files.tell(
                    &name,
                    &format!("{name} is not seen: no thread for it: {error}"),
                ),
            }
        }
    }

    /// Calls every eye that has answered its last call. What came too late for the last second stays for this one.
    pub(crate) fn call(&mut self) {
        while let Ok(seen) = self.answers.try_recv() {
            self.free(seen.eye);
            self.late.push(seen);
        }
        let now_ns = clock::now_ns();
        for handle in &mut self.handles {
            handle.is_fresh = !handle.is_busy;
            if handle.is_fresh {
                handle.is_busy = handle.calls.try_send(()).is_ok();
                handle.called_ns = now_ns;
            }
        }
    }

    /// Says of eyes that have not answered for long, whatever holds them, that they do not.
    fn tell_stuck(&self, files: &mut Files) {
        let now_ns = clock::now_ns();
        for handle in self.handles.iter().filter(|handle| handle.is_busy) {
            let since = Duration::from_nanos(now_ns.saturating_sub(handle.called_ns));
            // It asks twice where it is refused.
            if since > handle.patience * 2 + STUCK_AFTER {
                let name = &handle.name;
                let text = format!(
                    "{name} is not seen: its collector has not come back for {} s (a file system, a name server or a program that \
                     does not answer holds it); all else is read on without it",
                    since.as_secs()
                );
                files.tell(&format!("{name} stuck"), &text);
            }
        }
    }

    fn free(&mut self, eye: usize) {
        if let Some(handle) = self.handles.get_mut(eye) {
            handle.is_busy = false;
        }
    }

    /// Adds what the eyes have seen since [`Eyes::call`] to the readings, and waits shortly for those that have not
    /// answered.
    pub(crate) fn gather(&mut self, readings: &mut Readings, files: &mut Files) {
        for seen in std::mem::take(&mut self.late) {
            self.take(seen, readings, files);
        }
        let deadline_ns = clock::now_ns() + u64::try_from(self.wait.as_nanos()).unwrap_or(0);
        self.tell_stuck(files);
        // Who did not answer in a second before this one is not waited for in each that follows.
        let is_awaited = |handle: &Handle| handle.is_busy && handle.is_fresh;
        while self.handles.iter().any(is_awaited) {
            let left_ns = deadline_ns.saturating_sub(clock::now_ns());
            match self.answers.recv_timeout(Duration::from_nanos(left_ns)) {
                Ok(seen) => {
                    self.free(seen.eye);
                    self.take(seen, readings, files);
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn take(&self, seen: Seen, readings: &mut Readings, files: &mut Files) {
        let name = self.handles.get(seen.eye).map_or("", |handle| &handle.name);
        for (key, text) in seen.notes {
            files.tell(&format!("{name} {key}"), &text);
        }
        readings.values.extend(seen.readings.values);
        readings.new_series.extend(seen.readings.new_series);
    }
}
