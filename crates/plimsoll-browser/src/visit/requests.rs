//! The requests of a page, from the events of its session.

use std::collections::BTreeMap;

use plimsoll_model::browser::{FAILED_RESOURCES_MAX, FailedResource};
use plimsoll_model::redact;
use serde_json::Value;

/// Requests of a visit that are followed at most; later ones are counted and not waited for.
const REQUESTS_MAX: usize = 10_000;
/// Longest URL of a failed resource that is kept, characters.
const URL_LEN_MAX: usize = 200;
/// What the browser says of a host that the plan does not name: its rules resolve no other.
const BLOCKED: &str = "net::ERR_NAME_NOT_RESOLVED";
/// Kinds of requests that are not waited for: they end when their page does, or nobody waits for them.
const ENDLESS: [&str; 4] = ["EventSource", "WebSocket", "Ping", "CSPViolationReport"];

/// A request that was sent. Times are the browser's monotonic ones, s.
#[derive(Clone, Debug, Default)]
struct SentRequest {
    url: String,
    began: f64,
    ended: Option<f64>,
    is_endless: bool,
    is_cached: bool,
    status: Option<u16>,
    first_byte: Option<f64>,
    bytes: u64,
}

/// All requests of a page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    by_id: BTreeMap<String, SentRequest>,
    /// Id of the document of the main frame.
    document: Option<String>,
    /// Id of the main frame.
    main_frame: String,
    redirects: u64,
    redirect_bytes: u64,
    unfollowed: u64,
    failed: u32,
    blocked: u32,
    examples: Vec<FailedResource>,
}

impl Requests {
    /// The document is the request of this loader, in this frame: the ids that a navigation returned.
    pub(crate) fn set_document(&mut self, loader: &str, frame: &str) {
        self.document = Some(loader.to_owned());
        frame.clone_into(&mut self.main_frame);
    }

    /// Folds an event of the domain `Network` in; whether it belongs to a request that is waited for.
    pub(crate) fn observe(&mut self, method: &str, params: &Value) -> bool {
        let Some(id) = params["requestId"].as_str() else {
            return false;
        };
        match method {
            "Network.requestWillBeSent" => self.sent(id, params),
            "Network.requestServedFromCache" => self.change(id, |request| request.is_cached = true),
            "Network.responseReceived" => self.answered(id, &params["response"]),
            "Network.loadingFinished" => {
                let bytes = params["encodedDataLength"].as_f64().unwrap_or(0.0);
                let at = params["timestamp"].as_f64();
                self.change(id, |request| {
                    request.bytes = whole(bytes);
                    request.ended = at;
                });
                self.count_error_status(id);
            }
            "Network.loadingFailed" => self.failed(id, params),
            _ => {}
        }
        let request = self.by_id.get(id);
        request.is_some_and(|request| !request.is_endless)
    }

    fn change(&mut self, id: &str, change: impl FnOnce(&mut SentRequest)) {
        if let Some(request) = self.by_id.get_mut(id) {
            change(request);
        }
    }

    fn sent(&mut self, id: &str, params: &Value) {
        let url = params["request"]["url"].as_str().unwrap_or_default();
        // Images in URLs, and the icon of the window, which no part of the page requests.
        if !url.starts_with("http") || is_icon(url, params) {
            return;
        }
        let redirected = &params["redirectResponse"];
        if let Some(request) = self.by_id.get_mut(id) {
            self.redirects += 1;
            self.redirect_bytes += whole(redirected["encodedDataLength"].as_f64().unwrap_or(0.0));
            url.clone_into(&mut request.url);
            return;
        }
        if self.by_id.len() == REQUESTS_MAX {
            self.unfollowed += 1;
            return;
        }
        let kind = params["type"].as_str().unwrap_or_default();
        if kind == "Document" && params["frameId"] == self.main_frame.as_str() {
            // A script has opened another page in its place.
            self.document = Some(id.to_owned());
        }
        let request = SentRequest {
            url: url.to_owned(),
            began: params["timestamp"].as_f64().unwrap_or(0.0),
            is_endless: ENDLESS.contains(&kind),
            ..SentRequest::default()
        };
        self.by_id.insert(id.to_owned(), request);
    }

    fn answered(&mut self, id: &str, response: &Value) {
        let status = response["status"].as_u64();
        let from_cache = response["fromDiskCache"].as_bool().unwrap_or(false);
        let timing = &response["timing"];
        let headers = timing["receiveHeadersStart"].as_f64();
        let headers = headers.or_else(|| timing["receiveHeadersEnd"].as_f64());
        let first_byte = timing["requestTime"].as_f64().zip(headers);
        self.change(id, |request| {
            request.status = status.and_then(|status| u16::try_from(status).ok());
            request.is_cached |= from_cache;
            request.first_byte = first_byte.map(|(sent, after_ms)| sent + after_ms / 1e3);
        });
    }

    /// Statuses of errors fail a resource; of the document, they fail the visit.
    fn count_error_status(&mut self, id: &str) {
        let is_document = self.document.as_deref() == Some(id);
        let Some(request) = self.by_id.get(id) else {
            return;
        };
        if let Some(status) = request.status.filter(|status| *status >= 400)
            && !is_document
        {
            let url = request.url.clone();
            self.fail(&url, format!("status {status}"));
        }
    }

    fn failed(&mut self, id: &str, params: &Value) {
        let at = params["timestamp"].as_f64();
        let Some(request) = self.by_id.get_mut(id) else {
            return;
        };
        request.ended = at;
        let (url, is_endless) = (request.url.clone(), request.is_endless);
        let reason = params["errorText"].as_str().unwrap_or_default();
        let is_document = self.document.as_deref() == Some(id);
        if reason == BLOCKED {
            self.by_id.remove(id);
            self.blocked += 1;
        } else if !is_endless && !is_document && params["canceled"] != true {
            let reason = match params["blockedReason"].as_str() {
                Some(blocked) => format!("blocked by the browser: {blocked}"),
                None => reason.to_owned(),
            };
            self.fail(&url, reason);
        }
    }

    fn fail(&mut self, url: &str, reason: String) {
        self.failed += 1;
        if self.examples.len() < FAILED_RESOURCES_MAX {
            let url = redact::text(url).chars().take(URL_LEN_MAX).collect();
            self.examples.push(FailedResource { url, reason });
        }
    }

    /// Whether one is waited for.
    pub(crate) fn is_waiting(&self) -> bool {
        let mut requests = self.by_id.values();
        requests.any(|request| request.ended.is_none() && !request.is_endless)
    }

    /// Beginning and end of all that ended, s.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (f64, f64)> {
        let waited_for = self.by_id.values().filter(|request| !request.is_endless);
        waited_for.filter_map(|request| Some((request.began, request.ended?)))
    }

    /// Its id.
    pub(crate) fn document_id(&self) -> Option<&str> {
        self.document.as_deref()
    }

    fn document(&self) -> Option<&SentRequest> {
        self.by_id.get(self.document.as_deref()?)
    }

    /// When the document was requested, s: nearly the beginning of the page.
    pub(crate) fn document_began(&self) -> Option<f64> {
        self.document().map(|document| document.began)
    }

    /// When the first byte of the document came, and its last, s.
    pub(crate) fn document_received(&self) -> (Option<f64>, Option<f64>) {
        let document = self.document();
        (
            document.and_then(|document| document.first_byte),
            document.and_then(|document| document.ended),
        )
    }

    /// Status of the document.
    pub(crate) fn document_status(&self) -> Option<u16> {
        self.document()?.status
    }

    /// Bytes of the document.
    pub(crate) fn document_bytes(&self) -> u64 {
        self.document().map_or(0, |document| document.bytes)
    }

    /// Requests that went to the network.
    pub(crate) fn count(&self) -> u64 {
        let sent = self.by_id.values().filter(|request| !request.is_cached);
        sent.count() as u64 + self.redirects + self.unfollowed
    }

    /// Bytes received.
    pub(crate) fn bytes(&self) -> u64 {
        let received: u64 = self.by_id.values().map(|request| request.bytes).sum();
        received + self.redirect_bytes
    }

    /// Resources that failed, those that were not requested because of their host, and the first of the failed.
    pub(crate) fn into_failed(self) -> (u32, u32, Vec<FailedResource>) {
        (self.failed, self.blocked, self.examples)
    }
}

/// Whether the browser itself wants an icon for its window: it has no initiator in the page.
fn is_icon(url: &str, params: &Value) -> bool {
    params["type"] == "Other" && url.ends_with("/favicon.ico")
}

/// A count that JSON holds as a float.
fn whole(number: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to a range that fits; fractions of bytes do not exist"
    )]
    let whole = number.clamp(0.0, 1e15) as u64;
    whole
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sent(requests: &mut Requests, id: &str, url: &str, kind: &str, at: f64) {
        let params =
            json!({ "requestId": id, "timestamp": at, "type": kind, "request": { "url": url } });
        requests.observe("Network.requestWillBeSent", &params);
    }

    fn finished(requests: &mut Requests, id: &str, status: u16, bytes: u32, at: f64) {
        let response = json!({ "status": status, "timing": { "requestTime": at - 0.5, "receiveHeadersEnd": 100.0 } });
        requests.observe(
            "Network.responseReceived",
            &json!({ "requestId": id, "response": response }),
        );
        let params = json!({ "requestId": id, "timestamp": at, "encodedDataLength": bytes });
        requests.observe("Network.loadingFinished", &params);
    }

    #[test]
    fn requests_are_counted_with_their_bytes() {
        let mut requests = Requests::default();
        requests.set_document("doc", "main");
        sent(&mut requests, "doc", "http://a/", "Document", 1.0);
        assert!(requests.is_waiting());
        finished(&mut requests, "doc", 200, 600, 2.0);
        sent(&mut requests, "1", "http://a/x.css", "Stylesheet", 2.1);
        finished(&mut requests, "1", 200, 50, 2.5);
        // Neither is a request over the network.
        sent(&mut requests, "2", "data:image/png;base64,AA", "Image", 2.2);
        sent(&mut requests, "3", "http://a/favicon.ico", "Other", 2.3);
        sent(&mut requests, "4", "http://a/x.css", "Stylesheet", 2.4);
        requests.observe(
            "Network.requestServedFromCache",
            &json!({ "requestId": "4" }),
        );
        finished(&mut requests, "4", 200, 0, 2.5);
        // A stream ends with its page, and what comes on it is no request.
        sent(&mut requests, "5", "http://a/events", "EventSource", 2.4);
        assert!(!requests.observe("Network.dataReceived", &json!({ "requestId": "5" })));
        assert!(requests.observe("Network.dataReceived", &json!({ "requestId": "1" })));
        assert!(!requests.is_waiting());
        assert_eq!((requests.count(), requests.bytes()), (3, 650));
        assert_eq!(requests.document_bytes(), 600);
        assert_eq!(requests.document_received(), (Some(1.6), Some(2.0)));
        assert_eq!(requests.spans().count(), 3);
    }

    #[test]
    fn a_page_that_replaces_itself_is_the_document() {
        let mut requests = Requests::default();
        requests.set_document("doc", "main");
        sent(&mut requests, "doc", "http://a/", "Document", 1.0);
        finished(&mut requests, "doc", 200, 600, 2.0);
        for (id, frame) in [("later", "main"), ("inner", "frame")] {
            let params = json!({ "requestId": id, "timestamp": 2.5, "type": "Document", "frameId": frame,
                "request": { "url": "http://a/next" } });
            requests.observe("Network.requestWillBeSent", &params);
            finished(&mut requests, id, 200, 70, 3.0);
        }
        assert_eq!(requests.document_id(), Some("later"));
        assert_eq!((requests.document_bytes(), requests.count()), (70, 3));
    }

    #[test]
    fn a_redirect_is_a_request_more() {
        let mut requests = Requests::default();
        sent(&mut requests, "1", "http://a/", "Image", 1.0);
        let params = json!({ "requestId": "1", "timestamp": 1.5, "type": "Image",
            "request": { "url": "http://a/b" }, "redirectResponse": { "encodedDataLength": 70 } });
        requests.observe("Network.requestWillBeSent", &params);
        finished(&mut requests, "1", 200, 30, 2.0);
        assert_eq!((requests.count(), requests.bytes()), (2, 100));
    }

    #[test]
    fn what_fails_and_what_is_blocked_differ() {
        let mut requests = Requests::default();
        requests.set_document("doc", "main");
        for (id, url) in [
            ("doc", "http://a/"),
            ("1", "http://a/x?token=secret"),
            ("2", "http://elsewhere/x"),
            ("3", "http://a/y"),
            ("4", "http://a/z"),
        ] {
            sent(&mut requests, id, url, "Image", 1.0);
        }
        finished(&mut requests, "doc", 503, 1, 2.0);
        finished(&mut requests, "1", 404, 1, 2.0);
        for (id, reason, canceled) in [
            ("2", "net::ERR_NAME_NOT_RESOLVED", false),
            ("3", "net::ERR_CONNECTION_RESET", false),
            ("4", "net::ERR_ABORTED", true),
        ] {
            let params = json!({ "requestId": id, "timestamp": 2.0, "errorText": reason, "canceled": canceled });
            requests.observe("Network.loadingFailed", &params);
        }
        assert_eq!(requests.document_status(), Some(503));
        assert_eq!(requests.count(), 4, "the blocked one was not sent");
        let (failed, blocked, examples) = requests.into_failed();
        assert_eq!((failed, blocked), (2, 1));
        let reasons: Vec<&str> = examples.iter().map(|it| it.reason.as_str()).collect();
        assert_eq!(reasons, ["status 404", "net::ERR_CONNECTION_RESET"]);
        assert!(!examples[0].url.contains("secret"), "{}", examples[0].url);
    }
}
