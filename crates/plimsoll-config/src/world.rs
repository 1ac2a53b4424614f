//! The file of a simulated world: tiers, what users send to them, and how far everything is.
//!
//! [`read`] collects all errors of a file, each with line and column. A world that it returns can be simulated: every name
//! is known, no calls go in a circle, and every distance has a round trip. [`WhatIf`] changes a world by a line of text.

mod calls;
mod checks;
mod clients;
mod distances;
mod law;
mod reference;
#[cfg(test)]
mod tests;
mod tiers;
mod what_if;

use plimsoll_model::objective::Objective;

use crate::document::Shape::{ListOf, MapOf, Of, Text};
use crate::document::{
    Diagnostics, DocumentNode, DocumentReader, SettingsMap as _, Shape, Surroundings, required,
    settings,
};
use crate::objective;
use clients::LOAD;
use distances::LINK;
use tiers::TIER;

pub use calls::{CALLS_MAX, Call, REPEATS_MAX};
pub use clients::{ClientGroup, RETRIES_MAX, USERS_MAX, WorldDemand, WorldLoad};
pub use distances::{CLIENTS, Distances, MissingDistance, WorldLink};
pub use law::{LAW_S_MAX, law_of_text};
pub use reference::{reference, schema};
pub use tiers::{Cache, REPLICAS_MAX, SERVERS_MAX, TIERS_MAX, Tier};
pub use what_if::WhatIf;

/// Maximum size of the file of a world, bytes.
pub const WORLD_LEN_MAX: u64 = 4 << 20;
/// The objective of a world that has none.
pub const OBJECTIVE: &str = "p95 < 500ms, errors < 1%";

const EXAMPLE: &str =
    "tiers: { web: { service: exponential 8ms, servers: 1 } } and load: { rate: 100/s }";
const OBJECTIVE_VALID: &str = "an objective such as p95 < 500ms, errors < 1%";

/// A world: tiers, what users send to them, and how far everything is.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    /// Tiers in the order of the file; others name them by their index.
    pub tiers: Vec<Tier>,
    /// What users send.
    pub load: WorldLoad,
    /// Round trips between tiers and regions.
    pub distances: Distances,
    /// What counts as good.
    pub objective: Objective,
}

impl World {
    /// The tier with this name, by its index.
    pub fn tier(&self, name: &str) -> Option<usize> {
        self.tiers.iter().position(|tier| tier.name == name)
    }
}

settings! {
    /// A world that `plimsoll simulate` simulates.
    struct WorldSettings, WORLD "world" {
        /// Tiers by name: web servers, applications, stores, caches. Required; at most 100.
        "tiers": MapOf(&Of(&TIER));
        /// What users send. Required.
        "load": Of(&LOAD);
        /// Objective that the load line is searched for. Default: `p95 < 500ms, errors < 1%`.
        objective: Option<Objective> = None, "objective": Shape::Objective => objective_of;
        /// Table of round trips between regions, a CSV file as of `plimsoll link --regions`. Default: medians between 17
        /// regions of Azure, published by Microsoft.
        "regions": Text;
        /// Round trips between two tiers, between two regions, or between `clients` and a tier. They go before the table.
        "links": ListOf(&Of(&LINK));
    }
}

/// Reads the file of a world.
///
/// # Errors
/// All errors of the file together.
pub fn read(text: &str, surroundings: &dyn Surroundings) -> Result<World, Diagnostics> {
    let reader = DocumentReader::new(text, surroundings);
    let empty = ("the world is empty", EXAMPLE);
    let world = reader.read_root(empty, |root| world(&reader, root));
    reader.finish(world)
}

fn world(reader: &DocumentReader<'_>, root: &DocumentNode) -> Option<World> {
    let fields = reader.fields(root, &WORLD)?;
    let settings = WorldSettings::read(reader, &fields);
    let distances = distances::distances(reader, &fields);
    let tiers_node = required(
        reader,
        &fields,
        "tiers",
        "{ web: { service: exponential 8ms } }",
    );
    let load_node = required(reader, &fields, "load", "{ rate: 100/s }");
    let tiers = tiers_node.and_then(|node| tiers::tiers(reader, node));
    let (tiers, distances) = (tiers?, distances?);
    let has_circle = checks::check_circles(reader, tiers_node?, &tiers);
    let load = load_node.and_then(|node| clients::load(reader, node, &tiers))?;
    let objective = settings.objective.unwrap_or_else(default_objective);
    let world = World {
        tiers,
        load,
        distances,
        objective,
    };
    if !has_circle {
        checks::check_size(reader, tiers_node?, &world);
    }
    checks::check_distances(reader, (tiers_node?, load_node?), &world);
    Some(world)
}

fn default_objective() -> Objective {
    objective::objective(OBJECTIVE).expect("a test reads the objective")
}

fn objective_of(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Objective> {
    let objective = reader.value(node, OBJECTIVE_VALID, objective::objective)?;
    if objective.has_broadcast_bounds() {
        let message = "broadcasts are not simulated";
        reader.report(node, message, OBJECTIVE_VALID);
        return None;
    }
    Some(objective)
}

/// Whether a text names a tier or a region: 1 to 40 lower-case letters, digits, `-` and `_`, a letter first.
fn is_name(text: &str) -> bool {
    let is_valid = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_'
    };
    text.len() <= 40
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(is_valid)
}

const NAME_VALID: &str = "1 to 40 lower-case letters, digits, `-` and `_`, a letter first";
