//! Where a response goes.

use crate::lookup::fetch::Filling;

/// Destination of a response.
#[derive(Debug, Default)]
pub(super) enum Course {
    /// To the client, as it arrives.
    #[default]
    ToClient,
    /// To all that read along, and into the store when it is complete.
    ToStore(Box<Filling>),
    /// Discarded.
    Nowhere,
}
