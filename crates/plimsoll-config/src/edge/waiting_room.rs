//! The waiting room: its page, and the length of its queue.

use std::time::Duration;

use crate::document::Shape::Text;
use crate::document::{DocumentNode, DocumentReader, SettingsMap as _, count, settings, time};

/// Maximum size of a waiting page, bytes.
const WAITING_LEN_MAX: u64 = 1 << 20;

settings! {
    /// Waiting page for browsers, with their position in the queue. `true` selects all defaults.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct WaitingRoomConfig, WAITING "waiting" {
        /// Custom HTML file; the placeholders `{place}`, `{wait}` and `{retry}` (seconds) are replaced.
        page: Option<String> = None, "page": Text => page;
        /// Maximum length of the queue.
        queue_len_max: u32 = 10_000, "most": count(1..=1_000_000);
        /// Maximum interval at which the page retries.
        retry: Duration = Duration::from_secs(10), "retry": time().within(SECOND, DAY, "1s to 24h");
        /// How long an admitted client bypasses the queue.
        stay: Duration = Duration::from_mins(10), "stay": time().within(SECOND, DAY, "1s to 24h");
    }
}

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_hours(24);

impl Default for WaitingRoomConfig {
    fn default() -> Self {
        Self::defaults()
    }
}

/// The HTML of the waiting page.
fn page(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<String> {
    let name = reader.word(node, "a file")?;
    let content = reader.file(node, &name, WAITING_LEN_MAX)?;
    let page = String::from_utf8(content).ok();
    if page.is_none() {
        reader.report(
            node,
            format!("`{name}` is not UTF-8"),
            "an HTML page in UTF-8",
        );
    }
    page
}
