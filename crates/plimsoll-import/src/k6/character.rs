//! Random characters of a text: `letters[Math.floor(Math.random() * letters.length)]`.

use super::machine::Machine;
use super::number;
use super::text::Hole;
use super::value::{Random, Value};

/// Letters and digits of ASCII, which `random_string` draws from.
const LETTERS_AND_DIGITS: usize = 62;

impl<'a> Machine<'a, '_> {
    /// Any of the characters of a text between two positions.
    pub(super) fn random_character(text: &str, random: Random) -> Value<'a> {
        let (low, high) = (
            number::index(random.low.ceil()),
            number::index(random.high.floor()),
        );
        let (Some(low), Some(high)) = (low, high) else {
            return Value::unknown("a character of a text at a random position");
        };
        let count = (high + 1).saturating_sub(low);
        let characters: Vec<char> = text.chars().skip(low).take(count).collect();
        let mut set = characters.clone();
        set.sort_unstable();
        set.dedup();
        let is_plain = set.iter().all(char::is_ascii_alphanumeric);
        if is_plain && set.len() == LETTERS_AND_DIGITS && set.len() == characters.len() {
            return Value::hole(Hole::volatile("random_string(1)"));
        }
        let items = characters.into_iter().map(|c| Value::text(c.to_string()));
        let items: Vec<Value<'a>> = items.collect();
        Self::pick(&items)
            .unwrap_or_else(|| Value::unknown("a character of a text at a random position"))
    }
}
