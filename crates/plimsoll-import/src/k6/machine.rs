//! The state in which a script is followed: names, steps so far, and what is lost.

use std::collections::{HashMap, HashSet};

use oxc_allocator::Allocator;

use super::node::{Node, SentRequest};
use super::socket::SocketDraft;
use super::text::{Hole, Text};
use super::value::Value;
use crate::heuristics;
use crate::script::draft::{CaptureSource, DataDraft, PickDraft};
use crate::script::{Losses, Remedy, ScriptFiles, Template};
use crate::{DataFile, Loss};

/// Most steps of a plan.
const STEPS_MAX: usize = 5_000;
/// Most expressions and statements that are followed, those of loops each time.
const WORK_MAX: usize = 400_000;
/// Deepest nesting of expressions, statements and calls.
const DEPTH_MAX: usize = 1_200;
/// Deepest nesting of calls.
const CALLS_MAX: usize = 48;
/// Longest text that is put together, bytes.
pub(super) const TEXT_LEN_MAX: usize = 4 << 20;
/// Most items of a list.
pub(super) const ITEMS_MAX: usize = 20_000;

/// A file of the script.
pub(super) struct Module<'a> {
    pub(super) path: String,
    pub(super) losses: Losses<'a>,
    pub(super) source: &'a str,
    /// Names that others import, and their scope's names for them.
    pub(super) exports: HashMap<&'a str, Value<'a>>,
    pub(super) scope: usize,
}

/// Names of a block, and the block around it.
#[derive(Default)]
pub(super) struct Scope<'a> {
    pub(super) parent: Option<usize>,
    pub(super) names: HashMap<&'a str, Value<'a>>,
}

/// Names that a branch assigned, with their values before.
pub(super) type Journal<'a> = Vec<(usize, &'a str, Value<'a>)>;

/// A class of the script.
pub(super) struct ClassDraft<'a> {
    pub(super) class: &'a oxc_ast::ast::Class<'a>,
    pub(super) scope: usize,
    pub(super) module: usize,
    pub(super) parent: Option<usize>,
}

/// What follows a script.
pub(super) struct Machine<'a, 'f> {
    pub(super) allocator: &'a Allocator,
    pub(super) files: &'f dyn ScriptFiles,
    pub(super) modules: Vec<Module<'a>>,
    /// The file that is followed now.
    pub(super) module: usize,
    pub(super) scopes: Vec<Scope<'a>>,
    pub(super) classes: Vec<ClassDraft<'a>>,
    /// Steps of the blocks that are open, the innermost last.
    blocks: Vec<Vec<Node>>,
    /// Steps that a user takes once.
    pub(super) once: Vec<Node>,
    pub(super) requests: Vec<SentRequest>,
    pub(super) sockets: Vec<SocketDraft<'a>>,
    pub(super) data: Vec<DataDraft>,
    pub(super) data_files: Vec<DataFile>,
    /// Data sets by list, place and order of rows.
    pub(super) data_keys: Vec<(usize, String, String)>,
    pub(super) journals: Vec<Journal<'a>>,
    pub(super) notes: Vec<String>,
    /// Bounds of random numbers as conditions around narrow them.
    pub(super) bounds: HashMap<usize, (f64, f64)>,
    /// Random numbers that have a variable of the plan.
    pub(super) random_slots: HashMap<usize, String>,
    /// Variables of the plan.
    slots: HashSet<String>,
    /// Groups that have steps.
    pub(super) groups: HashSet<String>,
    /// Variables that a text uses.
    pub(super) used: HashSet<String>,
    /// Statuses that `http.setResponseCallback` expects.
    pub(super) good: Option<Vec<String>>,
    /// Redirects that a request follows.
    pub(super) redirects: u32,
    /// Cookies that the script puts into the jar.
    pub(super) jar: Vec<(String, Text)>,
    /// Values of the scenario's `env`.
    pub(super) variables: HashMap<String, String>,
    /// Variables of the environment for values that nobody knows, by place.
    pub(super) missing_names: HashMap<(usize, u32, String), String>,
    /// URLs that thresholds name.
    pub(super) threshold_names: HashSet<String>,
    /// The site of the first WebSocket.
    pub(super) socket_site: Option<Text>,
    /// Secrets of the script and the variables that stand for them.
    pub(super) secrets: Vec<(String, String)>,
    pub(super) random_count: usize,
    /// Captures of items that were drawn, by request and draw: JSON path and name.
    drawn: HashMap<(usize, usize), Vec<(String, String)>>,
    /// Whether the setup or the body of a module is followed: each user does it once.
    pub(super) is_init: bool,
    steps: usize,
    work: usize,
    depth: usize,
    calls: usize,
    pub(super) is_exhausted: bool,
}

impl<'a, 'f> Machine<'a, 'f> {
    pub(super) fn new(allocator: &'a Allocator, files: &'f dyn ScriptFiles) -> Self {
        Self {
            allocator,
            files,
            modules: Vec::new(),
            module: 0,
            scopes: vec![Scope::default()],
            classes: Vec::new(),
            blocks: vec![Vec::new()],
            once: Vec::new(),
            requests: Vec::new(),
            sockets: Vec::new(),
            data: Vec::new(),
            data_files: Vec::new(),
            data_keys: Vec::new(),
            journals: Vec::new(),
            notes: Vec::new(),
            bounds: HashMap::new(),
            random_slots: HashMap::new(),
            slots: HashSet::new(),
            groups: HashSet::new(),
            used: HashSet::new(),
            good: None,
            redirects: super::http::REDIRECTS,
            jar: Vec::new(),
            variables: HashMap::new(),
            missing_names: HashMap::new(),
            threshold_names: HashSet::new(),
            socket_site: None,
            secrets: Vec::new(),
            random_count: 0,
            drawn: HashMap::new(),
            is_init: true,
            steps: 0,
            work: 0,
            depth: 0,
            calls: 0,
            is_exhausted: false,
        }
    }

    /// Names a loss at byte `at` of the file that is followed.
    pub(super) fn lose(&mut self, at: u32, what: impl Into<String>, why: &str, remedy: &str) {
        if let Some(module) = self.modules.get_mut(self.module) {
            module
                .losses
                .lose(at as usize, what, Remedy { why, remedy });
        }
    }

    /// A sentence for the author of the plan, once.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The first place of a name from `from` on in the script, or `from`.
    pub(super) fn place_of(&self, name: &str, from: u32) -> u32 {
        let source = self.modules.first().map_or("", |module| module.source);
        let rest = source.get(from as usize..).unwrap_or_default();
        let found = rest.find(name).and_then(|at| u32::try_from(at).ok());
        found.map_or(from, |at| from + at)
    }

    /// The source of a place, for messages and for what the tree does not tell.
    pub(super) fn source(&self, span: oxc_span::Span) -> &'a str {
        let source = self
            .modules
            .get(self.module)
            .map_or("", |candidate| candidate.source);
        source
            .get(span.start as usize..span.end as usize)
            .unwrap_or_default()
    }

    /// The beginning of the source of a place, on one line.
    pub(super) fn words(&self, span: oxc_span::Span) -> String {
        const LEN_MAX: usize = 60;
        let line: Vec<&str> = self
            .source(span)
            .get(..)
            .unwrap_or_default()
            .split_whitespace()
            .take(20)
            .collect();
        let line = line.join(" ");
        let mut short: String = line.chars().take(LEN_MAX).collect();
        if short.len() < line.len() {
            short.push('…');
        }
        format!("`{short}`")
    }

    /// Counts one piece of work; false when there was too much of it.
    pub(super) fn work(&mut self, at: u32) -> bool {
        self.work += 1;
        if self.work <= WORK_MAX && self.steps <= STEPS_MAX {
            return true;
        }
        if !self.is_exhausted {
            self.is_exhausted = true;
            self.lose(
                at,
                "the rest of the script",
                "its loops take more than 5,000 steps",
                "write a `repeat` for the loop, or a shorter one in the script",
            );
        }
        false
    }

    /// Enters a nested expression or statement; false when it is too deep. Each entered one must be left.
    pub(super) fn enter(&mut self, at: u32) -> bool {
        if self.depth >= DEPTH_MAX {
            self.lose(
                at,
                "an expression",
                "it is nested too deeply",
                "write it in several statements",
            );
            return false;
        }
        self.depth += 1;
        true
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Enters a call; false when there are too many within each other.
    pub(super) fn enter_call(&mut self, at: u32) -> bool {
        if self.calls >= CALLS_MAX {
            self.lose(
                at,
                "a recursive function",
                "a plan has no functions, and this one calls itself without an end that is known now",
                "write the steps with `repeat`",
            );
            return false;
        }
        self.calls += 1;
        true
    }

    pub(super) fn leave_call(&mut self) {
        self.calls -= 1;
    }

    /// Appends a step to the innermost block.
    pub(super) fn emit(&mut self, node: Node) {
        self.steps += 1;
        match self.blocks.last_mut() {
            Some(block) => block.push(node),
            None => self.blocks.push(vec![node]),
        }
    }

    pub(super) fn emit_all(&mut self, nodes: Vec<Node>) {
        for node in nodes {
            self.emit(node);
        }
    }

    /// Opens a block.
    pub(super) fn open(&mut self) {
        self.blocks.push(Vec::new());
    }

    /// Closes the innermost block; its steps.
    pub(super) fn close(&mut self) -> Vec<Node> {
        self.blocks.pop().unwrap_or_default()
    }

    /// Whether no step precedes in the whole iteration.
    pub(super) fn is_first(&self) -> bool {
        self.blocks.iter().all(Vec::is_empty)
    }

    /// A free name for a variable of the plan.
    pub(super) fn slot(&mut self, hint: &str) -> String {
        let base = heuristics::slot_name(&snake(hint));
        let name = heuristics::free_name(base, |name| {
            !self.slots.contains(name) && !self.data.iter().any(|set| set.name == *name)
        });
        self.slots.insert(name.clone());
        name
    }

    /// The text as a plan has it; its variables count as used.
    pub(super) fn template(&mut self, text: &Text) -> Template {
        for hole in text.holes() {
            self.used.extend(names(&hole.expression));
        }
        text.template()
    }

    /// Sets a variable of the plan to a text, and gives the variable.
    pub(super) fn set(&mut self, hint: &str, text: &Text) -> Hole {
        let is_number = match text.pieces() {
            [super::text::Piece::Hole(hole)] => hole.is_number,
            _ => false,
        };
        let name = self.slot(hint);
        let template = self.template(text);
        self.emit(Node::Set(name.clone(), template));
        let hole = Hole::stable(name);
        if is_number { hole.number() } else { hole }
    }

    /// The capture of a part of a response.
    pub(super) fn capture(&mut self, request: usize, what: &super::answer::Answer) -> Option<Hole> {
        let (source, pick, hint) = what.source()?;
        if let super::answer::Answer::Json(json) = what
            && let Some(draw) = json.draw
        {
            return self.capture_drawn(request, (draw, source, pick), &hint);
        }
        let known = self.requests.get(request)?.captured(&source, pick);
        let name = if let Some(name) = known {
            name
        } else {
            let name = self.slot(&hint);
            let sent = self.requests.get_mut(request)?;
            sent.add_capture(name.clone(), source, pick);
            name
        };
        Some(Hole::stable(name))
    }

    /// The capture of a part of an item that a draw chose. Each capture of a plan draws for itself: where a second part of
    /// the item is wanted, all are taken from the first item.
    fn capture_drawn(
        &mut self,
        request: usize,
        (draw, source, pick): (usize, CaptureSource, PickDraft),
        hint: &str,
    ) -> Option<Hole> {
        let CaptureSource::Json(path) = &source else {
            return None;
        };
        let key = (request, draw);
        let known = self.drawn.get(&key).into_iter().flatten();
        let mut names = Vec::new();
        for (known_path, name) in known {
            if known_path == path {
                return Some(Hole::stable(name.clone()));
            }
            names.push(name.clone());
        }
        let pick = if names.is_empty() {
            pick
        } else {
            self.note(
                "several values of one item of a list in a response are those of its first item in the plan, so that they belong together",
            );
            PickDraft::First
        };
        let path = path.clone();
        let slot = self.slot(hint);
        let sent = self.requests.get_mut(request)?;
        for name in &names {
            sent.take_first(name);
        }
        sent.add_capture(slot.clone(), source, pick);
        self.drawn
            .entry(key)
            .or_default()
            .push((path, slot.clone()));
        Some(Hole::stable(slot))
    }

    /// Gives a capture a value for the case that nothing is found.
    pub(super) fn default_capture(&mut self, request: usize, name: &str, default: &Text) {
        let template = self.template(default);
        if let Some(sent) = self.requests.get_mut(request) {
            sent.set_default(name, template);
        }
    }

    /// A new draw of a random number.
    pub(super) fn random(&mut self, low: f64, high: f64, is_whole: bool) -> Value<'a> {
        self.random_count += 1;
        Value::Random(super::value::Random {
            low,
            high,
            is_whole,
            id: self.random_count,
        })
    }

    /// A new scope within another.
    pub(super) fn scope(&mut self, parent: usize) -> usize {
        self.scopes.push(Scope {
            parent: Some(parent),
            names: HashMap::new(),
        });
        self.scopes.len() - 1
    }

    pub(super) fn declare(&mut self, scope: usize, name: &'a str, value: Value<'a>) {
        self.scopes[scope].names.insert(name, value);
    }

    pub(super) fn lookup(&self, scope: usize, name: &str) -> Option<&Value<'a>> {
        let mut at = Some(scope);
        while let Some(index) = at {
            let scope = &self.scopes[index];
            if let Some(value) = scope.names.get(name) {
                return Some(value);
            }
            at = scope.parent;
        }
        None
    }

    /// Gives a name another value.
    pub(super) fn assign(&mut self, scope: usize, name: &'a str, value: Value<'a>) {
        let mut at = Some(scope);
        while let Some(index) = at {
            if let Some(old) = self.scopes[index].names.insert(name, value.clone()) {
                if let Some(journal) = self.journals.last_mut() {
                    journal.push((index, name, old));
                }
                return;
            }
            self.scopes[index].names.remove(name);
            at = self.scopes[index].parent;
        }
        self.scopes[0].names.insert(name, value);
    }

    /// The losses of the files that the script imports.
    pub(super) fn imported_losses(modules: Vec<Module<'a>>) -> (Option<Losses<'a>>, Vec<Loss>) {
        let mut modules = modules.into_iter();
        let first = modules.next().map(|module| module.losses);
        let others = modules.flat_map(|module| module.losses.finish()).collect();
        (first, others)
    }
}

/// Names that an expression of plans mentions.
pub(super) fn names(expression: &str) -> impl Iterator<Item = String> + '_ {
    expression
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .map(ToOwned::to_owned)
}

/// `authToken` as `auth_token`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    let mut was_lower = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && was_lower {
            out.push('_');
        }
        was_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        out.push(c);
    }
    out
}
