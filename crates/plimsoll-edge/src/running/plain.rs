//! Sanitizes notices: one line of plain text, whatever their source.
//!
//! Reasons and names come verbatim from servers, sources and applications. They must not control a terminal, forge log
//! lines, or exceed a readable length.

use std::sync::Arc;

use plimsoll_net::notice::NoticeSink;

use crate::control::Hooks;

/// Longest text, characters.
const LEN_MAX: usize = 2000;

/// A sink that forwards only plain text.
pub(super) fn only_plain(hooks: Hooks) -> Hooks {
    let report = hooks.report;
    let plainly: NoticeSink = Arc::new(move |text: &str| report(&plain(text)));
    Hooks {
        report: plainly,
        ..hooks
    }
}

fn plain(text: &str) -> String {
    let mut plain: String = text.chars().take(LEN_MAX).map(shown).collect();
    if text.chars().nth(LEN_MAX).is_some() {
        plain.push('…');
    }
    plain
}

fn shown(char: char) -> char {
    // Bidirectional controls would display another text than there is.
    let is_bidi_control =
        matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if char.is_control() || is_bidi_control || matches!(char, '\u{2028}' | '\u{2029}') {
        char::REPLACEMENT_CHARACTER
    } else {
        char
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_told_is_obeyed() {
        assert_eq!(plain("häßlich `a b`: 1"), "häßlich `a b`: 1");
        assert_eq!(
            plain("a\x1b[2J\r\nb\u{202e}c\u{9b}d"),
            "a\u{fffd}[2J\u{fffd}\u{fffd}b\u{fffd}c\u{fffd}d"
        );
        let long = "ä".repeat(LEN_MAX);
        assert_eq!(plain(&long), long);
        assert_eq!(plain(&format!("{long}ä")), format!("{long}…"));
    }
}
