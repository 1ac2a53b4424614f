//! Scenarios prepared for a loop: steps flattened into operations, texts and searches compiled.
//!
//! Everything here is immutable; state per user is in [`crate::virtual_users`].

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod condition;
pub(crate) mod expect;
pub(crate) mod extract;
pub(crate) mod feed;
pub(crate) mod found;
pub(crate) mod mix;
pub(crate) mod origin;
pub(crate) mod program;
pub(crate) mod request;
pub(crate) mod text;

#[cfg(test)]
pub(crate) mod tests;
