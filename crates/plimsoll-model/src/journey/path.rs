//! Limits of JSON paths: parsers recurse with every bracket, and their stack is limited.

/// Longest JSON path, bytes.
const LEN_MAX: usize = 2_048;
/// Brackets and parentheses within each other, at most.
const DEPTH_MAX: usize = 32;

/// Whether a JSON path is short and flat enough to be read.
///
/// # Errors
/// With the value that is too high, and the valid range.
pub fn bounded_json_path(text: &str) -> Result<(), String> {
    if text.len() > LEN_MAX {
        return Err(format!(
            "it is {} bytes long; valid: at most {LEN_MAX}",
            text.len()
        ));
    }
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            // Those in quotes count too: no path written by hand has that many.
            '[' | '(' | '!' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            return Err(format!(
                "its brackets are nested too deep; valid: at most {DEPTH_MAX} levels"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_somebody_wrote_are_bounded() {
        for path in [
            "$",
            "$.user.name",
            "$[?(@.a > 1 && !(@.b))].c[0]",
            "$..book[?@.price<10]",
        ] {
            assert_eq!(bounded_json_path(path), Ok(()), "{path}");
        }
        for path in [
            "(".repeat(33),
            "[?@".repeat(33),
            "!".repeat(33),
            "a".repeat(2_049),
        ] {
            assert!(bounded_json_path(&path).is_err(), "{path}");
        }
    }
}
