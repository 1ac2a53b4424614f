//! Which setting raises a limit that was found, and how far: what `limit --confirm` changes.
//!
//! Only settings that components apply at run time, and that lose nothing when reverted. A setting that costs memory
//! is raised only as far as twice that memory is available.

use plimsoll_model::finding::Finding;
use plimsoll_model::reading::{SeriesTable, label};
use plimsoll_model::run::Run;
use plimsoll_model::{labels, metric};

use super::SecondRange;
use crate::diagnosis::measure::of_target;
use crate::diagnosis::rule_id::RuleId::{
    self, F1, H1, H7, K2, K4, N3, N6, N7, N12, P9, P10, Q1, Q7, Q8, Q9,
};

/// A mitigation of a limit.
#[derive(Clone, Debug, PartialEq)]
pub enum Mitigation {
    /// A setting of a component.
    Setting {
        /// Address of the component, as in the label `at` of its series.
        at: String,
        /// Name of the setting.
        setting: String,
        /// Its owner, such as a server; empty where there is only one.
        of: String,
        /// Its value now, bytes where it is a size.
        now: f64,
        /// The raised value.
        to: f64,
    },
    /// The limit of open files of a process.
    Descriptors {
        /// The process.
        pid: u32,
        /// Its name.
        comm: String,
        /// The limit now.
        now: f64,
        /// The raised limit.
        to: f64,
    },
    /// A setting of the kernel, which holds for the whole machine.
    Kernel {
        /// Its name, as `sysctl` has it.
        name: &'static str,
    },
}

/// Rules whose limit is a kernel setting that takes effect at once, also for existing listeners.
const OF_THE_KERNEL: [(RuleId, &str); 4] = [
    (N3, "net.ipv4.tcp_max_syn_backlog"),
    (N6, "net.netfilter.nf_conntrack_max"),
    (N7, "net.core.netdev_max_backlog"),
    (N12, "net.ipv4.ip_local_port_range"),
];

/// What a setting takes when it is raised.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Takes {
    Nothing,
    /// Memory, once.
    Memory,
    /// Memory in each session of PostgreSQL.
    MemoryOfEach,
}

/// A rule whose limit is a setting.
struct SettingRule {
    rule: RuleId,
    setting: &'static str,
    takes: Takes,
}

const ROWS: &[SettingRule] = &[
    row(K2, "maxmemory", Takes::Memory),
    row(K4, "maxclients", Takes::Nothing),
    row(P9, "work_mem", Takes::MemoryOfEach),
    row(P10, "max_wal_size", Takes::Nothing),
    row(Q1, "max_connections", Takes::Nothing),
    row(Q7, "innodb_buffer_pool_size", Takes::Memory),
    row(Q8, "innodb_log_buffer_size", Takes::Memory),
    row(Q9, "innodb_io_capacity", Takes::Nothing),
];

const fn row(rule: RuleId, setting: &'static str, takes: Takes) -> SettingRule {
    SettingRule {
        rule,
        setting,
        takes,
    }
}

/// Factors by which a limit is raised, largest first. The method requires a quarter at least.
const FACTORS: [f64; 5] = [16.0, 4.0, 2.0, 1.5, 1.25];
/// The same where nothing but the setting itself counts.
const FACTOR: f64 = 4.0;

/// The mitigation of a finding's limit; `None` where no setting can be changed while its component runs.
pub fn mitigation_for(run: &Run, finding: &Finding) -> Option<Mitigation> {
    of(&run.readings, super::stretches(run).failing?, finding)
}

fn of(readings: &SeriesTable, failing: SecondRange, finding: &Finding) -> Option<Mitigation> {
    match RuleId::of(finding)? {
        F1 => descriptors(readings, failing),
        H1 | H7 => sessions(readings, finding, failing),
        // The ring of a network card is none of the kernel's.
        N7 if !is_backlog(finding) => None,
        rule if OF_THE_KERNEL.iter().any(|known| known.0 == rule) => {
            let mut known = OF_THE_KERNEL.into_iter();
            let (_, name) = known.find(|known| known.0 == rule)?;
            Some(Mitigation::Kernel { name })
        }
        rule => {
            let row = ROWS.iter().find(|row| row.rule == rule)?;
            setting(readings, finding, row, failing)
        }
    }
}

fn is_backlog(finding: &Finding) -> bool {
    let mut series = finding.evidence.iter().map(|line| line.series.as_str());
    series.any(|series| series == metric::SOFTNET_DROPPED)
}

/// The highest value of a series in a stretch.
fn level(readings: &SeriesTable, series: &str, (from, to): SecondRange) -> Option<f64> {
    let values = readings.between(series, from, to).into_iter();
    values.reduce(f64::max)
}

fn setting(
    readings: &SeriesTable,
    finding: &Finding,
    row: &SettingRule,
    failing: SecondRange,
) -> Option<Mitigation> {
    let at = finding
        .evidence
        .iter()
        .find_map(|line| label(&line.series, "at"))?;
    let mut own = readings.names_of(metric::SETTING);
    let series = own.find(|series| {
        label(series, "at") == Some(at) && label(series, "setting") == Some(row.setting)
    })?;
    let now = level(readings, series, failing).filter(|&now| now > 0.0)?;
    let factor = match row.takes {
        Takes::Nothing => FACTOR,
        Takes::Memory => affordable(readings, failing, now)?,
        Takes::MemoryOfEach => {
            let all = metric::series(metric::POSTGRES_SESSIONS, &[("at", at), ("state", "all")]);
            let sessions = level(readings, &all, failing)?;
            affordable(readings, failing, now * sessions.max(1.0))?
        }
    };
    Some(Mitigation::Setting {
        at: at.to_owned(),
        setting: row.setting.to_owned(),
        of: label(series, "of").unwrap_or_default().to_owned(),
        now,
        to: (now * factor).ceil(),
    })
}

/// The factor by which a consumer of so many bytes may grow; `None` where memory is short or unknown.
fn affordable(readings: &SeriesTable, failing: SecondRange, bytes: f64) -> Option<f64> {
    let (from, to) = failing;
    let free = readings.between(metric::MEMORY_AVAILABLE, from, to);
    let free = free.into_iter().reduce(f64::min)?;
    FACTORS
        .into_iter()
        .find(|factor| 2.0 * (factor - 1.0) * bytes <= free)
}

/// `maxconn` of a server, a frontend, or HAProxy as a whole.
fn sessions(readings: &SeriesTable, finding: &Finding, failing: SecondRange) -> Option<Mitigation> {
    let of_whole = metric::HAPROXY_CONNECTIONS;
    let series = finding.evidence.iter().map(|line| line.series.as_str());
    let mut series = series.filter(|series| {
        let metric = labels::metric(series);
        metric == metric::HAPROXY_SESSIONS || metric == of_whole
    });
    let series = series.next()?;
    let at = label(series, "at")?;
    let (limit, of) = match (label(series, "proxy"), label(series, "server")) {
        (Some(proxy), Some(server)) => {
            let labels = [("at", at), ("proxy", proxy), ("server", server)];
            let of = match server {
                "FRONTEND" => proxy.to_owned(),
                server => format!("{proxy}/{server}"),
            };
            (metric::series(metric::HAPROXY_SESSIONS_LIMIT, &labels), of)
        }
        _ => (
            metric::series(metric::HAPROXY_CONNECTIONS_LIMIT, &[("at", at)]),
            String::new(),
        ),
    };
    let now = level(readings, &limit, failing).filter(|&now| now > 0.0)?;
    Some(Mitigation::Setting {
        at: at.to_owned(),
        setting: "maxconn".to_owned(),
        of,
        now,
        to: FACTOR * now,
    })
}

/// The process of the target that was nearest its limit of open files.
fn descriptors(readings: &SeriesTable, failing: SecondRange) -> Option<Mitigation> {
    let own = readings.names_of(metric::PROCESS_FILES);
    let named = own
        .filter(|series| label(series, "process") == Some(metric::TARGET))
        .filter_map(|series| Some((series, level(readings, series, failing)?)))
        .filter(|(series, _)| label(series, "pid").is_some());
    let (series, _) = named.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let limit = of_target(metric::PROCESS_FILES_LIMIT);
    let now = level(readings, &limit, failing).filter(|&now| now > 0.0)?;
    Some(Mitigation::Descriptors {
        pid: label(series, "pid")?.parse().ok()?,
        comm: label(series, "comm").unwrap_or("?").to_owned(),
        now,
        to: FACTOR * now,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plimsoll_model::finding::{Certainty, Evidence};
    use plimsoll_model::reading::Readings;

    use super::*;

    const FAILING: SecondRange = (10, 20);
    const AT: (&str, &str) = ("at", "127.0.0.1:1");

    fn table(values: &[(String, f64)]) -> SeriesTable {
        let mut table = SeriesTable::default();
        for second in 10..20 {
            table.push(&Readings {
                second,
                values: values.iter().cloned().collect(),
                new_series: BTreeMap::new(),
            });
        }
        table
    }

    fn finding(rule: RuleId, series: &[String]) -> Finding {
        let line = |series: &String| Evidence {
            series: series.clone(),
            label: String::new(),
            unit: String::new(),
            base: None,
            passing: None,
            failing: None,
            bound: None,
        };
        Finding {
            rule: rule.to_string(),
            limit: String::new(),
            tier: None,
            certainty: Certainty::Explicit,
            score: 1.0,
            sentence: String::new(),
            remedy: String::new(),
            evidence: series.iter().map(line).collect(),
            consequence_of: None,
            intervention: None,
        }
    }

    /// The setting, its owner, and its values before and after.
    fn changed_setting(
        rule: RuleId,
        series: &[String],
        values: &[(String, f64)],
    ) -> Option<(String, f64, f64)> {
        match of(&table(values), FAILING, &finding(rule, series))? {
            Mitigation::Setting {
                at,
                setting,
                of,
                now,
                to,
            } => {
                assert_eq!(at, AT.1);
                Some((format!("{setting} {of}").trim_end().to_owned(), now, to))
            }
            Mitigation::Descriptors { pid, comm, now, to } => {
                Some((format!("{pid} {comm}"), now, to))
            }
            Mitigation::Kernel { name } => Some((name.to_owned(), 0.0, 0.0)),
        }
    }

    #[test]
    fn settings_of_the_kernel() {
        let of = |rule: RuleId, series: &str| {
            changed_setting(rule, &[series.to_owned()], &[]).map(|change| change.0)
        };
        let conntrack = of(RuleId::N6, metric::CONNTRACK_USED);
        assert_eq!(conntrack.as_deref(), Some("net.netfilter.nf_conntrack_max"));
        let backlog = of(RuleId::N7, metric::SOFTNET_DROPPED);
        assert_eq!(backlog.as_deref(), Some("net.core.netdev_max_backlog"));
        assert_eq!(of(RuleId::N7, metric::NETWORK_DROPPED), None);
        assert_eq!(of(RuleId::N1, metric::LISTEN_OVERFLOWS), None);
    }

    fn set(name: &str) -> String {
        metric::series(
            metric::SETTING,
            &[AT, ("setting", name), ("file", "a.conf:1")],
        )
    }

    #[test]
    fn settings_of_parts() {
        let rejected = [metric::series(metric::REDIS_REJECTED, &[AT])];
        let values = [(set("maxclients"), 10.0), (set("maxmemory"), 3e6)];
        assert_eq!(
            changed_setting(RuleId::K4, &rejected, &values),
            Some(("maxclients".to_owned(), 10.0, 40.0))
        );
        // The amount of memory is unknown.
        assert_eq!(changed_setting(RuleId::K2, &rejected, &values), None);
        let free = |bytes: f64| {
            let free = (metric::MEMORY_AVAILABLE.to_owned(), bytes);
            [&values[..], &[free]].concat()
        };
        let to = |bytes: f64| {
            changed_setting(RuleId::K2, &rejected, &free(bytes)).map(|change| change.2)
        };
        assert_eq!(to(1e9), Some(48e6));
        assert_eq!(to(4e6), Some(4.5e6));
        assert_eq!(to(1e6), None);
        // No rule about a setting, and an unknown setting.
        assert_eq!(changed_setting(RuleId::C1, &rejected, &values), None);
        assert_eq!(changed_setting(RuleId::Q1, &rejected, &values), None);
    }

    #[test]
    fn memory_of_each_session_counts_for_all() {
        let spilled = [metric::series(metric::POSTGRES_TEMPORARY, &[AT])];
        let all = metric::series(metric::POSTGRES_SESSIONS, &[AT, ("state", "all")]);
        let values = [
            (set("work_mem"), 4e6),
            (all, 100.0),
            (metric::MEMORY_AVAILABLE.to_owned(), 1e9),
        ];
        let found = changed_setting(RuleId::P9, &spilled, &values);
        assert_eq!(found, Some(("work_mem".to_owned(), 4e6, 8e6)));
    }

    #[test]
    fn sessions_of_haproxy() {
        let of = |metric: &str, server: &str| {
            let proxy = if server == "FRONTEND" { "web" } else { "app" };
            metric::series(metric, &[AT, ("proxy", proxy), ("server", server)])
        };
        let values = [
            (of(metric::HAPROXY_SESSIONS_LIMIT, "s1"), 20.0),
            (of(metric::HAPROXY_SESSIONS_LIMIT, "FRONTEND"), 8.0),
            (
                metric::series(metric::HAPROXY_CONNECTIONS_LIMIT, &[AT]),
                100.0,
            ),
        ];
        let queue = [
            of(metric::HAPROXY_QUEUE, "BACKEND"),
            of(metric::HAPROXY_SESSIONS, "s1"),
        ];
        assert_eq!(
            changed_setting(RuleId::H1, &queue, &values),
            Some(("maxconn app/s1".to_owned(), 20.0, 80.0))
        );
        let frontend = [of(metric::HAPROXY_SESSIONS, "FRONTEND")];
        assert_eq!(
            changed_setting(RuleId::H7, &frontend, &values),
            Some(("maxconn web".to_owned(), 8.0, 32.0))
        );
        let whole = [metric::series(metric::HAPROXY_CONNECTIONS, &[AT])];
        assert_eq!(
            changed_setting(RuleId::H7, &whole, &values),
            Some(("maxconn".to_owned(), 100.0, 400.0))
        );
        // A finding of the log names no server.
        let log = [metric::series(metric::LOG_FAILURES, &[AT, ("class", "sQ")])];
        assert_eq!(changed_setting(RuleId::H1, &log, &values), None);
    }

    #[test]
    fn open_files_of_the_fullest_process() {
        let own = ("process", metric::TARGET);
        let of = |pid: &str| {
            metric::series(metric::PROCESS_FILES, &[own, ("pid", pid), ("comm", "app")])
        };
        let values = [
            (metric::series(metric::PROCESS_FILES, &[own]), 64.0),
            (metric::series(metric::PROCESS_FILES_LIMIT, &[own]), 64.0),
            (of("7"), 60.0),
            (of("9"), 64.0),
        ];
        assert_eq!(
            changed_setting(RuleId::F1, &[], &values),
            Some(("9 app".to_owned(), 64.0, 256.0))
        );
    }
}
