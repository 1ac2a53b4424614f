//! Memory of workers, heaps and sessions, on machines that are made up.

use super::*;

fn set(kind: &str, at: &str, name: &str, value: f64) -> (String, f64) {
    let labels = [("at", at), ("kind", kind), ("setting", name)];
    (metric::series(metric::SETTING, &labels), value)
}

/// The advice on a machine with this much memory, and this much of it available, MiB.
fn rows(
    files: &[(&str, String)],
    values: &[(String, f64)],
    mebibytes: (u64, u64),
    components: Vec<ServiceComponent>,
) -> Vec<Advice> {
    let root = tempfile::tempdir().unwrap();
    let text = format!(
        "MemTotal: {} kB\nMemAvailable: {} kB\n",
        mebibytes.0 << 10,
        mebibytes.1 << 10
    );
    let all = files.iter().cloned().chain([("meminfo", text)]);
    for (path, text) in all {
        let path = root.path().join("proc").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut files = Files::new(root.path().to_owned());
    let readings = Readings {
        values: values.iter().cloned().collect(),
        ..Readings::default()
    };
    let service = Service {
        components,
        servers: Vec::new(),
    };
    advice(&mut files, &readings, &service, &Demand::assumed(3000))
}

#[test]
fn processes_at_their_measured_size() {
    let worker = |pid: u32| {
        let page_len = rustix::param::page_size() as u64;
        let pages = (100 << 20) / page_len;
        let zeros = "0 ".repeat(19);
        format!("{pid} (php-fpm) S 11 {zeros}{pages}")
    };
    let title = "php-fpm: pool www".to_owned();
    let files = [
        ("11/task/11/children", "12 13 14".to_owned()),
        ("12/stat", worker(12)),
        ("12/cmdline", title.clone()),
        ("13/stat", worker(13)),
        ("13/smaps_rollup", "x\nPss: 51200 kB\n".to_owned()),
        ("13/cmdline", title),
        ("14/stat", worker(14)),
        ("14/cmdline", "helper".to_owned()),
    ];
    let component = ServiceComponent {
        kind: ComponentKind::PhpFpm,
        at: "pool".to_owned(),
        pid: 11,
        is_behind: true,
    };
    let at = |children: f64, mebibytes| {
        let values = [set("php-fpm", "pool", "pm.max_children", children)];
        let rows = rows(&files, &values, mebibytes, vec![component.clone()]);
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows.into_iter().next().unwrap()
    };
    // 100 MiB and, without what is shared, 50: 75 MiB each, so that 200 fit into 15,000.
    let enough = at(160.0, (16_000, 14_850));
    assert_eq!(
        (enough.ok, enough.current.as_str(), enough.advised.as_str()),
        (true, "160 of 75 MiB", "at most 200")
    );
    assert_eq!(enough.binds_at, Some(4000));
    assert!(!at(201.0, (16_000, 14_850)).ok);
    // Few are set, but the users need more than fit.
    let scarce = at(5.0, (4000, 3600));
    assert_eq!((scarce.ok, scarce.binds_at), (false, Some(1000)));
}

/// Two processes of 50 MiB, in one of which PHP runs for each request.
#[test]
fn processes_of_apache_at_their_measured_size() {
    let worker = |pid: u32| {
        let page_len = rustix::param::page_size() as u64;
        let zeros = "0 ".repeat(19);
        format!("{pid} (apache2) S 21 {zeros}{}", (50 << 20) / page_len)
    };
    let files = [
        ("21/stat", worker(21)),
        ("21/task/21/children", "22 23 24".to_owned()),
        ("22/stat", worker(22)),
        ("23/stat", worker(23)),
        ("24/stat", worker(24).replace("apache2", "rotatelogs")),
    ];
    let component = ServiceComponent {
        kind: ComponentKind::Apache,
        at: "web".to_owned(),
        pid: 21,
        is_behind: false,
    };
    let at = |module: &str, workers: f64| {
        let labels = [
            ("at", "web"),
            ("kind", "apache"),
            ("setting", "MPM"),
            ("of", module),
        ];
        let values = [
            set("apache", "web", "MaxRequestWorkers", workers),
            (metric::series(metric::SETTING, &labels), 1.0),
        ];
        let rows = rows(&files, &values, (16_000, 9_900), vec![component.clone()]);
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows.into_iter().next().unwrap()
    };
    // 9,900 MiB, and the 100 that they have: 200 fit, and 3,000 users have 150 requests in progress.
    let enough = at("prefork", 200.0);
    assert_eq!(
        (enough.ok, enough.current.as_str(), enough.binds_at),
        (true, "200 of 50 MiB", Some(4000))
    );
    assert!(!at("prefork", 201.0).ok);
    // Sixteen processes of 25 threads.
    let threads = at("event", 400.0);
    assert_eq!(
        (threads.ok, threads.current.as_str()),
        (true, "16 of 50 MiB")
    );
}

#[test]
fn heaps_sessions_and_all_together() {
    let values = [
        set("jvm", "j", "-Xmx", 900.0 * MEBIBYTE),
        set("redis", "r", "maxmemory", 0.0),
        (
            metric::series(metric::REDIS_MEMORY, &[("at", "r")]),
            10.0 * MEBIBYTE,
        ),
        set("memcached", "m", "limit_maxbytes", 64.0 * MEBIBYTE),
        set("postgres", "p", "shared_buffers", 128.0 * MEBIBYTE),
        set("postgres", "p", "work_mem", 4.0 * MEBIBYTE),
        set("postgres", "p", "max_connections", 100.0),
        set("mariadb", "d", "innodb_buffer_pool_size", 512.0 * MEBIBYTE),
        set("mariadb", "d", "sort_buffer_size", 2.0 * MEBIBYTE),
        set("mariadb", "d", "join_buffer_size", 1.0 * MEBIBYTE),
        set("mariadb", "d", "max_connections", 151.0),
    ];
    let rows = rows(&[], &values, (1024, 512), Vec::new());
    let all: Vec<_> = rows
        .iter()
        .map(|row| (row.name.as_str(), row.ok, row.current.as_str()))
        .collect();
    let right = [
        ("-Xmx of the JVM against the memory (j)", false, "900 MiB"),
        (
            "maxmemory of Redis against the memory (r)",
            true,
            "none, 10 MiB in use",
        ),
        (
            "limit_maxbytes of memcached against the memory (m)",
            true,
            "64 MiB",
        ),
        (
            "memory for sessions of PostgreSQL (p)",
            true,
            "528 MiB: shared_buffers 128 MiB, 100 sessions of 4.0 MiB",
        ),
        (
            "memory for sessions of MariaDB (d)",
            false,
            "962 MiB: innodb_buffer_pool_size 512 MiB, 150 sessions of 3.0 MiB",
        ),
        (
            "memory that all components may take together",
            false,
            "2454 MiB",
        ),
    ];
    assert_eq!(all, right);
}

#[test]
fn the_limit_of_a_cgroup_counts() {
    let labels = [("cgroup", "/shop"), ("process", metric::TARGET)];
    let readings = Readings {
        values: [
            (metric::series(metric::CGROUP_MEMORY_LIMIT, &labels), 300.0),
            (metric::series(metric::CGROUP_MEMORY, &labels), 250.0),
            (
                metric::series(metric::CGROUP_MEMORY_INACTIVE, &labels),
                50.0,
            ),
        ]
        .into(),
        ..Readings::default()
    };
    let memory = Memory {
        available: 1000,
        ..Memory::default()
    };
    assert_eq!(room(&readings, memory).to_string(), "100");
    assert_eq!(room(&Readings::default(), memory).to_string(), "1000");
}
