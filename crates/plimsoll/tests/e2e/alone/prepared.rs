//! Tests that start programs beside each other, and then measure three at a time, or alone where the service computes.

mod databases;
mod loads;
mod logs;
mod parts;
mod proxies;
mod runtimes;
mod traces;
mod websockets;
