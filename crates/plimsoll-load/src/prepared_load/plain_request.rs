//! The request of a plain load, encoded once for all its sends.

use bytes::Bytes;
use plimsoll_model::plan::{Load, Plan};
use plimsoll_model::url_rows::UrlRows;
use plimsoll_wire::head::HeadLimits;
use plimsoll_wire::request;
use plimsoll_wire::response::Expected;

use crate::handshake;
use crate::http2;

/// The request, one head for each path.
#[derive(Debug)]
pub(crate) struct PlainRequest {
    templates: Vec<Template>,
    /// Rows under which several paths are counted; `None` where there is one row.
    url_rows: Option<UrlRows>,
    body: Bytes,
    expected: Expected,
    idempotent: bool,
}

/// Bytes of one path's request.
#[derive(Debug)]
struct Template {
    /// Path and query.
    target: String,
    head: Box<[u8]>,
    /// The head of the last request of a connection.
    last: Option<Box<[u8]>>,
}

/// Limits of the head of a response.
fn head_limits(plan: &Plan) -> HeadLimits {
    HeadLimits {
        len: plan.transport.head_len_max as usize,
        headers: plan.transport.headers_max as usize,
    }
}

impl PlainRequest {
    pub(super) fn new(plan: &Plan, load: &Load) -> Self {
        let request = &plan.request;
        Self {
            templates: templates(plan, load),
            url_rows: url_rows(plan, load),
            body: Bytes::copy_from_slice(&request.body),
            expected: Expected {
                no_body: request.method == "HEAD",
                keep_location: request.redirects_max > 0,
                head: head_limits(plan),
                body_len_max: plan.transport.body_len_max,
            },
            idempotent: request::is_idempotent(&request.method),
        }
    }

    /// The head of the request for a path; `last` on its connection.
    #[inline]
    pub(crate) fn head(&self, path: u32, last: bool) -> &[u8] {
        let template = &self.templates[path as usize];
        match &template.last {
            Some(head) if last => head,
            _ => &template.head,
        }
    }

    /// Path and query of a path.
    pub(crate) fn target(&self, path: u32) -> &str {
        &self.templates[path as usize].target
    }

    /// The row under which a path is counted.
    #[inline]
    pub(crate) fn row(&self, path: u32) -> Option<u32> {
        self.url_rows.as_ref()?.row(path as usize)
    }

    #[inline]
    pub(crate) fn body(&self) -> &Bytes {
        &self.body
    }

    /// What its responses look like.
    #[inline]
    pub(crate) fn expected(&self) -> Expected {
        self.expected
    }

    pub(crate) fn is_idempotent(&self) -> bool {
        self.idempotent
    }

    /// Whether it can be sent by HTTP/2; all paths share one head except for their first line.
    pub(super) fn is_valid_in_http2(&self, is_tls: bool) -> bool {
        let first = self.templates.first();
        first.is_none_or(|first| http2::request(&first.head, is_tls).is_some())
    }
}

/// Rows of the paths; `None` where they would say no more than the totals.
fn url_rows(plan: &Plan, load: &Load) -> Option<UrlRows> {
    if plan.scenario.is_some() || load.websockets().is_some() || plan.request.paths.len() < 2 {
        return None;
    }
    let rows = UrlRows::of(&plan.request.paths);
    (rows.len() > 1).then_some(rows)
}

fn templates(plan: &Plan, load: &Load) -> Vec<Template> {
    let request = &plan.request;
    let body_len = request.body.len();
    let headers = match load {
        Load::WebSockets(load) => &handshake::headers(plan, load),
        _ => &request.headers,
    };
    let encode =
        |target: &str, last| request::encode(&request.method, target, headers, body_len, last);
    let templates = request.paths.iter().map(|target| Template {
        target: target.clone(),
        head: encode(target, false),
        last: (plan.transport.requests_per_connection > 0).then(|| encode(target, true)),
    });
    templates.collect()
}
