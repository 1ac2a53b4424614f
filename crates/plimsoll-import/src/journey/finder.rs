//! Server-generated values that requests send back: each is captured from the earliest response that has it.

use std::collections::{HashMap, HashSet};

use super::extract::{Extraction, ParsedResponse};
use super::fold::Action;
use crate::heuristics;
use crate::recording::RecordedExchange;

/// A capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlannedCapture {
    pub(super) name: String,
    pub(super) found: Extraction,
}

/// Searches the responses of earlier actions for values, and records the captures.
pub(super) struct ValueFinder<'a> {
    answers: Vec<ParsedResponse<'a>>,
    /// Captures of each action's response.
    captures: Vec<Vec<PlannedCapture>>,
    /// Found values: location, and expression.
    known: HashMap<String, (usize, String)>,
    /// Values not found in the responses before this action.
    searched: HashMap<String, usize>,
    /// Values sent although no response had them: user input.
    typed: HashSet<String>,
    names: HashSet<String>,
}

impl<'a> ValueFinder<'a> {
    pub(super) fn new(exchanges: &[&'a RecordedExchange], actions: &[Action]) -> Self {
        let answer = |action: &Action| {
            let chain = std::iter::once(&action.first).chain(&action.followed);
            ParsedResponse::new(
                exchanges[action.last()],
                chain.map(|&index| exchanges[index]),
            )
        };
        Self {
            answers: actions.iter().map(answer).collect(),
            captures: vec![Vec::new(); actions.len()],
            known: HashMap::new(),
            searched: HashMap::new(),
            typed: HashSet::new(),
            names: HashSet::new(),
        }
    }

    /// The expression for `value` in a request of action `at`, if an earlier response has it.
    pub(super) fn expression(&mut self, at: usize, name: &str, value: &str) -> Option<String> {
        if !heuristics::is_extraction_candidate(name, value) || self.typed.contains(value) {
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
        self.captures[source].push(PlannedCapture { name: slot, found });
        self.known
            .insert(value.to_owned(), (source, expression.clone()));
        Some(expression)
    }

    /// Records a value that is sent literally.
    pub(super) fn note_typed(&mut self, value: &str) {
        if value.chars().count() >= heuristics::VALUE_LENGTH_MIN {
            self.typed.insert(value.to_owned());
        }
    }

    /// Captures of each action's response.
    pub(super) fn into_captures(self) -> Vec<Vec<PlannedCapture>> {
        self.captures
    }

    fn free_name(&mut self, hint: &str) -> String {
        let is_free = |name: &String| !self.names.contains(name);
        let name = heuristics::free_name(heuristics::slot_name(hint), is_free);
        self.names.insert(name.clone());
        name
    }
}
