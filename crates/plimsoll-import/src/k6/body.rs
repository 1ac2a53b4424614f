//! Bodies of requests: texts, forms, multipart forms and files.

use super::http::plain_name;
use super::machine::Machine;
use super::text::Text;
use super::value::Value;
use crate::script::draft::{BodyDraft, PartContent, PartDraft};

impl<'a> Machine<'a, '_> {
    /// The body of a request; its Content-Type becomes one of the headers.
    pub(super) fn body(
        &mut self,
        body: &Value<'a>,
        headers: &mut Vec<(String, Text)>,
        at: u32,
    ) -> Option<BodyDraft> {
        match body {
            Value::Undefined | Value::Null => None,
            Value::Object(_) => Some(self.form(body, headers, at)),
            Value::File(file) if file.text.is_none() => {
                self.keep_file(&file.path);
                Some(BodyDraft::File {
                    path: plain_name(&file.path),
                    media_type: None,
                    is_template: false,
                })
            }
            Value::Row(row) if matches!(row.example, Value::Object(_)) => {
                Some(self.form(body, headers, at))
            }
            other => {
                let text = self.text_of(other, at);
                if text.pieces().is_empty() {
                    return None;
                }
                Some(BodyDraft::Text(self.template(&text)))
            }
        }
    }

    /// An object as a form, in the order in which k6 sends it: by name.
    fn form(&mut self, body: &Value<'a>, headers: &mut Vec<(String, Text)>, at: u32) -> BodyDraft {
        let mut entries = match body {
            Value::Row(row) => row
                .example
                .entries()
                .into_iter()
                .map(|(key, _)| {
                    let member = self.member(body, &key, at);
                    (key, member)
                })
                .collect(),
            body => body.entries(),
        };
        let is_multipart = entries
            .iter()
            .any(|(_, value)| matches!(value, Value::Part(_)));
        if is_multipart {
            headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
            return BodyDraft::Multipart(self.parts(&entries, at));
        }
        entries.sort_by(|(left, _), (right, _)| left.cmp(right));
        let mut fields = Vec::new();
        for (name, value) in entries {
            let values = match &value {
                Value::List(list) => list.items.borrow().clone(),
                _ => vec![value],
            };
            for value in values {
                let value = self.without_secret(&name, &value);
                let text = self.text_of(&value, at);
                fields.push((name.clone(), text));
            }
        }
        // k6 sets the type itself.
        headers.retain(|(name, value)| {
            !name.eq_ignore_ascii_case("content-type")
                || value.constant() != Some("application/x-www-form-urlencoded")
        });
        let fields = fields
            .iter()
            .map(|(name, value)| (name.clone(), self.template(value)))
            .collect();
        BodyDraft::Form(fields)
    }

    fn parts(&mut self, entries: &[(String, Value<'a>)], at: u32) -> Vec<PartDraft> {
        let mut parts = Vec::new();
        for (name, value) in entries {
            let part = match value {
                Value::Part(file) => {
                    let content = match &file.path {
                        Some(path) => {
                            self.keep_file(path);
                            PartContent::File(plain_name(path))
                        }
                        None => PartContent::Text(self.template(&file.text)),
                    };
                    PartDraft {
                        name: name.clone(),
                        content,
                        file_name: Some(file.name.clone()),
                        media_type: file.media_type.clone(),
                    }
                }
                other => {
                    let other = self.without_secret(name, other);
                    let text = self.text_of(&other, at);
                    PartDraft {
                        name: name.clone(),
                        content: PartContent::Text(self.template(&text)),
                        file_name: None,
                        media_type: None,
                    }
                }
            };
            parts.push(part);
        }
        parts
    }

    /// A file that the plan names lies beside it.
    pub(super) fn keep_file(&mut self, path: &str) {
        let name = plain_name(path);
        if !self.data_files.iter().any(|file| file.name == name) {
            self.data_files.push(crate::DataFile {
                name,
                content: crate::FileContent::Copy(path.to_owned()),
            });
        }
    }
}
