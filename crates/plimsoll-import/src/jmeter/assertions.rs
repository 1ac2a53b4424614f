//! Assertions as expectations.

use std::time::Duration;

use super::context::Import;
use super::names::title;
use super::paths;
use super::pattern;
use super::scope::ElementScope;
use super::tree::Element;
use super::value::Value;
use crate::script::draft::{ExpectDraft, MatchDraft};

const ASSERTIONS: [&str; 4] = [
    "ResponseAssertion",
    "DurationAssertion",
    "JSONPathAssertion",
    "JMESPathAssertion",
];
/// Bits of a Response Assertion's kind.
const MATCH: u32 = 1;
const CONTAINS: u32 = 2;
const NOT: u32 = 4;
const EQUALS: u32 = 8;
const OR: u32 = 32;
const REMEDY: &str = "write `expect` with status, contains, lacks, regex, header or json";

impl Import<'_> {
    /// What the assertions in a sampler's scope ask of its answer.
    pub(super) fn expectations(&mut self, scope: &ElementScope<'_>, follows: bool) -> ExpectDraft {
        let assertions: Vec<&Element> = scope.of(&ASSERTIONS).collect();
        let mut expect = ExpectDraft::default();
        let mut statuses: Option<Vec<u16>> = None;
        for assertion in assertions {
            let kind = assertion.class.as_str();
            let result = match kind {
                "DurationAssertion" => self.within(assertion, &mut expect),
                "ResponseAssertion" => self.response(assertion, &mut expect, &mut statuses),
                _ => self.json_assertion(assertion, &mut expect),
            };
            if let Err(why) = result {
                self.lose(assertion, &why, REMEDY);
            }
        }
        if let Some(statuses) = statuses {
            expect.statuses = classes(&statuses);
            if follows && !expect.statuses.iter().any(|status| status == "3xx") {
                expect.statuses.push("3xx".to_owned());
            }
        }
        let has_more =
            !expect.contains.is_empty() || !expect.regex.is_empty() || !expect.json.is_empty();
        if follows && (has_more || !expect.statuses.is_empty()) {
            self.note(
                "`expect` looks at the first answer; JMeter at the last one when it follows redirects",
            );
        }
        expect
    }

    fn within(&mut self, assertion: &Element, expect: &mut ExpectDraft) -> Result<(), String> {
        let ms = self.number(assertion, "DurationAssertion.duration");
        let ms = ms.filter(|ms| (1.0..=31_536_000_000.0).contains(ms));
        let ms = ms.ok_or("its duration is not a constant number of milliseconds")?;
        let within = Duration::from_secs_f64(ms / 1000.0);
        let before = expect.within.unwrap_or(Duration::MAX);
        expect.within = Some(within.min(before));
        Ok(())
    }

    fn response(
        &mut self,
        assertion: &Element,
        expect: &mut ExpectDraft,
        statuses: &mut Option<Vec<u16>>,
    ) -> Result<(), String> {
        if assertion.text("Assertion.scope") == "variable" {
            return Err("it looks at a variable, not at an answer".to_owned());
        }
        let mut wanted = Vec::new();
        // Older versions misspelt the name.
        for property in ["Asserion.test_strings", "Assertion.test_strings"] {
            for item in assertion.items(property) {
                wanted.push(self.value(&item.text, item.at));
            }
        }
        let kind: u32 = assertion
            .text("Assertion.test_type")
            .trim()
            .parse()
            .unwrap_or(CONTAINS);
        if assertion.is_set("Assertion.assume_success") && statuses.is_none() {
            *statuses = Some((100..600).collect());
        }
        if wanted.is_empty() {
            return Ok(());
        }
        match assertion.text("Assertion.test_field").trim() {
            "Assertion.response_code" => allow_codes(assertion, &wanted, kind, statuses),
            "Assertion.response_message" => {
                let codes: Option<Vec<Value>> = wanted.iter().map(code_of_message).collect();
                let codes =
                    codes.ok_or("an answer's reason is not compared; its status code is")?;
                allow_codes(assertion, &codes, kind & !CONTAINS | EQUALS, statuses)
            }
            "Assertion.response_headers" => header_texts(&wanted, kind, expect),
            "" | "Assertion.response_data" | "Assertion.response_data_as_document" => {
                body_texts(&wanted, kind, expect)
            }
            field => {
                let field = field.rsplit('.').next().unwrap_or(field).replace('_', " ");
                Err(format!("an expectation does not look at the {field}"))
            }
        }
    }

    fn json_assertion(
        &mut self,
        assertion: &Element,
        expect: &mut ExpectDraft,
    ) -> Result<(), String> {
        let is_jmes = assertion.class == "JMESPathAssertion";
        let path = self.of(assertion, "JSON_PATH").constant();
        let path = path.ok_or("its path changes at run time")?;
        let path = if is_jmes {
            paths::jmes(&path)?
        } else {
            paths::json(&path)?
        };
        let is_inverted = assertion.is_set("INVERT");
        let validates = if is_jmes {
            true
        } else {
            assertion.is_set("JSONVALIDATION")
        };
        let condition = if !validates {
            MatchDraft::Present(!is_inverted)
        } else if is_inverted || assertion.is_set("EXPECT_NULL") {
            return Err(
                "an expectation on JSON is a value that is equal, or one that is there".to_owned(),
            );
        } else if assertion.is_set_or("ISREGEX", false) || (is_jmes && assertion.is_set("IS_REGEX"))
        {
            let regex = self.of(assertion, "EXPECTED_VALUE").constant();
            let regex = regex.ok_or("its regular expression changes at run time")?;
            MatchDraft::Regex(pattern::converted(&format!("^(?:{regex})$"))?)
        } else {
            MatchDraft::Equals(self.of(assertion, "EXPECTED_VALUE").template())
        };
        if expect.json.iter().any(|(known, _)| *known == path) {
            return Err(format!(
                "another assertion asks for `{path}`: {}",
                title(assertion)
            ));
        }
        expect.json.push((path, condition));
        Ok(())
    }
}

/// The status codes for which the assertion holds.
fn allow_codes(
    assertion: &Element,
    wanted: &[Value],
    kind: u32,
    statuses: &mut Option<Vec<u16>>,
) -> Result<(), String> {
    let texts: Option<Vec<String>> = wanted.iter().map(Value::constant).collect();
    let texts = texts.ok_or("the status code changes at run time")?;
    let mut conditions: Vec<CodeTest> = Vec::new();
    for text in texts {
        conditions.push(code_test(text, kind)?);
    }
    let holds = |code: &u16| {
        let code = code.to_string();
        let mut results = conditions
            .iter()
            .map(|test| test(&code) != (kind & NOT != 0));
        if kind & OR != 0 {
            results.any(|held| held)
        } else {
            results.all(|held| held)
        }
    };
    let allowed: Vec<u16> = (100..600).filter(holds).collect();
    if allowed.is_empty() {
        return Err("no status code meets it".to_owned());
    }
    // A sampler whose status is an error fails, unless the assertion says otherwise.
    let is_kept = assertion.is_set("Assertion.assume_success");
    let good: Vec<u16> = allowed
        .iter()
        .copied()
        .filter(|code| (200..400).contains(code))
        .collect();
    let own = if is_kept || good.is_empty() {
        allowed
    } else {
        good
    };
    let both = match statuses.take() {
        Some(before) => before
            .into_iter()
            .filter(|code| own.contains(code))
            .collect(),
        None => own.clone(),
    };
    *statuses = Some(if both.is_empty() { own } else { both });
    Ok(())
}

/// Whether an assertion holds for a status code.
type CodeTest = Box<dyn Fn(&str) -> bool>;

/// Whether one text of an assertion holds for a code.
fn code_test(text: String, kind: u32) -> Result<CodeTest, String> {
    if kind & EQUALS != 0 {
        return Ok(Box::new(move |code| code == text.trim()));
    }
    if kind & (MATCH | CONTAINS) == 0 {
        return Ok(Box::new(move |code| code.contains(&text)));
    }
    let pattern = pattern::converted(&text)?;
    let pattern = if kind & MATCH != 0 {
        format!("^(?:{pattern})$")
    } else {
        pattern
    };
    let regex = regex::Regex::new(&pattern).map_err(|_| "its pattern cannot be read".to_owned())?;
    Ok(Box::new(move |code| regex.is_match(code)))
}

/// The status code of a reason.
fn code_of_message(message: &Value) -> Option<Value> {
    let code = match message.literal()?.trim().to_ascii_lowercase().as_str() {
        "ok" => "200",
        "created" => "201",
        "accepted" => "202",
        "no content" => "204",
        "moved permanently" => "301",
        "found" | "moved temporarily" => "302",
        "see other" => "303",
        "not modified" => "304",
        "bad request" => "400",
        "unauthorized" => "401",
        "forbidden" => "403",
        "not found" => "404",
        "internal server error" => "500",
        _ => return None,
    };
    Some(Value::text(code))
}

/// `2xx` for whole classes, else each code.
fn classes(codes: &[u16]) -> Vec<String> {
    let mut texts = Vec::new();
    for class in 1..6_u16 {
        let own: Vec<u16> = codes
            .iter()
            .copied()
            .filter(|code| code / 100 == class)
            .collect();
        if own.len() == 100 {
            texts.push(format!("{class}xx"));
        } else {
            texts.extend(own.iter().map(u16::to_string));
        }
    }
    texts
}

fn body_texts(wanted: &[Value], kind: u32, expect: &mut ExpectDraft) -> Result<(), String> {
    let is_pattern = kind & (MATCH | CONTAINS) != 0;
    let is_not = kind & NOT != 0;
    if kind & OR != 0 && wanted.len() > 1 {
        return any_text(wanted, kind, expect);
    }
    for text in wanted {
        // A pattern without signs is a text.
        let plain = text.literal().is_some_and(|own| regex::escape(own) == own);
        let is_text = kind & (MATCH | EQUALS) == 0 && (!is_pattern || plain);
        match (is_text, is_not) {
            (true, false) => expect.contains.push(text.template()),
            (true, true) => expect.lacks.push(text.template()),
            (false, true) => {
                return Err("a body can lack a text, not a regular expression".to_owned());
            }
            (false, false) => expect.regex.push(body_pattern(text, kind)?),
        }
    }
    Ok(())
}

fn body_pattern(text: &Value, kind: u32) -> Result<String, String> {
    let own = text
        .constant()
        .ok_or("its regular expression changes at run time")?;
    let pattern = if kind & EQUALS != 0 {
        format!(r"\A{}\z", regex::escape(&own))
    } else if kind & MATCH != 0 {
        format!(r"\A(?:{})\z", pattern::converted(&own)?)
    } else if kind & CONTAINS != 0 {
        own
    } else {
        regex::escape(&own)
    };
    pattern::converted(&pattern)
}

/// One of several texts.
fn any_text(wanted: &[Value], kind: u32, expect: &mut ExpectDraft) -> Result<(), String> {
    if kind & NOT != 0 {
        return Err("a body cannot lack one of several texts".to_owned());
    }
    let patterns: Result<Vec<String>, String> =
        wanted.iter().map(|text| body_pattern(text, kind)).collect();
    let pattern = format!("(?:{})", patterns?.join("|"));
    expect.regex.push(pattern::converted(&pattern)?);
    Ok(())
}

/// `Name: value` within all headers.
fn header_texts(wanted: &[Value], kind: u32, expect: &mut ExpectDraft) -> Result<(), String> {
    const WHY: &str = "an expectation looks at one header, written `Name: value`";
    if kind & (NOT | OR | EQUALS | MATCH) != 0 {
        return Err(WHY.to_owned());
    }
    for text in wanted {
        let own = text.constant().ok_or(WHY)?;
        let (name, value) = own.trim_start_matches('^').split_once(':').ok_or(WHY)?;
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !is_name
            || expect
                .headers
                .iter()
                .any(|(known, _)| known.eq_ignore_ascii_case(name))
        {
            return Err(WHY.to_owned());
        }
        let value = value.trim();
        let is_pattern = kind & CONTAINS != 0 && regex::escape(value) != value;
        let condition = match (value, is_pattern) {
            ("", _) => MatchDraft::Present(true),
            (value, true) => MatchDraft::Regex(pattern::converted(value)?),
            (value, false) => MatchDraft::Contains(value.into()),
        };
        expect.headers.push((name.to_owned(), condition));
    }
    Ok(())
}
