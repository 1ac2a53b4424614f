//! Reads request bodies: texts, files, forms, multipart, JSON, GraphQL.

use plimsoll_model::byte_order_mark;
use plimsoll_model::journey::{
    Function, MultipartPart as MultiPart, RequestBody, TextPiece, TextTemplate,
};

use super::scope::{FILE_LEN_MAX, PlanScope, VisibleSlots, merge_literals};
use crate::document::Shape::{self, Free, MapOf, Template};
use crate::document::{
    DocumentNode, KeywordTable, MapFields, NodeKind, SettingsMap as _, Spot, TemplateSegment,
    settings, switch, text, word,
};

/// Keys of a body.
pub(crate) const BODIES: [&str; 5] = ["body", "form", "multipart", "json", "graphql"];
const JSON_TYPE: &str = "application/json";

settings! {
    /// A body from a file.
    struct FileBody, BODY_FILE "body_file" {
        /// File, relative to the folder of the plan file.
        file: Option<String> = None, "file": text("a file name");
        /// Whether placeholders `{{ … }}` in the file are replaced.
        is_template: bool = false, "template": switch();
        /// Content-Type.
        content_type: Option<String> = None, "type": text("a media type such as text/plain");
    }
}

settings! {
    /// One part of a multipart body.
    struct PartSettings, MULTIPART_PART "part" {
        /// File with the content.
        "file": Shape::Text;
        /// The content.
        "text": Template;
        /// File name. Default: that of the file.
        name: Option<String> = None, "name": text("a file name");
        /// Content-Type of the part.
        content_type: Option<String> = None, "type": text("a media type such as image/png");
    }
}

/// A GraphQL request.
pub(crate) static GRAPHQL: KeywordTable = KeywordTable {
    name: "graphql",
    meaning: "A GraphQL request.",
    words: &[
        word!("query", Template, "The query."),
        word!("variables", MapOf(&Free), "Variables of the query."),
        word!("operation", Template, "Name of the operation."),
    ],
};

impl PlanScope<'_> {
    /// The body of a step, if any.
    pub(crate) fn body(
        &mut self,
        fields: &MapFields<'_>,
        reach: &VisibleSlots,
    ) -> Option<RequestBody> {
        if fields.among(&BODIES).is_empty() {
            return Some(RequestBody::Empty);
        }
        if let Some((key, node)) = self.reader.exactly_one(fields, &BODIES) {
            return self.body_of(&key.text, node, reach);
        }
        for (key, node) in fields.among(&BODIES) {
            self.body_of(&key.text, node, reach);
        }
        None
    }

    fn body_of(
        &mut self,
        kind: &str,
        node: &DocumentNode,
        reach: &VisibleSlots,
    ) -> Option<RequestBody> {
        match kind {
            "form" => self.form(node, reach),
            "multipart" => self.multipart(node, reach),
            "json" => self.json_body(node, reach),
            "graphql" => self.graphql(node, reach),
            _ => self.text_body(node, reach),
        }
    }

    fn text_body(&mut self, node: &DocumentNode, reach: &VisibleSlots) -> Option<RequestBody> {
        if !matches!(node.kind, NodeKind::Map(_)) {
            let text = self.text(node, reach)?;
            return Some(RequestBody::Text {
                content_type: None,
                text,
            });
        }
        let fields = self.reader.fields(node, &BODY_FILE)?;
        let Some(file) = fields.get("file") else {
            self.reader
                .report(node, "`file` is missing", "{ file: NAME }");
            return None;
        };
        let body = FileBody::read(self.reader, &fields);
        let path = body.file?;
        let text = if body.is_template {
            self.template_file(file, &path, reach)?
        } else {
            merge_literals(vec![self.file(file.span.start, &path)?])
        };
        Some(RequestBody::Text {
            content_type: body.content_type,
            text,
        })
    }

    pub(crate) fn template_file(
        &mut self,
        node: &DocumentNode,
        path: &str,
        reach: &VisibleSlots,
    ) -> Option<TextTemplate> {
        let content = self.reader.file(node, path, FILE_LEN_MAX)?;
        let Ok(text) = String::from_utf8(content) else {
            let message = format!("`{path}` is not UTF-8");
            self.reader
                .report(node, message, "a UTF-8 file, or no `template: true`");
            return None;
        };
        let text = byte_order_mark::skip_in(&text);
        self.text_at(Spot::of_file(node, text, path), reach)
    }

    fn form(&mut self, node: &DocumentNode, reach: &VisibleSlots) -> Option<RequestBody> {
        let entries = self.reader.entries(node, "fields and values")?;
        let mut fields = Vec::new();
        for (key, value) in entries {
            for item in self.reader.one_or_more(value) {
                let text = self.text(item, reach);
                fields.extend(text.map(|text| (key.text.clone(), text)));
            }
        }
        Some(RequestBody::Form(fields))
    }

    fn multipart(&mut self, node: &DocumentNode, reach: &VisibleSlots) -> Option<RequestBody> {
        let entries = self.reader.entries(node, "fields and values")?;
        let mut parts = Vec::new();
        for (key, value) in entries {
            for item in self.reader.one_or_more(value) {
                parts.extend(self.multipart_item(&key.text, item, reach));
            }
        }
        Some(RequestBody::Multipart(parts))
    }

    fn multipart_item(
        &mut self,
        name: &str,
        node: &DocumentNode,
        reach: &VisibleSlots,
    ) -> Option<MultiPart> {
        if matches!(node.kind, NodeKind::Map(_)) {
            return self.multipart_part(name, node, reach);
        }
        Some(MultiPart {
            name: name.to_owned(),
            file_name: None,
            content_type: None,
            content: self.text(node, reach)?,
        })
    }

    fn multipart_part(
        &mut self,
        name: &str,
        node: &DocumentNode,
        reach: &VisibleSlots,
    ) -> Option<MultiPart> {
        let reader = self.reader;
        let fields = reader.fields(node, &MULTIPART_PART)?;
        let (key, value) = reader.exactly_one(&fields, &["file", "text"])?;
        let settings = PartSettings::read(reader, &fields);
        let mut file_name = None;
        let content = if key.text == "file" {
            let path = reader.word(value, "a file name")?;
            let own = path.rsplit(['/', '\\']).next().unwrap_or_default();
            file_name = Some(own.to_owned());
            merge_literals(vec![self.file(value.span.start, &path)?])
        } else {
            self.text(value, reach)?
        };
        Some(MultiPart {
            name: name.to_owned(),
            file_name: settings.name.or(file_name),
            content_type: settings.content_type,
            content,
        })
    }

    pub(crate) fn json_body(
        &mut self,
        node: &DocumentNode,
        reach: &VisibleSlots,
    ) -> Option<RequestBody> {
        let pieces = match &node.kind {
            NodeKind::Scalar { text, plain } if !plain || json_literal(text).is_none() => {
                self.json_as_written(node, text, reach)?
            }
            _ => self.json_value(node, reach)?,
        };
        Some(RequestBody::Text {
            content_type: Some(JSON_TYPE.to_owned()),
            text: merge_literals(pieces),
        })
    }

    /// A text that is JSON: placeholders within quotes are escaped, others are inserted as they are.
    fn json_as_written(
        &mut self,
        node: &DocumentNode,
        text: &str,
        reach: &VisibleSlots,
    ) -> Option<Vec<TextPiece>> {
        let spot = Spot::of(node, text);
        let segments = spot.segments(self.reader)?;
        let mut sample = String::new();
        let mut within = false;
        let mut pieces = Vec::new();
        for segment in segments {
            match segment {
                TemplateSegment::Literal(literal) => {
                    within = ends_within_quotes(&literal, within);
                    sample.push_str(&literal);
                    pieces.push(TextPiece::Literal(literal));
                }
                TemplateSegment::Hole(expression) => {
                    // Outside quotes, a placeholder may stand for any JSON value.
                    sample.push('0');
                    let piece =
                        self.pieces(spot, vec![TemplateSegment::Hole(expression)], reach)?;
                    pieces.extend(
                        piece
                            .into_iter()
                            .map(|piece| if within { escaped(piece) } else { piece }),
                    );
                }
            }
        }
        if let Err(error) = serde_json::from_str::<serde_json::Value>(&sample) {
            let message = format!("invalid JSON: {error}");
            self.reader.report(
                node,
                message,
                "the JSON text to send, or a YAML map or list",
            );
            return None;
        }
        Some(pieces)
    }

    /// A value of YAML as JSON.
    fn json_value(&mut self, node: &DocumentNode, reach: &VisibleSlots) -> Option<Vec<TextPiece>> {
        match &node.kind {
            NodeKind::Scalar { text, plain } => {
                if let Some(literal) = plain.then(|| json_literal(text)).flatten() {
                    return Some(vec![TextPiece::Literal(literal)]);
                }
                self.json_text(node, text, reach)
            }
            NodeKind::List(items) => {
                let mut pieces = vec![literal("[")];
                for (place, item) in items.iter().enumerate() {
                    if place > 0 {
                        pieces.push(literal(","));
                    }
                    pieces.extend(self.json_value(item, reach)?);
                }
                pieces.push(literal("]"));
                Some(pieces)
            }
            NodeKind::Map(entries) => {
                let mut pieces = vec![literal("{")];
                for (place, (key, value)) in entries.iter().enumerate() {
                    let comma = if place > 0 { "," } else { "" };
                    let name = serde_json::Value::from(key.text.as_str());
                    pieces.push(TextPiece::Literal(format!("{comma}{name}:")));
                    pieces.extend(self.json_value(value, reach)?);
                }
                pieces.push(literal("}"));
                Some(pieces)
            }
        }
    }

    fn json_text(
        &mut self,
        node: &DocumentNode,
        text: &str,
        reach: &VisibleSlots,
    ) -> Option<Vec<TextPiece>> {
        let spot = Spot::of(node, text);
        let segments = spot.segments(self.reader)?;
        let mut pieces = vec![literal("\"")];
        for piece in self.pieces(spot, segments, reach)? {
            pieces.push(match piece {
                TextPiece::Literal(text) => {
                    let quoted = serde_json::Value::from(text).to_string();
                    TextPiece::Literal(quoted[1..quoted.len() - 1].to_owned())
                }
                piece => escaped(piece),
            });
        }
        pieces.push(literal("\""));
        Some(pieces)
    }

    fn graphql(&mut self, node: &DocumentNode, reach: &VisibleSlots) -> Option<RequestBody> {
        let fields = self.reader.fields(node, &GRAPHQL)?;
        let Some(query) = fields.get("query") else {
            self.reader
                .report(node, "`query` is missing", "query, variables, operation");
            return None;
        };
        let text = self.reader.scalar(query, "a GraphQL query")?;
        let mut pieces = vec![literal("{\"query\":")];
        pieces.extend(self.json_text(query, text, reach)?);
        if let Some(variables) = fields.get("variables") {
            self.reader.entries(variables, "names and values")?;
            pieces.push(literal(",\"variables\":"));
            pieces.extend(self.json_value(variables, reach)?);
        }
        if let Some(operation) = fields.get("operation") {
            let text = self.reader.scalar(operation, "a name")?;
            pieces.push(literal(",\"operationName\":"));
            pieces.extend(self.json_text(operation, text, reach)?);
        }
        pieces.push(literal("}"));
        Some(RequestBody::Text {
            content_type: Some(JSON_TYPE.to_owned()),
            text: merge_literals(pieces),
        })
    }
}

fn literal(text: &str) -> TextPiece {
    TextPiece::Literal(text.to_owned())
}

fn escaped(piece: TextPiece) -> TextPiece {
    TextPiece::Call(Function::Json, vec![merge_literals(vec![piece])])
}

/// Whether a JSON text is within quotes behind `text`.
fn ends_within_quotes(text: &str, within: bool) -> bool {
    let mut within = within;
    let mut escaped = false;
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if within => escaped = true,
            b'"' => within = !within,
            _ => {}
        }
    }
    within
}

/// The JSON value of a plain scalar that is not a text (core schema of YAML 1.2).
fn json_literal(text: &str) -> Option<String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some("null".to_owned()),
        "true" | "True" | "TRUE" => return Some("true".to_owned()),
        "false" | "False" | "FALSE" => return Some("false".to_owned()),
        _ => {}
    }
    let in_number = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    if !text.contains(|c: char| c.is_ascii_digit()) || !text.chars().all(in_number) {
        return None;
    }
    if serde_json::from_str::<serde_json::Number>(text).is_ok() {
        return Some(text.to_owned());
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.to_string());
    }
    let number = text.parse::<f64>().ok()?;
    serde_json::Number::from_f64(number).map(|number| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_are_what_yaml_says() {
        let check =
            |text: &str, json: Option<&str>| assert_eq!(json_literal(text).as_deref(), json);
        check("12", Some("12"));
        check("007", Some("7"));
        check("+5", Some("5"));
        check("1.50", Some("1.50"));
        check("~", Some("null"));
        check("1.2.3", None);
        check("2024-01-01", None);
        check("yes", None);
        check("-", None);
    }
}
