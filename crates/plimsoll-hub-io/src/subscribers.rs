//! Clients of the hub: their sockets, what they send, and how they leave.

mod disconnects;
pub mod local_hub;
pub mod subscriber;
mod subscriber_sockets;
