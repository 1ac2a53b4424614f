//! What all parts of the import of a collection share.

use super::variables::Variables;
use crate::DataFile;
use crate::script::{Losses, Marks, Remedy, Script, Secrets};

/// State while a collection is read.
pub(super) struct Context<'s> {
    pub(super) script: &'s Script<'s>,
    pub(super) losses: Losses<'s>,
    pub(super) marks: Marks,
    pub(super) secrets: Secrets,
    pub(super) variables: Variables,
    /// Files of the plan.
    pub(super) files: Vec<DataFile>,
    /// Sentences for the author, each once.
    pub(super) notes: Vec<String>,
    /// Labels that steps have.
    pub(super) labels: std::collections::HashSet<String>,
    /// Whether a request switches the check of certificates off.
    pub(super) insecure: bool,
}

impl<'s> Context<'s> {
    pub(super) fn new(script: &'s Script<'s>) -> Self {
        Self {
            script,
            losses: Losses::new(script.name, script.text),
            marks: Marks::default(),
            secrets: Secrets::default(),
            variables: Variables::default(),
            files: Vec::new(),
            notes: Vec::new(),
            labels: std::collections::HashSet::new(),
            insecure: false,
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
}
