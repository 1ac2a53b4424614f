//! Node, by a module that is loaded before the application.

use plimsoll_model::metric;
use serde_json::Value;

use crate::collectors::link::{ComponentLink, ScrapeError, get, shortly};
use crate::collectors::metrics::{MetricsRecorder, Sink};
use crate::collectors::{Collected, Scraper};

/// Source of the Node module.
pub const MODULE: &str = include_str!("node.cjs");

/// Node.
#[derive(Debug)]
pub(crate) struct NodeCollector;

fn record(text: &str, metrics: &mut MetricsRecorder<'_>) -> Collected {
    let strange = || ScrapeError::Strange(shortly(text));
    let json: Value = serde_json::from_str(text).map_err(|_| strange())?;
    let number = |name: &str| json.get(name).and_then(Value::as_u64);
    let pid = number("pid").ok_or_else(strange)?;
    metrics.identity(&pid.to_string());
    metrics.counter(metric::NODE_ACTIVE, &[], number("active_ms"), 1e-3);
    let delay = json.get("delay_ms").and_then(Value::as_f64);
    metrics.level(metric::NODE_DELAY, &[], delay.map(|ms| ms / 1e3));
    let memory = number("memory_bytes").map(|bytes| bytes as f64);
    metrics.level(metric::NODE_MEMORY, &[], memory);
    let level = |name: &str| json.get(name).and_then(Value::as_f64);
    let wait = level("pool_wait_ms").map(|ms| ms / 1e3);
    metrics.level(metric::NODE_POOL_WAIT, &[], wait);
    metrics.level(metric::NODE_POOL_THREADS, &[], level("pool_threads"));
    // Without an agent with a limit there is no pool.
    if level("agent_limit").is_some_and(|limit| limit > 0.0) {
        let labels = [("to", metric::TO_HTTP), ("pool", "http.Agent")];
        for (name, field) in [
            (metric::POOL_USED, "agent_used"),
            (metric::POOL_LIMIT, "agent_limit"),
            (metric::POOL_WAITING, "agent_waiting"),
        ] {
            metrics.level(name, &labels, level(field));
        }
    }
    Ok(())
}

impl Scraper for NodeCollector {
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let text = get(link, "/")?;
        record(&text, sink.answered())
    }

    fn remedy(&self, _: &ScrapeError) -> String {
        "start it with the module that `plimsoll watch --node-module` prints: `plimsoll watch --node-module > \
         plimsoll-node.cjs`, `node --require ./plimsoll-node.cjs …`, as the same user or root"
            .to_owned()
    }
}
