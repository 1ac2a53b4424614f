//! What links have carried, as text and as JSON.

use std::fmt::Write as _;

use plimsoll_config::distribution::distribution_text;
use plimsoll_link::{DirectionTotals, LinkTotals, RelayTotals};
use plimsoll_report::{number, pretty};
use schemars::JsonSchema;
use serde::Serialize;

use super::prepare::{PreparedLink, PreparedLinks};

/// Version of the object. A field may be added (raise the minor number).
const FORMAT_VERSION: &str = "1.0";
/// The own lateness of a link that is worth a note, µs at the 99th percentile.
const LATE_US: u64 = 5_000;

/// What each link has carried.
pub(super) fn text(totals: &RelayTotals) -> String {
    let mut text = String::new();
    for link in &totals.links {
        let _ = write!(
            text,
            "{} → {}\n  connections  {}, {} open at the end, {} not accepted by the target, {} reset\n",
            link.listen,
            link.to,
            number::count(link.connections),
            number::count(link.open),
            number::count(link.unreachable),
            number::count(link.reset),
        );
        for (name, direction) in [
            ("to target  ", &link.to_target),
            ("from target", &link.from_target),
        ] {
            let _ = writeln!(
                text,
                "  {name}  {} in {} segments, {} stalled{}",
                number::bytes(direction.len),
                number::count(direction.segments),
                number::count(direction.stalls),
                late_words(direction),
            );
        }
    }
    text
}

/// The error of the link itself.
fn late_words(direction: &DirectionTotals) -> String {
    let late = &direction.late_us;
    match (late.quantile(0.5), late.quantile(0.99)) {
        (Some(median), Some(high)) => format!(
            "; the link's own lateness {} (median), {} (p99)",
            number::micros(median),
            number::micros(high)
        ),
        _ => String::new(),
    }
}

/// What the user should know about the result.
pub(super) fn notes(totals: &RelayTotals) -> Vec<String> {
    let mut notes = Vec::new();
    for link in &totals.links {
        if let Some(reason) = &link.unreachable_reason {
            notes.push(format!(
                "{} did not accept {} connections: {reason}",
                link.to,
                number::count(link.unreachable)
            ));
        }
    }
    let late = late_us(totals);
    if late > LATE_US {
        notes.push(format!(
            "the link itself was late by {} (p99): its core was busy, and delays were longer than they should be",
            number::micros(late)
        ));
    }
    if totals.waited > 0 {
        notes.push(format!(
            "{} connections had to wait until others ended: more at once need --connections",
            number::count(totals.waited)
        ));
    }
    notes
}

/// The highest 99th percentile of all links and directions, µs.
fn late_us(totals: &RelayTotals) -> u64 {
    let directions = totals
        .links
        .iter()
        .flat_map(|link| [&link.to_target, &link.from_target]);
    let late = directions.filter_map(|direction| direction.late_us.quantile(0.99));
    late.max().unwrap_or(0)
}

/// The output of `plimsoll link --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "plimsoll link --json")]
pub(super) struct LinksObject {
    /// Version of this object, `major.minor`.
    format_version: &'static str,
    /// Seed of delays and stalls.
    seed: u64,
    /// How long the links carried, s.
    duration_s: f64,
    /// Maximum connections at once.
    connections_max: u32,
    /// Connections that had to wait until another one ended.
    waited: u64,
    /// Most bytes on their way at once, with 64 bytes for each segment.
    held_bytes_max: u64,
    /// Source and date of the round trips between regions; null where no link has a region.
    round_trips_of: Option<String>,
    /// Each link, in the order of the command line.
    links: Vec<LinkObject>,
}

/// What one link was, and what it carried.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Link")]
struct LinkObject {
    /// Where it listens.
    listen: String,
    /// Where it leads.
    to: String,
    /// Its round trip, as `--delay` is written.
    round_trip: String,
    /// The region of its clients; null where it has none.
    region: Option<String>,
    /// Bandwidth of each direction, bytes per second; null where it is unlimited.
    bandwidth_bytes_per_s: Option<f64>,
    /// Bytes that pass at once after a pause; null where the bandwidth is unlimited.
    burst_bytes: Option<u64>,
    /// Share of segments that stall, 0 to 1.
    stall_share: f64,
    /// How much later they arrive, ms.
    stall_ms: f64,
    /// Connections that were accepted.
    connections: u64,
    /// Of them open at the end.
    open: u64,
    /// Of them not accepted by the target.
    unreachable: u64,
    /// Of them reset by one of their ends.
    reset: u64,
    /// What went to the target.
    to_target: DirectionObject,
    /// What came from the target.
    from_target: DirectionObject,
}

/// What went in one direction.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Direction")]
struct DirectionObject {
    /// Bytes that were delivered.
    bytes: u64,
    /// Segments that entered the link.
    segments: u64,
    /// Of them stalled.
    stalls: u64,
    /// How late the link itself was, median, ms; null where nothing was carried.
    late_ms_p50: Option<f64>,
    /// The same, 99th percentile.
    late_ms_p99: Option<f64>,
    /// The same, maximum.
    late_ms_max: Option<f64>,
}

impl LinksObject {
    pub(super) fn new(
        prepared: &PreparedLinks,
        totals: &RelayTotals,
        (seed, connections_max): (u64, u32),
    ) -> Self {
        let links = prepared.links.iter().zip(&totals.links);
        Self {
            format_version: FORMAT_VERSION,
            seed,
            duration_s: totals.lasting.as_secs_f64(),
            connections_max,
            waited: totals.waited,
            held_bytes_max: totals.held_max,
            round_trips_of: prepared.round_trips_of.clone(),
            links: links
                .map(|(link, totals)| LinkObject::new(link, totals))
                .collect(),
        }
    }
}

impl LinkObject {
    fn new(link: &PreparedLink, totals: &LinkTotals) -> Self {
        let conditions = link.options.conditions;
        let stall = conditions.stall;
        Self {
            listen: totals.listen.to_string(),
            to: totals.to.to_string(),
            round_trip: distribution_text(&conditions.round_trip),
            region: link.region.clone(),
            bandwidth_bytes_per_s: conditions.bandwidth.map(|limit| limit.bytes_per_s()),
            burst_bytes: conditions.bandwidth.map(|limit| limit.burst_len()),
            stall_share: stall.map_or(0.0, |stall| stall.share),
            stall_ms: stall.map_or(0.0, |stall| stall.lasting.as_secs_f64() * 1e3),
            connections: totals.connections,
            open: totals.open,
            unreachable: totals.unreachable,
            reset: totals.reset,
            to_target: DirectionObject::new(&totals.to_target),
            from_target: DirectionObject::new(&totals.from_target),
        }
    }
}

impl DirectionObject {
    fn new(totals: &DirectionTotals) -> Self {
        let late = &totals.late_us;
        Self {
            bytes: totals.len,
            segments: totals.segments,
            stalls: totals.stalls,
            late_ms_p50: late.quantile(0.5).map(number::millis),
            late_ms_p99: late.quantile(0.99).map(number::millis),
            late_ms_max: late.max().map(number::millis),
        }
    }
}

/// The schema of `--json`.
pub(crate) fn schema() -> String {
    pretty::schema::<LinksObject>()
}
