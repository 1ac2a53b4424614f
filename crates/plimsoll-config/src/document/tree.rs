//! YAML 1.2 as a tree whose nodes know their place in the source.
//!
//! The library emits events; the tree is built here, so that size, depth and aliases are limited before memory is
//! allocated. Anchors and aliases follow YAML 1.2, merge keys (`<<`) YAML 1.1.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::diagnostic::DIAGNOSTICS_MAX;
use super::source::SourceText;

/// Deepest nesting.
const DEPTH_MAX: usize = 64;
/// Most nodes, those that aliases repeat included.
const NODES_MAX: usize = 1_000_000;
/// Maximum bytes of texts that aliases repeat.
const REPEATED_MAX: usize = 64 << 20;

/// A node and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DocumentNode {
    /// Bytes of the source.
    pub(crate) span: Range<usize>,
    pub(crate) kind: NodeKind,
}

/// Kind of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// A text; `plain` without quotes, when it may stand for a number, `true` or null.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<DocumentNode>),
    Map(Vec<(DocumentKey, DocumentNode)>),
}

/// A key of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DocumentKey {
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
}

/// An error in the YAML itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeError {
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
    pub(crate) valid: &'static str,
}

impl DocumentNode {
    /// Whether it is null: an empty value, `null` or `~`.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.kind, NodeKind::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null"))
    }

    /// The value of a key, if this is a map that has it.
    pub(crate) fn get(&self, name: &str) -> Option<&DocumentNode> {
        let NodeKind::Map(entries) = &self.kind else {
            return None;
        };
        let entry = entries.iter().find(|(key, _)| key.text == name)?;
        Some(&entry.1)
    }

    fn children(&self) -> Box<dyn Iterator<Item = &DocumentNode> + '_> {
        match &self.kind {
            NodeKind::Scalar { .. } => Box::new(std::iter::empty()),
            NodeKind::List(items) => Box::new(items.iter()),
            NodeKind::Map(entries) => Box::new(entries.iter().map(|(_, value)| value)),
        }
    }

    /// Size of this node and all below it.
    fn extent(&self) -> Extent {
        let len = match &self.kind {
            NodeKind::Scalar { text, .. } => text.len(),
            NodeKind::List(_) | NodeKind::Map(_) => 0,
        };
        let own = Extent {
            nodes: 1,
            levels: 1,
            len,
        };
        self.children().fold(own, |whole, child| {
            let below = child.extent();
            Extent {
                nodes: whole.nodes + below.nodes,
                levels: whole.levels.max(below.levels + 1),
                len: whole.len + below.len,
            }
        })
    }
}

/// Size of a node and all below it.
struct Extent {
    nodes: usize,
    levels: usize,
    /// Bytes of its texts.
    len: usize,
}

/// Parses the one document of `source`. Errors that leave the tree readable (duplicate keys) are all reported.
pub(crate) fn read(source: &SourceText) -> (Option<DocumentNode>, Vec<TreeError>) {
    let mut builder = Builder::new(source);
    let mut parser = Parser::new_from_str(source.text());
    loop {
        let step = match parser.next_event() {
            None => break,
            Some(Ok((event, span))) => builder.take(event, span),
            Some(Err(error)) => {
                let at = builder.place(error.marker().index());
                let message = format!("invalid YAML: {}", error.info());
                Err(error_at(
                    at..at,
                    message,
                    "YAML 1.2; texts with `: `, ` #`, `{` or `[` need quotes",
                ))
            }
        };
        if let Err(error) = step {
            builder.errors.push(error);
            return (None, builder.errors);
        }
    }
    (builder.root, builder.errors)
}

fn error_at(span: Range<usize>, message: impl Into<String>, valid: &'static str) -> TreeError {
    TreeError {
        span,
        message: message.into(),
        valid,
    }
}

/// A list or map that is not closed yet.
struct OpenCollection {
    start: usize,
    anchor: usize,
    items: Vec<DocumentNode>,
    entries: Vec<(DocumentKey, DocumentNode)>,
    /// Keys so far, each with the byte at which it was first written.
    keys: HashMap<String, usize>,
    key: Option<DocumentKey>,
    is_map: bool,
}

struct Builder<'a> {
    source: &'a SourceText,
    /// Byte of each character, if some take more than one.
    bytes: Option<Vec<usize>>,
    open: Vec<OpenCollection>,
    anchors: HashMap<usize, DocumentNode>,
    root: Option<DocumentNode>,
    nodes: usize,
    /// Bytes of repeated texts.
    repeated: usize,
    errors: Vec<TreeError>,
}

impl<'a> Builder<'a> {
    fn new(source: &'a SourceText) -> Self {
        let text = source.text();
        let bytes = (!text.is_ascii()).then(|| text.char_indices().map(|(byte, _)| byte).collect());
        Self {
            source,
            bytes,
            open: Vec::new(),
            anchors: HashMap::new(),
            root: None,
            nodes: 0,
            repeated: 0,
            errors: Vec::new(),
        }
    }

    /// The byte at which a character begins.
    fn place(&self, index: usize) -> usize {
        let len = self.source.text().len();
        match &self.bytes {
            None => index.min(len),
            Some(bytes) => bytes.get(index).copied().unwrap_or(len),
        }
    }

    fn range(&self, span: Span) -> Range<usize> {
        let start = self.place(span.start.index());
        start..self.place(span.end.index()).max(start)
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), TreeError> {
        let range = self.range(span);
        match event {
            Event::DocumentStart(_) if self.root.is_some() => Err(error_at(
                range,
                "the file has a second document",
                "one plan per file; remove `---`",
            )),
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = tag.is_some_and(|tag| tag.suffix == "str");
                let kind = NodeKind::Scalar {
                    text: text.into_owned(),
                    plain: style == ScalarStyle::Plain && !is_text,
                };
                self.add(DocumentNode { span: range, kind }, anchor)
            }
            Event::SequenceStart(anchor, _) => self.open(range, anchor, false),
            Event::MappingStart(anchor, _) => self.open(range, anchor, true),
            Event::SequenceEnd | Event::MappingEnd => self.close(range.end),
            Event::Alias(anchor) => self.repeat(anchor, range),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn open(&mut self, range: Range<usize>, anchor: usize, is_map: bool) -> Result<(), TreeError> {
        if self.open.len() >= DEPTH_MAX {
            return Err(too_deep(range));
        }
        if self.awaits_key() {
            return Err(error_at(
                range,
                "the key is not a string",
                "a string as the key; a template needs quotes: \"{{ name }}\"",
            ));
        }
        self.open.push(OpenCollection {
            start: range.start,
            anchor,
            items: Vec::new(),
            entries: Vec::new(),
            keys: HashMap::new(),
            key: None,
            is_map,
        });
        Ok(())
    }

    fn awaits_key(&self) -> bool {
        self.open
            .last()
            .is_some_and(|open| open.is_map && open.key.is_none())
    }

    fn close(&mut self, end: usize) -> Result<(), TreeError> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let kind = if open.is_map {
            NodeKind::Map(self.merged(open.entries))
        } else {
            NodeKind::List(open.items)
        };
        // Spans of blocks end at the next token; their content ends earlier.
        let last = match &kind {
            NodeKind::Map(entries) => entries.last().map(|(_, value)| value.span.end),
            NodeKind::List(items) => items.last().map(|item| item.span.end),
            NodeKind::Scalar { .. } => None,
        };
        let is_flow = self.source.text()[open.start..].starts_with(['{', '[']);
        let end = if is_flow { end } else { last.unwrap_or(end) };
        let span = open.start..end.max(open.start);
        self.add(DocumentNode { span, kind }, open.anchor)
    }

    /// Adds a finished node to its parent.
    fn add(&mut self, node: DocumentNode, anchor: usize) -> Result<(), TreeError> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(too_many(node.span));
        }
        if anchor > 0 {
            self.count_again(&node.extent(), &node.span)?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        if !open.is_map {
            open.items.push(node);
            return Ok(());
        }
        match open.key.take() {
            Some(key) => open.entries.push((key, node)),
            None => self.begin_entry(node)?,
        }
        Ok(())
    }

    fn begin_entry(&mut self, node: DocumentNode) -> Result<(), TreeError> {
        let NodeKind::Scalar { text, .. } = node.kind else {
            return Err(error_at(node.span, "the key is not a string", "a string"));
        };
        let Some(open) = self.open.last_mut() else {
            return Ok(());
        };
        if let Some(&first) = open.keys.get(&text)
            && text != "<<"
        {
            if self.errors.len() < DIAGNOSTICS_MAX {
                let (line, _) = self.source.position(first);
                let message = format!("duplicate key `{text}`, first in line {line}");
                let valid = "each key once";
                self.errors
                    .push(error_at(node.span.clone(), message, valid));
            }
        } else {
            open.keys.insert(text.clone(), node.span.start);
        }
        open.key = Some(DocumentKey {
            text,
            span: node.span,
        });
        Ok(())
    }

    fn repeat(&mut self, anchor: usize, range: Range<usize>) -> Result<(), TreeError> {
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(error_at(
                range,
                "an alias refers to the anchor that contains it",
                "an alias of a complete node",
            ));
        };
        let extent = node.extent();
        if self.open.len() + extent.levels > DEPTH_MAX {
            return Err(too_deep(range));
        }
        let node = node.clone();
        self.count_again(&extent, &range)?;
        self.add(node, 0)
    }

    /// Repeated memory counts as if it were written again.
    fn count_again(&mut self, extent: &Extent, range: &Range<usize>) -> Result<(), TreeError> {
        self.nodes += extent.nodes;
        self.repeated += extent.len;
        if self.nodes > NODES_MAX || self.repeated > REPEATED_MAX {
            return Err(too_many(range.clone()));
        }
        Ok(())
    }

    /// Keys of merged maps follow the map's own, which take precedence.
    fn merged(
        &mut self,
        entries: Vec<(DocumentKey, DocumentNode)>,
    ) -> Vec<(DocumentKey, DocumentNode)> {
        if entries.iter().all(|(key, _)| key.text != "<<") {
            return entries;
        }
        let (merges, mut own): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|(key, _)| key.text == "<<");
        let mut names: HashSet<String> = own.iter().map(|(key, _)| key.text.clone()).collect();
        for (key, value) in merges {
            let maps = match value.kind {
                NodeKind::List(items) => items,
                kind => vec![DocumentNode { kind, ..value }],
            };
            for map in maps {
                let NodeKind::Map(more) = map.kind else {
                    let message = "the value of `<<` is not a map";
                    self.errors
                        .push(error_at(key.span.clone(), message, "an alias of a map"));
                    continue;
                };
                for entry in more {
                    if names.insert(entry.0.text.clone()) {
                        own.push(entry);
                    }
                }
            }
        }
        own
    }
}

fn too_deep(span: Range<usize>) -> TreeError {
    error_at(
        span,
        "the values are nested too deeply",
        "at most 64 levels",
    )
}

fn too_many(span: Range<usize>) -> TreeError {
    error_at(
        span,
        "there are too many values",
        "at most 1,000,000, including those that aliases repeat",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Result<DocumentNode, String> {
        let (root, errors) = read(&SourceText::new(text));
        match errors.first() {
            Some(error) => Err(error.message.clone()),
            None => Ok(root.unwrap()),
        }
    }

    #[test]
    fn nodes_know_where_they_stand() {
        let text = "ä: [€, 'x y']\nb:\n  - c: |\n      one\n      two\n  - \"d\"\ne: 1\n";
        let root = tree(text).unwrap();
        let list = root.get("ä").unwrap();
        assert_eq!(&text[list.span.clone()], "[€, 'x y']");
        let NodeKind::List(items) = &list.kind else {
            panic!("{list:?}");
        };
        assert_eq!(&text[items[0].span.clone()], "€");
        assert_eq!(&text[items[1].span.clone()], "'x y'");
        assert_eq!(&text[root.get("e").unwrap().span.clone()], "1");
    }

    #[test]
    fn anchors_and_merge_keys() {
        let root = tree("a: &a { x: 1, y: 2 }\nb: { <<: *a, y: 3 }\nc: *a\n").unwrap();
        let b = root.get("b").unwrap();
        let text = |node: Option<&DocumentNode>| match &node.unwrap().kind {
            NodeKind::Scalar { text, .. } => text.clone(),
            kind => panic!("{kind:?}"),
        };
        assert_eq!(
            (text(b.get("x")), text(b.get("y"))),
            ("1".to_owned(), "3".to_owned())
        );
        assert_eq!(root.get("c").unwrap().kind, root.get("a").unwrap().kind);
    }

    #[test]
    fn everything_has_a_limit() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..10 {
            let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb.extend([format!("a{level}: &a{level} [{aliases}]\n")]);
        }
        assert_eq!(tree(&bomb).unwrap_err(), "there are too many values");
        let deep = "[".repeat(100) + &"]".repeat(100);
        assert_eq!(tree(&deep).unwrap_err(), "the values are nested too deeply");
        assert!(tree("a: &a [*a]").is_err());
    }

    #[test]
    fn faults_of_the_yaml_itself() {
        assert!(
            tree("a: 1\nb: 2\na: 3")
                .unwrap_err()
                .contains("duplicate key `a`, first in line 1")
        );
        assert!(tree("a: [1").unwrap_err().contains("invalid YAML"));
        assert!(
            tree("a: {{ name }}")
                .unwrap_err()
                .contains("key is not a string")
        );
        assert!(
            tree("a: 1\n---\nb: 1")
                .unwrap_err()
                .contains("second document")
        );
        assert_eq!(read(&SourceText::new("# nothing\n")), (None, Vec::new()));
    }
}
