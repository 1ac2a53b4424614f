//! Reads the message that keeps a connection alive.

use std::time::Duration;

use crate::document::Shape::Text;
use crate::document::{DocumentNode, DocumentReader, SettingsMap as _, settings, time};

settings! {
    /// A message sent at an interval.
    struct Beat, BEAT "beat" {
        /// Interval.
        every: Option<Duration> = None, "every": time();
        /// The text.
        send: Option<String> = None, "send": Text => any_text;
    }
}

/// A text that may be empty.
fn any_text(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<String> {
    reader.text(node, "a text")
}

pub(super) fn beat(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<(Duration, String)> {
    let fields = reader.fields(node, &BEAT)?;
    if fields.get("every").is_none() || fields.get("send").is_none() {
        let valid = "{ every: 25s, send: TEXT }";
        reader.report(node, "`beat` needs an interval and a text", valid);
        return None;
    }
    let beat = Beat::read(reader, &fields);
    Some((beat.every?, beat.send?))
}
