//! Why a configuration cannot be used.

use plimsoll_net::tls_error::TlsError;

use plimsoll_hub_io::hub::TooManyLoops;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A certificate or a key.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A database of countries.
    #[error(transparent)]
    Countries(#[from] maxminddb::MaxMindDbError),
    /// The system provides no random bytes.
    #[error("the system provides no random bytes")]
    NoRandom,
    /// More event loops than the hub supports.
    #[error(transparent)]
    HubLoops(#[from] TooManyLoops),
}
