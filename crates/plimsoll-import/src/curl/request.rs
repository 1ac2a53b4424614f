//! Requests of a transfer: one for each of its URLs.

use std::time::Duration;

use super::body::{self, CurlBody};
use super::context::Context;
use super::glob::{self, GlobError};
use super::headers::OwnHeaders;
use super::invocation::{PlacedText, Transfer};
use crate::script::TWO_SLASHES;
use crate::script::draft::{
    CaptureDraft, CaptureSource, PickDraft, RequestDraft, StepDraft, StepItem, UrlDraft,
};
use crate::script::url::{self, UrlError, UrlParts};

/// Methods that a plan has.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
/// Most redirects that curl follows, and that a plan may follow.
const REDIRECTS_MAX: u32 = 50;
/// Longest time-out that is written.
const TIMEOUT_MIN: Duration = Duration::from_millis(1);

/// A request before its texts become templates.
pub(super) struct CurlRequest {
    pub(super) origin: String,
    path: String,
    headers: Vec<(String, String)>,
    draft: RequestDraft,
}

/// The requests of a transfer. Those that a plan cannot send are lost.
pub(super) fn read(context: &mut Context<'_>, transfer: &Transfer) -> Vec<CurlRequest> {
    if transfer.urls.is_empty() {
        context.lose(
            transfer.at,
            "curl",
            "it has no URL",
            "write the URL behind the options",
        );
    }
    let mut requests = Vec::new();
    for url in &transfer.urls {
        for text in expanded(context, transfer, url) {
            requests.extend(request(context, transfer, url.at, &text));
        }
    }
    requests
}

impl CurlRequest {
    /// The step, with the headers that are not in `shared`.
    pub(super) fn step(self, context: &Context<'_>, shared: &[(String, String)]) -> StepItem {
        let mut draft = self.draft;
        draft.url = UrlDraft {
            origin: context.marks.template(&self.origin),
            path: context.marks.template(&self.path),
        };
        draft.headers = self
            .headers
            .into_iter()
            .filter(|header| !shared.contains(header))
            .map(|(name, value)| (name, context.marks.template(&value)))
            .collect();
        StepDraft::Request(Box::new(draft)).into()
    }

    /// Takes a value from its answer.
    pub(super) fn capture(&mut self, name: &str, path: String) {
        self.draft.captures.push(CaptureDraft {
            name: name.to_owned(),
            source: CaptureSource::Json(path),
            pick: PickDraft::First,
            default: None,
        });
    }

    /// Its headers.
    pub(super) fn headers(&self) -> &[(String, String)] {
        &self.headers
    }
}

fn expanded(context: &mut Context<'_>, transfer: &Transfer, url: &PlacedText) -> Vec<String> {
    let literal = vec![url.text.clone()];
    if transfer.glob_off {
        return literal;
    }
    match glob::expand(&url.text) {
        Ok(urls) => urls,
        Err(GlobError::Invalid) => {
            context.note(
                "a URL has brackets that curl refuses: they are sent as written, as with --globoff",
            );
            literal
        }
        Err(GlobError::TooMany) => {
            context.lose(
                url.at,
                &url.text,
                "it stands for more than 1,000 URLs",
                "write the step once, with a data set for what differs: data: { row: { csv: … } }",
            );
            Vec::new()
        }
    }
}

fn request(
    context: &mut Context<'_>,
    transfer: &Transfer,
    at: usize,
    text: &str,
) -> Option<CurlRequest> {
    let parts = url_parts(context, transfer, at, text)?;
    if parts.path.starts_with("//") {
        let (what, how) = TWO_SLASHES;
        context.lose(at, what, how.why, how.remedy);
    }
    let own = OwnHeaders::read(context, transfer);
    let media_type = own.get("content-type").map(str::to_owned);
    let body = body::read(context, transfer, media_type.as_deref());
    let method = method(context, transfer, body.as_ref())?;
    let path = path(context, transfer, &parts);
    let headers = own.finish(
        context,
        transfer,
        parts.credentials.as_deref(),
        body.as_ref(),
    );
    if path.chars().any(|c| "\"<>\\^`{|}".contains(c)) {
        context.note(
            "characters that a URL must not have are sent percent-encoded: \" < > \\ ^ ` { | }",
        );
    }
    Some(CurlRequest {
        origin: parts.origin,
        path,
        headers,
        draft: RequestDraft {
            method,
            body: body.map(|body| body.draft),
            follow: transfer.follows.then(|| {
                transfer
                    .redirects_max
                    .map_or(REDIRECTS_MAX, |most| most.min(REDIRECTS_MAX))
            }),
            timeout: transfer.timeout.map(|time| time.max(TIMEOUT_MIN)),
            ..RequestDraft::default()
        },
    })
}

fn url_parts(
    context: &mut Context<'_>,
    transfer: &Transfer,
    at: usize,
    text: &str,
) -> Option<UrlParts> {
    let scheme = transfer.default_scheme.as_deref();
    match url::parts(text, scheme, transfer.path_as_is) {
        Ok(parts) => Some(parts),
        Err(UrlError::Protocol(protocol)) => {
            context.lose(
                at,
                text,
                &format!("a plan speaks HTTP, not {protocol}"),
                "measure it by another program",
            );
            None
        }
        Err(UrlError::Host(host)) if host.trim().is_empty() => {
            context.lose(at, text, "it has no host", "write https://HOST/PATH");
            None
        }
        Err(UrlError::Host(host)) => {
            // Documentation writes `https://<your-host>/path`: whoever runs the plan knows the host.
            let meaning = format!("the site instead of `{host}`, as https://HOST");
            let expression = context.secrets.expression("site", &host, &meaning);
            let mark = context.marks.mark(&expression);
            let from = text.find(&host)? + host.len();
            let whole = format!("{mark}{}", &text[from..]);
            url::parts(&whole, scheme, transfer.path_as_is).ok()
        }
    }
}

fn method(
    context: &mut Context<'_>,
    transfer: &Transfer,
    body: Option<&CurlBody>,
) -> Option<String> {
    let Some(PlacedText { at, text }) = &transfer.method else {
        let by_body = body.map_or("GET", |body| body.method);
        return Some(if transfer.head_only { "HEAD" } else { by_body }.to_owned());
    };
    let upper = text.to_ascii_uppercase();
    if !METHODS.contains(&upper.as_str()) {
        context.lose(
            *at,
            &format!("--request {text}"),
            "a plan has GET, POST, PUT, PATCH, DELETE, HEAD and OPTIONS",
            "leave out this request, or send it by a script of your own: `process:`",
        );
        return None;
    }
    if upper != *text {
        context.note(format!(
            "methods are sent in capital letters: {upper} for {}",
            context.marks.shown(text)
        ));
    }
    if transfer.follows && upper != "GET" {
        context.lose(
            *at,
            &format!("--request {text} after a redirect"),
            "with --location curl repeats this method; a plan asks with GET after 301, 302 and 303",
            "leave out --request, which the other options imply, or --location",
        );
    }
    Some(upper)
}

/// Path and query, with what `--get` and `--url-query` add and without secrets.
fn path(context: &mut Context<'_>, transfer: &Transfer, parts: &UrlParts) -> String {
    let mut path = parts.path.clone();
    if let Some(upload) = transfer.uploads.first()
        && path.ends_with('/')
        && !path.contains('?')
        && upload.text != "-"
    {
        let name = upload.text.rsplit('/').next().unwrap_or_default();
        path.push_str(&url::encoded(name));
    }
    let mut added = Vec::new();
    if transfer.in_query && !transfer.data.is_empty() {
        added.push(body::joined(context, transfer));
    } else {
        for value in &transfer.query {
            added.push(match value.text.strip_prefix('+') {
                Some(raw) => raw.to_owned(),
                None => body::url_encoded(context, transfer, value),
            });
        }
    }
    if !added.is_empty() {
        path.push(if path.contains('?') { '&' } else { '?' });
        path.push_str(&url::encoded(&added.join("&")));
    }
    match path.split_once('?') {
        Some((path, query)) => {
            let query = context.secrets.form(&mut context.marks, query);
            format!("{path}?{query}")
        }
        None => path,
    }
}
