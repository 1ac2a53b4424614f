//! `cargo xtask bench journeys`: the same journey of 500 users by k6, by Gatling and by our engine, and our engine's plain
//! requests beside it. `benchmarks/journeys.toml` has the clients.

mod measurement;

use anyhow::Result;
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::sample::{Outcome, Rounds};

use crate::bench::{Bench, unknown};

pub(crate) fn measure(bench: &Bench, chapter: &Chapter) -> Result<Vec<Outcome>> {
    if chapter.kind() != "journeys" {
        return unknown(chapter);
    }
    let rounds = Rounds {
        retries: true,
        ..bench.rounds()
    };
    Ok(
        rounds.alternate("journeys", chapter.subjects(), |client, _| {
            measurement::run(bench, chapter, client)
        }),
    )
}
