//! Parts of a service that tell of themselves: what they are, where they are asked, and as whom.

mod selector;

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use selector::Selector;

/// A program that can be asked about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComponentKind {
    /// nginx, by `stub_status`.
    Nginx,
    /// HAProxy, by its stats socket or the CSV of its stats page.
    Haproxy,
    /// Redis or Valkey, by `INFO`.
    Redis,
    /// memcached, by `stats`.
    Memcached,
    /// PostgreSQL, by its statistics views.
    Postgres,
    /// MariaDB or MySQL, by its status variables.
    Mysql,
    /// PHP-FPM, by its page of figures over FastCGI.
    PhpFpm,
    /// Puma, by its control server.
    Puma,
    /// Node, by a module that is loaded before the application.
    Node,
    /// nginx, by its error log.
    NginxLog,
    /// nginx, by its access log.
    NginxAccessLog,
    /// HAProxy, by its HTTP log.
    HaproxyLog,
    /// PHP-FPM, by its log of slow requests.
    PhpFpmSlowlog,
    /// Anything, by chosen series of a page in the format of Prometheus.
    Prometheus,
    /// pgbouncer, by the tables of its console.
    Pgbouncer,
    /// Apache's HTTP server, by `mod_status`.
    Apache,
    /// gunicorn, by its processes and the connections to its listener.
    Gunicorn,
    /// A Java virtual machine, by the counters that it keeps in a file, or by Jolokia.
    Jvm,
    /// uWSGI, by its stats server.
    Uwsgi,
    /// A program in Go, by `expvar` or a page with what `runtime/metrics` tells.
    Go,
    /// Varnish, by the counters that a command prints.
    Varnish,
    /// MongoDB, by `serverStatus`.
    Mongo,
    /// A program in Python, by looks at its stacks.
    Python,
    /// Anything that is traced, by the spans that it sends here.
    Otlp,
}

impl ComponentKind {
    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Haproxy => "HAProxy",
            Self::Redis => "Redis",
            Self::Memcached => "memcached",
            Self::Postgres => "PostgreSQL",
            Self::Mysql => "MariaDB",
            Self::PhpFpm => "PHP-FPM",
            Self::Puma => "Puma",
            Self::Node => "Node",
            Self::NginxLog => "the error log of nginx",
            Self::NginxAccessLog => "the access log of nginx",
            Self::HaproxyLog => "the log of HAProxy",
            Self::PhpFpmSlowlog => "the slow log of PHP-FPM",
            Self::Prometheus => "the metrics page",
            Self::Pgbouncer => "pgbouncer",
            Self::Apache => "Apache",
            Self::Gunicorn => "gunicorn",
            Self::Jvm => "the JVM",
            Self::Uwsgi => "uWSGI",
            Self::Go => "the Go program",
            Self::Varnish => "Varnish",
            Self::Mongo => "MongoDB",
            Self::Python => "Python",
            Self::Otlp => "the span receiver",
        }
    }

    /// Whether it is a log, which tells nothing but what is written to it.
    pub fn is_log(self) -> bool {
        matches!(
            self,
            Self::NginxLog | Self::NginxAccessLog | Self::HaproxyLog | Self::PhpFpmSlowlog
        )
    }
}

/// Where a part is asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComponentAddress {
    /// A Unix socket.
    Socket(PathBuf),
    /// A host and a port.
    Tcp {
        /// Name or address of the host.
        host: String,
        /// Port.
        port: u16,
    },
    /// A file that it writes.
    File(PathBuf),
    /// A command that prints what it tells, with its arguments, blanks between.
    Command(String),
    /// A page over a Unix socket.
    SocketPage {
        /// The socket.
        socket: PathBuf,
        /// Path of the page.
        path: String,
    },
    /// A page over HTTP, or of PHP-FPM over FastCGI.
    Page {
        /// Name or address of the host.
        host: String,
        /// Port.
        port: u16,
        /// Path, and query behind `?` or `;`.
        path: String,
    },
    /// A page of figures over HTTP, of which some are taken.
    Figures {
        /// Name or address of the host.
        host: String,
        /// Port.
        port: u16,
        /// Path, and query behind `?`.
        path: String,
        /// Which series are taken.
        series: Vec<Selector>,
    },
}

impl ComponentAddress {
    /// Path of the page, where one is named.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Page { path, .. }
            | Self::SocketPage { path, .. }
            | Self::Figures { path, .. } => Some(path),
            Self::Socket(_) | Self::File(_) | Self::Command(_) | Self::Tcp { .. } => None,
        }
    }
}

impl fmt::Display for ComponentAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) | Self::File(path) => write!(f, "{}", path.display()),
            Self::Command(command) => write!(f, "{command}"),
            Self::SocketPage { socket, path } => write!(f, "{}:{path}", socket.display()),
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Page { host, port, path }
            | Self::Figures {
                host, port, path, ..
            } if host.contains(':') => {
                write!(f, "http://[{host}]:{port}{path}")
            }
            Self::Page { host, port, path }
            | Self::Figures {
                host, port, path, ..
            } => write!(f, "http://{host}:{port}{path}"),
        }
    }
}

/// As whom a part is asked.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Login {
    /// Name; empty where a part knows only a password.
    pub user: String,
    /// Password; it is shown to nobody.
    pub password: String,
    /// Database; empty for any, and for parts that have none.
    pub database: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// A part that is looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Component {
    /// What it is.
    pub kind: ComponentKind,
    /// Where it is asked.
    pub place: ComponentAddress,
    /// As whom; `None` for nobody.
    pub login: Option<Login>,
}

/// A setting of a part that can be changed while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tunable {
    /// What the part is.
    pub kind: ComponentKind,
    /// Where it is asked.
    pub place: ComponentAddress,
    /// Name of the setting, as the part has it.
    pub setting: String,
    /// What it belongs to, such as `backend/server`; empty where there is only one.
    pub of: String,
}

impl fmt::Display for Tunable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.name();
        match self.of.as_str() {
            "" => write!(f, "{} of {kind} ({})", self.setting, self.place),
            of => write!(f, "{} of {of} in {kind} ({})", self.setting, self.place),
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.kind.name(), self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_shown_to_nobody() {
        let component = Component {
            kind: ComponentKind::Redis,
            place: ComponentAddress::Tcp {
                host: "::1".to_owned(),
                port: 6379,
            },
            login: Some(Login {
                user: "eye".to_owned(),
                password: "hidden".to_owned(),
                database: String::new(),
            }),
        };
        assert_eq!(component.to_string(), "Redis at [::1]:6379");
        let shown = format!("{component:?}");
        assert!(
            shown.contains("eye") && !shown.contains("hidden"),
            "{shown}"
        );
    }
}
