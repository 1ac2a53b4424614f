//! All collectors of a run, each on a thread of its own: triggered once a second, waited for briefly, and abandoned
//! when they hang.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use plimsoll_model::component::Component;
use plimsoll_model::reading::Readings;

use super::{Collector, ComponentMetadata, PATIENCE, ScrapeResult, WatchedGauges, own_name};
use crate::clock;
use crate::files::Files;

/// How long a second's readings wait for late collectors after everything else was read.
const WAIT: Duration = Duration::from_millis(200);
/// Collectors of a run at most: of discovered and of configured components.
const COLLECTORS_MAX: usize = 256;
/// Time beyond its time-out after which a collector is reported as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(5);

/// What a collector reads in one second, and its notes: keys, each reported once, and texts.
pub(super) type Scraped = (Readings, Vec<(&'static str, String)>);

/// The thread's work: one result for each call, until the channel is closed.
fn watch(
    mut scrape: impl FnMut() -> Scraped,
    index: usize,
    calls: &Receiver<()>,
    answers: &SyncSender<ScrapeResult>,
) {
    while calls.recv().is_ok() {
        let (readings, notes) = scrape();
        let result = ScrapeResult {
            collector: index,
            readings,
            notes,
        };
        if answers.send(result).is_err() {
            return;
        }
    }
}

/// A thread that is called.
#[derive(Debug)]
pub(super) struct CollectorHandle {
    name: String,
    calls: SyncSender<()>,
    /// It was triggered and has not returned yet.
    is_busy: bool,
    /// When it was called last.
    pub(super) called_ns: u64,
    /// It was called for the second that is read now: only then is it waited for.
    is_fresh: bool,
    /// Its time-out.
    pub(super) patience: Duration,
}

/// All collectors of a run.
#[derive(Debug)]
pub(crate) struct Collectors {
    pub(super) wait: Duration,
    pub(super) patience: Duration,
    gauges: Arc<WatchedGauges>,
    pub(super) handles: Vec<CollectorHandle>,
    answers: Receiver<ScrapeResult>,
    sender: SyncSender<ScrapeResult>,
    /// Results that arrived after their second had been read.
    late: Vec<ScrapeResult>,
}

impl Default for Collectors {
    fn default() -> Self {
        // One slot for each: a collector is triggered again only after its result was received.
        let (sender, answers) = sync_channel(COLLECTORS_MAX);
        Self {
            wait: WAIT,
            patience: PATIENCE,
            gauges: Arc::default(),
            handles: Vec::new(),
            answers,
            sender,
            late: Vec::new(),
        }
    }
}

impl Collectors {
    /// No collector yet; those that are added compare gauges of the application with these limits.
    pub(crate) fn comparing(gauges: WatchedGauges) -> Self {
        Self {
            gauges: Arc::new(gauges),
            ..Self::default()
        }
    }

    #[cfg(test)]
    pub(super) fn open_with(
        components: Vec<(Component, ComponentMetadata)>,
        gauges: WatchedGauges,
        files: &mut Files,
        patience: Duration,
    ) -> Self {
        let mut collectors = Self {
            patience,
            ..Self::comparing(gauges)
        };
        collectors.add(components, files);
        collectors
    }

    /// Starts a thread for each component.
    pub(crate) fn add(
        &mut self,
        components: Vec<(Component, ComponentMetadata)>,
        files: &mut Files,
    ) {
        if components.is_empty() {
            return;
        }
        let own_name = own_name(files);
        for (component, known) in components {
            let gauges = Arc::clone(&self.gauges);
            let mut collector = Collector::new(component, known, gauges, self.patience, &own_name);
            let (name, patience) = (collector.name.clone(), collector.source.patience);
            self.start(name, patience, move || collector.scrape(), files);
        }
    }

    /// Starts a thread that scrapes at each call, for that long at most. A thread that cannot be started is noted.
    pub(super) fn start(
        &mut self,
        name: String,
        patience: Duration,
        scrape: impl FnMut() -> Scraped + Send + 'static,
        files: &mut Files,
    ) {
        let index = self.handles.len();
        if index >= COLLECTORS_MAX {
            let text = format!(
                "{name} cannot be watched: at most {COLLECTORS_MAX} components are watched"
            );
            return files.announce("collectors", &text);
        }
        let (calls, called) = sync_channel(1);
        let sender = self.sender.clone();
        let thread = std::thread::Builder::new()
            .name("collector".to_owned())
            .spawn(move || watch(scrape, index, &called, &sender));
        match thread {
            // It ends by itself when it is no longer triggered, at the latest after its time-out.
            Ok(_) => self.handles.push(CollectorHandle {
                name,
                calls,
                is_busy: false,
                called_ns: 0,
                is_fresh: false,
                patience,
            }),
            Err(error) => files.announce(
                &name,
                &format!("{name} cannot be watched: its thread cannot be started: {error}"),
            ),
        }
    }

    /// Triggers every collector that has returned. Results too late for the last second count for this one.
    pub(crate) fn call(&mut self) {
        while let Ok(result) = self.answers.try_recv() {
            self.free(result.collector);
            self.late.push(result);
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

    /// Notes collectors that have not returned for long.
    fn announce_stuck(&self, files: &mut Files) {
        let now_ns = clock::now_ns();
        for handle in self.handles.iter().filter(|handle| handle.is_busy) {
            let since = Duration::from_nanos(now_ns.saturating_sub(handle.called_ns));
            // It connects twice where it is refused.
            if since > handle.patience * 2 + STUCK_AFTER {
                let name = &handle.name;
                let text = format!(
                    "{name} cannot be watched: its collector has been blocked for {} s (by a file system, a name \
                     server or a program that does not respond); all other collectors continue",
                    since.as_secs()
                );
                files.announce(&format!("{name} stuck"), &text);
            }
        }
    }

    fn free(&mut self, index: usize) {
        if let Some(handle) = self.handles.get_mut(index) {
            handle.is_busy = false;
        }
    }

    /// Adds the collectors' results since [`Collectors::call`] to the readings, and waits briefly for late ones.
    pub(crate) fn gather(&mut self, readings: &mut Readings, files: &mut Files) {
        self.receive(readings, files);
        self.gauges.announce_missing(readings, files);
    }

    fn receive(&mut self, readings: &mut Readings, files: &mut Files) {
        for result in std::mem::take(&mut self.late) {
            self.take(result, readings, files);
        }
        let deadline_ns = clock::now_ns() + u64::try_from(self.wait.as_nanos()).unwrap_or(0);
        self.announce_stuck(files);
        // A collector that was late in an earlier second is not waited for in each later one.
        let is_awaited = |handle: &CollectorHandle| handle.is_busy && handle.is_fresh;
        while self.handles.iter().any(is_awaited) {
            let left_ns = deadline_ns.saturating_sub(clock::now_ns());
            match self.answers.recv_timeout(Duration::from_nanos(left_ns)) {
                Ok(result) => {
                    self.free(result.collector);
                    self.take(result, readings, files);
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn take(&self, result: ScrapeResult, readings: &mut Readings, files: &mut Files) {
        let name = self
            .handles
            .get(result.collector)
            .map_or("", |handle| &handle.name);
        for (key, text) in result.notes {
            files.announce(&format!("{name} {key}"), &text);
        }
        readings.values.extend(result.readings.values);
        readings.new_series.extend(result.readings.new_series);
    }
}
