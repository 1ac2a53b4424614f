//! Settings of real programs, there and back.

use plimsoll_model::component::{ComponentAddress, ComponentKind};
use plimsoll_testkit::program::databases::{Mariadb, Postgres};
use plimsoll_testkit::program::{Haproxy, Redis};

use super::*;

fn tunable(kind: ComponentKind, place: ComponentAddress, setting: &str, of: &str) -> Tunable {
    Tunable {
        kind,
        place,
        setting: setting.to_owned(),
        of: of.to_owned(),
    }
}

fn tcp(address: std::net::SocketAddr) -> ComponentAddress {
    ComponentAddress::Tcp {
        host: address.ip().to_string(),
        port: address.port(),
    }
}

/// Changes a setting, verifies the change, and reverts it; returns the original value.
#[track_caller]
fn there_and_back(tunable: &Tunable, login: Option<&Login>, value: &str) -> String {
    let before = value_of(tunable, login).unwrap();
    apply(tunable, login, value).unwrap();
    assert_eq!(value_of(tunable, login).unwrap(), value);
    apply(tunable, login, &before).unwrap();
    assert_eq!(value_of(tunable, login).unwrap(), before);
    before
}

#[test]
fn redis_takes_more_clients() {
    let redis = Redis::start("maxclients 100\nrequirepass hidden");
    let tunable = tunable(ComponentKind::Redis, tcp(redis.address), "maxclients", "");
    let login = Login {
        password: "hidden".to_owned(),
        ..Login::default()
    };
    assert_eq!(there_and_back(&tunable, Some(&login), "400"), "100");
    let policy = Tunable {
        setting: "maxmemory-policy".to_owned(),
        ..tunable.clone()
    };
    assert_eq!(
        there_and_back(&policy, Some(&login), "allkeys-lru"),
        "noeviction"
    );
    assert!(apply(&policy, Some(&login), "allkeys--lru").is_err());
    let refused = value_of(&tunable, None).unwrap_err().to_string();
    assert!(refused.contains("NOAUTH"), "{refused}");
    // More than the system has descriptors for.
    assert!(apply(&tunable, Some(&login), "99999999999").is_err());
    assert_eq!(value_of(&tunable, Some(&login)).unwrap(), "100");
}

#[test]
fn haproxy_lets_more_through() {
    let servers = "  server s1 127.0.0.1:1 maxconn 20\n  server s2 127.0.0.1:1";
    let haproxy = Haproxy::start_with("level admin", "maxconn 30", servers);
    let of = |of: &str| {
        let place = ComponentAddress::Socket(haproxy.socket.clone());
        tunable(ComponentKind::Haproxy, place, "maxconn", of)
    };
    assert_eq!(there_and_back(&of("app/s1"), None, "80"), "20");
    assert_eq!(there_and_back(&of("app/s2"), None, "80"), "0");
    assert_eq!(there_and_back(&of("web"), None, "120"), "30");
    assert!(value_of(&of("app/s3"), None).is_err());
    let read_only = Haproxy::start("", servers);
    let place = ComponentAddress::Socket(read_only.socket.clone());
    let tunable = tunable(ComponentKind::Haproxy, place, "maxconn", "app/s1");
    let refused = apply(&tunable, None, "80").unwrap_err().to_string();
    assert!(refused.contains("level admin"), "{refused}");
}

#[test]
fn mariadb_takes_more_sessions() {
    let mariadb = Mariadb::start("max_connections = 20");
    let place = ComponentAddress::Socket(mariadb.socket.clone());
    let login = Login {
        user: "root".to_owned(),
        ..Login::default()
    };
    let own = tunable(ComponentKind::Mysql, place.clone(), "max_connections", "");
    assert_eq!(there_and_back(&own, Some(&login), "80"), "20");
    let flush = tunable(
        ComponentKind::Mysql,
        place.clone(),
        "innodb_flush_log_at_trx_commit",
        "",
    );
    assert_eq!(there_and_back(&flush, Some(&login), "2"), "0");
    // It is not a tunable, whatever a file contains.
    let other = tunable(ComponentKind::Mysql, place, "general_log_file", "");
    assert!(apply(&other, Some(&login), "1").is_err());
    assert!(apply(&own, Some(&login), "1; DROP TABLE t").is_err());
}

#[test]
fn postgres_is_changed_only_as_a_role_that_was_named() {
    let postgres = Postgres::start("work_mem = 64kB");
    let tunable = tunable(
        ComponentKind::Postgres,
        tcp(postgres.address),
        "work_mem",
        "",
    );
    let login = Login {
        user: "postgres".to_owned(),
        ..Login::default()
    };
    let refused = value_of(&tunable, None).unwrap_err().to_string();
    assert!(refused.contains("configured role"), "{refused}");
    // `postgresql.auto.conf` has no entry, before and afterwards.
    assert_eq!(there_and_back(&tunable, Some(&login), "1024kB"), "");
    postgres.execute("ALTER SYSTEM SET work_mem = '128kB'");
    assert_eq!(there_and_back(&tunable, Some(&login), "1024kB"), "128kB");
}

#[test]
fn open_files_of_a_process() {
    let redis = Redis::start("");
    let pid = redis.program.pid();
    let before = open_files(pid).unwrap();
    let lower = OpenFiles {
        soft: before.soft - 1,
        ..before
    };
    set_open_files(pid, lower).unwrap();
    assert_eq!(open_files(pid).unwrap(), lower);
    set_open_files(pid, before).unwrap();
    let other = OpenFiles {
        started: before.started + 1,
        ..before
    };
    assert!(set_open_files(pid, other).is_err());
}

#[test]
fn what_a_person_does() {
    let place = ComponentAddress::Socket("/run/h.sock".into());
    let haproxy = tunable(ComponentKind::Haproxy, place, "maxconn", "app/s1");
    assert_eq!(
        manual_command(&haproxy, "20"),
        "`echo 'set maxconn server app/s1 20' | socat - /run/h.sock`"
    );
    let place = ComponentAddress::Tcp {
        host: "db".to_owned(),
        port: 5432,
    };
    let postgres = tunable(ComponentKind::Postgres, place, "work_mem", "");
    assert_eq!(
        manual_command(&postgres, ""),
        "`ALTER SYSTEM RESET work_mem`, then `SELECT pg_reload_conf()`, in PostgreSQL at db:5432"
    );
    assert_eq!(format_value(&postgres, 1_048_576.0), "1024kB");
    assert_eq!(format_value(&haproxy, 80.0), "80");
}
