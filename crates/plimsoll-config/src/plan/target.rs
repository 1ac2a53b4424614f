//! Reads the target, and the URLs of steps.

use plimsoll_model::journey::{TextPiece, TextTemplate};
use url::Url;

use super::scope::{PlanScope, VisibleSlots, merge_literals};
use crate::document::{DocumentNode, DocumentReader, Expression, Spot, TemplateSegment};
use crate::login;

/// A further origin, used by steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanOrigin {
    /// `https://host:port`, without a path.
    pub url: String,
    /// Line and column of its first use.
    pub place: (usize, usize),
}

/// The plan's target.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    origin: String,
    /// Prefix of the path of every step; without a slash at its end.
    prefix: String,
}

/// Parses the URL of a target; `http://` is optional.
fn url_of(text: &str) -> Result<Url, String> {
    let full = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    let url = Url::parse(&full).map_err(|error| format!("`{text}` is not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("unsupported scheme `{}`", url.scheme()));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(format!("`{text}` has no host"));
    }
    Ok(url)
}

impl Base {
    /// The target of a URL.
    pub(crate) fn of(text: &str) -> Result<Self, String> {
        let url = url_of(text)?;
        Ok(Self {
            origin: url.origin().ascii_serialization(),
            prefix: url.path().trim_end_matches('/').to_owned(),
        })
    }

    /// Prefix of the path of every step.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }
}

const URL_VALID: &str = "http://host:port/path or https://host/path";

/// Reads `target:`; the host is not resolved yet.
pub(crate) fn target(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<String> {
    let text = reader.word(node, URL_VALID)?;
    match url_of(&text) {
        Ok(_) => Some(text),
        Err(message) => {
            reader.report(node, message, URL_VALID);
            None
        }
    }
}

/// Where a step's request goes.
pub(crate) struct StepAddress {
    pub(crate) url: TextTemplate,
    /// Value of `Authorization` by the login in the URL.
    authorization: Option<String>,
}

impl StepAddress {
    /// The root of the target.
    pub(crate) fn root() -> Self {
        Self {
            url: TextTemplate::literal("/"),
            authorization: None,
        }
    }

    /// The same login for another URL.
    pub(crate) fn map_url(self, change: impl FnOnce(TextTemplate) -> TextTemplate) -> Self {
        Self {
            url: change(self.url),
            ..self
        }
    }

    /// The headers of the step, which replace the one by the login.
    pub(crate) fn headers(&self, own: Vec<(String, TextTemplate)>) -> Vec<(String, TextTemplate)> {
        let login = self.authorization.iter();
        let login = login.map(|value| ("Authorization".to_owned(), TextTemplate::literal(value)));
        login.chain(own).collect()
    }
}

const STEP_VALID: &str = "a path such as /login, or an absolute URL";

impl PlanScope<'_> {
    /// The URL of a step: a path of the target, an absolute URL of another origin, or a value at run time.
    pub(crate) fn url(&mut self, node: &DocumentNode, reach: &VisibleSlots) -> Option<StepAddress> {
        let text = self.reader.scalar(node, STEP_VALID)?;
        self.url_at(Spot::of(node, text), reach)
    }

    /// The URL of a WebSocket: the same, and `ws://` stands for `http://`.
    pub(crate) fn socket_url(
        &mut self,
        node: &DocumentNode,
        reach: &VisibleSlots,
    ) -> Option<StepAddress> {
        let text = self.reader.scalar(node, STEP_VALID)?;
        let http = ["ws", "wss"].iter().find_map(|scheme| {
            let rest = text.strip_prefix(scheme)?.strip_prefix("://")?;
            Some(format!("{}://{rest}", scheme.replace("ws", "http")))
        });
        match http {
            Some(http) => self.url_at(Spot::of(node, &http), reach),
            None => self.url_at(Spot::of(node, text), reach),
        }
    }

    fn url_at(&mut self, spot: Spot<'_>, reach: &VisibleSlots) -> Option<StepAddress> {
        let node = spot.node;
        let mut authorization = None;
        let mut segments = spot.segments(self.reader)?;
        self.fill_start(spot, &mut segments)?;
        match segments.first() {
            None => {
                self.reader.report(node, "the URL is missing", STEP_VALID);
                return None;
            }
            Some(TemplateSegment::Hole(_)) => {}
            Some(TemplateSegment::Literal(start)) => {
                let start = start.clone();
                let (replaced, login) = self.start(spot, &start, segments.len() > 1)?;
                segments[0] = TemplateSegment::Literal(replaced);
                authorization = login.map(|login| login::basic(&login));
            }
        }
        Some(StepAddress {
            url: self.checked(spot, segments, reach)?,
            authorization,
        })
    }

    /// `{{ env('API') }}/path`: an origin from the environment is constant.
    fn fill_start(&self, spot: Spot<'_>, segments: &mut Vec<TemplateSegment>) -> Option<()> {
        let Some(TemplateSegment::Hole(Expression::Call(name, at, arguments))) = segments.first()
        else {
            return Some(());
        };
        if name != "env" {
            return Some(());
        }
        let mut value = spot.environment(self.reader, at.start, arguments)?;
        segments.remove(0);
        if let Some(TemplateSegment::Literal(more)) = segments.first() {
            value.push_str(more);
            segments.remove(0);
        }
        segments.insert(0, TemplateSegment::Literal(value));
        Some(())
    }

    /// The constant start of a URL, as it is sent, and the login in it.
    fn start(
        &mut self,
        spot: Spot<'_>,
        start: &str,
        goes_on: bool,
    ) -> Option<(String, Option<Vec<u8>>)> {
        if start.starts_with('/') && !start.starts_with("//") {
            let prefix = self.base.as_ref().map_or("", |base| base.prefix.as_str());
            return Some((format!("{prefix}{start}"), None));
        }
        if !start.contains("://") {
            let message = format!("`{}` is neither a path nor an absolute URL", spot.text);
            let near = format!("/{}", spot.text.trim_start_matches('/'));
            self.reader
                .report_at(spot.node.span.start, message, STEP_VALID, Some(&near));
            return None;
        }
        let host_at = start.find("://").map_or(0, |at| at + 3);
        let path_at = start[host_at..].find(['/', '?']).map(|at| host_at + at);
        if path_at.is_none() && goes_on {
            let message = "the host of a URL must be constant".to_owned();
            let valid = "a constant host, or {{ env('NAME') }} at the start".to_owned();
            spot.report(self.reader, start.len(), (message, valid), None);
            return None;
        }
        let (origin, path) = start.split_at(path_at.unwrap_or(start.len()));
        let (origin, login) = match url_of(origin) {
            Ok(url) => (url.origin().ascii_serialization(), login::of(&url)),
            Err(message) => {
                self.reader.report(spot.node, message, STEP_VALID);
                return None;
            }
        };
        let path = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        };
        if self.base.as_ref().is_some_and(|base| base.origin == origin) {
            return Some((path, login));
        }
        if self.origins.iter().all(|have| have.url != origin) {
            let place = self.reader.position(spot.node.span.start);
            self.origins.push(PlanOrigin {
                url: origin.clone(),
                place,
            });
        }
        Some((format!("{origin}{path}"), login))
    }

    /// The pieces of a URL: invalid characters are reported, non-ASCII ones percent-encoded.
    fn checked(
        &mut self,
        spot: Spot<'_>,
        segments: Vec<TemplateSegment>,
        reach: &VisibleSlots,
    ) -> Option<TextTemplate> {
        for segment in &segments {
            let TemplateSegment::Literal(text) = segment else {
                continue;
            };
            let wrong = text.find(|c: char| c.is_whitespace() || c.is_control() || c == '#');
            let Some(at) = wrong else { continue };
            let (message, valid) = if text[at..].starts_with('#') {
                (
                    "the fragment of a URL (after `#`) is never sent",
                    "a URL without a fragment; %23 for a literal `#`",
                )
            } else {
                ("the URL contains a space", "%20 instead of a space")
            };
            let found = spot.text.find(&text[at..]).unwrap_or(0);
            spot.report(
                self.reader,
                found,
                (message.to_owned(), valid.to_owned()),
                None,
            );
            return None;
        }
        let pieces = self.pieces(spot, segments, reach)?;
        let encoded = |piece| match piece {
            TextPiece::Literal(text) => TextPiece::Literal(ascii(&text)),
            piece => piece,
        };
        Some(merge_literals(pieces.into_iter().map(encoded).collect()))
    }
}

/// A text with non-ASCII characters percent-encoded.
fn ascii(text: &str) -> String {
    use std::fmt::Write as _;

    let mut encoded = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            encoded.push(c);
        } else {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_ascii_is_encoded() {
        assert_eq!(ascii("/caf\u{e9}?a=%20"), "/caf%C3%A9?a=%20");
    }

    #[test]
    fn a_path_of_the_target_stands_before_the_steps() {
        let base = Base::of("site.example/app/").unwrap();
        assert_eq!(
            (base.origin.as_str(), base.prefix.as_str()),
            ("http://site.example", "/app")
        );
        assert!(Base::of("ftp://x").is_err());
    }
}
