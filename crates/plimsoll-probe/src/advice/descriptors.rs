//! Descriptors that each component may open, against the connections that its settings and the users need.

use plimsoll_model::component::ComponentKind;
use plimsoll_model::reading::Readings;

use super::component_readings::{ComponentReadings, written};
use super::service::{Service, ServiceComponent};
use super::{Advice, Demand};
use crate::collectors::configuration::children_of;
use crate::files::Files;
use crate::parse::process;

/// Descriptors beside the connections: logs, listeners, files, pipes.
const BESIDE: f64 = 100.0;
/// Processes of one component whose limits are read.
const PROCESSES_MAX: usize = 64;

/// Descriptors that a component needs in one of its processes.
#[derive(Clone, Copy, Debug)]
struct Descriptors<'a> {
    /// For all users.
    needed: f64,
    /// Of these, those that depend on the number of users.
    of_users: f64,
    /// The setting that would open more, with its value and file.
    setting: Option<(&'static str, f64, &'a str)>,
}

/// Limits of open files that bind. Those of the target's own processes are judged with the host.
pub(super) fn advice(
    files: &mut Files,
    readings: &Readings,
    service: &Service,
    (target, demand): (&[u32], &Demand),
) -> Vec<Advice> {
    let components = service.components.iter();
    let rows = components.filter_map(|component| {
        let at = component.at.as_str();
        let known = ComponentReadings { at, readings };
        let needs = needs(component, &known, target.contains(&component.pid), demand)?;
        let lowest = lowest_limit(files, component.pid)?;
        Some(row(component, &needs, lowest, demand))
    });
    rows.collect()
}

/// Connections of a proxy are two for each user; those of a store are set; those of an application depend on where it is.
fn needs<'a>(
    component: &ServiceComponent,
    known: &ComponentReadings<'a>,
    is_target: bool,
    demand: &Demand,
) -> Option<Descriptors<'a>> {
    let of_users = |connections: f64| Descriptors {
        needed: connections + BESIDE,
        of_users: connections,
        setting: None,
    };
    let set = |name: &'static str| {
        let (value, file) = known.setting(name, "")?;
        Some(Descriptors {
            needed: value + BESIDE,
            of_users: 0.0,
            setting: Some((name, value, file)),
        })
    };
    match component.kind {
        ComponentKind::Haproxy => Some(of_users(2.0 * demand.connections)),
        ComponentKind::Varnish => Some(of_users(demand.connections + demand.in_flight)),
        ComponentKind::Redis => set("maxclients"),
        // Where they do not suffice, it starts with fewer connections than its file has.
        ComponentKind::Mysql => set("max_connections"),
        // memcached itself sets its limit to `-c`, or does not start.
        // Each client that waits for a session and each session is a connection.
        ComponentKind::Pgbouncer => {
            let (sessions, _) = known.setting("default_pool_size", "").unwrap_or((0.0, ""));
            let set = set("max_client_conn")?;
            Some(Descriptors {
                needed: set.needed + sessions,
                ..set
            })
        }
        ComponentKind::Node | ComponentKind::Jvm | ComponentKind::Puma if !is_target => {
            let (processes, _) = known.setting("processes", "").unwrap_or((1.0, ""));
            let connections = if component.is_behind {
                demand.in_flight
            } else {
                demand.connections
            };
            Some(of_users(connections / processes.max(1.0)))
        }
        _ => None,
    }
}

/// The lowest limit of open files of a process and its children.
fn lowest_limit(files: &mut Files, pid: u32) -> Option<u64> {
    let mut pids = vec![pid];
    pids.extend(children_of(files, pid));
    let limits = pids.iter().take(PROCESSES_MAX).filter_map(|pid| {
        let limits = files.read(&format!("proc/{pid}/limits")).ok()?;
        Some(process::files_limit(limits)?.0)
    });
    limits.min()
}

fn row(
    component: &ServiceComponent,
    needs: &Descriptors<'_>,
    lowest: u64,
    demand: &Demand,
) -> Advice {
    let name = component.kind.name();
    let needed = needs.needed.ceil();
    let advised = match needs.setting {
        Some((setting, value, file)) => {
            format!(
                "{needed:.0} or more: {setting} is {value:.0}{}",
                written(file)
            )
        }
        None => format!("{needed:.0} or more"),
    };
    let advice = Advice::new(
        format!("open files of {name} ({})", component.at),
        if lowest == u64::MAX {
            "unlimited".to_owned()
        } else {
            lowest.to_string()
        },
        advised,
        lowest as f64 >= needed,
    );
    let room = (lowest as f64 - BESIDE).max(0.0);
    let advice = if needs.of_users > 0.0 {
        advice.binds_at(demand.users_for(room, needs.of_users))
    } else {
        advice
    };
    advice.because(
        "each connection takes a descriptor, and each proxied one a second; `LimitNOFILE=` in the unit of systemd sets the \
         limit. Where it is too low, the number of connections that is set is never reached",
    )
}

#[cfg(test)]
mod tests {
    use plimsoll_model::metric;

    use super::*;

    #[test]
    fn connections_need_descriptors() {
        let root = tempfile::tempdir().unwrap();
        let limits = "Max open files            1024                 4096                 files\n";
        for (pid, text) in [(7, limits), (8, &limits.replace("1024", "512"))] {
            let folder = root.path().join(format!("proc/{pid}/task/{pid}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("children"), if pid == 7 { "8" } else { "" }).unwrap();
            std::fs::write(root.path().join(format!("proc/{pid}/limits")), text).unwrap();
        }
        let mut files = Files::new(root.path().to_owned());
        let component = |kind, pid| ServiceComponent {
            kind,
            at: "a".to_owned(),
            pid,
            is_behind: true,
        };
        let labels = [("at", "a"), ("kind", "redis"), ("setting", "maxclients")];
        let readings = Readings {
            values: [(metric::series(metric::SETTING, &labels), 10_000.0)].into(),
            ..Readings::default()
        };
        let service = Service {
            components: vec![
                component(ComponentKind::Haproxy, 7),
                component(ComponentKind::Redis, 8),
                component(ComponentKind::Node, 8),
                component(ComponentKind::Node, 9),
            ],
            servers: Vec::new(),
        };
        let demand = Demand::assumed(3000);
        let rows = advice(&mut files, &readings, &service, (&[9], &demand));
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                (
                    row.name.as_str(),
                    row.current.as_str(),
                    row.advised.as_str(),
                    row.binds_at,
                )
            })
            .collect();
        let right = [
            (
                "open files of HAProxy (a)",
                "512",
                "6100 or more",
                Some(206),
            ),
            (
                "open files of Redis (a)",
                "512",
                "10100 or more: maxclients is 10000",
                None,
            ),
            ("open files of Node (a)", "512", "250 or more", Some(8240)),
        ];
        assert_eq!(rows, right);
    }
}
