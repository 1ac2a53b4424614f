//! What is told of the hub.

use super::Exposition;
use crate::hub::{HubView, SharedView, SourceView};

/// Clients, channels, and what became of messages.
pub(super) fn page(page: &mut Exposition, hub: &HubView) {
    page.family("hub_connections", "gauge", "Clients of the hub now");
    for (kind, count) in [
        ("websocket", hub.sockets),
        ("sse", hub.events),
        ("mercure", hub.mercure),
    ] {
        page.line("hub_connections", &[("kind", kind)], count);
    }
    let gauges = [
        ("hub_channels", "Channels of the hub now", hub.channels),
        (
            "hub_history_bytes",
            "Memory that the histories of channels take",
            hub.history_bytes,
        ),
    ];
    for (name, help, count) in gauges {
        page.family(name, "gauge", help);
        page.line(name, &[], count);
    }
    let counters = [
        (
            "hub_published",
            "Publications that were taken",
            hub.published,
        ),
        (
            "hub_conflated",
            "Publications that were held until an interval was over, and became one with others",
            hub.held,
        ),
        ("hub_messages", "Messages that went out", hub.messages),
        ("hub_deliveries", "Messages given to clients", hub.delivered),
        (
            "hub_dropped",
            "Messages that clients did not get, for they were slow",
            hub.dropped,
        ),
        (
            "hub_disconnected",
            "Clients that were disconnected, for they were slow",
            hub.disconnected,
        ),
        (
            "hub_recovered",
            "Subscriptions of clients that returned and got all that they had missed",
            hub.recovered,
        ),
        (
            "hub_unrecovered",
            "Subscriptions of clients that returned and were told that they cannot",
            hub.unrecovered,
        ),
    ];
    for (name, help, count) in counters {
        page.family(name, "counter", help);
        page.line(&format!("{name}_total"), &[], count);
    }
    let help = "From when a message goes out until a loop has written it to its clients";
    page.histogram("hub_lag_seconds", help, &hub.lag);
    channels(page, hub);
    if let Some((asked, waiting)) = &hub.hooks {
        hooks(page, asked, *waiting);
    }
    sources(page, &hub.sources);
    if let Some(shared) = &hub.shared {
        sharing(page, shared);
    }
}

/// The largest channels, by name.
fn channels(page: &mut Exposition, hub: &HubView) {
    let help = "Subscribers of the channels that have most";
    page.family("hub_channel_subscribers", "gauge", help);
    for channel in &hub.largest {
        let count = u64::from(channel.subscribers);
        page.line(
            "hub_channel_subscribers",
            &[("channel", &channel.name)],
            count,
        );
    }
    let help = "Messages of the channels that have most subscribers";
    page.family("hub_channel_messages", "counter", help);
    for channel in &hub.largest {
        let labels = [("channel", channel.name.as_str())];
        page.line("hub_channel_messages_total", &labels, channel.messages);
    }
    let help =
        "Deliveries of the channels that have most subscribers, counted when messages went out";
    page.family("hub_channel_deliveries", "counter", help);
    for channel in &hub.largest {
        let labels = [("channel", channel.name.as_str())];
        page.line("hub_channel_deliveries_total", &labels, channel.deliveries);
    }
}

/// What an application is asked.
fn hooks(page: &mut Exposition, asked: &[(&str, &str, u64)], waiting: u64) {
    let help = "Questions to the application that wait for their answers now";
    page.family("hub_hooks_waiting", "gauge", help);
    page.line("hub_hooks_waiting", &[], waiting);
    let help = "Questions to the application, by hook and answer";
    page.family("hub_hooks", "counter", help);
    for (hook, answer, count) in asked {
        let labels = [("hook", *hook), ("answer", *answer)];
        page.line("hub_hooks_total", &labels, *count);
    }
}

/// One of a source's counts.
type Count = fn(&SourceView) -> u64;

/// What the hub listens to, by name.
fn sources(page: &mut Exposition, sources: &[SourceView]) {
    if sources.is_empty() {
        return;
    }
    let help = "Whether a source of the hub's messages is there";
    page.family("hub_source_connected", "gauge", help);
    for source in sources {
        let labels = [("source", source.name.as_str())];
        page.line("hub_source_connected", &labels, u64::from(source.is_there));
    }
    let counters: [(&str, &str, Count); 3] = [
        (
            "hub_source_messages",
            "Messages of a source that were published",
            |source| source.messages,
        ),
        (
            "hub_source_refused",
            "Messages of a source that were not, for the hub does not take such",
            |source| source.refused,
        ),
        (
            "hub_source_losses",
            "How often a source was gone",
            |source| source.losses,
        ),
    ];
    for (name, help, count) in counters {
        page.family(name, "counter", help);
        for source in sources {
            let labels = [("source", source.name.as_str())];
            page.line(&format!("{name}_total"), &labels, count(source));
        }
    }
}

fn sharing(page: &mut Exposition, shared: &SharedView) {
    let help = "Whether the Redis or NATS is there that edges share";
    page.family("hub_shared_joined", "gauge", help);
    page.line("hub_shared_joined", &[], u64::from(shared.is_joined));
    let counters = [
        (
            "hub_shared_posted",
            "Messages that were given their place among those of all edges",
            shared.posted,
        ),
        (
            "hub_shared_refused",
            "Messages that were not, or of which nobody knows",
            shared.refused,
        ),
        (
            "hub_shared_read",
            "Messages of all edges that were read",
            shared.read,
        ),
        (
            "hub_shared_losses",
            "How often messages of other edges were missed, of which all clients were told",
            shared.lost,
        ),
    ];
    for (name, help, count) in counters {
        page.family(name, "counter", help);
        page.line(&format!("{name}_total"), &[], count);
    }
}
