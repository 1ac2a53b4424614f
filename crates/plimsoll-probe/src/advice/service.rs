//! The components of the service on this machine, by the configurations that their processes name.
//!
//! What a configuration contains is added to the readings of its component, so that a component without a status
//! interface is judged too.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::component::ComponentKind;
use plimsoll_model::metric;
use plimsoll_model::reading::{Readings, label};

use super::component_readings::places_of;
use crate::collectors::configuration::ComponentConfig;
use crate::collectors::discovery::PROCESSES_MAX;
use crate::collectors::integration::integration;
use crate::collectors::timeouts::{HOPS_MAX, ServerTimeouts, is_at};
use crate::files::Files;
use crate::program::{is_worker, technology, words_of};

/// Programs whose files are read, and servers of all of them.
const PROGRAMS_MAX: usize = 512;
const SERVERS_MAX: usize = 512;
/// Servers and components of one program, and addresses of one of these: all pairs are compared.
const PER_PROGRAM_MAX: usize = 128;
const LISTENS_MAX: usize = 16;
/// Technologies that are never the first to receive a request of a user.
const BEHIND: [ComponentKind; 7] = [
    ComponentKind::PhpFpm,
    ComponentKind::Postgres,
    ComponentKind::Mysql,
    ComponentKind::Pgbouncer,
    ComponentKind::Redis,
    ComponentKind::Memcached,
    ComponentKind::Mongo,
];

/// Databases: an application may connect to them for the time of a request only.
pub(super) const DATABASES: [ComponentKind; 3] = [
    ComponentKind::Postgres,
    ComponentKind::Mysql,
    ComponentKind::Mongo,
];

/// The processes of a service, by its configurations.
#[derive(Debug)]
pub(super) struct ServiceProcesses {
    /// The given processes, and those that configurations put behind them.
    pub(super) pids: BTreeSet<u32>,
    /// Whether these run an application: Apache does with a process for each request, and so may every program that is not
    /// known.
    pub(super) has_application: bool,
}

/// The processes behind these.
pub(super) fn processes(files: &mut Files, related: &BTreeSet<u32>) -> ServiceProcesses {
    const PROXIES: [ComponentKind; 4] = [
        ComponentKind::Nginx,
        ComponentKind::Haproxy,
        ComponentKind::Varnish,
        ComponentKind::Apache,
    ];
    let mut programs = programs(files);
    let related = keep_related(&mut programs, related);
    let is_prefork = |program: &Program| {
        let mut settings = program.configs.iter().flat_map(|config| &config.settings);
        settings.any(|setting| setting.name == "MPM" && setting.of == "prefork")
    };
    let has_application = related.iter().any(|&pid| match technology(files, pid) {
        None => true,
        Some(kind) if BEHIND.contains(&kind) => kind == ComponentKind::PhpFpm,
        Some(ComponentKind::Apache) => programs.iter().any(is_prefork),
        Some(kind) => !PROXIES.contains(&kind),
    });
    ServiceProcesses {
        pids: related,
        has_application,
    }
}

/// A component, and the process that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServiceComponent {
    pub(super) kind: ComponentKind,
    /// Its address in the readings.
    pub(super) at: String,
    /// Its first process.
    pub(super) pid: u32,
    /// Whether another component hands requests on to it.
    pub(super) is_behind: bool,
}

/// The target, where one was given.
#[derive(Clone, Copy, Debug)]
pub(super) struct TargetProcesses<'a> {
    /// Its processes, and those that are observed behind it.
    pub(super) pids: &'a BTreeSet<u32>,
    /// Addresses of all components that were found and are scraped, and the processes that name them.
    pub(super) named_by: &'a [(String, u32)],
}

/// The components, and the time-outs of those that are servers.
#[derive(Debug, Default)]
pub(super) struct Service {
    pub(super) components: Vec<ServiceComponent>,
    pub(super) servers: Vec<ServerTimeouts>,
}

/// A process whose configuration was read.
#[derive(Debug)]
struct Program {
    kind: ComponentKind,
    pid: u32,
    servers: Vec<ServerTimeouts>,
    configs: Vec<ComponentConfig>,
}

impl Program {
    fn listens(&self) -> impl Iterator<Item = &str> {
        let servers = self.servers.iter().flat_map(|server| &server.listens);
        let configs = self.configs.iter().flat_map(|config| &config.listens);
        servers.chain(configs).map(String::as_str)
    }

    fn hops(&self) -> impl Iterator<Item = &str> {
        let hops = self.servers.iter().flat_map(|server| &server.hops);
        let hops = hops.map(|hop| hop.to.as_str());
        let configs = self.configs.iter().flat_map(|config| &config.hops);
        hops.chain(configs.map(String::as_str))
    }

    /// Whether it hands requests on to another one.
    fn leads_to(&self, other: &Self) -> bool {
        self.pid != other.pid
            && self
                .hops()
                .any(|to| other.listens().any(|listen| is_at(to, listen)))
    }
}

impl Service {
    /// The components of this machine; with the processes of a target those of these, and those that configurations put
    /// behind it. Readings of the other components that were found are then left out.
    pub(super) fn find(
        files: &mut Files,
        readings: &mut Readings,
        target: Option<TargetProcesses<'_>>,
    ) -> Self {
        let mut programs = programs(files);
        if let Some(TargetProcesses { pids, named_by }) = target {
            let related = keep_related(&mut programs, pids);
            leave_out(files, readings, named_by, &related);
        }
        Self::of(programs, readings)
    }

    fn of(programs: Vec<Program>, readings: &mut Readings) -> Self {
        let behind: BTreeSet<u32> = programs
            .iter()
            .filter(|program| programs.iter().any(|other| other.leads_to(program)))
            .map(|program| program.pid)
            .collect();
        let mut counts: BTreeMap<ComponentKind, usize> = BTreeMap::new();
        for program in &programs {
            *counts.entry(program.kind).or_default() += program.configs.len();
        }
        let mut service = Self::default();
        for program in programs {
            for config in program.configs {
                let is_only = counts.get(&program.kind) == Some(&1);
                let at = scraped_at(readings, program.kind, is_only).unwrap_or(config.at.clone());
                complete(readings, program.kind, &at, &config);
                service.components.push(ServiceComponent {
                    kind: program.kind,
                    at,
                    pid: program.pid,
                    is_behind: BEHIND.contains(&program.kind) || behind.contains(&program.pid),
                });
            }
            service.servers.extend(program.servers);
        }
        service
    }

    /// The first process of the component at this address.
    pub(super) fn pid_of(&self, kind: ComponentKind, at: &str) -> Option<u32> {
        let mut components = self.components.iter();
        let own = components.find(|component| component.kind == kind && component.at == at);
        own.map(|component| component.pid)
    }

    /// Whether the component at this address holds the connections of users.
    pub(super) fn is_front(&self, kind: ComponentKind, at: &str) -> bool {
        let mut components = self.components.iter();
        let own = components.find(|component| component.kind == kind && component.at == at);
        own.map_or(!BEHIND.contains(&kind), |component| !component.is_behind)
    }
}

/// The address under which the only component of a technology is scraped: a plan may have named it otherwise.
fn scraped_at(readings: &Readings, kind: ComponentKind, is_only: bool) -> Option<String> {
    match places_of(readings, kind)[..] {
        [at] if is_only => Some(at.to_owned()),
        _ => None,
    }
}

/// Adds settings that were not reported.
fn complete(readings: &mut Readings, kind: ComponentKind, at: &str, config: &ComponentConfig) {
    let word = kind.words().first().copied().unwrap_or_default();
    for setting in &config.settings {
        let is_it = |series: &String| {
            series.starts_with(metric::SETTING)
                && label(series, "at") == Some(at)
                && label(series, "setting") == Some(setting.name)
                && label(series, "of").unwrap_or_default() == setting.of
        };
        if readings.values.keys().any(is_it) {
            continue;
        }
        let all = [
            ("at", at),
            ("kind", word),
            ("setting", setting.name),
            ("of", setting.of.as_str()),
            ("file", setting.file.as_str()),
        ];
        let labels: Vec<(&str, &str)> = all
            .into_iter()
            .filter(|label| !label.1.is_empty())
            .collect();
        let series = metric::series(metric::SETTING, &labels);
        readings.values.insert(series, setting.value);
    }
}

/// Leaves the programs that have a process of the target, and those behind these; returns all of these processes.
fn keep_related(programs: &mut Vec<Program>, target: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut related: BTreeSet<u32> = target.clone();
    loop {
        let own: Vec<&Program> = programs
            .iter()
            .filter(|program| related.contains(&program.pid))
            .collect();
        let next = programs.iter().filter(|program| {
            !related.contains(&program.pid) && own.iter().any(|first| first.leads_to(program))
        });
        let next: Vec<u32> = next.map(|program| program.pid).collect();
        if next.is_empty() {
            break;
        }
        related.extend(next);
    }
    programs.retain(|program| related.contains(&program.pid));
    related
}

/// Removes the readings of found components that belong to another service, which a note reports.
fn leave_out(
    files: &mut Files,
    readings: &mut Readings,
    named_by: &[(String, u32)],
    related: &BTreeSet<u32>,
) {
    let others = named_by.iter().filter(|(_, pid)| !related.contains(pid));
    let others: BTreeSet<&str> = others.map(|(at, _)| at.as_str()).collect();
    if others.is_empty() {
        return;
    }
    readings
        .values
        .retain(|series, _| label(series, "at").is_none_or(|at| !others.contains(at)));
    let others: Vec<&str> = others.into_iter().collect();
    files.announce(
        "left out",
        &format!(
            "not judged, because nothing shows that the target uses it: {}; `plimsoll check --for` without a URL judges all \
             components of this machine",
            others.join(", ")
        ),
    );
}

/// All programs of this machine whose configuration is known to be read.
fn programs(files: &mut Files) -> Vec<Program> {
    let (mut programs, mut servers) = (Vec::new(), 0);
    let pids = files.numbers_in("proc").unwrap_or_default();
    for pid in pids.into_iter().take(PROCESSES_MAX) {
        let Some(kind) = technology(files, pid) else {
            continue;
        };
        let integration = integration(kind);
        let has_any = integration.timeouts().is_some() || integration.settings().is_some();
        if !has_any || is_worker(files, pid, kind).unwrap_or(false) {
            continue;
        }
        let line = files.command_line(pid);
        let words = words_of(&line);
        let mut program = Program {
            kind,
            pid,
            servers: Vec::new(),
            configs: Vec::new(),
        };
        if let Some(timeouts) = integration.timeouts() {
            program.servers = timeouts(files, pid, &words);
        }
        if let Some(settings) = integration.settings() {
            program.configs = settings(files, pid, &words);
        }
        let room = PER_PROGRAM_MAX.min(SERVERS_MAX.saturating_sub(servers));
        program.servers.truncate(room);
        program.configs.truncate(PER_PROGRAM_MAX);
        for server in &mut program.servers {
            server.listens.truncate(LISTENS_MAX);
        }
        for config in &mut program.configs {
            config.listens.truncate(LISTENS_MAX);
            config.hops.truncate(HOPS_MAX);
        }
        servers += program.servers.len();
        programs.push(program);
        if programs.len() >= PROGRAMS_MAX {
            break;
        }
    }
    programs
}

#[cfg(test)]
mod tests;
