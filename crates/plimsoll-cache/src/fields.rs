//! Header fields of a head: lookup by name, and splitting of lists.

use httparse::Header;

/// All lines of one name, in order, without the white space around their values.
pub fn lines<'h, 'b>(
    headers: &'h [Header<'b>],
    name: &'h str,
) -> impl Iterator<Item = &'b [u8]> + use<'h, 'b> {
    headers
        .iter()
        .filter(move |header| is(header.name, name))
        .map(|header| header.value.trim_ascii())
}

/// The first line of a name.
pub fn first<'b>(headers: &[Header<'b>], name: &str) -> Option<&'b [u8]> {
    headers
        .iter()
        .find(|header| is(header.name, name))
        .map(|header| header.value.trim_ascii())
}

/// The only line of a name; `None` when there are none or several.
pub fn only<'b>(headers: &[Header<'b>], name: &str) -> Option<&'b [u8]> {
    let mut found = headers.iter().filter(|header| is(header.name, name));
    let line = found.next()?;
    found.next().is_none().then(|| line.value.trim_ascii())
}

/// Whether there is a line of this name.
pub fn has(headers: &[Header<'_>], name: &str) -> bool {
    headers.iter().any(|header| is(header.name, name))
}

/// Whether two field names are the same.
#[inline]
pub(crate) fn is(name: &str, ours: &str) -> bool {
    name.len() == ours.len() && name.eq_ignore_ascii_case(ours)
}

/// Members of one line of a comma-separated list (RFC 9110, 5.6.1): empty ones are skipped, commas in quoted strings do
/// not separate.
pub fn members(line: &[u8]) -> Members<'_> {
    Members { rest: line }
}

/// Iterator returned by [`members`].
#[derive(Clone, Debug)]
pub struct Members<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Members<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while !self.rest.is_empty() {
            let end = member_end(self.rest);
            let member = self.rest[..end].trim_ascii();
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
            if !member.is_empty() {
                return Some(member);
            }
        }
        None
    }
}

/// End of the first member: at an unquoted comma, or at the end.
fn member_end(line: &[u8]) -> usize {
    let mut quoted = false;
    let mut escaped = false;
    for (at, &byte) in line.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => return at,
            _ => {}
        }
    }
    line.len()
}

/// Whether every quoted string of a line is closed.
pub(crate) fn is_closed(line: &[u8]) -> bool {
    let mut quoted = false;
    let mut escaped = false;
    for &byte in line {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ => {}
        }
    }
    !quoted
}

/// A number of decimal digits only; one that is too large saturates (RFC 9111, 1.2.2).
pub(crate) fn decimal(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u32, |number, &byte| {
        byte.is_ascii_digit().then(|| {
            number
                .saturating_mul(10)
                .saturating_add(u32::from(byte - b'0'))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_members(line: &str, expected: &[&str]) {
        let found: Vec<_> = members(line.as_bytes())
            .map(|member| std::str::from_utf8(member).unwrap())
            .collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn lists_are_parted_as_the_grammar_says() {
        // RFC 9110, 5.6.1.2: three lists of the same two members, and lists that hold nothing.
        check_members("foo,bar", &["foo", "bar"]);
        check_members("foo ,bar,", &["foo", "bar"]);
        check_members("foo , ,bar,charlie", &["foo", "bar", "charlie"]);
        check_members("", &[]);
        check_members(",", &[]);
        check_members(",   ,", &[]);
        check_members(r#"a="b, \"c, d", e"#, &[r#"a="b, \"c, d""#, "e"]);
        check_members(r#"a="b, c"#, &[r#"a="b, c"#]);
    }

    #[test]
    fn numbers_are_digits_alone_and_never_overflow() {
        for (digits, expected) in [
            ("0", Some(0)),
            ("003600", Some(3600)),
            ("4294967295", Some(u32::MAX)),
            ("99999999999999999999999", Some(u32::MAX)),
            ("", None),
            ("-1", None),
            ("+1", None),
            ("1.0", None),
            ("1 ", None),
        ] {
            assert_eq!(decimal(digits.as_bytes()), expected, "{digits}");
        }
    }
}
