//! The last phase: the heads that clients receive, and responses of the edge itself.

pub(crate) mod forwarded;
pub(crate) mod head;
pub(crate) mod hub;
pub mod learned_fallback;
pub(crate) mod stored;
pub mod synthetic_response;

#[cfg(test)]
mod tests;
