//! The page of the comparisons, from their results alone.

use std::path::Path;

use anyhow::Result;
use plimsoll_harness::machine::BUSY_MAX;
use plimsoll_harness::page::{ReportPage, Table, percent, write};
use plimsoll_harness::workspace::Workspace;
use serde_json::Value;

use super::tally::{Compared, OURS};

/// Path of the page.
const PAGE: &str = "docs/benchmarks/compare.md";
/// Comparisons of equal services and of a slower one that the page needs.
const WHOLE: (usize, usize) = (40, 20);
const TERMS: &str = "Two processes answer in turn, one request at a time, after a service time that a timer keeps: 5 ms, and for the \
    planted change 5.25 ms. Each comparison is `plimsoll compare --base-url A --head-url B --rate 100/s` with a seed of its \
    own, at most ten minutes. Something else takes a core for 40 of each 160 seconds. The rules beside ours judge p95 of the \
    same trials, the t-test the requests of the last trial of each side.";

/// Writes the page if all comparisons have their results.
pub(in crate::soak) fn write_page(workspace: &Workspace, results: &[Value]) -> Result<()> {
    let compared = Compared::of(results);
    if compared.equal.len() < WHOLE.0 || compared.slower.len() < WHOLE.1 {
        return Ok(());
    }
    write(workspace, Path::new(PAGE), &page(&compared)?)
}

fn page(compared: &Compared<'_>) -> Result<String> {
    let mut page = ReportPage::new("Equal services and a slower one", "soak", TERMS)?;
    let all = || compared.equal.iter().chain(&compared.slower);
    let busy = all()
        .filter_map(|it| it["busy"].as_f64())
        .fold(0.0, f64::max);
    let at_once = all().filter_map(|it| it["at_once"].as_u64()).max();
    page.paragraph(&format!(
        "Comparisons beside each other: {}. Cores busy before the first: at most {}.",
        at_once.unwrap_or(1),
        percent(busy)
    ));
    if busy > BUSY_MAX {
        page.paragraph("**Other work shared the machine beside the planted one.**");
    }
    let tallies = compared.tallies();
    let (equal, slower) = (compared.equal.len(), compared.slower.len());
    let ours = &tallies[0];
    page.requirement(
        "equal services told apart: at most one in forty",
        Some(&format!("{} of {equal}", ours.alarms)),
        Some(compared.alarms_are_few(ours.alarms)),
    );
    page.requirement(
        "5 % more service time found: at least nine of ten",
        Some(&format!("{} of {slower}", ours.found)),
        Some(compared.found_are_enough(ours.found)),
    );
    page.chapter("The same trials by other rules");
    let mut table = Table::new([
        "rule".to_owned(),
        format!("false alarms in {equal}"),
        format!("found in {slower}"),
        "called better".to_owned(),
    ]);
    for tally in &tallies {
        let counts = [tally.alarms, tally.found, tally.reversed].map(|count| count.to_string());
        table.row([&[tally.rule.clone()][..], &counts].concat());
    }
    page.table(&table);
    page.chapter(&format!("What {OURS} says"));
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
    page.remark("Blocks, minutes and ratio: median, with the smallest and largest in brackets.");
    page.command(&format!(
        "cargo xtask soak --seeds 0 --memory-minutes 0 --fuzz-minutes 0 --comparisons-at-once {}",
        at_once.unwrap_or(1)
    ));
    Ok(page.finish())
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
        let page = page(&Compared::of(&results)).unwrap();
        for line in [
            "| equal services told apart: at most one in forty | 0 of 40 | met |",
            "| 5 % more service time found: at least nine of ten | 19 of 20 | met |",
            "| plimsoll compare | 0 | 19 | 0 |",
            "| t-test | 40 | 20 | 0 |",
            "| Apache Otava 0.8.0, baseline then candidate | 0 | 0 | 0 |",
            "Comparisons beside each other: 4. Cores busy before the first: at most 1.0 %.",
            "| 5 % slower | 0 | 19 | 0 | 1 | 0 | 22 (22-22) | 5.0 (5.0-10.0) | 1.070 (1.070-1.070) |",
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
        assert!(!page.contains("Other work"));
    }
}
