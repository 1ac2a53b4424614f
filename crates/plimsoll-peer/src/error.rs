//! What can go wrong with keys, certificates and tokens.

/// A text that is no token, or no longer one.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TokenError {
    /// It does not begin as a token does.
    #[error(
        "this is no token, which begins with `plimsoll1-`; copy the whole line that the invitation printed"
    )]
    Prefix,
    /// It has the form of a later version.
    #[error("the token has the form of a later version; update plimsoll on this machine")]
    Newer,
    /// Characters are missing, or others than were printed.
    #[error(
        "the token is incomplete or damaged ({length} characters behind `plimsoll1-`, valid: {valid}); copy the whole line \
         that the invitation printed"
    )]
    Damaged {
        /// Its characters behind the prefix.
        length: usize,
        /// Those of every token.
        valid: usize,
    },
    /// Its time is over.
    #[error("the token expired {} ago; make another where this one was made", days_or_seconds(*.ago))]
    Expired {
        /// Seconds since then.
        ago: u64,
    },
}

/// Keys, certificates or the file with them cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// The kernel gives no random bytes.
    #[error("cannot draw a key: {0}")]
    Random(#[from] getrandom::Error),
    /// No certificate can be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// TLS refuses what it was given.
    #[error("cannot use the certificate: {0}")]
    Tls(#[from] rustls::Error),
    /// The stored identity is unreadable.
    #[error("not an identity of this program ({0}); remove it, and invite again")]
    Stored(String),
    /// Too many are invited.
    #[error(
        "{open} invitations are open; valid: at most {most}; remove the identity to end them all"
    )]
    Invited {
        /// Those that have not expired.
        open: usize,
        /// As many may be open at once.
        most: usize,
    },
}

/// A duration in the largest unit that it has two of.
fn days_or_seconds(seconds: u64) -> String {
    match seconds {
        172_800.. => format!("{} days", seconds / 86_400),
        7_200.. => format!("{} hours", seconds / 3_600),
        120.. => format!("{} minutes", seconds / 60),
        _ => format!("{seconds} s"),
    }
}
