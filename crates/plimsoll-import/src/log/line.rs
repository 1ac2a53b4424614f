//! One request of a log, whatever the format.

use std::borrow::Cow;

/// A request from a log. Texts borrow from the line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogEntry<'a> {
    /// When the request began, or ended, if the log only has that: milliseconds since 1970.
    pub at_ms: i64,
    /// Whether `at_ms` is the end of the request.
    pub is_end: bool,
    /// Response time, milliseconds.
    pub lasted_ms: Option<f64>,
    /// Address of the client.
    pub address: Cow<'a, str>,
    /// User agent; empty if the log has none.
    pub agent: Cow<'a, str>,
    /// As in HTTP.
    pub method: Cow<'a, str>,
    /// Path and query as requested.
    pub path: Cow<'a, str>,
    /// Status of the answer.
    pub status: u16,
    /// Requested host, where the log has it.
    pub host: Option<Cow<'a, str>>,
}

/// Why a line cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// A field is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A field is invalid.
    #[error("{what} `{found}` is not valid")]
    Invalid {
        /// What.
        what: &'static str,
        /// As written, shortened.
        found: String,
    },
    /// The line is too long.
    #[error("the line is longer than 64 KiB")]
    TooLong,
    /// The line is not text.
    #[error("the line is not UTF-8")]
    NotText,
}

impl LineError {
    pub(crate) fn invalid(what: &'static str, found: &str) -> Self {
        Self::Invalid {
            what,
            found: found.chars().filter(|c| !c.is_control()).take(40).collect(),
        }
    }
}

/// Method, path and host of a request line such as `GET /home HTTP/1.1`.
pub(crate) fn request_line(text: &str) -> Result<(&str, &str, Option<&str>), LineError> {
    let invalid = || LineError::invalid("the request", text);
    let mut words = text.split(' ');
    let method = words
        .next()
        .filter(|method| is_method(method))
        .ok_or_else(invalid)?;
    let target = words.next().ok_or_else(invalid)?;
    // HAProxy logs a truncated request without its version.
    if words
        .next()
        .is_some_and(|version| !version.starts_with("HTTP/"))
        || words.next().is_some()
    {
        return Err(invalid());
    }
    let (path, host) = origin_form(target).ok_or_else(invalid)?;
    Ok((method, path, host))
}

/// Path and query, and host, of a request target; proxies receive whole URLs.
pub(crate) fn origin_form(target: &str) -> Option<(&str, Option<&str>)> {
    if target.starts_with('/') {
        return Some((target, None));
    }
    if target == "*" {
        return Some(("/", None));
    }
    let rest = target
        .strip_prefix("http://")
        .or_else(|| target.strip_prefix("https://"))?;
    let start = rest.find(['/', '?']).unwrap_or(rest.len());
    let path = if rest[start..].starts_with('/') {
        &rest[start..]
    } else {
        "/"
    };
    Some((path, Some(&rest[..start])))
}

pub(crate) fn is_method(text: &str) -> bool {
    (3..=20).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b == b'-' || b == b'_')
}

pub(crate) fn status(text: &str) -> Result<u16, LineError> {
    text.parse()
        .ok()
        .filter(|status| (100..=999).contains(status) || *status == 0)
        .ok_or_else(|| LineError::invalid("the status", text))
}
