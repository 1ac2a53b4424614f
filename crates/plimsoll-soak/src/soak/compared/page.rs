//! The page of the comparisons, from their results alone.

use std::path::Path;

use anyhow::Result;
use plimsoll_harness::machine::BUSY_MAX;
use plimsoll_harness::page::{ReportPage, Table, percent, write};
use plimsoll_harness::workspace::Workspace;
use serde_json::Value;

use super::tally::{COMPARISONS_PER_ALARM, Compared, OURS};
use super::virtual_time;

/// Path of the page.
const PAGE: &str = "docs/benchmarks/compare.md";

/// How often comparisons may be wrong, and how many are needed to tell.
struct RequiredRates {
    place: &'static str,
    /// Comparisons of equal services, and of a slower one.
    equal: usize,
    slower: usize,
    /// One false alarm is allowed in so many.
    per_alarm: usize,
}

const IN_VIRTUAL_TIME: RequiredRates = RequiredRates {
    place: "in virtual time",
    equal: 200,
    slower: 50,
    per_alarm: 50,
};
const ON_SOCKETS: RequiredRates = RequiredRates {
    place: "on sockets",
    equal: 40,
    slower: 20,
    per_alarm: COMPARISONS_PER_ALARM,
};
const TERMS: &str = "Two services answer in turn, one request at a time, after a fixed service time: 5 ms, and for the planted change \
    5.25 ms. Each comparison is that of `plimsoll compare --base-url A --head-url B --rate 100/s` with a seed of its own, at most \
    ten minutes; something else takes a core for a quarter of the time. In virtual time the services are a queue with a formula, \
    and the burner makes them slower by a fifth; on sockets they are processes that keep time by a timer, beside a real one. The \
    rules beside ours judge p95 of the same trials, the t-test the requests of the last trial of each side.";

/// Writes the page, from the comparisons in virtual time and those on sockets.
pub(in crate::soak) fn write_page(
    workspace: &Workspace,
    comparisons: u64,
    results: &[Value],
) -> Result<()> {
    if comparisons == 0 {
        return Ok(());
    }
    let virtual_results = virtual_time::results(workspace, comparisons)?;
    let page = page(&Compared::of(&virtual_results), &Compared::of(results))?;
    write(workspace, Path::new(PAGE), &page)
}

fn page(in_virtual_time: &Compared<'_>, on_sockets: &Compared<'_>) -> Result<String> {
    let mut page = ReportPage::new("Equal services and a slower one", "soak", TERMS)?;
    require(&mut page, &IN_VIRTUAL_TIME, in_virtual_time);
    require(&mut page, &ON_SOCKETS, on_sockets);
    fill(&mut page, "In virtual time", in_virtual_time);
    fill(&mut page, "On sockets", on_sockets);
    page.remark("Blocks, minutes and ratio: median, with the smallest and largest in brackets.");
    page.command(&command(at_once(on_sockets)));
    Ok(page.finish())
}

/// The command that repeats what the page tells.
fn command(at_once: u64) -> String {
    let soak = "cargo xtask soak --seeds 0 --memory-minutes 0 --fuzz-minutes 0";
    if at_once > 1 {
        format!("{soak} --comparisons-at-once {at_once}")
    } else {
        soak.to_owned()
    }
}

/// Most comparisons that ran beside each other.
fn at_once(compared: &Compared<'_>) -> u64 {
    let all = compared.equal.iter().chain(&compared.slower);
    all.filter_map(|it| it["at_once"].as_u64())
        .max()
        .unwrap_or(1)
}

/// Whether what is asked is met; open while there are too few comparisons.
fn require(page: &mut ReportPage, required: &RequiredRates, compared: &Compared<'_>) {
    let tallies = compared.tallies();
    let ours = &tallies[0];
    let (equal, slower) = (compared.equal.len(), compared.slower.len());
    let alarms = compared.alarms_are_few(ours.alarms, required.per_alarm);
    page.requirement(
        &format!(
            "{}: at most one in {} equal services told apart",
            required.place, required.per_alarm
        ),
        Some(&format!("{} of {equal}", ours.alarms)),
        (equal >= required.equal).then_some(alarms),
    );
    let found = compared.found_are_enough(ours.found);
    page.requirement(
        &format!(
            "{}: 5 % more service time found in at least nine of ten",
            required.place
        ),
        Some(&format!("{} of {slower}", ours.found)),
        (slower >= required.slower).then_some(found),
    );
}

/// What ours and the other rules say.
fn fill(page: &mut ReportPage, title: &str, compared: &Compared<'_>) {
    if compared.is_empty() {
        return;
    }
    page.chapter(title);
    let all = || compared.equal.iter().chain(&compared.slower);
    let busy = all().filter_map(|it| it["busy"].as_f64()).reduce(f64::max);
    if let Some(busy) = busy {
        page.paragraph(&format!(
            "Comparisons beside each other: {}. Cores busy before the first: at most {}.",
            at_once(compared),
            percent(busy)
        ));
        if busy > BUSY_MAX {
            page.paragraph("**Other work shared the machine beside the planted one.**");
        }
    }
    let (equal, slower) = (compared.equal.len(), compared.slower.len());
    let mut table = Table::new([
        "rule".to_owned(),
        format!("false alarms in {equal}"),
        format!("found in {slower}"),
        "called better".to_owned(),
    ]);
    for tally in &compared.tallies() {
        let counts = [tally.alarms, tally.found, tally.reversed].map(|count| count.to_string());
        table.row([&[tally.rule.clone()][..], &counts].concat());
    }
    page.table(&table);
    page.paragraph(&format!("What {OURS} says:"));
    let mut table = Table::new([
        "services",
        "better",
        "worse",
        "same",
        "undecided",
        "void",
        "blocks",
        "minutes",
        "ratio of p50",
    ]);
    table.row(row("equal", &compared.equal));
    table.row(row("5 % slower", &compared.slower));
    page.table(&table);
}

fn row(name: &str, compared: &[&Value]) -> Vec<String> {
    let is_void = |it: &Value| it["void"].as_array().is_some_and(|void| !void.is_empty());
    let count = |verdict: &str| {
        let alike = compared
            .iter()
            .filter(|it| !is_void(it) && it["verdict"] == verdict);
        alike.count().to_string()
    };
    let spread = |value: &dyn Fn(&Value) -> Option<f64>, digits: usize| {
        let mut values: Vec<f64> = compared.iter().filter_map(|it| value(it)).collect();
        values.sort_by(f64::total_cmp);
        match (values.first(), values.get(values.len() / 2), values.last()) {
            (Some(low), Some(middle), Some(high)) => {
                format!("{middle:.digits$} ({low:.digits$}-{high:.digits$})")
            }
            _ => "–".to_owned(),
        }
    };
    let void = compared.iter().filter(|it| is_void(it)).count();
    let mut cells = vec![name.to_owned()];
    cells.extend(["better", "worse", "same", "undecided"].map(count));
    cells.extend([
        void.to_string(),
        spread(&|it| it["blocks"]["valid"].as_f64(), 0),
        spread(&|it| Some(it["seconds"].as_f64()? / 60.0), 1),
        spread(&|it| it["p50"]["ratio"].as_f64(), 3),
    ]);
    cells
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::soak::compared::{SERVICE_US, SLOWER_US};

    #[test]
    fn the_page_holds_ours_beside_the_others() {
        let result = |service_us: u64, verdict: &str, seconds: f64| {
            json!({ "compared": {
                "service_us": service_us, "verdict": verdict, "otava": "same", "busy": 0.01, "at_once": 4, "seconds": seconds,
                "p50": { "ratio": 1.07 }, "blocks": { "valid": 22 }, "void": null,
                "usual_rules": [{ "rule": "t-test", "verdict": "worse" }],
            }})
        };
        let mut results = vec![result(SERVICE_US, "same", 540.0); 40];
        results.extend(vec![result(SLOWER_US, "worse", 300.0); 19]);
        results.push(result(SLOWER_US, "undecided", 600.0));
        let page = page(&Compared::of(&results[..3]), &Compared::of(&results)).unwrap();
        for line in [
            "| in virtual time: at most one in 50 equal services told apart | 0 of 3 | **open** |",
            "| in virtual time: 5 % more service time found in at least nine of ten | 0 of 0 | **open** |",
            "| on sockets: at most one in 40 equal services told apart | 0 of 40 | met |",
            "| on sockets: 5 % more service time found in at least nine of ten | 19 of 20 | met |",
            "| plimsoll compare | 0 | 19 | 0 |",
            "| t-test | 40 | 20 | 0 |",
            "| Apache Otava 0.8.0, baseline then candidate | 0 | 0 | 0 |",
            "Comparisons beside each other: 4. Cores busy before the first: at most 1.0 %.",
            "--fuzz-minutes 0 --comparisons-at-once 4",
            "| 5 % slower | 0 | 19 | 0 | 1 | 0 | 22 (22-22) | 5.0 (5.0-10.0) | 1.070 (1.070-1.070) |",
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
        assert!(!page.contains("Other work"));
    }
}
