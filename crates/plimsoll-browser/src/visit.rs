//! One visit of a page: a fresh profile, the page, its measurement, and nothing left of it.

mod layout_shift;
mod measured;
mod ready;
mod requests;

use std::time::Duration;

use plimsoll_model::browser::{PageVisit, VisitFailure};
use serde_json::{Value, json};

use crate::clock::Deadline;
use crate::elements;
use crate::protocol::{CallError, Connection, Session};
use measured::Measured;
use ready::{Busy, QUIET_US};
use requests::Requests;

/// Time for the browser to answer a call that does not depend on the page.
const CALL_PATIENCE: Duration = Duration::from_secs(30);
/// Time for a page to be measured that did not become ready: its script may be busy.
const LATE_PATIENCE: Duration = Duration::from_secs(2);

/// What a visit needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Assignment<'a> {
    pub(crate) url: &'a str,
    pub(crate) headers: &'a Value,
    pub(crate) timeout: Duration,
}

/// Visits a page. Only the visit's results are filled in: not its user, its page and its second.
pub(crate) fn visit(
    connection: &Connection,
    assignment: Assignment<'_>,
) -> Result<PageVisit, CallError> {
    let profile = Profile::open(connection)?;
    let session = profile.page()?;
    let soon = Deadline::after(CALL_PATIENCE);
    session.call("Page.enable", &json!({}), soon)?;
    session.call("Network.enable", &json!({}), soon)?;
    if assignment
        .headers
        .as_object()
        .is_some_and(|headers| !headers.is_empty())
    {
        let params = json!({ "headers": assignment.headers });
        session.call("Network.setExtraHTTPHeaders", &params, soon)?;
    }
    let mut page = VisitedPage {
        session: &session,
        requests: Requests::default(),
        load_at: None,
        deadline: Deadline::after(assignment.timeout),
    };
    let failure = page.load(assignment.url)?;
    let (failure, measured) = match failure {
        Some(failure) => (Some(failure), None),
        None => page.wait_until_ready()?,
    };
    let document_nodes = match &measured {
        Some(_) => page.document_nodes()?,
        None => 0,
    };
    let mut visit = page.describe(failure, measured.as_ref());
    visit.weight.document_nodes = document_nodes;
    Ok(visit)
}

/// A profile in the browser, without cookies and without a cache.
struct Profile<'a> {
    connection: &'a Connection,
    id: String,
}

impl<'a> Profile<'a> {
    fn open(connection: &'a Connection) -> Result<Self, CallError> {
        let soon = Deadline::after(CALL_PATIENCE);
        let created = connection.call("Target.createBrowserContext", &json!({}), soon)?;
        Ok(Self {
            connection,
            id: text(&created, "browserContextId"),
        })
    }

    /// An empty page.
    fn page(&self) -> Result<Session, CallError> {
        let soon = Deadline::after(CALL_PATIENCE);
        let params = json!({ "url": "about:blank", "browserContextId": self.id });
        let created = self.connection.call("Target.createTarget", &params, soon)?;
        let params = json!({ "targetId": created["targetId"], "flatten": true });
        let attached = self
            .connection
            .call("Target.attachToTarget", &params, soon)?;
        Ok(self.connection.session(text(&attached, "sessionId")))
    }
}

impl Drop for Profile<'_> {
    /// Closes its pages too.
    fn drop(&mut self) {
        let params = json!({ "browserContextId": self.id });
        let soon = Deadline::after(CALL_PATIENCE);
        let _ = self
            .connection
            .call("Target.disposeBrowserContext", &params, soon);
    }
}

/// A page that is being visited.
struct VisitedPage<'a> {
    session: &'a Session,
    requests: Requests,
    /// When the load event fired, by the browser's monotonic clock, s.
    load_at: Option<f64>,
    deadline: Deadline,
}

/// Why a visit ended, and what was measured.
type Ending = (Option<VisitFailure>, Option<Measured>);

impl VisitedPage<'_> {
    /// Begins the visit; returns why the document did not come.
    fn load(&mut self, url: &str) -> Result<Option<VisitFailure>, CallError> {
        let params = json!({ "url": url });
        let navigated = match self.session.call("Page.navigate", &params, self.deadline) {
            Ok(navigated) => navigated,
            Err(CallError::Late(_)) => return Ok(Some(VisitFailure::Timeout)),
            Err(error) => return Err(error),
        };
        if let Some(loader) = navigated["loaderId"].as_str() {
            self.requests
                .set_document(loader, &text(&navigated, "frameId"));
        }
        let reason = navigated["errorText"].as_str().filter(|it| !it.is_empty());
        Ok(reason.map(|reason| VisitFailure::Navigation {
            reason: reason.to_owned(),
        }))
    }

    /// Follows the page until it was quiet for long enough, or its time is over.
    fn wait_until_ready(&mut self) -> Result<Ending, CallError> {
        let quiet = Duration::from_micros(QUIET_US);
        let mut quiet_at = Deadline::after(quiet);
        loop {
            if let Some(event) = self.session.next_event(self.deadline.or(quiet_at))? {
                if event.method == "Inspector.targetCrashed" {
                    return Ok((Some(VisitFailure::Crashed), None));
                }
                if self.observe(&event.method, &event.params)? {
                    quiet_at = Deadline::after(quiet);
                }
            }
            if self.deadline.is_over() {
                return self.give_up();
            }
            // Streams may have events for ever.
            if !quiet_at.is_over() {
                continue;
            }
            quiet_at = Deadline::after(quiet);
            if self.load_at.is_none() || self.requests.is_waiting() {
                continue;
            }
            // Without an answer: a script is busy, or another document takes its place.
            let Some(measured) = self.measure(self.deadline)? else {
                continue;
            };
            let ready_us = self.ready_us(&measured);
            if measured.now_us >= ready_us + QUIET_US {
                return Ok((self.error_status(), Some(measured)));
            }
            // A long task ended a moment ago.
            quiet_at =
                Deadline::after(Duration::from_micros(ready_us + QUIET_US - measured.now_us));
        }
    }

    fn error_status(&self) -> Option<VisitFailure> {
        let status = self.requests.document_status()?;
        (status >= 400).then_some(VisitFailure::Status { status })
    }

    fn give_up(&self) -> Result<Ending, CallError> {
        let failure = self.error_status().unwrap_or(VisitFailure::Timeout);
        Ok((Some(failure), self.measure(Deadline::after(LATE_PATIENCE))?))
    }

    /// Takes an event in; whether the page was busy with it.
    fn observe(&mut self, method: &str, params: &Value) -> Result<bool, CallError> {
        match method {
            "Page.loadEventFired" => self.load_at = params["timestamp"].as_f64(),
            // Somebody must press a button, or the page waits for ever.
            "Page.javascriptDialogOpening" => {
                let accept = json!({ "accept": true });
                let soon = Deadline::after(CALL_PATIENCE);
                self.session
                    .call("Page.handleJavaScriptDialog", &accept, soon)?;
            }
            _ => return Ok(self.requests.observe(method, params)),
        }
        Ok(true)
    }

    /// What the page itself knows of its times; `None` when it does not answer in time, or is being replaced.
    fn measure(&self, deadline: Deadline) -> Result<Option<Measured>, CallError> {
        match measured::measure(self.session, deadline) {
            Ok(measured) => Ok(measured),
            Err(CallError::Late(_) | CallError::Refused(..)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Elements of the document as the server sent it; 0 where the browser does not have its text any more.
    fn document_nodes(&self) -> Result<u64, CallError> {
        let Some(id) = self.requests.document_id() else {
            return Ok(0);
        };
        let params = json!({ "requestId": id });
        let soon = Deadline::after(CALL_PATIENCE);
        let body = match self.session.call("Network.getResponseBody", &params, soon) {
            Ok(body) => body,
            Err(CallError::Late(_) | CallError::Refused(..)) => return Ok(0),
            Err(error) => return Err(error),
        };
        // What is no text comes encoded.
        let text = body["body"]
            .as_str()
            .filter(|_| body["base64Encoded"] != true);
        Ok(text.map_or(0, elements::count))
    }

    /// The beginning of the page by the browser's monotonic clock, s.
    fn began(&self, measured: Option<&Measured>) -> Option<f64> {
        let by_load = self.load_at.zip(measured.and_then(|it| it.load_start_us));
        let by_load = by_load.map(|(at, after_us)| at - after_us as f64 / 1e6);
        by_load.or_else(|| self.requests.document_began())
    }

    fn ready_us(&self, measured: &Measured) -> u64 {
        let began = self.began(Some(measured)).unwrap_or(0.0);
        let requests = self.requests.spans().map(|(from, to)| Busy {
            from_us: since(began, from),
            to_us: since(began, to),
        });
        let busy: Vec<Busy> = requests.chain(measured.busy()).collect();
        ready::ready_us(measured.load_us.unwrap_or(0), &busy)
    }

    fn describe(self, failure: Option<VisitFailure>, measured: Option<&Measured>) -> PageVisit {
        let began = self.began(measured);
        let ready_us = measured.map(|measured| self.ready_us(measured));
        let ready_us = ready_us.filter(|_| failure.is_none());
        let mut visit = PageVisit {
            failure,
            ..PageVisit::default()
        };
        let (first_byte, document) = self.requests.document_received();
        let times = &mut visit.times;
        times.first_byte_us = first_byte.zip(began).map(|(at, began)| since(began, at));
        times.document_us = document.zip(began).map(|(at, began)| since(began, at));
        times.ready_us = ready_us;
        if let Some(measured) = measured {
            measured.fill_in(times, ready_us);
            visit.weight.nodes = measured.nodes;
        }
        visit.weight.requests = self.requests.count();
        visit.weight.bytes = self.requests.bytes();
        visit.weight.document_bytes = self.requests.document_bytes();
        (
            visit.resources_failed,
            visit.resources_blocked,
            visit.failed,
        ) = self.requests.into_failed();
        visit
    }
}

/// A moment of the browser's clock, µs since the beginning of the page.
fn since(began: f64, at: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to a range that fits"
    )]
    let micros = ((at - began) * 1e6).clamp(0.0, 1e15).round() as u64;
    micros
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}
