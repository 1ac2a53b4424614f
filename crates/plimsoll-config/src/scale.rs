//! A scaling policy: how many replicas a service shall have, and the world in which a replay tries it.
//!
//! [`read`] collects all errors of a file, each with line and column. What a policy decides is up to the crate that
//! carries it out; here are its settings alone.

mod bound;
mod concurrency;
mod line;
mod reference;
mod replica;
mod schedule;
mod signal;
mod target;
#[cfg(test)]
mod tests;
mod threshold;
mod world;

use plimsoll_model::price::Price;

use crate::document::Shape::{Count, Either, Of, OneOrMore, Switch, Text};
use crate::document::{
    Diagnostics, DocumentNode, DocumentReader, MapFields, SettingsMap as _, Surroundings, count,
    required, settings, text,
};
use crate::price::{PRICE, price};
use concurrency::CONCURRENCY;
pub use concurrency::ConcurrencyPolicy;
use line::LINE;
pub use line::LinePolicy;
pub use reference::{reference, schema};
use replica::REPLICA;
pub use replica::ReplicaConfig;
use schedule::SCHEDULE;
pub use schedule::{ScheduleMoment, ScheduledLoad, moment};
pub use signal::Signal;
use target::TARGET;
pub use target::{Saturated, TargetPolicy};
use threshold::THRESHOLD;
pub use threshold::{Statistic, ThresholdPolicy};
use world::WORLD;
pub use world::WorldConfig;

/// Maximum size of a policy file, bytes.
pub const POLICY_LEN_MAX: u64 = 1 << 20;
/// Most replicas of a service.
pub const REPLICAS_MAX: u32 = 10_000;
/// Most policies of a kind, and most known dates.
const POLICIES_MAX: usize = 100;

settings! {
    /// A scaling policy. Where several of `threshold`, `target`, `concurrency`, `line` and `schedule` are written, the
    /// one that wants the most replicas decides; where none is, `line` does.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ScalePolicy, POLICY "policy" {
        /// Name in tables and pages. Default: the file name.
        name: String = String::new(), "name": Text => name;
        /// Fewest replicas.
        min: u32 = 1, "min": count(1..=REPLICAS_MAX);
        /// Most replicas. Required.
        max: u32 = REPLICAS_MAX, "max": Count(1, REPLICAS_MAX as u64) => later;
        /// What one replica carries, and how long it takes to start. Required.
        replica: ReplicaConfig = ReplicaConfig::of_line(1.0), "replica": Of(&REPLICA) => later;
        /// Grow and shrink by steps, when a signal crosses a bound.
        threshold: Vec<ThresholdPolicy> = Vec::new(),
            "threshold": OneOrMore(&Of(&THRESHOLD)) => each ThresholdPolicy::read_checked;
        /// Keep a signal at a value, by the arithmetic of the Horizontal Pod Autoscaler of Kubernetes.
        target: Vec<TargetPolicy> = Vec::new(), "target": OneOrMore(&Of(&TARGET)) => each TargetPolicy::read_checked;
        /// Keep requests in flight below their limit, as the autoscaler of Knative. `true` selects all defaults.
        concurrency: Option<ConcurrencyPolicy> = None,
            "concurrency": Either(&[Switch, Of(&CONCURRENCY)]) => ConcurrencyPolicy::from_switch_or_map;
        /// From the measured load line of a replica, its start time, and a forecast. `true` selects all defaults.
        line: Option<LinePolicy> = None, "line": Either(&[Switch, Of(&LINE)]) => LinePolicy::from_switch_or_map;
        /// Loads at known dates, for which replicas are ready in time.
        schedule: Vec<ScheduledLoad> = Vec::new(), "schedule": OneOrMore(&Of(&SCHEDULE)) => each schedule::scheduled;
        /// What a replica costs: `{ currency: EUR, per_hour: { machine: 0.096 } }`, where a machine is a replica.
        price: Option<Price> = None, "price": Of(&PRICE) => price;
        /// Whether it imitates another scaler, which knows neither shared limits nor paid periods.
        imitates: bool = false;
        /// The world of a replay.
        world: WorldConfig = WorldConfig::defaults(), "world": Of(&WORLD) => WorldConfig::read_checked;
    }
}

impl ScalePolicy {
    /// The policy `line` between these numbers of replicas.
    pub fn of_line(name: &str, replica: ReplicaConfig, (min, max): (u32, u32)) -> Self {
        Self {
            line: Some(LinePolicy::defaults()),
            ..Self::without_rule(name, replica, (min, max))
        }
    }

    /// Bounds and a replica, without any policy yet.
    pub fn without_rule(name: &str, replica: ReplicaConfig, (min, max): (u32, u32)) -> Self {
        Self {
            name: name.to_owned(),
            min,
            max,
            replica,
            ..Self::defaults()
        }
    }
}

/// Reads a policy file; `name` is the default of its name.
///
/// # Errors
/// All errors of the file together.
pub fn read(
    text: &str,
    name: &str,
    surroundings: &dyn Surroundings,
) -> Result<ScalePolicy, Diagnostics> {
    let reader = DocumentReader::new(text, surroundings);
    let empty = (
        "the policy is empty",
        "max, replica, and policies such as line or threshold",
    );
    let policy = reader.read_root(empty, |root| policy(&reader, root, name));
    reader.finish(policy)
}

fn policy(reader: &DocumentReader<'_>, root: &DocumentNode, name: &str) -> Option<ScalePolicy> {
    let fields = reader.fields(root, &POLICY)?;
    let settings = ScalePolicy::read(reader, &fields);
    let max = required(reader, &fields, "max", "20")
        .and_then(|node| reader.count32(node, 1..=REPLICAS_MAX));
    let replica = required(reader, &fields, "replica", "{ line: 80/s, start: 40s }")
        .and_then(|node| replica::replica(reader, node));
    check_lens(reader, &fields, &settings);
    check_shares(reader, &fields, &settings);
    if let (Some(max), Some((key, _))) = (max, fields.entry("min"))
        && settings.min > max
    {
        let message = format!("`min` ({}) is above `max` ({max})", settings.min);
        let valid = format!("1 to {max}, or a higher `max`");
        reader.report_at(key.span.start, message, valid, None);
    }
    let policy = ScalePolicy {
        max: max?,
        replica: replica?,
        name: Some(settings.name)
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| name.to_owned()),
        ..settings
    };
    Some(with_default(policy, &fields))
}

/// Without any policy, `line` decides.
fn with_default(policy: ScalePolicy, fields: &MapFields<'_>) -> ScalePolicy {
    let rules = ["threshold", "target", "concurrency", "line", "schedule"];
    // A known date alone would keep the minimum at all other times.
    let decides_always = rules[..4].iter().any(|rule| fields.get(rule).is_some());
    if decides_always {
        return policy;
    }
    ScalePolicy {
        line: Some(LinePolicy::defaults()),
        ..policy
    }
}

fn check_lens(reader: &DocumentReader<'_>, fields: &MapFields<'_>, policy: &ScalePolicy) {
    let lens = [
        ("threshold", policy.threshold.len()),
        ("target", policy.target.len()),
        ("schedule", policy.schedule.len()),
    ];
    for (word, len) in lens {
        if let Some((key, _)) = fields.entry(word)
            && len > POLICIES_MAX
        {
            let message = format!("`{word}` has {len} items");
            let valid = format!("at most {POLICIES_MAX}");
            reader.report_at(key.span.start, message, valid, None);
        }
    }
}

/// Reports shares by which something is divided.
fn check_shares(reader: &DocumentReader<'_>, fields: &MapFields<'_>, policy: &ScalePolicy) {
    let mut shares = Vec::new();
    if let Some(line) = &policy.line {
        shares.push(("line", "utilisation", line.utilisation));
        shares.push(("line", "peak_utilisation", line.peak_utilisation));
    }
    if let Some(concurrency) = &policy.concurrency {
        shares.push(("concurrency", "share", concurrency.share));
        shares.push(("concurrency", "panic_window", concurrency.panic_window));
        let limit = concurrency.limit.unwrap_or(1.0);
        shares.push(("concurrency", "limit", limit));
    }
    for (section, word, share) in shares {
        let written = fields.get(section).and_then(|section| section.get(word));
        if let Some(node) = written
            && share <= 0.0
        {
            let message = format!("`{word}` must be above zero");
            reader.report(node, message, "a number above 0, such as 0.75");
        }
    }
}

fn name(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<String> {
    use crate::document::SettingKind as _;
    let kind = text("1 to 64 letters, digits, blanks, `-`, `_` and `.`").that(is_name, "a name");
    kind.read(reader, node)
}

fn is_name(name: &str) -> bool {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
    name.len() <= 64 && name.trim() == name && name.chars().all(is_safe)
}
