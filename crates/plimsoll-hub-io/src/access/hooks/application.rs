//! Encoding of hook requests and decoding of responses.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use plimsoll_config::edge::Endpoint;
use plimsoll_net::outbound::host;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{HookKind, HookVerdict, Passed};
use crate::access::token::Grant;

/// Longest reason of the application that is passed to a client, characters.
const WHY_LEN_MAX: usize = 200;

/// A hook request.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct HookRequest<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) address: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<&'a str>,
    /// Unique name of the connection, for clients that send messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client: Option<&'a str>,
    /// The request's `?token=…`: browsers cannot set a header on a WebSocket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) channel: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<&'a RawValue>,
}

/// Identity and rights of a client.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Leave {
    user: Option<UserName>,
    subscribe: Vec<String>,
    publish: Vec<String>,
    exp: Option<f64>,
}

/// Applications identify users by number or by name.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum UserName {
    Text(String),
    Number(serde_json::Number),
}

/// Replacement of the published data.
#[derive(Deserialize)]
struct Replaced<'a> {
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

/// Reason of a refusal.
#[derive(Deserialize)]
struct RefusalBody {
    error: String,
}

impl HookRequest<'_> {
    pub(super) fn to_json(self) -> String {
        serde_json::to_string(&self).unwrap_or_default()
    }
}

/// Encodes a request.
///
/// # Errors
/// A message, when a configured header cannot be sent.
pub(super) fn request(
    to: &Endpoint,
    passed: &Passed,
    body: String,
) -> Result<Request<Full<Bytes>>, String> {
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(&to.target)
        .header(HOST, host(to))
        .header(CONTENT_TYPE, "application/json");
    for (name, value) in passed.iter() {
        // Configured headers take precedence over those of clients.
        let is_set = |(set, _): &(String, String)| set.eq_ignore_ascii_case(name.as_str());
        if !to.headers.iter().any(is_set) {
            request = request.header(name, value);
        }
    }
    for (name, value) in &to.headers {
        request = request.header(name, value);
    }
    let request = request.body(Full::new(Bytes::from(body)));
    request.map_err(|error| error.to_string())
}

/// Decodes a response.
///
/// # Errors
/// A message, when the response shows that the application fails.
pub(super) fn evaluate(
    kind: HookKind,
    status: StatusCode,
    body: Bytes,
) -> Result<HookVerdict, String> {
    if status.is_success() {
        let is_understood = match kind {
            HookKind::Connect => leave(&body, 0.0).map(drop),
            HookKind::Publish => replaced(&body).map(drop),
            HookKind::Messages | HookKind::Aggregate => answer(&body).map(drop),
            HookKind::Subscribe | HookKind::Disconnect => Ok(()),
        };
        return is_understood.map(|()| HookVerdict::Yes(body));
    }
    match status.as_u16() {
        400 | 401 | 403 | 409 | 422 | 429 => {
            let refusal = serde_json::from_slice::<RefusalBody>(&body).ok();
            let why = refusal.map(|refusal| refusal.error.chars().take(WHY_LEN_MAX).collect());
            Ok(HookVerdict::No(why))
        }
        _ => Err(format!("status {status}")),
    }
}

/// Rights of an admitted client, and their expiry.
///
/// # Errors
/// A message, when the response is invalid.
pub(super) fn leave(body: &[u8], now_s: f64) -> Result<Grant, String> {
    let leave: Leave = read(body)?.unwrap_or_default();
    let user = leave.user.map(|user| match user {
        UserName::Text(text) => text,
        UserName::Number(number) => number.to_string(),
    });
    let until_s = leave.exp.unwrap_or(f64::INFINITY);
    Grant::new(user, &leave.subscribe, &leave.publish, until_s, now_s)
        .map_err(|why| format!("invalid response: {why}"))
}

/// Replacement of the published data, if any.
///
/// # Errors
/// A message, when the response is invalid.
pub(crate) fn replaced(body: &[u8]) -> Result<Option<&RawValue>, String> {
    let replaced: Option<Replaced<'_>> = read(body)?;
    Ok(replaced.and_then(|replaced| replaced.data))
}

/// The reply to a client, as JSON.
///
/// # Errors
/// A message, when it is not JSON.
fn answer(body: &[u8]) -> Result<Option<&RawValue>, String> {
    read(body)
}

/// An answer may be empty.
fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<Option<T>, String> {
    if body.trim_ascii().is_empty() {
        return Ok(None);
    }
    let read = serde_json::from_slice(body).map(Some);
    read.map_err(|error| format!("invalid response: {error}"))
}

#[cfg(test)]
mod tests {
    use plimsoll_config::edge::HubHooks;
    use plimsoll_hub::command_handler::Rights as _;

    use super::*;
    use crate::access::token::ClientAccess;

    fn evaluated(kind: HookKind, status: u16, body: &'static str) -> Result<HookVerdict, String> {
        evaluate(
            kind,
            StatusCode::from_u16(status).unwrap(),
            Bytes::from_static(body.as_bytes()),
        )
    }

    #[test]
    fn statuses_say_yes_or_no_or_that_something_is_wrong() {
        let yes = |body: &'static str| Ok(HookVerdict::Yes(Bytes::from_static(body.as_bytes())));
        assert_eq!(evaluated(HookKind::Connect, 204, ""), yes(""));
        assert_eq!(evaluated(HookKind::Subscribe, 200, "ok"), yes("ok"));
        assert_eq!(evaluated(HookKind::Messages, 200, "[1] "), yes("[1] "));
        assert_eq!(
            evaluated(HookKind::Publish, 200, r#"{"data":1}"#),
            yes(r#"{"data":1}"#)
        );
        let why = HookVerdict::No(Some("not \"you\"".to_owned()));
        assert_eq!(
            evaluated(HookKind::Connect, 403, r#"{"error":"not \"you\""}"#),
            Ok(why)
        );
        for status in [400, 401, 403, 409, 422, 429] {
            assert_eq!(
                evaluated(HookKind::Publish, status, "<html>"),
                Ok(HookVerdict::No(None))
            );
        }
        for (kind, status, body) in [
            (HookKind::Connect, 404, ""),
            (HookKind::Subscribe, 302, ""),
            (HookKind::Messages, 500, "{}"),
            (HookKind::Connect, 200, "ok"),
            (HookKind::Connect, 200, r#"{"subscribe":"a"}"#),
            (HookKind::Connect, 200, r#"{"exp":-1}"#),
            (HookKind::Publish, 200, "[]]"),
            (HookKind::Messages, 200, "ok"),
        ] {
            assert!(
                evaluated(kind, status, body).is_err(),
                "{kind:?} {status} {body}"
            );
        }
    }

    #[test]
    fn who_was_let_in_may_do_what_the_answer_says() {
        let body = br#"{"user":17,"subscribe":["game-*"],"publish":["chat"],"exp":200,"x":1}"#;
        let mut grant = Some(Box::new(leave(body, 100.0).unwrap()));
        let hooks = HubHooks {
            connect: Some(Endpoint {
                secure: false,
                host: "a".to_owned(),
                port: 1,
                target: "/".to_owned(),
                headers: Vec::new(),
            }),
            ..HubHooks::none()
        };
        let access = ClientAccess {
            gate: None,
            grant: &mut grant,
            is_known: false,
            now_s: 100.0,
            hooks: Some(&hooks),
            dialog: None,
            settled: &[],
            bounds: None,
        };
        assert_eq!(access.user(), Some("17"));
        assert!(access.may_subscribe("game-1") && !access.may_subscribe("chat"));
        assert!(access.may_publish("chat") && !access.may_publish("game-1"));
        assert!(leave(body, 201.0).is_err());
        assert_eq!(replaced(b" ").unwrap().map(RawValue::get), None);
        let replaced = replaced(br#"{"data":{"a": 1}}"#).unwrap();
        assert_eq!(replaced.map(RawValue::get), Some(r#"{"a": 1}"#));
    }

    #[test]
    fn no_client_says_what_the_configuration_says() {
        let to = Endpoint {
            secure: false,
            host: "app".to_owned(),
            port: 3000,
            target: "/hooks?a=b".to_owned(),
            headers: vec![("X-Secret".to_owned(), "ours".to_owned())],
        };
        let passed: Passed = [
            ("x-secret".parse().unwrap(), "theirs".parse().unwrap()),
            ("cookie".parse().unwrap(), "a=b".parse().unwrap()),
        ]
        .into();
        let asked = HookRequest {
            address: "::1",
            channel: Some("a"),
            ..HookRequest::default()
        };
        assert_eq!(asked.to_json(), r#"{"address":"::1","channel":"a"}"#);
        let request = request(&to, &passed, asked.to_json()).unwrap();
        let values: Vec<_> = request.headers().get_all("x-secret").iter().collect();
        assert_eq!(values, ["ours"]);
        assert_eq!(request.headers()["cookie"], "a=b");
        assert_eq!(request.headers()["host"], "app:3000");
        assert_eq!(request.uri(), "/hooks?a=b");
    }
}
