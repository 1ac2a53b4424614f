//! One entry of a HAR file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use url::{Url, form_urlencoded};

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
    let mut url = Url::parse(url).map_err(|error| format!("invalid `request.url`: {error}"))?;
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
        payload: payload(&request["postData"], &headers),
        content: text(content, &media_type),
        page: entry["pageref"].as_str().map(str::to_owned),
        from_cache: entry["_fromCache"].is_string() || entry["response"]["_fromCache"].is_string(),
        url,
        headers,
        status,
        answer_headers,
        media_type,
        kind,
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
                header["value"].as_str().unwrap_or_default().to_owned(),
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
    Some(text.to_owned())
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

fn payload(post: &Value, headers: &[(String, String)]) -> Option<Payload> {
    let media_type = post["mimeType"]
        .as_str()
        .or_else(|| header(headers, "content-type"))
        .unwrap_or_default()
        .to_owned();
    let text = post["text"].as_str().map(|text| {
        let is_base64 = post["encoding"].as_str().or(post["_encoding"].as_str()) == Some("base64");
        match STANDARD.decode(text) {
            Ok(bytes) if is_base64 => String::from_utf8_lossy(&bytes).into_owned(),
            _ => text.to_owned(),
        }
    });
    let fields = fields(post, &media_type, text.as_deref());
    let is_empty = text.as_deref().is_none_or(str::is_empty) && fields.is_empty();
    (!is_empty).then_some(Payload {
        media_type,
        text,
        fields,
    })
}

fn fields(post: &Value, media_type: &str, text: Option<&str>) -> Vec<FormField> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        // Without the text, only the recorder's list is left.
        return listed(post);
    };
    let found = crate::har::form_fields(media_type, text);
    if found.is_empty() && media_type_of(media_type) == "multipart/form-data" {
        return listed(post);
    }
    found
}

/// Fields of `application/x-www-form-urlencoded`, decoded.
pub(super) fn decode_form(text: &str) -> Vec<FormField> {
    form_urlencoded::parse(text.trim().as_bytes())
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
            name: value["name"].as_str()?.to_owned(),
            value: value["value"].as_str().unwrap_or_default().to_owned(),
            file_name: value["fileName"].as_str().map(str::to_owned),
            media_type: value["contentType"].as_str().map(str::to_owned),
        })
    };
    post["params"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(field)
        .collect()
}
