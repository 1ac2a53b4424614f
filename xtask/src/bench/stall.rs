//! A server frozen for one second during ten at 1,000 requests a second: which client notices?
//!
//! A tenth of the requests fall due while it stands still, and wait on average half a second: p95 of the response
//! time is about 500 ms and p99 about 900 ms for who measures from the moment a request was due.

use std::time::Duration;

use anyhow::Result;

use super::Ground;
use super::scenario::{shown, words};
use super::server::Nginx;
use super::tool::{Load, Told, Tool};
use crate::child::{pinned, weigh};

const PER_SECOND: u32 = 1_000;
const SECONDS: u32 = 10;
const FREEZE_AT: Duration = Duration::from_secs(5);
const FREEZE_FOR: Duration = Duration::from_secs(1);

pub(super) struct Stalled {
    pub(super) tool: Tool,
    pub(super) command: String,
    pub(super) told: Option<Told>,
    pub(super) failure: Option<String>,
}

pub(super) fn run(ground: &Ground) -> Result<Vec<Stalled>> {
    let mut all = Vec::new();
    for tool in [Tool::Plimsoll, Tool::Oha, Tool::OhaUncorrected, Tool::Hey] {
        println!("stall: {}", tool.name());
        let nginx = Nginx::start(ground.server_core)?;
        let url = nginx.url();
        let words = words(
            ground,
            tool,
            Load::Rate {
                per_second: PER_SECOND,
            },
            SECONDS,
            &url,
        )?;
        let mut command = pinned(ground.client_core, &words);
        command.current_dir(ground.folder.path());
        let mut frozen = false;
        let mut failure = None;
        let weighed = weigh(command, Duration::from_millis(5), |_, elapsed| {
            let wanted = (FREEZE_AT..FREEZE_AT + FREEZE_FOR).contains(&elapsed);
            if wanted != frozen {
                frozen = wanted;
                failure = nginx.freeze(wanted).err();
            }
        });
        let told = weighed.and_then(|weighed| tool.told(&weighed.stdout));
        let failure = failure.or(told
            .as_ref()
            .err()
            .map(|error| anyhow::anyhow!("{error:#}")));
        println!("  {:?}", told.as_ref().ok());
        all.push(Stalled {
            tool,
            command: shown(&words, &url),
            told: told.ok(),
            failure: failure.map(|error| format!("{error:#}")),
        });
    }
    Ok(all)
}
