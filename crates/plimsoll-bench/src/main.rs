//! Comparisons with peers: `cargo xtask bench`, in alternating runs, each side pinned to a core, and `cargo xtask
//! cache-suite`.
//!
//! CPU per request is user and system time of the client's whole process tree, as the kernel charges it, divided by
//! the requests made. Latency and throughput of this machine mean nothing elsewhere; the ratios do.

#![expect(
    clippy::print_stdout,
    reason = "a task talks to the person who started it"
)]

mod cache;
mod cache_suite;
mod context;
mod edge;
mod hub;
mod journeys;
mod load;
mod page;
mod server;
mod spread;
mod websocket;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use plimsoll_harness::exit;

/// Comparisons of Plimsoll with its peers
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct BenchArguments {
    #[command(subcommand)]
    task: BenchTask,
}

#[derive(Subcommand)]
enum BenchTask {
    /// Measure side by side with peers and write the table into docs/benchmarks
    #[command(subcommand)]
    Bench(Comparison),
    /// Run the public test suite for HTTP caches against the edge, nginx, Varnish and HAProxy
    CacheSuite(cache_suite::CacheSuiteArguments),
}

#[derive(Subcommand)]
enum Comparison {
    /// The load engine beside wrk, oha, hey and ab, against nginx
    Load(load::LoadArguments),
    /// A journey of 500 users beside k6, Gatling and plain requests, against nginx
    Journeys(journeys::JourneysArguments),
    /// The cache beside those of nginx, HAProxy and Varnish, and the load on the origin
    Cache(cache::CacheArguments),
    /// The edge beside nginx and HAProxy, and under overload
    Edge(edge::EdgeArguments),
    /// The hub beside Bun, nchan and ws, and with slow subscribers, reloads and a million channels
    Hub(hub::HubArguments),
    /// WebSockets by our load generator beside k6, Artillery and Tsung, against Bun
    Websocket(websocket::WebsocketArguments),
}

fn main() -> ExitCode {
    exit::code(match BenchArguments::parse().task {
        BenchTask::Bench(comparison) => compare(&comparison).map(|()| ExitCode::SUCCESS),
        BenchTask::CacheSuite(arguments) => cache_suite::run(&arguments),
    })
}

fn compare(comparison: &Comparison) -> Result<()> {
    match comparison {
        Comparison::Load(arguments) => load::run(arguments),
        Comparison::Journeys(arguments) => journeys::run(arguments),
        Comparison::Cache(arguments) => cache::run(arguments),
        Comparison::Edge(arguments) => edge::run(arguments),
        Comparison::Hub(arguments) => hub::run(arguments),
        Comparison::Websocket(arguments) => websocket::run(arguments),
    }
}
