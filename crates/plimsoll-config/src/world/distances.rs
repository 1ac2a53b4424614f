//! How far tiers and clients are from each other.

use std::time::Duration;

use plimsoll_model::distribution::DurationDistribution;

use super::law::{LAW, law};
use super::tiers::Tier;
use super::{NAME_VALID, is_name};
use crate::document::Shape::{ListOf, Text};
use crate::document::{DocumentNode, DocumentReader, MapFields, SettingsMap as _, settings};
use crate::regions::{RegionTable, TABLE_LEN_MAX};

/// What links call the clients of a world.
pub const CLIENTS: &str = "clients";
/// Most links of a world.
const LINKS_MAX: usize = 1_000;

const LINK_VALID: &str = "{ between: [web, db], round_trip: 85ms }";

settings! {
    /// A round trip between two tiers, two regions, or `clients` and a tier, the same in both directions.
    #[derive(Clone, Debug, PartialEq)]
    pub struct WorldLink, LINK "world-link" {
        /// Its two ends: tiers, regions, or `clients`. A region twice is the way within it. Required.
        between: [String; 2] = [String::new(), String::new()], "between": ListOf(&Text) => ends;
        /// Round trip, as of `service`; each direction takes half of a draw. Required.
        round_trip: DurationDistribution = DurationDistribution::Fixed(Duration::ZERO), "round_trip": LAW => law;
    }
}

/// No round trip is known between two regions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no round trip from region `{from}` to region `{to}`")]
pub struct MissingDistance {
    /// Where a request comes from.
    pub from: String,
    /// Where it goes.
    pub to: String,
    /// Regions that the table has.
    pub known: Vec<String>,
}

impl MissingDistance {
    /// What mends it.
    pub fn remedy(&self) -> String {
        format!(
            "a link such as {{ between: [{}, {}], round_trip: 85ms }}, or regions of the table: {}",
            self.from,
            self.to,
            self.known.join(", ")
        )
    }
}

/// Round trips between tiers and regions.
#[derive(Clone, Debug, PartialEq)]
pub struct Distances {
    table: RegionTable,
    links: Vec<WorldLink>,
}

impl Distances {
    /// Round trips of a table, and links that go before it.
    pub fn new(table: RegionTable, links: Vec<WorldLink>) -> Self {
        Self { table, links }
    }

    /// The table of regions.
    pub fn table(&self) -> &RegionTable {
        &self.table
    }

    /// Whether there is a round trip to a region.
    pub fn has_region(&self, region: &str) -> bool {
        let is_end = |link: &WorldLink| link.between.iter().any(|end| end == region);
        self.table.regions().any(|known| known == region) || self.links.iter().any(is_end)
    }

    /// Round trip of a call from a tier to another: that of their link, else that between their regions; none where one
    /// of them has no region.
    ///
    /// # Errors
    /// When there is no round trip between their regions.
    pub fn of_call(&self, from: &Tier, to: &Tier) -> Result<DurationDistribution, MissingDistance> {
        self.of(&from.name, from.region.as_deref(), to)
    }

    /// Round trip from clients of a region to a tier.
    ///
    /// # Errors
    /// When there is no round trip between their regions.
    pub fn of_clients(
        &self,
        region: Option<&str>,
        to: &Tier,
    ) -> Result<DurationDistribution, MissingDistance> {
        self.of(CLIENTS, region, to)
    }

    fn of(
        &self,
        name: &str,
        region: Option<&str>,
        to: &Tier,
    ) -> Result<DurationDistribution, MissingDistance> {
        const BESIDE: DurationDistribution = DurationDistribution::Fixed(Duration::ZERO);
        if let Some(link) = self.link(name, &to.name) {
            return Ok(link.round_trip);
        }
        let (Some(from), Some(to)) = (region, to.region.as_deref()) else {
            return Ok(BESIDE);
        };
        if let Some(link) = self.link(from, to) {
            return Ok(link.round_trip);
        }
        if from == to {
            return Ok(BESIDE);
        }
        match self.table.round_trip(from, to) {
            Ok(round_trip) => Ok(DurationDistribution::Fixed(round_trip)),
            Err(_) => Err(MissingDistance {
                from: from.to_owned(),
                to: to.to_owned(),
                known: self.table.regions().map(str::to_owned).collect(),
            }),
        }
    }

    /// Whether clients have a link to a tier.
    pub(super) fn has_client_link(&self, to: &Tier) -> bool {
        self.link(CLIENTS, &to.name).is_some()
    }

    fn link(&self, first: &str, second: &str) -> Option<&WorldLink> {
        let joins = |link: &&WorldLink| {
            let [near, far] = &link.between;
            (near == first && far == second) || (near == second && far == first)
        };
        self.links.iter().find(joins)
    }

    /// Takes away the links of a tier: it is moved.
    pub(super) fn forget(&mut self, tier: &str) {
        self.links
            .retain(|link| !link.between.iter().any(|end| end == tier));
    }
}

/// Reads `regions:` and `links:`.
pub(super) fn distances(reader: &DocumentReader<'_>, fields: &MapFields<'_>) -> Option<Distances> {
    let table = match fields.get("regions") {
        None => Some(RegionTable::built_in()),
        Some(node) => table(reader, node),
    };
    let items = fields
        .get("links")
        .map_or(&[][..], |node| reader.list(node, "links"));
    if items.len() > LINKS_MAX {
        let message = format!("there are {} links", items.len());
        reader.report(&items[LINKS_MAX], message, format!("at most {LINKS_MAX}"));
    }
    let links = items.iter().take(LINKS_MAX);
    let links = links.filter_map(|item| link(reader, item)).collect();
    Some(Distances::new(table?, links))
}

fn table(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<RegionTable> {
    const VALID: &str = "a CSV file of round trips in ms, as of plimsoll link --regions";
    let path = reader.word(node, VALID)?;
    let content = reader.file(node, &path, TABLE_LEN_MAX)?;
    let Ok(text) = String::from_utf8(content) else {
        reader.report(node, format!("`{path}` is not UTF-8"), VALID);
        return None;
    };
    match RegionTable::read(&text) {
        Ok(table) => Some(table),
        Err(error) => {
            reader.report(node, format!("`{path}`: {error}"), VALID);
            None
        }
    }
}

fn link(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<WorldLink> {
    let fields = reader.fields(node, &LINK)?;
    for word in ["between", "round_trip"] {
        if fields.get(word).is_none() && !fields.misspells(&[word]) {
            reader.report(node, format!("`{word}` is missing"), LINK_VALID);
        }
    }
    Some(WorldLink::read(reader, &fields))
}

fn ends(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<[String; 2]> {
    let [first, second] = reader.list(node, "two tiers or regions") else {
        reader.report(node, "not two ends", LINK_VALID);
        return None;
    };
    let end = |node: &DocumentNode| {
        let name = reader.word(node, NAME_VALID)?;
        if !is_name(&name) {
            reader.report(node, format!("`{name}` is not a valid name"), NAME_VALID);
            return None;
        }
        Some(name)
    };
    let (first, second) = (end(first), end(second));
    Some([first?, second?])
}
