//! What both sides send first: who they are, and which version of this program.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a side does.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads the machine that it runs on, and sends its readings.
    Agent,
    /// Receives the readings of agents.
    Reader,
    /// Plans a load and merges what its workers measured.
    Coordinator,
    /// Carries out a share of a load.
    Worker,
    /// Something that this version does not know.
    #[serde(other)]
    Unknown,
}

impl Role {
    /// Whom it speaks with.
    fn counterpart(self) -> Self {
        match self {
            Self::Agent => Self::Reader,
            Self::Reader => Self::Agent,
            Self::Coordinator => Self::Worker,
            Self::Worker => Self::Coordinator,
            Self::Unknown => Self::Unknown,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Agent => "an agent",
            Self::Reader => "a reader of agents",
            Self::Coordinator => "a coordinator",
            Self::Worker => "a worker",
            Self::Unknown => "of a kind that this version does not know",
        })
    }
}

/// A version of this program.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

impl Version {
    /// Reads `1.2.3`; what is behind a `-` or a `+` is no part of it.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers = text.split(['-', '+']).next()?;
        let mut numbers = numbers.split('.').map(|number| number.parse().ok());
        let version = Self {
            major: numbers.next()??,
            minor: numbers.next()??,
            patch: numbers.next()??,
        };
        numbers.next().is_none().then_some(version)
    }

    /// Whether it speaks with `other`: the same major version, and minor versions one apart at most.
    pub fn speaks_with(self, other: Self) -> bool {
        self.major == other.major && self.minor.abs_diff(other.minor) <= 1
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The first message of each side; the side that listens sends its first. Further fields of later versions are ignored.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Hello {
    role: Role,
    version: String,
}

/// Why a connection ends after the first messages. The text names the remedy.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// It is of a kind that this side does not speak with.
    #[error("the other side is {other}, not {wanted}; check the address and the token")]
    Role {
        /// What it is.
        other: Role,
        /// What it should be.
        wanted: Role,
    },
    /// It is too old.
    #[error(
        "the other side has version {other} and this machine {own}; at most one minor version apart works: update plimsoll \
         there"
    )]
    Older {
        /// Its version.
        other: Version,
        /// That of this side.
        own: Version,
    },
    /// This side is too old.
    #[error(
        "the other side has version {other} and this machine {own}; at most one minor version apart works: update plimsoll \
         here"
    )]
    Newer {
        /// Its version.
        other: Version,
        /// That of this side.
        own: Version,
    },
    /// It has a version of no known form.
    #[error(
        "the other side has a version that this one cannot read; update plimsoll on the older machine"
    )]
    Version,
}

impl Hello {
    /// Of a given version; that of this program is [`Hello::of_this_build`].
    pub fn new(role: Role, version: Version) -> Self {
        Self {
            role,
            version: version.to_string(),
        }
    }

    /// Of this build.
    pub fn of_this_build(role: Role) -> Self {
        Self {
            role,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Judges what the other side sent; both sides come to the same result.
    ///
    /// # Errors
    /// When the two do not speak with each other.
    pub fn judge(&self, other: &Self) -> Result<(), Refusal> {
        let wanted = self.role.counterpart();
        if other.role != wanted {
            return Err(Refusal::Role {
                other: other.role,
                wanted,
            });
        }
        let versions = Version::parse(&self.version).zip(Version::parse(&other.version));
        let (own, other) = versions.ok_or(Refusal::Version)?;
        if own.speaks_with(other) {
            Ok(())
        } else if other < own {
            Err(Refusal::Older { other, own })
        } else {
            Err(Refusal::Newer { other, own })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(role: Role, version: &str) -> Hello {
        Hello::new(role, Version::parse(version).unwrap())
    }

    #[test]
    fn one_minor_version_apart_works() {
        let agent = hello(Role::Agent, "1.4.9");
        for version in ["1.3.0", "1.4.0", "1.5.7"] {
            let reader = hello(Role::Reader, version);
            assert_eq!(agent.judge(&reader), Ok(()));
            assert_eq!(reader.judge(&agent), Ok(()));
        }
    }

    #[test]
    fn a_refusal_names_the_side_to_update() {
        let agent = hello(Role::Agent, "1.4.0");
        let reader = hello(Role::Reader, "1.6.0");
        let here = agent.judge(&reader).unwrap_err().to_string();
        assert!(here.ends_with("update plimsoll here"), "{here}");
        let there = reader.judge(&agent).unwrap_err().to_string();
        assert!(there.ends_with("update plimsoll there"), "{there}");
        let major = hello(Role::Reader, "2.4.0");
        assert!(matches!(major.judge(&agent), Err(Refusal::Older { .. })));
    }

    #[test]
    fn roles_meet_their_counterpart() {
        let worker = hello(Role::Worker, "1.0.0");
        assert_eq!(worker.judge(&hello(Role::Coordinator, "1.0.0")), Ok(()));
        let error = worker.judge(&hello(Role::Agent, "1.0.0")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the other side is an agent, not a coordinator; check the address and the token"
        );
        let later: Hello = serde_json::from_str(r#"{"role":"oracle","version":"1.0.0"}"#).unwrap();
        assert!(matches!(worker.judge(&later), Err(Refusal::Role { .. })));
    }

    #[test]
    fn versions_are_three_numbers() {
        assert!(Version::parse("1.2.3-rc.1+5").is_some());
        for text in ["", "1", "1.2", "1.2.3.4", "1.x.3", "-1.2.3"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }
}
