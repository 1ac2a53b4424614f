//! Errors of a document, all at once.

use std::fmt;

/// Maximum errors that are kept per file.
pub(super) const DIAGNOSTICS_MAX: usize = 100;

/// One error of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The error, a lowercase fragment.
    pub message: String,
    /// The valid values.
    pub valid: String,
    /// The nearest valid word, if one is near.
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

/// All errors of a file, in the order of their places; at least one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .list.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Sorts errors and removes duplicates.
    pub(super) fn new(mut list: Vec<Diagnostic>) -> Self {
        list.sort();
        list.dedup();
        Self { list }
    }

    /// The errors.
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
    }

    /// One line each, `FILE:LINE:COL: error; valid: …`.
    pub fn lines(&self, file: &str) -> Vec<String> {
        self.list
            .iter()
            .map(|diagnostic| format!("{file}:{diagnostic}"))
            .collect()
    }
}
