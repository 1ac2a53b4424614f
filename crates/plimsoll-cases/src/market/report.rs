//! The market's page.

use std::fmt::Write as _;

use super::measure::{CLIENTS, EVERY_S, HoldTime, MarketRow, RegionResult, TIMEOUT_S, TimeStats};
use super::region::{REGIONS, Region};
use super::stack::{Delivery, StoreCalls, Topology};

/// Calls of a prediction that write, or read what was just written, and those that only read.
const WRITING_CALLS: u32 = 4;
const READING_CALLS: u32 = 1;

pub(super) fn page(
    rows: &[MarketRow],
    length: HoldTime,
    date: &str,
    machine: &str,
    remarks: &[String],
) -> String {
    let mut text = format!(
        "# The market in three topologies\n\nWritten by `cargo xtask case market` on {date}. {machine}. The study's service on \
         real software ([the case](../../cases/market/README.md)): {} clients of eight regions ({CLIENTS} each) come within \
         {} s, stay for {} s, and each predicts every {EVERY_S} s; an answer that takes more than {TIMEOUT_S} s counts as \
         none. Links imitate the round trips between the regions; servers and stores share a core, clients and links the \
         other. Scaled as it is, only the ratios speak.\n\n",
        CLIENTS as usize * REGIONS.len(),
        CLIENTS / 6,
        length.hold_s,
    );
    for remark in remarks {
        let _ = writeln!(text, "{remark}\n");
    }
    text += "## All regions\n\nMeans are over all that all regions counted. Percentiles of regions cannot be averaged: the \
             99th is that of the region where it was worst.\n\n";
    text += HEAD;
    for row in rows {
        text += &line(row);
        text.push('\n');
    }
    text.push('\n');
    text += &regions(rows);
    text += &why(rows);
    text
}

const HEAD: &str = "| topology | stores | told | connected | failed or closed | answered | unanswered | handshake ms, mean \
                    / worst p99 | request ms | broadcast ms |\n|---|---|---|---|---|---|---|---|---|---|\n";

/// A row of the table of all regions.
pub(super) fn line(row: &MarketRow) -> String {
    let sum = |of: fn(&RegionResult) -> u64| row.results.iter().map(of).sum::<u64>();
    let over = |times: fn(&RegionResult) -> Option<TimeStats>, count: fn(&RegionResult) -> u64| {
        show(overall(
            row.results
                .iter()
                .map(|result| (times(result), count(result))),
        ))
    };
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        row.settings.topology.name(),
        row.settings.calls.name(),
        row.settings.delivery.name(),
        sum(|result| result.connected),
        sum(|result| result.failed),
        sum(|result| result.answered),
        sum(|result| result.unanswered),
        over(|result| result.handshake, |result| result.connected),
        over(|result| result.request, |result| result.answered),
        over(|result| result.broadcast, |result| result.broadcasts),
    )
}

/// The mean over all regions, each with its count, and the highest percentile.
fn overall(samples: impl Iterator<Item = (Option<TimeStats>, u64)>) -> Option<TimeStats> {
    let (mut sum, mut count, mut p99) = (0.0, 0, 0.0_f64);
    for (times, more) in samples {
        if let Some(times) = times.filter(|_| more > 0) {
            sum += times.mean * more as f64;
            count += more;
            p99 = p99.max(times.p99);
        }
    }
    (count > 0).then(|| TimeStats {
        mean: sum / count as f64,
        p99,
    })
}

fn show(times: Option<TimeStats>) -> String {
    times.map_or("–".to_owned(), |times| {
        format!("{:.0} / {:.0}", times.mean, times.p99)
    })
}

/// Handshake, request and broadcast of each region, as the study has them, for what is told every three seconds.
fn regions(rows: &[MarketRow]) -> String {
    let mut text =
        String::from("## By region\n\nMeans in ms: handshake / request / broadcast.\n\n");
    for delivery in [Delivery::Feed, Delivery::Hub] {
        let selected: Vec<&MarketRow> = rows
            .iter()
            .filter(|row| row.settings.delivery == delivery)
            .collect();
        let _ = write!(text, "Told {}:\n\n| region |", delivery.name());
        for row in &selected {
            let Some(letter) = row.settings.topology.name().split(' ').next() else {
                continue;
            };
            let _ = write!(text, " {letter} {} |", row.settings.calls.name());
        }
        let _ = writeln!(text, "\n|---|{}", "---|".repeat(selected.len()));
        for (place, region) in REGIONS.iter().enumerate() {
            let _ = write!(text, "| {} |", region.name);
            for result in selected.iter().filter_map(|row| row.results.get(place)) {
                let mean = |times: Option<TimeStats>| {
                    times.map_or("–".to_owned(), |times| format!("{:.0}", times.mean))
                };
                let _ = write!(
                    text,
                    " {} / {} / {} |",
                    mean(result.handshake),
                    mean(result.request),
                    mean(result.broadcast)
                );
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

/// How long a server's process waits for its stores in each second, if each call keeps it waiting.
fn waiting(region: Region, topology: Topology) -> f64 {
    let calls = match topology {
        Topology::SingleRegion => 0,
        Topology::FarStores => WRITING_CALLS + READING_CALLS,
        Topology::Replicas => WRITING_CALLS,
    };
    let per_second = f64::from(CLIENTS) / f64::from(EVERY_S);
    per_second * f64::from(calls) * region.round_trip().as_secs_f64()
}

/// Why the topologies that look better lost: arithmetic that needs no machine, and what was measured beside it.
fn why(rows: &[MarketRow]) -> String {
    let mut text = format!(
        "## Why the better topologies lost\n\nA prediction makes {} calls of the stores one after the other, {WRITING_CALLS} of \
         which must go to the stores that are written to. A call that blocks keeps the whole process waiting for its round \
         trip. With {:.0} predictions a second in each region, a server's process would wait so many seconds in each \
         second; beyond 1 it cannot keep up, however fast the machine:\n\n| region | round trip to the stores, ms | (b) s/s | \
         (c) s/s |\n|---|---|---|---|\n",
        WRITING_CALLS + READING_CALLS,
        f64::from(CLIENTS) / f64::from(EVERY_S),
    );
    for region in REGIONS {
        let _ = writeln!(
            text,
            "| {} | {} | {:.2} | {:.2} |",
            region.name,
            region.round_trip().as_millis(),
            waiting(region, Topology::FarStores),
            waiting(region, Topology::Replicas),
        );
    }
    text += "\nA replica beside the readers takes one of these round trips away and leaves the others. Asynchronous calls let \
             others go on meanwhile, but a prediction still takes its round trips one after the other";
    let mean = |topology: Topology, calls: StoreCalls| {
        let row = rows.iter().find(|row| {
            row.settings.topology == topology
                && row.settings.calls == calls
                && row.settings.delivery == Delivery::Feed
        })?;
        overall(
            row.results
                .iter()
                .map(|result| (result.request, result.answered)),
        )
        .map(|times| times.mean)
    };
    let pairs = [
        Topology::SingleRegion,
        Topology::FarStores,
        Topology::Replicas,
    ]
    .map(|topology| mean(topology, StoreCalls::Asynchronous));
    if let [Some(a), Some(b), Some(c)] = pairs {
        let _ = write!(
            text,
            " (mean of requests: {a:.0} ms in (a), {b:.0} in (b), {c:.0} in (c))"
        );
    }
    text += ".\n\nSo servers beside the users lose to servers beside the data as long as a request asks the data more often \
             than once. What does belong beside the users is what asks the data for nothing: the connections and the fan-out, \
             which is what the hub keeps.\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_weigh_by_count_and_percentiles_are_the_worst() {
        let times = |mean, p99| Some(TimeStats { mean, p99 });
        let samples = [
            (times(10.0, 50.0), 1),
            (times(40.0, 30.0), 3),
            (None, 9),
            (times(9.0, 99.0), 0),
        ];
        let result = overall(samples.into_iter()).unwrap();
        assert!((result.mean - 32.5).abs() < 1e-9 && (result.p99 - 50.0).abs() < 1e-9);
        assert_eq!(overall(std::iter::empty()), None);
    }

    #[test]
    fn far_stores_keep_a_blocking_server_waiting_longer_than_a_second() {
        let virginia = REGIONS[1];
        // Four a second, five calls of 77 ms.
        assert!((waiting(virginia, Topology::FarStores) - 1.54).abs() < 1e-9);
        assert!(waiting(virginia, Topology::Replicas) < waiting(virginia, Topology::FarStores));
        assert!(waiting(REGIONS[0], Topology::FarStores) < 0.1);
    }
}
