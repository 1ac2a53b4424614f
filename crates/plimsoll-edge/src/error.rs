//! Why a configuration cannot be used.

use plimsoll_hub_io::hub::TooManyLoops;

use plimsoll_net::tls_error::TlsError;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Countries(#[from] maxminddb::MaxMindDbError),
    #[error("the system provides no random bytes")]
    NoRandom,
    #[error(transparent)]
    HubLoops(#[from] TooManyLoops),
}
