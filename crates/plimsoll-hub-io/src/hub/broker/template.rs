//! Templates that readers subscribe to: a new one begins with what the channels that it matches remember.

use plimsoll_hub::channels::Remembered;
use plimsoll_hub::subscriptions::EVENTS;
use plimsoll_net::lock::lock;

use super::Broker;
use crate::hub::templates::TemplateAdmission;

/// Most channels that are searched for the past of a new template; with more, its readers learn that it is unknown.
const SEARCHED_MAX: usize = 100_000;

impl Broker {
    /// Reserves a template for an upcoming subscription; whether there is room for it. What everybody may read gets no
    /// private events.
    pub(crate) fn want_template(&self, name: &str, is_public: bool) -> bool {
        self.at_one_moment(|| self.want(name, is_public))
    }

    /// The same, while no offset is assigned.
    pub(super) fn want(&self, name: &str, is_public: bool) -> bool {
        let lives = |name: &str| lock(self.shard(name)).find(name).is_some();
        let wanted = self.templates.want(self.now_ms(), (name, is_public), lives);
        if wanted == TemplateAdmission::New {
            self.give_past(name, is_public);
        }
        wanted != TemplateAdmission::TooMany
    }

    /// Creates the channel of a new template with the past of all channels that it matches, or notes that its past is
    /// unknown.
    fn give_past(&self, name: &str, is_public: bool) {
        let now_ms = self.now_ms();
        let (channels, _) = self.held();
        if channels <= SEARCHED_MAX {
            let meant = self.templates.meant_by(name);
            let mut remembered = Remembered::default();
            for shard in &self.shards {
                let is_meant = |channel: &str| meant.has(channel);
                lock(shard).remember(now_ms, name, is_meant, &mut remembered);
            }
            if !is_public && meant.events() && name != EVENTS {
                let is_meant = |topic: &str| meant.matches(topic);
                lock(self.shard(EVENTS)).remember_events(now_ms, name, is_meant, &mut remembered);
            }
            if lock(self.shard(name)).recall(now_ms, name, &remembered) {
                return;
            }
        }
        // The shared stream of several edges may have advanced by one message already.
        let place = match (&self.offsets, &self.shared) {
            (Some(offsets), _) => offsets.at(),
            (None, Some(shared)) => shared.at() + 1,
            (None, None) => 0,
        };
        lock(self.shard(name)).forget(place);
    }
}
