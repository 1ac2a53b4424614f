//! Reads expectations and captures.

use plimsoll_model::journey::bounded_json_path;
use plimsoll_model::journey::{Capture, Expectation, Extractor, Pick, TextMatch};
use regex::bytes::Regex;
use scraper::Selector;
use serde_json_path::JsonPath;

use super::scope::{PlanScope, VisibleSlots};
use super::steps::Walk;
use crate::document::Shape::{
    Count, Duration, Either, MapOf, Of, OneOf, OneOrMore, Switch, Template, Text,
};
use crate::document::{DocumentNode, DocumentReader, KeywordTable, NodeKind, Shape, word};
use crate::problem::nearest;
use crate::status;

/// Maximum size of a compiled regular expression, bytes.
const REGEX_LEN_MAX: usize = 4 << 20;

/// A text that must be equal, or conditions.
pub(crate) const MATCHED: Shape = Either(&[Template, Of(&MATCH)]);

/// Expectations on a response.
pub(crate) static EXPECT: KeywordTable = KeywordTable {
    name: "expect",
    meaning: "Conditions that the first response must meet.",
    words: &[
        word!(
            "status",
            Either(&[Shape::Status, OneOrMore(&Shape::Status)]),
            "`200`, `[200, 302]`, `2xx`."
        ),
        word!(
            "location",
            MATCHED,
            "The header Location; only path and query are compared when a path is given."
        ),
        word!(
            "contains",
            OneOrMore(&Template),
            "Text that the body must contain."
        ),
        word!(
            "lacks",
            OneOrMore(&Template),
            "Text that the body must not contain."
        ),
        word!(
            "regex",
            OneOrMore(&Text),
            "Regular expression that the body must match."
        ),
        word!(
            "json",
            MapOf(&MATCHED),
            "First value of each JSON path: `{ $.user.name: ada }`."
        ),
        word!("header", MapOf(&MATCHED), "Values of headers."),
        word!("within", Duration, "Maximum response time."),
    ],
};

/// Condition on a value.
pub(crate) static MATCH: KeywordTable = KeywordTable {
    name: "match",
    meaning: "Condition on a value; a plain value tests for equality.",
    words: &[
        word!("equals", Template, "Equals."),
        word!("contains", Template, "Contains."),
        word!("lacks", Template, "Does not contain."),
        word!("regex", Text, "Matches a regular expression."),
        word!("present", Switch, "Whether the value must be present."),
    ],
};

/// A captured value.
pub(crate) static CAPTURE: KeywordTable = KeywordTable {
    name: "capture",
    meaning: "Source of a value in a response; one of regex, json, css, header, cookie.",
    words: &[
        word!(
            "regex",
            Text,
            "Regular expression on the body: its first group, or the whole match without groups."
        ),
        word!("json", Text, "JSON path (RFC 9535) in the body."),
        word!("css", Text, "CSS selector in the body."),
        word!("header", Text, "A header."),
        word!(
            "cookie",
            Text,
            "A cookie of the user, as set after the response."
        ),
        word!(
            "attribute",
            Text,
            "With `css`: name of an attribute. Default: the text of the element."
        ),
        word!(
            "pick",
            Either(&[
                OneOf(&["first", "last", "random"]),
                Count(1, u32::MAX as u64)
            ]),
            "Which match is taken. Default: `first`."
        ),
        word!("default", Template, "Value when nothing matches."),
    ],
};

/// A valid regular expression.
pub(crate) fn regex(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<String> {
    let text = reader.word(node, "a regular expression")?;
    regex_at(reader, node.span.start, text)
}

/// A regular expression at a byte.
pub(crate) fn regex_at(reader: &DocumentReader<'_>, at: usize, text: String) -> Option<String> {
    let built = regex::bytes::RegexBuilder::new(&text)
        .size_limit(REGEX_LEN_MAX)
        .build();
    match built {
        Ok(_) => Some(text),
        Err(error) => {
            let rendered = error.to_string();
            let last = rendered.lines().last().unwrap_or_default();
            let reason = last.trim_start_matches("error: ");
            let message = format!("`{text}` is not a regular expression: {reason}");
            let valid = "an expression such as 'name=\"csrf\" value=\"([^\"]+)\"'; no look-around";
            reader.report_at(at, message, valid, None);
            None
        }
    }
}

/// Groups of a valid regular expression.
fn groups(text: &str) -> usize {
    Regex::new(text).map_or(0, |regex| regex.captures_len() - 1)
}

/// A JSON path (RFC 9535).
pub(crate) fn json_path(reader: &DocumentReader<'_>, at: usize, text: &str) -> Option<String> {
    if let Err(reason) = bounded_json_path(text) {
        let start: String = text.chars().take(40).collect();
        let message = format!("`{start}…` is not a JSON path: {reason}");
        reader.report_at(at, message, "a path of RFC 9535, such as $.user.name", None);
        return None;
    }
    match JsonPath::parse(text) {
        Ok(_) => Some(text.to_owned()),
        Err(error) => {
            let message = format!("`{text}` is not a JSON path: {error}");
            let with_root = format!("$.{}", text.trim_start_matches('.'));
            let near = JsonPath::parse(&with_root).is_ok().then_some(with_root);
            reader.report_at(
                at,
                message,
                "a path of RFC 9535, such as $.user.name",
                near.as_deref(),
            );
            None
        }
    }
}

fn selector(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<String> {
    let text = reader.word(node, "a CSS selector")?;
    if Selector::parse(&text).is_err() {
        let message = format!("`{text}` is not a CSS selector");
        reader.report(node, message, "a selector such as input[name=csrf]");
        return None;
    }
    Some(text)
}

impl PlanScope<'_> {
    /// Expectations on the first response.
    pub(crate) fn expectations(
        &mut self,
        node: &DocumentNode,
        reach: &VisibleSlots,
    ) -> Vec<Expectation> {
        let reader = self.reader;
        let Some(fields) = reader.fields(node, &EXPECT) else {
            return Vec::new();
        };
        let mut expected = Vec::new();
        if let Some(node) = fields.get("status") {
            expected.extend(self.statuses(node));
        }
        if let Some(node) = fields.get("location") {
            let wanted = self.expected_match(node, reach);
            expected
                .extend(wanted.map(|wanted| Expectation::Header("location".to_owned(), wanted)));
        }
        for (key, node) in fields.among(&["contains", "lacks", "regex"]) {
            for item in reader.one_or_more(node) {
                let wanted = match key.text.as_str() {
                    "contains" => self.text(item, reach).map(TextMatch::Contains),
                    "lacks" => self.text(item, reach).map(TextMatch::Lacks),
                    _ => regex(reader, item).map(TextMatch::Regex),
                };
                expected.extend(wanted.map(Expectation::Body));
            }
        }
        for (key, node) in fields.among(&["json", "header"]) {
            let is_json = key.text == "json";
            let of = if is_json {
                "JSON paths and values"
            } else {
                "names and values"
            };
            for (name, value) in reader.entries(node, of).unwrap_or_default() {
                let path = is_json.then(|| json_path(reader, name.span.start, &name.text));
                let Some(wanted) = self.expected_match(value, reach) else {
                    continue;
                };
                expected.extend(match path {
                    Some(path) => path.map(|path| Expectation::Json(path, wanted)),
                    None => Some(Expectation::Header(name.text.to_ascii_lowercase(), wanted)),
                });
            }
        }
        if let Some(node) = fields.get("within") {
            expected.extend(reader.duration_above_zero(node).map(Expectation::Within));
        }
        expected
    }

    /// `200`, `[200, 302]`, `2xx`: one set, however it is written.
    fn statuses(&self, node: &DocumentNode) -> Option<Expectation> {
        const VALID: &str = "200, [200, 302] or 2xx";
        let NodeKind::List(items) = &node.kind else {
            return self
                .reader
                .value(node, VALID, status::statuses)
                .map(Expectation::Status);
        };
        let sets: Vec<_> = items
            .iter()
            .map(|item| self.reader.value(item, VALID, status::statuses))
            .collect();
        let sets: Vec<_> = sets.into_iter().collect::<Option<_>>()?;
        let ranges = sets.into_iter().flat_map(|set| set.ranges).collect();
        Some(Expectation::Status(plimsoll_model::plan::GoodStatus {
            ranges,
        }))
    }

    /// Condition on a value: equal to a text, or as in a map.
    pub(crate) fn expected_match(
        &mut self,
        node: &DocumentNode,
        reach: &VisibleSlots,
    ) -> Option<TextMatch> {
        let reader = self.reader;
        if !matches!(node.kind, NodeKind::Map(_)) {
            return Some(TextMatch::Equals(self.text(node, reach)?));
        }
        let fields = reader.fields(node, &MATCH)?;
        let (key, value) = reader.exactly_one(&fields, &MATCH.names())?;
        match key.text.as_str() {
            "regex" => regex(reader, value).map(TextMatch::Regex),
            "present" => {
                let is_there = reader.switch(value)?;
                Some(if is_there {
                    TextMatch::Present
                } else {
                    TextMatch::Absent
                })
            }
            "contains" => self.text(value, reach).map(TextMatch::Contains),
            "lacks" => self.text(value, reach).map(TextMatch::Lacks),
            _ => self.text(value, reach).map(TextMatch::Equals),
        }
    }
}

const SOURCES: [&str; 5] = ["regex", "json", "css", "header", "cookie"];

impl Walk<'_, '_> {
    /// Captures from a response; from here on their slots are set.
    pub(crate) fn captures(&mut self, node: &DocumentNode) -> Vec<Capture> {
        let reader = self.scope.reader;
        let entries = reader.entries(node, "names and the sources of their values");
        let mut captures = Vec::new();
        for (key, value) in entries.unwrap_or_default() {
            let slot = self.scope.slot(&key.text);
            let capture = self.capture(slot, value);
            captures.extend(capture);
            self.now_set(slot);
        }
        captures
    }

    fn capture(&mut self, slot: u32, node: &DocumentNode) -> Option<Capture> {
        let reader = self.scope.reader;
        if !matches!(node.kind, NodeKind::Map(_)) {
            let from = Extractor::Regex(captured_regex(reader, node)?);
            return Some(Capture {
                slot,
                from,
                pick: Pick::First,
                default: None,
            });
        }
        let fields = reader.fields(node, &CAPTURE)?;
        let pick = fields
            .get("pick")
            .map_or(Some(Pick::First), |node| pick(reader, node));
        let default = fields
            .get("default")
            .map(|node| self.scope.text(node, &self.reach));
        let (key, value) = reader.exactly_one(&fields, &SOURCES)?;
        if let Some((attribute, _)) = fields.entry("attribute")
            && key.text != "css"
        {
            let message = format!("`attribute` is not allowed with `{}`", key.text);
            reader.report_at(attribute.span.start, message, "only with `css`", None);
        }
        let from = match key.text.as_str() {
            "regex" => Extractor::Regex(captured_regex(reader, value)?),
            "json" => {
                let path = reader.word(value, "a JSON path")?;
                Extractor::Json(json_path(reader, value.span.start, &path)?)
            }
            "css" => Extractor::Css {
                selector: selector(reader, value)?,
                attribute: match fields.get("attribute") {
                    Some(node) => Some(reader.word(node, "an attribute name")?),
                    None => None,
                },
            },
            "header" => {
                Extractor::Header(reader.word(value, "a header name")?.to_ascii_lowercase())
            }
            _ => Extractor::Cookie(reader.word(value, "a cookie name")?),
        };
        let default = match default {
            Some(text) => Some(text?),
            None => None,
        };
        Some(Capture {
            slot,
            from,
            pick: pick?,
            default,
        })
    }
}

/// An expression whose first group is captured; with several groups the intent is ambiguous.
fn captured_regex(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<String> {
    let text = regex(reader, node)?;
    let count = groups(&text);
    if count > 1 {
        let message = format!("the expression has {count} groups");
        reader.report(
            node,
            message,
            "at most one capturing group ( ); use (?: ) for the others",
        );
        return None;
    }
    Some(text)
}

fn pick(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Pick> {
    const WORDS: [&str; 3] = ["first", "last", "random"];
    let text = reader.text(node, "first, last, random or a number from 1")?;
    match text.as_str() {
        "first" => Some(Pick::First),
        "last" => Some(Pick::Last),
        "random" => Some(Pick::Random),
        _ if text.starts_with(|c: char| c.is_ascii_digit()) => {
            reader.count32(node, 1..=u32::MAX).map(Pick::Nth)
        }
        _ => {
            let message = format!("unknown value `{text}`");
            let valid = "first, last, random or a number from 1";
            reader.report_at(node.span.start, message, valid, nearest(&text, &WORDS));
            None
        }
    }
}
