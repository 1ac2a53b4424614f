//! Where the agents are that watch other machines, and how these machines are named.

use std::fmt;
use std::str::FromStr;

use crate::ssh::{self, SshDestination};

/// Longest name of a machine, characters.
pub const NAME_MAX: usize = 64;

/// What is no address of an agent. The text names what is valid.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InvalidAgentAddress(String);

impl fmt::Display for InvalidAgentAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "`{}` is not the address of an agent; valid: {}",
            self.0,
            AgentAddress::VALID
        )
    }
}

impl std::error::Error for InvalidAgentAddress {}

/// Where an agent is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AgentAddress {
    /// It listens there.
    Listening {
        /// A name or an address, without the brackets of an IPv6 address.
        host: String,
        /// The port.
        port: u16,
    },
    /// It is sent there and started over `ssh`, for as long as it is needed.
    Ssh(SshDestination),
}

impl AgentAddress {
    /// What is valid, with examples.
    pub const VALID: &str =
        "HOST:PORT, such as db1.internal:9192 or [fd00::1]:9192, or ssh://USER@HOST";

    /// The host, without the brackets of an IPv6 address; over `ssh` perhaps a name in its configuration alone.
    pub fn host(&self) -> &str {
        match self {
            Self::Listening { host, .. } => host,
            Self::Ssh(destination) => destination.host(),
        }
    }

    /// Whether the agent is started over `ssh`.
    pub fn is_ssh(&self) -> bool {
        matches!(self, Self::Ssh(_))
    }
}

impl fmt::Display for AgentAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listening { host, port } => {
                write!(formatter, "{}:{port}", ssh::bracketed(host))
            }
            Self::Ssh(destination) => write!(formatter, "ssh://{destination}"),
        }
    }
}

impl FromStr for AgentAddress {
    type Err = InvalidAgentAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAgentAddress> {
        let address = if text.starts_with("ssh://") {
            text.parse().ok().map(Self::Ssh)
        } else {
            listening(text)
        };
        // An invalid text may be long, and may be a whole URL with a password.
        address.ok_or_else(|| {
            let shown = text.rsplit('@').next().unwrap_or_default();
            InvalidAgentAddress(shown.chars().filter(|c| !c.is_control()).take(80).collect())
        })
    }
}

/// Whether a text may name a machine: 1 to 64 characters that are letters, digits, `.`, `_`, `-` or `:`, the first one a
/// letter or a digit.
pub fn is_machine_name(name: &str) -> bool {
    let is_ordinary = |c: char| c.is_ascii_alphanumeric() || "._-:".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() <= NAME_MAX
        && name.chars().all(is_ordinary)
}

fn listening(text: &str) -> Option<AgentAddress> {
    let (host, port) = ssh::host_and_port(text)?;
    Some(AgentAddress::Listening { host, port: port? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for text in [
            "db1.internal:9192",
            "127.0.0.1:1",
            "[fd00::1]:9192",
            "ssh://root@db1",
            "ssh://db1:2222",
            "ssh://me@[fd00::1]:22",
        ] {
            let address: AgentAddress = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
            assert_eq!(address.is_ssh(), text.starts_with("ssh"));
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "db1",
            "db1:",
            "db1:0",
            "db1:70000",
            ":9192",
            "-o:22",
            "a b:1",
            "[db1]:1",
            "[::1]x:1",
            "http://db1:9192",
            "ssh://",
            "ssh://-oProxyCommand=x",
            "ssh://-a@db1",
            "ssh://a b@db1",
            "ssh://db1;reboot",
        ] {
            assert!(text.parse::<AgentAddress>().is_err(), "{text}");
        }
        let error = "ssh://me:secret@".parse::<AgentAddress>().unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn machines_have_plain_names() {
        for name in ["db1", "db-1.internal", "a:b_c", "1"] {
            assert!(is_machine_name(name), "{name}");
        }
        let long = "x".repeat(NAME_MAX + 1);
        for name in ["", "-db", "a b", "a{b}", "ä", "a\n", &long] {
            assert!(!is_machine_name(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_an_address_or_none(text in "(ssh://)?\\PC{0,40}") {
            if let Ok(address) = text.parse::<AgentAddress>() {
                prop_assert_eq!(address.to_string().parse::<AgentAddress>().unwrap(), address);
            }
        }
    }
}
