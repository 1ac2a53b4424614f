//! An error in human input.

use std::fmt;
use std::ops::Range;

/// One error: place, fault, and valid range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problem {
    /// The whole input.
    pub input: String,
    /// Bytes of the faulty text; empty at the end when something is missing.
    pub span: Range<usize>,
    /// The fault, a lowercase fragment.
    pub message: String,
    /// The valid values.
    pub valid: String,
    /// The nearest valid word, if one is near.
    pub nearest: Option<String>,
}

impl Problem {
    /// An error in `span` of `input`.
    pub fn new(
        input: &str,
        span: Range<usize>,
        message: impl Into<String>,
        valid: impl Into<String>,
    ) -> Self {
        Self {
            input: input.to_owned(),
            span,
            message: message.into(),
            valid: valid.into(),
            nearest: None,
        }
    }

    /// Adds the candidate that is nearest to the faulty text, if one is near enough.
    #[must_use]
    pub fn with_nearest(mut self, candidates: &[&str]) -> Self {
        let written = &self.input[self.span.clone()];
        self.nearest = nearest(written, candidates).map(str::to_owned);
        self
    }

    /// The same error relative to a text in which this input starts at byte `offset`.
    #[must_use]
    pub fn within(mut self, outer: &str, offset: usize) -> Self {
        outer.clone_into(&mut self.input);
        self.span = self.span.start + offset..self.span.end + offset;
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = self.input[..self.span.start].chars().count() + 1;
        write!(
            f,
            "in `{}` at column {column}: {}; valid: {}",
            self.input, self.message, self.valid
        )?;
        match &self.nearest {
            Some(word) => write!(f, "; did you mean `{word}`?"),
            None => Ok(()),
        }
    }
}

/// The candidate nearest to `written`, when at most a third of it would have to change.
pub fn nearest<'a>(written: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let lower = written.to_lowercase();
    candidates
        .iter()
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()),
                *candidate,
            )
        })
        .filter(|(distance, candidate)| *distance <= candidate.chars().count().div_ceil(3))
        .min()
        .map(|(_, candidate)| candidate)
}

/// Segments of `text` between separators, trimmed, each with its byte offset.
pub(crate) fn split_trimmed(text: &str, separator: char) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split(separator).map(move |segment| {
        let offset = start + (segment.len() - segment.trim_start().len());
        start += segment.len() + separator.len_utf8();
        (offset, segment.trim())
    })
}
