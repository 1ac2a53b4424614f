//! The edge against real sockets: scripted servers, servers with a known law, and real programs.

mod abuse;
mod ending;
mod overload;
mod pass;
mod programs;
mod retry;
mod support;
mod upgrade;
