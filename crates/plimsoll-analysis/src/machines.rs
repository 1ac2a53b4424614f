//! The machines of a run: the generator's own, and those that agents watch. Each has a table of readings of its own, with
//! ordinary names, so that what examines one machine never mixes it with another.

pub mod usage;

use std::borrow::Cow;
use std::collections::BTreeSet;

use plimsoll_model::component::ComponentKind;
use plimsoll_model::labels::{self, label};
use plimsoll_model::metric;
use plimsoll_model::reading::SeriesTable;

/// Where a machine stands on the way of a request; what is further down here is further from the generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MachineTier {
    /// The generator's own machine, where the target does not run.
    Generator,
    /// Where the target accepts connections.
    Target,
    /// Behind the target, with nothing but proxies.
    Proxy,
    /// Behind the target, with programs that are neither proxies nor stores.
    Application,
    /// Behind the target, with a database or a cache.
    Store,
}

impl MachineTier {
    /// Its name in texts and objects.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Generator => "generator",
            Self::Target => "target",
            Self::Proxy => "proxy",
            Self::Application => "application",
            Self::Store => "store",
        }
    }
}

/// The readings of one machine.
#[derive(Debug)]
pub(crate) struct MachineTable<'a> {
    name: Option<&'a str>,
    readings: Cow<'a, SeriesTable>,
}

/// A table for each machine, the generator's own first. Without agents that is the table itself.
pub(crate) fn tables(readings: &SeriesTable) -> Vec<MachineTable<'_>> {
    let machines = readings.machines();
    let own = if machines.is_empty() {
        Cow::Borrowed(readings)
    } else {
        Cow::Owned(readings.of_own_machine())
    };
    let own = MachineTable {
        name: None,
        readings: own,
    };
    let others = machines.into_iter().map(|name| MachineTable {
        name: Some(name),
        readings: Cow::Owned(readings.of_machine(name)),
    });
    std::iter::once(own).chain(others).collect()
}

impl<'a> MachineTable<'a> {
    /// Its name, as its agent is called; `None` for the generator's own machine.
    pub(crate) fn name(&self) -> Option<&'a str> {
        self.name
    }

    pub(crate) fn readings(&self) -> &SeriesTable {
        &self.readings
    }

    /// Whether the target runs there. Logs from before this was read have one machine, which counts as such.
    pub(crate) fn runs_target(&self) -> bool {
        match self.readings.values(metric::TARGET_IS_LOCAL) {
            Some(values) => values.iter().any(|&is_local| is_local > 0.0),
            None => self.name.is_none(),
        }
    }

    /// Where it stands on the way of a request: by the target, or else by what runs there.
    pub(crate) fn tier(&self) -> MachineTier {
        if self.runs_target() {
            return MachineTier::Target;
        }
        if self.name.is_none() {
            return MachineTier::Generator;
        }
        let kinds = self.readings.names();
        let kinds = kinds.filter_map(|series| self.kind_of(series));
        kinds
            .filter_map(tier_of)
            .max()
            .unwrap_or(MachineTier::Application)
    }

    /// Names of the components that run there, as far as they are known.
    pub(crate) fn components(&self) -> Vec<&'static str> {
        // Which server an interpreter runs is not known by its process.
        let named = |series: &&str| label(series, "comm") != Some("ruby");
        let series = self.readings.names().filter(named);
        let programs = series.filter_map(|series| program_of(self.kind_of(series)?));
        let programs: BTreeSet<ComponentKind> = programs.collect();
        programs.into_iter().map(ComponentKind::name).collect()
    }

    /// The technology that a series shows on the machine: of a component that was scraped, or of a process.
    fn kind_of(&self, series: &str) -> Option<ComponentKind> {
        let metric = labels::metric(series);
        if metric == metric::PROCESS_CPU {
            return ComponentKind::of_process(label(series, "comm")?);
        }
        // An agent scrapes what listens on its own machine, by whichever of its addresses; the generator others too.
        let is_there = self.name.is_some() || label(series, "at").is_none_or(is_here);
        ComponentKind::of_metric(metric).filter(|_| is_there)
    }
}

/// The program that a technology is of; `None` where it shows what any program reports.
fn program_of(kind: ComponentKind) -> Option<ComponentKind> {
    match kind {
        ComponentKind::NginxLog | ComponentKind::NginxAccessLog => Some(ComponentKind::Nginx),
        ComponentKind::HaproxyLog => Some(ComponentKind::Haproxy),
        ComponentKind::PhpFpmSlowlog => Some(ComponentKind::PhpFpm),
        ComponentKind::Cadvisor
        | ComponentKind::NodeExporter
        | ComponentKind::Otlp
        | ComponentKind::Prometheus
        | ComponentKind::Statsd
        | ComponentKind::Telegraf => None,
        program => Some(program),
    }
}

/// Whether the address of a component is on the machine where it was scraped: a path, a command, or a loopback address.
fn is_here(at: &str) -> bool {
    let at = at
        .strip_prefix("http://")
        .or_else(|| at.strip_prefix("https://"))
        .unwrap_or(at);
    let loopback = ["127.", "localhost", "[::1]", "/", "unix:"];
    loopback.iter().any(|begin| at.starts_with(begin)) || !at.contains(':')
}

fn tier_of(kind: ComponentKind) -> Option<MachineTier> {
    match kind {
        ComponentKind::Nginx
        | ComponentKind::NginxLog
        | ComponentKind::NginxAccessLog
        | ComponentKind::Haproxy
        | ComponentKind::HaproxyLog
        | ComponentKind::Varnish => Some(MachineTier::Proxy),
        ComponentKind::Apache
        | ComponentKind::Go
        | ComponentKind::Gunicorn
        | ComponentKind::Jvm
        | ComponentKind::Node
        | ComponentKind::PhpFpm
        | ComponentKind::PhpFpmSlowlog
        | ComponentKind::Puma
        | ComponentKind::Python
        | ComponentKind::Uwsgi => Some(MachineTier::Application),
        ComponentKind::Memcached
        | ComponentKind::Mongo
        | ComponentKind::Mysql
        | ComponentKind::Postgres
        | ComponentKind::Redis => Some(MachineTier::Store),
        // A pooler stands beside programs as well as beside databases; the others show what all kinds of programs report.
        ComponentKind::Cadvisor
        | ComponentKind::NodeExporter
        | ComponentKind::Otlp
        | ComponentKind::Pgbouncer
        | ComponentKind::Prometheus
        | ComponentKind::Statsd
        | ComponentKind::Telegraf => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plimsoll_model::machine::on_machine;
    use plimsoll_model::metric::series;
    use plimsoll_model::reading::Readings;

    use super::*;

    /// Two seconds of series with these values, each of a machine.
    fn table(values: &[(Option<&str>, String, f64)]) -> SeriesTable {
        let mut table = SeriesTable::default();
        let values = values.iter().map(|(machine, series, value)| {
            let series = machine.map_or_else(|| series.clone(), |name| on_machine(series, name));
            (series, *value)
        });
        let values: BTreeMap<String, f64> = values.collect();
        for second in 0..2 {
            table.push(&Readings {
                second,
                values: values.clone(),
                new_series: BTreeMap::new(),
            });
        }
        table
    }

    #[test]
    fn without_agents_the_table_is_not_copied() {
        let table = table(&[(None, metric::CPU_BUSY.to_owned(), 0.5)]);
        let all = tables(&table);
        assert_eq!(all.len(), 1);
        assert!(matches!(all[0].readings, Cow::Borrowed(_)));
        // Logs from before it was read have one machine.
        assert_eq!((all[0].name(), all[0].tier()), (None, MachineTier::Target));
    }

    #[test]
    fn machines_stand_on_the_way_of_a_request() {
        let program = |comm| {
            series(
                metric::PROCESS_CPU,
                &[("process", "behind"), ("comm", comm)],
            )
        };
        let at = |metric, at| series(metric, &[("at", at)]);
        let local = || metric::TARGET_IS_LOCAL.to_owned();
        let table = table(&[
            (None, local(), 0.0),
            (Some("lb"), local(), 1.0),
            (Some("lb"), program("haproxy"), 0.1),
            (
                Some("inner"),
                at(metric::NGINX_REQUESTS, "http://127.0.0.1/status"),
                9.0,
            ),
            (Some("app"), local(), 0.0),
            (Some("app"), program("ruby"), 0.4),
            // A cache that is scraped from afar, and whose machine is not known.
            (None, at(metric::REDIS_HITS, "cache:6379"), 3.0),
            (Some("cache"), at(metric::REDIS_HITS, "10.0.0.6:6379"), 3.0),
            (Some("db"), program("postgres"), 0.9),
            (Some("db"), program("nginx"), 0.1),
            (Some("any"), metric::CPU_BUSY.to_owned(), 0.1),
        ]);
        let tiers: Vec<_> = tables(&table)
            .iter()
            .map(|machine| (machine.name().unwrap_or("-"), machine.tier()))
            .map(|(name, tier)| format!("{name} {}", tier.name()))
            .collect();
        let right = [
            "- generator",
            "any application",
            "app application",
            "cache store",
            "db store",
            "inner proxy",
            "lb target",
        ];
        assert_eq!(tiers, right);
        let components: Vec<String> = tables(&table)
            .iter()
            .map(|machine| machine.components().join(", "))
            .collect();
        let right = ["", "", "", "Redis", "nginx, PostgreSQL", "nginx", "HAProxy"];
        assert_eq!(components, right);
        assert!(MachineTier::Target < MachineTier::Store);
    }
}
