//! Lateness of requests at 2,000 per second, measured at the server: arrival times against an even grid.
//!
//! The client's own figures are beside it. The grid has the client's spacing and is placed so that the earliest arrival, by
//! its grid line, is on time; wake-up and loopback of the server are part of what is measured.

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::child::{POLL, pinned, weigh};
use plimsoll_harness::origin::OriginProcess;

use super::scenario::words;
use super::tool::{OfferedLoad, Peers, Tool};
use crate::context::BenchContext;
use crate::page::shown;

const PER_SECOND: u32 = 2_000;

/// Arrivals left out at the start: connections are opened meanwhile.
const SKIPPED: usize = 500;

pub(super) struct Lateness {
    pub(super) command: String,
    /// Measured at the server, in microseconds.
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) max_us: f64,
    /// Why the client reported its measurement as void.
    pub(super) is_void: bool,
    /// The client's own figure, in milliseconds.
    pub(super) lag_ms_p99: Option<f64>,
}

/// Every round of every client, or why there is none.
pub(super) fn run(ground: &BenchContext, peers: &Peers) -> Vec<(Tool, Result<Lateness>)> {
    let mut all = Vec::new();
    for round in 1..=ground.rounds {
        for tool in [Tool::Plimsoll, Tool::PlimsollTick, Tool::Oha] {
            println!(
                "lateness: round {round} of {}: {}",
                ground.rounds,
                tool.name()
            );
            let lateness = measure(ground, peers, tool);
            match &lateness {
                Ok(measured) => println!(
                    "  p99 {:.0} µs at the server, its own word {:?} ms",
                    measured.p99_us, measured.lag_ms_p99
                ),
                Err(error) => println!("  failed: {error:#}"),
            }
            all.push((tool, lateness));
        }
    }
    all
}

fn measure(ground: &BenchContext, peers: &Peers, tool: Tool) -> Result<Lateness> {
    let arguments = format!(
        "--law deterministic --mean-us 0 --arrivals {}",
        PER_SECOND * ground.seconds
    );
    let arguments: Vec<String> = arguments.split(' ').map(ToOwned::to_owned).collect();
    let origin = OriginProcess::start(&peers.origin, Some(ground.server_core), &arguments)?;
    let words = words(
        peers,
        tool,
        OfferedLoad::Rate {
            per_second: PER_SECOND,
        },
        ground.seconds,
        origin.url(),
    )?;
    let command = shown(&words, &[(origin.url(), "URL")]);
    let mut client = pinned(ground.client_core, &words);
    client.current_dir(ground.folder.path());
    let weighed = weigh(client, tool.accepted(), POLL, |_, _| ())?;
    let summary = tool.parse_output(&weighed.stdout)?;
    let text = origin.finish()?;
    let arrivals: Vec<f64> = text
        .lines()
        .skip(1)
        .filter_map(|line| line.parse().ok())
        .collect();
    ensure!(
        arrivals.len() > 4 * SKIPPED,
        "only {} requests arrived",
        arrivals.len()
    );
    let late = late_us(&arrivals[SKIPPED..], 1e9 / f64::from(PER_SECOND));
    let at = |share: f64| quantile(&late, share).context("there are arrivals");
    Ok(Lateness {
        command,
        p50_us: at(0.5)?,
        p99_us: at(0.99)?,
        max_us: at(1.0)?,
        is_void: summary.is_void,
        lag_ms_p99: summary.lag_ms_p99,
    })
}

/// Distance of each arrival from its line of the grid, sorted, in microseconds.
fn late_us(arrivals_ns: &[f64], spacing_ns: f64) -> Vec<f64> {
    let offsets = arrivals_ns
        .iter()
        .enumerate()
        .map(|(index, at)| at - index as f64 * spacing_ns);
    let earliest = offsets.clone().fold(f64::INFINITY, f64::min);
    let mut late: Vec<f64> = offsets.map(|offset| (offset - earliest) / 1e3).collect();
    late.sort_by(f64::total_cmp);
    late
}

/// The value below which a share of the sorted values lies.
pub(super) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank between 0 and the number of values"
    )]
    let index = (rank as usize).clamp(1, sorted.len().max(1)) - 1;
    sorted.get(index).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_the_distance_from_the_grid() {
        // A grid of 500 µs that starts at 7 ms; every arrival 10 µs late, one 90 µs.
        let mut arrivals: Vec<f64> = (0..100)
            .map(|k| 7e6 + 10e3 + f64::from(k) * 500e3)
            .collect();
        arrivals[40] += 80e3;
        let late = late_us(&arrivals, 500e3);
        assert!(late[..99].iter().all(|late| late.abs() < 1e-6), "{late:?}");
        assert!((late[99] - 80.0).abs() < 1e-6, "{late:?}");
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 1.0), Some(4.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
