//! Amazon `CloudFront` and other W3C extended logs: a line `#Fields:` names the columns.

use std::borrow::Cow;

use super::moment;
use crate::log::line::{self, LineError, LogEntry};

/// Columns of standard logs of `CloudFront`, for a fragment without its header.
const STANDARD: &str = "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status \
    cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header \
    cs-protocol cs-bytes time-taken";

/// Positions of the columns in use.
#[derive(Debug, Default)]
pub(crate) struct W3cFields {
    names: Vec<String>,
}

impl W3cFields {
    /// Parses a line; `None` for a header or a comment.
    pub(crate) fn read<'a>(&mut self, text: &'a str) -> Result<Option<LogEntry<'a>>, LineError> {
        if let Some(head) = text.strip_prefix('#') {
            if let Some(names) = head.trim_start().strip_prefix("Fields:") {
                self.names = names
                    .split_whitespace()
                    .map(str::to_ascii_lowercase)
                    .take(200)
                    .collect();
            }
            return Ok(None);
        }
        if self.names.is_empty() {
            self.names = STANDARD
                .split_whitespace()
                .map(str::to_ascii_lowercase)
                .collect();
        }
        let values: Vec<&str> = if text.contains('\t') {
            text.split('\t').collect()
        } else {
            text.split_whitespace().collect()
        };
        let field = |names: &[&str]| {
            names.iter().find_map(|name| {
                let at = self.names.iter().position(|known| known == name)?;
                values
                    .get(at)
                    .copied()
                    .filter(|value| !value.is_empty() && *value != "-")
            })
        };
        let at_ms = moment_of(&field)?;
        let method = field(&["cs-method"])
            .filter(|method| line::is_method(method))
            .ok_or(LineError::Missing("method (cs-method)"))?;
        let stem = field(&["cs-uri-stem"])
            .filter(|stem| stem.starts_with('/'))
            .ok_or(LineError::Missing("path (cs-uri-stem)"))?;
        let path = match field(&["cs-uri-query"]) {
            Some(query) => Cow::Owned(format!("{stem}?{query}")),
            None => Cow::Borrowed(stem),
        };
        // Seconds with a fraction at CloudFront, milliseconds at IIS.
        let lasted = field(&["time-taken"]).and_then(|text| {
            let number: f64 = text.parse().ok()?;
            Some(if text.contains('.') {
                number * 1e3
            } else {
                number
            })
        });
        Ok(Some(LogEntry {
            at_ms,
            is_end: true,
            lasted_ms: lasted.filter(|ms| ms.is_finite() && *ms >= 0.0),
            address: Cow::Borrowed(field(&["c-ip"]).ok_or(LineError::Missing("address (c-ip)"))?),
            agent: Cow::Borrowed(field(&["cs(user-agent)"]).unwrap_or_default()),
            method: Cow::Borrowed(method),
            path,
            status: line::status(field(&["sc-status"]).unwrap_or_default())?,
            host: field(&["x-host-header", "cs-host", "cs(host)"]).map(Cow::Borrowed),
        }))
    }
}

fn moment_of<'a>(field: &impl Fn(&[&str]) -> Option<&'a str>) -> Result<i64, LineError> {
    if let (Some(day), Some(time)) = (field(&["date"]), field(&["time"])) {
        return moment::iso(&format!("{day}T{time}"))
            .ok_or_else(|| LineError::invalid("the timestamp", day));
    }
    let timestamp = field(&["timestamp", "timestamp(ms)"])
        .ok_or(LineError::Missing("timestamp (date and time)"))?;
    let number: f64 = timestamp
        .parse()
        .map_err(|_| LineError::invalid("the timestamp", timestamp))?;
    moment::unix(number).ok_or_else(|| LineError::invalid("the timestamp", timestamp))
}
