//! Varnish, by a configured command that prints its counters: they are in shared memory with a private layout.

use plimsoll_model::component::ComponentAddress;
use plimsoll_model::metric;

use super::parse::counters;
use crate::collectors::command::run;
use crate::collectors::link::{ComponentLink, ScrapeError, shortly};
use crate::collectors::metrics::{FileSetting, MetricsRecorder, Sink};
use crate::collectors::{Collected, Scraper};

/// Varnish.
#[derive(Debug)]
pub(crate) struct VarnishCollector {
    /// The command, by words.
    command: Vec<String>,
    /// Settings from its command line, if found.
    settings: Vec<FileSetting>,
}

impl VarnishCollector {
    pub(crate) fn new(place: &ComponentAddress, settings: Vec<FileSetting>) -> Self {
        let command = match place {
            ComponentAddress::Command(command) => command.as_str(),
            _ => "",
        };
        Self {
            command: command.split_whitespace().map(str::to_owned).collect(),
            settings,
        }
    }

    fn record(&mut self, text: &str, metrics: &mut MetricsRecorder<'_>) -> Collected {
        let counters = counters(text).ok_or_else(|| ScrapeError::Strange(shortly(text)))?;
        let total = |name: &str| counters.get(name).copied();
        let level = |name: &str| total(name).map(|level| level as f64);
        metrics.level(metric::VARNISH_THREADS, &[], level("threads"));
        metrics.level(metric::VARNISH_QUEUE, &[], level("thread_queue_len"));
        metrics.counter(metric::VARNISH_AT_LIMIT, &[], total("threads_limited"), 1.0);
        let dropped = ["sess_dropped", "req_dropped"].map(total);
        let dropped = dropped.into_iter().flatten().reduce(u64::saturating_add);
        metrics.counter(metric::VARNISH_DROPPED, &[], dropped, 1.0);
        metrics.counter(metric::VARNISH_REQUESTS, &[], total("client_req"), 1.0);
        metrics.counter(metric::VARNISH_NUKED, &[], total("n_lru_nuked"), 1.0);
        metrics.counter(metric::VARNISH_HITS, &[], total("cache_hit"), 1.0);
        metrics.counter(metric::VARNISH_MISSES, &[], total("cache_miss"), 1.0);
        metrics.setting("thread_pools", "", "", level("pools"));
        metrics.known(&self.settings);
        Ok(())
    }
}

impl Scraper for VarnishCollector {
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let text = run(&self.command, link.patience()?)?;
        self.record(&text, sink.answered())
    }

    fn remedy(&self, _: &ScrapeError) -> String {
        "name a command that prints its counters: `watch: { varnish: varnishstat -j -t 0 }`, with `-n NAME` where `varnishd` has it, \
         and run as root or as one of the group `varnish` (`adduser USER varnish`)"
            .to_owned()
    }
}
