//! The documents of an import: the one that was named, and those beside it that its references name.
//!
//! All are read before anything is converted, so that a remote reference is refused before a plan exists.

use std::borrow::Cow;
use std::collections::HashMap;

use super::reference::{Reference, file_references, joined, keys};
use crate::located::{self, Located, LocatedError, LocatedKey};
use crate::script::{Losses, SCRIPT_LEN_MAX, Script, ScriptError};

/// Most documents that are read.
const DOCUMENTS_MAX: usize = 5_000;
/// Most references on the way to one value.
const STEPS_MAX: usize = 64;

/// A document.
pub(super) struct Document<'s> {
    /// As people know it.
    pub(super) name: String,
    pub(super) text: Cow<'s, str>,
    /// Relative to the folder of the first document.
    path: String,
    root: Located,
}

/// All documents; the first is the one that was named.
pub(super) struct Documents<'s> {
    pub(super) list: Vec<Document<'s>>,
    by_path: HashMap<String, usize>,
    /// Why a document cannot be read, by its path.
    unreadable: HashMap<String, String>,
}

/// A value of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<'d> {
    /// Index of the document.
    pub(super) document: usize,
    pub(super) value: &'d Located,
}

/// A reference that leads nowhere.
#[derive(Clone, Debug)]
pub(super) struct Unresolved<'d> {
    pub(super) at: Node<'d>,
    pub(super) reference: String,
    pub(super) why: String,
}

impl<'d> Node<'d> {
    fn with(self, value: &'d Located) -> Self {
        Self { value, ..self }
    }

    /// The value of a key.
    pub(super) fn get(self, key: &str) -> Option<Self> {
        self.value.get(key).map(|value| self.with(value))
    }

    pub(super) fn text(self) -> Option<&'d str> {
        self.value.text()
    }

    /// The text below a key.
    pub(super) fn word(self, key: &str) -> Option<&'d str> {
        self.value.get(key).and_then(Located::text)
    }

    /// Whether the value of a key is `true`.
    pub(super) fn is_set(self, key: &str) -> bool {
        self.value.get(key).is_some_and(Located::is_true)
    }

    pub(super) fn items(self) -> impl Iterator<Item = Self> {
        self.value.items().iter().map(move |value| self.with(value))
    }

    pub(super) fn entries(self) -> impl Iterator<Item = (&'d LocatedKey, Self)> {
        let value = self.value;
        value
            .entries()
            .map(move |(key, value)| (key, self.with(value)))
    }

    /// Whether both are the same place of the same document.
    pub(super) fn is_same(self, other: Self) -> bool {
        self.document == other.document && std::ptr::eq(self.value, other.value)
    }
}

impl<'s> Documents<'s> {
    /// Reads a document and all that it refers to.
    ///
    /// # Errors
    /// When it is neither JSON nor YAML, refers to another host, or refers to too many documents.
    pub(super) fn read(script: &Script<'s>) -> Result<Self, ScriptError> {
        let root = parse(script.name, script.text).map_err(|error| {
            script.error(
                error.at,
                error.message,
                "give a document in JSON or YAML, each key once",
            )
        })?;
        let path = file_name(script.name);
        let mut documents = Self {
            list: vec![Document {
                name: script.name.to_owned(),
                text: Cow::Borrowed(script.text),
                path: path.to_owned(),
                root,
            }],
            by_path: HashMap::from([(path.to_owned(), 0)]),
            unreadable: HashMap::new(),
        };
        let mut next = 0;
        while next < documents.list.len() {
            documents.follow(next, script)?;
            next += 1;
        }
        Ok(documents)
    }

    /// Reads what one document refers to.
    fn follow(&mut self, index: usize, script: &Script<'s>) -> Result<(), ScriptError> {
        let document = &self.list[index];
        let references: Vec<(usize, Reference)> = file_references(&document.root)
            .map(|(at, text)| (at, Reference::of(text)))
            .collect();
        for (at, reference) in references {
            let document = &self.list[index];
            let path = match reference {
                Reference::Local { .. } => continue,
                Reference::Remote(text) => {
                    return Err(document.error(
                        at,
                        format!("a remote $ref is refused: {text}"),
                        "save that document beside this one and refer to the file",
                    ));
                }
                Reference::File { path, .. } => joined(&document.path, &path),
            };
            if self.by_path.contains_key(&path) || self.unreadable.contains_key(&path) {
                continue;
            }
            if self.list.len() >= DOCUMENTS_MAX {
                return Err(document.error(
                    at,
                    format!("more than {DOCUMENTS_MAX} documents are referred to"),
                    "bundle them into one document",
                ));
            }
            self.add(path, script);
        }
        Ok(())
    }

    /// Reads one document; one that cannot be read is remembered with the reason.
    fn add(&mut self, path: String, script: &Script<'s>) {
        if path.starts_with('/') {
            let why = "the path is absolute; write one relative to the document".to_owned();
            self.unreadable.insert(path, why);
            return;
        }
        let read: usize = self.list.iter().map(|document| document.text.len()).sum();
        let name = beside(script.name, &path);
        let text = match script.files.text(&path) {
            Ok(text) if (read + text.len()) as u64 > 2 * SCRIPT_LEN_MAX => {
                let why = format!(
                    "all documents together are longer than {} MiB",
                    (2 * SCRIPT_LEN_MAX) >> 20
                );
                self.unreadable.insert(path, why);
                return;
            }
            Ok(text) => text,
            Err(why) => {
                self.unreadable.insert(path, why);
                return;
            }
        };
        match parse(&name, &text) {
            Ok(root) => {
                self.by_path.insert(path.clone(), self.list.len());
                self.list.push(Document {
                    name,
                    text: Cow::Owned(text),
                    path,
                    root,
                });
            }
            Err(error) => {
                let (line, column) = Losses::new(&name, &text).place(error.at);
                let why = format!("{name}:{line}:{column}: {}", error.message);
                self.unreadable.insert(path, why);
            }
        }
    }

    /// The first document.
    pub(super) fn root(&self) -> Node<'_> {
        Node {
            document: 0,
            value: &self.list[0].root,
        }
    }

    /// What a node stands for: itself, or where its `$ref` leads.
    pub(super) fn resolve<'d>(&'d self, node: Node<'d>) -> Result<Node<'d>, Unresolved<'d>> {
        let mut steps = STEPS_MAX;
        self.resolve_within(node, &mut steps)
    }

    /// The node that a reference names, without following it further.
    pub(super) fn target<'d>(
        &'d self,
        from: Node<'d>,
        text: &str,
    ) -> Result<Node<'d>, Unresolved<'d>> {
        let mut steps = STEPS_MAX;
        self.target_within(from, text, &mut steps)
    }

    /// `steps` counts references in the way, too: those that lead through one another would double with each.
    fn resolve_within<'d>(
        &'d self,
        node: Node<'d>,
        steps: &mut usize,
    ) -> Result<Node<'d>, Unresolved<'d>> {
        let mut node = node;
        while let Some(text) = node.word("$ref") {
            let Some(left) = steps.checked_sub(1) else {
                let why = "it refers to itself, or through too many others";
                return Err(unresolved(node, text, why));
            };
            *steps = left;
            node = self.target_within(node, text, steps)?;
        }
        Ok(node)
    }

    fn target_within<'d>(
        &'d self,
        from: Node<'d>,
        text: &str,
        steps: &mut usize,
    ) -> Result<Node<'d>, Unresolved<'d>> {
        let (document, fragment) = match Reference::of(text) {
            Reference::Local { fragment } => (from.document, fragment),
            Reference::File { path, fragment } => {
                let path = joined(&self.list[from.document].path, &path);
                let Some(&index) = self.by_path.get(&path) else {
                    let why = self.unreadable.get(&path).map(String::as_str);
                    return Err(unresolved(
                        from,
                        text,
                        why.unwrap_or("that document was not read"),
                    ));
                };
                (index, fragment)
            }
            Reference::Remote(_) => return Err(unresolved(from, text, "it is remote")),
        };
        let root = Node {
            document,
            value: &self.list[document].root,
        };
        self.fragment(root, &fragment, steps)
            .ok_or_else(|| unresolved(from, text, "nothing is there"))
    }

    fn fragment<'d>(
        &'d self,
        root: Node<'d>,
        fragment: &str,
        steps: &mut usize,
    ) -> Option<Node<'d>> {
        if !fragment.is_empty() && !fragment.starts_with('/') {
            return anchor(root, fragment);
        }
        let mut node = root;
        for key in keys(fragment) {
            if node.word("$ref").is_some() && node.get(&key).is_none() {
                node = self.resolve_within(node, steps).ok()?;
            }
            let item = || {
                key.parse::<usize>()
                    .ok()
                    .and_then(|at| node.items().nth(at))
            };
            node = node.get(&key).or_else(item)?;
        }
        Some(node)
    }
}

fn unresolved<'d>(at: Node<'d>, reference: &str, why: &str) -> Unresolved<'d> {
    Unresolved {
        at,
        reference: reference.to_owned(),
        why: why.to_owned(),
    }
}

/// The schema with this `$anchor`.
fn anchor<'d>(root: Node<'d>, name: &str) -> Option<Node<'d>> {
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        if ["$anchor", "$dynamicAnchor"]
            .iter()
            .any(|key| node.word(key) == Some(name))
        {
            return Some(node);
        }
        open.extend(node.items());
        open.extend(node.entries().map(|(_, value)| value));
    }
    None
}

impl Document<'_> {
    fn error(&self, at: usize, message: String, remedy: &str) -> ScriptError {
        let (line, column) = Losses::new(&self.name, &self.text).place(at);
        ScriptError {
            file: self.name.clone(),
            line,
            column,
            message,
            remedy: remedy.to_owned(),
            losses: Vec::new(),
        }
    }
}

/// Reads JSON or YAML. A text that begins like JSON may be YAML nevertheless; the reader that came further names the
/// fault.
fn parse(name: &str, text: &str) -> Result<Located, LocatedError> {
    let is_json = is_named_json(name) || text.trim_start().starts_with(['{', '[']);
    if !is_json {
        return located::yaml(text);
    }
    located::json(text).or_else(|json| {
        located::yaml(text).map_err(|yaml| if json.at >= yaml.at { json } else { yaml })
    })
}

fn is_named_json(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

fn file_name(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

/// A path beside a document, as people know it.
fn beside(name: &str, path: &str) -> String {
    let folder = &name[..name.len() - file_name(name).len()];
    format!("{folder}{path}")
}
