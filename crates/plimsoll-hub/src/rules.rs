//! Rules of channels, by name.

use crate::conflation::Conflation;
use crate::pattern::Pattern;
use crate::rate::Rate;

/// Limits of a channel's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// Most messages; 0 keeps no history.
    pub messages_max: usize,
    /// Most bytes of messages as sent.
    pub bytes_max: usize,
    /// Longest age, ms.
    pub age_ms_max: u64,
}

/// The rule for the channels of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelRule {
    /// The channels.
    pub pattern: Pattern,
    /// What returning clients can recover.
    pub history: HistoryLimits,
    /// At most one message in an interval.
    pub conflation: Option<Conflation>,
    /// Longest data of a message, bytes.
    pub data_len_max: usize,
    /// Publish rate limit.
    pub publish_rate: Option<Rate>,
    /// Most subscribers.
    pub subscribers_max: u32,
    /// Whether clients may publish.
    pub clients_publish: bool,
    /// Newest messages that a new subscriber receives.
    pub replayed: usize,
    /// Whether presence is tracked.
    pub has_presence: bool,
    /// Whether clients that accept patches receive them.
    pub has_patches: bool,
}

impl Default for ChannelRule {
    /// For all channels: a hundred messages or a minute of history, no conflation.
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

/// All rules: the first whose pattern matches a name applies, otherwise the default.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    rules: Vec<ChannelRule>,
    default: ChannelRule,
}

/// Most rules.
pub const RULES_MAX: usize = 1000;

impl Rules {
    /// Rules in this order, and the default for all other names. Rules beyond [`RULES_MAX`] are ignored; the
    /// configuration rejects them.
    pub fn new(mut rules: Vec<ChannelRule>, default: ChannelRule) -> Self {
        rules.truncate(RULES_MAX);
        Self { rules, default }
    }

    /// The index of the rule for a name.
    pub(crate) fn index(&self, name: &str) -> u16 {
        let found = self
            .rules
            .iter()
            .position(|rule| rule.pattern.matches(name));
        u16::try_from(found.unwrap_or(self.rules.len())).unwrap_or(u16::MAX)
    }

    /// The rule at an index.
    pub(crate) fn get(&self, index: u16) -> &ChannelRule {
        self.rules.get(usize::from(index)).unwrap_or(&self.default)
    }

    /// The rule for a name.
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
