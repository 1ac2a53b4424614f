//! The protocol between the engine and a process.
//!
//! The engine sends events of users, `start`, `answer`, `thought` and `stop`; the process replies to each but `stop`
//! with one line that contains the user's next step: a request, a pause, or the end of the iteration. The guide
//! `docs/guides/journeys-as-processes.md` is the reference of both.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_model::journey::{
    Expectation, RequestBody, RequestStep, StepId, TextMatch, TextTemplate,
};
use plimsoll_model::plan::GoodStatus;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::scenario::expect::shown;

/// Longest pause, ms: a day.
const PAUSE_MS_MAX: f64 = 86_400_000.0;
/// Redirects followed at most.
const FOLLOW_MAX: u32 = 50;
/// Default for the bytes of a response body that are sent to the process.
pub(crate) const BODY_LEN: usize = 64 << 10;
/// Limit of the bytes that can be requested.
const BODY_LEN_MAX: usize = 16 << 20;

/// A user begins an iteration.
#[derive(Debug, Serialize)]
pub(crate) struct StartEvent<'a> {
    pub(crate) user: u64,
    pub(crate) event: &'static str,
    pub(crate) journey: &'a str,
    pub(crate) iteration: u64,
    pub(crate) seed: u32,
    pub(crate) target: &'a str,
    /// Rows by name of the data, each by column.
    pub(crate) row: Map<String, Value>,
}

/// A user's request has ended.
#[derive(Debug, Serialize)]
pub(crate) struct Answered<'a> {
    pub(crate) user: u64,
    pub(crate) event: &'static str,
    pub(crate) answer: AnswerObject<'a>,
}

/// How a request ended.
#[derive(Debug, Serialize)]
pub(crate) struct AnswerObject<'a> {
    pub(crate) outcome: &'static str,
    /// 0 without an answer.
    pub(crate) status: u16,
    /// Path and query of the last request, redirects followed.
    pub(crate) path: &'a str,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: &'a str,
    /// Whether the body is truncated.
    pub(crate) body_cut: bool,
    pub(crate) response_ms: f64,
    /// Why it failed, if known.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) reason: &'a str,
}

/// An event without further fields: `thought`, `stop`.
#[derive(Debug, Serialize)]
pub(crate) struct Plain {
    pub(crate) user: u64,
    pub(crate) event: &'static str,
}

/// A line as bytes.
pub(crate) fn line(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("texts, numbers and maps of them become JSON")
}

/// A message of a process.
#[derive(Debug, PartialEq)]
pub(crate) struct ScriptReply {
    pub(crate) user: u64,
    pub(crate) action: ScriptAction,
}

/// A user's next step.
#[derive(Debug, PartialEq)]
pub(crate) enum ScriptAction {
    /// Sends a request, after a pause (ns) if there is one.
    Request(Box<ScriptRequest>, Option<u64>),
    /// Pauses, ns.
    Think(u64),
    /// Ends its iteration; with the reason of a failure.
    End(Option<String>),
}

/// A request of a script.
#[derive(Debug, PartialEq)]
pub(crate) struct ScriptRequest {
    pub(crate) label: String,
    /// Outside of the measured loop.
    pub(crate) once: bool,
    /// Bytes of the body that are sent to the process.
    pub(crate) body_len_max: usize,
    /// The caller sets its id.
    pub(crate) step: RequestStep,
}

/// Why a line is invalid.
#[derive(Debug, PartialEq)]
pub(crate) enum Nonsense {
    /// The user, if it could be read.
    OfUser(u64, String),
    OfNobody(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineRead {
    user: u64,
    request: Option<RequestRead>,
    think_ms: Option<f64>,
    end: Option<EndRead>,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum EndRead {
    Ok,
    Fail,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestRead {
    path: String,
    method: Option<String>,
    label: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    form: Option<BTreeMap<String, String>>,
    json: Option<Value>,
    #[serde(default)]
    follow: u32,
    timeout_ms: Option<f64>,
    expect: Option<ExpectRead>,
    #[serde(default)]
    once: bool,
    body_max: Option<usize>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectRead {
    status: Option<OneOrMore<StatusRead>>,
    location: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    contains: Option<OneOrMore<String>>,
    lacks: Option<OneOrMore<String>>,
    within_ms: Option<f64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore<T> {
    One(T),
    More(Vec<T>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum StatusRead {
    Code(u16),
    Text(String),
}

impl<T> OneOrMore<T> {
    fn list(self) -> Vec<T> {
        match self {
            Self::One(value) => vec![value],
            Self::More(more) => more,
        }
    }
}

/// Parses a line; `prefix` is prepended to every path.
///
/// # Errors
/// What is wrong with it, and the user where that can be read.
pub(crate) fn read(line: &[u8], prefix: &str) -> Result<ScriptReply, Nonsense> {
    let read: LineRead = match serde_json::from_slice(line) {
        Ok(read) => read,
        Err(error) => {
            let value: Option<Value> = serde_json::from_slice(line).ok();
            let user = value.and_then(|value| value.get("user")?.as_u64());
            let message = format!("{}: {error}", shown(line));
            return Err(match user {
                Some(user) => Nonsense::OfUser(user, message),
                None => Nonsense::OfNobody(message),
            });
        }
    };
    let user = read.user;
    parse_action(read, prefix)
        .map(|what| ScriptReply { user, action: what })
        .map_err(|error| {
            let line = shown(line);
            Nonsense::OfUser(user, format!("{line}: {error}"))
        })
}

fn parse_action(read: LineRead, prefix: &str) -> Result<ScriptAction, String> {
    let pause = read
        .think_ms
        .map(|ms| pause_ns(ms, "think_ms"))
        .transpose()?;
    if read.reason.is_some() && !matches!(read.end, Some(EndRead::Fail)) {
        return Err("`reason` is allowed only with \"end\": \"fail\"".to_owned());
    }
    match (read.request, pause, read.end) {
        (Some(request), pause, None) => Ok(ScriptAction::Request(
            Box::new(script_request(request, prefix)?),
            pause,
        )),
        (None, Some(pause), None) => Ok(ScriptAction::Think(pause)),
        (None, None, Some(EndRead::Ok)) => Ok(ScriptAction::End(None)),
        (None, None, Some(EndRead::Fail)) => {
            Ok(ScriptAction::End(Some(read.reason.unwrap_or_else(|| {
                "it reported a failed iteration".to_owned()
            }))))
        }
        (None, None, None) => Err("one of `request`, `think_ms` and `end` is required".to_owned()),
        _ => Err("`end` excludes all other fields".to_owned()),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be at least 0 and at most a day"
)]
fn pause_ns(ms: f64, word: &str) -> Result<u64, String> {
    if (0.0..=PAUSE_MS_MAX).contains(&ms) {
        Ok((ms * 1e6).round() as u64)
    } else {
        Err(format!("`{word}` is {ms}, must be 0 to {PAUSE_MS_MAX:.0}"))
    }
}

fn duration(ms: f64, word: &str) -> Result<Duration, String> {
    let ns = pause_ns(ms, word)?;
    if ns == 0 {
        return Err(format!("`{word}` is 0, must be above 0"));
    }
    Ok(Duration::from_nanos(ns))
}

fn script_request(read: RequestRead, prefix: &str) -> Result<ScriptRequest, String> {
    if read.follow > FOLLOW_MAX {
        return Err(format!(
            "`follow` is {}, must be 0 to {FOLLOW_MAX}",
            read.follow
        ));
    }
    let body_len_max = read.body_max.unwrap_or(BODY_LEN);
    if body_len_max > BODY_LEN_MAX {
        return Err(format!(
            "`body_max` is {body_len_max}, must be 0 to {BODY_LEN_MAX} bytes"
        ));
    }
    let method = read.method.unwrap_or_else(|| "GET".to_owned());
    let label = read.label.unwrap_or_else(|| {
        // Queries differ from request to request, paths seldom do.
        let path = read.path.split(['?', '#']).next().unwrap_or_default();
        format!("{method} {path}")
    });
    let mut headers = Vec::new();
    for (name, value) in read.headers {
        headers.push((header_name(name)?, TextTemplate::literal(&value)));
    }
    let url = if read.path.starts_with('/') && !read.path.starts_with("//") {
        format!("{prefix}{}", read.path)
    } else {
        read.path
    };
    Ok(ScriptRequest {
        label,
        once: read.once,
        body_len_max,
        step: RequestStep {
            id: StepId::default(),
            method,
            url: TextTemplate::literal(&url),
            headers,
            body: body(read.body, read.form, read.json)?,
            follow: read.follow,
            timeout: read
                .timeout_ms
                .map(|ms| duration(ms, "timeout_ms"))
                .transpose()?,
            captures: Vec::new(),
            expectations: expectations(read.expect.unwrap_or_default())?,
        },
    })
}

/// A valid field name (RFC 9110, 5.6.2).
fn header_name(name: String) -> Result<String, String> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(format!("invalid header name {name:?}"));
    }
    Ok(name)
}

fn body(
    text: Option<String>,
    form: Option<BTreeMap<String, String>>,
    json: Option<Value>,
) -> Result<RequestBody, String> {
    match (text, form, json) {
        (None, None, None) => Ok(RequestBody::Empty),
        (Some(text), None, None) => Ok(RequestBody::Text {
            content_type: None,
            text: TextTemplate::literal(&text),
        }),
        (None, Some(form), None) => {
            let fields = form.into_iter();
            Ok(RequestBody::Form(
                fields
                    .map(|(name, value)| (name, TextTemplate::literal(&value)))
                    .collect(),
            ))
        }
        (None, None, Some(json)) => Ok(RequestBody::Text {
            content_type: Some("application/json".to_owned()),
            text: TextTemplate::literal(json.to_string()),
        }),
        _ => Err("at most one of `body`, `form` and `json` is allowed".to_owned()),
    }
}

fn expectations(read: ExpectRead) -> Result<Vec<Expectation>, String> {
    let mut all = Vec::new();
    if let Some(status) = read.status {
        let ranges: Result<Vec<_>, _> = status.list().into_iter().map(statuses).collect();
        all.push(Expectation::Status(GoodStatus { ranges: ranges? }));
    }
    let equals = |value: &str| TextMatch::Equals(TextTemplate::literal(value));
    if let Some(location) = read.location {
        all.push(Expectation::Header(
            "location".to_owned(),
            equals(&location),
        ));
    }
    for (name, value) in read.headers {
        let name = header_name(name)?.to_ascii_lowercase();
        all.push(Expectation::Header(name, equals(&value)));
    }
    for text in read.contains.into_iter().flat_map(OneOrMore::list) {
        all.push(Expectation::Body(TextMatch::Contains(
            TextTemplate::literal(&text),
        )));
    }
    for text in read.lacks.into_iter().flat_map(OneOrMore::list) {
        all.push(Expectation::Body(TextMatch::Lacks(TextTemplate::literal(
            &text,
        ))));
    }
    if let Some(ms) = read.within_ms {
        all.push(Expectation::Within(duration(ms, "within_ms")?));
    }
    Ok(all)
}

/// `200`, `"2xx"`.
fn statuses(read: StatusRead) -> Result<(u16, u16), String> {
    let range_error =
        |found: &str| format!("`status` is {found}, must be 100 to 999 or a class such as 2xx");
    match read {
        StatusRead::Code(code) if (100..=999).contains(&code) => Ok((code, code)),
        StatusRead::Code(code) => Err(range_error(&code.to_string())),
        StatusRead::Text(text) => {
            let class = text.strip_suffix("xx").and_then(|class| class.parse().ok());
            match class {
                Some(class @ 1..=9_u16) => Ok((class * 100, class * 100 + 99)),
                _ => Err(range_error(&format!("{text:?}"))),
            }
        }
    }
}

#[cfg(test)]
mod tests;
