//! What was published within an interval, made one message by an application.

use std::sync::Arc;

use plimsoll_hub::channels::{Gathered, Made};
use plimsoll_hub::pattern::Pattern;
use serde_json::value::RawValue;

use super::Hub;
use super::hooks::{Asked, Hooks, Links, Verdict};
use super::world::World;

/// Asks about everything that waits. An answer goes out when it is there; how many are asked for at once is bounded by
/// the hooks, and that there is one for each channel at most.
pub(super) fn ask(hub: &Hub, links: &Arc<Links>) {
    for gathered in hub.world.take_gathered() {
        let mut rules = hub.config.channels.iter();
        let rule = rules.find(|rule| Pattern::new(&rule.pattern).matches(&gathered.name));
        let to = rule.and_then(|rule| rule.aggregate.clone());
        let (Some(to), Some(hooks)) = (to, hub.hooks.clone()) else {
            // The rule was another when it was published.
            hub.world.release(&gathered, Made::Failed);
            continue;
        };
        let (world, links) = (Arc::clone(&hub.world), Arc::clone(links));
        tokio::spawn(async move {
            let verdict = put(&hooks, &links, &to, &gathered).await;
            release(&world, &gathered, &verdict);
        });
    }
}

async fn put(
    hooks: &Hooks,
    links: &Links,
    to: &plimsoll_config::edge::Endpoint,
    gathered: &Gathered,
) -> Verdict {
    let asked = Asked {
        channel: Some(&gathered.name),
        data: serde_json::from_str::<&RawValue>(&gathered.items).ok(),
        ..Asked::default()
    };
    hooks.aggregate(links, to, &asked).await
}

fn release(world: &World, gathered: &Gathered, verdict: &Verdict) {
    let made = match verdict {
        Verdict::Yes(body) => match std::str::from_utf8(body).map(str::trim) {
            Ok("") => Made::Nothing,
            Ok(text) => Made::Message(text),
            Err(_) => Made::Failed,
        },
        Verdict::No(_) | Verdict::Down => Made::Failed,
    };
    world.release(gathered, made);
}
