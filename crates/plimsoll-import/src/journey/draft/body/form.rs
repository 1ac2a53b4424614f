//! Forms: fields where these say the same, else the text as it was sent.

use std::collections::HashSet;

use percent_encoding::percent_decode_str;

use super::super::{Drafter, FORM_FIELD};
use super::has_keys;
use crate::recording::{FormField, Payload};
use crate::yaml::{YamlEntry, YamlNode};

impl Drafter<'_> {
    /// A form; `None` when nothing of it was recorded.
    pub(super) fn form_body(&mut self, payload: &Payload) -> Option<YamlEntry> {
        let text = payload.text.as_deref().unwrap_or_default();
        let is_regular = text.is_empty() || text.trim().split('&').all(is_regular);
        if is_regular && has_keys(&payload.fields) && is_grouped(&payload.fields) {
            return Some(self.fields(&payload.fields));
        }
        if text.is_empty() {
            return None;
        }
        let text: String = text
            .split_inclusive('&')
            .map(|chunk| {
                let pair = chunk.trim_end_matches('&');
                self.pair(FORM_FIELD, pair) + &chunk[pair.len()..]
            })
            .collect();
        Some(YamlEntry::new("body", YamlNode::text(text)))
    }

    fn fields(&mut self, fields: &[FormField]) -> YamlEntry {
        let mut entries: Vec<YamlEntry> = Vec::new();
        for field in fields {
            let value = YamlNode::text(self.field(field).as_text());
            add(&mut entries, &field.name, value);
        }
        YamlEntry::new("form", YamlNode::Map(entries))
    }
}

/// Adds a field; fields of the same name become a list in the place of the first one.
pub(super) fn add(entries: &mut Vec<YamlEntry>, name: &str, value: YamlNode) {
    match entries.iter_mut().find(|entry| entry.key == name) {
        Some(YamlEntry {
            value: YamlNode::List(items),
            ..
        }) => items.push(value.into()),
        Some(entry) => {
            let first = std::mem::replace(&mut entry.value, YamlNode::List(Vec::new()));
            entry.value = YamlNode::list([first, value]);
        }
        None => entries.push(YamlEntry::new(name, value)),
    }
}

/// Whether a name with its value, decoded as UTF-8 and encoded again, means the same to any server.
fn is_regular(pair: &str) -> bool {
    let is_escape = |rest: &str| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    pair.contains('=')
        && pair.split('%').skip(1).all(is_escape)
        && percent_decode_str(pair).decode_utf8().is_ok()
}

/// Whether fields of the same name follow each other, as a list of the plan sends them.
fn is_grouped(fields: &[FormField]) -> bool {
    let mut known = HashSet::new();
    fields.chunk_by(|a, b| a.name == b.name).all(|group| {
        let name = group.first().map(|field| field.name.as_str());
        known.insert(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_pairs_are_told_from_others() {
        for pair in ["a=1", "a=", "=x", "a=%C3%A9+%2B", "a=b=c", "a=\u{e9}"] {
            assert!(is_regular(pair), "{pair}");
        }
        for pair in ["", "a", "a=%E9", "a=100%", "a=%u2", "a=%2", "a=%zz"] {
            assert!(!is_regular(pair), "{pair}");
        }
    }

    #[test]
    fn a_list_keeps_the_order_only_of_fields_side_by_side() {
        let fields = |names: &str| -> Vec<FormField> {
            let field = |c: char| FormField {
                name: c.to_string(),
                ..FormField::default()
            };
            names.chars().map(field).collect()
        };
        assert!(is_grouped(&fields("aabcc")));
        assert!(!is_grouped(&fields("aba")));
    }
}
