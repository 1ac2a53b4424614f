//! Where a plan is read: single values out of nodes, every fault noted with its place.
//!
//! Readers give `None` for what they could not read and have noted the fault themselves; whoever calls goes on, so that
//! all faults of a file are found at once.

use std::cell::RefCell;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use super::fault::{FAULTS_MAX, Fault};
use super::source::Source;
use super::tree::{Key, Kind, Node};
use super::words::Table;
use super::{FileFault, Surroundings};
use crate::problem::nearest;
use crate::{Problem, units};

/// A file being read.
pub(crate) struct Desk<'a> {
    pub(crate) source: &'a Source,
    pub(crate) surroundings: &'a dyn Surroundings,
    faults: RefCell<Vec<Fault>>,
}

/// The entries of a map whose words are known.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'n> {
    pub(crate) node: &'n Node,
    entries: &'n [(Key, Node)],
    table: &'static Table,
}

impl<'n> Fields<'n> {
    /// What stands behind a word.
    pub(crate) fn get(&self, name: &str) -> Option<&'n Node> {
        self.entry(name).map(|(_, value)| value)
    }

    /// A word as written, and what stands behind it.
    pub(crate) fn entry(&self, name: &str) -> Option<(&'n Key, &'n Node)> {
        let found = self.entries.iter().find(|(key, _)| key.text == name);
        found.map(|(key, value)| (key, value))
    }

    /// Whether an unknown word stands for one of `names`, misspelt: that it is missing need not be told besides.
    pub(crate) fn misspells(&self, names: &[&str]) -> bool {
        let known = self.table.names();
        let unknown = self.entries.iter().map(|(key, _)| key.text.as_str());
        unknown
            .filter(|word| !known.contains(word))
            .any(|word| nearest(word, &known).is_some_and(|near| names.contains(&near)))
    }

    /// Those of `names` that are written, in the order of the file.
    pub(crate) fn among(&self, names: &[&str]) -> Vec<(&'n Key, &'n Node)> {
        let found = self.entries.iter();
        found
            .filter(|(key, _)| names.contains(&key.text.as_str()))
            .map(|(key, value)| (key, value))
            .collect()
    }
}

impl<'a> Desk<'a> {
    pub(crate) fn new(source: &'a Source, surroundings: &'a dyn Surroundings) -> Self {
        Self {
            source,
            surroundings,
            faults: RefCell::default(),
        }
    }

    pub(crate) fn into_faults(self) -> Vec<Fault> {
        self.faults.into_inner()
    }

    pub(crate) fn has_faults(&self) -> bool {
        !self.faults.borrow().is_empty()
    }

    /// Notes a fault at a byte.
    pub(crate) fn note(
        &self,
        at: usize,
        fault: impl Into<String>,
        valid: impl Into<String>,
        near: Option<&str>,
    ) {
        let (line, column) = self.source.position(at);
        let mut faults = self.faults.borrow_mut();
        if faults.len() < FAULTS_MAX {
            faults.push(Fault {
                line,
                column,
                fault: fault.into(),
                valid: valid.into(),
                nearest: near.map(str::to_owned),
            });
        }
    }

    /// Notes a fault of a node.
    pub(crate) fn fault(&self, node: &Node, fault: impl Into<String>, valid: impl Into<String>) {
        self.note(node.span.start, fault, valid, None);
    }

    /// Notes a fault within the content of a node.
    pub(crate) fn fault_in(
        &self,
        node: &Node,
        content: &str,
        at: usize,
        (fault, valid): (String, String),
        near: Option<&str>,
    ) {
        let place = self.source.place_in(&node.span, content, at);
        self.note(place, fault, valid, near);
    }

    /// Notes an unknown word with the nearest right one.
    pub(crate) fn unknown(
        &self,
        span: &Range<usize>,
        what: &str,
        written: &str,
        candidates: &[&str],
    ) {
        if self.faults.borrow().len() >= FAULTS_MAX {
            // What nobody is told need not be looked for: a file may hold a million unknown words.
            return;
        }
        let valid = if candidates.is_empty() {
            "nothing; none is written in this plan".to_owned()
        } else if candidates.len() > 30 {
            format!("{}, …", candidates[..30].join(", "))
        } else {
            candidates.join(", ")
        };
        let fault = format!("{what} `{written}` is not known");
        self.note(span.start, fault, valid, nearest(written, candidates));
    }

    /// The entries of a map; words that the table does not hold are noted.
    pub(crate) fn fields<'n>(&self, node: &'n Node, table: &'static Table) -> Option<Fields<'n>> {
        let names = table.names();
        let entries = self.entries(node, &names.join(", "))?;
        for (key, _) in entries {
            if !names.contains(&key.text.as_str()) {
                self.unknown(&key.span, "the word", &key.text, &names);
            }
        }
        Some(Fields {
            node,
            entries,
            table,
        })
    }

    /// The entries of a map with names of the user's choice.
    pub(crate) fn entries<'n>(&self, node: &'n Node, valid: &str) -> Option<&'n [(Key, Node)]> {
        match &node.kind {
            Kind::Map(entries) => Some(entries),
            Kind::List(_) | Kind::Scalar { .. } => {
                let valid = format!("a map of {valid}");
                self.fault(node, "this is not a map", valid);
                None
            }
        }
    }

    /// The items of a list.
    pub(crate) fn list<'n>(&self, node: &'n Node, of: &str) -> &'n [Node] {
        match &node.kind {
            Kind::List(items) => items,
            Kind::Scalar { .. } if node.is_null() => &[],
            Kind::Map(_) | Kind::Scalar { .. } => {
                let valid = format!("a list of {of}, each behind `- `");
                self.fault(node, "this is not a list", valid);
                &[]
            }
        }
    }

    /// The items of a list, or the one node itself.
    #[expect(
        clippy::unused_self,
        reason = "read at the desk, as its neighbours are"
    )]
    pub(crate) fn one_or_more<'n>(&self, node: &'n Node) -> &'n [Node] {
        match &node.kind {
            Kind::List(items) => items,
            Kind::Map(_) | Kind::Scalar { .. } => std::slice::from_ref(node),
        }
    }

    /// The text of a scalar as written; empty for nothing.
    pub(crate) fn scalar<'n>(&self, node: &'n Node, valid: &str) -> Option<&'n str> {
        match &node.kind {
            Kind::Scalar { .. } if node.is_null() => Some(""),
            Kind::Scalar { text, .. } => Some(text),
            Kind::List(_) | Kind::Map(_) => {
                self.fault(node, "this is not a single value", valid);
                None
            }
        }
    }

    /// The text of a scalar that holds nothing but `{{ env('NAME') }}` as a hole.
    pub(crate) fn text(&self, node: &Node, valid: &str) -> Option<String> {
        let text = self.scalar(node, valid)?;
        if !text.contains("{{") {
            return Some(text.to_owned());
        }
        super::template::Spot::of(node, text).constant(self)
    }

    /// A text that is not empty.
    pub(crate) fn word(&self, node: &Node, valid: &str) -> Option<String> {
        let text = self.text(node, valid)?;
        if text.is_empty() {
            self.fault(node, "nothing is written", valid);
            return None;
        }
        Some(text)
    }

    /// A value that a reader of single values reads.
    pub(crate) fn value<T>(
        &self,
        node: &Node,
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

    fn problem(&self, node: &Node, content: &str, problem: Problem) {
        let words = (problem.fault, problem.valid);
        let near = problem.nearest.as_deref();
        self.fault_in(node, content, problem.span.start, words, near);
    }

    pub(crate) fn duration(&self, node: &Node) -> Option<Duration> {
        self.value(node, "a duration such as 800ms", units::duration)
    }

    pub(crate) fn duration_above_zero(&self, node: &Node) -> Option<Duration> {
        self.value(node, "a duration such as 800ms", units::duration_above_zero)
    }

    /// A whole number within a range.
    pub(crate) fn count(&self, node: &Node, range: RangeInclusive<u64>) -> Option<u64> {
        let valid = match *range.end() {
            u64::MAX => format!("a whole number from {}", range.start()),
            end => format!("a whole number from {} to {end}", range.start()),
        };
        let text = self.text(node, &valid)?;
        match text.replace('_', "").parse::<u64>() {
            Ok(count) if range.contains(&count) => Some(count),
            Ok(_) => {
                self.fault(node, format!("`{text}` is out of range"), valid);
                None
            }
            Err(_) => {
                self.fault(node, format!("`{text}` is not a whole number"), valid);
                None
            }
        }
    }

    /// A whole number that fits 32 bits.
    pub(crate) fn count32(&self, node: &Node, range: RangeInclusive<u32>) -> Option<u32> {
        let wide = u64::from(*range.start())..=u64::from(*range.end());
        let count = self.count(node, wide)?;
        u32::try_from(count).ok()
    }

    /// A number, not negative.
    pub(crate) fn number(&self, node: &Node) -> Option<f64> {
        let valid = "a number, 0 or more";
        let text = self.text(node, valid)?;
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Some(number),
            _ => {
                self.fault(node, format!("`{text}` is not such a number"), valid);
                None
            }
        }
    }

    pub(crate) fn switch(&self, node: &Node) -> Option<bool> {
        self.one_of(node, &[("true", true), ("false", false)])
    }

    /// One of some words.
    pub(crate) fn one_of<T: Copy>(&self, node: &Node, words: &[(&str, T)]) -> Option<T> {
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let text = self.text(node, &names.join(", "))?;
        let found = words.iter().find(|(name, _)| *name == text);
        if found.is_none() {
            self.unknown(&node.span, "the word", &text, &names);
        }
        found.map(|(_, value)| *value)
    }

    /// The content of a file named in `node`.
    pub(crate) fn file(&self, node: &Node, path: &str, len_max: u64) -> Option<Vec<u8>> {
        self.file_at(node.span.start, path, len_max)
    }

    /// The content of a file named at a byte.
    pub(crate) fn file_at(&self, at: usize, path: &str, len_max: u64) -> Option<Vec<u8>> {
        match self.surroundings.file(path, len_max) {
            Ok(content) => Some(content),
            Err(FileFault::Unreadable(reason)) => {
                let fault = format!("`{path}` cannot be read: {reason}");
                self.note(at, fault, "a file, from the plan file's folder", None);
                None
            }
            Err(FileFault::TooLong(len)) => {
                let fault = format!("`{path}` is {len} bytes long");
                let valid = format!("at most {} MiB", len_max >> 20);
                self.note(at, fault, valid, None);
                None
            }
        }
    }

    /// Notes when not exactly one of `names` is written; gives that one.
    pub(crate) fn exactly_one<'n>(
        &self,
        fields: &Fields<'n>,
        names: &[&str],
    ) -> Option<(&'n Key, &'n Node)> {
        let mut found = fields.among(names);
        // A word that is written twice has its own fault.
        found.dedup_by(|later, first| later.0.text == first.0.text);
        match found.as_slice() {
            [one] => Some(*one),
            [] if fields.misspells(names) => None,
            [] => {
                let fault = "what it is is not said";
                self.fault(fields.node, fault, format!("one of {}", names.join(", ")));
                None
            }
            [first, second, ..] => {
                let fault = format!(
                    "`{}` and `{}` cannot stand together",
                    first.0.text, second.0.text
                );
                let valid = format!("one of {}", names.join(", "));
                self.note(second.0.span.start, fault, valid, None);
                None
            }
        }
    }

    /// Notes words that mean nothing beside `owner`.
    pub(crate) fn only(&self, fields: &Fields<'_>, owner: &str, allowed: &[&str], of: &Table) {
        for (key, _) in fields.entries {
            let name = key.text.as_str();
            if name != owner && !allowed.contains(&name) && of.names().contains(&name) {
                let fault = format!("`{name}` means nothing beside `{owner}`");
                let valid = if allowed.is_empty() {
                    "nothing beside it".to_owned()
                } else {
                    allowed.join(", ")
                };
                self.note(key.span.start, fault, valid, None);
            }
        }
    }
}
