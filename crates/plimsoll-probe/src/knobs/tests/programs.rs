//! Knobs of real programs: another level of each is written, the program's own check accepts it, and the reload works.

use std::path::PathBuf;
use std::process::Command;

use plimsoll_testkit::program::databases::{Mariadb, Postgres};
use plimsoll_testkit::program::engines::Uwsgi;
use plimsoll_testkit::program::runtimes::PhpFpm;
use plimsoll_testkit::program::servers::{Apache, Pgbouncer};
use plimsoll_testkit::program::{Haproxy, Nginx, Program, Redis};

use super::*;

/// The knobs of one program, as if no other server ran: those of other tests come and go.
fn found_of(pid: u32) -> KnobsFound {
    let mut files = Files::new(PathBuf::from("/"));
    let plan = KnobPlan {
        target_address: None,
        unix_socket: None,
        components: Vec::new(),
        kernel: false,
        root: PathBuf::from("/"),
    };
    let mut servers = processes::servers(&mut files);
    servers.retain(|server| server.pid == pid || server.workers.contains(&pid));
    assert_eq!(servers.len(), 1, "pid {pid} is known as a server");
    find_of(&mut files, &plan, &BTreeSet::from([pid]), servers)
}

#[track_caller]
fn run(command: &[String]) {
    let output = Command::new(&command[0])
        .args(&command[1..])
        .output()
        .unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// Writes another level of each knob into the files of a program, checks and reloads; returns the names of these knobs.
#[track_caller]
fn levels_of(program: &Program) -> Vec<String> {
    let found = found_of(program.pid());
    let mut tried = Vec::new();
    for file in found
        .files
        .iter()
        .filter(|file| file.path.starts_with(program.path()))
    {
        let own = |name: &str| file.edits.iter().any(|edit| edit.knob == name);
        let knobs: Vec<&FoundKnob> = found.knobs.iter().filter(|knob| own(&knob.name)).collect();
        let mut text = template(&file.text, &file.edits, &|_| true);
        for knob in &knobs {
            let other = knob
                .levels
                .iter()
                .find(|level| **level != knob.now)
                .unwrap();
            text = text.replace(&format!("{{{{ {} }}}}", knob.name), other);
        }
        let text = text.replace("{{ '{{' }}", "{{");
        std::fs::write(&file.path, text).unwrap();
        file.check.iter().for_each(|check| run(check));
        run(file.reload.as_ref().unwrap());
        tried.extend(knobs.iter().map(|knob| knob.name.clone()));
    }
    tried.sort_unstable();
    tried
}

#[test]
fn nginx_accepts_levels() {
    let locations = "location / { proxy_pass http://127.0.0.1:1; }";
    let nginx = Nginx::start(64, false, locations);
    assert_eq!(
        levels_of(&nginx.program),
        [
            "nginx_backlog",
            "nginx_keepalive_requests",
            "nginx_keepalive_timeout",
            "nginx_proxy_buffers",
            "nginx_worker_connections",
            "nginx_worker_processes",
        ]
    );
}

#[test]
fn nginx_keeps_connections_to_servers_that_it_kept_none_to() {
    let upstream = "upstream app { least_conn; server 127.0.0.1:1; server 127.0.0.1:2; }";
    let location = "location / { proxy_http_version 1.1; proxy_set_header Connection ''; proxy_pass http://app; }";
    let nginx = Nginx::start_with(64, false, ["error", upstream, location]);
    let tried = levels_of(&nginx.program);
    let own = "nginx_upstream_keepalive".to_owned();
    assert!(tried.contains(&own), "{tried:?}");
    let text = std::fs::read_to_string(&nginx.configuration).unwrap();
    assert!(text.contains("\n    keepalive 16;\n }"), "{text}");
}

#[test]
fn haproxy_accepts_levels() {
    let servers = "  server s1 127.0.0.1:1 maxconn 20\n  server s2 127.0.0.1:1 maxconn 20";
    let haproxy = Haproxy::start("maxconn 30", servers);
    assert_eq!(
        levels_of(&haproxy.program),
        [
            "haproxy_app_server_maxconn",
            "haproxy_nbthread",
            "haproxy_timeout_queue",
            "haproxy_web_maxconn",
        ]
    );
}

#[test]
fn apache_accepts_levels() {
    let apache = Apache::start(4, ([127, 0, 0, 1], 1).into());
    // Four servers are its limit until it is restarted, and one below them.
    assert_eq!(
        levels_of(&apache.program),
        [
            "apache_KeepAlive",
            "apache_KeepAliveTimeout",
            "apache_MaxConnectionsPerChild",
        ]
    );
}

#[test]
fn php_fpm_accepts_levels() {
    let php = PhpFpm::start(2, false, "echo 1;");
    assert_eq!(
        levels_of(&php.program),
        ["php_pm_max_children", "php_pm_max_requests"]
    );
}

#[test]
fn uwsgi_accepts_levels() {
    let uwsgi = Uwsgi::start(1, "0");
    assert_eq!(
        levels_of(&uwsgi.program),
        ["uwsgi_processes", "uwsgi_threads"]
    );
}

#[test]
fn gunicorn_accepts_levels() {
    let folder = tempfile::tempdir().unwrap();
    let app = "def app(environ, start):\n    start('200 OK', [])\n    return [b'done']\n";
    std::fs::write(folder.path().join("app.py"), app).unwrap();
    let command = ["gunicorn", "--bind", "127.0.0.1:0", "app:app"];
    let gunicorn = Program::start(folder, &command, "Booting worker");
    // It has no file: one is created in its folder.
    assert_eq!(
        levels_of(&gunicorn),
        [
            "gunicorn_max_requests",
            "gunicorn_threads",
            "gunicorn_workers"
        ]
    );
    assert!(gunicorn.path().join("gunicorn.conf.py").exists());
}

#[test]
fn postgres_and_its_pooler_accept_levels() {
    let postgres = Postgres::start("work_mem = 64kB");
    let tried = levels_of(&postgres.program);
    assert!(tried.contains(&"postgres_work_mem".to_owned()), "{tried:?}");
    assert!(
        !tried.contains(&"postgres_shared_buffers".to_owned()),
        "{tried:?}"
    );
    let pooler = Pgbouncer::start(&postgres, 5);
    assert_eq!(
        levels_of(&pooler.program),
        [
            "pgbouncer_default_pool_size",
            "pgbouncer_max_client_conn",
            "pgbouncer_reserve_pool_size",
        ]
    );
}

#[test]
fn stores_tell_and_take_levels() {
    let redis = Redis::start("maxclients 100");
    let found = found_of(redis.program.pid());
    assert_eq!(knob(&found, "redis_maxclients").now, "100");
    let place = &knob(&found, "redis_maxclients").place;
    assert!(
        matches!(
            place,
            KnobPlace::Set {
                setting: "maxclients",
                ..
            }
        ),
        "{place:?}"
    );
    let places = found.watch.iter().map(|own| own.place.to_string());
    assert!(places.eq([redis.address.to_string()]), "{:?}", found.watch);
    let mariadb = Mariadb::start("max_connections = 20");
    let found = found_of(mariadb.program.pid());
    // Its interface answers the account that this process runs as.
    if rustix::process::geteuid().is_root() {
        assert_eq!(knob(&found, "mariadb_max_connections").now, "20");
        let pool = knob(&found, "mariadb_innodb_buffer_pool_size");
        assert_eq!(pool.now, "134217728");
    }
}

#[test]
fn node_without_a_unit_tells_how_it_was_started() {
    let folder = tempfile::tempdir().unwrap();
    let server = "require('http').createServer((_, r) => r.end('x')).listen(0, '127.0.0.1', () => console.log('ready'))";
    std::fs::write(folder.path().join("server.js"), server).unwrap();
    let place = folder.path().display().to_string();
    let command = [
        "env",
        "UV_THREADPOOL_SIZE=2",
        "API_TOKEN=hunter2",
        "node",
        "server.js",
        "--token",
        "hunter2",
    ];
    let node = Program::start(folder, &command, "ready");
    let found = found_of(node.pid());
    let mut knobs = found.knobs.iter();
    let knob = knobs
        .find(|knob| knob.name == "node_UV_THREADPOOL_SIZE")
        .unwrap();
    assert_eq!(knob.now, "2");
    let KnobPlace::Unreachable(why) = &knob.place else {
        unreachable!("{knob:?}")
    };
    let started = format!("It was started in {place} by `");
    assert!(why.contains(&started), "{why}");
    assert!(why.contains("node server.js --token "), "{why}");
    assert!(!why.contains("hunter2"), "{why}");
    let mut starts = found.starts.iter();
    let start = starts.find(|start| start.pid == node.pid()).unwrap();
    // The program is that of its own PATH, which the experiment may not have.
    assert!(Path::new(&start.command[0]).is_absolute(), "{start:?}");
    assert_eq!(start.command[1..3], ["server.js", "--token"]);
    assert_eq!(start.folder, place);
    let variables = start.variables.as_deref().unwrap();
    let value = |name: &str| {
        let mut own = variables.iter().filter(|own| own.name == name);
        own.next().map(|own| own.value.as_deref())
    };
    assert_eq!(value("UV_THREADPOOL_SIZE"), Some(Some("2")));
    assert_eq!(value("API_TOKEN"), Some(None));
    assert_eq!(value("PATH"), None);
    assert!(!format!("{start:?}").contains("hunter2"), "{start:?}");
    assert!(
        why.contains(&format!("`kill -TERM {}`", node.pid())),
        "{why}"
    );
}
