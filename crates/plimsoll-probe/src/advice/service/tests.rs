//! Components of machines that were written down.

use super::*;
use crate::advice::component_readings::ComponentReadings;

/// nginx before PHP-FPM, and a Redis that has nothing to do with them.
const MACHINE: [(&str, &str); 15] = [
    ("8/comm", "nginx\n"),
    ("8/stat", "8 (nginx) S 1 0"),
    ("8/cmdline", "nginx: master process nginx -c /n.conf"),
    (
        "8/root/n.conf",
        "worker_processes 2;\nevents { worker_connections 64; }\nhttp { server { listen 80; tcp_nodelay off;\n\
         location / { fastcgi_pass unix:/run/php.sock; } } }\n",
    ),
    ("9/comm", "nginx\n"),
    ("9/stat", "9 (nginx) S 8 0"),
    ("11/comm", "php-fpm8.2\n"),
    ("11/stat", "11 (php-fpm8.2) S 1 0"),
    ("11/cmdline", "php-fpm: master process (/p/p.conf)"),
    (
        "11/root/p/p.conf",
        "[www]\nlisten = /run/php.sock\npm = static\npm.max_children = 1\n",
    ),
    ("11/root/p/php.ini", "opcache.enable=0\n"),
    ("12/comm", "redis-server\n"),
    ("12/stat", "12 (redis-server) S 1 0"),
    ("12/cmdline", "redis-server 127.0.0.1:6379"),
    ("1/comm", "systemd\n"),
];

/// Apache with a root of its own before PHP-FPM, and a Redis that has nothing to do with them.
const APACHE: [(&str, &str); 13] = [
    ("8/comm", "apache2\n"),
    ("8/stat", "8 (apache2) S 1 0"),
    (
        "8/cmdline",
        "/usr/sbin/apache2\0-f\0/srv/apache2.conf\0-k\0start\0",
    ),
    (
        "8/root/srv/apache2.conf",
        "ServerRoot /srv/web\nLoadModule mpm_event_module x.so\nIncludeOptional conf/*.conf\nListen 127.0.0.1:80\n",
    ),
    (
        "8/root/srv/web/conf/shop.conf",
        "ThreadsPerChild 4\nMaxRequestWorkers 8\n<FilesMatch \\.php$>\n\
         SetHandler \"proxy:unix:/run/php.sock|fcgi://localhost\"\n</FilesMatch>\n",
    ),
    ("9/comm", "apache2\n"),
    ("9/stat", "9 (apache2) S 8 0"),
    ("11/comm", "php-fpm8.2\n"),
    ("11/stat", "11 (php-fpm8.2) S 1 0"),
    ("11/cmdline", "php-fpm: master process (/p/p.conf)"),
    (
        "11/root/p/p.conf",
        "[www]\nlisten = /run/php.sock\npm = static\npm.max_children = 1\n",
    ),
    ("12/comm", "redis-server\n"),
    ("12/cmdline", "redis-server 127.0.0.1:6379"),
];

fn find(target: Option<u32>) -> (Service, Readings) {
    find_on(&MACHINE, target)
}

fn find_on(machine: &[(&str, &str)], target: Option<u32>) -> (Service, Readings) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in machine {
        let path = root.path().join("proc").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut files = Files::new(root.path().to_owned());
    let mut readings = Readings::default();
    let target = target.map(|pid| BTreeSet::from([pid]));
    let target = target.as_ref().map(|pids| TargetProcesses {
        pids,
        named_by: &[],
    });
    let mut service = Service::find(&mut files, &mut readings, target);
    service.components.sort_by_key(|component| component.pid);
    (service, readings)
}

#[test]
fn the_target_and_what_its_configuration_hands_requests_to() {
    let (service, readings) = find(Some(8));
    let found: Vec<_> = service
        .components
        .iter()
        .map(|component| (component.kind, component.at.as_str(), component.is_behind))
        .collect();
    let right = [
        (ComponentKind::Nginx, "/n.conf", false),
        (ComponentKind::PhpFpm, "/run/php.sock", true),
    ];
    assert_eq!(found, right);
    let setting = |at, name, of: &str| {
        let mut values = readings.values.iter();
        let own = values.find(|(series, _)| {
            label(series, "at") == Some(at)
                && label(series, "setting") == Some(name)
                && label(series, "of").unwrap_or_default() == of
        });
        own.map(|(_, value)| value.to_string())
    };
    for (at, name, of, value) in [
        ("/n.conf", "worker_connections", "", "64"),
        ("/n.conf", "worker_processes", "", "2"),
        ("/n.conf", "tcp_nodelay", "", "0"),
        ("/run/php.sock", "pm.max_children", "", "1"),
        ("/run/php.sock", "pm", "static", "1"),
        ("/run/php.sock", "opcache.enable", "", "0"),
        ("/run/php.sock", "opcache", "", "0"),
    ] {
        assert_eq!(setting(at, name, of).as_deref(), Some(value), "{name}");
    }
    assert_eq!(
        places_of(&readings, ComponentKind::PhpFpm),
        ["/run/php.sock"]
    );
    assert!(service.is_front(ComponentKind::Nginx, "/n.conf"));
    assert!(!service.is_front(ComponentKind::PhpFpm, "/run/php.sock"));
}

#[test]
fn apache_with_a_root_of_its_own_and_the_pool_behind_it() {
    let (service, readings) = find_on(&APACHE, Some(8));
    let found: Vec<_> = service
        .components
        .iter()
        .map(|component| (component.kind, component.at.as_str(), component.is_behind))
        .collect();
    let right = [
        (ComponentKind::Apache, "/srv/apache2.conf", false),
        (ComponentKind::PhpFpm, "/run/php.sock", true),
    ];
    assert_eq!(found, right);
    let apache = ComponentReadings {
        at: "/srv/apache2.conf",
        readings: &readings,
    };
    let workers = apache.setting("MaxRequestWorkers", "");
    assert_eq!(workers, Some((8.0, "/srv/web/conf/shop.conf:2")));
}

#[test]
fn all_of_the_machine_without_a_target() {
    let (service, _) = find(None);
    let kinds: Vec<_> = service
        .components
        .iter()
        .map(|component| component.kind)
        .collect();
    let right = [
        ComponentKind::Nginx,
        ComponentKind::PhpFpm,
        ComponentKind::Redis,
    ];
    assert_eq!(kinds, right);
    // The target is a process of none of them.
    let (service, readings) = find(Some(1));
    assert!(service.components.is_empty() && readings.values.is_empty());
}

#[test]
fn readings_of_another_service_are_left_out() {
    let at = |at| metric::series(metric::NGINX_DROPPED, &[("at", at)]);
    let mut readings = Readings::default();
    for series in [at("own"), at("other"), metric::CPU_COUNT.to_owned()] {
        readings.values.insert(series, 1.0);
    }
    let named_by = [("own".to_owned(), 8), ("other".to_owned(), 9)];
    let mut files = Files::new("/nowhere".into());
    leave_out(&mut files, &mut readings, &named_by, &BTreeSet::from([8]));
    let left: Vec<&String> = readings.values.keys().collect();
    assert_eq!(left, [&at("own"), metric::CPU_COUNT]);
    let notes = files.take_announced();
    assert!(notes[0].contains("the target uses it: other;"), "{notes:?}");
}

#[test]
fn what_is_reported_comes_before_what_is_written() {
    let at = |metric: &str| metric::series(metric, &[("at", "page")]);
    let own = [
        ("at", "page"),
        ("setting", "worker_connections"),
        ("file", "/n.conf:2"),
    ];
    let own = metric::series(metric::SETTING, &own);
    let mut readings = Readings::default();
    readings.values.insert(at(metric::NGINX_DROPPED), 0.0);
    readings.values.insert(own.clone(), 32.0);
    let config = ComponentConfig {
        at: "/n.conf".to_owned(),
        settings: vec![
            crate::collectors::FileSetting::number("worker_connections", 64.0, "/n.conf:2"),
            crate::collectors::FileSetting::number("worker_processes", 2.0, "/n.conf:1"),
        ],
        ..ComponentConfig::default()
    };
    let program = Program {
        kind: ComponentKind::Nginx,
        pid: 8,
        servers: Vec::new(),
        configs: vec![config],
    };
    let service = Service::of(vec![program], &mut readings);
    // The only nginx is the one that is scraped, wherever that is.
    assert_eq!(service.components[0].at, "page");
    assert_eq!(readings.values[&own].to_string(), "32");
    assert_eq!(readings.values.len(), 3, "{readings:?}");
}

/// pgbouncer with a database on a socket of its own folder, the PostgreSQL that listens there, and another one.
const POOLER: [(&str, &str); 16] = [
    ("20/comm", "pgbouncer\n"),
    ("20/stat", "20 (pgbouncer) S 1 0"),
    ("20/cmdline", "/usr/sbin/pgbouncer\0/etc/pgbouncer.ini\0"),
    (
        "20/root/etc/pgbouncer.ini",
        "[databases]\nshop = dbname=shop\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = 6432\n\
         unix_socket_dir = /var/run/postgresql\n",
    ),
    ("21/comm", "postgres\n"),
    ("21/stat", "21 (postgres) S 1 0"),
    ("21/cmdline", "/usr/bin/postgres\0-D\0/pg\0"),
    (
        "21/root/pg/postgresql.conf",
        "unix_socket_directories = '/run/postgresql'\nmax_connections = 50\n",
    ),
    ("22/comm", "postgres\n"),
    ("22/stat", "22 (postgres) S 21 0"),
    ("22/cmdline", "postgres: checkpointer \0"),
    ("23/comm", "postgres\n"),
    ("23/stat", "23 (postgres) S 1 0"),
    ("23/cmdline", "/usr/bin/postgres\0-D\0/other\0"),
    (
        "23/root/other/postgresql.conf",
        "unix_socket_directories = '/run/postgresql'\nport = 5433\n",
    ),
    ("1/comm", "systemd\n"),
];

#[test]
fn pgbouncer_leads_to_the_postgresql_of_its_socket() {
    let (service, readings) = find_on(&POOLER, Some(20));
    let found: Vec<_> = service
        .components
        .iter()
        .map(|component| (component.kind, component.at.as_str(), component.pid))
        .collect();
    let right = [
        (ComponentKind::Pgbouncer, "127.0.0.1:6432", 20),
        (ComponentKind::Postgres, "/pg/postgresql.conf", 21),
    ];
    assert_eq!(found, right);
    let postgres = ComponentReadings {
        at: "/pg/postgresql.conf",
        readings: &readings,
    };
    let connections = postgres.setting("max_connections", "");
    assert_eq!(connections, Some((50.0, "/pg/postgresql.conf:2")));
    // Of a host elsewhere nothing is here.
    let mut far = POOLER;
    far[3].1 = "[databases]\nshop = host=10.0.0.7\n[pgbouncer]\nlisten_addr = 127.0.0.1\n";
    let (service, _) = find_on(&far, Some(20));
    assert_eq!(service.components.len(), 1, "{service:?}");
}

#[test]
fn the_processes_behind_a_pooler_run_no_application() {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in POOLER {
        let path = root.path().join("proc").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut files = Files::new(root.path().to_owned());
    let known = processes(&mut files, &BTreeSet::from([20]));
    assert_eq!(known.pids, BTreeSet::from([20, 21]));
    assert!(!known.has_application);
}
