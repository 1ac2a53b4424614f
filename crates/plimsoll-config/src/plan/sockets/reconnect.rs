//! Reads how a lost connection is reconnected.

use std::time::Duration;

use plimsoll_model::journey::Reconnect;

use crate::document::{
    DocumentNode, DocumentReader, NodeKind, SettingsMap as _, count, settings, time,
};

settings! {
    /// How a lost WebSocket is reconnected. Pauses are drawn between 0.5 and 1.5 times their mean.
    struct ReconnectSettings, RECONNECT "reconnect" {
        /// Mean pause before the first attempt.
        after: Duration = Reconnect::DEFAULT.after, "after": time();
        /// Maximum of the mean pause, which doubles with each attempt.
        up_to: Duration = Reconnect::DEFAULT.up_to, "up_to": time();
        /// Maximum number of attempts.
        times: u32 = Reconnect::DEFAULT.times, "times": count(1..=1000);
    }
}

#[expect(clippy::option_option, reason = "wanted or not, readable or not")]
pub(super) fn reconnect(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
) -> Option<Option<Reconnect>> {
    if !matches!(node.kind, NodeKind::Map(_)) {
        return Some(reader.switch(node)?.then_some(Reconnect::DEFAULT));
    }
    let fields = reader.fields(node, &RECONNECT)?;
    let faults = reader.diagnostics_len();
    let mut settings = ReconnectSettings::read(reader, &fields);
    // An invalid pause, which is reported, is not compared with the other.
    if reader.diagnostics_len() > faults {
        return None;
    }
    if fields.get("up_to").is_none() {
        settings.up_to = settings.up_to.max(settings.after);
    }
    let ReconnectSettings {
        after,
        up_to,
        times,
    } = settings;
    if up_to < after {
        let message = "the maximum pause is shorter than the first";
        reader.report(node, message, "`up_to` no shorter than `after`");
        return None;
    }
    Some(Some(Reconnect {
        after,
        up_to,
        times,
    }))
}
