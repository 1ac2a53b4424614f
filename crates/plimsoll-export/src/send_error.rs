//! Why a destination did not take what it was sent.

/// Why records were not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SendError {
    pub(crate) message: String,
    /// Whether the same records may be accepted later.
    pub(crate) may_repeat: bool,
}

impl SendError {
    /// An error that may pass.
    pub(crate) fn passing(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            may_repeat: true,
        }
    }
}
