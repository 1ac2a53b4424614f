//! Bodies of XML, by the `xml` objects of their schemas.

use std::fmt::Write as _;

use super::documents::{Documents, Node};
use super::schema::Constraints;
use super::value::{Encoding, ExampleValue};
use crate::script::Template;

/// A value of a schema as an XML document.
pub(super) fn document<'d>(
    documents: &'d Documents<'_>,
    schema: Node<'d>,
    value: &ExampleValue,
) -> Template {
    let constraints = Constraints::of(documents, schema);
    let name = constraints
        .name
        .clone()
        .unwrap_or_else(|| "root".to_owned());
    let mut writer = XmlWriter {
        documents,
        done: Template::literal("<?xml version=\"1.0\" encoding=\"UTF-8\"?>"),
    };
    writer.element(&name, Some(&constraints), value);
    writer.done
}

struct XmlWriter<'d, 's> {
    documents: &'d Documents<'s>,
    done: Template,
}

impl<'d> XmlWriter<'d, '_> {
    /// An element; of a list, one for each item, which a wrapping element may contain.
    fn element(&mut self, name: &str, schema: Option<&Constraints<'d>>, value: &ExampleValue) {
        let own = element_name(name, schema);
        if let ExampleValue::List(items) = value {
            let of_item = schema
                .and_then(|schema| schema.items)
                .map(|items| Constraints::of(self.documents, items));
            let is_wrapped = schema
                .and_then(|schema| schema.xml)
                .is_some_and(|xml| xml.is_set("wrapped"));
            if is_wrapped {
                self.push(&format!("<{own}>"));
            }
            let inner = if is_wrapped { &own } else { name };
            for item in items {
                self.element(inner, of_item.as_ref(), item);
            }
            if is_wrapped {
                self.push(&format!("</{own}>"));
            }
            return;
        }
        self.push(&format!("<{own}{}", namespace(schema)));
        let ExampleValue::Map(entries) = value else {
            self.push(">");
            self.content(value);
            self.push(&format!("</{own}>"));
            return;
        };
        let properties: Vec<_> = entries
            .iter()
            .map(|(name, value)| (name, self.property(schema, name), value))
            .collect();
        let is_attribute = |property: &Option<Constraints<'d>>| {
            let xml = property.as_ref().and_then(|property| property.xml);
            xml.is_some_and(|xml| {
                xml.is_set("attribute") || xml.word("nodeType") == Some("attribute")
            })
        };
        for (name, property, value) in properties.iter().filter(|(_, p, _)| is_attribute(p)) {
            self.push(&format!(" {}=\"", element_name(name, property.as_ref())));
            self.content(value);
            self.push("\"");
        }
        self.push(">");
        for (name, property, value) in properties.iter().filter(|(_, p, _)| !is_attribute(p)) {
            self.element(name, property.as_ref(), value);
        }
        self.push(&format!("</{own}>"));
    }

    fn property(&self, schema: Option<&Constraints<'d>>, name: &str) -> Option<Constraints<'d>> {
        let (_, schemas) = schema?
            .properties
            .iter()
            .find(|(known, _)| *known == name)?;
        Some(Constraints::of_all(self.documents, schemas))
    }

    fn content(&mut self, value: &ExampleValue) {
        match value {
            ExampleValue::Text(text) => {
                let mut escaped = String::new();
                for c in text.chars() {
                    let _ = match c {
                        '<' => escaped.write_str("&lt;"),
                        '>' => escaped.write_str("&gt;"),
                        '&' => escaped.write_str("&amp;"),
                        '"' => escaped.write_str("&quot;"),
                        c => escaped.write_char(c),
                    };
                }
                self.push(&escaped);
            }
            value => self.done.push(&value.plain(Encoding::Plain)),
        }
    }

    fn push(&mut self, text: &str) {
        self.done.push_literal(text);
    }
}

fn element_name(name: &str, schema: Option<&Constraints<'_>>) -> String {
    let xml = schema.and_then(|schema| schema.xml);
    let own = xml.and_then(|xml| xml.word("name")).unwrap_or(name);
    match xml.and_then(|xml| xml.word("prefix")) {
        Some(prefix) => format!("{prefix}:{own}"),
        None => own.to_owned(),
    }
}

fn namespace(schema: Option<&Constraints<'_>>) -> String {
    let xml = schema.and_then(|schema| schema.xml);
    let Some(uri) = xml.and_then(|xml| xml.word("namespace")) else {
        return String::new();
    };
    let uri = uri.replace('&', "&amp;").replace('"', "&quot;");
    match xml.and_then(|xml| xml.word("prefix")) {
        Some(prefix) => format!(" xmlns:{prefix}=\"{uri}\""),
        None => format!(" xmlns=\"{uri}\""),
    }
}
