//! Clients of the hub: their sockets, what they send, and how they leave.

mod disconnect_reports;
pub mod local_hub;
pub mod subscriber;
mod subscriber_sockets;
