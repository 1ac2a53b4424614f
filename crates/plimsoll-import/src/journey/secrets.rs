//! Keeps secrets out of the plan: they are read from the environment.

use crate::heuristics;

/// Known secrets and their variables.
#[derive(Default)]
pub(super) struct Secrets {
    known: Vec<(String, String)>,
}

impl Secrets {
    /// The expression for the secret `value`, in a variable named after `wish`.
    pub(super) fn expression(&mut self, hint: &str, value: &str) -> String {
        if let Some(known) = self.expression_of(value) {
            return known;
        }
        let is_free = |name: &String| self.known.iter().all(|(_, other)| other != name);
        let hint = heuristics::slot_name(hint).to_ascii_uppercase();
        let name = heuristics::free_name(hint, is_free);
        self.known.push((value.to_owned(), name.clone()));
        format!("env('{name}')")
    }

    /// The expression for `value`, if it is a known secret.
    pub(super) fn expression_of(&self, value: &str) -> Option<String> {
        let (_, name) = self.known.iter().find(|(secret, _)| secret == value)?;
        Some(format!("env('{name}')"))
    }

    /// Names of the variables, in order of appearance.
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(|(_, name)| name.as_str())
    }
}
