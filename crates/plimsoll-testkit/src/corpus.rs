//! Limits planted in real programs, for `cargo xtask bottlenecks`: what is served, what is watched, with which loads, and
//! which rule must name it.

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

/// A service with a planted limit that runs.
pub struct PlantedService {
    /// Where requests go.
    pub url: String,
    /// What stands behind `watch:`.
    pub watch: String,
    /// A load that it carries, and one that it does not, as `--phase` takes them.
    pub loads: [&'static str; 2],
    /// Further arguments.
    pub more: Vec<String>,
    /// What must live as long.
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
    /// What was planted.
    pub name: &'static str,
    /// The rules that name it, the expected one first; none where everything is healthy.
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
