//! A script and what surrounds it.

use super::{Loss, Losses, PlanDraft, write};
use crate::Imported;

/// Longest script that is read, bytes.
pub const SCRIPT_LEN_MAX: u64 = 64 << 20;

/// A script of another tool.
pub struct Script<'s> {
    /// As people know it: the file's name as given.
    pub name: &'s str,
    /// Its text, without a byte order mark.
    pub text: &'s str,
    /// Files that the script names.
    pub files: &'s dyn ScriptFiles,
}

/// Access to the files beside a script.
pub trait ScriptFiles: Sync {
    /// The text of a file; `path` is as the script has it, relative to the script.
    ///
    /// # Errors
    /// Why it cannot be read, for people.
    fn text(&self, path: &str) -> Result<String, String>;

    /// The bytes of a file.
    ///
    /// # Errors
    /// Why it cannot be read, for people.
    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        self.text(path).map(String::into_bytes)
    }
}

/// What the command line adds to a script.
#[derive(Clone, Debug, Default)]
pub struct ScriptOptions {
    /// The site: takes the place of the script's most common origin. Without a slash at its end.
    pub target: Option<String>,
    /// Name and text of the file with the values of variables (Postman: an exported environment).
    pub environment: Option<(String, String)>,
    /// Seed of values that the import makes up.
    pub seed: u64,
}

/// Why a script gives no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}; {remedy}")]
pub struct ScriptError {
    /// Name of the script.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
    /// What was left out before, in the order of the script: where nothing is left of it, they tell why.
    pub losses: Vec<Loss>,
}

impl Script<'_> {
    /// An error at byte `at` of the script.
    pub(crate) fn error(
        &self,
        at: usize,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> ScriptError {
        let (line, column) = Losses::new(self.name, self.text).place(at);
        ScriptError {
            file: self.name.to_owned(),
            line,
            column,
            message: message.into(),
            remedy: remedy.into(),
            losses: Vec::new(),
        }
    }

    /// The plan of `draft`; one without any request is no plan.
    pub(crate) fn plan(
        &self,
        draft: PlanDraft,
        losses: Losses<'_>,
    ) -> Result<Imported, ScriptError> {
        if draft.is_empty() {
            let error = self.error(
                0,
                "no request was found in it",
                "check that it is a whole script of this tool",
            );
            return Err(ScriptError {
                losses: losses.finish(),
                ..error
            });
        }
        Ok(write(draft, losses))
    }
}
