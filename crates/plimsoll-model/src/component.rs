//! Components of a service that report metrics: their kind, address and login.

mod gauge_limit;
pub mod instance_query;
mod selector;
mod technology;

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use gauge_limit::GaugeLimit;
pub use selector::Selector;
pub use technology::{AddressForm, ComponentKind, Credentials, TriedOn};

/// Where a component is scraped.
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
    /// A command that prints its metrics, with its arguments, separated by spaces.
    Command(String),
    /// A status page over a Unix socket.
    SocketPage {
        /// The socket.
        socket: PathBuf,
        /// Path of the page.
        path: String,
    },
    /// A status page over HTTP, or of PHP-FPM over FastCGI.
    Page {
        /// Name or address of the host.
        host: String,
        /// Port.
        port: u16,
        /// Path, and query behind `?` or `;`.
        path: String,
    },
    /// A metrics page over HTTP, of which some series are recorded.
    Figures {
        /// Name or address of the host.
        host: String,
        /// Port.
        port: u16,
        /// Path, and query behind `?`.
        path: String,
        /// Which series are recorded.
        series: Vec<Selector>,
    },
    /// A metrics page over HTTP that shows another machine.
    Machine {
        /// Name or address of the host.
        host: String,
        /// Port.
        port: u16,
        /// Path, and query behind `?`; of a Prometheus server an [`instance_query`].
        path: String,
        /// Name of the machine.
        name: String,
    },
}

impl ComponentAddress {
    /// Path of the page, where one is given.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Page { path, .. }
            | Self::SocketPage { path, .. }
            | Self::Figures { path, .. }
            | Self::Machine { path, .. } => Some(path),
            Self::Socket(_) | Self::File(_) | Self::Command(_) | Self::Tcp { .. } => None,
        }
    }

    /// The host of the machine that an exporter shows: that of its page, or of the instance that a server is queried for.
    pub fn shown_host(&self) -> Option<String> {
        let Self::Machine { host, path, .. } = self else {
            return None;
        };
        let instance = instance_query::instance_of(path);
        let shown = instance.map(|it| instance_query::host_of(&it).to_owned());
        Some(shown.unwrap_or_else(|| host.clone()))
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
            }
            | Self::Machine {
                host, port, path, ..
            } if host.contains(':') => {
                write!(f, "http://[{host}]:{port}{path}")
            }
            Self::Page { host, port, path }
            | Self::Figures {
                host, port, path, ..
            }
            | Self::Machine {
                host, port, path, ..
            } => write!(f, "http://{host}:{port}{path}"),
        }
    }
}

/// The login with which a component is scraped.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Login {
    /// User name; empty where a component has only a password.
    pub user: String,
    /// Password; never shown.
    pub password: String,
    /// Database; empty for any, and for components that have none.
    pub database: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// A component that is watched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Component {
    /// Its kind.
    pub kind: ComponentKind,
    /// Where it is scraped.
    pub place: ComponentAddress,
    /// Its login; `None` for none.
    pub login: Option<Login>,
}

/// A setting of a component that can be changed at run time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tunable {
    /// Kind of the component.
    pub kind: ComponentKind,
    /// Where it is scraped.
    pub place: ComponentAddress,
    /// Name of the setting, as the component spells it.
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
                user: "plimsoll".to_owned(),
                password: "hidden".to_owned(),
                database: String::new(),
            }),
        };
        assert_eq!(component.to_string(), "Redis at [::1]:6379");
        let shown = format!("{component:?}");
        assert!(
            shown.contains("plimsoll") && !shown.contains("hidden"),
            "{shown}"
        );
    }
}
