//! Why a component could not be scraped.

use std::fmt;
use std::io::{self, ErrorKind};

use crate::untrusted::OpenError;

/// Why a component could not be scraped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScrapeError {
    /// Nothing listens there.
    Absent(String),
    /// It closed the connection without a response.
    Closed,
    /// It did not respond in time.
    Late,
    /// It denied access.
    Denied(String),
    /// Its response was unexpected.
    Strange(String),
    /// It is a file that is not read.
    NotRead(String),
    /// Messages would arrive here, but listening here failed.
    CannotListen(String),
}

impl ScrapeError {
    /// Key of the kind, so that each is reported once.
    pub(crate) fn key(&self) -> &'static str {
        match self {
            Self::Absent(_) => "absent",
            Self::Closed => "closed",
            Self::Late => "late",
            Self::Denied(_) => "denied",
            Self::Strange(_) => "strange",
            Self::NotRead(_) => "not read",
            Self::CannotListen(_) => "no listener",
        }
    }
}

impl fmt::Display for ScrapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent(why) => write!(f, "nothing answers there ({why})"),
            Self::Closed => write!(f, "it closes the connection without a response"),
            Self::Late => write!(f, "it does not respond in time"),
            Self::Denied(why) => write!(f, "it denies access ({why})"),
            Self::Strange(why) => write!(f, "unexpected response ({why})"),
            Self::NotRead(why) => f.write_str(why),
            Self::CannotListen(why) => write!(f, "cannot listen there ({why})"),
        }
    }
}

impl From<io::Error> for ScrapeError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Self::Late,
            ErrorKind::InvalidData => Self::Strange(error.to_string()),
            ErrorKind::PermissionDenied => Self::Denied(error.to_string()),
            ErrorKind::UnexpectedEof
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Absent(error.to_string()),
        }
    }
}

impl From<OpenError> for ScrapeError {
    fn from(error: OpenError) -> Self {
        if error.is_plain() || matches!(error, OpenError::Late | OpenError::Other(_)) {
            io::Error::from(error).into()
        } else {
            Self::NotRead(error.to_string())
        }
    }
}

/// The beginning of an unexpected response, safe to print.
pub(crate) fn shortly(answer: &str) -> String {
    let line = answer.lines().next().unwrap_or_default();
    let safe = line.chars().filter(|c| !c.is_control()).take(120).collect();
    if line.is_empty() {
        "nothing".to_owned()
    } else {
        safe
    }
}
