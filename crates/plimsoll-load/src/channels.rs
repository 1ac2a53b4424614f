//! Numbered channels that users subscribe to.

use std::collections::hash_map::{Entry, HashMap};
use std::sync::{Mutex, PoisonError};

/// Channels that are counted separately; all others share one entry.
const CHANNELS_MAX: usize = 100_000;

/// The name of the entry for all other channels.
const OTHERS: &str = "(others)";

/// Numbers of channels by name, the same in all loops.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    numbers: Mutex<HashMap<String, u32>>,
}

impl Channels {
    /// The number of a channel. Called once per subscription, never per message.
    pub(crate) fn number(&self, name: &str) -> u32 {
        let numbers = self.numbers.lock();
        let mut numbers = numbers.unwrap_or_else(PoisonError::into_inner);
        let count = numbers.len();
        let name = if count < CHANNELS_MAX || numbers.contains_key(name) {
            name
        } else {
            OTHERS
        };
        match numbers.entry(name.to_owned()) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                *new.insert(u32::try_from(count).expect("channels are bounded far below 2^32"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_has_one_number_and_their_number_is_bounded() {
        let channels = Channels::default();
        let first = channels.number("a");
        assert_eq!(channels.number("a"), first);
        assert_ne!(channels.number("b"), first);
        for number in 0..CHANNELS_MAX {
            channels.number(&format!("c{number}"));
        }
        assert_eq!(channels.number("one more"), channels.number("another"));
        assert_eq!(channels.number("a"), first);
    }
}
