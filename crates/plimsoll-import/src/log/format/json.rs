//! One JSON object a line, with the field names of common servers.

use std::borrow::Cow;

use serde_json::Value;

use super::moment;
use crate::log::line::{self, LineError, LogEntry};

const MOMENT: [&str; 12] = [
    "time",
    "timestamp",
    "@timestamp",
    "ts",
    "time_iso8601",
    "time_local",
    "StartUTC",
    "start_time",
    "date",
    "msec",
    "datetime",
    "t",
];
const ADDRESS: [&str; 12] = [
    "remote_addr",
    "client_ip",
    "ClientHost",
    "remote_ip",
    "clientip",
    "ip",
    "client",
    "remote_host",
    "c_ip",
    "source_ip",
    "clientIp",
    "remoteAddr",
];
const AGENT: [&str; 8] = [
    "http_user_agent",
    "user_agent",
    "agent",
    "userAgent",
    "request_User-Agent",
    "User-Agent",
    "useragent",
    "ua",
];
const METHOD: [&str; 6] = [
    "request_method",
    "method",
    "RequestMethod",
    "http_method",
    "verb",
    "requestMethod",
];
const PATH: [&str; 9] = [
    "request_uri",
    "uri",
    "path",
    "RequestPath",
    "url",
    "requestUrl",
    "request_path",
    "target",
    "u",
];
const STATUS: [&str; 7] = [
    "status",
    "status_code",
    "DownstreamStatus",
    "statusCode",
    "response_status",
    "code",
    "response",
];
const HOST: [&str; 7] = [
    "http_host",
    "host",
    "RequestHost",
    "vhost",
    "server_name",
    "hostname",
    "domain",
];
const SECONDS: [&str; 4] = ["request_time", "duration", "response_time", "elapsed"];
const MILLISECONDS: [&str; 5] = [
    "duration_ms",
    "response_time_ms",
    "latency_ms",
    "responseTime",
    "elapsed_ms",
];
/// Objects with nested fields (Caddy, Elastic, Google): `request.uri`, `http.method`.
const WITHIN: [&str; 7] = [
    "request",
    "http",
    "httpRequest",
    "req",
    "res",
    "response",
    "client",
];

pub(super) fn read(text: &str) -> Result<LogEntry<'static>, LineError> {
    let object: Value = serde_json::from_str(text)
        .map_err(|error| LineError::invalid("the JSON", &error.to_string()))?;
    if !object.is_object() {
        return Err(LineError::Missing("JSON object"));
    }
    let when = field(&object, &MOMENT).ok_or(LineError::Missing(
        "timestamp (`time`, `timestamp`, `@timestamp`, `ts`)",
    ))?;
    let at_ms =
        moment_of(when).ok_or_else(|| LineError::invalid("the timestamp", &when.to_string()))?;
    let request = field(&object, &["request", "request_line"]).and_then(Value::as_str);
    let (method, target) = match request {
        Some(request) => {
            let (method, path, _) = line::request_line(request)?;
            (method.to_owned(), path.to_owned())
        }
        None => (
            text_of(&object, &METHOD)
                .ok_or(LineError::Missing("method (`method`, `request_method`)"))?,
            text_of(&object, &PATH).ok_or(LineError::Missing(
                "path (`path`, `uri`, `request_uri`, `url`)",
            ))?,
        ),
    };
    if !line::is_method(&method) {
        return Err(LineError::invalid("the method", &method));
    }
    let (path, absolute) =
        line::origin_form(&target).ok_or_else(|| LineError::invalid("the path", &target))?;
    let status =
        text_of(&object, &STATUS).ok_or(LineError::Missing("status (`status`, `status_code`)"))?;
    Ok(LogEntry {
        at_ms,
        is_end: true,
        lasted_ms: lasted(&object),
        address: Cow::Owned(text_of(&object, &ADDRESS).unwrap_or_default()),
        agent: Cow::Owned(agent(&object)),
        method: Cow::Owned(method),
        path: Cow::Owned(path.to_owned()),
        status: line::status(&status)?,
        host: absolute
            .map(str::to_owned)
            .or_else(|| text_of(&object, &HOST))
            .map(Cow::Owned),
    })
}

fn field<'a>(object: &'a Value, names: &[&str]) -> Option<&'a Value> {
    let direct = |object: &'a Value| {
        names
            .iter()
            .map(|name| &object[*name])
            .find(|value| !value.is_null() && !value.is_object())
    };
    direct(object).or_else(|| WITHIN.iter().find_map(|key| direct(&object[*key])))
}

/// A text, or a number as text; the first element of a list.
fn text_of(object: &Value, names: &[&str]) -> Option<String> {
    let value = field(object, names)?;
    let value = value
        .as_array()
        .map_or(value, |items| items.first().unwrap_or(&Value::Null));
    match value {
        Value::String(text) if !text.is_empty() && text != "-" => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn agent(object: &Value) -> String {
    // Caddy logs the request headers, each as a list.
    let headers = &object["request"]["headers"];
    text_of(object, &AGENT)
        .or_else(|| text_of(headers, &AGENT))
        .unwrap_or_default()
}

fn moment_of(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => moment::iso(text)
            .or_else(|| moment::common(text.trim_matches(['[', ']'])))
            .or_else(|| moment::unix(text.parse().ok()?)),
        Value::Number(number) => moment::unix(number.as_f64()?),
        _ => None,
    }
}

fn lasted(object: &Value) -> Option<f64> {
    let number = |names: &[&str]| text_of(object, names)?.parse::<f64>().ok();
    let ms = number(&MILLISECONDS)
        .or_else(|| Some(number(&SECONDS)? * 1e3))
        .or_else(|| Some(number(&["Duration"])? / 1e6))?;
    (ms.is_finite() && ms >= 0.0).then_some(ms)
}
