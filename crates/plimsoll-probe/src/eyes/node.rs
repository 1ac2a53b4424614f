//! Node, by a module that is loaded before the application.

use plimsoll_model::metric;
use serde_json::Value;

use super::Source;
use super::figures::Figures;
use super::link::{Blind, Link, get, shortly};

/// The module, as people put it into a file.
pub const MODULE: &str = include_str!("node.cjs");

/// Node.
#[derive(Debug)]
pub(crate) struct Node;

impl Source for Node {
    fn ask(&mut self, link: &mut Link) -> Result<String, Blind> {
        get(link, "/")
    }

    fn tell(&mut self, text: &str, figures: &mut Figures<'_>) -> Result<(), Blind> {
        let strange = || Blind::Strange(shortly(text));
        let json: Value = serde_json::from_str(text).map_err(|_| strange())?;
        let number = |name: &str| json.get(name).and_then(Value::as_u64);
        let pid = number("pid").ok_or_else(strange)?;
        figures.identity(&pid.to_string());
        figures.counter(metric::NODE_ACTIVE, &[], number("active_ms"), 1e-3);
        let delay = json.get("delay_ms").and_then(Value::as_f64);
        figures.level(metric::NODE_DELAY, &[], delay.map(|ms| ms / 1e3));
        let memory = number("memory_bytes").map(|bytes| bytes as f64);
        figures.level(metric::NODE_MEMORY, &[], memory);
        let level = |name: &str| json.get(name).and_then(Value::as_f64);
        let wait = level("pool_wait_ms").map(|ms| ms / 1e3);
        figures.level(metric::NODE_POOL_WAIT, &[], wait);
        figures.level(metric::NODE_POOL_THREADS, &[], level("pool_threads"));
        // Without an agent that has a limit there is no pool.
        if level("agent_limit").is_some_and(|limit| limit > 0.0) {
            let labels = [("to", metric::TO_HTTP), ("pool", "http.Agent")];
            for (name, field) in [
                (metric::POOL_USED, "agent_used"),
                (metric::POOL_LIMIT, "agent_limit"),
                (metric::POOL_WAITING, "agent_waiting"),
            ] {
                figures.level(name, &labels, level(field));
            }
        }
        Ok(())
    }

    fn remedy(&self, _: &Blind) -> String {
        "start it with the module that `plimsoll watch --node-module` prints: `plimsoll watch --node-module > \
         plimsoll-node.cjs`, `node --require ./plimsoll-node.cjs …`, as the same user or root"
            .to_owned()
    }
}
