//! Expressions of plans inside texts that are still taken apart.
//!
//! While a script is read, an expression (`env('TOKEN')`, `token`) is one character of a text: a mark, from a range that
//! no script uses. So a URL, a header or a form is split and encoded as any text is, and becomes a [`Template`] last.

use std::cell::RefCell;
use std::collections::BTreeSet;

use percent_encoding::{AsciiSet, utf8_percent_encode};

use super::Template;

/// The first mark: planes 15 and 16 are for private use.
const FIRST: u32 = 0xf_0000;
/// Most expressions of a script.
const COUNT_MAX: usize = 65_000;

/// The expressions that marks stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    expressions: Vec<String>,
    /// Those of them that are in a text of the plan.
    written: RefCell<BTreeSet<String>>,
    is_full: bool,
}

impl Marks {
    /// The mark of an expression, such as `token` or `env('TOKEN')`.
    pub(crate) fn mark(&mut self, expression: &str) -> char {
        let known = self.expressions.iter().position(|have| have == expression);
        let index = known.unwrap_or_else(|| {
            if self.expressions.len() < COUNT_MAX {
                self.expressions.push(expression.to_owned());
            } else {
                self.is_full = true;
            }
            self.expressions.len() - 1
        });
        u32::try_from(index)
            .ok()
            .and_then(|index| char::from_u32(FIRST + index))
            .unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    /// Whether there were more expressions than marks: the texts are wrong then.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// The text of a script, in which no character is a mark.
    pub(crate) fn clean(text: &str) -> String {
        text.chars().map(Self::clean_char).collect()
    }

    /// The same for one character.
    pub(crate) fn clean_char(c: char) -> char {
        if is_mark(c) {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        }
    }

    /// Whether a text has a mark.
    pub(crate) fn are_in(text: &str) -> bool {
        text.chars().any(is_mark)
    }

    /// Whether a character is a mark.
    pub(crate) fn is_mark(c: char) -> bool {
        is_mark(c)
    }

    /// The expression of a character that is a mark.
    pub(crate) fn expression(&self, mark: char) -> Option<&str> {
        let index = u32::from(mark).checked_sub(FIRST)?;
        let expression = self.expressions.get(usize::try_from(index).ok()?)?;
        Some(expression)
    }

    /// The text for a plan.
    pub(crate) fn template(&self, text: &str) -> Template {
        let mut template = Template::default();
        let mut rest = text;
        while let Some(at) = rest.find(is_mark) {
            template.push_literal(&rest[..at]);
            let mut chars = rest[at..].chars();
            if let Some(expression) = chars.next().and_then(|mark| self.expression(mark)) {
                self.written.borrow_mut().insert(expression.to_owned());
                template.push(&Template::expression(expression));
            }
            rest = chars.as_str();
        }
        template.push_literal(rest);
        template
    }

    /// Whether a text of the plan reads a variable of the environment.
    pub(crate) fn is_read(&self, variable: &str) -> bool {
        let call = format!("env('{variable}'");
        let written = self.written.borrow();
        written.iter().any(|expression| expression.contains(&call))
    }

    /// The text for a message.
    pub(crate) fn shown(&self, text: &str) -> String {
        let mut shown = String::new();
        for c in text.chars() {
            match self.expression(c) {
                Some(expression) => {
                    shown.push_str("{{ ");
                    shown.push_str(expression);
                    shown.push_str(" }}");
                }
                None => shown.push(c),
            }
        }
        shown
    }

    /// The text with all characters of `set` percent-encoded; values of expressions are encoded at run time.
    pub(crate) fn percent_encoded(&mut self, text: &str, set: &'static AsciiSet) -> String {
        self.mapped(text, "urlencode", |literal| {
            utf8_percent_encode(literal, set).to_string()
        })
    }

    /// The text with its literals changed by `change`, and the function of plans `function` around its expressions.
    pub(crate) fn mapped(
        &mut self,
        text: &str,
        function: &str,
        change: impl Fn(&str) -> String,
    ) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(is_mark) {
            out.push_str(&change(&rest[..at]));
            let mut chars = rest[at..].chars();
            let expression = chars.next().and_then(|mark| self.expression(mark));
            if let Some(expression) = expression.map(|inner| format!("{function}({inner})")) {
                out.push(self.mark(&expression));
            }
            rest = chars.as_str();
        }
        out.push_str(&change(rest));
        out
    }
}

/// Whether a character is, or could be taken for, a mark.
fn is_mark(c: char) -> bool {
    u32::from(c) >= FIRST
}

#[cfg(test)]
mod tests {
    use percent_encoding::NON_ALPHANUMERIC;

    use super::*;

    #[test]
    fn texts_are_taken_apart_around_expressions() {
        let mut marks = Marks::default();
        let text = format!("a={}&b c=d{{{{", marks.mark("env('A')"));
        let (first, second) = text.split_once('&').unwrap();
        assert_eq!(marks.template(first).as_str(), "a={{ env('A') }}");
        assert_eq!(marks.template(second).as_str(), "b c=d{{ pick('{{') }}");
        let encoded = marks.percent_encoded(&text, NON_ALPHANUMERIC);
        assert_eq!(
            marks.shown(&encoded),
            "a%3D{{ urlencode(env('A')) }}%26b%20c%3Dd%7B%7B"
        );
        assert!(Marks::are_in(&text) && !Marks::are_in("ü\u{1f600}"));
        assert_eq!(Marks::clean("a\u{f0000}"), "a\u{fffd}");
    }
}
