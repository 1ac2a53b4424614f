//! What another machine sent, as it stands in reports and on terminals: names of workers and regions, and errors.

use plimsoll_model::redact;

/// Longest label, characters.
const LABEL_LEN_MAX: usize = 64;
/// Longest error, characters.
const ERROR_LEN_MAX: usize = 500;

/// A name of a worker or region as it is shown: letters, digits, `.`, `_` and `-`, at most 64; others become `_`.
pub(crate) fn label(text: &str) -> String {
    let shown = text.trim().chars().take(LABEL_LEN_MAX);
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    shown.map(|c| if allowed(c) { c } else { '_' }).collect()
}

/// An error as it is shown: it may quote a part of the plan.
pub(crate) fn shown(error: &str) -> String {
    let printable = error.chars().map(|c| if c.is_control() { ' ' } else { c });
    let short: String = printable.take(ERROR_LEN_MAX).collect();
    redact::text(&short).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_short_and_printable() {
        assert_eq!(label(" web-1.example "), "web-1.example");
        assert_eq!(label("a\u{1b}[31m b"), "a__31m_b");
        assert_eq!(label(&"x".repeat(1000)).len(), 64);
    }
}
