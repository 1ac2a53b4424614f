//! On which machine a component runs that is scraped over the network: that of the agent or exporter on the same host.
//!
//! An agent scrapes the components of its machine itself. What needs a login or a page that nothing on its machine names is
//! scraped from here, and would be of no machine: a statement that takes all CPUs, and the CPUs, would not be seen together.

use std::collections::BTreeMap;
use std::net::IpAddr;

use plimsoll_model::component::{Component, ComponentAddress};
use plimsoll_model::labels::{label, metric};
use plimsoll_model::machine::{machine_of, on_machine};
use plimsoll_model::reading::Readings;
use plimsoll_probe::{EdgeSource, ProbePlan};

/// Beginning of the metrics of the probe itself, which are of the machine that it runs on.
const OF_PROBE: &str = "plimsoll.probe.";

/// The machines of components, by the label `at` of their series.
#[derive(Debug, Default)]
pub(crate) struct ComponentMachines {
    by_address: BTreeMap<String, String>,
}

impl ComponentMachines {
    /// Those of a plan's components, the edge among them, and of the machines of its exporters and of these agents. Waits for
    /// name servers.
    pub(crate) fn of(plan: &ProbePlan, agents: &[(String, String)]) -> Self {
        let exporters = plan.components.iter().filter_map(|component| {
            let ComponentAddress::Machine { name, .. } = &component.place else {
                return None;
            };
            Some((name.clone(), component.place.shown_host()?))
        });
        let machines: Vec<(String, String)> = agents.iter().cloned().chain(exporters).collect();
        Self::compare(plan, &machines, &addresses_of)
    }

    /// By the names of machines, each with its host.
    fn compare(
        plan: &ProbePlan,
        machines: &[(String, String)],
        addresses_of: &dyn Fn(&str) -> Vec<IpAddr>,
    ) -> Self {
        let scraped: Vec<(String, String)> = scraped(plan);
        if machines.is_empty() || scraped.is_empty() {
            return Self::default();
        }
        let hosts: Vec<(&str, Vec<IpAddr>)> = machines
            .iter()
            .map(|(name, host)| (name.as_str(), addresses_of(host)))
            .collect();
        let mut by_address = BTreeMap::new();
        for (at, host) in scraped {
            let own = addresses_of(&host);
            let is_there = |addresses: &[IpAddr]| addresses.iter().any(|it| own.contains(it));
            let mut there = hosts.iter().filter(|(_, addresses)| is_there(addresses));
            // Behind one address may be several machines, as behind a gateway: then nobody knows which.
            if let (Some((name, _)), None) = (there.next(), there.next()) {
                by_address.insert(at, (*name).to_owned());
            }
        }
        Self { by_address }
    }

    /// Names the machine in the series of its components.
    pub(crate) fn name_in(&self, readings: &mut Readings) {
        if self.by_address.is_empty() {
            return;
        }
        self.rename(&mut readings.values);
        self.rename(&mut readings.new_series);
    }

    fn rename<V>(&self, by_series: &mut BTreeMap<String, V>) {
        let all = std::mem::take(by_series).into_iter();
        by_series.extend(all.map(|(series, value)| {
            let name = self.machine(&series).map(|name| on_machine(&series, name));
            (name.unwrap_or(series), value)
        }));
    }

    fn machine(&self, series: &str) -> Option<&str> {
        if machine_of(series).is_some() || metric(series).starts_with(OF_PROBE) {
            return None;
        }
        let at = label(series, "at")?;
        self.by_address.get(at).map(String::as_str)
    }
}

/// What is scraped over the network: the label `at` of its series, and its host.
fn scraped(plan: &ProbePlan) -> Vec<(String, String)> {
    let host = |component: &Component| match &component.place {
        ComponentAddress::Tcp { host, .. }
        | ComponentAddress::Page { host, .. }
        | ComponentAddress::Figures { host, .. } => Some(host.clone()),
        ComponentAddress::Socket(_)
        | ComponentAddress::File(_)
        | ComponentAddress::Command(_)
        | ComponentAddress::SocketPage { .. }
        | ComponentAddress::Machine { .. } => None,
    };
    let components = plan.components.iter();
    let components = components.filter_map(|it| Some((it.place.to_string(), host(it)?)));
    let edge = match &plan.edge {
        Some(EdgeSource::Admin(address)) => Some((address.to_string(), address.ip().to_string())),
        _ => None,
    };
    components.chain(edge).collect()
}

/// The addresses of a host by which other machines are told apart. Loopback is this machine, or the end of a tunnel to one that
/// is not known; a name that `ssh` alone knows has none.
fn addresses_of(host: &str) -> Vec<IpAddr> {
    let found = plimsoll_names::host::resolve(host, 0).unwrap_or_default();
    let addresses = found.into_iter().map(|address| address.ip().to_canonical());
    addresses
        .filter(|ip| !ip.is_loopback() && !ip.is_unspecified())
        .collect()
}

#[cfg(test)]
mod tests {
    use plimsoll_model::component::ComponentKind;
    use plimsoll_model::metric::{self, series};

    use super::*;

    fn component(kind: ComponentKind, place: ComponentAddress) -> Component {
        Component {
            kind,
            place,
            login: None,
        }
    }

    fn tcp(host: &str, port: u16) -> ComponentAddress {
        ComponentAddress::Tcp {
            host: host.to_owned(),
            port,
        }
    }

    /// What name servers would say.
    fn addresses(host: &str) -> Vec<IpAddr> {
        let host = match host {
            "db1" | "db1.internal" => "10.0.0.5",
            other => other,
        };
        addresses_of(host)
    }

    fn plan() -> ProbePlan {
        ProbePlan {
            components: vec![
                component(ComponentKind::Postgres, tcp("db1.internal", 5432)),
                component(ComponentKind::Redis, tcp("10.0.0.6", 6379)),
                component(ComponentKind::Memcached, tcp("127.0.0.1", 11211)),
                component(
                    ComponentKind::Mysql,
                    ComponentAddress::Socket("/run/mysqld/mysqld.sock".into()),
                ),
            ],
            edge: Some(EdgeSource::Admin(([10, 0, 0, 7], 9191).into())),
            ..ProbePlan::default()
        }
    }

    fn read(name: &str, host: &str) -> (String, String) {
        (name.to_owned(), host.to_owned())
    }

    #[test]
    fn components_are_on_the_machine_of_their_host() {
        let machines = [
            read("db1", "10.0.0.5"),
            read("edge", "10.0.0.7"),
            read("near", "127.0.0.1"),
        ];
        let tied = ComponentMachines::compare(&plan(), &machines, &addresses);
        let shown: Vec<String> = tied
            .by_address
            .iter()
            .map(|(at, name)| format!("{at} {name}"))
            .collect();
        assert_eq!(shown, ["10.0.0.7:9191 edge", "db1.internal:5432 db1"]);
    }

    #[test]
    fn an_address_of_two_machines_names_neither() {
        let machines = [read("db1", "db1"), read("db2", "10.0.0.5")];
        let tied = ComponentMachines::compare(&plan(), &machines, &addresses);
        assert!(tied.by_address.is_empty(), "{tied:?}");
        let none = ComponentMachines::compare(&plan(), &[], &addresses);
        assert!(none.by_address.is_empty());
    }

    #[test]
    fn their_series_carry_the_machine() {
        let machines = [read("db1", "db1")];
        let tied = ComponentMachines::compare(&plan(), &machines, &addresses);
        let of = |metric, at| series(metric, &[("at", at)]);
        let there = of(metric::POSTGRES_RUNNING, "db1.internal:5432");
        let others = [
            of(metric::REDIS_HITS, "10.0.0.6:6379"),
            of(metric::PROBE_ANSWER_TIME, "db1.internal:5432"),
            metric::CPU_BUSY.to_owned(),
            on_machine(&there, "db9"),
        ];
        let mut readings = Readings::default();
        let all = others.iter().chain([&there]);
        readings.values = all.map(|series| (series.clone(), 1.0)).collect();
        tied.name_in(&mut readings);
        let mut right: Vec<String> = others.to_vec();
        right.push(on_machine(&there, "db1"));
        right.sort();
        let names: Vec<&String> = readings.values.keys().collect();
        assert_eq!(names, right.iter().collect::<Vec<_>>());
    }
}
