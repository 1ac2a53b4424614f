//! Metrics of Puma's control server, in JSON: one worker, or several.

use serde_json::Value;

/// Metrics summed over its workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stats {
    /// Its start time.
    pub(crate) started: String,
    /// Requests that wait for a thread.
    pub(crate) backlog: u64,
    /// Requests that could be accepted immediately.
    pub(crate) capacity: u64,
    /// Most threads.
    pub(crate) threads_max: u64,
    /// Requests so far.
    pub(crate) requests: u64,
    /// Processes.
    pub(crate) workers: u64,
}

/// Parses it; `None` when it is something else.
pub(crate) fn stats(text: &str) -> Option<Stats> {
    let json: Value = serde_json::from_str(text.trim()).ok()?;
    let mut stats = Stats {
        started: json.get("started_at")?.as_str()?.to_owned(),
        ..Stats::default()
    };
    let workers = json.get("worker_status").and_then(Value::as_array);
    let each: Vec<&Value> = match workers {
        Some(workers) => workers
            .iter()
            .filter_map(|worker| worker.get("last_status"))
            .collect(),
        None => vec![&json],
    };
    stats.workers = u64::try_from(each.len()).unwrap_or(0);
    for worker in each {
        let number = |name: &str| worker.get(name).and_then(Value::as_u64).unwrap_or(0);
        stats.backlog = stats.backlog.saturating_add(number("backlog"));
        stats.capacity = stats.capacity.saturating_add(number("pool_capacity"));
        stats.threads_max = stats.threads_max.saturating_add(number("max_threads"));
        stats.requests = stats.requests.saturating_add(number("requests_count"));
    }
    Some(stats)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn workers_are_summed() {
        let worker = r#"{"started_at":"2026-11-22T00:00:00Z","backlog":3,"running":5,"pool_capacity":0,"max_threads":5,"requests_count":9}"#;
        let right = Stats {
            started: "2026-11-22T00:00:00Z".to_owned(),
            backlog: 3,
            capacity: 0,
            threads_max: 5,
            requests: 9,
            workers: 1,
        };
        assert_eq!(stats(worker), Some(right));
        let two = r#"{"started_at":"x","workers":2,"worker_status":[{"last_status":{"backlog":1,"max_threads":4}},
            {"last_status":{"backlog":2,"max_threads":4}}]}"#;
        let two = stats(two).unwrap();
        assert_eq!((two.backlog, two.threads_max, two.workers), (3, 8, 2));
        assert_eq!(stats("{}"), None);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".{0,200}") {
            let _ = stats(&text);
        }
    }
}
