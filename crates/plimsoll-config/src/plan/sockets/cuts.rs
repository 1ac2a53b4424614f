//! Reads how WebSockets are cut from the users' side: one by one as in tunnels, and many at a moment.

use std::time::Duration;

use plimsoll_model::distribution::DurationDistribution;
use plimsoll_model::journey::{Disconnect, Drops, Reconnect};

use crate::distribution::duration_distribution;
use crate::document::{
    DocumentNode, DocumentReader, MapFields, NodeKind, SettingsMap as _, settings, share,
    time_or_zero,
};
use crate::{Problem, units};

/// Mass disconnects of one step.
const DISCONNECTS_MAX: usize = 100;
const DROP_VALID: &str = "a share of the open ones per s, min or h, above 0 %, such as 5%/min";
const SHARE_VALID: &str = "above 0% to 100%, such as 100%";
const AT_VALID: &str = "{ at: 60s, share: 100% }";
/// How long users who dropped are away.
const AWAY: DurationDistribution =
    DurationDistribution::Uniform(Duration::from_secs(10), Duration::from_mins(1));

settings! {
    /// A moment at which open WebSockets are cut together, as by a proxy that restarts. They are opened again by `reconnect`.
    struct DisconnectSettings, DISCONNECT "disconnect" {
        /// The moment, from the start of the load.
        at: Option<Duration> = None, "at": time_or_zero();
        /// Share of the open ones, drawn for each.
        share: f64 = 1.0, "share": share(SHARE_VALID);
    }
}

/// How WebSockets of a step are cut.
#[derive(Default)]
pub(super) struct Cuts {
    pub(super) drops: Option<Drops>,
    pub(super) disconnects: Vec<Disconnect>,
}

impl Cuts {
    fn is_empty(&self) -> bool {
        self.drops.is_none() && self.disconnects.is_empty()
    }

    /// How they are opened again: by default as with `reconnect: true`.
    pub(super) fn reconnect(&self, written: Option<Reconnect>) -> Option<Reconnect> {
        written.or((!self.is_empty()).then_some(Reconnect::DEFAULT))
    }
}

/// `drop` with its `for`, and `disconnect`, beside `ws` and `sse`.
pub(super) fn cuts(reader: &DocumentReader<'_>, fields: &MapFields<'_>) -> Option<Cuts> {
    if fields.among(&["drop", "for", "disconnect"]).is_empty() {
        return Some(Cuts::default());
    }
    let errors = reader.diagnostics_len();
    let away = match fields.entry("for") {
        Some((key, _)) if fields.get("drop").is_none() => {
            let message = "`for` has no effect without `drop`";
            reader.report_at(key.span.start, message, "drop: 5%/min", None);
            AWAY
        }
        Some((_, node)) => duration_distribution(reader, node).unwrap_or(AWAY),
        None => AWAY,
    };
    let per_second = fields
        .get("drop")
        .and_then(|node| reader.value(node, DROP_VALID, drops_per_second));
    let disconnects = fields
        .get("disconnect")
        .map_or_else(Vec::new, |node| disconnects(reader, node));
    let cutting = fields.among(&["drop", "disconnect"]);
    if let (Some(node), Some((key, _))) = (fields.get("reconnect"), cutting.first())
        && is_off(node)
    {
        let message = format!("with `{}` lost WebSockets come back", key.text);
        reader.report(node, message, "`reconnect: true`, or how it is done");
    }
    (reader.diagnostics_len() == errors).then_some(Cuts {
        drops: per_second.map(|per_second| Drops { per_second, away }),
        disconnects,
    })
}

/// `5%/min`, as a share per second.
fn drops_per_second(text: &str) -> Result<f64, Problem> {
    let wrong = |message: &str| Problem::new(text, 0..text.len(), message, DROP_VALID);
    let (share, unit) = text
        .split_once('/')
        .ok_or_else(|| wrong("the time is missing"))?;
    let seconds = match unit.trim() {
        "s" | "second" => 1.0,
        "m" | "min" | "minute" => 60.0,
        "h" | "hour" => 3600.0,
        _ => return Err(wrong("unknown unit of time")),
    };
    let share = units::share(share.trim()).map_err(|problem| problem.within(text, 0))?;
    if share <= 0.0 {
        return Err(wrong("no user would drop"));
    }
    Ok(share / seconds)
}

fn disconnects(reader: &DocumentReader<'_>, node: &DocumentNode) -> Vec<Disconnect> {
    let items = reader.one_or_more(node);
    if items.len() > DISCONNECTS_MAX {
        let message = format!("there are {} moments", items.len());
        reader.report(node, message, format!("at most {DISCONNECTS_MAX}"));
        return Vec::new();
    }
    let items = items.iter();
    items.filter_map(|item| disconnect(reader, item)).collect()
}

fn disconnect(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Disconnect> {
    let fields = reader.fields(node, &DISCONNECT)?;
    if fields.get("at").is_none() {
        if !fields.misspells(&["at"]) {
            reader.report(node, "`at` is missing", AT_VALID);
        }
        return None;
    }
    let DisconnectSettings { at, share } = DisconnectSettings::read(reader, &fields);
    if share <= 0.0 {
        reader.report(node, "no WebSocket would be cut", SHARE_VALID);
        return None;
    }
    Some(Disconnect { at: at?, share })
}

fn is_off(node: &DocumentNode) -> bool {
    matches!(&node.kind, NodeKind::Scalar { text, .. } if text == "false")
}
