//! Conditions on responses as expectations of a request, and `check()`.

use std::rc::Rc;
use std::time::Duration;

use super::answer::Answer;
use super::comparison::{Operator, Test};
use super::machine::Machine;
use super::value::Value;
use crate::script::draft::{ExpectDraft, MatchDraft, RequestDraft};

/// Statuses that a condition may be about.
const STATUSES: std::ops::Range<u16> = 100..600;
/// Most statuses of a class that are listed one by one.
const LISTED_MAX: usize = 20;

impl<'a> Machine<'a, '_> {
    /// `check(value, { name: function })`: expectations of the request. What a plan cannot expect is lost.
    pub(super) fn check(&mut self, value: &Value<'a>, checks: &Value<'a>, at: u32) {
        self.note(
            "a failed check ends the iteration in the plan, and counts as a failed request; in k6 the iteration goes on",
        );
        for (name, condition) in checks.entries() {
            let result = match &condition {
                Value::Function(closure) => {
                    self.invoke(&Rc::clone(closure), std::slice::from_ref(value), None, at)
                }
                other => other.clone(),
            };
            match (&result, result.truth(), Test::of(&result)) {
                (Value::Unknown(why), ..) => self.lose_check(&name, why.as_ref(), at),
                (_, Some(true), _) => {}
                (_, Some(false), _) => {
                    self.lose_check(&name, "it is false whatever the response is", at);
                }
                (_, None, Some(test)) if self.expect_all(&test) => {}
                (_, None, _) => self.lose_check(&name, "a plan has no such expectation", at),
            }
        }
    }

    fn lose_check(&mut self, name: &str, why: &str, at: u32) {
        self.lose(
            at,
            format!("check '{name}'"),
            why,
            "write it under `expect:` with status, contains, regex, json, header or within",
        );
    }

    /// Expects a condition of a response; what a plan cannot expect is lost.
    pub(super) fn expect(&mut self, test: &Rc<Test<'a>>, at: u32) {
        if !self.expect_all(test) {
            self.lose(
                at,
                "a condition of the response",
                "a plan has no such expectation",
                "write it under `expect:` with status, contains, regex, json, header or within",
            );
        }
    }

    /// Whether a condition on a status holds for a response as it usually is; `None` for other conditions.
    pub(super) fn is_usual(test: &Test<'a>) -> Option<bool> {
        if let Some((_, allowed)) = statuses(test) {
            let good = STATUSES
                .zip(&allowed)
                .any(|(status, allowed)| *allowed && (200..400).contains(&status));
            let bad = STATUSES
                .zip(&allowed)
                .any(|(status, allowed)| *allowed && status == 200);
            // `!= 200` allows 204, but means a failure.
            let is_exception = matches!(test, Test::Compare(Operator::Unequal, ..));
            return Some(good && (bad || !is_exception));
        }
        match test {
            Test::Truthy(Value::Answer(_, what)) => {
                matches!(&**what, Answer::Other(name) if name.starts_with("error")).then_some(false)
            }
            Test::Not(inner) => Self::is_usual(inner).map(|usual| !usual),
            _ => None,
        }
    }

    /// Expects all parts of a condition; false if one of them is not possible.
    fn expect_all(&mut self, test: &Test<'a>) -> bool {
        if let Some((request, allowed)) = statuses(test) {
            return self.expect_statuses(request, &allowed);
        }
        match test {
            Test::And(left, right) => {
                let left = self.expect_all(left);
                self.expect_all(right) && left
            }
            Test::Truthy(value) => self.expect_present(value, true),
            Test::Not(inner) => match &**inner {
                Test::Truthy(Value::Answer(_, what)) if matches!(&**what, Answer::Other(_)) => true,
                Test::Truthy(value) => self.expect_present(value, false),
                Test::Includes(whole, part) => self.expect_includes(whole, part, false),
                _ => false,
            },
            Test::Includes(whole, part) => self.expect_includes(whole, part, true),
            Test::Matches(Value::Answer(request, what), regex) => {
                let regex = regex.to_string();
                match &**what {
                    Answer::Body => self.with(*request, |expect| expect.regex.push(regex)),
                    Answer::Json(json) => {
                        let path = json.path.clone();
                        self.with(*request, |expect| {
                            expect.json.push((path, MatchDraft::Regex(regex)));
                        })
                    }
                    Answer::Header(name) => {
                        let name = name.clone();
                        self.with(*request, |expect| {
                            expect.headers.push((name, MatchDraft::Regex(regex)));
                        })
                    }
                    _ => false,
                }
            }
            Test::Compare(operator, left, right) => {
                if let Value::Answer(request, what) = left {
                    let what = Rc::clone(what);
                    self.expect_comparison(*request, &what, *operator, right)
                } else if let Value::Answer(request, what) = right {
                    let what = Rc::clone(what);
                    self.expect_comparison(*request, &what, operator.mirrored(), left)
                } else {
                    false
                }
            }
            _ => false,
        }
    }

    fn with(&mut self, request: usize, change: impl FnOnce(&mut ExpectDraft)) -> bool {
        match self.requests.get_mut(request) {
            Some(request) => {
                change(&mut request.draft.expect);
                true
            }
            None => false,
        }
    }

    fn expect_statuses(&mut self, request: usize, allowed: &[bool]) -> bool {
        let listed = listed(allowed);
        if listed.is_empty() {
            return false;
        }
        let follows = self.requests.get(request);
        if follows.is_some_and(|sent| sent.draft.follow.is_some()) && is_success_only(&listed) {
            self.note(
                "`expect` judges the first response, a check of k6 the last one after redirects: where a check wants a success, the plan expects a success or a redirect that it follows",
            );
        }
        self.with(request, |expect| {
            // Several checks of one status must all hold: the narrower one is what counts.
            if expect.statuses.is_empty() || listed.len() < expect.statuses.len() {
                expect.statuses = listed;
            }
        })
    }

    fn expect_present(&mut self, value: &Value<'a>, is_present: bool) -> bool {
        let Value::Answer(request, what) = value else {
            return false;
        };
        let condition = MatchDraft::Present(is_present);
        match &**what {
            Answer::Json(json) => {
                let path = json.path.clone();
                self.with(*request, |expect| expect.json.push((path, condition)))
            }
            Answer::Header(name) => {
                let name = name.clone();
                self.with(*request, |expect| expect.headers.push((name, condition)))
            }
            Answer::Body | Answer::Length(_) if is_present => {
                self.with(*request, |expect| expect.regex.push("(?s).".to_owned()))
            }
            Answer::Matches(regex) if is_present => {
                let regex = regex.clone();
                self.with(*request, |expect| expect.regex.push(regex))
            }
            // A capture without a match ends the iteration, too.
            Answer::HtmlText { .. }
            | Answer::Cookie(_)
            | Answer::CookieValue(_)
            | Answer::Group(_)
                if is_present =>
            {
                self.capture(*request, what).is_some()
            }
            Answer::CookieList(name) if is_present => {
                let what = Answer::Cookie(name.clone());
                self.capture(*request, &what).is_some()
            }
            _ => false,
        }
    }

    fn expect_includes(&mut self, whole: &Value<'a>, part: &Value<'a>, holds: bool) -> bool {
        let Value::Answer(request, what) = whole else {
            return false;
        };
        let part = self.text_of(part, 0);
        let part = self.template(&part);
        match &**what {
            Answer::Body if holds => self.with(*request, |expect| expect.contains.push(part)),
            Answer::Body => self.with(*request, |expect| expect.lacks.push(part)),
            Answer::Json(json) if holds => {
                let path = json.path.clone();
                self.with(*request, |expect| {
                    expect.json.push((path, MatchDraft::Contains(part)));
                })
            }
            Answer::Header(name) if holds => {
                let name = name.clone();
                self.with(*request, |expect| {
                    expect.headers.push((name, MatchDraft::Contains(part)));
                })
            }
            // The text of an element is in the body.
            Answer::HtmlText { .. } if holds => {
                self.with(*request, |expect| expect.contains.push(part))
            }
            _ => false,
        }
    }

    fn expect_comparison(
        &mut self,
        request: usize,
        what: &Answer,
        operator: Operator,
        other: &Value<'a>,
    ) -> bool {
        let is_equal = operator == Operator::Equal;
        let is_empty = other.is_nothing() || other.as_str() == Some("");
        if is_empty && matches!(operator, Operator::Equal | Operator::Unequal) {
            let value = super::member::answer_of(request, what);
            return self.expect_present(&value, !is_equal);
        }
        match what {
            Answer::Timing(_) if matches!(operator, Operator::Less | Operator::LessOrEqual) => {
                let Some(ms) = self.number(other).filter(|ms| *ms >= 1.0) else {
                    return false;
                };
                let within = Duration::from_secs_f64((ms / 1000.0).min(86_400.0));
                self.with(request, |expect| {
                    expect.within = Some(expect.within.map_or(within, |old| old.min(within)));
                })
            }
            Answer::Length(of) => self.expect_length(request, of, operator, other),
            Answer::Json(_) | Answer::Header(_) if is_equal => {
                let text = self.text_of(other, 0);
                let condition = MatchDraft::Equals(self.template(&text));
                match what {
                    Answer::Json(json) => {
                        let path = json.path.clone();
                        self.with(request, |expect| expect.json.push((path, condition)))
                    }
                    Answer::Header(name) => {
                        let name = name.clone();
                        self.with(request, |expect| expect.headers.push((name, condition)))
                    }
                    _ => false,
                }
            }
            Answer::Body if is_equal => match other.as_str() {
                Some(text) => {
                    let regex = format!("(?s)^{}$", regex::escape(text));
                    self.with(request, |expect| expect.regex.push(regex))
                }
                None => false,
            },
            Answer::HtmlText { .. } if is_equal => {
                let text = self.text_of(other, 0);
                let text = self.template(&text);
                self.with(request, |expect| expect.contains.push(text))
            }
            Answer::Other(name) => name.starts_with("error") && matches!(operator, Operator::Equal),
            _ => false,
        }
    }

    fn expect_length(
        &mut self,
        request: usize,
        of: &Answer,
        operator: Operator,
        other: &Value<'a>,
    ) -> bool {
        let Some(number) = self.number(other).and_then(super::number::index) else {
            return false;
        };
        let least = match operator {
            Operator::Greater => number + 1,
            Operator::GreaterOrEqual | Operator::Equal => number,
            Operator::Unequal if number == 0 => 1,
            _ => return false,
        };
        match of {
            Answer::Json(json) => {
                let mut conditions = Vec::new();
                if least > 0 {
                    conditions.push((json.index(least - 1).path, MatchDraft::Present(true)));
                }
                if operator == Operator::Equal {
                    conditions.push((json.index(number).path, MatchDraft::Present(false)));
                }
                self.with(request, |expect| expect.json.extend(conditions))
            }
            Answer::Body if operator == Operator::Equal => false,
            Answer::Body => {
                let regex = format!("(?s)^.{{{least},}}");
                // A long count makes a large expression; that much content is a size, not a check.
                least <= 1_000 && self.with(request, |expect| expect.regex.push(regex))
            }
            _ => false,
        }
    }
}

/// The statuses that a request expects of its first response. k6 checks the last one: where it wants a success, a
/// redirect that is followed is as good; the response behind it must be one of the plan's `good`.
pub(super) fn before_redirects(draft: &RequestDraft) -> Vec<String> {
    let mut statuses = draft.expect.statuses.clone();
    if draft.follow.is_some() && is_success_only(&statuses) {
        statuses.push("3xx".to_owned());
    }
    statuses
}

fn is_success_only(statuses: &[String]) -> bool {
    !statuses.is_empty() && statuses.iter().all(|status| status.starts_with('2'))
}

/// The request whose status a condition is about, and the statuses for which it holds.
fn statuses(test: &Test<'_>) -> Option<(usize, Vec<bool>)> {
    match test {
        Test::Compare(operator, left, right) => {
            let (request, operator, bound) = match (left, right) {
                (Value::Answer(request, what), Value::Number(bound))
                    if **what == Answer::Status =>
                {
                    (*request, *operator, *bound)
                }
                (Value::Number(bound), Value::Answer(request, what))
                    if **what == Answer::Status =>
                {
                    (*request, operator.mirrored(), *bound)
                }
                _ => return None,
            };
            let holds = |status: u16| operator.holds(f64::from(status), bound);
            Some((request, STATUSES.map(holds).collect()))
        }
        Test::OneOf(Value::Answer(request, what), values) if **what == Answer::Status => {
            let holds = |status: u16| {
                values.iter().any(|value| {
                    matches!(value, Value::Number(number) if super::number::same(*number, f64::from(status)))
                })
            };
            Some((*request, STATUSES.map(holds).collect()))
        }
        Test::And(left, right) | Test::Or(left, right) => {
            let ((first, left), (second, right)) = (statuses(left)?, statuses(right)?);
            let is_and = matches!(test, Test::And(..));
            let both = left.iter().zip(&right);
            let joined = both.map(|(a, b)| if is_and { *a && *b } else { *a || *b });
            (first == second).then(|| (first, joined.collect()))
        }
        Test::Not(inner) => {
            let (request, allowed) = statuses(inner)?;
            Some((
                request,
                allowed.into_iter().map(|allowed| !allowed).collect(),
            ))
        }
        _ => None,
    }
}

/// Statuses as a plan lists them; informational ones are never final.
fn listed(allowed: &[bool]) -> Vec<String> {
    let mut list = Vec::new();
    for class in 2..6_u16 {
        let of_class: Vec<u16> = STATUSES
            .zip(allowed)
            .filter(|(status, allowed)| **allowed && status / 100 == class)
            .map(|(status, _)| status)
            .collect();
        if of_class.len() > LISTED_MAX {
            list.push(format!("{class}xx"));
        } else {
            list.extend(of_class.iter().map(ToString::to_string));
        }
    }
    list
}
