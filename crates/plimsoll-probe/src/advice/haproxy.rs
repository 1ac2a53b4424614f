//! `HAProxy`: each `maxconn`, of the process, its frontends and its servers; its threads.

use plimsoll_model::component::ComponentKind;
use plimsoll_model::reading::{Readings, label};
use plimsoll_model::{labels, metric};

use super::component_readings::{ComponentReadings, written};
use super::host::usable_cpus;
use super::{Advice, Demand};
use crate::files::Files;
use crate::parse::whole;

/// A `maxconn` of `HAProxy`.
struct Maxconn<'a> {
    proxy: &'a str,
    /// `FRONTEND`, or the name of a server; `None` for the process.
    server: Option<&'a str>,
    limit: f64,
    file: &'a str,
}

/// The limits that `HAProxy` reports, or without its socket those of its configuration.
fn maxconns<'a>(component: &ComponentReadings<'a>) -> Vec<Maxconn<'a>> {
    let own = |series: &&String| label(series, "at") == Some(component.at);
    let settings = component.readings.values.iter();
    let reported = settings.clone().filter(|(series, _)| {
        own(series)
            && (series.starts_with(metric::HAPROXY_CONNECTIONS_LIMIT)
                || series.starts_with(metric::HAPROXY_SESSIONS_LIMIT))
    });
    let reported = reported.map(|(series, &limit)| {
        let server = label(series, "server");
        let proxy = label(series, "proxy").unwrap_or_default();
        let of = match server {
            None => String::new(),
            Some("FRONTEND") => proxy.to_owned(),
            Some(server) => format!("{proxy}/{server}"),
        };
        let file = component
            .setting("maxconn", &of)
            .map_or("", |(_, file)| file);
        Maxconn {
            proxy,
            server,
            limit,
            file,
        }
    });
    let reported: Vec<Maxconn<'a>> = reported.collect();
    if !reported.is_empty() {
        return reported;
    }
    let written =
        settings.filter(|(series, _)| own(series) && component.is_setting(series, "maxconn"));
    let written = written.map(|(series, &limit)| {
        let of = label(series, "of").unwrap_or_default();
        let (proxy, server) = match of.split_once('/') {
            Some((proxy, server)) => (proxy, Some(server)),
            None => (of, (!of.is_empty()).then_some("FRONTEND")),
        };
        Maxconn {
            proxy,
            server,
            limit,
            file: label(series, "file").unwrap_or_default(),
        }
    });
    written.collect()
}

/// Each user holds a connection; where servers accept fewer, requests queue.
pub(super) fn connections(component: &ComponentReadings<'_>, demand: &Demand) -> Vec<Advice> {
    let of = |maxconn: Maxconn<'_>| {
        let Maxconn {
            proxy,
            server,
            limit,
            file,
        } = maxconn;
        let is_server = server.is_some_and(|server| server != "FRONTEND");
        let (whose, needed, exact) = match server {
            None => (
                "HAProxy as a whole".to_owned(),
                demand.connections,
                demand.connections,
            ),
            Some("FRONTEND") => (
                format!("HAProxy's frontend {proxy}"),
                demand.connections,
                demand.connections,
            ),
            Some(server) => (
                format!("server {server} in HAProxy's {proxy}"),
                demand.workers(),
                demand.in_flight,
            ),
        };
        let why = if is_server {
            format!(
                "requests beyond it queue for this server; {} users have {needed:.0} in progress at once ({}), all of \
                 them here if it is the only one",
                demand.users, demand.source
            )
        } else {
            "connections beyond it wait in the kernel's accept queue, which HAProxy does not report"
                .to_owned()
        };
        Advice::new(
            format!("maxconn of {whose} ({})", component.at),
            format!("{limit:.0}{}", written(file)),
            format!("{:.0} or more", needed.ceil()),
            limit >= needed,
        )
        .binds_at(demand.users_for(limit, exact))
        .because(why)
    };
    maxconns(component).into_iter().map(of).collect()
}

/// Threads of `HAProxy`, where their number is written: each uses one CPU.
pub(super) fn threads(files: &mut Files, readings: &Readings) -> Vec<Advice> {
    let Some(cpus) = usable_cpus(files, readings) else {
        return Vec::new();
    };
    let components = ComponentReadings::of(readings, ComponentKind::Haproxy);
    let rows = components.filter_map(|component| {
        let (threads, file) = component.setting("nbthread", "")?;
        let row = Advice::new(
            format!("nbthread of HAProxy ({})", component.at),
            format!("{threads:.0}{}", written(file)),
            "one for each CPU, as without it",
            threads > 1.0 || cpus < 2.0,
        );
        Some(row.hint().because(format!(
            "a thread uses one CPU, and this machine has {cpus:.0}; TLS handshakes and compression fill it first"
        )))
    });
    rows.collect()
}

/// The process-wide limit applies, whatever the limits of the frontends.
pub(super) fn global_maxconn(component: &ComponentReadings<'_>) -> Option<Advice> {
    let of = |metric: &str, server: Option<&str>| {
        let own = component.readings.values.iter().filter(|(series, _)| {
            labels::metric(series) == metric
                && label(series, "at") == Some(component.at)
                && label(series, "server") == server
        });
        own.map(|(_, &limit)| limit).fold(0.0, f64::max)
    };
    let process = of(metric::HAPROXY_CONNECTIONS_LIMIT, None);
    let frontend = of(metric::HAPROXY_SESSIONS_LIMIT, Some("FRONTEND"));
    let file = component
        .setting("maxconn", "")
        .map_or("", |(_, file)| file);
    (frontend > 0.0 && process > 0.0).then(|| {
        Advice::new(
            format!(
                "global maxconn of HAProxy against that of its frontends ({})",
                component.at
            ),
            format!("{process:.0}{}", written(file)),
            format!("{frontend:.0} or more"),
            process >= frontend,
        )
        .binds_at(whole(process))
        .because(format!(
            "a frontend may accept {frontend:.0} connections; beyond the `maxconn` of `global` every new connection \
             waits in the kernel, including those to HAProxy's stats page"
        ))
    })
}
