//! Metrics of the hub.

use plimsoll_hub_io::hub::{HubView, SharedView, SourceView};

use super::Exposition;

/// Clients, channels and messages.
pub(super) fn page(page: &mut Exposition, hub: &HubView) {
    page.family("hub_connections", "gauge", "Connected clients of the hub");
    for (kind, count) in [
        ("websocket", hub.sockets),
        ("sse", hub.events),
        ("mercure", hub.mercure),
    ] {
        page.line("hub_connections", &[("kind", kind)], count);
    }
    let gauges = [
        ("hub_channels", "Channels of the hub", hub.channels),
        (
            "hub_history_bytes",
            "Memory used by channel histories",
            hub.history_bytes,
        ),
    ];
    page.gauges(&gauges);
    let counters = [
        ("hub_published", "Publications accepted", hub.published),
        (
            "hub_conflated",
            "Publications held until the end of an interval and merged into one message",
            hub.held,
        ),
        ("hub_messages", "Messages sent", hub.messages),
        (
            "hub_deliveries",
            "Messages delivered to clients",
            hub.delivered,
        ),
        (
            "hub_dropped",
            "Messages dropped because the client was too slow",
            hub.dropped,
        ),
        (
            "hub_disconnected",
            "Clients disconnected because they were too slow",
            hub.disconnected,
        ),
        (
            "hub_recovered",
            "Subscriptions of reconnecting clients that received everything they had missed",
            hub.recovered,
        ),
        (
            "hub_unrecovered",
            "Subscriptions of reconnecting clients whose missed messages could not be recovered",
            hub.unrecovered,
        ),
    ];
    page.counters(&counters);
    subscriptions(page, hub.active);
    let help = "Time from sending a message until an event loop has written it to its clients";
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

/// Active subscriptions of Mercure readers: their number, their memory, and events that were lost.
fn subscriptions(page: &mut Exposition, (count, bytes, lost): (u64, u64, u64)) {
    page.gauges(&[
        (
            "hub_active_subscriptions",
            "Listed subscriptions of Mercure readers",
            count,
        ),
        (
            "hub_active_subscriptions_bytes",
            "Memory used by listed subscriptions",
            bytes,
        ),
    ]);
    page.counters(&[(
        "hub_subscription_events_lost",
        "Subscription events that could not be published",
        lost,
    )]);
}

/// The largest channels, by name.
fn channels(page: &mut Exposition, hub: &HubView) {
    let help = "Subscribers of the largest channels";
    page.family("hub_channel_subscribers", "gauge", help);
    for channel in &hub.largest {
        let count = u64::from(channel.subscribers);
        page.line(
            "hub_channel_subscribers",
            &[("channel", &channel.name)],
            count,
        );
    }
    let help = "Messages of the largest channels";
    page.family("hub_channel_messages", "counter", help);
    for channel in &hub.largest {
        let labels = [("channel", channel.name.as_str())];
        page.line("hub_channel_messages_total", &labels, channel.messages);
    }
    let help = "Deliveries of the largest channels, counted when messages were sent";
    page.family("hub_channel_deliveries", "counter", help);
    for channel in &hub.largest {
        let labels = [("channel", channel.name.as_str())];
        page.line("hub_channel_deliveries_total", &labels, channel.deliveries);
    }
}

/// Hooks of the application.
fn hooks(page: &mut Exposition, asked: &[(&str, &str, u64)], waiting: u64) {
    let help = "Hook requests to the application in flight or queued";
    page.family("hub_hooks_waiting", "gauge", help);
    page.line("hub_hooks_waiting", &[], waiting);
    let help = "Hook requests to the application, by hook and outcome";
    page.family("hub_hooks", "counter", help);
    for (hook, answer, count) in asked {
        let labels = [("hook", *hook), ("answer", *answer)];
        page.line("hub_hooks_total", &labels, *count);
    }
}

/// One counter of a source.
type Count = fn(&SourceView) -> u64;

/// Message sources, by name.
fn sources(page: &mut Exposition, sources: &[SourceView]) {
    if sources.is_empty() {
        return;
    }
    let help = "Whether a message source of the hub is connected";
    page.family("hub_source_connected", "gauge", help);
    for source in sources {
        let labels = [("source", source.name.as_str())];
        page.line("hub_source_connected", &labels, u64::from(source.is_there));
    }
    let counters: [(&str, &str, Count); 3] = [
        (
            "hub_source_messages",
            "Messages of a source published",
            |source| source.messages,
        ),
        (
            "hub_source_refused",
            "Messages of a source rejected by the hub",
            |source| source.refused,
        ),
        (
            "hub_source_losses",
            "Connection losses of a source",
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
    let help = "Whether the Redis or NATS that edges share is connected";
    page.family("hub_shared_joined", "gauge", help);
    page.line("hub_shared_joined", &[], u64::from(shared.is_joined));
    let counters = [
        (
            "hub_shared_posted",
            "Messages that received an offset in the shared stream",
            shared.posted,
        ),
        (
            "hub_shared_refused",
            "Messages that received no offset, or whose outcome is unknown",
            shared.refused,
        ),
        (
            "hub_shared_read",
            "Messages read from the shared stream, of all edges",
            shared.read,
        ),
        (
            "hub_shared_losses",
            "How often messages of other edges were missed and all clients notified",
            shared.lost,
        ),
    ];
    page.counters(&counters);
}
