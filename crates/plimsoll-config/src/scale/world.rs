//! The world of a replay.

use std::time::Duration;

use plimsoll_model::distribution::DurationDistribution;

use super::REPLICAS_MAX;
use crate::distribution::{THINK, distribution, duration_distribution};
use crate::document::Shape::{Either, Of, Text};
use crate::document::{
    DocumentNode, DocumentReader, NodeKind, SettingsMap as _, count, count64, rate_above_zero,
    settings, text, time, time_or_zero,
};

settings! {
    /// The world of a replay: what a trace and a replica do not have.
    #[derive(Clone, Debug, PartialEq)]
    pub struct WorldConfig, WORLD "world" {
        /// Start time of each replica: a duration, `30s..50s`, or `{ lognormal: [40s, 0.3] }`. Default: `start` of `replica`.
        start: Option<DurationDistribution> = None, "start": Either(&[Text, Of(&THINK)]) => start;
        /// How long a request may wait; one that would wait longer is a bad answer. Counted in whole seconds.
        deadline: Duration = Duration::from_secs(2), "deadline": time().within(SECOND, MINUTES, "1s to 10m");
        /// How late signals are.
        lag: Duration = Duration::from_secs(2), "lag": time_or_zero().within(Duration::ZERO, MINUTES, "0 to 10m");
        /// Replicas at the beginning. Default: as many as the first rate needs.
        initial: Option<u32> = None, "initial": count(1..=REPLICAS_MAX);
        /// Name of what all replicas share and that ends their growth, such as `pool of the database`.
        shared: Option<String> = None, "shared": text("a name").that(is_short, "1 to 100 characters in a line");
        /// What it carries.
        shared_line: Option<f64> = None, "shared_line": rate_above_zero("a rate such as 300/s");
        /// Seed of the start times.
        seed: u64 = 1, "seed": count64(0..=u64::MAX);
    }
}

const SECOND: Duration = Duration::from_secs(1);
const MINUTES: Duration = Duration::from_mins(10);
/// Longest mean start time.
const START_MAX: Duration = Duration::from_hours(1);

impl WorldConfig {
    /// Reads `world:`.
    pub(super) fn read_checked(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Self> {
        let world = Self::from_map(reader, node)?;
        if world.shared.is_some() != world.shared_line.is_some() {
            let valid = "both, or neither: { shared: pool of the database, shared_line: 300/s }";
            reader.report(node, "one of `shared` and `shared_line` is missing", valid);
            return None;
        }
        Some(world)
    }
}

impl Default for WorldConfig {
    fn default() -> Self {
        Self::defaults()
    }
}

fn is_short(name: &str) -> bool {
    name.chars().count() <= 100 && !name.chars().any(char::is_control)
}

fn start(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<DurationDistribution> {
    let valid = "a duration such as 40s, or a distribution such as { lognormal: [40s, 0.3] }";
    let start = match &node.kind {
        NodeKind::Map(_) => duration_distribution(reader, node)?,
        NodeKind::List(_) | NodeKind::Scalar { .. } => reader.value(node, valid, distribution)?,
    };
    if start.mean_s() > START_MAX.as_secs_f64() {
        reader.report(node, "the mean start time is above an hour", "0 to 1h");
        return None;
    }
    Some(start)
}
