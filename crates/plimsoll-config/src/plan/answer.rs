//! What is made of an answer: expectations and captures.

use plimsoll_model::journey::bounded_json_path;
use plimsoll_model::journey::{Capture, Expectation, Extractor, Match, Pick};
use regex::bytes::Regex;
use scraper::Selector;
use serde_json_path::JsonPath;

use super::desk::Desk;
use super::names::{Reach, Scene};
use super::steps::Walk;
use super::tree::{Kind, Node};
use super::words::{CAPTURE, EXPECT, MATCH};
use crate::problem::nearest;
use crate::status;

/// Longest regular expression, once compiled, bytes.
const REGEX_LEN_MAX: usize = 4 << 20;

/// A regular expression that compiles.
pub(crate) fn regex(desk: &Desk<'_>, node: &Node) -> Option<String> {
    let text = desk.word(node, "a regular expression")?;
    regex_at(desk, node.span.start, text)
}

/// A regular expression at a byte.
pub(crate) fn regex_at(desk: &Desk<'_>, at: usize, text: String) -> Option<String> {
    let built = regex::bytes::RegexBuilder::new(&text)
        .size_limit(REGEX_LEN_MAX)
        .build();
    match built {
        Ok(_) => Some(text),
        Err(error) => {
            let told = error.to_string();
            let last = told.lines().last().unwrap_or_default();
            let reason = last.trim_start_matches("error: ");
            let fault = format!("`{text}` is not a regular expression: {reason}");
            let valid = "an expression such as 'name=\"csrf\" value=\"([^\"]+)\"'; no look-around";
            desk.note(at, fault, valid, None);
            None
        }
    }
}

/// Groups of a regular expression that compiles.
fn groups(text: &str) -> usize {
    Regex::new(text).map_or(0, |regex| regex.captures_len() - 1)
}

/// A JSON path (RFC 9535).
pub(crate) fn json_path(desk: &Desk<'_>, at: usize, text: &str) -> Option<String> {
    if let Err(fault) = bounded_json_path(text) {
        let start: String = text.chars().take(40).collect();
        let fault = format!("`{start}…` is not a JSON path: {fault}");
        desk.note(at, fault, "a path of RFC 9535, such as $.user.name", None);
        return None;
    }
    match JsonPath::parse(text) {
        Ok(_) => Some(text.to_owned()),
        Err(error) => {
            let fault = format!("`{text}` is not a JSON path: {error}");
            let with_root = format!("$.{}", text.trim_start_matches('.'));
            let near = JsonPath::parse(&with_root).is_ok().then_some(with_root);
            desk.note(
                at,
                fault,
                "a path of RFC 9535, such as $.user.name",
                near.as_deref(),
            );
            None
        }
    }
}

fn selector(desk: &Desk<'_>, node: &Node) -> Option<String> {
    let text = desk.word(node, "a CSS selector")?;
    if Selector::parse(&text).is_err() {
        let fault = format!("`{text}` is not a CSS selector");
        desk.fault(node, fault, "a selector such as input[name=csrf]");
        return None;
    }
    Some(text)
}

impl Scene<'_> {
    /// What makes the first answer good.
    pub(crate) fn expectations(&mut self, node: &Node, reach: &Reach) -> Vec<Expectation> {
        let desk = self.desk;
        let Some(fields) = desk.fields(node, &EXPECT) else {
            return Vec::new();
        };
        let mut expected = Vec::new();
        if let Some(node) = fields.get("status") {
            expected.extend(self.statuses(node));
        }
        if let Some(node) = fields.get("location") {
            let wanted = self.wanted(node, reach);
            expected
                .extend(wanted.map(|wanted| Expectation::Header("location".to_owned(), wanted)));
        }
        for (key, node) in fields.among(&["contains", "lacks", "regex"]) {
            for item in desk.one_or_more(node) {
                let wanted = match key.text.as_str() {
                    "contains" => self.text(item, reach).map(Match::Contains),
                    "lacks" => self.text(item, reach).map(Match::Lacks),
                    _ => regex(desk, item).map(Match::Regex),
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
            for (name, value) in desk.entries(node, of).unwrap_or_default() {
                let path = is_json.then(|| json_path(desk, name.span.start, &name.text));
                let Some(wanted) = self.wanted(value, reach) else {
                    continue;
                };
                expected.extend(match path {
                    Some(path) => path.map(|path| Expectation::Json(path, wanted)),
                    None => Some(Expectation::Header(name.text.to_ascii_lowercase(), wanted)),
                });
            }
        }
        if let Some(node) = fields.get("within") {
            expected.extend(desk.duration_above_zero(node).map(Expectation::Within));
        }
        expected
    }

    /// `200`, `[200, 302]`, `2xx`: one set, however it is written.
    fn statuses(&self, node: &Node) -> Option<Expectation> {
        const VALID: &str = "200, [200, 302] or 2xx";
        let Kind::List(items) = &node.kind else {
            return self
                .desk
                .value(node, VALID, status::statuses)
                .map(Expectation::Status);
        };
        let sets: Vec<_> = items
            .iter()
            .map(|item| self.desk.value(item, VALID, status::statuses))
            .collect();
        let sets: Vec<_> = sets.into_iter().collect::<Option<_>>()?;
        let ranges = sets.into_iter().flat_map(|set| set.ranges).collect();
        Some(Expectation::Status(plimsoll_model::plan::GoodStatus {
            ranges,
        }))
    }

    /// What a value must be: equal to a text, or what a map says.
    pub(crate) fn wanted(&mut self, node: &Node, reach: &Reach) -> Option<Match> {
        let desk = self.desk;
        if !matches!(node.kind, Kind::Map(_)) {
            return Some(Match::Equals(self.text(node, reach)?));
        }
        let fields = desk.fields(node, &MATCH)?;
        let (key, value) = desk.exactly_one(&fields, &MATCH.names())?;
        match key.text.as_str() {
            "regex" => regex(desk, value).map(Match::Regex),
            "present" => {
                let is_there = desk.switch(value)?;
                Some(if is_there {
                    Match::Present
                } else {
                    Match::Absent
                })
            }
            "contains" => self.text(value, reach).map(Match::Contains),
            "lacks" => self.text(value, reach).map(Match::Lacks),
            _ => self.text(value, reach).map(Match::Equals),
        }
    }
}

const SOURCES: [&str; 5] = ["regex", "json", "css", "header", "cookie"];

impl Walk<'_, '_> {
    /// Values kept of an answer; from here on their slots are set.
    pub(crate) fn captures(&mut self, node: &Node) -> Vec<Capture> {
        let desk = self.scene.desk;
        let entries = desk.entries(node, "names and where their values stand");
        let mut captures = Vec::new();
        for (key, value) in entries.unwrap_or_default() {
            let slot = self.scene.slot(&key.text);
            let capture = self.capture(slot, value);
            captures.extend(capture);
            self.now_set(slot);
        }
        captures
    }

    fn capture(&mut self, slot: u32, node: &Node) -> Option<Capture> {
        let desk = self.scene.desk;
        if !matches!(node.kind, Kind::Map(_)) {
            let from = Extractor::Regex(captured_regex(desk, node)?);
            return Some(Capture {
                slot,
                from,
                pick: Pick::First,
                default: None,
            });
        }
        let fields = desk.fields(node, &CAPTURE)?;
        let pick = fields
            .get("pick")
            .map_or(Some(Pick::First), |node| pick(desk, node));
        let default = fields
            .get("default")
            .map(|node| self.scene.text(node, &self.reach));
        let (key, value) = desk.exactly_one(&fields, &SOURCES)?;
        if let Some((attribute, _)) = fields.entry("attribute")
            && key.text != "css"
        {
            let fault = format!("`attribute` means nothing beside `{}`", key.text);
            desk.note(attribute.span.start, fault, "with css only", None);
        }
        let from = match key.text.as_str() {
            "regex" => Extractor::Regex(captured_regex(desk, value)?),
            "json" => {
                let path = desk.word(value, "a JSON path")?;
                Extractor::Json(json_path(desk, value.span.start, &path)?)
            }
            "css" => Extractor::Css {
                selector: selector(desk, value)?,
                attribute: match fields.get("attribute") {
                    Some(node) => Some(desk.word(node, "the name of an attribute")?),
                    None => None,
                },
            },
            "header" => Extractor::Header(
                desk.word(value, "the name of a header")?
                    .to_ascii_lowercase(),
            ),
            _ => Extractor::Cookie(desk.word(value, "the name of a cookie")?),
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

/// An expression that keeps its first group: with more, it is not clear which is meant.
fn captured_regex(desk: &Desk<'_>, node: &Node) -> Option<String> {
    let text = regex(desk, node)?;
    let count = groups(&text);
    if count > 1 {
        let fault = format!("this expression has {count} groups");
        desk.fault(
            node,
            fault,
            "at most one group ( ); (?: ) for those that only bracket",
        );
        return None;
    }
    Some(text)
}

fn pick(desk: &Desk<'_>, node: &Node) -> Option<Pick> {
    const WORDS: [&str; 3] = ["first", "last", "random"];
    let text = desk.text(node, "first, last, random or a number from 1")?;
    match text.as_str() {
        "first" => Some(Pick::First),
        "last" => Some(Pick::Last),
        "random" => Some(Pick::Random),
        _ if text.starts_with(|c: char| c.is_ascii_digit()) => {
            desk.count32(node, 1..=u32::MAX).map(Pick::Nth)
        }
        _ => {
            let fault = format!("the word `{text}` is not known");
            let valid = "first, last, random or a number from 1";
            desk.note(node.span.start, fault, valid, nearest(&text, &WORDS));
            None
        }
    }
}
