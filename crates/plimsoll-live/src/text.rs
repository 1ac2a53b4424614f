//! Texts of others, shortened.

/// Longest text of a note, a mark or a label, characters.
const TEXT_LEN_MAX: usize = 500;

/// A text with an end, in one line.
pub(crate) fn clip(text: &str) -> String {
    let text = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    text.take(TEXT_LEN_MAX).collect()
}
