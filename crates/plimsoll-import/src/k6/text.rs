//! Texts of a script whose parts may be known only at run time.

use std::rc::Rc;

use crate::script::Template;

/// A text: literals and holes. Literals that meet are one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Text {
    pieces: Vec<Piece>,
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Literal(String),
    Hole(Hole),
}

/// Longest random text of one function of plans that characters add up to.
const RANDOM_LEN_MAX: usize = 256;

/// The number of characters of a random text.
fn random_len(hole: &Hole) -> Option<usize> {
    let count = hole.expression.strip_prefix("random_string(")?;
    count.strip_suffix(')')?.parse().ok()
}

/// A value that a plan knows at run time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hole {
    /// The expression of plans: `token`, `users.name`, `random_int(1, 6)`.
    pub(super) expression: String,
    /// Whether JSON has it without quotes.
    pub(super) is_number: bool,
    /// Whether each use would give another value.
    pub(super) is_volatile: bool,
    /// An environment variable's default: what it most likely is.
    pub(super) likely: Option<Rc<str>>,
}

impl Hole {
    /// A value that stays the same until it is set again.
    pub(super) fn stable(expression: impl Into<String>) -> Self {
        Self {
            expression: expression.into(),
            is_number: false,
            is_volatile: false,
            likely: None,
        }
    }

    /// A value that is drawn anew at each use.
    pub(super) fn volatile(expression: impl Into<String>) -> Self {
        Self {
            is_volatile: true,
            ..Self::stable(expression)
        }
    }

    /// The same, written without quotes in JSON.
    pub(super) fn number(self) -> Self {
        Self {
            is_number: true,
            ..self
        }
    }
}

impl Text {
    pub(super) fn literal(text: impl Into<String>) -> Self {
        let mut whole = Self::default();
        whole.push_str(&text.into());
        whole
    }

    pub(super) fn hole(hole: Hole) -> Self {
        Self {
            pieces: vec![Piece::Hole(hole)],
        }
    }

    pub(super) fn push_str(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.pieces.last_mut() {
            Some(Piece::Literal(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Literal(text.to_owned())),
        }
    }

    pub(super) fn push(&mut self, other: &Self) {
        for piece in &other.pieces {
            match piece {
                Piece::Literal(text) => self.push_str(text),
                Piece::Hole(hole) => self.push_hole(hole),
            }
        }
    }

    /// Random characters that meet are one random text.
    fn push_hole(&mut self, hole: &Hole) {
        if let Some(Piece::Hole(last)) = self.pieces.last_mut()
            && let (Some(before), Some(more)) = (random_len(last), random_len(hole))
            && before + more <= RANDOM_LEN_MAX
        {
            last.expression = format!("random_string({})", before + more);
            return;
        }
        self.pieces.push(Piece::Hole(hole.clone()));
    }

    /// The text, if it is known.
    pub(super) fn constant(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The text with variables of the environment as they most likely are.
    pub(super) fn likely(&self) -> Option<String> {
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Literal(text) => Some(text.as_str()),
            Piece::Hole(hole) => hole.likely.as_deref(),
        });
        pieces.collect()
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    pub(super) fn is_volatile(&self) -> bool {
        self.holes().any(|hole| hole.is_volatile)
    }

    pub(super) fn holes(&self) -> impl Iterator<Item = &Hole> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Literal(_) => None,
            Piece::Hole(hole) => Some(hole),
        })
    }

    /// Changes the literals.
    pub(super) fn map(&self, change: impl Fn(&str) -> String) -> Self {
        let mut whole = Self::default();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => whole.push_str(&change(text)),
                Piece::Hole(hole) => whole.pieces.push(Piece::Hole(hole.clone())),
            }
        }
        whole
    }

    /// Changes the literals and the expressions.
    pub(super) fn map_all(&self, change: impl Fn(&str) -> String) -> Self {
        let mut whole = Self::default();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => whole.push_str(&change(text)),
                Piece::Hole(hole) => whole.pieces.push(Piece::Hole(Hole {
                    expression: change(&hole.expression),
                    ..hole.clone()
                })),
            }
        }
        whole
    }

    /// The text before and after the first place of a literal that `find` gives as a byte.
    pub(super) fn split(
        &self,
        find: impl Fn(usize, &str) -> Option<usize>,
    ) -> Option<(Self, Self)> {
        for (index, piece) in self.pieces.iter().enumerate() {
            let Piece::Literal(text) = piece else {
                continue;
            };
            let Some(at) = find(index, text) else {
                continue;
            };
            let mut before = Self {
                pieces: self.pieces[..index].to_vec(),
            };
            before.push_str(&text[..at]);
            let mut after = Self::literal(&text[at..]);
            after.pieces.extend_from_slice(&self.pieces[index + 1..]);
            return Some((before, after));
        }
        None
    }

    /// As a plan has it.
    pub(super) fn template(&self) -> Template {
        let mut template = Template::default();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => template.push_literal(text),
                Piece::Hole(hole) => template.push(&Template::expression(&hole.expression)),
            }
        }
        template
    }
}

/// A text within an expression of plans; those with both kinds of quotes are not possible.
pub(super) fn quoted(text: &str) -> Option<String> {
    if text.contains("}}") || text.contains("{{") {
        return None;
    }
    if !text.contains('\'') {
        return Some(format!("'{text}'"));
    }
    (!text.contains('"')).then(|| format!("\"{text}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_that_meet_are_one() {
        let mut text = Text::literal("a");
        text.push(&Text::literal("b"));
        assert_eq!(text.constant(), Some("ab"));
        text.push(&Text::hole(Hole::stable("token")));
        text.push_str("/c");
        assert_eq!(text.constant(), None);
        assert_eq!(text.template().as_str(), "ab{{ token }}/c");
        let (before, after) = text.split(|_, literal| literal.find('/')).unwrap();
        assert_eq!(before.template().as_str(), "ab{{ token }}");
        assert_eq!(after.constant(), Some("/c"));
    }

    #[test]
    fn quotes_are_those_that_a_text_lacks() {
        assert_eq!(quoted("a").as_deref(), Some("'a'"));
        assert_eq!(quoted("it's").as_deref(), Some("\"it's\""));
        assert_eq!(quoted("'\""), None);
    }
}
