//! Finds an extractor for a value in a response that still works when the value changes.
//!
//! Each extractor is tested on the recorded response and used only if it returns exactly the value.

mod html;
mod json;
mod pattern;

use std::cell::OnceCell;

use scraper::Html;
use serde_json::Value;

use crate::recording::RecordedExchange;

/// An extractor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extraction {
    pub(super) way: ValueLocator,
    /// Which match, from 1.
    pub(super) pick: usize,
    /// The value is entity-encoded there, and sent decoded.
    pub(super) unescape: bool,
}

/// Kinds of extractors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ValueLocator {
    Css { selector: String, attribute: String },
    Json(String),
    Header(String),
    Cookie(String),
    Regex(String),
}

impl Extraction {
    fn first(way: ValueLocator) -> Self {
        Self {
            way,
            pick: 1,
            unescape: false,
        }
    }
}

/// A response, parsed once.
pub(super) struct ParsedResponse<'a> {
    exchange: &'a RecordedExchange,
    /// Cookies set during its redirects: (name, value).
    cookies: Vec<(String, String)>,
    html: OnceCell<Html>,
    json: OnceCell<Option<Value>>,
}

impl<'a> ParsedResponse<'a> {
    /// The response at the end of `chain`, whose last element is `exchange`.
    pub(super) fn new(
        exchange: &'a RecordedExchange,
        chain: impl Iterator<Item = &'a RecordedExchange>,
    ) -> Self {
        Self {
            exchange,
            cookies: chain.flat_map(cookies).collect(),
            html: OnceCell::new(),
            json: OnceCell::new(),
        }
    }

    /// The best extractor for `value`, if it is found.
    pub(super) fn find(&self, value: &str) -> Option<Extraction> {
        self.in_body_structure(value)
            .or_else(|| self.in_cookies(value))
            .or_else(|| self.in_headers(value))
            .or_else(|| pattern::find(self.exchange.content.as_deref()?, value))
    }

    fn in_body_structure(&self, value: &str) -> Option<Extraction> {
        let content = self.exchange.content.as_deref()?;
        let media_type = self.exchange.media_type.as_str();
        let starts_as_json = content.trim_start().starts_with(['{', '[']);
        if media_type.contains("json") || (media_type.is_empty() && starts_as_json) {
            let json = self
                .json
                .get_or_init(|| serde_json::from_str(content).ok())
                .as_ref()?;
            return json::find(json, value);
        }
        if media_type.contains("html") {
            // Most values are not in most pages: the text is searched before the page is parsed.
            let plain = content.contains(value)
                || (value.contains(['&', '"', '<', '>', '\'']) && content.contains('&'));
            if plain || content.contains("&#") {
                let page = self.html.get_or_init(|| Html::parse_document(content));
                return html::find(page, value);
            }
        }
        None
    }

    fn in_cookies(&self, value: &str) -> Option<Extraction> {
        let (name, _) = self.cookies.iter().find(|(_, held)| held == value)?;
        Some(Extraction::first(ValueLocator::Cookie(name.clone())))
    }

    fn in_headers(&self, value: &str) -> Option<Extraction> {
        const GENERIC: [&str; 8] = [
            "set-cookie",
            "date",
            "content-length",
            "content-type",
            "etag",
            "last-modified",
            "expires",
            "age",
        ];
        let name = self
            .exchange
            .answer_headers
            .iter()
            .find_map(|(name, held)| {
                let name = name.to_ascii_lowercase();
                (held == value && !GENERIC.contains(&name.as_str())).then_some(name)
            })?;
        Some(Extraction::first(ValueLocator::Header(name)))
    }
}

/// Cookies set by a response.
fn cookies(exchange: &RecordedExchange) -> Vec<(String, String)> {
    let cookie = |line: &str| {
        let (name, value) = line.split(';').next()?.split_once('=')?;
        Some((
            name.trim().to_owned(),
            value.trim().trim_matches('"').to_owned(),
        ))
    };
    exchange
        .answer_headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"))
        // Some recorders merge the cookies of a response into one header, one per line.
        .flat_map(|(_, value)| value.lines())
        .filter_map(cookie)
        .collect()
}

#[cfg(test)]
mod tests;
