//! Settings of components that will bind at a number of users.

use std::collections::BTreeSet;

use plimsoll_model::component::ComponentKind;
use plimsoll_model::reading::{Readings, label};
use plimsoll_model::{labels, metric};

use super::Advice;
use crate::files::Files;
use crate::parse::{memory, process};

/// A user sends one request in this time, s ...
const REQUEST_INTERVAL_S: f64 = 10.0;
/// ... and each response takes this long: the average of visitors of a web site.
const TAKES_S: f64 = 0.5;
/// Bytes of a mebibyte.
const MEBIBYTE: f64 = 1_048_576.0;
/// Processes of PHP-FPM that are measured.
const MEASURED_MAX: usize = 32;

/// Readings of one component.
pub(super) struct ComponentReadings<'a> {
    pub(super) at: &'a str,
    pub(super) readings: &'a Readings,
}

impl ComponentReadings<'_> {
    pub(super) fn setting(&self, name: &str, of: &str) -> Option<(f64, &str)> {
        let mut settings = self.readings.values.iter();
        let (series, &value) = settings.find(|(series, _)| {
            series.starts_with(metric::SETTING)
                && label(series, "at") == Some(self.at)
                && label(series, "setting") == Some(name)
                && label(series, "of").unwrap_or_default() == of
        })?;
        Some((value, label(series, "file").unwrap_or_default()))
    }
}

/// A technology, and the setting that limits its concurrency.
const BUSY_PLACES: [(ComponentKind, &str); 6] = [
    (ComponentKind::Redis, "maxclients"),
    (ComponentKind::Memcached, "max_connections"),
    (ComponentKind::Postgres, "max_connections"),
    (ComponentKind::Mysql, "max_connections"),
    (ComponentKind::Puma, "threads"),
    (ComponentKind::Apache, "MaxRequestWorkers"),
];

/// Settings of the observed components that bind at this number of users.
pub(super) fn advice(readings: &Readings, files: &mut Files, users: u64) -> Vec<Advice> {
    let mut advice = Vec::new();
    let places = |kind| places_of(readings, kind);
    let component = |at| ComponentReadings { at, readings };
    for at in places(ComponentKind::Nginx) {
        advice.extend(nginx(&component(at), users));
    }
    for at in places(ComponentKind::Haproxy) {
        advice.extend(haproxy(&component(at), users));
    }
    for (kind, setting) in BUSY_PLACES {
        for at in places(kind) {
            advice.extend(busy_places(&component(at), setting, kind, users));
        }
    }
    for (kind, metric, of, setting) in [
        (
            ComponentKind::Gunicorn,
            metric::GUNICORN_PLACES,
            "workers times threads of gunicorn",
            "workers",
        ),
        (
            ComponentKind::Uwsgi,
            metric::UWSGI_PLACES,
            "processes times threads of uWSGI",
            "processes",
        ),
    ] {
        for at in places(kind) {
            let count = readings.values.get(&metric::series(metric, &[("at", at)]));
            let component = component(at);
            let file = component.setting(setting, "").map_or("", |(_, file)| file);
            advice.extend(count.map(|&count| busy(&component, of, (count, file), users)));
        }
    }
    for at in places(ComponentKind::PhpFpm) {
        let kind = ComponentKind::PhpFpm;
        advice.extend(busy_places(&component(at), "pm.max_children", kind, users));
        advice.extend(memory_of_php(&component(at), files));
    }
    advice
}

/// Addresses of the components that report a metric.
pub(super) fn places<'a>(readings: &'a Readings, metric: &str) -> Vec<&'a str> {
    let all = readings.values.keys();
    let all = all.filter(|series| labels::metric(series) == metric);
    let mut all: Vec<&str> = all.filter_map(|series| label(series, "at")).collect();
    all.dedup();
    all
}

/// Addresses of the components of a technology, by their metrics.
pub(super) fn places_of(readings: &Readings, kind: ComponentKind) -> Vec<&str> {
    let all = readings.values.keys();
    let own = all.filter(|series| ComponentKind::of_metric(labels::metric(series)) == Some(kind));
    let places: BTreeSet<&str> = own.filter_map(|series| label(series, "at")).collect();
    places.into_iter().collect()
}

/// Requests that this number of users has in flight.
fn at_once(users: u64) -> f64 {
    (users as f64 * TAKES_S / REQUEST_INTERVAL_S).ceil()
}

pub(super) fn whole(count: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a limit is a whole number that is not negative; more than 2^64 saturates"
    )]
    let whole = count.max(0.0) as u64;
    whole
}

pub(super) fn written(file: &str) -> String {
    if file.is_empty() {
        String::new()
    } else {
        format!(" ({file})")
    }
}

/// Each user holds a connection; a proxied request takes a second one.
fn nginx(component: &ComponentReadings<'_>, users: u64) -> Option<Advice> {
    let (connections, file) = component.setting("worker_connections", "")?;
    let (workers, _) = component.setting("worker_processes", "")?;
    let places = connections * workers;
    let advised = (2.0 * users as f64 / workers).ceil();
    let name = format!("worker_connections of nginx ({})", component.at);
    Some(
        Advice::new(
            name,
            format!("{connections:.0}{}", written(file)),
            format!("{advised:.0} or more"),
            places >= 2.0 * users as f64,
        )
        .binds_at(whole(places / 2.0))
        .because(format!(
            "{workers:.0} workers have {places:.0} connections in total; each user takes one, and a second one \
             while a request is proxied to an upstream. worker_rlimit_nofile must be higher than worker_connections"
        )),
    )
}

/// Each user holds a connection; where servers accept fewer, requests queue.
fn haproxy(component: &ComponentReadings<'_>, users: u64) -> Vec<Advice> {
    let mut advice = Vec::new();
    let limits = component.readings.values.iter().filter(|(series, _)| {
        label(series, "at") == Some(component.at)
            && (series.starts_with(metric::HAPROXY_CONNECTIONS_LIMIT)
                || series.starts_with(metric::HAPROXY_SESSIONS_LIMIT))
    });
    for (series, &limit) in limits {
        let server = label(series, "server");
        let proxy = label(series, "proxy").unwrap_or_default();
        let (whose, of, needed) = match server {
            None => ("HAProxy as a whole".to_owned(), String::new(), users as f64),
            Some("FRONTEND") => (
                format!("HAProxy's frontend {proxy}"),
                proxy.to_owned(),
                users as f64,
            ),
            Some(server) => (
                format!("server {server} in HAProxy's {proxy}"),
                format!("{proxy}/{server}"),
                at_once(users),
            ),
        };
        let file = component
            .setting("maxconn", &of)
            .map_or("", |(_, file)| file);
        let binds_at = if needed < users as f64 {
            limit * REQUEST_INTERVAL_S / TAKES_S
        } else {
            limit
        };
        let why = if server.is_some_and(|server| server != "FRONTEND") {
            format!(
                "requests beyond it queue for this server; {needed:.0} are in flight at once (see below) if it is the only one"
            )
        } else {
            "connections beyond it wait in the kernel's accept queue, which HAProxy does not report"
                .to_owned()
        };
        advice.push(
            Advice::new(
                format!("maxconn of {whose} ({})", component.at),
                format!("{limit:.0}{}", written(file)),
                format!("{needed:.0} or more"),
                limit >= needed,
            )
            .binds_at(whole(binds_at))
            .because(why),
        );
    }
    advice
}

/// Workers, one of which a request occupies while it is in flight.
fn busy_places(
    component: &ComponentReadings<'_>,
    setting: &str,
    kind: ComponentKind,
    users: u64,
) -> Option<Advice> {
    let found = component.setting(setting, "")?;
    Some(busy(
        component,
        &format!("{setting} of {}", kind.name()),
        found,
        users,
    ))
}

/// The same of a limit that is known, with its file.
fn busy(
    component: &ComponentReadings<'_>,
    of: &str,
    (limit, file): (f64, &str),
    users: u64,
) -> Advice {
    let needed = at_once(users);
    Advice::new(
        format!("{of} ({})", component.at),
        format!("{limit:.0}{}", written(file)),
        format!("{needed:.0}, or share them"),
        limit >= needed,
    )
    .binds_at(whole(limit * REQUEST_INTERVAL_S / TAKES_S))
    .because(format!(
        "{users} users who each send a request every {REQUEST_INTERVAL_S:.0} s that takes {TAKES_S} s have \
         {needed:.0} requests in flight at once, and each may hold one of these"
    ))
}

/// All processes that there may be must fit into memory.
fn memory_of_php(component: &ComponentReadings<'_>, files: &mut Files) -> Option<Advice> {
    let (children, file) = component.setting("pm.max_children", "")?;
    let pids = files.numbers_in("proc").ok()?;
    let page_len = rustix::param::page_size() as f64;
    let mut sizes = Vec::new();
    for pid in pids {
        let stat = files
            .read(&format!("proc/{pid}/stat"))
            .ok()
            .and_then(process::stat);
        let Some(stat) = stat.filter(|stat| stat.comm.starts_with("php-fpm")) else {
            continue;
        };
        sizes.push(stat.resident_pages as f64 * page_len);
        if sizes.len() >= MEASURED_MAX {
            break;
        }
    }
    let own: f64 = sizes.iter().sum();
    let each = own / sizes.len().max(1) as f64;
    let meminfo = files.read("proc/meminfo").ok().map(memory::meminfo)?;
    let room = meminfo.available as f64 + own;
    let fits = (room / each.max(1.0)).floor();
    (!sizes.is_empty()).then(|| {
        Advice::new(
            format!("memory for PHP-FPM's processes ({})", component.at),
            format!(
                "{children:.0} of {:.0} MiB{}",
                each / MEBIBYTE,
                written(file)
            ),
            format!("at most {fits:.0}"),
            children <= fits,
        )
        .because(format!(
            "its processes use {:.0} MiB each now, shared pages counted in each, and {:.0} MiB are available to \
             them; beyond that the machine swaps or kills processes",
            each / MEBIBYTE,
            room / MEBIBYTE
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_applications_are_counted_for_so_many_users() {
        let at = |metric: &str| metric::series(metric, &[("at", "a")]);
        let written = |name: &str, file: &str| {
            let labels = [("at", "a"), ("setting", name), ("file", file)];
            metric::series(metric::SETTING, &labels)
        };
        let readings = Readings {
            values: [
                (at(metric::GUNICORN_PLACES), 8.0),
                (written("workers", "/g.py:2"), 4.0),
                (at(metric::UWSGI_PLACES), 160.0),
                (at(metric::APACHE_SILENT), 0.0),
                (written("MaxRequestWorkers", "/a.conf:4"), 100.0),
            ]
            .into(),
            ..Readings::default()
        };
        let mut files = Files::new("/nowhere".into());
        let all = advice(&readings, &mut files, 3000);
        let all: Vec<_> = all
            .iter()
            .map(|advice| (advice.name.as_str(), advice.current.as_str(), advice.ok))
            .collect();
        let right = [
            ("MaxRequestWorkers of Apache (a)", "100 (/a.conf:4)", false),
            (
                "workers times threads of gunicorn (a)",
                "8 (/g.py:2)",
                false,
            ),
            ("processes times threads of uWSGI (a)", "160", true),
        ];
        assert_eq!(all, right);
    }
}
