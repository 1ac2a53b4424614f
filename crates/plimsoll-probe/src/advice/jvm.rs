//! Java: threads, connections and queues of its servers, and the pool of connections to a database.

use plimsoll_model::component::ComponentKind;
use plimsoll_model::reading::{Readings, label};
use plimsoll_model::{labels, metric};

use super::component_readings::{ComponentReadings, written};
use super::components::{busy, waiting};
use super::service::Service;
use super::{Advice, Demand};
use crate::collectors::jvm::settings::{ASSUMED, JETTY_THREADS};
use crate::collectors::jvm::spring;

/// Settings that limit the threads of requests, by the server that has them.
const THREADS: [(&str, &str); 4] = [
    ("maxThreads", "Tomcat's connector"),
    (spring::THREADS, "Tomcat"),
    (spring::JETTY_THREADS, "Jetty"),
    (JETTY_THREADS, "Jetty"),
];
const ACCEPT_COUNTS: [(&str, &str); 2] = [
    ("acceptCount", "Tomcat's connector"),
    (spring::ACCEPT_COUNT, "Tomcat"),
];
const CONNECTIONS: [(&str, &str); 2] = [
    ("maxConnections", "Tomcat's connector"),
    (spring::CONNECTIONS, "Tomcat"),
];

/// Settings of Java programs that bind at this demand.
pub(super) fn advice(readings: &Readings, service: &Service, demand: &Demand) -> Vec<Advice> {
    let mut advice = Vec::new();
    for component in ComponentReadings::of(readings, ComponentKind::Jvm) {
        // What the program itself reports is judged with the pools of all runtimes.
        if !has_thread_pool(&component) {
            advice.extend(rows(&component, &THREADS, |row| threads(&row, demand)));
        }
        advice.extend(rows(&component, &ACCEPT_COUNTS, |row| {
            waiting(row.component, &row.name, (row.limit, row.file), demand)
        }));
        let is_front = service.is_front(ComponentKind::Jvm, component.at);
        advice.extend(rows(&component, &CONNECTIONS, |row| {
            connections(&row, is_front, demand)
        }));
        advice.extend(pool(&component, demand));
    }
    advice
}

/// The written size of a JVM's pool of connections to a database, where it reports none.
pub(super) fn connection_pool<'a>(component: &ComponentReadings<'a>) -> Option<(f64, &'a str)> {
    let is_reported = component.readings.values.keys().any(|series| {
        let is_pool = labels::metric(series) == metric::POOL_LIMIT
            && label(series, "to") == Some(metric::TO_DATABASE);
        let pool = label(series, "pool").unwrap_or_default();
        // A metrics page has another address.
        let is_own = label(series, "at") == Some(component.at) || pool.starts_with("HikariPool");
        is_pool && is_own
    });
    component.setting(spring::POOL, "").filter(|_| !is_reported)
}

/// Whether a program reports the threads of its server.
fn has_thread_pool(component: &ComponentReadings<'_>) -> bool {
    component.readings.values.keys().any(|series| {
        labels::metric(series) == metric::JVM_POOL_LIMIT
            && label(series, "at") == Some(component.at)
            && label(series, "pool").is_some_and(|pool| pool.starts_with("http"))
    })
}

/// A setting of a server in a component.
struct ServerSetting<'c, 'a> {
    component: &'c ComponentReadings<'a>,
    name: String,
    limit: f64,
    file: &'a str,
}

/// A row for each setting that a component has. One that is not written where it can be read is a hint.
fn rows<'c, 'a>(
    component: &'c ComponentReadings<'a>,
    settings: &[(&str, &str)],
    judge: impl Fn(ServerSetting<'c, 'a>) -> Advice,
) -> Vec<Advice> {
    let mut advice = Vec::new();
    for (setting, server) in settings {
        for (of, limit, file) in component.each(setting) {
            let name = format!("{setting} of {server} {of}");
            let row = ServerSetting {
                component,
                name: name.trim_end().to_owned(),
                limit,
                file,
            };
            advice.push(or_assumed(judge(row), file));
        }
    }
    advice
}

/// Advice on a value that a jar may change is no limit for sure.
fn or_assumed(advice: Advice, file: &str) -> Advice {
    if file != ASSUMED {
        return advice;
    }
    let why = format!(
        "not known for sure, because files inside of a jar are not read: {}",
        advice.why
    );
    Advice {
        binds_at: None,
        ..advice.hint().because(why)
    }
}

/// Threads of a server, one of which a request occupies.
fn threads(row: &ServerSetting<'_, '_>, demand: &Demand) -> Advice {
    let advice = busy(row.component, &row.name, (row.limit, row.file), demand);
    advice.because(format!(
        "{} users have {:.0} requests in progress at once ({}), and each occupies a thread, also while it waits for the database; \
         further ones wait for one. More threads than CPUs and connections of the pool carry only wait there instead",
        demand.users,
        demand.workers(),
        demand.source
    ))
}

/// Connections that a connector holds: of users, or of the proxy before it.
fn connections(row: &ServerSetting<'_, '_>, is_front: bool, demand: &Demand) -> Advice {
    let (needed, whose) = if is_front {
        (demand.connections, "connections, idle ones included")
    } else {
        (
            demand.in_flight,
            "requests in progress at once, each on a connection of the proxy before it",
        )
    };
    Advice::new(
        format!("{} ({})", row.name, row.component.at),
        format!("{:.0}{}", row.limit, written(row.file)),
        format!("{:.0} or more", needed.ceil()),
        row.limit >= needed,
    )
    .binds_at(demand.users_for(row.limit, needed))
    .because(format!(
        "{} users have {:.0} {whose}; beyond it Tomcat accepts none, and further ones wait in the kernel, acceptCount of them",
        demand.users,
        needed.ceil()
    ))
}

/// The pool of connections: each request holds one while it uses the database.
fn pool(component: &ComponentReadings<'_>, demand: &Demand) -> Option<Advice> {
    let found = connection_pool(component)?;
    let name = "maximum-pool-size of HikariCP";
    let advice = busy(component, name, found, demand).because(format!(
        "{} users have {:.0} requests in progress at once ({}), and each holds a connection while it uses the database; further \
         ones wait, and fail after 30 s (`connection-timeout`). Fewer suffice where requests use the database for a part of \
         their time; each is a session of the database's `max_connections`. `{}` of Spring Boot sets it, `maximumPoolSize` of \
         HikariCP elsewhere",
        demand.users,
        demand.workers(),
        demand.source,
        spring::POOL
    ));
    Some(or_assumed(advice, found.1))
}

#[cfg(test)]
mod tests {
    use super::super::service::ServiceComponent;
    use super::*;

    fn set(name: &str, of: &str, file: &str, value: f64) -> (String, f64) {
        let all = [
            ("at", "j"),
            ("kind", "jvm"),
            ("setting", name),
            ("of", of),
            ("file", file),
        ];
        let labels: Vec<(&str, &str)> = all
            .into_iter()
            .filter(|label| !label.1.is_empty())
            .collect();
        (metric::series(metric::SETTING, &labels), value)
    }

    fn judged(values: &[(String, f64)], is_behind: bool) -> Vec<Advice> {
        let readings = Readings {
            values: values.iter().cloned().collect(),
            ..Readings::default()
        };
        let service = Service {
            components: vec![ServiceComponent {
                kind: ComponentKind::Jvm,
                at: "j".to_owned(),
                pid: 7,
                is_behind,
            }],
            servers: Vec::new(),
        };
        advice(&readings, &service, &Demand::assumed(3000))
    }

    fn shown(rows: &[Advice]) -> Vec<(&str, &str, Option<u64>, bool, bool)> {
        let rows = rows.iter().map(|row| {
            (
                row.name.as_str(),
                row.current.as_str(),
                row.binds_at,
                row.ok,
                row.is_hint,
            )
        });
        rows.collect()
    }

    #[test]
    fn connectors_of_tomcat() {
        let file = "/t/conf/server.xml:3";
        let values = [
            set("maxThreads", "8080", file, 50.0),
            set("maxThreads", "8009", "", 200.0),
            set("acceptCount", "8080", "", 100.0),
            set("maxConnections", "8080", "", 8192.0),
        ];
        // 150 requests in progress, 300 a second.
        let rows = judged(&values, false);
        let right = [
            (
                "maxThreads of Tomcat's connector 8009 (j)",
                "200",
                Some(4000),
                true,
                false,
            ),
            (
                "maxThreads of Tomcat's connector 8080 (j)",
                "50 (/t/conf/server.xml:3)",
                Some(1000),
                false,
                false,
            ),
            (
                "acceptCount of Tomcat's connector 8080 (j)",
                "100",
                Some(1000),
                false,
                false,
            ),
            (
                "maxConnections of Tomcat's connector 8080 (j)",
                "8192",
                Some(8192),
                true,
                false,
            ),
        ];
        assert_eq!(shown(&rows), right);
        // Behind a proxy it holds connections of requests in progress.
        let rows = judged(&values[3..], true);
        assert_eq!(rows[0].binds_at, Some(163_840));
        // What Jolokia reports is judged elsewhere.
        let reported = [("at", "j"), ("pool", "http-nio-8080")];
        let reported = (metric::series(metric::JVM_POOL_LIMIT, &reported), 50.0);
        let rows = judged(&[values[0].clone(), reported], false);
        assert!(rows.is_empty(), "{rows:?}");
    }

    #[test]
    fn what_a_jar_may_change_is_a_hint() {
        let rows = judged(
            &[
                set(spring::THREADS, "", ASSUMED, 200.0),
                set(spring::POOL, "", ASSUMED, 10.0),
            ],
            false,
        );
        let right = [
            (
                "server.tomcat.threads.max of Tomcat (j)",
                "200 (by default, unless its jar sets another)",
                None,
                true,
                true,
            ),
            (
                "maximum-pool-size of HikariCP (j)",
                "10 (by default, unless its jar sets another)",
                None,
                false,
                true,
            ),
        ];
        assert_eq!(shown(&rows), right);
        assert!(rows[1].why.starts_with("not known for sure"), "{rows:?}");
        let rows = judged(
            &[set(spring::POOL, "", "application.properties:1", 30.0)],
            false,
        );
        assert_eq!((rows[0].binds_at, rows[0].is_hint), (Some(600), false));
    }

    #[test]
    fn a_pool_that_is_reported_is_not_judged_twice() {
        let written = set(spring::POOL, "", "application.yml:4", 30.0);
        for (at, name, count) in [
            ("j", "shop", 0),
            (
                "http://127.0.0.1:8080/actuator/prometheus",
                "HikariPool-1",
                0,
            ),
            ("other", "shop", 1),
        ] {
            let labels = [("at", at), ("to", metric::TO_DATABASE), ("pool", name)];
            let reported = (metric::series(metric::POOL_LIMIT, &labels), 30.0);
            let rows = judged(&[written.clone(), reported], false);
            assert_eq!(rows.len(), count, "{at} {name}");
        }
    }
}
