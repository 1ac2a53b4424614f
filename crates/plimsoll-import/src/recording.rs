//! Traffic between a browser and servers, independent of the recorder.

use url::Url;

/// Body that may be a part of a longer one, bytes.
const LONG_LEN: usize = 8 << 20;

/// Requests and responses in the order in which they began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Who recorded it, such as `Firefox 128.0`; may be empty.
    pub recorder: String,
    /// Requests with their responses.
    pub exchanges: Vec<RecordedExchange>,
    /// Hosts contacted but not recorded.
    pub unrecorded_hosts: Vec<String>,
    /// Invalid entries, one sentence each.
    pub problems: Vec<String>,
    /// What is lost of the recording, with its place.
    pub losses: Vec<RecordingLoss>,
}

/// A part of a recording that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingLoss {
    /// Line and column of its entry in the file, from 1.
    pub place: (usize, usize),
    /// What is lost, and why.
    pub what: String,
}

/// One request and its response.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedExchange {
    /// When it began, milliseconds since any fixed moment.
    pub started_ms: Option<f64>,
    /// Duration, milliseconds.
    pub lasted_ms: Option<f64>,
    /// As in HTTP.
    pub method: String,
    /// Whole URL.
    pub url: Url,
    /// Headers of the request, as sent.
    pub headers: Vec<(String, String)>,
    /// Body of the request.
    pub payload: Option<Payload>,
    /// Status of the answer; 0 if there was none.
    pub status: u16,
    /// Headers of the answer.
    pub answer_headers: Vec<(String, String)>,
    /// Media type of the answer, without parameters, in lower case.
    pub media_type: String,
    /// Body of the response where it is text and was recorded.
    pub content: Option<String>,
    /// Name of the page it belongs to.
    pub page: Option<String>,
    /// Its initiator.
    pub kind: ResourceKind,
    /// Served by the browser's own cache.
    pub from_cache: bool,
    /// Line and column of its entry in the file, from 1; zeros where it comes from no file.
    pub place: (usize, usize),
}

/// The initiator of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceKind {
    /// A navigation.
    Document,
    /// A resource of a page: styles, scripts, images, fonts.
    Resource,
    /// A script's request.
    Call,
    /// Not supported in plans: `WebSocket`s, event streams, preflights, beacons.
    Other,
}

/// Body of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// Media type with its parameters.
    pub media_type: String,
    /// As sent, where it is text.
    pub text: Option<String>,
    /// As sent, where it is not UTF-8.
    pub bytes: Option<Vec<u8>>,
    /// Decoded fields of a form.
    pub fields: Vec<FormField>,
}

impl Payload {
    /// Bytes of it that are kept.
    fn len(&self) -> usize {
        let field = |field: &FormField| field.name.len() + field.value.len();
        self.text.as_ref().map_or(0, String::len)
            + self.bytes.as_ref().map_or(0, Vec::len)
            + self.fields.iter().map(field).sum::<usize>()
    }

    /// Whether it is so long that it may have been cut.
    pub(crate) fn is_long(&self) -> bool {
        self.len() >= LONG_LEN
    }
}

/// One field of a form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormField {
    /// Name.
    pub name: String,
    /// Value; the content of a file, where it was recorded.
    pub value: String,
    /// The same as bytes, where it is not UTF-8.
    pub bytes: Option<Vec<u8>>,
    /// File name, for a file.
    pub file_name: Option<String>,
    /// Media type of a part.
    pub media_type: Option<String>,
}

impl RecordedExchange {
    /// First header of the answer of this name, whatever its case.
    pub fn answer_header(&self, name: &str) -> Option<&str> {
        header(&self.answer_headers, name)
    }

    /// First header of the request of this name, whatever its case.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// Bytes that are kept of the request and of both heads.
    pub(crate) fn request_len(&self) -> usize {
        let headers = self.headers.iter().chain(&self.answer_headers);
        let headers: usize = headers.map(|(name, value)| name.len() + value.len()).sum();
        let payload = self.payload.as_ref().map_or(0, Payload::len);
        self.url.as_str().len() + headers + payload
    }

    /// When it ended, milliseconds since the same moment as its beginning.
    pub(crate) fn ended_ms(&self) -> Option<f64> {
        Some(self.started_ms? + self.lasted_ms.unwrap_or(0.0).max(0.0))
    }

    /// The target of a redirect.
    pub(crate) fn redirect(&self) -> Option<Url> {
        if !matches!(self.status, 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let mut target = self.url.join(self.answer_header("location")?).ok()?;
        target.set_fragment(None);
        Some(target)
    }
}

/// First header of this name, whatever its case.
pub(crate) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}

/// The initiator, guessed from request and response; for recorders that do not report it.
pub fn kind_of(
    method: &str,
    headers: &[(String, String)],
    status: u16,
    media_type: &str,
) -> ResourceKind {
    if method.eq_ignore_ascii_case("OPTIONS")
        || method.eq_ignore_ascii_case("CONNECT")
        || status == 101
    {
        return ResourceKind::Other;
    }
    match header(headers, "sec-fetch-dest") {
        Some("document") => return ResourceKind::Document,
        Some("empty" | "iframe" | "frame") => return ResourceKind::Call,
        Some(_) => return ResourceKind::Resource,
        None => {}
    }
    if header(headers, "x-requested-with").is_some() {
        return ResourceKind::Call;
    }
    let (group, _) = media_type.split_once('/').unwrap_or((media_type, ""));
    let is_script = matches!(
        media_type,
        "text/css" | "text/javascript" | "text/ecmascript" | "font/woff2"
    ) || media_type.ends_with("javascript");
    match group {
        _ if is_script => ResourceKind::Resource,
        "image" | "font" | "video" | "audio" => ResourceKind::Resource,
        _ if media_type == "text/html" || media_type == "application/xhtml+xml" => {
            ResourceKind::Document
        }
        _ if (300..400).contains(&status)
            && header(headers, "accept").is_some_and(|accept| accept.contains("text/html")) =>
        {
            ResourceKind::Document
        }
        _ => ResourceKind::Call,
    }
}

/// The media type of a `Content-Type`: without parameters, in lower case.
pub fn media_type_of(content_type: &str) -> String {
    let end = content_type.find(';').unwrap_or(content_type.len());
    content_type[..end].trim().to_ascii_lowercase()
}
