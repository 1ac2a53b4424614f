//! What each machine used of what it has.

use plimsoll_model::labels::label;
use plimsoll_model::metric;
use plimsoll_model::reading::SeriesTable;
use plimsoll_model::run::Run;

use super::{MachineTable, MachineTier, tables};

/// The loopback interface: what goes over it never leaves the machine.
const LOOPBACK: &str = "lo";

/// What was used of what there is, on average; `None` where it is not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceUse {
    /// CPUs.
    pub cpus: Option<f64>,
    /// Share of all CPUs that was busy, 0 to 1.
    pub cpu_share: Option<f64>,
    /// Memory that programs could not have without swapping, bytes.
    pub memory_used: Option<f64>,
    /// Memory, bytes.
    pub memory: Option<f64>,
    /// Share of the time in which a disk had work, 0 to 1.
    pub disk_share: Option<f64>,
    /// Bytes per second over a link, in its busier direction.
    pub network: Option<f64>,
    /// What the link carries in a direction, bytes per second.
    pub network_capacity: Option<f64>,
}

/// A machine over some seconds. Of several disks and links it has the busiest.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineUse {
    /// Its name, as its agent is called; `None` for the generator's own machine.
    pub name: Option<String>,
    /// Where it stands on the way of a request.
    pub tier: MachineTier,
    /// Names of the components that run there, as far as they are known.
    pub components: Vec<String>,
    /// What was used.
    pub used: ResourceUse,
    /// The busiest disk.
    pub disk: Option<String>,
    /// The busiest link.
    pub link: Option<String>,
    /// How far its clock is ahead of the generator's, ms; below zero it is behind.
    pub offset_ms: Option<f64>,
}

/// Several machines of a tier together: CPUs, memory and links added up, and the busiest disk.
#[derive(Clone, Debug, PartialEq)]
pub struct TierUse {
    /// The tier.
    pub tier: MachineTier,
    /// Its machines.
    pub machines: usize,
    /// What was used.
    pub used: ResourceUse,
}

/// The machines of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachinesSummary {
    /// Each machine, the generator's own first; empty without agents.
    pub machines: Vec<MachineUse>,
    /// Tiers with several machines, in the order of the way of a request.
    pub tiers: Vec<TierUse>,
}

impl ResourceUse {
    /// Memory that was used as a share of all, 0 to 1.
    pub fn memory_share(&self) -> Option<f64> {
        ratio(self.memory_used?, self.memory?)
    }

    /// The link's busier direction as a share of what it carries, 0 to 1.
    pub fn network_share(&self) -> Option<f64> {
        ratio(self.network?, self.network_capacity?)
    }

    /// What several used of what they have together. The sum of what is unknown of one is unknown.
    fn sum(all: &[&Self]) -> Self {
        let sum = |pick: fn(&Self) -> Option<f64>| -> Option<f64> {
            all.iter().map(|each| pick(each)).sum()
        };
        let cpus = sum(|each| each.cpus);
        let busy = sum(|each| Some(each.cpus? * each.cpu_share?));
        Self {
            cpus,
            cpu_share: busy.zip(cpus).and_then(|(busy, cpus)| ratio(busy, cpus)),
            memory_used: sum(|each| each.memory_used),
            memory: sum(|each| each.memory),
            disk_share: all
                .iter()
                .filter_map(|each| each.disk_share)
                .reduce(f64::max),
            network: sum(|each| each.network),
            network_capacity: sum(|each| each.network_capacity),
        }
    }
}

impl MachinesSummary {
    /// The machines of a run over the seconds from the first to before the second; nothing without agents.
    pub fn of(run: &Run, span: (u32, u32)) -> Self {
        if run.readings.machines().is_empty() {
            return Self::default();
        }
        let machines: Vec<MachineUse> = tables(&run.readings)
            .iter()
            .map(|table| machine_use(table, span))
            .collect();
        let mut tiers: Vec<MachineTier> = machines.iter().map(|machine| machine.tier).collect();
        tiers.sort_unstable();
        tiers.dedup();
        let tiers = tiers.into_iter().filter_map(|tier| {
            let own = machines.iter().filter(|machine| machine.tier == tier);
            let own: Vec<&ResourceUse> = own.map(|machine| &machine.used).collect();
            (own.len() > 1).then(|| TierUse {
                tier,
                machines: own.len(),
                used: ResourceUse::sum(&own),
            })
        });
        let tiers = tiers.collect();
        Self { machines, tiers }
    }
}

/// A disk or a link, and how busy it was.
struct Busiest<'a> {
    name: &'a str,
    /// What it did: a share of the time, or bytes per second.
    level: f64,
    /// How much it can do, where that is known.
    capacity: Option<f64>,
}

fn machine_use(table: &MachineTable<'_>, span: (u32, u32)) -> MachineUse {
    let readings = table.readings();
    let mean = |series: &str| mean(readings, series, span);
    let memory = mean(metric::MEMORY_LIMIT);
    let available = mean(metric::MEMORY_AVAILABLE);
    let disk = busiest_disk(readings, span);
    let link = busiest_link(readings, span);
    MachineUse {
        name: table.name().map(str::to_owned),
        tier: table.tier(),
        components: table.components().into_iter().map(str::to_owned).collect(),
        used: ResourceUse {
            cpus: mean(metric::CPU_COUNT),
            cpu_share: mean(metric::CPU_BUSY),
            memory_used: memory
                .zip(available)
                .map(|(memory, available)| (memory - available).max(0.0)),
            memory,
            disk_share: disk.as_ref().map(|disk| disk.level),
            network: link.as_ref().map(|link| link.level),
            network_capacity: link.as_ref().and_then(|link| link.capacity),
        },
        disk: disk.map(|disk| disk.name.to_owned()),
        link: link.map(|link| link.name.to_owned()),
        offset_ms: mean(metric::CLOCK_OFFSET).map(|seconds| seconds * 1e3),
    }
}

fn busiest_disk(readings: &SeriesTable, span: (u32, u32)) -> Option<Busiest<'_>> {
    let disks = readings.names_of(metric::DISK_UTILIZATION);
    let disks = disks.filter_map(|series| {
        Some(Busiest {
            name: label(series, "system.device")?,
            level: mean(readings, series, span)?,
            capacity: None,
        })
    });
    disks.max_by(|a, b| a.level.total_cmp(&b.level))
}

/// The link nearest its capacity; where no capacity is known, the one that carries most.
fn busiest_link(readings: &SeriesTable, span: (u32, u32)) -> Option<Busiest<'_>> {
    const INTERFACE: &str = "network.interface.name";
    let traffic = readings.names_of(metric::NETWORK_IO);
    let links = traffic.filter_map(|series| {
        let name = label(series, INTERFACE).filter(|name| *name != LOOPBACK)?;
        let speed = metric::series(metric::NETWORK_SPEED, &[(INTERFACE, name)]);
        Some(Busiest {
            name,
            level: mean(readings, series, span)?,
            capacity: mean(readings, &speed, span).filter(|&speed| speed > 0.0),
        })
    });
    let share = |link: &Busiest<'_>| link.capacity.map_or(0.0, |capacity| link.level / capacity);
    links.max_by(|a, b| {
        share(a)
            .total_cmp(&share(b))
            .then(a.level.total_cmp(&b.level))
    })
}

fn mean(readings: &SeriesTable, series: &str, (from, to): (u32, u32)) -> Option<f64> {
    let values = readings.between(series, from, to);
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// `None` of nothing.
fn ratio(used: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| used / whole)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_model::machine::on_machine;
    use plimsoll_model::metric::series;
    use plimsoll_model::reading::Readings;

    use super::*;
    use crate::summary::tests::run as plain_run;

    fn near(value: Option<f64>, right: f64) -> bool {
        value.is_some_and(|value| (value - right).abs() < 1e-9)
    }

    /// Series of a machine of so many CPUs, of which this share is busy.
    fn machine(cpus: f64, busy: f64) -> Vec<(String, f64)> {
        let link = ("network.interface.name", "eth0");
        let sent = [link, ("network.io.direction", "transmit")];
        let inner = [("network.interface.name", LOOPBACK), sent[1]];
        let disk = |device| series(metric::DISK_UTILIZATION, &[("system.device", device)]);
        vec![
            (metric::CPU_COUNT.to_owned(), cpus),
            (metric::CPU_BUSY.to_owned(), busy),
            (metric::MEMORY_LIMIT.to_owned(), 8e9),
            (metric::MEMORY_AVAILABLE.to_owned(), 6e9),
            (disk("sda"), 0.1),
            (disk("sdb"), 0.7),
            (series(metric::NETWORK_IO, &sent), 25e6),
            (series(metric::NETWORK_IO, &inner), 99e6),
            (series(metric::NETWORK_SPEED, &[link]), 125e6),
        ]
    }

    fn run(machines: &[(&str, Vec<(String, f64)>)]) -> Run {
        let mut run = plain_run(Duration::from_secs(10));
        for second in 0..10 {
            let mut readings = Readings {
                second,
                ..Readings::default()
            };
            readings.values.insert(metric::CPU_BUSY.to_owned(), 0.05);
            readings
                .values
                .insert(metric::TARGET_IS_LOCAL.to_owned(), 0.0);
            for (name, values) in machines {
                let values = values.iter();
                let values = values.map(|(series, value)| (on_machine(series, name), *value));
                readings.values.extend(values);
            }
            run.readings.push(&readings);
        }
        run
    }

    #[test]
    fn without_agents_there_is_nothing() {
        let summary = MachinesSummary::of(&run(&[]), (0, 10));
        assert_eq!(summary, MachinesSummary::default());
    }

    #[test]
    fn each_machine_has_a_line_and_tiers_are_added_up_by_cores() {
        let offset = (metric::CLOCK_OFFSET.to_owned(), -0.012);
        let mut large = machine(6.0, 0.9);
        large.push(offset);
        let program = [("process", metric::TARGET), ("comm", "node")];
        large.push((series(metric::PROCESS_CPU, &program), 0.8));
        let run = run(&[("web1", machine(2.0, 0.1)), ("web2", large)]);
        let summary = MachinesSummary::of(&run, (0, 10));
        let names: Vec<_> = summary
            .machines
            .iter()
            .map(|it| it.name.as_deref())
            .collect();
        assert_eq!(names, [None, Some("web1"), Some("web2")]);
        let [own, _, web2] = &summary.machines[..] else {
            panic!("{summary:#?}");
        };
        assert_eq!((own.tier, own.used.cpus), (MachineTier::Generator, None));
        assert!(near(web2.used.memory_share(), 0.25), "{web2:#?}");
        assert!(near(web2.used.network_share(), 0.2), "{web2:#?}");
        assert_eq!(web2.disk.as_deref(), Some("sdb"));
        assert_eq!(web2.link.as_deref(), Some("eth0"));
        assert_eq!(web2.components, ["Node"]);
        assert!(near(web2.offset_ms, -12.0), "{web2:#?}");
        let [tier] = &summary.tiers[..] else {
            panic!("{summary:#?}");
        };
        assert_eq!((tier.tier, tier.machines), (MachineTier::Application, 2));
        // Two tenths of a core and 5.4 of eight, not the mean of both shares.
        assert!(near(tier.used.cpu_share, 0.7), "{tier:#?}");
        assert!(near(tier.used.cpus, 8.0) && near(tier.used.disk_share, 0.7));
        assert!(near(tier.used.network, 50e6) && near(tier.used.memory, 16e9));
    }

    #[test]
    fn what_is_unknown_of_one_machine_is_unknown_of_its_tier() {
        let mut unknown = machine(2.0, 0.1);
        unknown.retain(|(series, _)| series != metric::CPU_COUNT);
        let run = run(&[("web1", unknown), ("web2", machine(2.0, 0.3))]);
        let summary = MachinesSummary::of(&run, (0, 10));
        let used = &summary.tiers[0].used;
        assert_eq!((used.cpus, used.cpu_share), (None, None));
        assert!(near(used.memory_share(), 0.25), "{used:#?}");
    }

    #[test]
    fn only_the_seconds_that_are_wanted_count() {
        let summary = MachinesSummary::of(&run(&[("db1", machine(1.0, 0.5))]), (40, 50));
        assert_eq!(summary.machines[1].used, ResourceUse::default());
    }
}
