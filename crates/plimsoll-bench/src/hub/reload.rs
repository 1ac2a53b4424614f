//! Reloads with ten thousand subscribers.

use std::time::Duration;

use anyhow::Result;
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::page::shown;
use plimsoll_harness::run_report::RunReport;
use plimsoll_harness::sample::Sample;
use plimsoll_harness::template::Values;

use super::RunningHub;
use super::fan::{Publisher, connecting, words};
use crate::bench::Bench;

const EVERY: Duration = Duration::from_secs(1);
const SETTLE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(10);

pub(super) fn measure(bench: &Bench, chapter: &Chapter) -> Result<Sample> {
    let hub = RunningHub::edge(bench, &rule(0))?;
    let reloads: u32 = chapter.number("reloads")?;
    let first = connecting(chapter.number("subscribers")?) + SETTLE;
    let lasting = EVERY * (reloads + 1);
    let hold = SETTLE + lasting + Duration::from_secs(3);
    let words = words(bench, chapter, &hub, (hold, Duration::ZERO))?;
    let mut publisher = Publisher::new(&hub, 2, first, first, lasting);
    let (mut done, mut outcome) = (0, Ok(()));
    let weighed = bench.weigh(&words, POLL, |_, elapsed| {
        publisher.publish_what_is_due(elapsed);
        if outcome.is_ok() && done < reloads && elapsed >= first + EVERY * (done + 1) {
            done += 1;
            outcome = reload(bench, &hub, done);
        }
    })?;
    outcome?;
    publisher.finish()?;
    let report = RunReport::parse(&weighed.stdout)?;
    Ok(Sample::of(shown(&words, &[(&hub.url(), "URL")]))
        .with("done", done.into())
        .with("connected", report.number("websocket.connected")?)
        .with("closed", report.number("websocket.closed")?)
        .with("reach", report.number("websocket.reach")? * 100.0))
}

fn rule(edition: u32) -> String {
    let history = 100 + edition;
    format!("{{ path: /live, channels: [{{ match: all, history: {history} }}] }}")
}

fn reload(bench: &Bench, hub: &RunningHub, edition: u32) -> Result<()> {
    let values = Values::default()
        .with("hub", rule(edition))
        .with("port", hub.server.port())
        .with("admin", hub.server.admin_port());
    let text = bench.filled("benchmarks/hub/edge.yaml", &values)?;
    let file = hub.server.folder().join("edge.yaml");
    bench.reload(hub.server.admin_port(), &file, &text)
}
