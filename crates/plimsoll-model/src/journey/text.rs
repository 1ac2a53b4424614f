//! Texts with holes that a user's values fill.

use serde::{Deserialize, Serialize};

use super::SlotId;

/// A text with holes; without any it is a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextTemplate {
    /// In order.
    pub pieces: Vec<TextPiece>,
}

/// A segment of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextPiece {
    /// Literal text.
    Literal(String),
    /// A value that was captured or set; empty while it was not.
    Slot(SlotId),
    /// A column of the row that the user took: (feed, column).
    Column(u32, u32),
    /// Content of a file: index of [`super::Scenario::files`].
    File(u32),
    /// Number of the user, from 1.
    User,
    /// Number of the user's iteration, from 1.
    Iteration,
    /// The result of a function.
    Call(Function, Vec<TextTemplate>),
}

/// Functions of templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// A whole number between two, both included, drawn from the seed.
    RandomInt,
    /// So many letters and digits, drawn from the seed.
    RandomString,
    /// A random UUID (RFC 9562, version 4), drawn from the seed.
    Uuid,
    /// One of its arguments, drawn from the seed.
    Pick,
    /// Unix time in seconds.
    Now,
    /// Unix time in milliseconds.
    NowMs,
    /// Percent-encoded, as a component of a query or path.
    Urlencode,
    /// Characters that mean something in HTML turned back from their entities (`&amp;` to `&`).
    Unescape,
    /// Base64 (RFC 4648, 4).
    Base64,
    /// SHA-256 in hexadecimal digits.
    Sha256,
    /// As a JSON string, without its quotes.
    Json,
}

impl TextTemplate {
    /// A text without holes.
    pub fn literal(text: impl Into<String>) -> Self {
        Self {
            pieces: vec![TextPiece::Literal(text.into())],
        }
    }

    /// The text itself when it has no holes.
    pub fn as_literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [TextPiece::Literal(text)] => Some(text),
            _ => None,
        }
    }
}
