//! Reads a component to collect from: its address and login.

use plimsoll_model::component::{Component, ComponentAddress, ComponentKind, Login};

use super::metrics;
use super::valid::valid;
use crate::document::{DocumentNode, DocumentReader, NodeKind};

/// Keys of the components that have a collector.
pub(super) const COMPONENTS: [(&str, ComponentKind); 28] = [
    ("apache", ComponentKind::Apache),
    ("go", ComponentKind::Go),
    ("gunicorn", ComponentKind::Gunicorn),
    ("haproxy", ComponentKind::Haproxy),
    ("haproxy-log", ComponentKind::HaproxyLog),
    ("jvm", ComponentKind::Jvm),
    ("mariadb", ComponentKind::Mysql),
    ("memcached", ComponentKind::Memcached),
    ("mongodb", ComponentKind::Mongo),
    ("mysql", ComponentKind::Mysql),
    ("nginx", ComponentKind::Nginx),
    ("nginx-access-log", ComponentKind::NginxAccessLog),
    ("nginx-log", ComponentKind::NginxLog),
    ("node", ComponentKind::Node),
    ("openmetrics", ComponentKind::Prometheus),
    ("otlp", ComponentKind::Otlp),
    ("pgbouncer", ComponentKind::Pgbouncer),
    ("php-fpm", ComponentKind::PhpFpm),
    ("php-fpm-slowlog", ComponentKind::PhpFpmSlowlog),
    ("postgres", ComponentKind::Postgres),
    ("postgresql", ComponentKind::Postgres),
    ("prometheus", ComponentKind::Prometheus),
    ("puma", ComponentKind::Puma),
    ("python", ComponentKind::Python),
    ("redis", ComponentKind::Redis),
    ("uwsgi", ComponentKind::Uwsgi),
    ("valkey", ComponentKind::Redis),
    ("varnish", ComponentKind::Varnish),
];
/// Command that dumps the stacks of a Python process, given its id.
const PY_SPY_DUMP: &str = "py-spy dump --json --subprocesses --pid";
/// Keys of a component with a login.
const WORDS: [&str; 4] = ["at", "database", "password", "user"];

/// Reads a component: its address, or a map with a login.
pub(super) fn component(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    kind: ComponentKind,
) -> Option<Component> {
    if kind == ComponentKind::Prometheus {
        return metrics::page(reader, node);
    }
    let valid = valid(kind);
    if let NodeKind::Map(entries) = &node.kind {
        for (key, _) in entries {
            if !WORDS.contains(&key.text.as_str()) {
                reader.unknown(&key.span, "key", &key.text, &WORDS);
            }
        }
        let Some(at) = node.get("at") else {
            reader.report(node, "`at` is missing", format!("at: {valid}"));
            return None;
        };
        let word = |name: &str| node.get(name).map(|node| reader.word(node, "a text"));
        let (user, password, database) = (word("user"), word("password"), word("database"));
        if kind != ComponentKind::Postgres && database.is_some() {
            let message = format!("{} takes no `database`", kind.name());
            reader.report(node, message, valid);
            return None;
        }
        if !has_login(kind) && (user.is_some() || password.is_some()) {
            let message = format!("{} takes no login", kind.name());
            reader.report(node, message, valid);
            return None;
        }
        let mut component = at_place(reader, at, kind)?;
        let has_users = matches!(
            kind,
            ComponentKind::Postgres
                | ComponentKind::Mysql
                | ComponentKind::Pgbouncer
                | ComponentKind::Mongo
        );
        if !has_users && user.is_some() && password.is_none() {
            reader.report(node, "`user` needs a password", "user and password");
            return None;
        }
        if user.is_none() && has_users && (password.is_some() || database.is_some()) {
            reader.report(node, "`user` is missing", "user, password and database");
            return None;
        }
        if user.is_some() || password.is_some() {
            // Users of a socket, or from a trusted address, need no password.
            component.login = Some(Login {
                user: user.flatten().unwrap_or_default(),
                password: password.flatten().unwrap_or_default(),
                database: database.flatten().unwrap_or_default(),
            });
        }
        return Some(component);
    }
    at_place(reader, node, kind)
}

fn has_login(kind: ComponentKind) -> bool {
    let kinds = [
        ComponentKind::Redis,
        ComponentKind::Postgres,
        ComponentKind::Mysql,
        ComponentKind::Puma,
        ComponentKind::Pgbouncer,
        ComponentKind::Mongo,
    ];
    kinds.contains(&kind)
}

fn at_place(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    kind: ComponentKind,
) -> Option<Component> {
    let valid = valid(kind);
    let text = reader.word(node, valid)?;
    let Some((place, login)) = place(kind, &text) else {
        // The text may contain a password.
        let shown = text.rsplit('@').next().unwrap_or_default();
        let message = format!("`{shown}` is not an address of {}", kind.name());
        reader.report(node, message, valid);
        return None;
    };
    Some(Component { kind, place, login })
}

/// Parses the address of a component, and the login in it.
pub(super) fn place(kind: ComponentKind, text: &str) -> Option<(ComponentAddress, Option<Login>)> {
    let is_path = kind != ComponentKind::Jvm || text.starts_with('/');
    if has_file(kind) && is_path {
        let is_file = text.starts_with('/') && !text.ends_with('/');
        return is_file.then(|| (ComponentAddress::File(text.into()), None));
    }
    if matches!(kind, ComponentKind::Varnish | ComponentKind::Python) {
        return command(kind, text.trim()).map(|place| (place, None));
    }
    let socket = text
        .strip_prefix("unix:")
        .or(text.starts_with('/').then_some(text));
    if let Some(path) = socket {
        let path = path.strip_prefix("//").unwrap_or(path);
        if kind == ComponentKind::PhpFpm {
            return fpm_socket(path).map(|place| (place, None));
        }
        let has_none = matches!(
            kind,
            ComponentKind::Nginx
                | ComponentKind::Apache
                | ComponentKind::Jvm
                | ComponentKind::Go
                | ComponentKind::Otlp
        );
        let is_right = path.starts_with('/') && !has_none;
        return is_right.then(|| (ComponentAddress::Socket(path.into()), None));
    }
    if kind == ComponentKind::Otlp {
        // Services are configured with a URL.
        let text = text.strip_prefix("http://").unwrap_or(text);
        let (host, port) = host_and_port(text.trim_end_matches('/'), 4318)?;
        return Some((ComponentAddress::Tcp { host, port }, None));
    }
    if let Some(rest) = text.strip_prefix("http://") {
        return page(kind, rest).map(|place| (place, None));
    }
    if kind == ComponentKind::PhpFpm {
        let split = text.find('/').unwrap_or(text.len());
        let (host, port) = host_and_port(&text[..split], 9000)?;
        let path = text[split..].to_owned();
        let place = if path.is_empty() {
            ComponentAddress::Tcp { host, port }
        } else {
            ComponentAddress::Page { host, port, path }
        };
        return Some((place, None));
    }
    let schemes: &[&str] = match kind {
        ComponentKind::Redis => &["redis://"],
        ComponentKind::Postgres => &["postgres://", "postgresql://"],
        ComponentKind::Mysql => &["mysql://", "mariadb://"],
        ComponentKind::Mongo => &["mongodb://"],
        ComponentKind::Pgbouncer => &["pgbouncer://", "postgres://", "postgresql://"],
        _ => &[],
    };
    let after = schemes.iter().find_map(|scheme| text.strip_prefix(scheme));
    let (rest, login) = match after {
        Some(rest) if kind == ComponentKind::Redis => with_login(rest.trim_end_matches('/')),
        Some(rest) => with_database(rest),
        None => (text, None),
    };
    let port = default_port(kind)?;
    let (host, port) = host_and_port(rest, port)?;
    Some((ComponentAddress::Tcp { host, port }, login))
}

/// Whether a component is read from a file that it writes.
fn has_file(kind: ComponentKind) -> bool {
    kind.is_log() || kind == ComponentKind::Jvm
}

fn command(kind: ComponentKind, text: &str) -> Option<ComponentAddress> {
    let is_right = !text.is_empty() && !text.chars().any(char::is_control);
    let command = match text.parse::<u32>() {
        Ok(pid) if kind == ComponentKind::Python => format!("{PY_SPY_DUMP} {pid}"),
        _ => text.to_owned(),
    };
    is_right.then_some(ComponentAddress::Command(command))
}

/// An HTTP endpoint, for components that have one.
fn page(kind: ComponentKind, rest: &str) -> Option<ComponentAddress> {
    let split = rest.find('/').unwrap_or(rest.len());
    let (host, port) = host_and_port(&rest[..split], 80)?;
    let path = match &rest[split..] {
        "" => "/".to_owned(),
        path => path.to_owned(),
    };
    let is_safe = path.bytes().all(|byte| byte.is_ascii_graphic());
    let has_page = matches!(
        kind,
        ComponentKind::Nginx
            | ComponentKind::Haproxy
            | ComponentKind::Apache
            | ComponentKind::Prometheus
            | ComponentKind::Jvm
            | ComponentKind::Uwsgi
            | ComponentKind::Go
    );
    (is_safe && has_page).then_some(ComponentAddress::Page { host, port, path })
}

/// The default port, 0 without one; `None` for components that have no address of this form.
fn default_port(kind: ComponentKind) -> Option<u16> {
    match kind {
        ComponentKind::Redis => Some(6379),
        ComponentKind::Postgres => Some(5432),
        ComponentKind::Mysql => Some(3306),
        ComponentKind::Mongo => Some(27017),
        ComponentKind::Memcached => Some(11211),
        ComponentKind::Haproxy | ComponentKind::Uwsgi => Some(0),
        ComponentKind::Puma => Some(9293),
        ComponentKind::Pgbouncer => Some(6432),
        ComponentKind::Gunicorn => Some(8000),
        ComponentKind::Nginx
        | ComponentKind::Apache
        | ComponentKind::Prometheus
        | ComponentKind::PhpFpm
        | ComponentKind::Node
        | ComponentKind::Jvm
        | ComponentKind::Go
        | ComponentKind::Varnish
        | ComponentKind::NginxLog
        | ComponentKind::NginxAccessLog
        | ComponentKind::HaproxyLog
        | ComponentKind::PhpFpmSlowlog
        | ComponentKind::Python
        | ComponentKind::Otlp => None,
    }
}

/// `PATH` or `PATH:/page`.
fn fpm_socket(text: &str) -> Option<ComponentAddress> {
    let place = match text.split_once(":/") {
        Some((socket, page)) => ComponentAddress::SocketPage {
            socket: socket.into(),
            path: format!("/{page}"),
        },
        None => ComponentAddress::Socket(text.into()),
    };
    text.starts_with('/').then_some(place)
}

fn with_login(text: &str) -> (&str, Option<Login>) {
    let Some((login, rest)) = text.rsplit_once('@') else {
        return (text, None);
    };
    let (user, password) = login.split_once(':').unwrap_or(("", login));
    let login = Login {
        user: user.to_owned(),
        password: password.to_owned(),
        database: String::new(),
    };
    (rest, Some(login))
}

/// `user:password@host/database?more`; all but the host are optional, and the query is ignored.
fn with_database(text: &str) -> (&str, Option<Login>) {
    let (login, rest) = text.rsplit_once('@').unwrap_or(("", text));
    let (host, database) = rest.split_once('/').unwrap_or((rest, ""));
    let database = database.split('?').next().unwrap_or_default();
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let login = (!user.is_empty()).then(|| Login {
        user: user.to_owned(),
        password: password.to_owned(),
        database: database.to_owned(),
    });
    (host, login)
}

/// `host`, `host:port`, `[::1]:port`; `default` is the port if none is given, unless it is 0.
fn host_and_port(text: &str, default: u16) -> Option<(String, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (
                host,
                rest.strip_prefix(':').or(rest.is_empty().then_some("")),
            )
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, Some("")),
        },
    };
    let port = match port? {
        "" => default,
        port => port.parse().ok()?,
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    (!host.is_empty() && host.chars().all(is_name) && port > 0).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(kind: ComponentKind, text: &str) -> Option<String> {
        place(kind, text).map(|(place, _)| place.to_string())
    }

    #[test]
    fn places_as_people_write_them() {
        use ComponentKind::{
            Apache, Gunicorn, Haproxy, Memcached, Mysql, Nginx, Otlp, Pgbouncer, PhpFpm, Postgres,
            Puma, Redis,
        };
        for (kind, text, right) in [
            (
                Nginx,
                "http://localhost/status",
                "http://localhost:80/status",
            ),
            (Nginx, "http://[::1]:8080", "http://[::1]:8080/"),
            (Haproxy, "unix:/run/haproxy.sock", "/run/haproxy.sock"),
            (Haproxy, "/run/haproxy.sock", "/run/haproxy.sock"),
            (Haproxy, "127.0.0.1:9999", "127.0.0.1:9999"),
            (
                Haproxy,
                "http://lb:8404/stats;csv",
                "http://lb:8404/stats;csv",
            ),
            (Redis, "cache", "cache:6379"),
            (Redis, "redis://cache/", "cache:6379"),
            (Redis, "unix:///run/redis.sock", "/run/redis.sock"),
            (Memcached, "[::1]", "[::1]:11211"),
            (Postgres, "postgres://watcher@db/exam", "db:5432"),
            (Postgres, "postgresql://a:b@[::1]:1/", "[::1]:1"),
            (
                Postgres,
                "unix:/run/postgresql/.s.PGSQL.5432",
                "/run/postgresql/.s.PGSQL.5432",
            ),
            (Mysql, "mysql://plimsoll:p@db", "db:3306"),
            (Mysql, "127.0.0.1", "127.0.0.1:3306"),
            (PhpFpm, "unix:/run/fpm.sock:/s", "/run/fpm.sock:/s"),
            (
                PhpFpm,
                "127.0.0.1:9001/status?full",
                "http://127.0.0.1:9001/status?full",
            ),
            (PhpFpm, "127.0.0.1", "127.0.0.1:9000"),
            (Puma, "127.0.0.1", "127.0.0.1:9293"),
            (
                Apache,
                "http://[::1]/server-status",
                "http://[::1]:80/server-status",
            ),
            (Pgbouncer, "pgbouncer://plimsoll:x@pool", "pool:6432"),
            (Gunicorn, "127.0.0.1", "127.0.0.1:8000"),
            (Gunicorn, "unix:/run/g.sock", "/run/g.sock"),
            (Otlp, "127.0.0.1:4318", "127.0.0.1:4318"),
            (Otlp, "http://[::1]/", "[::1]:4318"),
        ] {
            assert_eq!(shown(kind, text).as_deref(), Some(right), "{text}");
        }
        for (kind, text) in [
            (Nginx, "unix:/run/nginx.sock"),
            (Nginx, "127.0.0.1:80"),
            (Haproxy, "lb"),
            (Redis, "cache:x"),
            (Redis, "cache:0"),
            (Redis, "a b"),
            (Memcached, "http://cache/"),
            (Apache, "127.0.0.1:80"),
            (Apache, "unix:/run/apache.sock"),
            (Otlp, "unix:/run/spans.sock"),
            (Otlp, "http://127.0.0.1:4318/v1/traces"),
            (Memcached, "[::1"),
            (Memcached, ""),
        ] {
            assert_eq!(shown(kind, text), None, "{text}");
        }
    }

    #[test]
    fn files_commands_and_pages_of_engines() {
        use ComponentKind::{Go, Jvm, Mongo, Python, Uwsgi, Varnish};
        for (kind, text, right) in [
            (Jvm, "/tmp/hsperfdata_a/7", "/tmp/hsperfdata_a/7"),
            (Jvm, "http://[::1]:1/jolokia", "http://[::1]:1/jolokia"),
            (Uwsgi, "unix:/run/u.sock", "/run/u.sock"),
            (Uwsgi, "127.0.0.1:1717", "127.0.0.1:1717"),
            (Mongo, "mongodb://plimsoll:p@db/admin", "db:27017"),
            (Uwsgi, "http://a:1/", "http://a:1/"),
            (Go, "http://a:1/debug/vars", "http://a:1/debug/vars"),
            (Python, "7", "py-spy dump --json --subprocesses --pid 7"),
            (Python, "/a/py-spy dump -p 7", "/a/py-spy dump -p 7"),
            (Varnish, " varnishstat -j -t 0 ", "varnishstat -j -t 0"),
        ] {
            assert_eq!(shown(kind, text).as_deref(), Some(right), "{text}");
        }
        for (kind, text) in [
            (Jvm, "/tmp/hsperfdata_a/"),
            (Jvm, "unix:/tmp/j"),
            (Jvm, "127.0.0.1:8778"),
            (Uwsgi, "127.0.0.1"),
            (Go, "127.0.0.1:80"),
            (Varnish, ""),
        ] {
            assert_eq!(shown(kind, text), None, "{text}");
        }
    }

    #[test]
    fn a_login_may_stand_in_the_address() {
        let (at, login) = place(
            ComponentKind::Postgres,
            "postgres://plimsoll:s@e@db:1/shop?sslmode=disable",
        )
        .unwrap();
        assert_eq!(at.to_string(), "db:1");
        let right = Login {
            user: "plimsoll".to_owned(),
            password: "s@e".to_owned(),
            database: "shop".to_owned(),
        };
        assert!(login == Some(right), "{login:?}");
        let (place, login) =
            place(ComponentKind::Redis, "redis://plimsoll:s:e@c@cache:1").unwrap();
        assert_eq!(place.to_string(), "cache:1");
        let login = login.unwrap();
        assert_eq!(
            (login.user.as_str(), login.password.as_str()),
            ("plimsoll", "s:e@c")
        );
    }
}
