//! `cargo xtask bench hub`: the edge's hub beside Bun, nchan and ws, and with slow clients, reloads and a killed edge.
//! `benchmarks/hub.toml` has the hubs and the loads.

mod accepts;
mod fan;
mod kill;
mod million;
pub(crate) mod order;
mod reload;
mod slow;

use anyhow::{Context as _, Result};
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::request;
use plimsoll_harness::running::RunningServer;
use plimsoll_harness::sample::{Outcome, Sample};
use plimsoll_harness::template::Values;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::bench::{Bench, once, unknown};

pub(crate) fn measure(bench: &Bench, chapter: &Chapter) -> Result<Vec<Outcome>> {
    stay_on(bench.client_core)?;
    let in_turn = |measure: &dyn Fn(&str) -> Result<Sample>| {
        let rounds = bench.rounds();
        rounds.alternate(chapter.what(), chapter.subjects(), |subject, _| {
            measure(subject)
        })
    };
    Ok(match chapter.kind() {
        "fan" | "conflation" => in_turn(&|hub| fan::measure(bench, chapter, hub)),
        "doors" => in_turn(&|hub| accepts::measure(bench, chapter, hub)),
        "slow" => in_turn(&|policy| slow::measure(bench, chapter, policy)),
        "reload" => once(chapter, |_| reload::measure(bench, chapter)),
        "kill" => once(chapter, |_| kill::measure(bench, chapter)),
        "million" => once(chapter, |_| million::measure(bench, chapter)),
        _ => return unknown(chapter),
    })
}

/// Keeps this process, which publishes and opens clients, away from the server's core.
pub(crate) fn stay_on(core: usize) -> Result<()> {
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores).context("cannot stay on one core")
}

/// A hub that runs. Ends when dropped.
struct RunningHub {
    server: RunningServer,
    is_ours: bool,
}

impl RunningHub {
    /// Starts a hub, or our edge with this `hub:` under the name of a case.
    fn start(bench: &Bench, chapter: &Chapter, subject: &str) -> Result<Self> {
        let of_case = chapter.text(subject).or_else(|_| chapter.text("hub"));
        let is_ours = subject == "plimsoll" || chapter.text(subject).is_ok();
        let name = if is_ours { "plimsoll" } else { subject };
        Self::with(bench, name, &of_case?)
    }

    /// Starts our edge with this `hub:`.
    fn edge(bench: &Bench, hub: &str) -> Result<Self> {
        Self::with(bench, "plimsoll", hub)
    }

    fn with(bench: &Bench, name: &str, hub: &str) -> Result<Self> {
        let values = Values::default().with("hub", hub);
        Ok(Self {
            server: bench.start(name, bench.server_core, &values)?,
            is_ours: name == "plimsoll",
        })
    }

    /// Where is published: ours at the admin address.
    fn publish_port(&self) -> u16 {
        if self.is_ours {
            self.server.admin_port()
        } else {
            self.server.port()
        }
    }

    /// Publishes to everybody; the status of the answer.
    fn publish(&self, data: &str) -> Result<u16> {
        if self.is_ours {
            return self.publish_to("all", data);
        }
        Ok(request::post(self.publish_port(), "/publish", data)?.status)
    }

    /// Publishes to a channel of ours.
    fn publish_to(&self, channel: &str, data: &str) -> Result<u16> {
        let body = format!(r#"{{"channel":"{channel}","data":{data}}}"#);
        Ok(request::post(self.publish_port(), "/publish", &body)?.status)
    }

    fn url(&self) -> String {
        format!("ws://127.0.0.1:{}/live", self.server.port())
    }

    /// One of our edge's metrics.
    fn metric(&self, name: &str) -> Result<f64> {
        let answer = request::get(self.server.admin_port(), "/metrics")?;
        order::sum_of(&answer.body, name).with_context(|| format!("the edge tells no {name}"))
    }
}
