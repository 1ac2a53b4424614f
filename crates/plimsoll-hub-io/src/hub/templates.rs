//! Templates that Mercure readers subscribe to. Each is a channel of its own that receives every message whose channel
//! the template matches, at the same offset. Channels know nothing of templates.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    name: String,
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
        name: &str,
        lives: impl Fn(&str) -> bool,
    ) -> TemplateAdmission {
        let mut all = lock(&self.all);
        if let Some(template) = all.iter_mut().find(|template| template.name == name) {
            template.requested_ms = now_ms;
            return TemplateAdmission::Known;
        }
        all.retain(|template| {
            now_ms.saturating_sub(template.requested_ms) < GRACE_MS || lives(&template.name)
        });
        let is_full = all.len() >= TEMPLATES_MAX;
        if !is_full {
            all.push(Template {
                selector: Selector::new(name),
                name: name.to_owned(),
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

    /// The templates that match a channel.
    pub(super) fn of(&self, channel: &str) -> Vec<String> {
        if self.count.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        let all = lock(&self.all);
        let meant = all
            .iter()
            .filter(|template| template.name != channel && template.selector.matches(channel));
        meant.map(|template| template.name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_come_and_go() {
        let templates = Templates::default();
        assert!(templates.of("/a/1").is_empty());
        assert_eq!(
            templates.want(0, "/a/{id}", |_| false),
            TemplateAdmission::New
        );
        assert_eq!(
            templates.want(5, "/a/{id}", |_| false),
            TemplateAdmission::Known
        );
        assert_eq!(templates.want(5, "*", |_| false), TemplateAdmission::New);
        assert_eq!(templates.of("/a/1"), ["/a/{id}", "*"]);
        assert_eq!(templates.of("/b/1"), ["*"]);
        for number in 0..TEMPLATES_MAX - 2 {
            let name = format!("/{number}/{{id}}");
            assert_eq!(templates.want(6, &name, |_| false), TemplateAdmission::New);
        }
        assert_eq!(
            templates.want(7, "/x/{id}", |_| false),
            TemplateAdmission::TooMany
        );
        // A template with subscribers stays.
        let later = 7 + GRACE_MS;
        assert_eq!(
            templates.want(later, "/x/{id}", |name| name == "*"),
            TemplateAdmission::New
        );
        assert_eq!(templates.of("/a/1"), ["*"]);
    }
}
