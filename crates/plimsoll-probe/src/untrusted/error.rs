//! Why a file that others name was not opened.

use std::fmt;
use std::io;

use rustix::io::Errno;

/// A regular file, as it is called.
pub(super) const FILE: &str = "a file";

/// The reason, as it is displayed.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// There is nothing of that name.
    NotFound,
    /// Permission denied: to this process, or to the one that names it.
    Denied,
    /// The root of the process is not accessible.
    RootDenied,
    /// It has the wrong file type: the actual and the expected one.
    Kind(&'static str, &'static str),
    /// It is a virtual file of the kernel: reading it may have effects, or never end.
    Kernel,
    /// A link leads out of the root, through a process, or in a circle.
    Link,
    /// It is longer than so many bytes.
    TooLong(u64),
    /// It was not there in time.
    Late,
    /// A read limit was reached before it.
    Exhausted(&'static str),
    /// Something else.
    Other(io::Error),
}

impl OpenError {
    /// Of the root itself.
    pub(super) fn root(error: Errno) -> Self {
        match Self::from(error) {
            Self::Denied => Self::RootDenied,
            other => other,
        }
    }

    /// Whether it is merely a missing file or missing rights, which the caller reports itself.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::NotFound | Self::Denied | Self::RootDenied)
    }
}

impl From<Errno> for OpenError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NOTDIR => Self::NotFound,
            Errno::ACCESS | Errno::PERM => Self::Denied,
            Errno::LOOP | Errno::XDEV => Self::Link,
            error => Self::Other(error.into()),
        }
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(number) => Self::from(Errno::from_raw_os_error(number)),
            None => Self::Other(error),
        }
    }
}

impl From<OpenError> for io::Error {
    fn from(error: OpenError) -> Self {
        let kind = match error {
            OpenError::Other(error) => return error,
            OpenError::NotFound => io::ErrorKind::NotFound,
            OpenError::Denied | OpenError::RootDenied => io::ErrorKind::PermissionDenied,
            OpenError::Late => io::ErrorKind::TimedOut,
            _ => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error.to_string())
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("no such file"),
            Self::Denied => f.write_str("permission denied"),
            Self::RootDenied => f.write_str("permission denied for its root"),
            Self::Kind(kind, FILE) => write!(f, "it is {kind}; only regular files are read"),
            Self::Kind(kind, wanted) => write!(f, "it is {kind}, not {wanted}"),
            Self::Kernel => f.write_str("it is a file of the kernel; only files on disk are read"),
            Self::Link => f.write_str("it is a symbolic link that leaves its root or loops"),
            Self::TooLong(len) => write!(f, "it is longer than {} MiB", len >> 20),
            Self::Late => f.write_str("its file system does not respond in time"),
            Self::Exhausted(what) => f.write_str(what),
            Self::Other(error) => error.fmt(f),
        }
    }
}
