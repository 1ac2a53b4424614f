//! Comparisons with peers: `cargo xtask bench`, in alternating runs, each side pinned to a core, and `cargo xtask
//! cache-suite`.
//!
//! CPU per request is user and system time of the client's whole process tree, as the kernel charges it, divided by
//! the requests made. Latency and throughput of this machine mean nothing elsewhere; the ratios do.

#![expect(
    clippy::print_stdout,
    reason = "a task talks to the person who started it"
)]

mod bench;
mod cache;
mod cache_suite;
mod certificate;
mod client;
mod edge;
mod hub;
mod journeys;
mod load;
mod logs;
mod tune;
mod websocket;

use std::process::ExitCode;

use anyhow::Result;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Args, Parser, Subcommand};
use plimsoll_harness::exit;

use crate::bench::BenchArguments;

/// Comparisons of Plimsoll with its peers
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct ComparisonArguments {
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
    #[command(mut_arg("only", |arg| chapters(arg, &LOAD)), mut_arg("seconds", |arg| arg.default_value("6")))]
    Load(BenchArguments),
    /// A journey of 500 users beside k6, Gatling and plain requests, against nginx
    #[command(mut_arg("only", |arg| chapters(arg, &JOURNEYS)), mut_arg("seconds", |arg| arg.default_value("30")))]
    Journeys(BenchArguments),
    /// The cache beside those of nginx, HAProxy and Varnish, and the load on the origin
    #[command(mut_arg("only", |arg| chapters(arg, &CACHE)))]
    Cache(CacheArguments),
    /// The edge beside nginx and HAProxy, and under overload
    #[command(mut_arg("only", |arg| chapters(arg, &EDGE)))]
    Edge(BenchArguments),
    /// The hub beside Bun, nchan and ws, and with slow subscribers, reloads and a million channels
    #[command(mut_arg("only", |arg| chapters(arg, &HUB)), mut_arg("seconds", |arg| arg.default_value("10")))]
    Hub(BenchArguments),
    /// WebSockets by our load generator beside k6, Artillery and Tsung, against Bun
    #[command(mut_arg("only", |arg| chapters(arg, &WEBSOCKET)), mut_arg("seconds", |arg| arg.default_value("10")))]
    Websocket(BenchArguments),
    /// The day of a log beside `GoAccess`
    #[command(mut_arg("only", |arg| chapters(arg, &LOGS)))]
    Logs(BenchArguments),
    /// The search of `plimsoll tune` beside SMAC3, Optuna's TPE and random settings, in virtual time
    Tune(tune::TuneArguments),
}

#[derive(Args)]
struct CacheArguments {
    #[command(flatten)]
    bench: BenchArguments,
    /// Number of objects in our cache
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(10_000..=4_000_000))]
    objects: u32,
}

/// Chapters that can be measured separately, with what they are.
type ChapterHelp = [(&'static str, &'static str)];

const LOAD: [(&str, &str); 5] = [
    ("closed", "CPU per request in a closed loop"),
    ("rate", "CPU per request at a rate"),
    ("connections", "Ten thousand open connections"),
    ("lateness", "Lateness by the server's clock"),
    ("stall", "A server frozen for a second"),
];
const JOURNEYS: [(&str, &str); 1] = [("journeys", "All clients")];
const CACHE: [(&str, &str); 5] = [
    ("hit", "CPU per cached page"),
    (
        "memory",
        "Memory per object, and pauses while the cache grows",
    ),
    ("stampede", "A page that expires every second"),
    ("outage", "The origin is killed"),
    ("purge", "Everything is purged"),
];
const EDGE: [(&str, &str); 7] = [
    ("pass", "CPU per request passed through, plain"),
    ("tls", "The same with TLS and HTTP/2"),
    ("fallback", "CPU per fallback answer"),
    ("idle", "Memory of idle clients"),
    ("latency", "Latency added at half load"),
    ("overload", "Ten and fifty times the origin's capacity"),
    (
        "reload",
        "Twenty reloads under load, with a thousand WebSockets",
    ),
];
const HUB: [(&str, &str); 8] = [
    ("fan", "A message per second to 10,000 subscribers"),
    ("fan-full", "The same to 19,500"),
    ("doors", "Accepts, and memory of clients"),
    (
        "conflation",
        "Twenty messages a second, with conflation and without",
    ),
    ("slow", "A tenth of the readers stop reading"),
    ("reload", "Reloads under 10,000 clients"),
    ("kill", "One of two edges that share a Redis is killed"),
    ("million", "10,000 clients with 100 channels each"),
];
const WEBSOCKET: [(&str, &str); 4] = [
    ("open", "Handshakes, and memory of idle WebSockets"),
    ("receive", "Received messages"),
    ("answer", "Messages with responses"),
    ("forty", "As many as two processes can hold"),
];
const LOGS: [(&str, &str); 2] = [
    ("plain", "A day as a plain file"),
    ("gzip", "The same day, compressed"),
];

fn chapters(arg: Arg, chapters: &'static ChapterHelp) -> Arg {
    let values = chapters
        .iter()
        .map(|(id, help)| PossibleValue::new(*id).help(*help));
    arg.value_parser(PossibleValuesParser::new(values))
}

fn main() -> ExitCode {
    exit::code(match ComparisonArguments::parse().task {
        BenchTask::Bench(comparison) => compare(&comparison).map(|()| ExitCode::SUCCESS),
        BenchTask::CacheSuite(arguments) => cache_suite::run(&arguments),
    })
}

fn compare(comparison: &Comparison) -> Result<()> {
    match comparison {
        Comparison::Load(arguments) => bench::run("load", arguments, &[], load::measure),
        Comparison::Journeys(arguments) => {
            bench::run("journeys", arguments, &[], journeys::measure)
        }
        Comparison::Cache(arguments) => {
            let objects = [("objects", arguments.objects)];
            bench::run("cache", &arguments.bench, &objects, cache::measure)
        }
        Comparison::Edge(arguments) => bench::run("edge", arguments, &[], edge::measure),
        Comparison::Hub(arguments) => bench::run("hub", arguments, &[], hub::measure),
        Comparison::Websocket(arguments) => {
            bench::run("websocket", arguments, &[], websocket::measure)
        }
        Comparison::Logs(arguments) => bench::run("logs", arguments, &[], logs::measure),
        Comparison::Tune(arguments) => tune::run(arguments),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;
    use plimsoll_harness::data;
    use plimsoll_harness::definition::{Chapter, PageDefinition};
    use plimsoll_harness::workspace::Workspace;

    use super::*;

    /// Data files are valid, and have the same chapters as the command line.
    #[test]
    fn every_chapter_can_be_asked_for() {
        ComparisonArguments::command().debug_assert();
        let workspace = Workspace::find().unwrap();
        for (task, known) in [
            ("load", &LOAD[..]),
            ("journeys", &JOURNEYS),
            ("cache", &CACHE),
            ("edge", &EDGE),
            ("hub", &HUB),
            ("websocket", &WEBSOCKET),
            ("logs", &LOGS),
        ] {
            let file = bench::definition_of(task);
            let definition: PageDefinition = data::read(workspace.root(), &file).unwrap();
            definition.check().unwrap();
            let defined: BTreeSet<&str> = definition.chapters().iter().map(Chapter::id).collect();
            let known: BTreeSet<&str> = known.iter().map(|(id, _)| *id).collect();
            assert_eq!(defined, known, "{file}");
        }
    }
}
