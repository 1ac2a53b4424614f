//! What the parts of a conversion share: the documents, the losses, the variables.

use super::documents::{Documents, Node};
use super::variables::Variables;
use crate::script::{Losses, Remedy};

/// A document on its way to a plan.
pub(super) struct Conversion<'d, 's> {
    pub(super) documents: &'d Documents<'s>,
    /// Of each document.
    losses: Vec<Losses<'d>>,
    pub(super) variables: Variables<'d>,
    pub(super) seed: u64,
    /// Optional parameters that are not sent, for no example says with which value.
    pub(super) parameters_unsent: usize,
}

impl<'d, 's> Conversion<'d, 's> {
    pub(super) fn new(documents: &'d Documents<'s>, seed: u64) -> Self {
        let losses = documents
            .list
            .iter()
            .map(|document| Losses::new(&document.name, &document.text))
            .collect();
        Self {
            documents,
            losses,
            variables: Variables::default(),
            seed,
            parameters_unsent: 0,
        }
    }

    /// Notes that something at a node is not in the plan.
    pub(super) fn lose(&mut self, at: Node<'d>, what: impl Into<String>, how: Remedy<'_>) {
        self.lose_at((at.document, at.value.at), what, how);
    }

    /// The same, at a byte of a document.
    pub(super) fn lose_at(
        &mut self,
        (document, at): (usize, usize),
        what: impl Into<String>,
        how: Remedy<'_>,
    ) {
        self.losses[document].lose(at, what, how);
    }

    /// A place for people: `openapi.yaml:12:5`.
    pub(super) fn place(&self, at: Node<'d>) -> String {
        let (line, column) = self.losses[at.document].place(at.value.at);
        format!("{}:{line}:{column}", self.documents.list[at.document].name)
    }

    /// All losses, those of the first document first.
    pub(super) fn finish(self) -> Losses<'d> {
        let mut all = self.losses.into_iter();
        // There is always a first document.
        let mut first = all.next().unwrap_or_else(|| Losses::new("", ""));
        all.for_each(|more| first.append(more));
        first
    }
}
