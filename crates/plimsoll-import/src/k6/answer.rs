//! Parts of responses that a script reads.

use crate::script::draft::{CaptureSource, PickDraft};

/// A part of a response.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    /// The response itself.
    Whole,
    Body,
    Status,
    Headers,
    Header(String),
    Cookies,
    /// All cookies of a name.
    CookieList(String),
    /// The first cookie of a name.
    Cookie(String),
    CookieValue(String),
    Json(JsonValue),
    Html {
        selector: String,
        pick: PickDraft,
    },
    HtmlText {
        selector: String,
        attribute: Option<String>,
        pick: PickDraft,
    },
    Timings,
    /// A phase of the request, such as `duration`.
    Timing(String),
    /// What a regular expression finds in the body, with its groups.
    Matches(String),
    /// The first group of a regular expression.
    Group(String),
    /// The number of characters or items.
    Length(Box<Answer>),
    /// Any other property.
    Other(String),
}

/// A value within a JSON body.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JsonValue {
    /// JSON path: `$.user.id`.
    pub(super) path: String,
    pub(super) pick: PickDraft,
    /// The key that names it best.
    pub(super) name: String,
    /// The draw that chose an item at random: what comes from one draw is of one item.
    pub(super) draw: Option<usize>,
}

impl JsonValue {
    pub(super) fn root() -> Self {
        Self {
            path: "$".to_owned(),
            pick: PickDraft::First,
            name: "json".to_owned(),
            draw: None,
        }
    }

    /// A member of it.
    pub(super) fn key(&self, key: &str) -> Self {
        Self {
            path: format!("{}{}", self.path, member(key)),
            pick: self.pick,
            name: key.to_owned(),
            draw: self.draw,
        }
    }

    pub(super) fn index(&self, index: usize) -> Self {
        Self {
            path: format!("{}[{index}]", self.path),
            pick: self.pick,
            name: self.name.clone(),
            draw: self.draw,
        }
    }

    /// Any item of it, at random by the draw of this number.
    pub(super) fn random(&self, draw: usize) -> Self {
        Self {
            path: format!("{}[*]", self.path),
            pick: PickDraft::Random,
            name: self.name.clone(),
            draw: Some(draw),
        }
    }

    /// A value by the path that `res.json()` takes; `None` for queries of it that JSON path has in another form.
    pub(super) fn query(&self, query: &str) -> Option<Self> {
        let mut value = self.clone();
        for key in query.split('.') {
            if key.is_empty() || key.contains(['#', '*', '?', '|', '@', '!', '\\', '(']) {
                return None;
            }
            value = match key.parse::<usize>() {
                Ok(index) => value.index(index),
                Err(_) => value.key(key),
            };
        }
        Some(value)
    }
}

fn member(key: &str) -> String {
    let mut chars = key.chars();
    let is_plain = chars
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_plain {
        return format!(".{key}");
    }
    format!("['{}']", key.replace('\\', "\\\\").replace('\'', "\\'"))
}

impl Answer {
    /// Where a plan finds it, which match is taken, and a name for it; `None` if a plan cannot.
    pub(super) fn source(&self) -> Option<(CaptureSource, PickDraft, String)> {
        let first = PickDraft::First;
        Some(match self {
            Self::Json(value) => (
                CaptureSource::Json(value.path.clone()),
                value.pick,
                value.name.clone(),
            ),
            Self::Header(name) => (CaptureSource::Header(name.clone()), first, name.clone()),
            Self::CookieValue(name) | Self::Cookie(name) => {
                (CaptureSource::Cookie(name.clone()), first, name.clone())
            }
            Self::HtmlText {
                selector,
                attribute,
                pick,
            } => {
                let source = CaptureSource::Css {
                    selector: selector.clone(),
                    attribute: attribute.clone(),
                };
                let name = last_word(selector);
                (source, *pick, name)
            }
            Self::Group(regex) => (
                CaptureSource::Regex(regex.clone()),
                first,
                "found".to_owned(),
            ),
            Self::Body => (
                CaptureSource::Regex("(?s)^(.*)$".to_owned()),
                first,
                "body".to_owned(),
            ),
            _ => return None,
        })
    }

    /// The words of k6 for it.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Whole => "the response".to_owned(),
            Self::Body => "res.body".to_owned(),
            Self::Status => "res.status".to_owned(),
            Self::Headers => "res.headers".to_owned(),
            Self::Header(name) => format!("res.headers['{name}']"),
            Self::Cookies => "res.cookies".to_owned(),
            Self::CookieList(name) | Self::Cookie(name) | Self::CookieValue(name) => {
                format!("res.cookies['{name}']")
            }
            Self::Json(value) => format!("res.json() at {}", value.path),
            Self::Html { selector, .. } | Self::HtmlText { selector, .. } => {
                format!("res.html().find('{selector}')")
            }
            Self::Timings => "res.timings".to_owned(),
            Self::Timing(name) => format!("res.timings.{name}"),
            Self::Matches(regex) | Self::Group(regex) => format!("what /{regex}/ finds"),
            Self::Length(of) => format!("the length of {}", of.words()),
            Self::Other(name) => format!("res.{name}"),
        }
    }
}

/// The word of a selector that names it best: of an attribute's value, else the last one.
fn last_word(selector: &str) -> String {
    let mut words = selector.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
    words
        .rfind(|word| !word.is_empty() && *word != "name" && *word != "input")
        .unwrap_or("element")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_of_k6_become_json_paths() {
        let path = |query: &str| JsonValue::root().query(query).map(|value| value.path);
        assert_eq!(path("data.0.id").as_deref(), Some("$.data[0].id"));
        assert_eq!(path("a-b").as_deref(), Some("$['a-b']"));
        assert_eq!(path("items.#.id"), None);
    }
}
