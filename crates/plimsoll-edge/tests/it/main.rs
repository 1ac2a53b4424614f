//! The edge against real sockets: scripted servers, servers with a known law, and real programs.

mod abuse;
mod admin;
mod ending;
mod overload;
mod pass;
mod programs;
mod reload;
mod retry;
mod support;
mod tls;
mod upgrade;
