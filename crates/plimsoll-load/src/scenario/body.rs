//! Bodies of requests: text, form, multipart.

use plimsoll_model::journey::{self, Part};
use url::form_urlencoded::byte_serialize;

use super::text::{Text, Values};

/// A compiled body.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Empty,
    Text(Text),
    Form(Vec<Field>),
    /// Texts one after another, framing included.
    Parts(Vec<Text>),
}

/// A field of a form.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Separator, name and `=`; and the value, too, when it is constant.
    start: Vec<u8>,
    value: Option<Text>,
}

impl Body {
    /// The body, and the `Content-Type` it has unless a header says otherwise. `boundary` stands between the parts of
    /// a multipart body.
    pub(crate) fn new(body: &journey::Body, boundary: &str) -> (Self, Option<String>) {
        match body {
            journey::Body::Empty => (Self::Empty, None),
            journey::Body::Text { content_type, text } => {
                (Self::Text(Text::new(text)), content_type.clone())
            }
            journey::Body::Form(fields) => {
                let fields = fields.iter().enumerate().map(|(index, (name, value))| {
                    let separator = if index == 0 { "" } else { "&" };
                    let mut start =
                        format!("{separator}{}=", encoded(name.as_bytes())).into_bytes();
                    let text = Text::new(value);
                    let constant = text.constant();
                    if let Some(bytes) = &constant {
                        start.extend_from_slice(encoded(bytes).as_bytes());
                    }
                    Field {
                        start,
                        value: constant.is_none().then_some(text),
                    }
                });
                let kind = "application/x-www-form-urlencoded".to_owned();
                (Self::Form(fields.collect()), Some(kind))
            }
            journey::Body::Multipart(parts) => {
                let mut texts = Vec::new();
                for part in parts {
                    texts.push(Text::literal(part_head(part, boundary).as_bytes()));
                    texts.push(Text::new(&part.content));
                    texts.push(Text::literal(b"\r\n"));
                }
                texts.push(Text::literal(format!("--{boundary}--\r\n").as_bytes()));
                let kind = format!("multipart/form-data; boundary={boundary}");
                (Self::Parts(texts), Some(kind))
            }
        }
    }

    /// Appends it, filled.
    pub(crate) fn render(&self, values: &mut Values<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Empty => {}
            Self::Text(text) => text.render(values, out),
            Self::Form(fields) => {
                let mut plain = Vec::new();
                for field in fields {
                    out.extend_from_slice(&field.start);
                    if let Some(value) = &field.value {
                        plain.clear();
                        value.render(values, &mut plain);
                        for piece in byte_serialize(&plain) {
                            out.extend_from_slice(piece.as_bytes());
                        }
                    }
                }
            }
            Self::Parts(texts) => texts.iter().for_each(|text| text.render(values, out)),
        }
    }

    /// Feeds whose columns it names.
    pub(crate) fn feeds(&self, found: &mut Vec<u32>) {
        match self {
            Self::Empty => {}
            Self::Text(text) => text.feeds(found),
            Self::Form(fields) => {
                let values = fields.iter().filter_map(|field| field.value.as_ref());
                values.for_each(|text| text.feeds(found));
            }
            Self::Parts(texts) => texts.iter().for_each(|text| text.feeds(found)),
        }
    }
}

fn encoded(bytes: &[u8]) -> String {
    byte_serialize(bytes).collect()
}

/// What stands before the content of a part (RFC 7578), with names quoted as browsers do.
fn part_head(part: &Part, boundary: &str) -> String {
    let quoted = |name: &str| {
        let name = name.replace('"', "%22");
        name.replace('\r', "%0D").replace('\n', "%0A")
    };
    let name = quoted(&part.name);
    let file = part.file_name.as_ref();
    let file = file.map(|name| format!("; filename=\"{}\"", quoted(name)));
    let default = part
        .file_name
        .is_some()
        .then_some("application/octet-stream");
    let kind = part.content_type.as_deref().or(default);
    let kind = kind.map(|kind| format!("\r\nContent-Type: {kind}"));
    format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"{}{}\r\n\r\n",
        file.unwrap_or_default(),
        kind.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::journey::{Inputs, Piece};
    use plimsoll_model::seed::Seed;

    #[track_caller]
    fn check(body: &journey::Body, kind: Option<&str>, expected: &str) {
        let (body, found) = Body::new(body, "BOUND");
        let mut random = Seed(1).generator();
        let mut values = Values {
            slots: &[b"a b&c=\xc3\xbc".to_vec()],
            rows: &[],
            inputs: &Inputs::default(),
            user: 1,
            iteration: 1,
            unix_ns: 0,
            random: &mut random,
        };
        let mut out = Vec::new();
        body.render(&mut values, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        assert_eq!(found.as_deref(), kind);
    }

    fn hole() -> journey::Text {
        journey::Text {
            pieces: vec![Piece::Slot(0)],
        }
    }

    #[test]
    fn a_form_is_encoded() {
        let fields = vec![
            ("user name".to_owned(), journey::Text::literal("a+b")),
            ("q".to_owned(), hole()),
        ];
        check(
            &journey::Body::Form(fields),
            Some("application/x-www-form-urlencoded"),
            "user+name=a%2Bb&q=a+b%26c%3D%C3%BC",
        );
    }

    #[test]
    fn multipart_is_framed() {
        let part = |name: &str, file: Option<&str>, content| Part {
            name: name.to_owned(),
            file_name: file.map(str::to_owned),
            content_type: None,
            content,
        };
        let parts = vec![
            part("a\"b", None, journey::Text::literal("1")),
            part("code", Some("a.c"), hole()),
        ];
        check(
            &journey::Body::Multipart(parts),
            Some("multipart/form-data; boundary=BOUND"),
            "--BOUND\r\nContent-Disposition: form-data; name=\"a%22b\"\r\n\r\n1\r\n\
             --BOUND\r\nContent-Disposition: form-data; name=\"code\"; filename=\"a.c\"\r\n\
             Content-Type: application/octet-stream\r\n\r\na b&c=ü\r\n--BOUND--\r\n",
        );
    }

    #[test]
    fn a_text_stands_as_it_is() {
        let body = journey::Body::Text {
            content_type: Some("application/json".to_owned()),
            text: journey::Text::literal("{}"),
        };
        check(&body, Some("application/json"), "{}");
        check(&journey::Body::Empty, None, "");
    }
}
