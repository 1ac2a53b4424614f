//! What all parts of the import of curl lines share.

use std::collections::HashMap;

use crate::DataFile;
use crate::script::{Losses, Marks, Remedy, Script, Secrets};

/// State while the lines of a script are read.
pub(super) struct Context<'s> {
    pub(super) script: &'s Script<'s>,
    pub(super) losses: Losses<'s>,
    pub(super) marks: Marks,
    pub(super) secrets: Secrets,
    /// Variables that the script itself sets, with their values.
    pub(super) variables: HashMap<String, String>,
    /// Files of the plan.
    pub(super) files: Vec<DataFile>,
    /// Sentences for the author, each once.
    pub(super) notes: Vec<String>,
    /// Curl commands in `$(…)` of the command that is read: they run before it.
    pub(super) substitutions: Vec<Substitution>,
    /// Files in which commands keep cookies: `-c FILE`.
    pub(super) jars: Vec<String>,
    /// Number of the last variable for the output of a program.
    outputs: usize,
}

/// Commands whose output is part of another command.
#[derive(Clone, Debug)]
pub(super) struct Substitution {
    /// Bytes of the script between the brackets.
    pub(super) range: std::ops::Range<usize>,
    /// The plan's variable for the output.
    pub(super) name: String,
}

impl<'s> Context<'s> {
    pub(super) fn new(script: &'s Script<'s>) -> Self {
        Self {
            script,
            losses: Losses::new(script.name, script.text),
            marks: Marks::default(),
            secrets: Secrets::default(),
            variables: HashMap::new(),
            files: Vec::new(),
            notes: Vec::new(),
            substitutions: Vec::new(),
            jars: Vec::new(),
            outputs: 0,
        }
    }

    /// Notes a sentence for the author, unless it was noted already.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Notes a loss.
    pub(super) fn lose(&mut self, at: usize, what: &str, why: &str, remedy: &str) {
        let what = self.marks.shown(what);
        self.losses.lose(at, what, Remedy { why, remedy });
    }

    /// The value of a shell variable: that of the script, else one of the environment.
    pub(super) fn variable(&mut self, name: &str, default: Option<&str>) -> String {
        if let Some(known) = self.variables.get(name) {
            return known.clone();
        }
        let meaning = format!("the variable ${name} of the script");
        let expression = self.secrets.variable(name, &meaning);
        let quotable = |text: &&str| !text.contains(['\'', '\n']);
        let expression = match default.filter(quotable) {
            Some(default) => format!("env('{name}', '{default}')"),
            None => expression,
        };
        self.marks.mark(&expression).to_string()
    }

    /// The output of commands between two bytes of the script, curl among them.
    pub(super) fn substitution(&mut self, range: std::ops::Range<usize>) -> String {
        self.outputs += 1;
        let name = format!("output_{}", self.outputs);
        let mark = self.marks.mark(&name).to_string();
        self.substitutions.push(Substitution { range, name });
        mark
    }

    /// The output of a program that the shell inserts.
    pub(super) fn output(&mut self, at: usize, program: &str) -> String {
        let program = program.trim();
        let known = match program {
            "date +%s" => Some("now()"),
            "date +%s%3N" | "date +%s%N | cut -b1-13" => Some("now_ms()"),
            "uuidgen" | "cat /proc/sys/kernel/random/uuid" | "uuidgen -r" => Some("uuid()"),
            _ => None,
        };
        if let Some(expression) = known {
            return self.marks.mark(expression).to_string();
        }
        if let Some(path) = program.strip_prefix("cat ")
            && let Ok(text) = self
                .script
                .files
                .text(path.trim().trim_matches(['"', '\'']))
        {
            return Marks::clean(text.trim_end_matches('\n'));
        }
        self.outputs += 1;
        let name = format!("OUTPUT_{}", self.outputs);
        self.lose(
            at,
            &format!("$({program})"),
            "a plan runs no programs",
            &format!("set {name} to its output before a run"),
        );
        let meaning = "the output of a program, see the loss list".to_owned();
        let expression = self.secrets.variable(&name, &meaning);
        self.marks.mark(&expression).to_string()
    }

    /// An origin whose host is constant, or one variable of the environment at its start.
    pub(super) fn constant_origin(&mut self, origin: &str) -> String {
        let mut behind = origin.chars();
        behind.next();
        if !Marks::are_in(origin) || !Marks::are_in(behind.as_str()) {
            return origin.to_owned();
        }
        let meaning = format!("the site {}", self.marks.shown(origin));
        let expression = self.secrets.expression("site", origin, &meaning);
        self.marks.mark(&expression).to_string()
    }
}
