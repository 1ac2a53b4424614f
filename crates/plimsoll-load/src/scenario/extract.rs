//! Captures: values extracted from a response.

use plimsoll_model::journey::{self, Extractor, Pick};
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use regex::bytes::Regex;
use scraper::Selector;
use serde_json::Value;
use serde_json_path::JsonPath;

use super::answer::ParsedAnswer;
use super::text::CompiledText;
use crate::jar::Jar;
use crate::json::json_path;

/// A compiled capture.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    pub(crate) slot: u32,
    from: From,
    pick: Pick,
    pub(crate) default: Option<CompiledText>,
    /// As written in the plan, for messages.
    pub(crate) place: Box<str>,
}

#[derive(Clone, Debug)]
enum From {
    Regex(Regex),
    Json(JsonPath),
    Css(Selector, Option<String>),
    Header(String),
    Cookie(String),
}

impl Capture {
    /// # Errors
    /// What is wrong with its expression.
    pub(crate) fn new(capture: &journey::Capture) -> Result<Self, String> {
        let (from, place) = match &capture.from {
            Extractor::Regex(pattern) => (From::Regex(regex(pattern)?), format!("/{pattern}/")),
            Extractor::Json(path) => (From::Json(json_path(path)?), path.clone()),
            Extractor::Css {
                selector,
                attribute,
            } => {
                let parsed = Selector::parse(selector)
                    .map_err(|error| format!("invalid CSS selector {selector}: {error}"))?;
                (From::Css(parsed, attribute.clone()), selector.clone())
            }
            Extractor::Header(name) => (From::Header(name.clone()), format!("header {name}")),
            Extractor::Cookie(name) => (From::Cookie(name.clone()), format!("cookie {name}")),
        };
        Ok(Self {
            slot: capture.slot,
            from,
            pick: capture.pick,
            default: capture.default.as_ref().map(CompiledText::new),
            place: place.into(),
        })
    }

    /// Whether it reads the body.
    pub(crate) fn wants_body(&self) -> bool {
        matches!(self.from, From::Regex(_) | From::Json(_) | From::Css(..))
    }

    /// Whether it reads the headers.
    pub(crate) fn wants_head(&self) -> bool {
        matches!(self.from, From::Header(_))
    }

    /// Appends the value to `out`; returns whether it was found.
    pub(crate) fn find(
        &self,
        answer: &ParsedAnswer<'_>,
        jar: &Jar,
        random: &mut Xoshiro256PlusPlus,
        out: &mut Vec<u8>,
    ) -> bool {
        let mut put = |found: Option<&[u8]>| {
            if let Some(found) = found {
                out.clear();
                out.extend_from_slice(found);
            }
            found.is_some()
        };
        match &self.from {
            From::Regex(regex) => self.find_regex(regex, answer.body(), random, &mut put),
            From::Json(path) => {
                let Some(value) = answer.json() else {
                    return false;
                };
                let found = self.chosen(path.query(value).into_iter(), random);
                put(found.map(text_of).as_deref())
            }
            From::Css(selector, attribute) => {
                let found = answer.html().select(selector).filter_map(|element| {
                    let Some(name) = attribute else {
                        let text = element.text().collect::<String>();
                        return Some(text.trim().as_bytes().to_vec());
                    };
                    element
                        .value()
                        .attr(name)
                        .map(|value| value.as_bytes().to_vec())
                });
                put(self.chosen(found, random).as_deref())
            }
            From::Header(name) => put(answer.header(name)),
            From::Cookie(name) => put(jar.get(name)),
        }
    }

    fn find_regex(
        &self,
        regex: &Regex,
        body: &[u8],
        random: &mut Xoshiro256PlusPlus,
        put: &mut impl FnMut(Option<&[u8]>) -> bool,
    ) -> bool {
        let group = usize::from(regex.captures_len() > 1);
        // The usual case takes one search.
        if self.pick == Pick::First {
            return put(if group == 0 {
                regex.find(body).map(|found| found.as_bytes())
            } else {
                regex
                    .captures(body)
                    .and_then(|found| found.get(1))
                    .map(|found| found.as_bytes())
            });
        }
        let found = regex
            .captures_iter(body)
            .filter_map(|found| found.get(group))
            .map(|found| found.as_bytes());
        put(self.chosen(found, random))
    }

    /// The requested one of several matches.
    fn chosen<T>(
        &self,
        mut found: impl Iterator<Item = T>,
        random: &mut Xoshiro256PlusPlus,
    ) -> Option<T> {
        match self.pick {
            Pick::First => found.next(),
            Pick::Last => found.last(),
            Pick::Nth(number) => found.nth(number.checked_sub(1)? as usize),
            Pick::Random => {
                // Reservoir sampling: each of n stays with probability 1/n, without a list of them.
                let mut chosen = None;
                for (index, candidate) in found.enumerate() {
                    if random.random_range(0..=index) == 0 {
                        chosen = Some(candidate);
                    }
                }
                chosen
            }
        }
    }
}

pub(crate) fn regex(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|error| format!("invalid regular expression {pattern}: {error}"))
}

/// A JSON value as a text: a string without its quotes.
pub(crate) fn text_of(value: &Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.as_bytes().to_vec(),
        other => other.to_string().into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::seed::Seed;
    use plimsoll_wire::head::ContentCoding;

    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nX-Token: t1\r\n\r\n";
    const PAGE: &str = "<p class=a>one</p><form><input name='csrf' value='x&amp;y'></form>\
                        <a href='/1'>A</a><a href='/2'>B</a><a href='/3'>C</a>";
    const JSON: &str = r#"{"items":[{"id":7,"name":"pen"},{"id":8}],"ok":true}"#;

    fn find(from: Extractor, pick: Pick, body: &str) -> Option<String> {
        let capture = Capture::new(&journey::Capture {
            slot: 0,
            from,
            pick,
            default: None,
        })
        .unwrap();
        let answer = ParsedAnswer::new(200, HEAD, body.as_bytes(), ContentCoding::Other, 1 << 20);
        let mut out = b"old".to_vec();
        let mut random = Seed(5).generator();
        let found = capture.find(&answer, &Jar::default(), &mut random, &mut out);
        found.then(|| String::from_utf8(out).unwrap())
    }

    fn check(from: Extractor, pick: Pick, body: &str, expected: Option<&str>) {
        assert_eq!(find(from, pick, body).as_deref(), expected);
    }

    #[test]
    fn a_regex_gives_its_group_or_the_match() {
        let regex = |pattern: &str| Extractor::Regex(pattern.to_owned());
        check(regex("value='([^']+)'"), Pick::First, PAGE, Some("x&amp;y"));
        check(regex("href='/[0-9]'"), Pick::First, PAGE, Some("href='/1'"));
        check(regex("href='(/[0-9])'"), Pick::Last, PAGE, Some("/3"));
        check(regex("href='(/[0-9])'"), Pick::Nth(2), PAGE, Some("/2"));
        check(regex("href='(/[0-9])'"), Pick::Nth(4), PAGE, None);
        check(regex("nothing"), Pick::First, PAGE, None);
        let any = find(regex("href='(/[0-9])'"), Pick::Random, PAGE).unwrap();
        assert!(["/1", "/2", "/3"].contains(&any.as_str()));
    }

    #[test]
    fn a_json_path_gives_texts_and_numbers() {
        let json = |path: &str| Extractor::Json(path.to_owned());
        check(json("$.items[0].name"), Pick::First, JSON, Some("pen"));
        check(json("$.items[*].id"), Pick::Last, JSON, Some("8"));
        check(
            json("$.items[0]"),
            Pick::First,
            JSON,
            Some(r#"{"id":7,"name":"pen"}"#),
        );
        check(json("$.ok"), Pick::First, JSON, Some("true"));
        check(json("$.none"), Pick::First, JSON, None);
        check(json("$"), Pick::First, PAGE, None);
    }

    #[test]
    fn a_selector_gives_text_or_attribute() {
        let css = |selector: &str, attribute: Option<&str>| Extractor::Css {
            selector: selector.to_owned(),
            attribute: attribute.map(str::to_owned),
        };
        check(css("p.a", None), Pick::First, PAGE, Some("one"));
        check(
            css("input[name=csrf]", Some("value")),
            Pick::First,
            PAGE,
            Some("x&y"),
        );
        check(css("a", Some("href")), Pick::Nth(3), PAGE, Some("/3"));
        check(css("a", Some("title")), Pick::First, PAGE, None);
    }

    #[test]
    fn a_header_is_found() {
        check(
            Extractor::Header("x-token".to_owned()),
            Pick::First,
            "",
            Some("t1"),
        );
        check(
            Extractor::Header("x-other".to_owned()),
            Pick::First,
            "",
            None,
        );
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for from in [
            Extractor::Regex("(".to_owned()),
            Extractor::Json("items".to_owned()),
            Extractor::Css {
                selector: "p[".to_owned(),
                attribute: None,
            },
        ] {
            let capture = journey::Capture {
                slot: 0,
                from,
                pick: Pick::First,
                default: None,
            };
            assert!(Capture::new(&capture).is_err());
        }
    }
}
