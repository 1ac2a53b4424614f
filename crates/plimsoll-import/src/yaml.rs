//! Writes YAML for further editing: block style, comments, quotes only where needed.

use std::fmt::Write as _;

/// Widest line on which a small map is kept in flow style.
const FLOW_WIDTH: usize = 100;
/// Longest comment line that is written.
const NOTE_LENGTH_MAX: usize = 400;

/// A value of a YAML document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum YamlNode {
    /// A string, quoted where it must be.
    Text(String),
    /// Written as is: numbers, durations, rates, booleans.
    Plain(String),
    /// A sequence.
    List(Vec<YamlItem>),
    /// A mapping, in order.
    Map(Vec<YamlEntry>),
}

/// A value of a sequence, below its comments.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct YamlItem {
    pub(crate) notes: Vec<String>,
    pub(crate) value: YamlNode,
}

/// A key and its value, below its comments.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct YamlEntry {
    pub(crate) notes: Vec<String>,
    pub(crate) key: String,
    pub(crate) value: YamlNode,
}

impl YamlNode {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn plain(text: impl std::fmt::Display) -> Self {
        Self::Plain(format!("{text}"))
    }

    /// A list of values without comments.
    pub(crate) fn list(values: impl IntoIterator<Item = Self>) -> Self {
        Self::List(values.into_iter().map(YamlItem::from).collect())
    }

    /// A mapping without comments.
    pub(crate) fn map<K: Into<String>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        let entries = entries.into_iter();
        Self::Map(
            entries
                .map(|(key, value)| YamlEntry::new(key, value))
                .collect(),
        )
    }

    fn is_block(&self) -> bool {
        match self {
            Self::List(items) => !items.is_empty(),
            Self::Map(entries) => !entries.is_empty(),
            Self::Text(_) | Self::Plain(_) => false,
        }
    }
}

impl From<YamlNode> for YamlItem {
    fn from(value: YamlNode) -> Self {
        Self {
            notes: Vec::new(),
            value,
        }
    }
}

impl YamlEntry {
    pub(crate) fn new(key: impl Into<String>, value: YamlNode) -> Self {
        Self {
            notes: Vec::new(),
            key: key.into(),
            value,
        }
    }

    pub(crate) fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }
}

/// The document of a map, with leading comments.
pub(crate) fn document(notes: &[String], entries: &[YamlEntry]) -> String {
    let mut out = String::new();
    write_notes(&mut out, notes, 0);
    write_map(&mut out, entries, 0, false);
    out
}

fn write_notes(out: &mut String, notes: &[String], indent: usize) {
    for note in notes {
        let note: String = note
            .chars()
            .map(|c| if is_printable(c) { c } else { ' ' })
            .take(NOTE_LENGTH_MAX)
            .collect();
        pad(out, indent);
        out.push_str("# ");
        out.push_str(note.trim_end());
        out.push('\n');
    }
}

/// `in_line`: the first key follows a dash that is already written.
fn write_map(out: &mut String, entries: &[YamlEntry], indent: usize, in_line: bool) {
    let mut in_line = in_line;
    for entry in entries {
        if !in_line {
            write_notes(out, &entry.notes, indent);
            pad(out, indent);
        }
        in_line = false;
        out.push_str(&scalar(&entry.key, true));
        out.push(':');
        if let Some(flow) = fitting_flow(&entry.value, indent + entry.key.len() + 2) {
            out.push(' ');
            out.push_str(&flow);
            out.push('\n');
        } else {
            out.push('\n');
            write_block(out, &entry.value, indent + 2);
        }
    }
}

fn write_block(out: &mut String, value: &YamlNode, indent: usize) {
    match value {
        YamlNode::Map(entries) => write_map(out, entries, indent, false),
        YamlNode::List(items) => write_list(out, items, indent),
        YamlNode::Text(_) | YamlNode::Plain(_) => {
            pad(out, indent);
            out.push_str(&flow(value));
            out.push('\n');
        }
    }
}

fn write_list(out: &mut String, items: &[YamlItem], indent: usize) {
    for item in items {
        write_notes(out, &item.notes, indent);
        if let YamlNode::Map(entries) = &item.value
            && let Some(first) = entries.first()
        {
            // Comments of the first key are above the dash, where they are legible.
            write_notes(out, &first.notes, indent);
            pad(out, indent);
            out.push_str("- ");
            write_map(out, entries, indent + 2, true);
            continue;
        }
        pad(out, indent);
        out.push('-');
        if item.value.is_block() && fitting_flow(&item.value, indent + 2).is_none() {
            out.push('\n');
            write_block(out, &item.value, indent + 2);
        } else {
            out.push(' ');
            out.push_str(&flow(&item.value));
            out.push('\n');
        }
    }
}

/// The value on one line, if it is a scalar or a small map or list of scalars that fits.
fn fitting_flow(value: &YamlNode, column: usize) -> Option<String> {
    let simple = |node: &YamlNode| !node.is_block();
    let small = match value {
        YamlNode::Text(_) | YamlNode::Plain(_) => return Some(flow(value)),
        YamlNode::List(items) => items
            .iter()
            .all(|item| item.notes.is_empty() && simple(&item.value)),
        YamlNode::Map(entries) => entries.iter().all(|entry| {
            entry.notes.is_empty()
                && (simple(&entry.value) || fitting_flow(&entry.value, column).is_some())
        }),
    };
    if !small {
        return None;
    }
    let text = flow(value);
    (column + text.chars().count() <= FLOW_WIDTH).then_some(text)
}

fn flow(value: &YamlNode) -> String {
    match value {
        YamlNode::Text(text) => scalar(text, false),
        YamlNode::Plain(text) => text.clone(),
        YamlNode::List(items) => {
            let texts: Vec<String> = items.iter().map(|item| flow_value(&item.value)).collect();
            format!("[{}]", texts.join(", "))
        }
        YamlNode::Map(entries) if entries.is_empty() => "{}".to_owned(),
        YamlNode::Map(entries) => {
            let texts: Vec<String> = entries
                .iter()
                .map(|entry| format!("{}: {}", scalar(&entry.key, true), flow_value(&entry.value)))
                .collect();
            format!("{{ {} }}", texts.join(", "))
        }
    }
}

fn flow_value(value: &YamlNode) -> String {
    match value {
        YamlNode::Text(text) => scalar(text, true),
        other => flow(other),
    }
}

/// A string as YAML: plain where it is unambiguous. `in_flow` also excludes flow indicators.
fn scalar(text: &str, in_flow: bool) -> String {
    if is_plain(text, in_flow) {
        return text.to_owned();
    }
    let single = text.chars().all(is_printable) && text.contains(['"', '\\']);
    if single {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_printable(c) => out.push(c),
            c => {
                let _ = write!(out, "\\U{:08x}", u32::from(c));
            }
        }
    }
    out.push('"');
    out
}

fn is_plain(text: &str, in_flow: bool) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let Some(first) = text.chars().next() else {
        return false;
    };
    let starts = first.is_ascii_alphabetic() || matches!(first, '/' | '_');
    let allowed = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '_' | '-' | '/' | '.' | ' ' | '+' | '~' | ';')
            || (!in_flow && matches!(c, ':' | '?' | '=' | '&' | '%' | '@' | '(' | ')' | '$' | ','))
            || (in_flow && matches!(c, '%' | '=' | '@' | '(' | ')' | '$'))
    };
    starts
        && text.chars().all(allowed)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

/// Characters that YAML allows unescaped, except line breaks and invisible ones.
fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}'
        )
        && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// The scalars of a document, as read by a YAML parser; for tests.
#[cfg(test)]
pub(crate) fn scalars(text: &str) -> Vec<String> {
    saphyr_parser::Parser::new_from_str(text)
        .map(|event| event.unwrap_or_else(|error| panic!("{error} in\n{text}")).0)
        .filter_map(|event| match event {
            saphyr_parser::Event::Scalar(scalar, ..) => Some(scalar.into_owned()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_comes_back(text in any::<String>(), ascii in "[ -~\n]{0,20}", note in any::<String>()) {
            for text in [text, ascii] {
                let entry = |value| YamlEntry::new(&text, value).with_notes([note.clone()]);
                let flow = YamlNode::Map(vec![YamlEntry::new("k", YamlNode::text(&text))]);
                let written = document(std::slice::from_ref(&note), &[
                    entry(YamlNode::text(&text)),
                    YamlEntry::new("list", YamlNode::list([YamlNode::text(&text), flow.clone()])),
                    YamlEntry::new("flow", flow),
                ]);
                let t = text.as_str();
                prop_assert_eq!(scalars(&written), [t, t, "list", t, "k", t, "flow", "k", t]);
            }
        }
    }

    #[test]
    fn strings_are_quoted_where_they_could_be_read_as_something_else() {
        for (text, expected) in [
            ("/home?page=2", "/home?page=2"),
            ("yes", "\"yes\""),
            ("12", "\"12\""),
            ("", "\"\""),
            ("{{ csrf }}", "\"{{ csrf }}\""),
            ("name=\"a\" it's", "'name=\"a\" it''s'"),
            ("two\nlines\u{7}", "\"two\\nlines\\U00000007\""),
            ("a: b", "\"a: b\""),
            ("- a", "\"- a\""),
            ("a #b", "\"a #b\""),
        ] {
            assert_eq!(scalar(text, false), expected, "{text}");
        }
        assert_eq!(scalar("a, b", true), "\"a, b\"");
    }

    #[test]
    fn small_maps_stay_on_a_line_and_comments_stand_above() {
        let step = YamlNode::Map(vec![
            YamlEntry::new("post", YamlNode::text("/login")).with_notes(["logs in".to_owned()]),
            YamlEntry::new(
                "form",
                YamlNode::Map(vec![YamlEntry::new("name", YamlNode::text("ada"))]),
            ),
        ]);
        let text = document(
            &["made\nup".to_owned()],
            &[YamlEntry::new("steps", YamlNode::list([step]))],
        );
        assert_eq!(
            text,
            "# made up\nsteps:\n  # logs in\n  - post: /login\n    form: { name: ada }\n"
        );
    }
}
