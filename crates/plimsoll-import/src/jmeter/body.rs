//! Bodies of samplers: raw texts, forms, multipart forms, files.

use super::context::Import;
use super::scope::Merged;
use super::tree::{Element, Property};
use super::value::Value;
use crate::script::Template;
use crate::script::draft::{BodyDraft, PartContent, PartDraft};
use crate::{DataFile, FileContent};

/// A file that a sampler sends.
struct SentFile<'e> {
    property: &'e Property,
    path: String,
    field: String,
    media_type: Option<String>,
}

impl Import<'_> {
    /// The body of a sampler; a Content-Type that JMeter would add is added to the headers.
    pub(super) fn body(
        &mut self,
        sampler: &Element,
        merged: &Merged<'_>,
        method: &str,
        headers: &mut Vec<(String, Value)>,
    ) -> Option<BodyDraft> {
        let arguments = merged.arguments();
        let files = self.sent_files(sampler);
        let is_raw = merged.is_set_or("HTTPSampler.postBodyRaw", false)
            || (!arguments.is_empty()
                && arguments
                    .iter()
                    .all(|argument| argument.text_of("Argument.name").is_empty()));
        if method == "GET" || method == "HEAD" || method == "OPTIONS" {
            if !is_raw || method != "GET" {
                return None;
            }
            return self.raw(sampler, merged, &arguments, headers);
        }
        let sends_file = matches!(files.as_slice(), [only] if only.field.is_empty());
        let is_multipart = merged.is_set_or("HTTPSampler.DO_MULTIPART_POST", false);
        if is_multipart || (!files.is_empty() && !sends_file) {
            headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
            return Some(self.multipart(sampler, merged, &arguments, &files));
        }
        if let ([file], true) = (files.as_slice(), arguments.is_empty()) {
            return self.file(sampler, file, headers);
        }
        if is_raw {
            return self.raw(sampler, merged, &arguments, headers);
        }
        // JMeter sends the arguments of DELETE in its query, as those of GET, and in its body.
        (!arguments.is_empty()).then(|| self.form(&arguments))
    }

    fn sent_files<'e>(&mut self, sampler: &'e Element) -> Vec<SentFile<'e>> {
        let list = sampler
            .get("HTTPsampler.Files")
            .map_or(&[][..], |own| own.items_of("HTTPFileArgs.files"));
        let mut files = Vec::new();
        for property in list {
            let path = self.of_item(property, "File.path");
            let Some(path) = path.constant() else {
                self.lose_text(
                    property.at,
                    &format!("file {}", property.text_of("File.path")),
                    "its name changes at run time",
                    "write the name of one file",
                );
                continue;
            };
            if path.trim().is_empty() {
                continue;
            }
            let field = self.of_item(property, "File.paramname").constant();
            let media_type = self.of_item(property, "File.mimetype").constant();
            files.push(SentFile {
                property,
                path: path.trim().to_owned(),
                field: field.unwrap_or_default(),
                media_type: media_type.filter(|kind| !kind.trim().is_empty()),
            });
        }
        files
    }

    fn raw(
        &mut self,
        sampler: &Element,
        merged: &Merged<'_>,
        arguments: &[&Property],
        headers: &mut Vec<(String, Value)>,
    ) -> Option<BodyDraft> {
        let mut text = Value::default();
        for argument in arguments {
            let value = self.of_item(argument, "Argument.value");
            text.push(if argument.is_set("HTTPArgument.always_encode") {
                value.form_encoded()
            } else {
                value
            });
        }
        if text.is_empty() {
            return None;
        }
        let charset = self.charset(sampler, merged, &text);
        let has_kind = headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if !has_kind {
            let kind = format!("text/plain; charset={charset}");
            headers.push(("Content-Type".to_owned(), Value::text(kind)));
        }
        Some(BodyDraft::Text(text.template()))
    }

    /// The charset that a sampler names. A plan sends UTF-8.
    fn charset(&mut self, sampler: &Element, merged: &Merged<'_>, text: &Value) -> String {
        let property = "HTTPSampler.contentEncoding";
        let charset = self.of(merged.layer(property), property).constant();
        let charset = charset.map(|name| name.trim().to_owned());
        let charset = charset.filter(|name| !name.is_empty());
        let charset = charset.unwrap_or_else(|| "UTF-8".to_owned());
        let is_ascii = text.literal().is_some_and(str::is_ascii);
        if !charset.eq_ignore_ascii_case("utf-8") && !is_ascii {
            self.lose_part(
                sampler,
                property,
                (
                    &format!("content encoding {charset}"),
                    "a plan sends texts in UTF-8",
                    "put the body into a file in that encoding: `body: { file: NAME }`",
                ),
            );
        }
        charset
    }

    fn form(&mut self, arguments: &[&Property]) -> BodyDraft {
        let mut fields = Vec::new();
        for argument in arguments {
            let is_encoded = argument.is_set("HTTPArgument.always_encode");
            let name = self.of_item(argument, "Argument.name");
            let value = self.argument_value(argument, &name);
            let Some(name) = name.constant() else {
                self.lose_name(argument);
                continue;
            };
            // JMeter decodes what is marked as encoded already, and encodes all.
            let (name, value) = if is_encoded {
                (name, value)
            } else {
                let name = Value::text(name).form_decoded();
                (
                    name.literal().unwrap_or_default().to_owned(),
                    value.form_decoded(),
                )
            };
            if !name.is_empty() {
                fields.push((name, value.template()));
            }
        }
        BodyDraft::Form(fields)
    }

    fn lose_name(&mut self, argument: &Property) {
        self.lose_text(
            argument.at,
            &format!("parameter {}", argument.text_of("Argument.name")),
            "its name changes at run time",
            "write the whole body as a text under `body`",
        );
    }

    fn multipart(
        &mut self,
        sampler: &Element,
        merged: &Merged<'_>,
        arguments: &[&Property],
        files: &[SentFile<'_>],
    ) -> BodyDraft {
        let is_plain = merged.is_set_or("HTTPSampler.BROWSER_COMPATIBLE_MULTIPART", false);
        let mut parts = Vec::new();
        for argument in arguments {
            let name = self.of_item(argument, "Argument.name");
            let value = self.argument_value(argument, &name);
            let Some(name) = name.constant() else {
                self.lose_name(argument);
                continue;
            };
            if name.is_empty() {
                continue;
            }
            let charset = self.charset(sampler, merged, &value);
            let own = argument.text_of("HTTPArgument.content_type").trim();
            let kind = match own {
                "" => format!("text/plain; charset={charset}"),
                kind if kind.contains(';') => kind.to_owned(),
                kind => format!("{kind}; charset={charset}"),
            };
            parts.push(PartDraft {
                name,
                content: PartContent::Text(value.template()),
                file_name: None,
                media_type: (!is_plain).then_some(kind),
            });
        }
        for file in files {
            let content = match self.copied(sampler, file) {
                Some(path) => PartContent::File(path),
                None => PartContent::Text(Template::default()),
            };
            let own = file.path.rsplit(['/', '\\']).next().unwrap_or_default();
            parts.push(PartDraft {
                name: file.field.clone(),
                content,
                file_name: Some(own.to_owned()),
                media_type: file.media_type.clone(),
            });
        }
        BodyDraft::Multipart(parts)
    }

    fn file(
        &mut self,
        sampler: &Element,
        file: &SentFile<'_>,
        headers: &mut Vec<(String, Value)>,
    ) -> Option<BodyDraft> {
        let path = self.copied(sampler, file)?;
        let has_kind = headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if let (Some(kind), false) = (&file.media_type, has_kind) {
            headers.push(("Content-Type".to_owned(), Value::text(kind)));
        }
        Some(BodyDraft::File {
            path,
            media_type: None,
            is_template: false,
        })
    }

    /// The name beside the plan of a file that is there; a missing one is lost.
    fn copied(&mut self, sampler: &Element, file: &SentFile<'_>) -> Option<String> {
        if let Err(why) = self.script.files.text(&file.path) {
            // Files that are no text are there nevertheless.
            let is_there = why.contains("UTF-8") || why.contains("longer than");
            if !is_there {
                self.lose_text(
                    file.property.at,
                    &format!("file {} of {}", file.path, super::names::title(sampler)),
                    &why,
                    "put the file beside the .jmx, then import again",
                );
                return None;
            }
        }
        if self.name_file(&file.path).is_some() {
            return Some(file.path.clone());
        }
        let own = file.path.rsplit(['/', '\\']).next().unwrap_or_default();
        let inside = |c: char| {
            if c.is_alphanumeric() || matches!(c, '.' | '-' | '_') {
                c
            } else {
                '_'
            }
        };
        let own: String = own.chars().map(inside).collect();
        let name = format!("files/{}", own.trim_start_matches('.'));
        if self.files.iter().all(|known| known.name != name) {
            self.files.push(DataFile {
                name: name.clone(),
                content: FileContent::Copy(file.path.clone()),
            });
        }
        Some(name)
    }
}
