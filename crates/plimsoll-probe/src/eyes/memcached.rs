//! memcached, by `stats`.

use plimsoll_model::metric;

use super::Source;
use super::figures::Figures;
use super::link::{Blind, Link, shortly};
use crate::parse::memcached::stats;

/// memcached.
#[derive(Debug)]
pub(crate) struct Memcached;

impl Source for Memcached {
    fn ask(&mut self, link: &mut Link) -> Result<String, Blind> {
        link.open()?;
        link.send(b"stats\r\n")?;
        let mut answer = Vec::new();
        loop {
            if link.fill(&mut answer)? == 0 {
                return Err(Blind::Closed);
            }
            let text = String::from_utf8_lossy(&answer);
            if text.ends_with("END\r\n") {
                return Ok(text.into_owned());
            }
            if text.starts_with("CLIENT_ERROR") && text.ends_with('\n') {
                return Err(Blind::Denied(shortly(&text)));
            }
            if text.starts_with("ERROR") && text.ends_with('\n') {
                return Err(Blind::Strange(shortly(&text)));
            }
        }
    }

    fn tell(&mut self, text: &str, figures: &mut Figures<'_>) -> Result<(), Blind> {
        let stats = stats(text);
        let Some(pid) = stats.get("pid") else {
            return Err(Blind::Strange(shortly(text)));
        };
        figures.identity(pid);
        let level = |name: &str| stats.get(name)?.parse::<f64>().ok();
        let total = |name: &str| stats.get(name)?.parse::<u64>().ok();
        figures.level(
            metric::MEMCACHED_CONNECTIONS,
            &[],
            level("curr_connections"),
        );
        figures.level(metric::MEMCACHED_MEMORY, &[], level("bytes"));
        for (name, field) in [
            (metric::MEMCACHED_EVICTIONS, "evictions"),
            (metric::MEMCACHED_HITS, "get_hits"),
            (metric::MEMCACHED_MISSES, "get_misses"),
        ] {
            figures.counter(name, &[], total(field), 1.0);
        }
        // Which of the two it does depends on its option `maxconns_fast`.
        let refused = ["rejected_connections", "listen_disabled_num"].map(total);
        let refused = refused[0].map_or(refused[1], |one| Some(one + refused[1].unwrap_or(0)));
        figures.counter(metric::MEMCACHED_REFUSED, &[], refused, 1.0);
        figures.setting("max_connections", "", "", level("max_connections"));
        figures.setting("limit_maxbytes", "", "", level("limit_maxbytes"));
        Ok(())
    }

    fn remedy(&self, blind: &Blind) -> String {
        match blind {
            Blind::Denied(_) => "it wants a login (-Y), with which it is not asked yet".to_owned(),
            _ => "say where memcached listens, as its options -p, -l and -s tell".to_owned(),
        }
    }
}
