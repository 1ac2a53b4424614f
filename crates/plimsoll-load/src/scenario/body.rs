//! Bodies of requests: text, form, multipart.

use plimsoll_model::journey::{self, MultipartPart};
use url::form_urlencoded::byte_serialize;

use super::text::{CompiledText, TemplateValues};

/// A compiled body.
#[derive(Clone, Debug)]
pub(crate) enum CompiledBody {
    Empty,
    Text(CompiledText),
    Form(Vec<CompiledField>),
    /// Texts in sequence, framing included.
    Multipart(Vec<CompiledText>),
}

/// A field of a form.
#[derive(Clone, Debug)]
pub(crate) struct CompiledField {
    /// Separator, name and `=`; also the value when it is constant.
    start: Vec<u8>,
    value: Option<CompiledText>,
}

impl CompiledBody {
    /// The body, and its default `Content-Type`. `boundary` separates the parts of
    /// a multipart body.
    pub(crate) fn new(body: &journey::RequestBody, boundary: &str) -> (Self, Option<String>) {
        match body {
            journey::RequestBody::Empty => (Self::Empty, None),
            journey::RequestBody::Text { content_type, text } => {
                (Self::Text(CompiledText::new(text)), content_type.clone())
            }
            journey::RequestBody::Form(fields) => {
                let fields = fields.iter().enumerate().map(|(index, (name, value))| {
                    let separator = if index == 0 { "" } else { "&" };
                    let mut start =
                        format!("{separator}{}=", encoded(name.as_bytes())).into_bytes();
                    let text = CompiledText::new(value);
                    let constant = text.constant();
                    if let Some(bytes) = &constant {
                        start.extend_from_slice(encoded(bytes).as_bytes());
                    }
                    CompiledField {
                        start,
                        value: constant.is_none().then_some(text),
                    }
                });
                let kind = "application/x-www-form-urlencoded".to_owned();
                (Self::Form(fields.collect()), Some(kind))
            }
            journey::RequestBody::Multipart(parts) => {
                let mut texts = Vec::new();
                for part in parts {
                    texts.push(CompiledText::literal(part_head(part, boundary).as_bytes()));
                    texts.push(CompiledText::new(&part.content));
                    texts.push(CompiledText::literal(b"\r\n"));
                }
                texts.push(CompiledText::literal(
                    format!("--{boundary}--\r\n").as_bytes(),
                ));
                let kind = format!("multipart/form-data; boundary={boundary}");
                (Self::Multipart(texts), Some(kind))
            }
        }
    }

    /// Appends it with its placeholders filled.
    pub(crate) fn render(&self, values: &mut TemplateValues<'_>, out: &mut Vec<u8>) {
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
            Self::Multipart(texts) => texts.iter().for_each(|text| text.render(values, out)),
        }
    }

    /// Feeds whose columns it uses.
    pub(crate) fn feeds(&self, found: &mut Vec<u32>) {
        match self {
            Self::Empty => {}
            Self::Text(text) => text.feeds(found),
            Self::Form(fields) => {
                let values = fields.iter().filter_map(|field| field.value.as_ref());
                values.for_each(|text| text.feeds(found));
            }
            Self::Multipart(texts) => texts.iter().for_each(|text| text.feeds(found)),
        }
    }
}

fn encoded(bytes: &[u8]) -> String {
    byte_serialize(bytes).collect()
}

/// The head of a part (RFC 7578), with names quoted as browsers do.
fn part_head(part: &MultipartPart, boundary: &str) -> String {
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
    use plimsoll_model::journey::{Inputs, TextPiece};
    use plimsoll_model::seed::Seed;

    #[track_caller]
    fn check(body: &journey::RequestBody, kind: Option<&str>, expected: &str) {
        let (body, found) = CompiledBody::new(body, "BOUND");
        let mut random = Seed(1).generator();
        let mut values = TemplateValues {
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

    fn hole() -> journey::TextTemplate {
        journey::TextTemplate {
            pieces: vec![TextPiece::Slot(0)],
        }
    }

    #[test]
    fn a_form_is_encoded() {
        let fields = vec![
            (
                "user name".to_owned(),
                journey::TextTemplate::literal("a+b"),
            ),
            ("q".to_owned(), hole()),
        ];
        check(
            &journey::RequestBody::Form(fields),
            Some("application/x-www-form-urlencoded"),
            "user+name=a%2Bb&q=a+b%26c%3D%C3%BC",
        );
    }

    #[test]
    fn multipart_is_framed() {
        let part = |name: &str, file: Option<&str>, content| MultipartPart {
            name: name.to_owned(),
            file_name: file.map(str::to_owned),
            content_type: None,
            content,
        };
        let parts = vec![
            part("a\"b", None, journey::TextTemplate::literal("1")),
            part("code", Some("a.c"), hole()),
        ];
        check(
            &journey::RequestBody::Multipart(parts),
            Some("multipart/form-data; boundary=BOUND"),
            "--BOUND\r\nContent-Disposition: form-data; name=\"a%22b\"\r\n\r\n1\r\n\
             --BOUND\r\nContent-Disposition: form-data; name=\"code\"; filename=\"a.c\"\r\n\
             Content-Type: application/octet-stream\r\n\r\na b&c=ü\r\n--BOUND--\r\n",
        );
    }

    #[test]
    fn a_text_stands_as_it_is() {
        let body = journey::RequestBody::Text {
            content_type: Some("application/json".to_owned()),
            text: journey::TextTemplate::literal("{}"),
        };
        check(&body, Some("application/json"), "{}");
        check(&journey::RequestBody::Empty, None, "");
    }
}
