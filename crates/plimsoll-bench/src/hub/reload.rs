//! Reloads with ten thousand subscribers.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::child::{pinned, weigh};

use super::fan::{Publisher, connecting, words};
use super::hubs::{HubKind, HubPrograms, RunningHub, configuration, edge};
use crate::context::BenchContext;

pub(super) const CLIENTS: u32 = 10_000;
pub(super) const RELOADS: u32 = 10;
const EVERY: Duration = Duration::from_secs(1);
const SETTLE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(10);

pub(super) struct HubReloadResult {
    pub(super) reloads: u32,
    pub(super) connected: u64,
    pub(super) closed: u64,
    pub(super) reach: f64,
}

pub(super) fn run(ground: &BenchContext, programs: &HubPrograms) -> Result<HubReloadResult> {
    println!("reload under {CLIENTS} connections");
    let running = edge(programs, ground.server_core, &hub(0))?;
    let first = connecting(CLIENTS) + SETTLE;
    let lasting = EVERY * (RELOADS + 1);
    let hold = SETTLE + lasting + Duration::from_secs(3);
    let words = words(
        programs,
        &running.url(),
        HubKind::Plimsoll,
        CLIENTS,
        hold,
        Duration::ZERO,
    );
    let mut command = pinned(ground.client_core, &words);
    command.current_dir(ground.folder.path());
    let mut publisher = Publisher::new(&running, 2, first, first, lasting);
    let (mut reloads, mut error) = (0, None);
    let weighed = weigh(command, &[6], POLL, |_, elapsed| {
        publisher.publish_what_is_due(elapsed);
        if error.is_none() && reloads < RELOADS && elapsed >= first + EVERY * (reloads + 1) {
            reloads += 1;
            error = reload(programs, &running, reloads).err();
        }
    })?;
    if let Some(error) = error {
        return Err(error);
    }
    publisher.finish()?;
    let report: serde_json::Value = serde_json::from_str(&weighed.stdout)?;
    let websocket = &report["websocket"];
    Ok(HubReloadResult {
        reloads,
        connected: websocket["connected"]
            .as_u64()
            .context("no count is reported")?,
        closed: websocket["closed"]
            .as_u64()
            .context("no count is reported")?,
        reach: websocket["reach"]
            .as_f64()
            .context("nothing was expected")?,
    })
}

/// Each edition has another rule for the channel that all read.
fn hub(edition: u32) -> String {
    let history = 100 + edition;
    format!("{{ path: /live, channels: [{{ match: all, history: {history} }}] }}")
}

fn reload(programs: &HubPrograms, running: &RunningHub, edition: u32) -> Result<()> {
    let text = configuration(running.port, running.publish_port, &hub(edition));
    std::fs::write(running.configuration(), text)?;
    let admin = format!("127.0.0.1:{}", running.publish_port);
    let output = Command::new(&programs.plimsoll)
        .args(["edge", "reload", "--admin", &admin])
        .output()
        .context("cannot run plimsoll edge reload")?;
    ensure!(
        output.status.success(),
        "the reload failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(())
}
