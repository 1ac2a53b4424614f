//! Fields of a `multipart/form-data` body (RFC 7578) that was recorded as text.

use std::borrow::Cow;

use crate::recording::FormField;

/// The parts of a body; none if it is not valid for its media type.
pub(super) fn fields(media_type: &str, body: &[u8]) -> Vec<FormField> {
    let Some(boundary) = boundary(media_type) else {
        return Vec::new();
    };
    let mark = format!("--{boundary}");
    let starts: Vec<usize> = memchr::memmem::find_iter(body, mark.as_bytes())
        .map(|at| at + mark.len())
        .collect();
    let ends = starts.iter().skip(1).map(|start| start - mark.len());
    starts
        .iter()
        .zip(ends.chain([body.len()]))
        .filter_map(|(&start, end)| parse_part(body.get(start..end)?))
        .collect()
}

fn boundary(media_type: &str) -> Option<&str> {
    let lower = media_type.to_ascii_lowercase();
    let start = lower.find("boundary=")? + "boundary=".len();
    let value = media_type
        .get(start..)?
        .split(';')
        .next()?
        .trim()
        .trim_matches('"');
    (!value.is_empty()).then_some(value)
}

fn parse_part(part: &[u8]) -> Option<FormField> {
    let part = part
        .strip_prefix(b"\r\n")
        .or_else(|| part.strip_prefix(b"\n"))?;
    let (head, value) = split(part, b"\r\n\r\n").or_else(|| split(part, b"\n\n"))?;
    let value = value
        .strip_suffix(b"\r\n")
        .or_else(|| value.strip_suffix(b"\n"))
        .unwrap_or(value);
    let text = String::from_utf8_lossy(value);
    let mut field = FormField {
        bytes: matches!(text, Cow::Owned(_)).then(|| value.to_vec()),
        value: text.into_owned(),
        ..FormField::default()
    };
    let head = String::from_utf8_lossy(head);
    let mut named = false;
    for line in head.lines() {
        let (name, content) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-disposition") {
            field.name = parameter(content, "name")?;
            field.file_name = parameter(content, "filename");
            named = true;
        } else if name.eq_ignore_ascii_case("content-type") {
            field.media_type = Some(content.trim().to_owned());
        }
    }
    named.then_some(field)
}

/// What lies before and behind the first `mark`.
fn split<'a>(bytes: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = memchr::memmem::find(bytes, mark)?;
    Some((&bytes[..at], &bytes[at + mark.len()..]))
}

/// A parameter of a header; a semicolon in quotes ends none. Browsers write a quote as `%22`, others behind a backslash.
fn parameter(content: &str, name: &str) -> Option<String> {
    let mut is_quoted = false;
    let mut is_escaped = false;
    let mut pieces = content.split(|c: char| {
        let is_mark = !std::mem::take(&mut is_escaped);
        match c {
            '\\' => is_escaped = is_mark && is_quoted,
            '"' if is_mark => is_quoted = !is_quoted,
            _ => {}
        }
        c == ';' && !is_quoted
    });
    pieces.find_map(|piece| {
        let (key, value) = piece.trim().split_once('=')?;
        let inner = value
            .strip_prefix('"')
            .and_then(|value| value.strip_suffix('"'));
        key.eq_ignore_ascii_case(name).then(|| {
            let value = inner.unwrap_or(value);
            value.replace("\\\"", "\"").replace("%22", "\"")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_taken_apart() {
        let text = "--XyZ\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\nabc\r\n\
                    --XyZ\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.c\"\r\n\
                    Content-Type: text/plain\r\n\r\nint x;\n\r\n--XyZ--\r\n";
        let found = fields("multipart/form-data; boundary=XyZ", text.as_bytes());
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].name.as_str(), found[0].value.as_str()),
            ("csrf", "abc")
        );
        assert_eq!(found[1].file_name.as_deref(), Some("a.c"));
        assert_eq!(found[1].value, "int x;\n");
        assert!(fields("multipart/form-data", text.as_bytes()).is_empty());
    }

    #[test]
    fn names_of_files_may_have_semicolons_and_quotes() {
        for (written, expected) in [
            (r#""a;b.txt""#, "a;b.txt"),
            (r#""a%22b%22.txt""#, "a\"b\".txt"),
            (r#""a \"b; c\".txt""#, "a \"b; c\".txt"),
            ("plain.txt", "plain.txt"),
            (r#""""#, ""),
        ] {
            let head = format!("form-data; name=\"f\"; filename={written}; x=1");
            assert_eq!(
                parameter(&head, "filename").as_deref(),
                Some(expected),
                "{written}"
            );
            assert_eq!(parameter(&head, "name").as_deref(), Some("f"), "{written}");
        }
    }

    #[test]
    fn parts_that_are_not_utf8_keep_their_bytes() {
        let body = b"--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.png\"\r\n\r\n\x89PNG\r\n\r\n--B\r\n\
                     Content-Disposition: form-data; name=\"f\"\r\n\r\nb\r\n--B--\r\n";
        let found = fields("multipart/form-data; boundary=B", body);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].bytes.as_deref(), Some(&b"\x89PNG\r\n"[..]));
        assert_eq!(
            (found[1].value.as_str(), found[1].bytes.as_ref()),
            ("b", None)
        );
    }
}
