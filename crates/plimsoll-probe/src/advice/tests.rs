//! Advice on this host, on a badly configured one, and on components of a service.

use std::fs;

use plimsoll_model::component::ComponentKind;
use plimsoll_model::metric::SETTING;
use plimsoll_model::reading::{Readings, label};
use plimsoll_testkit::program::databases::{Mariadb, Postgres};
use plimsoll_testkit::program::engines::Uwsgi;
use plimsoll_testkit::program::pool::Hikari;
use plimsoll_testkit::program::runtimes::{PASSWORDS, PhpFpm, Puma, Script};
use plimsoll_testkit::program::servers::{Apache, Gunicorn, Pgbouncer};
use plimsoll_testkit::program::{Haproxy, Memcached, Nginx, Redis};

use super::*;

fn find<'a>(advice: &'a [Advice], name: &str) -> &'a Advice {
    advice
        .iter()
        .find(|advice| advice.name.starts_with(name))
        .unwrap_or_else(|| panic!("{name} is missing in {advice:#?}"))
}

#[test]
fn the_backlog_of_a_real_listener_binds_first() {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let any: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
    socket.bind(&any.into()).unwrap();
    socket.listen(9).unwrap();
    let plan = ProbePlan {
        target_address: socket.local_addr().unwrap().as_socket(),
        ..ProbePlan::default()
    };
    let advice = check(&plan, &Demand::early()).advice;
    let backlog = find(&advice, "backlog of 127.0.0.1:");
    assert_eq!((backlog.current.as_str(), backlog.ok), ("9", false));
    // Nothing of the network can bind earlier than at nine connections. Programs of other tests are children of the target.
    let earlier = &advice[..usize::try_from(backlog.rank).unwrap()];
    assert!(
        earlier
            .iter()
            .all(|advice| !advice.name.starts_with("net.") && !advice.name.contains("open files")),
        "{advice:#?}"
    );
    let own = find(&advice, "open files of this shell");
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    assert_eq!(own.current, limit.current.unwrap().to_string());
    assert!(advice.is_sorted_by_key(|advice| (advice.ok, advice.rank)));
}

#[test]
fn a_badly_set_host_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("proc/stat", "cpu  1 0 1 1\ncpu0 1 0 1 1\ncpu1 0 0 0 0\n"),
        (
            "proc/self/limits",
            "Max open files            256                  4096                 files\n",
        ),
        (
            "proc/meminfo",
            "MemTotal: 1000000 kB\nSwapTotal: 2097152 kB\n",
        ),
        ("proc/sys/net/core/somaxconn", "128\n"),
        ("proc/sys/net/ipv4/ip_local_port_range", "50000\t50999\n"),
        ("proc/sys/net/ipv4/tcp_tw_reuse", "0\n"),
        ("proc/sys/net/ipv4/tcp_max_syn_backlog", "128\n"),
        ("proc/sys/net/netfilter/nf_conntrack_max", "65536\n"),
        ("proc/sys/net/netfilter/nf_conntrack_count", "60000\n"),
        ("proc/sys/fs/file-max", "100000\n"),
        ("proc/sys/vm/swappiness", "60\n"),
        ("proc/sys/vm/overcommit_memory", "2\n"),
        (
            "sys/kernel/mm/transparent_hugepage/enabled",
            "[always] madvise never\n",
        ),
        (
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "hpet\n",
        ),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let plan = ProbePlan {
        root: folder.path().to_owned(),
        ..ProbePlan::default()
    };
    let advice = check(&plan, &Demand::early()).advice;
    let (fine, bad): (Vec<_>, Vec<_>) = advice.iter().partition(|advice| advice.ok);
    let fine: Vec<_> = fine.iter().map(|advice| advice.name.as_str()).collect();
    assert_eq!(fine, ["cgroup CPU quota of the generator"]);
    let order: Vec<_> = bad.iter().map(|advice| advice.name.as_str()).collect();
    assert_eq!(
        order,
        [
            "net.core.somaxconn",
            "net.ipv4.tcp_max_syn_backlog",
            "open files of this shell (ulimit -n)",
            "net.ipv4.ip_local_port_range",
            "net.netfilter.nf_conntrack_max",
            "fs.file-max",
            "net.ipv4.tcp_tw_reuse",
            "vm.swappiness",
            "vm.overcommit_memory",
            "transparent huge pages",
            "time source",
        ]
    );
}

#[test]
fn parts_that_bind_for_so_many_users_are_told_with_file_and_value() {
    let nginx = Nginx::start(64, true, "location / { return 204; }");
    let Checked { advice, notes } = check(&ProbePlan::default(), &Demand::assumed(3000));
    let name = format!("worker_connections of nginx ({})", nginx.page());
    let own = find(&advice, &name);
    let current = format!("64 ({}:3)", nginx.configuration.display());
    assert_eq!(
        (own.current.as_str(), own.advised.as_str()),
        (current.as_str(), "6000 or more")
    );
    assert_eq!((own.binds_at, own.ok), (Some(32), false));
    assert!(
        notes.iter().any(|note| note.contains(&nginx.page())),
        "{notes:?}"
    );
    let advice = check(&ProbePlan::default(), &Demand::assumed(30)).advice;
    assert!(find(&advice, &name).ok, "{advice:#?}");
}

/// Neither has a status page, and nobody gives a number of users.
#[test]
fn a_pool_of_one_process_behind_the_target_is_reported() {
    let fpm = PhpFpm::without_page(1, "echo 1;");
    let nginx = Nginx::start(1024, false, &fpm.location());
    // A pool of another service.
    let other = PhpFpm::without_page(2, "echo 2;");
    let plan = ProbePlan {
        target_address: Some(nginx.address),
        ..ProbePlan::default()
    };
    let advice = check(&plan, &Demand::early()).advice;
    let pool = find(
        &advice,
        &format!("pm.max_children of PHP-FPM ({})", fpm.address),
    );
    let current = format!("1 ({}:", fpm.configuration.display());
    assert!(pool.current.starts_with(&current), "{pool:?}");
    assert_eq!((pool.binds_at, pool.ok), (Some(20), false));
    let memory = find(
        &advice,
        &format!("memory for PHP-FPM's processes ({})", fpm.address),
    );
    assert!(memory.ok, "{memory:?}");
    let workers = find(&advice, "worker_connections of nginx (");
    assert_eq!((workers.binds_at, workers.ok), (Some(512), true));
    let stranger = other.address.to_string();
    assert!(
        !advice.iter().any(|advice| advice.name.contains(&stranger)),
        "{advice:#?}"
    );
}

/// An application connects to its database for the time of a request only.
#[test]
fn the_only_database_of_the_machine_is_taken_for_that_of_the_target() {
    let alone = |owner: u32, further: &[u32]| {
        let root = tempfile::tempdir().unwrap();
        let put = |path: String, text: &str| {
            let path = root.path().join("proc").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let process = |pid: u32, comm: &str, line: &str, owner: u32| {
            let numbers = "0 ".repeat(30);
            put(format!("{pid}/comm"), &format!("{comm}\n"));
            put(
                format!("{pid}/stat"),
                &format!("{pid} ({comm}) S 1 {numbers}"),
            );
            put(format!("{pid}/cmdline"), line);
            let id = format!("Uid:\t{owner}\t{owner}\nGid:\t{owner}\t{owner}\n");
            put(format!("{pid}/status"), &id);
        };
        process(8, "php-fpm8.2", "php-fpm: master process (/p.conf)", 0);
        for pid in [12].iter().chain(further) {
            let line = format!("mariadbd\0--socket=/run/{pid}.sock\0");
            process(*pid, "mariadbd", &line, owner);
        }
        let mut probe = Probe::open(ProbePlan {
            pids: vec![8],
            auto: true,
            root: root.path().to_owned(),
            ..ProbePlan::default()
        });
        let mut files = Files::new(root.path().to_owned());
        let known = service::processes(&mut files, &probe.related());
        assert!(known.has_application);
        let alone = probe.watch_alone(&service::DATABASES, &known.pids);
        let notes = probe.take_announced().join("\n");
        assert_eq!(
            notes.contains("is the only one of its kind"),
            !alone.is_empty(),
            "{notes}"
        );
        alone.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(alone(105, &[]), [12]);
    // Of two it is unknown which one, and a person's own is not looked into.
    assert!(alone(105, &[13]).is_empty());
    assert!(alone(4_000_000, &[]).is_empty());
}

/// The settings of the only component of a process, by their names, as its configuration gives them.
#[track_caller]
fn settings_of(pid: u32, kind: ComponentKind, wanted: &[(&str, &str)]) {
    let mut readings = Readings::default();
    let target = BTreeSet::from([pid]);
    let mut files = Files::new("/".into());
    let target = service::TargetProcesses {
        pids: &target,
        named_by: &[],
    };
    let service = Service::find(&mut files, &mut readings, Some(target));
    let kinds: Vec<_> = service
        .components
        .iter()
        .map(|component| component.kind)
        .collect();
    assert_eq!(kinds, [kind], "{:?}", files.notes());
    for (name, value) in wanted {
        let mut all = readings.values.iter();
        let own = all.find(|(series, _)| {
            series.starts_with(SETTING) && label(series, "setting") == Some(*name)
        });
        let own = own.map(|(series, value)| match label(series, "of") {
            Some(word) => word.to_owned(),
            None => value.to_string(),
        });
        assert_eq!(
            own.as_deref(),
            Some(*value),
            "{name} of {kind:?}: {readings:?}"
        );
    }
}

#[test]
fn configurations_of_real_programs_are_read_without_scraping_them() {
    let unused = "127.0.0.1:1".parse().unwrap();
    let apache = Apache::start(7, unused);
    let wanted = [
        ("MaxRequestWorkers", "7"),
        ("ServerLimit", "7"),
        ("MPM", "prefork"),
    ];
    settings_of(apache.program.pid(), ComponentKind::Apache, &wanted);
    // More workers may still be starting.
    let gunicorn = Gunicorn::start(1, "0");
    let wanted = [("workers", "1"), ("threads", "1"), ("backlog", "2048")];
    settings_of(gunicorn.program.pid(), ComponentKind::Gunicorn, &wanted);
    let uwsgi = Uwsgi::start(2, "0");
    let wanted = [("processes", "2"), ("threads", "1"), ("listen", "100")];
    settings_of(uwsgi.program.pid(), ComponentKind::Uwsgi, &wanted);
    let puma = Puma::sleeping(4, "0");
    let wanted = [("workers", "1"), ("threads", "4")];
    settings_of(puma.program.pid(), ComponentKind::Puma, &wanted);
    let memcached = Memcached::start(64);
    settings_of(
        memcached.program.pid(),
        ComponentKind::Memcached,
        &[("max_connections", "64")],
    );
    let haproxy = Haproxy::start("maxconn 30", "  server s1 127.0.0.1:1 maxconn 20");
    settings_of(haproxy.program.pid(), ComponentKind::Haproxy, &[]);
    let fpm = PhpFpm::without_page(5, "echo 1;");
    let wanted = [("pm", "static"), ("pm.max_children", "5")];
    settings_of(fpm.program.pid(), ComponentKind::PhpFpm, &wanted);
    let mariadb = Mariadb::start("max_connections = 20\nskip-name-resolve");
    let wanted = [
        ("max_connections", "20"),
        ("skip_name_resolve", "1"),
        ("innodb_flush_log_at_trx_commit", "0"),
        ("innodb_buffer_pool_size", "134217728"),
    ];
    settings_of(mariadb.program.pid(), ComponentKind::Mysql, &wanted);
    let redis = Redis::start("");
    settings_of(redis.program.pid(), ComponentKind::Redis, &[]);
    let node = Script::start("node --max-old-space-size=64", PASSWORDS);
    let wanted = [("processes", "1"), ("--max-old-space-size", "67108864")];
    settings_of(node.program.pid(), ComponentKind::Node, &wanted);
}

/// The second file names the folder of the socket in place of the address.
#[test]
fn a_real_pgbouncer_leads_to_its_database_by_address_and_by_socket() {
    let database = Postgres::start("max_connections = 17");
    let pooler = Pgbouncer::start(&database, 2);
    let text = fs::read_to_string(&pooler.configuration).unwrap();
    let address = format!("host={}", database.address.ip());
    let folder = format!("host={}", database.program.path().display());
    let by_socket = text.replace(&address, &folder);
    assert_ne!(text, by_socket);
    let pids = BTreeSet::from([pooler.program.pid(), database.program.pid()]);
    for written in [text, by_socket] {
        fs::write(&pooler.configuration, &written).unwrap();
        let target = BTreeSet::from([pooler.program.pid()]);
        let target = service::TargetProcesses {
            pids: &target,
            named_by: &[],
        };
        let mut readings = Readings::default();
        let mut files = Files::new("/".into());
        let service = Service::find(&mut files, &mut readings, Some(target));
        let components = service.components.iter();
        let found: BTreeSet<u32> = components.map(|component| component.pid).collect();
        assert_eq!(found, pids, "{written}: {:?}", files.notes());
        let connections = readings.values.iter().find(|(series, _)| {
            label(series, "setting") == Some("max_connections")
                && label(series, "kind") == Some("postgres")
        });
        assert_eq!(
            connections.map(|found| *found.1),
            Some(17.0),
            "{readings:?}"
        );
    }
}

/// A pool of two connections that its program has set: that cannot be read, and its threads show that it is there.
#[test]
fn a_real_pool_of_java_is_known_by_its_threads() {
    let database = Postgres::start("");
    let shop = Hikari::start(&database, 2, "SELECT 1");
    let wanted = [("spring.datasource.hikari.maximum-pool-size", "10")];
    settings_of(shop.program.pid(), ComponentKind::Jvm, &wanted);
    let plan = ProbePlan {
        pids: vec![shop.program.pid()],
        ..ProbePlan::default()
    };
    let advice = check(&plan, &Demand::assumed(3000)).advice;
    let pool = find(&advice, "maximum-pool-size of HikariCP");
    assert!(pool.is_hint && pool.binds_at.is_none(), "{pool:?}");
    let heap = find(&advice, "-Xmx of the JVM against the memory");
    assert!(heap.ok && heap.current.contains("25 % of"), "{heap:?}");
}

#[test]
fn what_is_advised_suffices_for_the_users_that_are_expected() {
    let suffice = |advised: &str, binds_at| {
        let mut advice = Advice::new("net.core.somaxconn", 4096, advised, true).binds_at(binds_at);
        advice.suffice_for(6000);
        (advice.advised, advice.ok)
    };
    assert_eq!(suffice("4096", 4096), ("6000 or more".to_owned(), false));
    assert_eq!(
        suffice("1024 or more", 2048),
        ("6000 or more".to_owned(), false)
    );
    assert_eq!(suffice("65536", 1024), ("65536".to_owned(), false));
    assert_eq!(
        suffice("1024 65535", 5000),
        ("1024 65535".to_owned(), false)
    );
    assert_eq!(suffice("4096", 6000), ("4096".to_owned(), true));
}
