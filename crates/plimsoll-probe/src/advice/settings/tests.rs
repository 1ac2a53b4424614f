//! Settings that cost something at any load.

use plimsoll_model::component::ComponentKind;

use super::super::service::ServiceComponent;
use super::*;

/// Settings of one component, each a number or a word.
fn rows(
    kind: &str,
    settings: &[(&str, &str, f64)],
    more: &[(String, f64)],
    service: &Service,
) -> Vec<(String, String, bool)> {
    let settings = settings.iter().map(|&(name, of, value)| {
        let all = [("at", "a"), ("kind", kind), ("setting", name), ("of", of)];
        let labels: Vec<(&str, &str)> = all
            .into_iter()
            .filter(|label| !label.1.is_empty())
            .collect();
        (metric::series(metric::SETTING, &labels), value)
    });
    let readings = Readings {
        values: settings.chain(more.iter().cloned()).collect(),
        ..Readings::default()
    };
    let mut files = Files::new("/nowhere".into());
    let rows = advice(&mut files, &readings, service, &Demand::assumed(3000));
    let rows = rows.into_iter();
    rows.map(|row| {
        assert!(row.is_hint && !row.why.is_empty(), "{row:?}");
        (row.name, row.current, row.ok)
    })
    .collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a row for each setting")]
fn every_setting_is_judged() {
    let none = Service::default();
    let cpus = [(metric::CPU_COUNT.to_owned(), 8.0)];
    let quota = [("cgroup", "/go"), ("process", metric::TARGET)];
    let quota = [(metric::series(metric::CGROUP_CPU_QUOTA, &quota), 2.0)];
    for (kind, settings, more, name, current, ok) in [
        (
            "nginx",
            vec![("tcp_nodelay", "", 0.0)],
            &[][..],
            "tcp_nodelay of nginx (a)",
            "off",
            false,
        ),
        (
            "nginx",
            vec![("worker_processes", "", 1.0)],
            &cpus[..],
            "worker_processes of nginx (a)",
            "1",
            false,
        ),
        (
            "nginx",
            vec![("worker_processes", "", 8.0)],
            &cpus[..],
            "worker_processes of nginx (a)",
            "8",
            true,
        ),
        (
            "haproxy",
            vec![("nbthread", "", 1.0)],
            &cpus[..],
            "nbthread of HAProxy (a)",
            "1",
            false,
        ),
        (
            "apache",
            vec![("KeepAlive", "", 0.0)],
            &[][..],
            "KeepAlive of Apache (a)",
            "Off",
            false,
        ),
        (
            "php-fpm",
            vec![("pm", "ondemand", 1.0)],
            &[][..],
            "pm of PHP-FPM (a)",
            "ondemand",
            false,
        ),
        (
            "php-fpm",
            vec![("pm", "static", 1.0)],
            &[][..],
            "pm of PHP-FPM (a)",
            "static",
            true,
        ),
        (
            "php-fpm",
            vec![("opcache", "", 0.0)],
            &[][..],
            "opcache of PHP-FPM (a)",
            "0",
            false,
        ),
        (
            "apache",
            vec![("opcache.enable", "", 0.0)],
            &[][..],
            "opcache.enable of PHP in Apache (a)",
            "0",
            false,
        ),
        (
            "php-fpm",
            vec![("opcache.enable", "", 0.0)],
            &[][..],
            "opcache.enable of PHP-FPM (a)",
            "0",
            false,
        ),
        (
            "php-fpm",
            vec![("opcache.max_accelerated_files", "", 2000.0)],
            &[][..],
            "opcache.max_accelerated_files of PHP-FPM (a)",
            "2000",
            false,
        ),
        (
            "postgres",
            vec![("fsync", "", 0.0)],
            &[][..],
            "fsync of PostgreSQL (a)",
            "off",
            false,
        ),
        (
            "postgres",
            vec![("synchronous_commit", "", 1.0)],
            &[][..],
            "synchronous_commit of PostgreSQL (a)",
            "on",
            true,
        ),
        (
            "postgres",
            vec![("jit", "", 1.0), ("jit_above_cost", "", 100.0)],
            &[][..],
            "jit of PostgreSQL (a)",
            "on, from a cost of 100",
            false,
        ),
        (
            "postgres",
            vec![("jit", "", 1.0), ("jit_above_cost", "", 100_000.0)],
            &[][..],
            "jit of PostgreSQL (a)",
            "on, from a cost of 100000",
            true,
        ),
        (
            "mariadb",
            vec![("innodb_flush_log_at_trx_commit", "", 0.0)],
            &[][..],
            "innodb_flush_log_at_trx_commit of MariaDB (a)",
            "0",
            false,
        ),
        (
            "mariadb",
            vec![("skip_name_resolve", "", 0.0)],
            &[][..],
            "skip_name_resolve of MariaDB (a)",
            "OFF",
            false,
        ),
        (
            "node",
            vec![("processes", "", 1.0)],
            &cpus[..],
            "processes of Node (a)",
            "1",
            false,
        ),
        (
            "node",
            vec![("UV_THREADPOOL_SIZE", "", 4.0)],
            &[][..],
            "UV_THREADPOOL_SIZE of Node (a)",
            "4 (by default)",
            true,
        ),
        (
            "go",
            vec![("GOMAXPROCS", "", 8.0)],
            &quota[..],
            "GOMAXPROCS of the Go program (a)",
            "8",
            false,
        ),
    ] {
        let rows = rows(kind, &settings, more, &none);
        let right = (name.to_owned(), current.to_owned(), ok);
        assert_eq!(rows, [right], "{kind}");
    }
}

#[test]
fn names_are_not_resolved_for_applications_of_this_machine() {
    let service = Service {
        components: vec![ServiceComponent {
            kind: ComponentKind::PhpFpm,
            at: "b".to_owned(),
            pid: 1,
            is_behind: true,
        }],
        servers: Vec::new(),
    };
    let rows = rows("mariadb", &[("skip_name_resolve", "", 0.0)], &[], &service);
    assert!(rows[0].2, "{rows:?}");
}

#[test]
fn workers_that_end_soon() {
    // 300 requests per second.
    for (kind, setting, processes, requests, ok) in [
        (
            "apache",
            "MaxConnectionsPerChild",
            "ServerLimit",
            100.0,
            false,
        ),
        ("apache", "MaxConnectionsPerChild", "ServerLimit", 0.0, true),
        (
            "php-fpm",
            "pm.max_requests",
            "pm.max_children",
            1799.0,
            false,
        ),
        (
            "php-fpm",
            "pm.max_requests",
            "pm.max_children",
            1800.0,
            true,
        ),
        ("gunicorn", "max_requests", "workers", 500.0, false),
        ("uwsgi", "max-requests", "processes", 5000.0, true),
    ] {
        let settings = [(setting, "", requests), (processes, "", 10.0)];
        let rows = rows(kind, &settings, &[], &Service::default());
        let own = rows.iter().find(|row| row.0.starts_with(setting));
        assert_eq!(own.map(|row| row.2), Some(ok), "{setting} {requests}");
    }
}

#[test]
fn a_pool_of_node_is_no_fault_and_says_when_it_binds() {
    let judged = |values: &[(String, f64)]| {
        let readings = Readings {
            values: values.iter().cloned().collect(),
            ..Readings::default()
        };
        let mut rows = pools_of_node(&readings, &Demand::assumed(3000));
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows.remove(0)
    };
    let set = |name: &str, file: &str, value: f64| {
        let all = [
            ("at", "a"),
            ("kind", "node"),
            ("setting", name),
            ("file", file),
        ];
        let len = if file.is_empty() { 3 } else { 4 };
        (metric::series(metric::SETTING, &all[..len]), value)
    };
    // 150 requests in progress in two processes.
    let small = judged(&[
        set("UV_THREADPOOL_SIZE", "environment of pid 7", 8.0),
        set("processes", "", 2.0),
    ]);
    assert_eq!(
        (small.ok, small.is_hint, small.binds_at),
        (true, true, None)
    );
    assert_eq!(
        (small.current.as_str(), small.advised.as_str()),
        (
            "8 (environment of pid 7)",
            "8, or up to 75 if the requests wait for this pool"
        )
    );
    for expected in [
        "no setting shows, so this is no limit by itself",
        "75 requests in progress in each process",
        "`UV_THREADPOOL_SIZE=75 node …`",
    ] {
        assert!(small.why.contains(expected), "{}", small.why);
    }
    let large = judged(&[set("UV_THREADPOOL_SIZE", "", 200.0)]);
    assert_eq!(large.advised, "200");
    // What its module reports, where the process cannot be read.
    let threads = metric::series(metric::NODE_POOL_THREADS, &[("at", "a")]);
    let reported = judged(&[(threads, 4.0)]);
    assert_eq!(reported.current, "4 (reported by its module)");
}
