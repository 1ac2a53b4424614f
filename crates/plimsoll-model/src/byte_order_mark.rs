//! The mark that some editors write before a text, and that no text means.
//!
//! Everything that reads a text file skips it here. A file that is sent as it is keeps it.

/// It in UTF-8.
pub const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The content of a text file without the mark.
pub fn skip(content: &[u8]) -> &[u8] {
    content
        .strip_prefix(BYTE_ORDER_MARK.as_bytes())
        .unwrap_or(content)
}

/// The same of a text.
pub fn skip_in(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mark_at_the_start_is_skipped() {
        assert_eq!(skip(b"\xef\xbb\xbfa"), b"a");
        assert_eq!(skip(b"a\xef\xbb\xbf"), b"a\xef\xbb\xbf");
        assert_eq!(skip(b"\xef\xbb"), b"\xef\xbb");
        assert_eq!(skip_in("\u{feff}\u{feff}a"), "\u{feff}a");
        assert_eq!(skip_in(""), "");
    }
}
