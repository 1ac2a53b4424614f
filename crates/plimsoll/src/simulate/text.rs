//! What a simulation has found, as text.

use std::fmt::Write as _;

use plimsoll_config::world::World;
use plimsoll_report::number;
use plimsoll_simulate::{
    FirstLimit, LimitKind, LoadLine, Simulated, SimulatedTier, TierForecast, TimesMs,
};

use super::ExaminedWorld;
use super::table::table;
use crate::check::text::bold;

/// The whole result.
pub(super) fn text(world: &World, seed: u64, examined: &ExaminedWorld, colours: bool) -> String {
    let simulated = &examined.simulated;
    let mut text = bold(&verdict(world, simulated), colours);
    let _ = write!(text, "\n{}\n", line(&examined.line));
    let _ = writeln!(
        text,
        "Simulated {} of the world, {} events, seed {seed}{}.\n",
        number::micros_of(simulated.measured_s * 1e6),
        number::count(simulated.events),
        precision(simulated),
    );
    text.push_str(&tiers(simulated));
    if simulated.regions.len() > 1 {
        let _ = write!(text, "\n{}", regions(simulated));
    }
    let tiers = world.tiers.iter().zip(&examined.forecast.tiers);
    for (tier, forecast) in tiers {
        if tier.threads.is_none() && forecast.way_s > 0.0 {
            let _ = write!(text, "\n{}\n", far(&tier.name, forecast));
        }
    }
    text
}

/// How well the means are known, behind a comma.
pub(super) fn precision(simulated: &Simulated) -> String {
    let share = simulated.precision.filter(|share| share.is_finite());
    share.map_or_else(String::new, |share| {
        format!(", means within ±{}", number::percent(share))
    })
}

fn verdict(world: &World, simulated: &Simulated) -> String {
    let objective = &world.objective;
    let holds = match simulated.objective_holds {
        Some(true) => format!("The objective {objective} holds"),
        Some(false) => format!("The objective {objective} does not hold"),
        None => format!("Nothing is known of the objective {objective}: no request ended"),
    };
    match &simulated.response_ms {
        Some(times) => format!(
            "{holds}: mean {}, p95 {}, {} failed.",
            ms(times.mean),
            ms(times.p95),
            failed(simulated)
        ),
        None => format!("{holds}: {} failed.", failed(simulated)),
    }
}

/// Share of requests that failed.
pub(super) fn failed(simulated: &Simulated) -> String {
    let share = simulated.failed as f64 / simulated.requests.max(1) as f64;
    number::percent(share)
}

/// Milliseconds in a readable unit.
pub(super) fn ms(ms: f64) -> String {
    number::micros_of(ms * 1e3)
}

/// The load line in a sentence.
fn line(line: &LoadLine) -> String {
    let limit = line.first_limit.as_ref().map(limit);
    match (line.load, line.broken_at, limit) {
        (Some(load), Some(broken_at), Some(limit)) => format!(
            "It holds up to {}; at {} it is broken by {limit}.",
            load_text(load, line.is_users),
            load_text(broken_at, line.is_users)
        ),
        (Some(load), _, _) => {
            format!(
                "It holds at all loads up to {}.",
                load_text(load, line.is_users)
            )
        }
        (None, Some(broken_at), Some(limit)) => format!(
            "It holds at no load: at {} it is broken by {limit}.",
            load_text(broken_at, line.is_users)
        ),
        (None, _, _) => "It holds at no load.".to_owned(),
    }
}

/// A load of a line.
pub(super) fn load_text(load: f64, is_users: bool) -> String {
    if is_users {
        format!("{} users", number::short(load))
    } else {
        number::rate(load)
    }
}

/// What limits a load.
pub(super) fn limit(limit: &FirstLimit) -> String {
    let tier = limit.tier.as_deref().unwrap_or("the world");
    let busy = number::percent(limit.busy);
    match limit.kind {
        LimitKind::Servers => format!("the servers of {tier} ({busy} busy)"),
        LimitKind::BlockedServers => {
            format!("the servers of {tier} ({busy} taken, most of it by blocking calls)")
        }
        LimitKind::Threads => format!("the threads of {tier} ({busy} taken)"),
        LimitKind::Time => "services and ways, which alone take too long".to_owned(),
    }
}

fn tiers(simulated: &Simulated) -> String {
    let head = [
        "tier", "req/s", "mean", "p50", "p95", "p99", "wait", "busy", "waiting", "refused",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(simulated.tiers.iter().map(tier));
    table(&rows)
}

fn tier(tier: &SimulatedTier) -> Vec<String> {
    let mut row = vec![tier.name.clone(), number::short(tier.rate)];
    row.extend(times(tier.response_ms.as_ref()));
    row.push(
        tier.wait_ms
            .as_ref()
            .map_or_else(nothing, |wait| ms(wait.mean)),
    );
    row.push(number::percent(tier.busy));
    row.push(number::short(tier.waiting));
    row.push(number::count(tier.refused + tier.timed_out));
    row
}

fn regions(simulated: &Simulated) -> String {
    let head = [
        "clients in",
        "requests",
        "mean",
        "p50",
        "p95",
        "p99",
        "failed",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for region in &simulated.regions {
        let name = region.name.as_deref().unwrap_or("beside the service");
        let good = region.response_ms.as_ref().map_or(0, |times| times.count);
        let mut row = vec![name.to_owned(), number::count(good + region.failed)];
        row.extend(times(region.response_ms.as_ref()));
        row.push(number::count(region.failed));
        rows.push(row);
    }
    table(&rows)
}

fn times(times: Option<&TimesMs>) -> [String; 4] {
    match times {
        Some(times) => [times.mean, times.p50, times.p95, times.p99].map(ms),
        None => [(); 4].map(|()| nothing()),
    }
}

fn nothing() -> String {
    "–".to_owned()
}

/// What blocking calls over a distance cost.
fn far(tier: &str, forecast: &TierForecast) -> String {
    format!(
        "A request of {tier} keeps a server for {}, {} of it on the way of {} blocking calls: at most {} in all.",
        ms(forecast.held_s * 1e3),
        ms(forecast.way_s * 1e3),
        number::short(forecast.far_calls),
        number::rate(forecast.capacity),
    )
}
