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

/// Planted limits that an agent cannot find, and a healthy service that it cannot read, by the beginnings of their names, and
/// why.
const FOUND_HERE_ONLY: [(&str, &str); 12] = [
    ("nginx: 200 local ports", OWN_NETWORK),
    ("a firewall", OWN_NETWORK),
    ("a network of", OWN_NETWORK),
    ("spans: ", "spans are received where the load runs"),
    ("healthy: spans", "its programs listen on loopback alone"),
    ("Puma: 4 threads", NO_TOKEN),
    ("Puma: threads that wait", NO_TOKEN),
    ("HikariCP: maximumPoolSize", NO_PAGE),
    ("Go: ", NO_PAGE),
    ("Node: UV_THREADPOOL_SIZE", NO_SOCKET),
    ("Node: an http.Agent", NO_SOCKET),
    ("Varnish: ", NO_COMMAND),
];
const OWN_NETWORK: &str = "it makes a network of its own, which has no cable";
const NO_TOKEN: &str = "its control server has a token, and an agent is sent none";
const NO_PAGE: &str = "nothing on its machine names the page of its metrics";
const NO_SOCKET: &str = "its module has another socket than the one by which it is found";
const NO_COMMAND: &str = "its counters are read by a command, and an agent runs none";

impl Planted {
    /// Why an agent beside the service cannot find it; `None` where it can.
    #[must_use]
    pub fn found_here_only(&self) -> Option<&'static str> {
        let own = FOUND_HERE_ONLY
            .iter()
            .find(|(begin, _)| self.name.starts_with(begin));
        own.map(|(_, why)| *why)
    }
}

/// A planted limit by its whole name.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn of_name(name: &str) -> &'static Planted {
    let named = all().into_iter().find(|planted| planted.name == name);
    named.unwrap_or_else(|| panic!("no planted limit is called {name}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_that_of_a_row() {
        for (begin, _) in FOUND_HERE_ONLY {
            let mut rows = all().into_iter();
            assert!(rows.any(|it| it.name.starts_with(begin)), "{begin}");
        }
        let through_agent = all()
            .into_iter()
            .filter(|planted| !planted.rules.is_empty() && planted.found_here_only().is_none());
        assert!(through_agent.count() > 50);
    }
}
