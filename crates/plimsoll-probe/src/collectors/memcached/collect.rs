//! memcached, by `stats`.

use plimsoll_model::metric;

use super::parse::stats;
use crate::collectors::link::{ComponentLink, ScrapeError, shortly};
use crate::collectors::metrics::{MetricsRecorder, Sink};
use crate::collectors::{Collected, Scraper};

/// memcached.
#[derive(Debug)]
pub(crate) struct MemcachedCollector;

fn fetch(link: &mut ComponentLink) -> Result<String, ScrapeError> {
    link.open()?;
    link.send(b"stats\r\n")?;
    let mut answer = Vec::new();
    loop {
        if link.fill(&mut answer)? == 0 {
            return Err(ScrapeError::Closed);
        }
        let text = String::from_utf8_lossy(&answer);
        if text.ends_with("END\r\n") {
            return Ok(text.into_owned());
        }
        if text.starts_with("CLIENT_ERROR") && text.ends_with('\n') {
            return Err(ScrapeError::Denied(shortly(&text)));
        }
        if text.starts_with("ERROR") && text.ends_with('\n') {
            return Err(ScrapeError::Strange(shortly(&text)));
        }
    }
}

fn record(text: &str, metrics: &mut MetricsRecorder<'_>) -> Collected {
    let stats = stats(text);
    let Some(pid) = stats.get("pid") else {
        return Err(ScrapeError::Strange(shortly(text)));
    };
    metrics.identity(pid);
    let level = |name: &str| stats.get(name)?.parse::<f64>().ok();
    let total = |name: &str| stats.get(name)?.parse::<u64>().ok();
    metrics.level(
        metric::MEMCACHED_CONNECTIONS,
        &[],
        level("curr_connections"),
    );
    metrics.level(metric::MEMCACHED_MEMORY, &[], level("bytes"));
    for (name, field) in [
        (metric::MEMCACHED_EVICTIONS, "evictions"),
        (metric::MEMCACHED_HITS, "get_hits"),
        (metric::MEMCACHED_MISSES, "get_misses"),
    ] {
        metrics.counter(name, &[], total(field), 1.0);
    }
    // Which of the two it does depends on its option `maxconns_fast`.
    let refused = ["rejected_connections", "listen_disabled_num"].map(total);
    let refused = refused[0].map_or(refused[1], |rejected| {
        Some(rejected + refused[1].unwrap_or(0))
    });
    metrics.counter(metric::MEMCACHED_REFUSED, &[], refused, 1.0);
    metrics.setting("max_connections", "", "", level("max_connections"));
    metrics.setting("threads", "", "", level("threads"));
    metrics.setting("limit_maxbytes", "", "", level("limit_maxbytes"));
    Ok(())
}

impl Scraper for MemcachedCollector {
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let text = fetch(link)?;
        record(&text, sink.answered())
    }

    fn remedy(&self, error: &ScrapeError) -> String {
        match error {
            ScrapeError::Denied(_) => {
                "it requires a login (-Y), which is not supported yet".to_owned()
            }
            _ => "name the address that memcached listens on, its options -p, -l and -s".to_owned(),
        }
    }
}
