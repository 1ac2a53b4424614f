//! The market's page.

use plimsoll_harness::page::{ReportPage, Table, cell};

use super::measure::{CLIENTS, EVERY_S, MarketRow, RegionResult, TimeStats};
use super::region::{REGIONS, Region};
use super::stack::{Delivery, StoreCalls, Topology};

/// Calls of a prediction that write, or read what was just written, and those that only read.
const WRITING_CALLS: u32 = 4;
const READING_CALLS: u32 = 1;

/// Adds the tables to the page.
pub(super) fn page(mut page: ReportPage, rows: &[MarketRow]) -> ReportPage {
    page.chapter("All regions");
    page.paragraph(
        "Means are over all that all regions counted. Percentiles of regions cannot be averaged: the 99th is that of the \
         region where it was worst.",
    );
    let mut table = Table::new([
        "topology",
        "stores",
        "told",
        "connected",
        "failed or closed",
        "answered",
        "unanswered",
        "handshake ms, mean / worst p99",
        "request ms",
        "broadcast ms",
    ]);
    for row in rows {
        table.row(line(row));
    }
    page.table(&table);
    regions(&mut page, rows);
    why(&mut page, rows);
    page
}

/// A row of the table of all regions.
pub(super) fn line(row: &MarketRow) -> [String; 10] {
    let sum = |of: fn(&RegionResult) -> u64| row.results.iter().map(of).sum::<u64>().to_string();
    let over = |times: fn(&RegionResult) -> Option<TimeStats>, count: fn(&RegionResult) -> u64| {
        let samples = row.results.iter();
        show(overall(
            samples.map(|result| (times(result), count(result))),
        ))
    };
    [
        row.settings.topology.name().to_owned(),
        row.settings.calls.name().to_owned(),
        row.settings.delivery.name().to_owned(),
        sum(|result| result.connected),
        sum(|result| result.failed),
        sum(|result| result.answered),
        sum(|result| result.unanswered),
        over(|result| result.handshake, |result| result.connected),
        over(|result| result.request, |result| result.answered),
        over(|result| result.broadcast, |result| result.broadcasts),
    ]
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
fn regions(page: &mut ReportPage, rows: &[MarketRow]) {
    page.chapter("By region");
    page.paragraph("Means in ms: handshake / request / broadcast.");
    let mean = |times: Option<TimeStats>| cell(times.map(|times| times.mean), 0);
    for delivery in [Delivery::Feed, Delivery::Hub] {
        let selected: Vec<&MarketRow> = rows
            .iter()
            .filter(|row| row.settings.delivery == delivery)
            .collect();
        page.paragraph(&format!("Told {}:", delivery.name()));
        let mut head = vec!["region".to_owned()];
        head.extend(selected.iter().map(|row| {
            let letter = row.settings.topology.name().split(' ').next();
            format!(
                "{} {}",
                letter.unwrap_or_default(),
                row.settings.calls.name()
            )
        }));
        let mut table = Table::new(head);
        for (place, region) in REGIONS.iter().enumerate() {
            let mut cells = vec![region.name.to_owned()];
            for result in selected.iter().filter_map(|row| row.results.get(place)) {
                let times = [result.handshake, result.request, result.broadcast];
                cells.push(times.map(mean).join(" / "));
            }
            table.row(cells);
        }
        page.table(&table);
    }
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
fn why(page: &mut ReportPage, rows: &[MarketRow]) {
    page.chapter("Why the better topologies lost");
    page.paragraph(&format!(
        "A prediction makes {} calls of the stores one after the other, {WRITING_CALLS} of which must go to the stores that \
         are written to. A call that blocks keeps the whole process waiting for its round trip. With {:.0} predictions a \
         second in each region, a server's process would wait so many seconds in each second; beyond 1 it cannot keep up, \
         however fast the machine:",
        WRITING_CALLS + READING_CALLS,
        f64::from(CLIENTS) / f64::from(EVERY_S),
    ));
    let mut table = Table::new([
        "region",
        "round trip to the stores, ms",
        "(b) s/s",
        "(c) s/s",
    ]);
    for region in REGIONS {
        table.row([
            region.name.to_owned(),
            region.round_trip().as_millis().to_string(),
            format!("{:.2}", waiting(region, Topology::FarStores)),
            format!("{:.2}", waiting(region, Topology::Replicas)),
        ]);
    }
    page.table(&table);
    let mean = |topology: Topology| {
        let row = rows.iter().find(|row| {
            row.settings.topology == topology
                && row.settings.calls == StoreCalls::Asynchronous
                && row.settings.delivery == Delivery::Feed
        })?;
        let results = row.results.iter();
        let samples = results.map(|result| (result.request, result.answered));
        overall(samples).map(|times| times.mean)
    };
    let means = [
        Topology::SingleRegion,
        Topology::FarStores,
        Topology::Replicas,
    ]
    .map(mean);
    let measured = match means {
        [Some(a), Some(b), Some(c)] => {
            format!(" (mean of requests: {a:.0} ms in (a), {b:.0} in (b), {c:.0} in (c))")
        }
        _ => String::new(),
    };
    page.paragraph(&format!(
        "A replica beside the readers takes one of these round trips away and leaves the others. Asynchronous calls let \
         others go on meanwhile, but a prediction still takes its round trips one after the other{measured}."
    ));
    page.paragraph(
        "So servers beside the users lose to servers beside the data as long as a request asks the data more often than once. \
         What does belong beside the users is what asks the data for nothing: the connections and the fan-out, which is what \
         the hub keeps.",
    );
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
