//! Commands and questions about the cache in use.

use std::sync::Arc;

use plimsoll_net::lock::lock;
use plimsoll_net::notice::NoticeSink;
use plimsoll_proxy::lookup::{Cache, PurgeOrder, wall_moment};
use serde_json::{Value, json};

use crate::overview::OverviewSource;

/// The cache in use, for people.
pub(super) struct CacheCommands {
    watch: Arc<OverviewSource>,
    report: NoticeSink,
}

impl CacheCommands {
    pub(super) fn new(watch: Arc<OverviewSource>, report: NoticeSink) -> Self {
        Self { watch, report }
    }

    /// Purges stored responses.
    pub(super) fn purge(&self, body: &[u8]) -> Result<String, String> {
        let order = PurgeOrder::read(body)?;
        let cache = self.cache()?;
        let done = cache.purge(&order, wall_moment());
        (self.report)(&done);
        Ok(done)
    }

    /// The cache's decisions about a URL, as JSON.
    pub(super) fn why(&self, body: &[u8]) -> Result<Value, String> {
        let asked: Value = serde_json::from_slice(body).unwrap_or_default();
        let url = asked["url"].as_str().unwrap_or_default();
        self.cache()?.why(url, wall_moment())
    }

    /// Contents and counters of the cache, as JSON.
    pub(super) fn held(&self) -> Result<Value, String> {
        let mut held = self.cache()?.view(wall_moment());
        let overview = self.watch.collect();
        let routes = overview
            .routes
            .iter()
            .map(|route| json!({ "name": route.name, "hits": route.hits, "misses": route.misses }));
        held["format_version"] = "1.0".into();
        held["routes"] = routes.collect();
        for (word, count) in [
            ("hits", overview.cache_hits),
            ("stale", overview.cache_stale),
            ("misses", overview.cache_misses),
            ("collapsed", overview.cache_collapsed),
            ("passed", overview.cache_passed),
            ("renewed", overview.cache_renewed),
        ] {
            held[word] = count.into();
        }
        Ok(held)
    }

    fn cache(&self) -> Result<Arc<Cache>, String> {
        let cache = lock(&self.watch.cache).clone();
        cache.ok_or_else(|| "the cache is off; start with --cache 64MiB".to_owned())
    }
}
