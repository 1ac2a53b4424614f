//! Reads values from document nodes and collects errors with their places.
//!
//! Functions return `None` for invalid values and report the error themselves; callers go on, so that all errors of a
//! file are reported at once.

use std::cell::RefCell;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use plimsoll_model::price::HeldResources;

use super::diagnostic::{DIAGNOSTICS_MAX, Diagnostic, Diagnostics};
use super::keywords::KeywordTable;
use super::source::SourceText;
use super::template::Spot;
use super::tree::{self, DocumentKey, DocumentNode, NodeKind};
use super::{FileError, Surroundings};
use crate::problem::nearest;
use crate::{Problem, units};

/// A document being read.
pub(crate) struct DocumentReader<'a> {
    source: SourceText,
    surroundings: &'a dyn Surroundings,
    diagnostics: RefCell<Vec<Diagnostic>>,
}

/// The entries of a map with known keys.
#[derive(Clone, Copy)]
pub(crate) struct MapFields<'n> {
    pub(crate) node: &'n DocumentNode,
    entries: &'n [(DocumentKey, DocumentNode)],
    table: &'static KeywordTable,
}

impl<'n> MapFields<'n> {
    /// The value of a key.
    pub(crate) fn get(&self, name: &str) -> Option<&'n DocumentNode> {
        self.entry(name).map(|(_, value)| value)
    }

    /// The meaning of a key, for errors about its absence.
    pub(crate) fn meaning(&self, name: &str) -> Option<&'static str> {
        let word = self.table.words.iter().find(|word| word.name == name)?;
        Some(word.meaning.trim())
    }

    /// A key as written, and its value.
    pub(crate) fn entry(&self, name: &str) -> Option<(&'n DocumentKey, &'n DocumentNode)> {
        let found = self.entries.iter().find(|(key, _)| key.text == name);
        found.map(|(key, value)| (key, value))
    }

    /// Whether an unknown key is a misspelling of one of `names`: it is then not reported as missing as well.
    pub(crate) fn misspells(&self, names: &[&str]) -> bool {
        let known = self.table.names();
        let unknown = self.entries.iter().map(|(key, _)| key.text.as_str());
        unknown
            .filter(|word| !known.contains(word))
            // Errors about further ones are not reported: a file may have a million unknown keys.
            .take(DIAGNOSTICS_MAX)
            .any(|word| nearest(word, &known).is_some_and(|near| names.contains(&near)))
    }

    /// Those of `names` that are written, in the order of the file.
    pub(crate) fn among(&self, names: &[&str]) -> Vec<(&'n DocumentKey, &'n DocumentNode)> {
        let found = self.entries.iter();
        found
            .filter(|(key, _)| names.contains(&key.text.as_str()))
            .map(|(key, value)| (key, value))
            .collect()
    }
}

impl<'a> DocumentReader<'a> {
    pub(crate) fn new(text: &str, surroundings: &'a dyn Surroundings) -> Self {
        Self {
            source: SourceText::new(text),
            surroundings,
            diagnostics: RefCell::default(),
        }
    }

    /// The tree of the document; errors in the YAML itself are reported.
    pub(crate) fn root(&self) -> Option<DocumentNode> {
        let (root, errors) = tree::read(&self.source);
        for error in errors {
            self.report_at(error.span.start, error.message, error.valid, None);
        }
        root
    }

    /// Whether the text has whitespace only.
    pub(crate) fn is_blank(&self) -> bool {
        self.source.text().trim().is_empty()
    }

    /// What `read` makes of the whole document; one without content is reported: what it lacks, and what would be valid.
    pub(crate) fn read_root<T>(
        &self,
        (empty, valid): (&str, &str),
        read: impl FnOnce(&DocumentNode) -> Option<T>,
    ) -> Option<T> {
        match &self.root() {
            Some(root) if !root.is_null() => read(root),
            // The error of a refused tree is already reported.
            None if !self.is_blank() && self.has_diagnostics() => None,
            _ => {
                self.report_at(0, empty, valid, None);
                None
            }
        }
    }

    /// How many errors there are so far.
    pub(crate) fn diagnostics_len(&self) -> usize {
        self.diagnostics.borrow().len()
    }

    pub(crate) fn has_diagnostics(&self) -> bool {
        !self.diagnostics.borrow().is_empty()
    }

    /// What was read, if there were no errors.
    pub(crate) fn finish<T>(self, read: Option<T>) -> Result<T, Diagnostics> {
        let diagnostics = self.diagnostics.into_inner();
        match read {
            Some(read) if diagnostics.is_empty() => Ok(read),
            _ => Err(Diagnostics::new(diagnostics)),
        }
    }

    /// Line and column of a byte, both from 1.
    pub(crate) fn position(&self, at: usize) -> (usize, usize) {
        self.source.position(at)
    }

    /// The byte of the document at which byte `at` of a node's content stands.
    pub(crate) fn place_in(&self, node: &DocumentNode, content: &str, at: usize) -> usize {
        self.source.place_in(&node.span, content, at)
    }

    /// An environment variable.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.surroundings.variable(name)
    }

    /// The CPUs and the memory of the machine.
    pub(crate) fn machine(&self) -> Option<HeldResources> {
        self.surroundings.machine()
    }

    /// Reports an error at a byte.
    pub(crate) fn report_at(
        &self,
        at: usize,
        message: impl Into<String>,
        valid: impl Into<String>,
        near: Option<&str>,
    ) {
        let (line, column) = self.position(at);
        let mut diagnostics = self.diagnostics.borrow_mut();
        if diagnostics.len() < DIAGNOSTICS_MAX {
            diagnostics.push(Diagnostic {
                line,
                column,
                message: message.into(),
                valid: valid.into(),
                nearest: near.map(str::to_owned),
            });
        }
    }

    /// Reports an error of a node.
    pub(crate) fn report(
        &self,
        node: &DocumentNode,
        message: impl Into<String>,
        valid: impl Into<String>,
    ) {
        self.report_at(node.span.start, message, valid, None);
    }

    /// Reports an error within the content of a node.
    pub(crate) fn report_in(
        &self,
        node: &DocumentNode,
        content: &str,
        at: usize,
        (message, valid): (String, String),
        near: Option<&str>,
    ) {
        let place = self.place_in(node, content, at);
        self.report_at(place, message, valid, near);
    }

    /// Reports an unknown word, with the nearest valid one.
    pub(crate) fn unknown(
        &self,
        span: &Range<usize>,
        what: &str,
        written: &str,
        candidates: &[&str],
    ) {
        if self.diagnostics.borrow().len() >= DIAGNOSTICS_MAX {
            // Beyond the maximum, the search is skipped: a file may have a million unknown keys.
            return;
        }
        let valid = if candidates.is_empty() {
            "none; the file defines none".to_owned()
        } else if candidates.len() > 30 {
            format!("{}, …", candidates[..30].join(", "))
        } else {
            candidates.join(", ")
        };
        let message = format!("unknown {what} `{written}`");
        self.report_at(span.start, message, valid, nearest(written, candidates));
    }

    /// The entries of a map; keys that are not in the table are reported.
    pub(crate) fn fields<'n>(
        &self,
        node: &'n DocumentNode,
        table: &'static KeywordTable,
    ) -> Option<MapFields<'n>> {
        let names = table.names();
        let entries = self.entries(node, &names.join(", "))?;
        for (key, _) in entries {
            if !names.contains(&key.text.as_str()) {
                self.unknown(&key.span, "key", &key.text, &names);
            }
        }
        Some(MapFields {
            node,
            entries,
            table,
        })
    }

    /// The entries of a map with user-defined keys.
    pub(crate) fn entries<'n>(
        &self,
        node: &'n DocumentNode,
        valid: &str,
    ) -> Option<&'n [(DocumentKey, DocumentNode)]> {
        match &node.kind {
            NodeKind::Map(entries) => Some(entries),
            NodeKind::List(_) | NodeKind::Scalar { .. } => {
                let valid = format!("a map of {valid}");
                self.report(node, "not a map", valid);
                None
            }
        }
    }

    /// The items of a list.
    pub(crate) fn list<'n>(&self, node: &'n DocumentNode, of: &str) -> &'n [DocumentNode] {
        match &node.kind {
            NodeKind::List(items) => items,
            NodeKind::Scalar { .. } if node.is_null() => &[],
            NodeKind::Map(_) | NodeKind::Scalar { .. } => {
                let valid = format!("a list of {of}, each after `- `");
                self.report(node, "not a list", valid);
                &[]
            }
        }
    }

    /// The items of a list, or the node itself.
    #[expect(
        clippy::unused_self,
        reason = "a method of the reader, like its siblings"
    )]
    pub(crate) fn one_or_more<'n>(&self, node: &'n DocumentNode) -> &'n [DocumentNode] {
        match &node.kind {
            NodeKind::List(items) => items,
            NodeKind::Map(_) | NodeKind::Scalar { .. } => std::slice::from_ref(node),
        }
    }

    /// The text of a scalar as written; empty for null.
    pub(crate) fn scalar<'n>(&self, node: &'n DocumentNode, valid: &str) -> Option<&'n str> {
        match &node.kind {
            NodeKind::Scalar { .. } if node.is_null() => Some(""),
            NodeKind::Scalar { text, .. } => Some(text),
            NodeKind::List(_) | NodeKind::Map(_) => {
                self.report(node, "not a scalar", valid);
                None
            }
        }
    }

    /// The text of a scalar whose only placeholders are `{{ env('NAME') }}`.
    pub(crate) fn text(&self, node: &DocumentNode, valid: &str) -> Option<String> {
        let text = self.scalar(node, valid)?;
        if !text.contains("{{") {
            return Some(text.to_owned());
        }
        Spot::of(node, text).constant(self)
    }

    /// A text that is not empty.
    pub(crate) fn word(&self, node: &DocumentNode, valid: &str) -> Option<String> {
        let text = self.text(node, valid)?;
        if text.is_empty() {
            self.report(node, "the value is empty", valid);
            return None;
        }
        Some(text)
    }

    /// A scalar, parsed by `read`.
    pub(crate) fn value<T>(
        &self,
        node: &DocumentNode,
        valid: &str,
        read: impl FnOnce(&str) -> Result<T, Problem>,
    ) -> Option<T> {
        let text = self.text(node, valid)?;
        match read(&text) {
            Ok(value) => Some(value),
            Err(problem) => {
                self.problem(node, &text, problem);
                None
            }
        }
    }

    fn problem(&self, node: &DocumentNode, content: &str, problem: Problem) {
        let message = quoted(content, problem.message);
        let words = (message, problem.valid);
        let near = problem.nearest.as_deref();
        self.report_in(node, content, problem.span.start, words, near);
    }

    pub(crate) fn duration(&self, node: &DocumentNode) -> Option<Duration> {
        self.value(node, "a duration such as 800ms", units::duration)
    }

    pub(crate) fn duration_above_zero(&self, node: &DocumentNode) -> Option<Duration> {
        self.value(node, "a duration such as 800ms", units::duration_above_zero)
    }

    /// A whole number within a range.
    pub(crate) fn count(&self, node: &DocumentNode, range: RangeInclusive<u64>) -> Option<u64> {
        let valid = match *range.end() {
            u64::MAX => format!("a whole number from {}", range.start()),
            end => format!("a whole number from {} to {end}", range.start()),
        };
        let text = self.text(node, &valid)?;
        match text.replace('_', "").parse::<u64>() {
            Ok(count) if range.contains(&count) => Some(count),
            Ok(_) => {
                self.report(node, format!("`{text}` is out of range"), valid);
                None
            }
            Err(_) => {
                self.report(node, format!("`{text}` is not a whole number"), valid);
                None
            }
        }
    }

    /// A whole number that fits 32 bits.
    pub(crate) fn count32(&self, node: &DocumentNode, range: RangeInclusive<u32>) -> Option<u32> {
        let wide = u64::from(*range.start())..=u64::from(*range.end());
        let count = self.count(node, wide)?;
        u32::try_from(count).ok()
    }

    /// A number, not negative.
    pub(crate) fn number(&self, node: &DocumentNode) -> Option<f64> {
        let valid = "a number, 0 or more";
        let text = self.text(node, valid)?;
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Some(number),
            _ => {
                self.report(
                    node,
                    format!("`{text}` is not a number of 0 or more"),
                    valid,
                );
                None
            }
        }
    }

    pub(crate) fn switch(&self, node: &DocumentNode) -> Option<bool> {
        self.one_of(node, &[("true", true), ("false", false)])
    }

    /// One of several words.
    pub(crate) fn one_of<T: Copy>(&self, node: &DocumentNode, words: &[(&str, T)]) -> Option<T> {
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let text = self.text(node, &names.join(", "))?;
        let found = words.iter().find(|(name, _)| *name == text);
        if found.is_none() {
            self.unknown(&node.span, "value", &text, &names);
        }
        found.map(|(_, value)| *value)
    }

    /// The content of a file named in `node`.
    pub(crate) fn file(&self, node: &DocumentNode, path: &str, len_max: u64) -> Option<Vec<u8>> {
        self.file_at(node.span.start, path, len_max)
    }

    /// The content of a file named at a byte.
    pub(crate) fn file_at(&self, at: usize, path: &str, len_max: u64) -> Option<Vec<u8>> {
        match self.surroundings.file(path, len_max) {
            Ok(content) => Some(content),
            Err(FileError::Unreadable(reason)) => {
                let message = format!("`{path}` cannot be read: {reason}");
                self.report_at(
                    at,
                    message,
                    "a readable file; the path is relative to the folder of this file",
                    None,
                );
                None
            }
            Err(FileError::TooLong(len)) => {
                let message = format!("`{path}` is {len} bytes long");
                let valid = format!("at most {} MiB", len_max >> 20);
                self.report_at(at, message, valid, None);
                None
            }
        }
    }

    /// Returns the one of `names` that is present; reports an error if there is none or several.
    pub(crate) fn exactly_one<'n>(
        &self,
        fields: &MapFields<'n>,
        names: &[&str],
    ) -> Option<(&'n DocumentKey, &'n DocumentNode)> {
        let mut found = fields.among(names);
        // A duplicate key has its own error.
        found.dedup_by(|later, first| later.0.text == first.0.text);
        match found.as_slice() {
            [entry] => Some(*entry),
            [] if fields.misspells(names) => None,
            [] => {
                let message = "a required key is missing";
                self.report(fields.node, message, format!("one of {}", names.join(", ")));
                None
            }
            [first, second, ..] => {
                let message = format!(
                    "`{}` and `{}` are mutually exclusive",
                    first.0.text, second.0.text
                );
                let valid = format!("one of {}", names.join(", "));
                self.report_at(second.0.span.start, message, valid, None);
                None
            }
        }
    }

    /// Reports keys that are not allowed with `owner`.
    pub(crate) fn only(
        &self,
        fields: &MapFields<'_>,
        owner: &str,
        allowed: &[&str],
        of: &KeywordTable,
    ) {
        for (key, _) in fields.entries {
            let name = key.text.as_str();
            if name != owner && !allowed.contains(&name) && of.names().contains(&name) {
                let message = format!("`{name}` is not allowed with `{owner}`");
                let valid = if allowed.is_empty() {
                    "no other key".to_owned()
                } else {
                    allowed.join(", ")
                };
                self.report_at(key.span.start, message, valid, None);
            }
        }
    }
}

/// Longest text that an error repeats, bytes; a longer one is not easier to find by it.
const QUOTED_LEN_MAX: usize = 60;

/// The message with the text that it is about, unless it names it.
fn quoted(content: &str, message: String) -> String {
    let is_short = content.len() <= QUOTED_LEN_MAX && !content.contains(['\n', '`']);
    if !is_short || content.trim().is_empty() || message.contains('`') {
        return message;
    }
    format!("in `{content}`: {message}")
}

/// A required key, with an example of its value; that it is missing is reported, unless it is misspelt.
pub(crate) fn required<'n>(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'n>,
    word: &str,
    example: &str,
) -> Option<&'n DocumentNode> {
    let found = fields.get(word);
    if found.is_none() && !fields.misspells(&[word]) {
        let message = format!("`{word}` is missing");
        reader.report(fields.node, message, format!("{word}: {example}"));
    }
    found
}
