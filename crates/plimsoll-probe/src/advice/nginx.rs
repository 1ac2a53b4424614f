//! nginx: connections and descriptors of its workers, the CPUs that they use, and `tcp_nodelay`.

use plimsoll_model::component::ComponentKind;
use plimsoll_model::reading::Readings;

use super::component_readings::{ComponentReadings, places_of, written};
use super::host::usable_cpus;
use super::{Advice, Demand};
use crate::files::Files;
use crate::parse::{process, whole};

/// Descriptors that a worker of nginx needs beside its connections: logs, listeners, files.
const BESIDE: f64 = 64.0;

/// Each user holds a connection; a proxied request takes a second one.
pub(super) fn connections(component: &ComponentReadings<'_>, demand: &Demand) -> Option<Advice> {
    let (connections, file) = component.setting("worker_connections", "")?;
    let (workers, _) = component.setting("worker_processes", "")?;
    let places = connections * workers;
    let needed = 2.0 * demand.connections;
    let advised = (needed / workers).ceil();
    let name = format!("worker_connections of nginx ({})", component.at);
    Some(
        Advice::new(
            name,
            format!("{connections:.0}{}", written(file)),
            format!("{advised:.0} or more"),
            places >= needed,
        )
        .binds_at(demand.users_for(places, needed))
        .because(format!(
            "{workers:.0} workers have {places:.0} connections in total; each connection of a user takes one, and a \
             second one while a request is proxied to an upstream. worker_rlimit_nofile must be higher than \
             worker_connections"
        )),
    )
}

/// Processes called nginx with a parent of that name: the master's own limit does not matter.
fn workers(files: &mut Files) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for pid in files.numbers_in("proc").ok()? {
        let stat = files.read(&format!("proc/{pid}/stat")).ok();
        let stat = stat.and_then(process::stat);
        if let Some(stat) = stat.filter(|stat| stat.comm == "nginx") {
            all.push((pid, stat.parent));
        }
    }
    let is_listed = |pid: u32| all.iter().any(|process| process.0 == pid);
    let workers = all.iter().filter(|process| is_listed(process.1));
    Some(workers.map(|process| process.0).collect())
}

/// The lowest limit of open files of these processes.
fn lowest_limit(files: &mut Files, pids: &[u32]) -> Option<u64> {
    let limits = pids.iter().filter_map(|pid| {
        let limits = files.read(&format!("proc/{pid}/limits")).ok()?;
        Some(process::files_limit(limits)?.0)
    });
    limits.min()
}

/// Each connection of nginx is a descriptor of its worker.
pub(super) fn descriptors(component: &ComponentReadings<'_>, files: &mut Files) -> Option<Advice> {
    let (connections, file) = component.setting("worker_connections", "")?;
    let workers = workers(files)?;
    let lowest = lowest_limit(files, &workers)?;
    let needed = connections + BESIDE;
    Some(
        Advice::new(
            format!("open files of nginx' workers ({})", component.at),
            lowest,
            format!(
                "{needed:.0} or more: worker_connections is {connections:.0}{}",
                written(file)
            ),
            lowest as f64 >= needed,
        )
        .binds_at(whole((lowest as f64 - BESIDE).max(0.0)))
        .because(
            "each connection takes a descriptor, and each file being served one more: `worker_rlimit_nofile` in \
             nginx.conf sets the limit of a worker; if it is too low, `worker_connections` is never reached",
        ),
    )
}

/// `tcp_nodelay off` of nginx.
pub(super) fn nodelay(component: &ComponentReadings<'_>) -> Option<Advice> {
    let (value, file) = component.setting("tcp_nodelay", "")?;
    let row = Advice::new(
        format!("tcp_nodelay of nginx ({})", component.at),
        format!("off{}", written(file)),
        "on",
        value > 0.0,
    );
    Some(row.hint().because(
        "on kept connections the last part of a response waits for the acknowledgement of the part before, which clients \
         delay by up to 40 ms",
    ))
}

/// Worker processes of nginx: each uses one CPU.
pub(super) fn cpus(files: &mut Files, readings: &Readings) -> Vec<Advice> {
    let Some(cpus) = usable_cpus(files, readings) else {
        return Vec::new();
    };
    let places = places_of(readings, ComponentKind::Nginx).into_iter();
    let rows = places.filter_map(|at| {
        let component = ComponentReadings { at, readings };
        let (workers, file) = component.setting("worker_processes", "")?;
        let row = Advice::new(
            format!("worker_processes of nginx ({at})"),
            format!("{workers:.0}{}", written(file)),
            "auto: one for each CPU",
            workers > 1.0 || cpus < 2.0,
        );
        Some(row.hint().because(format!(
            "a worker uses one CPU, and this machine has {cpus:.0}; TLS handshakes and compression fill it first"
        )))
    });
    rows.collect()
}
