//! What is wrong in a plan file, all of it at once.

use std::fmt;

/// Most faults that are kept; who has more mends these first.
pub(crate) const DIAGNOSTICS_MAX: usize = 100;

/// One fault of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, a lowercase fragment.
    pub message: String,
    /// What would be right.
    pub valid: String,
    /// The nearest right word, if one is near.
    pub nearest: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}; valid: {}",
            self.line, self.column, self.message, self.valid
        )?;
        match &self.nearest {
            Some(word) => write!(f, "; did you mean `{word}`?"),
            None => Ok(()),
        }
    }
}

/// All faults of a file, in the order of their places; at least one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .list.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Sorts them; the same said twice of one place is said once.
    pub(crate) fn new(mut list: Vec<Diagnostic>) -> Self {
        list.sort();
        list.dedup();
        Self { list }
    }

    /// The faults.
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
    }

    /// One line each, `FILE:LINE:COL: fault; valid: …`.
    pub fn lines(&self, file: &str) -> Vec<String> {
        self.list
            .iter()
            .map(|diagnostic| format!("{file}:{diagnostic}"))
            .collect()
    }
}
