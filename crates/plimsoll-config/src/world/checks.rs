//! What must hold of a world as a whole: no calls in a circle, not too many of them, and a distance for each.

use super::World;
use super::distances::MissingDistance;
use super::tiers::Tier;
use crate::document::{DocumentNode, DocumentReader};

/// Most requests that a request of a client may cause, on average.
const CAUSED_MAX: f64 = 100_000.0;

/// Reports calls that go in a circle; whether there are any.
pub(super) fn check_circles(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    tiers: &[Tier],
) -> bool {
    let Some(circle) = circle(tiers) else {
        return false;
    };
    let names: Vec<&str> = circle
        .iter()
        .map(|index| tiers[*index].name.as_str())
        .collect();
    let waits = circle.windows(2).all(|pair| {
        let mut calls = tiers[pair[0]].calls.iter();
        calls.any(|call| call.blocking && call.to.contains(&pair[1]))
    });
    let what = if waits {
        "blocking calls go in a circle, and each waits for itself"
    } else {
        "calls go in a circle, and a request would never end"
    };
    let message = format!("{what}: {}", names.join(" → "));
    let place = node.get(names[0]).unwrap_or(node);
    let valid = "calls in one direction; a tier that is called back is another tier, such as `api-internal`";
    reader.report(place, message, valid);
    true
}

/// Tiers whose calls lead back to the first, which is the last too.
fn circle(tiers: &[Tier]) -> Option<Vec<usize>> {
    let mut is_done = vec![false; tiers.len()];
    for start in 0..tiers.len() {
        if let Some(circle) = circle_from(tiers, start, &mut Vec::new(), &mut is_done) {
            return Some(circle);
        }
    }
    None
}

/// Depth first; `path` has at most as many tiers as a world.
fn circle_from(
    tiers: &[Tier],
    at: usize,
    path: &mut Vec<usize>,
    is_done: &mut [bool],
) -> Option<Vec<usize>> {
    if let Some(begin) = path.iter().position(|on_path| *on_path == at) {
        let mut circle = path[begin..].to_vec();
        circle.push(at);
        return Some(circle);
    }
    if is_done[at] {
        return None;
    }
    path.push(at);
    for to in tiers[at].calls.iter().flat_map(|call| &call.to) {
        if let Some(circle) = circle_from(tiers, *to, path, is_done) {
            return Some(circle);
        }
    }
    path.pop();
    is_done[at] = true;
    None
}

/// Reports calls that multiply beyond measure. The world has no circle.
pub(super) fn check_size(reader: &DocumentReader<'_>, node: &DocumentNode, world: &World) {
    let mut caused = vec![None; world.tiers.len()];
    let groups = world.load.groups.iter();
    let worst = groups.map(|group| group.to).max_by(|a, b| {
        let (a, b) = (
            caused_by(world, *a, &mut caused),
            caused_by(world, *b, &mut caused),
        );
        a.total_cmp(&b)
    });
    let Some(entry) = worst else {
        return;
    };
    let caused = caused_by(world, entry, &mut caused);
    if caused > CAUSED_MAX {
        let message = format!(
            "a request to `{}` causes {caused:.0} requests",
            world.tiers[entry].name
        );
        let place = node.get(&world.tiers[entry].name).unwrap_or(node);
        let valid = format!("at most {CAUSED_MAX:.0}; fewer `times` of calls that call others");
        reader.report(place, message, valid);
    }
}

/// Requests that a request to a tier is, with those that it causes.
fn caused_by(world: &World, tier: usize, known: &mut [Option<f64>]) -> f64 {
    if let Some(caused) = known[tier] {
        return caused;
    }
    let mut caused = 1.0;
    for call in &world.tiers[tier].calls {
        let each: f64 = call.to.iter().map(|to| caused_by(world, *to, known)).sum();
        caused += f64::from(call.times) * call.share * each;
    }
    known[tier] = Some(caused);
    caused
}

/// Reports regions between which there is no round trip.
pub(super) fn check_distances(
    reader: &DocumentReader<'_>,
    (tiers_node, load_node): (&DocumentNode, &DocumentNode),
    world: &World,
) {
    let report = |node: &DocumentNode, missing: &MissingDistance| {
        reader.report(node, missing.to_string(), missing.remedy());
    };
    for tier in &world.tiers {
        let node = tiers_node.get(&tier.name).unwrap_or(tiers_node);
        let node = node.get("calls").unwrap_or(node);
        for to in tier.calls.iter().flat_map(|call| &call.to) {
            if let Err(missing) = world.distances.of_call(tier, &world.tiers[*to]) {
                report(node, &missing);
            }
        }
    }
    let regions = load_node.get("regions").unwrap_or(load_node);
    for group in &world.load.groups {
        let region = group.region.as_deref();
        let to = &world.tiers[group.to];
        if let Err(missing) = world.distances.of_clients(region, to) {
            let node = region.and_then(|name| regions.get(name)).unwrap_or(regions);
            report(node, &missing);
        } else if let Some(region) = region.filter(|name| !world.distances.has_region(name)) {
            let message = format!("unknown region `{region}`");
            let known: Vec<&str> = world.distances.table().regions().collect();
            let valid = format!("a region of a link, or of the table: {}", known.join(", "));
            reader.report(regions, message, valid);
        } else if let Some(region) = region
            && to.region.is_none()
            && !world.distances.has_client_link(to)
        {
            let message = format!("how far is `{}` from clients in `{region}`?", to.name);
            let valid = format!("region: {region}, or another, in the tier `{}`", to.name);
            reader.report(regions, message, valid);
        }
    }
}
