//! What is wrong in a plan file, all of it at once.

use std::fmt;

/// Most faults that are kept; who has more mends these first.
pub(crate) const FAULTS_MAX: usize = 100;

/// One fault of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, a lowercase fragment.
    pub fault: String,
    /// What would be right.
    pub valid: String,
    /// The nearest right word, if one is near.
    pub nearest: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}; valid: {}",
            self.line, self.column, self.fault, self.valid
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
pub struct Faults {
    list: Vec<Fault>,
}

impl Faults {
    /// Sorts them; the same said twice of one place is said once.
    pub(crate) fn new(mut list: Vec<Fault>) -> Self {
        list.sort();
        list.dedup();
        Self { list }
    }

    /// The faults.
    pub fn list(&self) -> &[Fault] {
        &self.list
    }

    /// One line each, `FILE:LINE:COL: fault; valid: …`.
    pub fn lines(&self, file: &str) -> Vec<String> {
        self.list
            .iter()
            .map(|fault| format!("{file}:{fault}"))
            .collect()
    }
}
