//! The mitigation of a finding's limit: what `limit --confirm` changes.

use plimsoll_model::finding::Finding;
use plimsoll_model::reading::SeriesTable;
use plimsoll_model::run::Run;

use crate::diagnosis::SecondRange;
use crate::diagnosis::mitigation::Mitigation;
use crate::diagnosis::rule_id::RuleId;
use crate::rules::definition;

/// The mitigation of a finding's limit; `None` where no setting can be changed while its component runs, and on machines of
/// agents, which only read.
pub fn mitigation_for(run: &Run, finding: &Finding) -> Option<Mitigation> {
    of(&run.readings, super::stretches(run).failing?, finding)
}

fn of(readings: &SeriesTable, failing: SecondRange, finding: &Finding) -> Option<Mitigation> {
    if finding.machine.is_some() {
        return None;
    }
    let setting = definition(RuleId::of(finding)?).setting()?;
    setting.raised(readings, finding, failing)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plimsoll_model::finding::{Certainty, Evidence};
    use plimsoll_model::metric;
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
            machine: None,
            tier: None,
            certainty: Certainty::Explicit,
            score: 1.0,
            sentence: String::new(),
            remedy: String::new(),
            evidence: series.iter().map(line).collect(),
            consequence_of: None,
            consequence_of_machine: None,
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
    fn nothing_is_changed_on_other_machines() {
        let mut found = finding(RuleId::N6, &[metric::CONNTRACK_USED.to_owned()]);
        assert!(of(&table(&[]), FAILING, &found).is_some());
        found.machine = Some("web1".to_owned());
        assert_eq!(of(&table(&[]), FAILING, &found), None);
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
