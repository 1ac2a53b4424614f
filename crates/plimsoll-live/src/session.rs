//! The page of one command.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use plimsoll_lab::controls::RunControls;
use plimsoll_lab::run_log::EventFollower;
use plimsoll_model::lock::lock;
use tokio::sync::mpsc;

use crate::error::LiveError;
use crate::follower::{LiveFollower, Message, ProgressHandle, QUEUE_LEN, Updates};
use crate::forming;
use crate::guard::LiveAddress;
use crate::page;
use crate::server::{Server, ServerOptions};
use crate::site::{Site, SiteBody, SiteRequest, SiteResponse};
use crate::state::LiveState;
use crate::update::Update;
use crate::viewers::Viewers;

/// How long the numbers of a second may arrive after the first of them.
const GATHER: Duration = Duration::from_millis(120);
/// Seconds of a plain run after which its findings are looked for again.
const FORMING_EVERY_S: u32 = 30;

/// A page that shows a command while it runs.
#[derive(Debug)]
pub struct LivePage {
    server: Server,
    updates: Updates,
    log_path: Arc<Mutex<Option<PathBuf>>>,
    may_change: bool,
}

impl LivePage {
    /// Serves the page. `controls` are what its viewers may do.
    ///
    /// # Errors
    /// When the address cannot be bound, or the thread cannot be started.
    pub fn start(address: LiveAddress, controls: RunControls) -> Result<Self, LiveError> {
        let (sender, receiver) = mpsc::channel(QUEUE_LEN);
        let updates = Updates {
            sender,
            dropped: Arc::new(AtomicU64::new(0)),
        };
        let (state, viewers) = (
            Arc::new(Mutex::new(LiveState::default())),
            Viewers::default(),
        );
        let log_path = Arc::new(Mutex::new(None));
        let may_change = controls.may_change_load();
        let collector = Collector {
            state: Arc::clone(&state),
            viewers: viewers.clone(),
            dropped: Arc::clone(&updates.dropped),
            log_path: Arc::clone(&log_path),
            findings_at: 0,
            affordable_at: 0,
        };
        let site = LiveSite {
            state,
            viewers,
            controls,
        };
        let server = Server::start_with(
            ServerOptions { address },
            Arc::new(site),
            Box::pin(collector.collect(receiver)),
        )?;
        Ok(Self {
            server,
            updates,
            log_path,
            may_change,
        })
    }

    /// The URL with its token.
    pub fn url(&self) -> &str {
        self.server.url()
    }

    /// What receives the events.
    pub fn follower(&self) -> Box<dyn EventFollower> {
        Box::new(LiveFollower::new(self.updates.clone(), self.may_change))
    }

    /// What receives the progress.
    pub fn progress(&self) -> ProgressHandle {
        ProgressHandle(self.updates.clone())
    }

    /// The log of the run, from which its findings form.
    pub fn set_log(&self, path: &Path) {
        *lock(&self.log_path) = Some(path.to_owned());
    }

    /// Ends it: viewers receive the last of it, for a second at most. `result` is the sentence that remains on their pages.
    pub fn finish(self, result: &str) {
        let result = Message::Update(Update::Section {
            name: "result",
            value: serde_json::json!(result),
        });
        for message in [result, Message::Finished] {
            // A full queue is emptied within moments; if its thread has died, the page is gone anyway.
            let _ = self.updates.sender.blocking_send(message);
        }
        self.server.stop();
    }
}

/// Takes the updates in, and hands the changes to the viewers.
struct Collector {
    state: Arc<Mutex<LiveState>>,
    viewers: Viewers,
    dropped: Arc<AtomicU64>,
    log_path: Arc<Mutex<Option<PathBuf>>>,
    /// Second after which the findings of a plain run are looked for.
    findings_at: u32,
    /// Second before which the log is not read again: it is long.
    affordable_at: u32,
}

impl Collector {
    async fn collect(mut self, mut updates: mpsc::Receiver<Message>) {
        let (results, mut found) = mpsc::channel(1);
        let mut is_looking = false;
        loop {
            let message = tokio::select! {
                message = updates.recv() => message.unwrap_or(Message::Finished),
                findings = found.recv() => {
                    is_looking = false;
                    match findings.flatten() {
                        Some(value) => Message::Update(Update::Section { name: "findings", value }),
                        None => continue,
                    }
                }
            };
            let mut looks = false;
            let mut is_over = self.take(message, &mut looks);
            if !is_over {
                tokio::time::sleep(GATHER).await;
            }
            for _ in 0..QUEUE_LEN {
                let Ok(message) = updates.try_recv() else {
                    break;
                };
                is_over |= self.take(message, &mut looks);
            }
            let count = self.publish();
            if is_over {
                drop(self.viewers.close());
                return;
            }
            let path = lock(&self.log_path).clone();
            if looks
                && !is_looking
                && count > 0
                && let Some(path) = path
            {
                is_looking = true;
                let results = results.clone();
                tokio::task::spawn_blocking(move || {
                    // The receiver ends with the page.
                    let _ = results.blocking_send(forming::findings(&path));
                });
            }
        }
    }

    /// Whether it was the last message.
    fn take(&mut self, message: Message, looks: &mut bool) -> bool {
        let Message::Update(update) = message else {
            return true;
        };
        match &update {
            Update::TrialEnded(trial) if trial["verdict"] == "fail" => {
                let second = trial["to"].as_u64().and_then(|to| u32::try_from(to).ok());
                *looks |= self.affords(second.unwrap_or_default());
            }
            Update::Began { .. } => {
                (self.findings_at, self.affordable_at) = (FORMING_EVERY_S, 0);
            }
            Update::Values { second, .. } if *second >= self.findings_at => {
                self.findings_at = second.saturating_add(FORMING_EVERY_S);
                *looks |= self.affords(*second);
            }
            _ => {}
        }
        lock(&self.state).apply(update);
        false
    }

    /// Whether the log may be read at this second; then not again for a while, if it is long.
    fn affords(&mut self, second: u32) -> bool {
        if second < self.affordable_at {
            return false;
        }
        let path = lock(&self.log_path).clone();
        let pause_s = path.map_or(0, |path| forming::pause_s(&path));
        self.affordable_at = second.saturating_add(pause_s);
        true
    }

    fn publish(&self) -> usize {
        let count = self.viewers.count();
        let mut state = lock(&self.state);
        state.set_page(self.dropped.load(Ordering::Relaxed), count);
        if count > 0
            && let Some(changes) = state.changes()
        {
            self.viewers.send(&event(&changes));
        }
        count
    }
}

/// A document as a server-sent event.
fn event(document: &Bytes) -> Bytes {
    let mut text = Vec::with_capacity(document.len() + 8);
    text.extend_from_slice(b"data: ");
    text.extend_from_slice(document);
    text.extend_from_slice(b"\n\n");
    Bytes::from(text)
}

struct LiveSite {
    state: Arc<Mutex<LiveState>>,
    viewers: Viewers,
    controls: RunControls,
}

impl LiveSite {
    /// All of it, then what changes.
    fn events(&self, request: &SiteRequest) -> SiteResponse {
        // While the state is locked no change can come between.
        let mut state = lock(&self.state);
        if let Some(changes) = state.changes() {
            self.viewers.send(&event(&changes));
        }
        let first = event(&state.full());
        match self.viewers.add(first, Arc::clone(&request.hang_up)) {
            Some(events) => SiteResponse {
                status: 200,
                content_type: "text/event-stream",
                body: SiteBody::Events(events),
            },
            None => SiteResponse::text(503, "Too many pages are open.\n"),
        }
    }

    fn act(&self, request: &SiteRequest) -> SiteResponse {
        match request.path.as_str() {
            "stop" => {
                self.controls.stop("the live page");
                SiteResponse::text(200, "stopping\n")
            }
            "mark" if self.controls.mark(&String::from_utf8_lossy(&request.body)) => {
                SiteResponse::text(200, "marked\n")
            }
            "mark" => SiteResponse::text(409, "Nothing is measured at this moment.\n"),
            "load" => self.change_load(&request.body),
            _ => SiteResponse::not_found(),
        }
    }
}

impl LiveSite {
    fn change_load(&self, body: &[u8]) -> SiteResponse {
        let text = String::from_utf8_lossy(body);
        let Ok(to) = text.trim().parse::<f64>() else {
            return SiteResponse::text(400, "The new load is not a number.\n");
        };
        match self.controls.change_load(to, "the live page") {
            Ok(second) => SiteResponse::text(200, format!("changed from second {second} on\n")),
            Err(error) => SiteResponse::text(409, sentence(&error.to_string())),
        }
    }
}

/// A message of an error as a sentence.
fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(char::to_uppercase);
    format!(
        "{}{}.\n",
        first.into_iter().flatten().collect::<String>(),
        letters.as_str()
    )
}

impl Site for LiveSite {
    fn respond(&self, request: SiteRequest) -> SiteResponse {
        if request.is_act {
            return self.act(&request);
        }
        match request.path.as_str() {
            "" => page::live(),
            "events" => self.events(&request),
            "run.json" => SiteResponse::ok("application/json", lock(&self.state).full()),
            path => page::asset(path).unwrap_or_else(SiteResponse::not_found),
        }
    }
}
