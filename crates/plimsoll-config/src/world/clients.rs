//! What users send to a world.

use std::time::Duration;

use plimsoll_model::distribution::DurationDistribution;

use super::calls::callee;
use super::law::{LAW, law};
use super::tiers::Tier;
use super::{NAME_VALID, is_name};
use crate::document::Shape::{Count, Either, MapOf, Of, Rate, Text};
use crate::document::{
    DocumentKey, DocumentNode, DocumentReader, MapFields, NodeKind, SettingsMap as _, count,
    settings, share,
};
use crate::units;

/// Most users of a world.
pub const USERS_MAX: u32 = 10_000_000;
/// Most repetitions of a request that fails.
pub const RETRIES_MAX: u32 = 20;
/// Most regions of clients.
const GROUPS_MAX: usize = 500;
/// By how much the shares of all regions may differ from the whole.
const SHARES_TOLERANCE: f64 = 0.001;

const SHARE_VALID: &str = "a share such as 40%";
const LOAD_VALID: &str = "rate: 100/s, or users: 500 with think: exponential 10s";

/// How much users send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WorldDemand {
    /// Independent requests, as from many people: so many a second.
    Rate(f64),
    /// Users who each wait for the answer, think and send again.
    Users {
        /// How many.
        count: u32,
        /// Time between an answer and the next request.
        think: DurationDistribution,
    },
}

settings! {
    /// What users send: `rate` for independent requests, or `users` who wait for the answer and think.
    #[derive(Clone, Debug, PartialEq)]
    pub struct WorldLoad, LOAD "world-load" {
        /// How much.
        demand: WorldDemand = WorldDemand::Rate(0.0);
        /// Requests per second, with independent arrivals (Poisson).
        "rate": Rate;
        /// Users who wait for the answer, think, and send again.
        "users": Count(1, 10_000_000);
        /// Time between an answer and the next request of a user, as of `service`. Required with `users`.
        "think": LAW;
        /// Where clients are, each with the tier that they send to.
        groups: Vec<ClientGroup> = Vec::new();
        /// Regions of the clients: the name of one, or a map of names with their shares: `{ us: 40%, eu: 60% }`. Default: beside
        /// the service.
        "regions": Either(&[Text, MapOf(&Either(&[Text, Of(&GROUP)]))]);
        /// Tier that clients send to. Default: the only one that no other calls.
        "to": Text;
        /// How long a user waits before giving up, as of `service`; the service goes on with what nobody waits for any more.
        /// Default: for ever.
        patience: Option<DurationDistribution> = None, "patience": LAW => law;
        /// How often a client repeats a request that failed or was given up.
        retries: u32 = 0, "retries": count(0..=RETRIES_MAX);
        /// Pause before a repetition, as of `service`. Default: 1s.
        retry_after: DurationDistribution = DurationDistribution::Fixed(Duration::from_secs(1)), "retry_after": LAW => law;
    }
}

settings! {
    /// Clients of a region.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ClientGroup, GROUP "clients" {
        /// Their region; nothing where they are beside the service.
        region: Option<String> = None;
        /// Share of all clients. Required.
        share: f64 = 1.0, "share": share(SHARE_VALID), unsaid;
        /// Tier that they send to. Default: `to` of the load.
        to: usize = 0, "to": Text => later;
    }
}

/// Reads `load:`.
pub(super) fn load(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    tiers: &[Tier],
) -> Option<WorldLoad> {
    let names: Vec<&str> = tiers.iter().map(|tier| tier.name.as_str()).collect();
    let fields = reader.fields(node, &LOAD)?;
    let mut load = WorldLoad::read(reader, &fields);
    let demand = demand(reader, &fields);
    let entry = match fields.get("to") {
        Some(node) => callee(reader, node, &names),
        None => entry(reader, &fields, tiers),
    };
    let groups = groups(reader, &fields, entry, &names);
    load.demand = demand?;
    load.groups = groups?;
    Some(load)
}

fn demand(reader: &DocumentReader<'_>, fields: &MapFields<'_>) -> Option<WorldDemand> {
    let think = fields.get("think");
    match (fields.get("rate"), fields.get("users")) {
        (Some(rate), None) => {
            if let Some((key, _)) = fields.entry("think") {
                let message = "`think` has no effect with `rate`";
                reader.report_at(key.span.start, message, LOAD_VALID, None);
            }
            let rate = reader.value(rate, "a rate such as 100/s", units::rate_above_zero)?;
            Some(WorldDemand::Rate(rate))
        }
        (None, Some(users)) => {
            let count = reader.count32(users, 1..=USERS_MAX);
            let Some(think) = think else {
                if !fields.misspells(&["think"]) {
                    reader.report(users, "`think` is missing", LOAD_VALID);
                }
                return None;
            };
            let think_node = think;
            let think = law(reader, think_node)?;
            if think.mean_s() <= 0.0 {
                // Users who neither think nor wait would send without end in one moment.
                reader.report(think_node, "must be above zero", LOAD_VALID);
                return None;
            }
            Some(WorldDemand::Users {
                count: count?,
                think,
            })
        }
        (Some(_), Some(users)) => {
            reader.report(
                users,
                "`rate` and `users` are mutually exclusive",
                LOAD_VALID,
            );
            None
        }
        (None, None) => {
            if !fields.misspells(&["rate", "users"]) {
                reader.report(fields.node, "the load has no amount", LOAD_VALID);
            }
            None
        }
    }
}

/// The only tier that no other calls.
fn entry(reader: &DocumentReader<'_>, fields: &MapFields<'_>, tiers: &[Tier]) -> Option<usize> {
    let is_called = |index: usize| {
        let mut calls = tiers.iter().flat_map(|tier| &tier.calls);
        calls.any(|call| call.to.contains(&index))
    };
    let first: Vec<usize> = (0..tiers.len())
        .filter(|index| !is_called(*index))
        .collect();
    match first.as_slice() {
        [entry] => Some(*entry),
        // The circle is reported with the tiers.
        [] => None,
        several => {
            let uncalled = several.iter().map(|index| tiers[*index].name.as_str());
            let names: Vec<&str> = uncalled.collect();
            let message = format!(
                "`to` is missing, and several tiers are called by no other: {}",
                names.join(", ")
            );
            if !fields.misspells(&["to"]) {
                reader.report(fields.node, message, format!("to: {}", names[0]));
            }
            None
        }
    }
}

/// Reads `regions:`; without them all clients are beside the service.
fn groups(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    entry: Option<usize>,
    names: &[&str],
) -> Option<Vec<ClientGroup>> {
    let everyone = |region, to| ClientGroup {
        region,
        share: 1.0,
        to,
    };
    let Some(node) = fields.get("regions") else {
        return Some(vec![everyone(None, entry?)]);
    };
    if let NodeKind::Scalar { .. } = node.kind {
        let region = reader.word(node, "a region, or a map of regions with their shares")?;
        return Some(vec![everyone(Some(region), entry?)]);
    }
    let entries = reader.entries(node, "regions with their shares")?;
    if entries.is_empty() || entries.len() > GROUPS_MAX {
        let message = format!("there are {} regions", entries.len());
        reader.report(node, message, format!("1 to {GROUPS_MAX}"));
        return None;
    }
    let groups = entries.iter().map(|read| group(reader, read, entry, names));
    let groups: Vec<Option<ClientGroup>> = groups.collect();
    let groups = groups.into_iter().collect::<Option<Vec<ClientGroup>>>()?;
    let whole: f64 = groups.iter().map(|group| group.share).sum();
    if (whole - 1.0).abs() > SHARES_TOLERANCE {
        let message = format!("the shares of the regions add up to {:.1}%", whole * 100.0);
        reader.report(node, message, "100% in all");
        return None;
    }
    Some(groups)
}

fn group(
    reader: &DocumentReader<'_>,
    (key, node): &(DocumentKey, DocumentNode),
    entry: Option<usize>,
    names: &[&str],
) -> Option<ClientGroup> {
    if !is_name(&key.text) {
        let message = format!("`{}` is not a valid name of a region", key.text);
        reader.report_at(key.span.start, message, NAME_VALID, None);
    }
    let region = Some(key.text.clone());
    if let NodeKind::Scalar { .. } = node.kind {
        let share = reader.value(node, SHARE_VALID, units::share)?;
        return Some(ClientGroup {
            region,
            share,
            to: entry?,
        });
    }
    let fields = reader.fields(node, &GROUP)?;
    let mut group = ClientGroup::read(reader, &fields);
    group.region = region;
    if fields.get("share").is_none() && !fields.misspells(&["share"]) {
        reader.report(node, "`share` is missing", "{ share: 40%, to: web }");
    }
    group.to = match fields.get("to") {
        Some(node) => callee(reader, node, names)?,
        None => entry?,
    };
    Some(group)
}
