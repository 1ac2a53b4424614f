//! Texts of a plan with placeholders.

use crate::heuristics;

/// A text for a plan, in which `{{ … }}` are placeholders only where they were meant to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Template {
    /// As a plan has it.
    text: String,
    has_expressions: bool,
}

impl Template {
    /// A text without placeholders; double braces in it are escaped.
    pub(crate) fn literal(text: &str) -> Self {
        Self {
            text: heuristics::literal(text),
            has_expressions: false,
        }
    }

    /// A placeholder for an expression of plans, such as `token`, `user` or `random_int(1, 6)`.
    pub(crate) fn expression(expression: &str) -> Self {
        Self {
            text: format!("{{{{ {expression} }}}}"),
            has_expressions: true,
        }
    }

    /// Appends a text without placeholders.
    pub(crate) fn push_literal(&mut self, text: &str) {
        // Half an opening may stand at the end: as one text they would be one.
        if self.text.ends_with('{') && text.starts_with('{') && !self.has_expressions {
            let whole = format!("{}{text}", self.text.replace("{{ pick('{{') }}", "{{"));
            self.text = heuristics::literal(&whole);
            return;
        }
        if self.text.ends_with('{') && text.starts_with('{') {
            self.text.pop();
            self.text.push_str("{{ pick('{{') }}");
            self.text.push_str(&heuristics::literal(&text[1..]));
            return;
        }
        self.text.push_str(&heuristics::literal(text));
    }

    /// Appends another text.
    pub(crate) fn push(&mut self, other: &Self) {
        if !other.has_expressions && !self.text.ends_with('{') {
            self.text.push_str(&other.text);
            return;
        }
        if self.text.ends_with('{') && other.text.starts_with('{') {
            self.text.pop();
            self.text.push_str("{{ pick('{') }}");
        }
        self.text.push_str(&other.text);
        self.has_expressions |= other.has_expressions;
    }

    /// As a plan has it.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it has no placeholder but those of escaped braces.
    pub(crate) fn is_literal(&self) -> bool {
        !self.has_expressions
    }

    /// Whether it is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

impl From<&str> for Template {
    fn from(text: &str) -> Self {
        Self::literal(text)
    }
}

impl From<String> for Template {
    fn from(text: String) -> Self {
        Self::literal(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_of_a_script_open_no_placeholder() {
        assert_eq!(Template::literal("a{{b}}").as_str(), "a{{ pick('{{') }}b}}");
        let mut text = Template::literal("a{");
        text.push_literal("{b");
        assert_eq!(text, Template::literal("a{{b"));
        let mut text = Template::literal("{");
        text.push(&Template::expression("user"));
        assert_eq!(text.as_str(), "{{ pick('{') }}{{ user }}");
        text.push_literal("{");
        text.push_literal("{");
        assert_eq!(text.as_str(), "{{ pick('{') }}{{ user }}{{ pick('{{') }}");
        assert!(!text.is_literal());
    }
}
