//! Varnish, by what a command that somebody named prints of its counters: they lie in shared memory of a layout of its own.

use plimsoll_model::metric;
use plimsoll_model::part::PartPlace;

use super::Source;
use super::command::said;
use super::figures::{Figures, Setting};
use super::link::{Blind, Link, shortly};
use crate::parse::varnish::counters;

/// Varnish.
#[derive(Debug)]
pub(crate) struct Varnish {
    /// The command, by words.
    command: Vec<String>,
    /// What its command line says, where that was found.
    settings: Vec<Setting>,
}

impl Varnish {
    pub(crate) fn new(place: &PartPlace, settings: Vec<Setting>) -> Self {
        let command = match place {
            PartPlace::Command(command) => command.as_str(),
            _ => "",
        };
        Self {
            command: command.split_whitespace().map(str::to_owned).collect(),
            settings,
        }
    }
}

impl Source for Varnish {
    fn ask(&mut self, link: &mut Link) -> Result<String, Blind> {
        said(&self.command, link.patience()?)
    }

    fn tell(&mut self, text: &str, figures: &mut Figures<'_>) -> Result<(), Blind> {
        let counters = counters(text).ok_or_else(|| Blind::Strange(shortly(text)))?;
        let total = |name: &str| counters.get(name).copied();
        let level = |name: &str| total(name).map(|level| level as f64);
        figures.level(metric::VARNISH_THREADS, &[], level("threads"));
        figures.level(metric::VARNISH_QUEUE, &[], level("thread_queue_len"));
        figures.counter(metric::VARNISH_AT_LIMIT, &[], total("threads_limited"), 1.0);
        let dropped = ["sess_dropped", "req_dropped"].map(total);
        let dropped = dropped.into_iter().flatten().reduce(u64::saturating_add);
        figures.counter(metric::VARNISH_DROPPED, &[], dropped, 1.0);
        figures.counter(metric::VARNISH_REQUESTS, &[], total("client_req"), 1.0);
        figures.counter(metric::VARNISH_NUKED, &[], total("n_lru_nuked"), 1.0);
        figures.counter(metric::VARNISH_HITS, &[], total("cache_hit"), 1.0);
        figures.counter(metric::VARNISH_MISSES, &[], total("cache_miss"), 1.0);
        figures.setting("thread_pools", "", "", level("pools"));
        for setting in &self.settings {
            figures.known(setting);
        }
        Ok(())
    }

    fn remedy(&self, _: &Blind) -> String {
        "name a command that prints its counters: `watch: { varnish: varnishstat -j -t 0 }`, with `-n NAME` where `varnishd` has it, \
         and run as root or as one of the group `varnish` (`adduser USER varnish`)"
            .to_owned()
    }
}
