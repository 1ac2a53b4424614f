//! The users of a browser: a thread each, which visits pages and thinks in between.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_model::browser::{PageVisit, VisitFailure};
use plimsoll_model::lock::lock;
use serde_json::Value;

use crate::process::Process;
use crate::protocol::{CallError, Connection};
use crate::spec::{BrowserSpec, VisitSink};
use crate::visit::{self, Assignment};

/// Visits in a row that the browser, not the page, makes fail, after which a user leaves.
const FAULTS_MAX: u32 = 3;

/// State that the threads of the users share.
#[derive(Debug)]
struct Shared {
    spec: BrowserSpec,
    headers: Value,
    connection: Connection,
    is_stopping: Mutex<bool>,
    stopping: Condvar,
    /// Why a user left before it was stopped.
    fault: Mutex<Option<String>>,
}

/// The users of a browser.
#[derive(Debug)]
pub(crate) struct Users {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Users {
    /// Users who have not begun.
    pub(crate) fn new(spec: BrowserSpec, connection: Connection) -> Self {
        let headers = spec.headers.iter();
        let headers = headers.map(|(name, value)| (name.clone(), Value::from(value.as_str())));
        let shared = Shared {
            headers: Value::Object(headers.collect()),
            spec,
            connection,
            is_stopping: Mutex::default(),
            stopping: Condvar::new(),
            fault: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
            threads: Vec::new(),
        }
    }

    /// Lets them begin.
    pub(crate) fn begin(&mut self, sink: VisitSink) -> io::Result<()> {
        let sink = Arc::new(sink);
        for user in 0..self.shared.spec.plan.users {
            let (shared, sink) = (Arc::clone(&self.shared), Arc::clone(&sink));
            let thread = std::thread::Builder::new()
                .name(format!("browser user {user}"))
                .spawn(move || shared.visit_pages(user, &sink))?;
            self.threads.push(thread);
        }
        Ok(())
    }

    /// Ends them and the browser that they wait for; returns why one of them had left before.
    pub(crate) fn end(&mut self, process: &mut Process) -> Option<String> {
        *lock(&self.shared.is_stopping) = true;
        self.shared.stopping.notify_all();
        process.end();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        lock(&self.shared.fault).take()
    }
}

impl Shared {
    /// The pages in turn; users begin at different ones, and spread over the time between two visits.
    fn visit_pages(&self, user: u32, sink: &VisitSink) {
        let plan = &self.spec.plan;
        let mut wait = plan.think * user / plan.users.max(1);
        let mut faults = 0;
        for turn in user.. {
            if self.waits(wait) {
                return;
            }
            let page = turn as usize % self.spec.urls.len().max(1);
            let Some(url) = self.spec.urls.get(page) else {
                return;
            };
            let assignment = Assignment {
                url,
                headers: &self.headers,
                timeout: plan.timeout,
            };
            let visited = visit::visit(&self.connection, assignment);
            if *lock(&self.is_stopping) {
                // The end of the run cut it short.
                return;
            }
            let visit = match visited {
                Ok(visit) => {
                    faults = 0;
                    visit
                }
                Err(error) => {
                    faults += 1;
                    if matches!(error, CallError::Gone) || faults == FAULTS_MAX {
                        lock(&self.fault).get_or_insert(error.to_string());
                        return;
                    }
                    failed_by(&error)
                }
            };
            sink(PageVisit {
                user,
                page: u32::try_from(page).unwrap_or(u32::MAX),
                ..visit
            });
            wait = plan.think;
        }
    }

    /// Waits; true when the users are stopped.
    fn waits(&self, time: Duration) -> bool {
        let stopping = lock(&self.is_stopping);
        let waited = self
            .stopping
            .wait_timeout_while(stopping, time, |stopping| !*stopping);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// A visit that the browser made fail.
fn failed_by(error: &CallError) -> PageVisit {
    let failure = match error {
        CallError::Late(_) => VisitFailure::Timeout,
        error => VisitFailure::Navigation {
            reason: error.to_string(),
        },
    };
    PageVisit {
        failure: Some(failure),
        ..PageVisit::default()
    }
}
