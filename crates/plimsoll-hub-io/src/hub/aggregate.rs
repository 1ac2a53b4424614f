//! Aggregation: the application makes one message of those published within an interval.

use std::sync::Arc;

use plimsoll_hub::channels::{Gathered, Made};
use plimsoll_hub::pattern::Pattern;
use serde_json::value::RawValue;

use super::ActiveHub;
use super::broker::Broker;
use crate::access::hooks::{HookRequest, HookVerdict, Hooks, Links};

/// Requests all pending aggregates. A result is sent as soon as it arrives; concurrency is bounded by the hooks and by
/// one request per channel.
pub(super) fn send_pending(hub: &ActiveHub, links: &Arc<Links>) {
    for gathered in hub.broker.take_gathered() {
        let mut rules = hub.config.channels.iter();
        let rule = rules.find(|rule| Pattern::new(&rule.pattern).matches(&gathered.name));
        let to = rule.and_then(|rule| rule.aggregate.clone());
        let (Some(to), Some(hooks)) = (to, hub.hooks.clone()) else {
            // The rule was different at the time of publishing.
            hub.broker.release(&gathered, Made::Failed);
            continue;
        };
        let (broker, links) = (Arc::clone(&hub.broker), Arc::clone(links));
        tokio::spawn(async move {
            let verdict = put(&hooks, &links, &to, &gathered).await;
            release(&broker, &gathered, &verdict);
        });
    }
}

async fn put(
    hooks: &Hooks,
    links: &Links,
    to: &plimsoll_config::edge::Endpoint,
    gathered: &Gathered,
) -> HookVerdict {
    let asked = HookRequest {
        channel: Some(&gathered.name),
        data: serde_json::from_str::<&RawValue>(&gathered.items).ok(),
        ..HookRequest::default()
    };
    hooks.aggregate(links, to, &asked).await
}

fn release(broker: &Broker, gathered: &Gathered, verdict: &HookVerdict) {
    let made = match verdict {
        HookVerdict::Yes(body) => match std::str::from_utf8(body).map(str::trim) {
            Ok("") => Made::Nothing,
            Ok(text) => Made::Message(text),
            Err(_) => Made::Failed,
        },
        HookVerdict::No(_) | HookVerdict::Down => Made::Failed,
    };
    broker.release(gathered, made);
}
