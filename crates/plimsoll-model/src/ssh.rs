//! Where the user's own `ssh` leads: a user, a host and a port, each of which may become an argument of `ssh`.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

/// Longest name of a host, bytes, as in DNS.
const HOST_MAX: usize = 253;

/// Longest name of a user, bytes.
const USER_MAX: usize = 64;

/// What is no destination of `ssh`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct InvalidSshDestination;

impl fmt::Display for InvalidSshDestination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "not a host for ssh; valid: {}",
            SshDestination::VALID
        )
    }
}

impl std::error::Error for InvalidSshDestination {}

/// A host that is reached by `ssh`. Neither its host nor its user can be taken for an option, or for words of a shell.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SshDestination {
    user: Option<String>,
    host: String,
    port: Option<u16>,
}

impl SshDestination {
    /// What is valid, with examples.
    pub const VALID: &str = "USER@HOST, such as me@load1.example, a name in the configuration of ssh, or with a port \
         me@load1.example:2222";

    /// Whom to be there; `None` for what the configuration of `ssh` has.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// A name, an address without brackets, or a name in the configuration of `ssh`.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port; `None` for what the configuration of `ssh` has.
    pub fn port(&self) -> Option<u16> {
        self.port
    }
}

impl fmt::Display for SshDestination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(user) = &self.user {
            write!(formatter, "{user}@")?;
        }
        formatter.write_str(&bracketed(&self.host))?;
        match self.port {
            Some(port) => write!(formatter, ":{port}"),
            None => Ok(()),
        }
    }
}

impl FromStr for SshDestination {
    type Err = InvalidSshDestination;

    /// Reads `HOST`, `USER@HOST` or `USER@HOST:PORT`, with `ssh://` before it or without.
    fn from_str(text: &str) -> Result<Self, InvalidSshDestination> {
        let rest = text.strip_prefix("ssh://").unwrap_or(text);
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (user, place) = match rest.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, rest),
        };
        if user.is_some_and(|user| !is_user(user)) {
            return Err(InvalidSshDestination);
        }
        let (host, port) = host_and_port(place).ok_or(InvalidSshDestination)?;
        Ok(Self {
            user: user.map(str::to_owned),
            host,
            port,
        })
    }
}

/// A host with brackets where it is an IPv6 address.
pub(crate) fn bracketed(host: &str) -> String {
    if host.contains(':') {
        format!("[{host}]")
    } else {
        host.to_owned()
    }
}

/// `HOST`, `HOST:PORT`, `[V6]` or `[V6]:PORT`.
pub(crate) fn host_and_port(text: &str) -> Option<(String, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, behind) = rest.split_once(']')?;
        let address: Ipv6Addr = host.parse().ok()?;
        let port = match behind.strip_prefix(':') {
            Some(port) => Some(number(port)?),
            None if behind.is_empty() => None,
            None => return None,
        };
        return Some((address.to_string(), port));
    }
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(number(port)?)),
        None => (text, None),
    };
    is_host(host).then(|| (host.to_owned(), port))
}

fn number(port: &str) -> Option<u16> {
    port.parse().ok().filter(|&port| port != 0)
}

/// A name that begins with a hyphen would be an option of `ssh`.
fn is_host(host: &str) -> bool {
    (1..=HOST_MAX).contains(&host.len())
        && !host.starts_with(['-', '.'])
        && host
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c))
}

fn is_user(user: &str) -> bool {
    (1..=USER_MAX).contains(&user.len())
        && !user.starts_with('-')
        && user
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn destinations_are_read_as_they_are_written() {
        for text in [
            "load1",
            "me@load1.example",
            "me@load1:2222",
            "[fd00::1]:22",
            "me@10.0.0.5",
        ] {
            let destination: SshDestination = text.parse().unwrap();
            assert_eq!(destination.to_string(), text);
            let with_scheme = format!("ssh://{text}/").parse::<SshDestination>();
            assert_eq!(with_scheme, Ok(destination));
        }
        let whole: SshDestination = "me@load1:2222".parse().unwrap();
        assert_eq!(
            (whole.user(), whole.host(), whole.port()),
            (Some("me"), "load1", Some(2222))
        );
    }

    #[test]
    fn what_could_be_an_option_or_a_command_is_refused() {
        for text in [
            "",
            "@load1",
            "-oProxyCommand=x",
            "-a@load1",
            "a b@load1",
            "load1;reboot",
            "$(id)@load1",
            "load1:0",
            "load1:",
            "me:secret@load1",
        ] {
            let refused = text.parse::<SshDestination>();
            assert_eq!(refused, Err(InvalidSshDestination), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_destination_or_none(text in "\\PC{0,40}") {
            if let Ok(destination) = text.parse::<SshDestination>() {
                let again = destination.to_string().parse::<SshDestination>();
                prop_assert_eq!(again, Ok(destination));
            }
        }
    }
}
