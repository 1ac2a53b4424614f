//! Values that the server gave and that requests send back: each is captured from the earliest answer that holds it.

use std::collections::{HashMap, HashSet};

use super::extract::{Answer, Found};
use super::fold::Action;
use crate::looks;
use crate::recording::Exchange;

/// A value kept of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) name: String,
    pub(super) found: Found,
}

/// Looks for values in the answers of earlier actions, and notes what has to be captured there.
pub(super) struct Finder<'a> {
    answers: Vec<Answer<'a>>,
    /// What is kept of each action's answer.
    kept: Vec<Vec<Kept>>,
    /// Values found: where, and the expression that stands for them.
    known: HashMap<String, (usize, String)>,
    /// Values not found in the answers before this action.
    searched: HashMap<String, usize>,
    /// Values that requests sent although no answer had held them: the user made them up.
    typed: HashSet<String>,
    names: HashSet<String>,
}

impl<'a> Finder<'a> {
    pub(super) fn new(exchanges: &[&'a Exchange], actions: &[Action]) -> Self {
        let answer = |action: &Action| {
            let chain = std::iter::once(&action.first).chain(&action.followed);
            Answer::new(
                exchanges[action.last()],
                chain.map(|&index| exchanges[index]),
            )
        };
        Self {
            answers: actions.iter().map(answer).collect(),
            kept: vec![Vec::new(); actions.len()],
            known: HashMap::new(),
            searched: HashMap::new(),
            typed: HashSet::new(),
            names: HashSet::new(),
        }
    }

    /// The expression that stands for `value` in a request of action `at`, if an earlier answer holds it.
    pub(super) fn expression(&mut self, at: usize, name: &str, value: &str) -> Option<String> {
        if !looks::is_worth_looking_for(name, value) || self.typed.contains(value) {
            return None;
        }
        if let Some((source, expression)) = self.known.get(value) {
            return (*source < at).then(|| expression.clone());
        }
        let from = self.searched.get(value).copied().unwrap_or(0);
        let hit = (from..at).find_map(|source| Some((source, self.answers[source].find(value)?)));
        let Some((source, found)) = hit else {
            self.searched.insert(value.to_owned(), at);
            return None;
        };
        let slot = self.free_name(name);
        let expression = if found.unescape {
            format!("unescape({slot})")
        } else {
            slot.clone()
        };
        self.kept[source].push(Kept { name: slot, found });
        self.known
            .insert(value.to_owned(), (source, expression.clone()));
        Some(expression)
    }

    /// Remembers a value that a request sends as it stands.
    pub(super) fn note_typed(&mut self, value: &str) {
        if value.chars().count() >= looks::VALUE_LENGTH_MIN {
            self.typed.insert(value.to_owned());
        }
    }

    /// What is kept of each action's answer.
    pub(super) fn into_kept(self) -> Vec<Vec<Kept>> {
        self.kept
    }

    fn free_name(&mut self, hint: &str) -> String {
        let wish = looks::slot_name(hint);
        let numbered = (2_usize..).map(|number| format!("{wish}_{number}"));
        let name = std::iter::once(wish.clone())
            .chain(numbered)
            .find(|name| !self.names.contains(name))
            .unwrap_or(wish);
        self.names.insert(name.clone());
        name
    }
}
