//! Reads a component to collect from: its address and login. Which forms these have is in the table of technologies.

use plimsoll_model::component::{
    AddressForm, Component, ComponentAddress, ComponentKind, Credentials, Login,
};

use super::{exporter, metrics};
use crate::document::{DocumentNode, DocumentReader, NodeKind};
use crate::login;

/// Keys of a component with a login.
const WORDS: [&str; 4] = ["at", "database", "password", "user"];
/// Port of a page whose URL has none.
const HTTP_PORT: u16 = 80;

/// Reads a component: its address, or a map with a login.
pub(super) fn component(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    kind: ComponentKind,
) -> Option<Component> {
    match kind.address_forms() {
        [AddressForm::MetricsPage] => return metrics::page(reader, node, kind),
        [AddressForm::MachinePage] => return exporter::machine(reader, node, kind),
        _ => {}
    }
    match &node.kind {
        NodeKind::Map(_) => with_credentials(reader, node, kind),
        _ => at_place(reader, node, kind),
    }
}

/// Reads a map of an address and a login.
fn with_credentials(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    kind: ComponentKind,
) -> Option<Component> {
    let (valid, credentials) = (kind.valid_addresses(), kind.credentials());
    if let NodeKind::Map(entries) = &node.kind {
        for (key, _) in entries {
            if !WORDS.contains(&key.text.as_str()) {
                reader.unknown(&key.span, "key", &key.text, &WORDS);
            }
        }
    }
    let Some(at) = node.get("at") else {
        reader.report(node, "`at` is missing", format!("at: {valid}"));
        return None;
    };
    let word = |name: &str| node.get(name).map(|node| reader.word(node, "a text"));
    let (user, password, database) = (word("user"), word("password"), word("database"));
    if credentials != Credentials::UserAndDatabase && database.is_some() {
        let message = format!("{} takes no `database`", kind.name());
        reader.report(node, message, format!("{valid}, without `database`"));
        return None;
    }
    if credentials == Credentials::None && (user.is_some() || password.is_some()) {
        let message = format!("{} takes no login", kind.name());
        reader.report(
            node,
            message,
            format!("{valid}, without `user` and `password`"),
        );
        return None;
    }
    let mut component = at_place(reader, at, kind)?;
    let has_users = matches!(
        credentials,
        Credentials::User | Credentials::UserAndDatabase
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
    Some(component)
}

fn at_place(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    kind: ComponentKind,
) -> Option<Component> {
    let valid = kind.valid_addresses();
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
fn place(kind: ComponentKind, text: &str) -> Option<(ComponentAddress, Option<Login>)> {
    let forms = kind.address_forms();
    for form in forms {
        // These take any text.
        match *form {
            AddressForm::Command { of_pid } => return with_none(command(text.trim(), of_pid)),
            AddressForm::Listener { port, scheme } => {
                return with_none(listener(text, port, scheme));
            }
            _ => {}
        }
    }
    if text.starts_with('/') || text.starts_with("unix:") {
        return with_none(path(forms, text));
    }
    if let Some(rest) = text.strip_prefix("http://") {
        let has_page = forms.contains(&AddressForm::Page);
        return with_none(page(rest).filter(|_| has_page));
    }
    forms.iter().find_map(|form| match *form {
        AddressForm::FastCgi { port } => with_none(fast_cgi(text, port)),
        AddressForm::Host { port, schemes } => host(kind.credentials(), text, port, schemes),
        _ => None,
    })
}

fn with_none(place: Option<ComponentAddress>) -> Option<(ComponentAddress, Option<Login>)> {
    place.map(|place| (place, None))
}

/// A command, or a process id for which one stands.
fn command(text: &str, of_pid: Option<&str>) -> Option<ComponentAddress> {
    let is_right = !text.is_empty() && !text.chars().any(char::is_control);
    let command = match (of_pid, text.parse::<u32>()) {
        (Some(command), Ok(pid)) => format!("{command} {pid}"),
        _ => text.to_owned(),
    };
    is_right.then_some(ComponentAddress::Command(command))
}

/// An address of this machine. The programs that send to it are configured with a URL.
fn listener(text: &str, port: u16, scheme: &str) -> Option<ComponentAddress> {
    let is_path = text.starts_with('/') || text.starts_with("unix:");
    let text = text.strip_prefix(scheme).unwrap_or(text);
    let (host, port) = host_and_port(text.trim_end_matches('/'), Some(port))?;
    (!is_path).then_some(ComponentAddress::Tcp { host, port })
}

/// A file, a socket, or a page over a socket.
fn path(forms: &[AddressForm], text: &str) -> Option<ComponentAddress> {
    if text.starts_with('/') && forms.contains(&AddressForm::File) {
        return (!text.ends_with('/')).then(|| ComponentAddress::File(text.into()));
    }
    let path = text.strip_prefix("unix:").unwrap_or(text);
    let path = path.strip_prefix("//").unwrap_or(path);
    if !path.starts_with('/') {
        return None;
    }
    forms.iter().find_map(|form| match form {
        AddressForm::FastCgi { .. } => Some(fast_cgi_socket(path)),
        AddressForm::Socket => Some(ComponentAddress::Socket(path.into())),
        _ => None,
    })
}

/// An HTTP endpoint, without `http://`.
pub(super) fn page(rest: &str) -> Option<ComponentAddress> {
    let split = rest.find('/').unwrap_or(rest.len());
    let (host, port) = host_and_port(&rest[..split], Some(HTTP_PORT))?;
    let path = match &rest[split..] {
        "" => "/".to_owned(),
        path => path.to_owned(),
    };
    let is_safe = path.bytes().all(|byte| byte.is_ascii_graphic());
    is_safe.then_some(ComponentAddress::Page { host, port, path })
}

/// `host:port`, or `host:port/page`.
fn fast_cgi(text: &str, port: u16) -> Option<ComponentAddress> {
    let split = text.find('/').unwrap_or(text.len());
    let (host, port) = host_and_port(&text[..split], Some(port))?;
    let path = text[split..].to_owned();
    Some(if path.is_empty() {
        ComponentAddress::Tcp { host, port }
    } else {
        ComponentAddress::Page { host, port, path }
    })
}

/// `PATH` or `PATH:/page`.
fn fast_cgi_socket(text: &str) -> ComponentAddress {
    match text.split_once(":/") {
        Some((socket, page)) => ComponentAddress::SocketPage {
            socket: socket.into(),
            path: format!("/{page}"),
        },
        None => ComponentAddress::Socket(text.into()),
    }
}

/// `host:port`, or a URL of one of these schemes, in which the login may stand.
fn host(
    credentials: Credentials,
    text: &str,
    port: Option<u16>,
    schemes: &[&str],
) -> Option<(ComponentAddress, Option<Login>)> {
    let after = schemes.iter().find_map(|scheme| text.strip_prefix(scheme));
    let (rest, login) = match after {
        Some(rest) if credentials == Credentials::Password => {
            with_login(rest.trim_end_matches('/'))
        }
        Some(rest) => with_database(rest),
        None => (text, None),
    };
    let (host, port) = host_and_port(rest, port)?;
    Some((ComponentAddress::Tcp { host, port }, login))
}

fn with_login(text: &str) -> (&str, Option<Login>) {
    let Some((login, rest)) = text.rsplit_once('@') else {
        return (text, None);
    };
    let (user, password) = login.split_once(':').unwrap_or(("", login));
    let login = Login {
        user: login::decoded(user),
        password: login::decoded(password),
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
        user: login::decoded(user),
        password: login::decoded(password),
        database: login::decoded(database),
    });
    (host, login)
}

/// `host:port`, `[::1]:port`; the host alone where there is a default port.
fn host_and_port(text: &str, default: Option<u16>) -> Option<(String, u16)> {
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
        "" => default?,
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
            Apache, Gunicorn, Haproxy, Memcached, Mysql, Nginx, Pgbouncer, PhpFpm, Postgres, Puma,
            Redis,
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
            (Postgres, "postgres://plimsoll@db/exam", "db:5432"),
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
            (Memcached, "[::1"),
            (Memcached, ""),
        ] {
            assert_eq!(shown(kind, text), None, "{text}");
        }
    }

    #[test]
    fn receivers_listen_at_an_address() {
        use ComponentKind::{Otlp, Statsd};
        for (kind, text, right) in [
            (Otlp, "127.0.0.1:4318", Some("127.0.0.1:4318")),
            (Otlp, "http://[::1]/", Some("[::1]:4318")),
            (Otlp, "unix:/run/spans.sock", None),
            (Otlp, "http://127.0.0.1:4318/v1/traces", None),
            (Statsd, "127.0.0.1", Some("127.0.0.1:8125")),
            (Statsd, "udp://[::1]:1", Some("[::1]:1")),
            (Statsd, "unix:/run/statsd.sock", None),
            (Statsd, "http://127.0.0.1:8125", None),
        ] {
            assert_eq!(shown(kind, text).as_deref(), right, "{text}");
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
        let (place, login) = place(ComponentKind::Redis, "redis://plimsoll:s:e@c@cache:1").unwrap();
        assert_eq!(place.to_string(), "cache:1");
        let login = login.unwrap();
        assert_eq!(
            (login.user.as_str(), login.password.as_str()),
            ("plimsoll", "s:e@c")
        );
        let text = "postgres://ada%40shop:pa%2Fss%3A1@db/my%20shop";
        let (place, login) = super::place(ComponentKind::Postgres, text).unwrap();
        assert_eq!(place.to_string(), "db:5432");
        let right = Login {
            user: "ada@shop".to_owned(),
            password: "pa/ss:1".to_owned(),
            database: "my shop".to_owned(),
        };
        assert!(login == Some(right), "{login:?}");
    }
}
