//! Templates that Mercure readers subscribe to. Each is a channel of its own that receives every message whose channel
//! the template matches, at the same offset. Channels know nothing of templates.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use plimsoll_hub::subscriptions::PATH;
use plimsoll_hub::topics::Selector;
use plimsoll_net::lock::lock;

/// Maximum number of templates: each message is matched against all of them.
const TEMPLATES_MAX: usize = 100;
/// How long an unused template is kept, ms.
const GRACE_MS: u64 = 60_000;

/// All templates.
#[derive(Debug, Default)]
pub(super) struct Templates {
    all: Mutex<Vec<Template>>,
    count: AtomicUsize,
}

#[derive(Debug)]
struct Template {
    selector: Selector,
    name: Arc<str>,
    /// Everybody may read it.
    is_public: bool,
    /// When it was last requested.
    requested_ms: u64,
}

/// Outcome of a request for a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TemplateAdmission {
    /// It existed.
    Known,
    /// It was created.
    New,
    /// The maximum is reached.
    TooMany,
}

impl Templates {
    /// Requests a template for an upcoming subscription. Templates whose channel has ended are removed.
    pub(super) fn want(
        &self,
        now_ms: u64,
        (name, is_public): (&str, bool),
        lives: impl Fn(&str) -> bool,
    ) -> TemplateAdmission {
        let mut all = lock(&self.all);
        if let Some(template) = all.iter_mut().find(|template| *template.name == *name) {
            template.requested_ms = now_ms;
            template.is_public = is_public;
            return TemplateAdmission::Known;
        }
        all.retain(|template| {
            now_ms.saturating_sub(template.requested_ms) < GRACE_MS || lives(&template.name)
        });
        let is_full = all.len() >= TEMPLATES_MAX;
        if !is_full {
            all.push(Template {
                selector: Selector::new(name),
                name: name.into(),
                is_public,
                requested_ms: now_ms,
            });
        }
        self.count.store(all.len(), Ordering::Release);
        if is_full {
            TemplateAdmission::TooMany
        } else {
            TemplateAdmission::New
        }
    }

    /// The templates that match one of the channels of an update.
    pub(super) fn of(&self, channels: &[&str]) -> Vec<Arc<str>> {
        if self.count.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        let all = lock(&self.all);
        let is_meant = |template: &&Template| {
            !channels.contains(&&*template.name)
                && channels
                    .iter()
                    .any(|channel| template.selector.matches(channel))
        };
        let meant = all.iter().filter(is_meant);
        meant.map(|template| Arc::clone(&template.name)).collect()
    }

    /// The templates that match an event, but for those that everybody may read.
    pub(super) fn of_private(&self, topic: &str) -> Vec<Arc<str>> {
        let all = lock(&self.all);
        let is_meant =
            |template: &&Template| !template.is_public && template.selector.matches(topic);
        let meant = all.iter().filter(is_meant);
        meant.map(|template| Arc::clone(&template.name)).collect()
    }

    /// What a template means.
    pub(super) fn meant_by(&self, name: &str) -> MeantChannels {
        let all = lock(&self.all);
        let names = all.iter().map(|template| Arc::clone(&template.name));
        MeantChannels {
            selector: Selector::new(name),
            templates: names.collect(),
        }
    }
}

/// What a template means.
#[derive(Debug)]
pub(super) struct MeantChannels {
    selector: Selector,
    /// Channels of templates are copies.
    templates: HashSet<Arc<str>>,
}

impl MeantChannels {
    /// Whether a channel with messages of its own is meant.
    pub(super) fn has(&self, channel: &str) -> bool {
        self.selector.matches(channel) && !self.templates.contains(channel)
    }

    /// Whether a topic is meant.
    pub(super) fn matches(&self, topic: &str) -> bool {
        self.selector.matches(topic)
    }

    /// Whether events about subscriptions may be meant.
    pub(super) fn events(&self) -> bool {
        self.selector.may_match_below(PATH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<Arc<str>> {
        names.iter().map(|&name| name.into()).collect()
    }

    #[test]
    fn templates_come_and_go() {
        let templates = Templates::default();
        assert!(templates.of(&["/a/1"]).is_empty());
        assert_eq!(
            templates.want(0, ("/a/{id}", false), |_| false),
            TemplateAdmission::New
        );
        assert_eq!(
            templates.want(5, ("/a/{id}", false), |_| false),
            TemplateAdmission::Known
        );
        assert_eq!(
            templates.want(5, ("*", false), |_| false),
            TemplateAdmission::New
        );
        assert_eq!(templates.of(&["/a/1"]), names(&["/a/{id}", "*"]));
        assert_eq!(templates.of(&["/a/1", "/a/2", "*"]), names(&["/a/{id}"]));
        assert_eq!(templates.of(&["/b/1"]), names(&["*"]));
        let meant = templates.meant_by("*");
        assert!(meant.has("/a/1") && !meant.has("/a/{id}") && !meant.has("*"));
        assert!(meant.events() && !templates.meant_by("/a/{id}").events());
        for number in 0..TEMPLATES_MAX - 2 {
            let name = format!("/{number}/{{id}}");
            assert_eq!(
                templates.want(6, (&name, false), |_| false),
                TemplateAdmission::New
            );
        }
        assert_eq!(
            templates.want(7, ("/x/{id}", false), |_| false),
            TemplateAdmission::TooMany
        );
        // What everybody may read gets no private event.
        assert_eq!(templates.of_private("/a/1"), names(&["/a/{id}", "*"]));
        templates.want(7, ("*", true), |_| false);
        assert_eq!(templates.of_private("/a/1"), names(&["/a/{id}"]));
        // A template with subscribers stays.
        let later = 7 + GRACE_MS;
        assert_eq!(
            templates.want(later, ("/x/{id}", false), |name| name == "*"),
            TemplateAdmission::New
        );
        assert_eq!(templates.of(&["/a/1"]), names(&["*"]));
    }
}
