//! Expectations: what makes a response good.

use plimsoll_model::journey::{self, Expectation};
use plimsoll_model::plan::GoodStatus;
use plimsoll_model::redact;
use regex::bytes::Regex;
use serde_json_path::JsonPath;

use super::answer::ParsedAnswer;
use super::extract::{regex, text_of};
use super::text::{CompiledText, TemplateValues};
use crate::clock::nanoseconds;
use crate::json::json_path;

/// Longest part of a value shown in a message, bytes.
const SHOWN_LEN: usize = 80;

/// All expectations of one step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expectations {
    status: Vec<GoodStatus>,
    headers: Vec<(String, CompiledMatch)>,
    body: Vec<CompiledMatch>,
    json: Vec<(JsonPath, String, CompiledMatch)>,
    within_ns: Option<u64>,
}

#[derive(Clone, Debug)]
enum CompiledMatch {
    Present,
    Absent,
    Equals(CompiledText),
    Contains(CompiledText),
    Lacks(CompiledText),
    Regex(Regex, String),
}

impl Expectations {
    /// # Errors
    /// What is wrong with an expression.
    pub(crate) fn new(expectations: &[Expectation]) -> Result<Self, String> {
        let mut all = Self::default();
        for expectation in expectations {
            match expectation {
                Expectation::Status(good) => all.status.push(good.clone()),
                Expectation::Header(name, wanted) => {
                    all.headers
                        .push((name.clone(), CompiledMatch::new(wanted)?));
                }
                Expectation::Body(wanted) => all.body.push(CompiledMatch::new(wanted)?),
                Expectation::Json(path, wanted) => {
                    all.json
                        .push((json_path(path)?, path.clone(), CompiledMatch::new(wanted)?));
                }
                Expectation::Within(longest) => {
                    let longest = nanoseconds(*longest);
                    all.within_ns = Some(all.within_ns.map_or(longest, |old| old.min(longest)));
                }
            }
        }
        Ok(all)
    }

    /// Whether there is nothing to check in a response; its time is judged separately.
    pub(crate) fn is_empty(&self) -> bool {
        self.status.is_empty() && !self.wants_head() && !self.wants_body()
    }

    /// Whether the expectations alone judge the status.
    pub(crate) fn checks_status(&self) -> bool {
        !self.status.is_empty()
    }

    pub(crate) fn wants_body(&self) -> bool {
        !self.body.is_empty() || !self.json.is_empty()
    }

    pub(crate) fn wants_head(&self) -> bool {
        !self.headers.is_empty()
    }

    /// Feeds whose columns they use.
    pub(crate) fn feeds(&self, found: &mut Vec<u32>) {
        let headers = self.headers.iter().map(|(_, wanted)| wanted);
        let json = self.json.iter().map(|(_, _, wanted)| wanted);
        for wanted in headers.chain(json).chain(&self.body) {
            if let CompiledMatch::Equals(text)
            | CompiledMatch::Contains(text)
            | CompiledMatch::Lacks(text) = wanted
            {
                text.feeds(found);
            }
        }
    }

    /// Judges the first response.
    ///
    /// # Errors
    /// The expected and the actual value.
    pub(crate) fn evaluate(
        &self,
        answer: &ParsedAnswer<'_>,
        values: &mut TemplateValues<'_>,
    ) -> Result<(), String> {
        for good in &self.status {
            if !good.contains(answer.status) {
                return Err(format!(
                    "status {}, expected {}",
                    answer.status,
                    ranges(good)
                ));
            }
        }
        for (name, wanted) in &self.headers {
            let found = answer.header(name);
            // As written, or both as paths: servers send whole URLs where plans have paths.
            let path = found.filter(|_| name == "location").and_then(path_of);
            let by_path = path.is_some_and(|path| wanted.evaluate(Some(path), values).is_ok());
            if let Err(mismatch) = wanted.evaluate(found, values)
                && !by_path
            {
                return Err(format!("header {name} {}", without_secret(name, mismatch)));
            }
        }
        for wanted in &self.body {
            if let Err(mismatch) = wanted.evaluate(Some(answer.body()), values) {
                return Err(format!("the body {mismatch}"));
            }
        }
        for (path, written, wanted) in &self.json {
            let found = answer.json().and_then(|value| path.query(value).first());
            let found = found.map(text_of);
            if let Err(mismatch) = wanted.evaluate(found.as_deref(), values) {
                return Err(format!("{written} {}", without_secret(written, mismatch)));
            }
        }
        Ok(())
    }

    /// Judges the time of the whole step.
    ///
    /// # Errors
    /// The expected and the actual value.
    pub(crate) fn evaluate_time(&self, response_ns: u64) -> Result<(), String> {
        match self.within_ns {
            Some(longest) if response_ns > longest => Err(format!(
                "took {:.1} ms, expected {:.1} ms at most",
                response_ns as f64 / 1e6,
                longest as f64 / 1e6
            )),
            _ => Ok(()),
        }
    }
}

impl CompiledMatch {
    fn new(wanted: &journey::TextMatch) -> Result<Self, String> {
        Ok(match wanted {
            journey::TextMatch::Present => Self::Present,
            journey::TextMatch::Absent => Self::Absent,
            journey::TextMatch::Equals(text) => Self::Equals(CompiledText::new(text)),
            journey::TextMatch::Contains(text) => Self::Contains(CompiledText::new(text)),
            journey::TextMatch::Lacks(text) => Self::Lacks(CompiledText::new(text)),
            journey::TextMatch::Regex(pattern) => Self::Regex(regex(pattern)?, pattern.clone()),
        })
    }

    fn evaluate(
        &self,
        found: Option<&[u8]>,
        values: &mut TemplateValues<'_>,
    ) -> Result<(), String> {
        let mismatch = |wanted: &str, text: &[u8]| {
            let is = found.map_or("missing".to_owned(), |found| {
                format!("is {:?}", shown(found))
            });
            Err(format!("{is}, expected {wanted} {:?}", shown(text)))
        };
        match (self, found) {
            (Self::Present, None) => Err("is missing, expected to be present".to_owned()),
            (Self::Absent, Some(found)) => {
                Err(format!("is {:?}, expected to be missing", shown(found)))
            }
            (Self::Equals(text), found) => {
                let text = text.filled(values);
                if found == Some(&text[..]) {
                    Ok(())
                } else {
                    mismatch("exactly", &text)
                }
            }
            (Self::Contains(text), found) => {
                let text = text.filled(values);
                if found.is_some_and(|found| contains(found, &text)) {
                    Ok(())
                } else {
                    mismatch("to contain", &text)
                }
            }
            (Self::Lacks(text), found) => {
                let text = text.filled(values);
                if found.is_some_and(|found| contains(found, &text)) {
                    mismatch("not to contain", &text)
                } else {
                    Ok(())
                }
            }
            (Self::Regex(regex, pattern), found) => {
                if found.is_some_and(|found| regex.is_match(found)) {
                    Ok(())
                } else {
                    mismatch("to match", pattern.as_bytes())
                }
            }
            (Self::Present, Some(_)) | (Self::Absent, None) => Ok(()),
        }
    }
}

pub(crate) fn contains(text: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(text, needle).is_some()
}

/// A mismatch, without the value where its name marks it as secret.
fn without_secret(name: &str, mismatch: String) -> String {
    if redact::is_secret(name) {
        "differs from the expected value; the value is secret and not shown".to_owned()
    } else {
        mismatch
    }
}

/// Path and query of a whole URL.
fn path_of(url: &[u8]) -> Option<&[u8]> {
    let after = memchr::memmem::find(url, b"://")? + 3;
    let slash = url[after..].iter().position(|&byte| byte == b'/');
    Some(slash.map_or(&b"/"[..], |slash| &url[after + slash..]))
}

/// The start of a value, as text.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let cut = bytes.len() > SHOWN_LEN;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_LEN)]);
    if cut {
        format!("{text}...")
    } else {
        text.into_owned()
    }
}

fn ranges(good: &GoodStatus) -> String {
    let range = |&(low, high): &(u16, u16)| {
        if low == high {
            low.to_string()
        } else {
            format!("{low}-{high}")
        }
    };
    good.ranges.iter().map(range).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::journey::{
        Inputs, TextMatch as Wanted, TextPiece, TextTemplate as Written,
    };
    use plimsoll_model::seed::Seed;
    use plimsoll_wire::head::ContentCoding;
    use std::time::Duration;

    const HEAD: &[u8] = b"HTTP/1.1 302 Found\r\nLocation: http://a.example/home?x\r\n\r\n";
    const BODY: &[u8] = br#"{"state":"open","n":3}"#;

    fn evaluate(expectation: Expectation) -> Result<(), String> {
        let answer = ParsedAnswer::new(302, HEAD, BODY, ContentCoding::Other, 1 << 20);
        let mut values = TemplateValues {
            slots: &[b"open".to_vec()],
            rows: &[],
            inputs: &Inputs::default(),
            user: 1,
            iteration: 1,
            unix_ns: 0,
            random: &mut Seed(1).generator(),
        };
        Expectations::new(&[expectation])?.evaluate(&answer, &mut values)
    }

    fn literal(text: &str) -> Written {
        Written::literal(text)
    }

    fn header(wanted: Wanted) -> Expectation {
        Expectation::Header("location".to_owned(), wanted)
    }

    fn json(path: &str, wanted: Wanted) -> Expectation {
        Expectation::Json(path.to_owned(), wanted)
    }

    fn status(low: u16, high: u16) -> Expectation {
        Expectation::Status(GoodStatus {
            ranges: vec![(low, high)],
        })
    }

    #[test]
    fn what_is_expected_and_there_is_good() {
        let slot = Written {
            pieces: vec![TextPiece::Slot(0)],
        };
        for expectation in [
            status(302, 302),
            header(Wanted::Equals(literal("/home?x"))),
            header(Wanted::Equals(literal("http://a.example/home?x"))),
            header(Wanted::Regex("^/home".to_owned())),
            header(Wanted::Present),
            Expectation::Header("x-none".to_owned(), Wanted::Absent),
            Expectation::Body(Wanted::Contains(literal("open"))),
            Expectation::Body(Wanted::Lacks(literal("closed"))),
            json("$.state", Wanted::Equals(slot)),
            json("$.n", Wanted::Equals(literal("3"))),
            json("$.none", Wanted::Absent),
        ] {
            assert_eq!(evaluate(expectation.clone()), Ok(()), "{expectation:?}");
        }
    }

    #[test]
    fn what_is_not_says_why() {
        let check = |expectation, message: &str| {
            assert_eq!(evaluate(expectation), Err(message.to_owned()));
        };
        check(status(200, 299), "status 302, expected 200-299");
        check(
            header(Wanted::Equals(literal("/login"))),
            "header location is \"http://a.example/home?x\", expected exactly \"/login\"",
        );
        check(
            Expectation::Body(Wanted::Lacks(literal("open"))),
            "the body is \"{\\\"state\\\":\\\"open\\\",\\\"n\\\":3}\", expected not to contain \"open\"",
        );
        check(
            json("$.none", Wanted::Present),
            "$.none is missing, expected to be present",
        );
        check(
            json("$.none", Wanted::Equals(literal("1"))),
            "$.none missing, expected exactly \"1\"",
        );
        let timed = Expectations::new(&[Expectation::Within(Duration::from_millis(5))]).unwrap();
        assert_eq!(timed.evaluate_time(5_000_000), Ok(()));
        assert_eq!(
            timed.evaluate_time(7_250_000),
            Err("took 7.2 ms, expected 5.0 ms at most".to_owned())
        );
    }
}
