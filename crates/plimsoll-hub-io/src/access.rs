//! Who may do what in the hub: tokens, hooks of the application, and quotas of connections.

pub mod connection_quota;
pub mod dialog;
pub mod hooks;
pub mod token;
