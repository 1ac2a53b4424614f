//! A value of a request: as recorded, or an expression.

use percent_encoding::percent_decode_str;

use super::{Drafter, ValueLocation};
use crate::heuristics;

/// A value in the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::journey) enum PlanValue {
    Literal(String),
    Expression(String),
}

impl PlanValue {
    /// As text in the plan.
    pub(super) fn as_text(&self) -> String {
        match self {
            Self::Literal(text) => heuristics::literal(text),
            Self::Expression(expression) => format!("{{{{ {expression} }}}}"),
        }
    }

    /// In a URL, as a replacement for `raw`, whose decoded form is `decoded`.
    pub(super) fn in_url(&self, raw: &str, decoded: &str) -> String {
        match self {
            Self::Literal(_) => heuristics::literal(raw),
            Self::Expression(expression) if raw == decoded => format!("{{{{ {expression} }}}}"),
            Self::Expression(expression) => format!("{{{{ urlencode({expression}) }}}}"),
        }
    }
}

pub(super) fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

pub(super) fn form_decoded(text: &str) -> String {
    percent_decoded(&text.replace('+', " "))
}

impl Drafter<'_> {
    /// The plan's form of `value`: a capture, a secret of the environment, or the literal.
    pub(super) fn value(&mut self, site: ValueLocation<'_>, value: &str) -> PlanValue {
        if value.is_empty() {
            return PlanValue::Literal(String::new());
        }
        if heuristics::names_password(site.name) {
            self.step.logs_in = true;
            let expression = self.secrets.expression("PASSWORD", value);
            self.note_secret(site, &expression);
            return PlanValue::Expression(expression);
        }
        if let Some(expression) = self.secrets.expression_of(value) {
            return PlanValue::Expression(expression);
        }
        if let Some(expression) = self.finder.expression(self.at, site.name, value) {
            return PlanValue::Expression(expression);
        }
        if heuristics::names_secret(site.name) {
            let expression = self.secrets.expression(site.name, value);
            self.note_secret(site, &expression);
            return PlanValue::Expression(expression);
        }
        let is_token = heuristics::names_token(site.name)
            && value.chars().count() >= heuristics::VALUE_LENGTH_MIN;
        if is_token
            || (heuristics::is_random(value) && value.len() >= 16)
            || site.what == "path after" && heuristics::is_random(value)
        {
            let (what, name) = (site.what, site.name);
            self.step.notes.push(format!(
                "{what} {name:?} looks dynamic and is in no earlier response: sent as recorded; capture it, or generate it with a function"
            ));
        }
        self.finder.note_typed(value);
        PlanValue::Literal(value.to_owned())
    }

    pub(super) fn note_secret(&mut self, site: ValueLocation<'_>, expression: &str) {
        let (what, name) = (site.what, site.name);
        self.step.notes.push(format!(
            "{what} {name:?} is a secret and is not stored in the plan: it comes from {expression}"
        ));
    }
}
