//! Lines of nginx' access log, by the `log_format` of its configuration.

/// nginx' default format.
pub(crate) const COMBINED: &str = "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \
    \"$http_user_agent\"";
/// Phases of a request, in the order of [`Line::times`].
pub(crate) const PHASES: [&str; 4] = ["request", "connect", "header", "response"];
/// The variables of these times.
const VARIABLES: [&str; 4] = [
    "request_time",
    "upstream_connect_time",
    "upstream_header_time",
    "upstream_response_time",
];
/// Longest format, bytes.
const LEN_MAX: usize = 8192;

/// The fields of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct AccessLogLine {
    /// Status of the answer.
    pub(crate) status: Option<u16>,
    /// Times by phase, s. Of several upstreams, the longest.
    pub(crate) times: [Option<f64>; 4],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AccessLogField {
    Status,
    Time(usize),
    Other,
}

/// Pattern of a line: text, then the variable before the next text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccessLogLayout {
    begin: String,
    /// Fields, each with the text behind it.
    fields: Vec<(AccessLogField, String)>,
}

impl AccessLogLayout {
    /// Of a format as nginx' configuration has it, its words joined.
    #[must_use]
    pub(crate) fn new(text: &str) -> Self {
        let text = text.get(..LEN_MAX).unwrap_or(text);
        let mut pieces = text.split('$');
        let begin = pieces.next().unwrap_or_default().to_owned();
        let mut fields: Vec<(AccessLogField, String)> = Vec::new();
        for piece in pieces {
            let (name, behind) = variable(piece);
            let field = if name == "status" {
                AccessLogField::Status
            } else {
                let time = VARIABLES.iter().position(|known| *known == name);
                time.map_or(AccessLogField::Other, AccessLogField::Time)
            };
            match fields.last_mut() {
                // Two variables without text between them cannot be separated.
                Some((last, between)) if between.is_empty() => {
                    *last = AccessLogField::Other;
                    behind.clone_into(between);
                }
                _ => fields.push((field, behind.to_owned())),
            }
        }
        Self { begin, fields }
    }

    /// Whether lines hold any time.
    #[must_use]
    pub(crate) fn has_times(&self) -> bool {
        let mut fields = self.fields.iter();
        fields.any(|(field, _)| matches!(field, AccessLogField::Time(_)))
    }

    /// The fields of a line; `None` when it has another format.
    #[must_use]
    pub(crate) fn line(&self, line: &str) -> Option<AccessLogLine> {
        let mut rest = line.strip_prefix(self.begin.as_str())?;
        let mut parsed = AccessLogLine::default();
        for (field, behind) in &self.fields {
            let end = if behind.is_empty() {
                rest.len()
            } else {
                rest.find(behind.as_str())?
            };
            let value = &rest[..end];
            rest = &rest[end + behind.len()..];
            match field {
                AccessLogField::Status => parsed.status = value.parse().ok(),
                AccessLogField::Time(phase) => {
                    let longest = value.split([',', ':']).filter_map(seconds);
                    parsed.times[*phase] = longest.reduce(f64::max);
                }
                AccessLogField::Other => {}
            }
        }
        Some(parsed)
    }
}

/// One time, s: `-` where there was none.
fn seconds(text: &str) -> Option<f64> {
    let seconds: f64 = text.trim().parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some(seconds)
}

/// A variable's name, and the text behind it: `name rest`, `{name}rest`.
fn variable(piece: &str) -> (&str, &str) {
    if let Some((name, behind)) = piece
        .strip_prefix('{')
        .and_then(|inside| inside.split_once('}'))
    {
        return (name, behind);
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    piece.split_at(piece.find(|c| !is_name(c)).unwrap_or(piece.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_as_the_format_says() {
        let format = AccessLogLayout::new(
            "$remote_addr [$time_local] \"$request\" ${status} $request_time c=$upstream_connect_time \
             h=$upstream_header_time r=$upstream_response_time$pipe",
        );
        assert!(format.has_times());
        let line = format.line(
            "::1 [23/Nov/2026:10:00:00 +0000] \"GET /a HTTP/1.1\" 502 0.310 c=0.001, - h=-, 0.300 r=0.000 : 0.309.",
        );
        let right = AccessLogLine {
            status: Some(502),
            times: [Some(0.31), Some(0.001), Some(0.3), None],
        };
        assert_eq!(line, Some(right));
        assert_eq!(format.line("something else"), None);
        let own = AccessLogLayout::new(COMBINED);
        assert!(!own.has_times());
        let line = "1.2.3.4 - - [x] \"GET / HTTP/1.1\" 200 612 \"-\" \"curl\"";
        assert_eq!(own.line(line).unwrap().status, Some(200));
    }

    #[test]
    fn json_is_a_format_like_any_other() {
        let format = AccessLogLayout::new(
            "{\"time\":$request_time,\"up\":\"$upstream_header_time\",\"s\":$status}",
        );
        let parsed = format
            .line("{\"time\":0.020,\"up\":\"-\",\"s\":404}")
            .unwrap();
        assert_eq!(parsed.times, [Some(0.02), None, None, None]);
        assert_eq!(parsed.status, Some(404));
    }

    proptest! {
        #[test]
        fn nothing_is_too_strange(format in ".{0,80}", line in ".{0,200}") {
            let _ = AccessLogLayout::new(&format).line(&line);
            let _ = AccessLogLayout::new(&format!("$status{format}$request_time")).line(&line);
        }
    }
}
