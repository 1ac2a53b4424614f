//! One entry of a HAR file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use url::{Url, form_urlencoded};

use super::mend;
use crate::recording::{
    FormField, Payload, RecordedExchange, ResourceKind, header, kind_of, media_type_of,
};

/// Longest response searched for values, bytes.
const CONTENT_LEN_MAX: usize = 8 << 20;

/// Reads an entry, or returns what is wrong with it.
pub(super) fn read(entry: &Value) -> Result<RecordedExchange, String> {
    let request = &entry["request"];
    let response = &entry["response"];
    let method = request["method"]
        .as_str()
        .filter(|method| {
            !method.is_empty() && method.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-')
        })
        .ok_or("invalid `request.method`: expected a method such as GET")?;
    let url = request["url"]
        .as_str()
        .ok_or("`request.url` is not a string")?;
    let mut url = Url::parse(&mend::percent_encoded(url))
        .map_err(|error| format!("invalid `request.url`: {error}"))?;
    if !matches!(url.scheme(), "http" | "https" | "ws" | "wss")
        || url.host_str().is_none_or(str::is_empty)
    {
        return Err(format!(
            "the scheme `{}:` is not a network request",
            url.scheme()
        ));
    }
    url.set_fragment(None);
    let headers = headers(&request["headers"]);
    let answer_headers = answer_headers(response);
    let content = &response["content"];
    let media_type = content["mimeType"]
        .as_str()
        .filter(|text| !text.is_empty() && *text != "x-unknown")
        .map(media_type_of)
        .unwrap_or_default();
    let status = status(&response["status"]);
    let kind = kind(entry, method, &headers, status, &media_type, &url);
    Ok(RecordedExchange {
        started_ms: started_ms(&entry["startedDateTime"]),
        lasted_ms: entry["time"]
            .as_f64()
            .filter(|time| time.is_finite() && *time >= 0.0),
        method: method.to_ascii_uppercase(),
        payload: payload(request, &headers),
        content: text(content, &media_type),
        page: entry["pageref"].as_str().map(str::to_owned),
        from_cache: entry["_fromCache"].is_string() || entry["response"]["_fromCache"].is_string(),
        url,
        headers,
        status,
        answer_headers,
        media_type,
        kind,
        place: (0, 0),
    })
}

fn status(value: &Value) -> u16 {
    // Some recorders write the status as text.
    let number = value.as_i64().or_else(|| value.as_str()?.parse().ok());
    number
        .and_then(|number| u16::try_from(number).ok())
        .unwrap_or(0)
}

fn started_ms(value: &Value) -> Option<f64> {
    let moment: jiff::Timestamp = value.as_str()?.parse().ok()?;
    Some(moment.as_microsecond() as f64 / 1e3)
}

fn headers(value: &Value) -> Vec<(String, String)> {
    let pair = |header: &Value| {
        let name = header["name"].as_str()?;
        // HTTP/2 pseudo headers repeat method and URL.
        let is_name = !name.is_empty() && !name.starts_with(':');
        is_name.then(|| {
            (
                name.to_owned(),
                mend::shown(header["value"].as_str().unwrap_or_default()),
            )
        })
    };
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(pair)
        .collect()
}

/// Headers of the response; where the recorder removed `Location`, `redirectURL` still has it.
fn answer_headers(response: &Value) -> Vec<(String, String)> {
    let mut headers = headers(&response["headers"]);
    if header(&headers, "location").is_none()
        && let Some(target) = response["redirectURL"]
            .as_str()
            .filter(|target| !target.is_empty())
    {
        headers.push(("location".to_owned(), target.to_owned()));
    }
    headers
}

fn text(content: &Value, media_type: &str) -> Option<String> {
    let text = content["text"].as_str()?;
    if !is_text(media_type) || text.len() > CONTENT_LEN_MAX {
        return None;
    }
    if content["encoding"]
        .as_str()
        .is_some_and(|encoding| encoding.eq_ignore_ascii_case("base64"))
    {
        let bytes = STANDARD.decode(text.trim()).ok()?;
        return Some(String::from_utf8_lossy(&bytes).into_owned());
    }
    Some(mend::shown(text))
}

fn is_text(media_type: &str) -> bool {
    let (group, _) = media_type.split_once('/').unwrap_or((media_type, ""));
    media_type.is_empty()
        || group == "text"
        || [
            "json",
            "xml",
            "javascript",
            "ecmascript",
            "graphql",
            "x-www-form-urlencoded",
        ]
        .iter()
        .any(|word| media_type.contains(word))
}

fn kind(
    entry: &Value,
    method: &str,
    headers: &[(String, String)],
    status: u16,
    media_type: &str,
    url: &Url,
) -> ResourceKind {
    if matches!(url.scheme(), "ws" | "wss") {
        return ResourceKind::Other;
    }
    let guess = kind_of(method, headers, status, media_type);
    if guess == ResourceKind::Other {
        return guess;
    }
    match entry["_resourceType"].as_str() {
        // A frame within a page is a document too, but no navigation.
        Some("document") => {
            if header(headers, "sec-fetch-dest").is_some_and(|into| into.contains("frame")) {
                ResourceKind::Call
            } else {
                ResourceKind::Document
            }
        }
        Some("xhr" | "fetch") => ResourceKind::Call,
        Some(
            "websocket"
            | "eventsource"
            | "ping"
            | "preflight"
            | "cspviolationreport"
            | "csp-violation-report",
        ) => ResourceKind::Other,
        Some(
            "stylesheet" | "script" | "image" | "font" | "media" | "manifest" | "texttrack"
            | "imageset",
        ) => ResourceKind::Resource,
        _ => guess,
    }
}

fn payload(request: &Value, headers: &[(String, String)]) -> Option<Payload> {
    let post = &request["postData"];
    let media_type = post["mimeType"]
        .as_str()
        .or_else(|| header(headers, "content-type"))
        .unwrap_or_default();
    let text = post["text"].as_str().unwrap_or_default();
    let mut payload = super::payload(media_type, body(post, text, sent_len(request, headers)));
    // Without the text, only the recorder's list is left.
    if text.is_empty()
        || (payload.fields.is_empty() && media_type_of(media_type) == "multipart/form-data")
    {
        payload.fields = listed(post);
    }
    let is_empty = text.is_empty() && payload.fields.is_empty();
    (!is_empty).then_some(payload)
}

/// The body as it was sent.
fn body(post: &Value, text: &str, sent_len: Option<usize>) -> Vec<u8> {
    let is_base64 = post["encoding"].as_str().or(post["_encoding"].as_str()) == Some("base64");
    if is_base64 && let Ok(bytes) = STANDARD.decode(text.trim()) {
        return bytes;
    }
    // Browsers write a body that is not UTF-8 with one character for each byte; its length then tells.
    let chars = || text.chars().map(u8::try_from);
    let is_binary = sent_len.is_some_and(|len| len < text.len())
        && sent_len == Some(text.chars().count())
        && chars().all(|byte| byte.is_ok());
    if is_binary {
        return chars().filter_map(Result::ok).collect();
    }
    mend::bytes_of(text)
}

/// Length of the body as it was sent, bytes.
fn sent_len(request: &Value, headers: &[(String, String)]) -> Option<usize> {
    let of_header = || header(headers, "content-length")?.trim().parse().ok();
    let of_entry = || usize::try_from(request["bodySize"].as_i64()?).ok();
    of_header().or_else(of_entry).filter(|len| *len > 0)
}

/// Fields of `application/x-www-form-urlencoded`, decoded.
pub(super) fn decode_form(body: &[u8]) -> Vec<FormField> {
    form_urlencoded::parse(body.trim_ascii())
        .map(|(name, value)| FormField {
            name: name.into_owned(),
            value: value.into_owned(),
            ..FormField::default()
        })
        .collect()
}

fn listed(post: &Value) -> Vec<FormField> {
    let field = |value: &Value| {
        Some(FormField {
            name: mend::shown(value["name"].as_str()?),
            value: mend::shown(value["value"].as_str().unwrap_or_default()),
            file_name: value["fileName"].as_str().map(str::to_owned),
            media_type: value["contentType"].as_str().map(str::to_owned),
            bytes: None,
        })
    };
    post["params"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(field)
        .collect()
}
