//! Limits planted in real programs, for `cargo xtask bottlenecks`: the service, the watched components, the loads, and
//! the rule that must name the limit.

mod databases;
mod engines;
mod found;
mod host;
mod machine;
mod overload;
mod pools;
mod proxies;
mod servers;
mod service;
mod traces;
mod writes;

use std::any::Any;
use std::fmt;

/// A running service with a planted limit.
pub struct PlantedService {
    /// The URL for requests.
    pub url: String,
    /// The content of `watch:`.
    pub watch: String,
    /// A load below the limit, and one above it, as arguments of `--phase`.
    pub loads: [&'static str; 2],
    /// Arguments of a load of users in place of these; empty for the two loads.
    pub users: Vec<String>,
    /// Further arguments.
    pub more: Vec<String>,
    /// Dependencies that must live as long.
    pub programs: Vec<Box<dyn Any>>,
}

impl fmt::Debug for PlantedService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scene")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl PlantedService {
    fn new(url: String, watch: String, loads: [&'static str; 2]) -> Self {
        Self {
            url,
            watch,
            loads,
            users: Vec::new(),
            more: Vec::new(),
            programs: Vec::new(),
        }
    }

    fn holding(mut self, program: impl Any) -> Self {
        self.programs.push(Box::new(program));
        self
    }
}

/// A planted limit.
#[derive(Debug)]
pub struct Planted {
    /// The planted limit.
    pub name: &'static str,
    /// The rules that name it, the expected one first; empty for a healthy service.
    pub rules: &'static [&'static str],
    /// Starts it.
    pub start: fn() -> PlantedService,
}

/// Every planted limit.
#[must_use]
pub fn all() -> Vec<&'static Planted> {
    let all = [
        proxies::PLANTED,
        machine::PLANTED,
        databases::PLANTED,
        servers::PLANTED,
        engines::PLANTED,
        pools::PLANTED,
        service::PLANTED,
        traces::PLANTED,
        overload::PLANTED,
        writes::PLANTED,
        host::PLANTED,
        found::PLANTED,
    ];
    all.into_iter().flatten().collect()
}
