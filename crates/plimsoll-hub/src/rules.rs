//! What holds for a channel, by its name.

use crate::conflation::Conflation;
use crate::pattern::Pattern;
use crate::rate::Rate;

/// How much of a channel is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// Most messages; 0 remembers nothing.
    pub messages_max: usize,
    /// Most bytes of messages as they are sent.
    pub bytes_max: usize,
    /// How long, ms.
    pub age_ms_max: u64,
}

/// What holds for the channels of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelRule {
    /// For which channels.
    pub pattern: Pattern,
    /// What who returns can be given.
    pub history: HistoryLimits,
    /// At most one message in an interval.
    pub conflation: Option<Conflation>,
    /// Longest data of a message, bytes.
    pub data_len_max: usize,
    /// How often may be published.
    pub publish_rate: Option<Rate>,
    /// Most subscribers.
    pub subscribers_max: u32,
    /// Whether clients may publish.
    pub clients_publish: bool,
    /// Newest messages that a new subscriber is given.
    pub replayed: usize,
    /// Whether it is kept who is there.
    pub has_presence: bool,
    /// Whether clients that want it are sent what has changed since the message before.
    pub has_patches: bool,
}

impl Default for ChannelRule {
    /// For all channels: a hundred messages or a minute of history, nothing conflated.
    fn default() -> Self {
        Self {
            pattern: Pattern::new("*"),
            history: HistoryLimits {
                messages_max: 100,
                bytes_max: 256 * 1024,
                age_ms_max: 60_000,
            },
            conflation: None,
            data_len_max: 64 * 1024,
            publish_rate: None,
            subscribers_max: 1_000_000,
            clients_publish: false,
            replayed: 0,
            has_presence: false,
            has_patches: false,
        }
    }
}

/// All rules: the first whose pattern means a name holds for it, else the default.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    rules: Vec<ChannelRule>,
    default: ChannelRule,
}

/// Most rules.
pub const RULES_MAX: usize = 1000;

impl Rules {
    /// In this order, and for all other names the last. Rules beyond [`RULES_MAX`] are left out: who reads a
    /// configuration refuses them.
    pub fn new(mut rules: Vec<ChannelRule>, default: ChannelRule) -> Self {
        rules.truncate(RULES_MAX);
        Self { rules, default }
    }

    /// Which rule holds for a name.
    pub(crate) fn index(&self, name: &str) -> u16 {
        let found = self
            .rules
            .iter()
            .position(|rule| rule.pattern.matches(name));
        u16::try_from(found.unwrap_or(self.rules.len())).unwrap_or(u16::MAX)
    }

    /// The rule of an index.
    pub(crate) fn get(&self, index: u16) -> &ChannelRule {
        self.rules.get(usize::from(index)).unwrap_or(&self.default)
    }

    /// The rule of a name.
    pub fn of(&self, name: &str) -> &ChannelRule {
        self.get(self.index(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_matches_holds() {
        let rule = |pattern, replayed| ChannelRule {
            pattern: Pattern::new(pattern),
            replayed,
            ..ChannelRule::default()
        };
        let rules = Rules::new(vec![rule("a-1", 1), rule("a-*", 2)], ChannelRule::default());
        assert_eq!(rules.of("a-1").replayed, 1);
        assert_eq!(rules.of("a-2").replayed, 2);
        assert_eq!(rules.of("b").replayed, 0);
    }
}
