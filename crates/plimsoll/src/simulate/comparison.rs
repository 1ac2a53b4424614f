//! A world before and after a change.

use plimsoll_report::number;
use plimsoll_simulate::{LoadLine, Simulated, TimesMs};

use super::table::table;
use super::text::{failed, limit, load_text, ms};
use super::{ExaminedChange, ExaminedWorld};
use crate::check::text::bold;

/// The change, and a table of what it does.
pub(super) fn text(before: &ExaminedWorld, change: &ExaminedChange, colours: bool) -> String {
    let title = format!("What if {} ({})", change.what_if.text(), change.change);
    let title = bold(&title, colours);
    match &change.after {
        Ok(after) => format!("\n{title}\n{}", table(&rows(before, after))),
        Err(error) => format!("\n{title}\n  It cannot be: {error}.\n"),
    }
}

fn rows(before: &ExaminedWorld, after: &ExaminedWorld) -> Vec<Vec<String>> {
    let row = |name: &str, of: &dyn Fn(&ExaminedWorld) -> String| {
        vec![name.to_owned(), of(before), of(after)]
    };
    let mut rows = vec![
        ["", "before", "after"].map(str::to_owned).to_vec(),
        row("mean", &|world| time(&world.simulated, |times| times.mean)),
        row("p95", &|world| time(&world.simulated, |times| times.p95)),
        row("p99", &|world| time(&world.simulated, |times| times.p99)),
        row("failed", &|world| failed(&world.simulated)),
        row("load line", &|world| line(&world.line)),
        row("first limit", &|world| first_limit(&world.line)),
    ];
    for (index, tier) in before.simulated.tiers.iter().enumerate() {
        rows.push(row(&format!("{}, req/s", tier.name), &|world| {
            number::short(world.simulated.tiers[index].rate)
        }));
        rows.push(row(&format!("{}, busy", tier.name), &|world| {
            number::percent(world.simulated.tiers[index].busy)
        }));
    }
    rows
}

fn time(simulated: &Simulated, of: impl Fn(&TimesMs) -> f64) -> String {
    let times = simulated.response_ms.as_ref();
    times.map_or_else(|| "–".to_owned(), |times| ms(of(times)))
}

fn line(line: &LoadLine) -> String {
    line.load
        .map_or_else(|| "none".to_owned(), |load| load_text(load, line.is_users))
}

fn first_limit(line: &LoadLine) -> String {
    line.first_limit
        .as_ref()
        .map_or_else(|| "none".to_owned(), limit)
}
