//! Fields of a `multipart/form-data` body (RFC 7578) that was recorded as text.

use crate::recording::FormField;

/// The parts of `text`; none if it is not valid for its media type.
pub(super) fn fields(media_type: &str, text: &str) -> Vec<FormField> {
    let Some(boundary) = boundary(media_type) else {
        return Vec::new();
    };
    let mark = format!("--{boundary}");
    text.split(mark.as_str())
        .skip(1)
        .filter_map(parse_part)
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

fn parse_part(text: &str) -> Option<FormField> {
    let text = text
        .strip_prefix("\r\n")
        .or_else(|| text.strip_prefix('\n'))?;
    let (head, value) = text
        .split_once("\r\n\r\n")
        .or_else(|| text.split_once("\n\n"))?;
    let value = value
        .strip_suffix("\r\n")
        .or_else(|| value.strip_suffix('\n'))
        .unwrap_or(value);
    let mut field = FormField {
        value: value.to_owned(),
        ..FormField::default()
    };
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

fn parameter(content: &str, name: &str) -> Option<String> {
    content.split(';').find_map(|piece| {
        let (key, value) = piece.trim().split_once('=')?;
        key.eq_ignore_ascii_case(name)
            .then(|| value.trim_matches('"').replace("%22", "\""))
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
        let found = fields("multipart/form-data; boundary=XyZ", text);
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].name.as_str(), found[0].value.as_str()),
            ("csrf", "abc")
        );
        assert_eq!(found[1].file_name.as_deref(), Some("a.c"));
        assert_eq!(found[1].value, "int x;\n");
        assert!(fields("multipart/form-data", text).is_empty());
    }
}
