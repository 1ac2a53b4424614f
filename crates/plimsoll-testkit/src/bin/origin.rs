//! `plimsoll-origin`: a known-law origin as a separate process, for soaks and for external checks.
//!
//! Prints its URL as one line when it is ready. Runs until its standard input ends or it is killed, then prints its
//! counts as one line.

use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use plimsoll_model::seed::Seed;
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};
use plimsoll_testkit::origin::raise_descriptor_limit;

/// An HTTP server that obeys a queueing law
#[derive(Parser)]
#[command(name = "plimsoll-origin")]
struct Arguments {
    /// Distribution of the service time
    #[arg(long, value_enum, default_value_t = ServiceLawArgument::Exponential)]
    law: ServiceLawArgument,
    /// Number of servers behind the one queue
    #[arg(long, default_value_t = NonZeroU32::MIN)]
    servers: NonZeroU32,
    /// Mean service time in microseconds
    #[arg(long, default_value_t = 10_000)]
    mean_us: u64,
    /// Seed of the service times
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Address to listen on; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Status of every response
    #[arg(long, default_value_t = 200)]
    status: u16,
    /// Length of every body in bytes
    #[arg(long, default_value_t = 1_000)]
    body_len: usize,
    /// Stall once, this many milliseconds after the start
    #[arg(long, requires = "stall_for_ms")]
    stall_after_ms: Option<u64>,
    /// Length of the stall in milliseconds
    #[arg(long, requires = "stall_after_ms")]
    stall_for_ms: Option<u64>,
    /// Print this many arrival times at the end, in nanoseconds, one per line
    #[arg(long, default_value_t = 0)]
    arrivals: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum ServiceLawArgument {
    Deterministic,
    Exponential,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    raise_descriptor_limit()?;
    let mean = Duration::from_micros(arguments.mean_us);
    let plan = KnownLawPlan {
        servers: arguments.servers,
        service: match arguments.law {
            ServiceLawArgument::Deterministic => Service::Deterministic(mean),
            ServiceLawArgument::Exponential => Service::Exponential(mean),
        },
        seed: Seed(arguments.seed),
        status: arguments.status,
        body_len: arguments.body_len,
        runs_first: false,
    };
    let origin = KnownLaw::start_recording(plan, arguments.listen, arguments.arrivals)?;
    if let (Some(after), Some(pause)) = (arguments.stall_after_ms, arguments.stall_for_ms) {
        origin.stall_at(Duration::from_millis(after), Duration::from_millis(pause));
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{}", origin.url())?;
    out.flush()?;
    io::stdin().lock().read_to_end(&mut Vec::new())?;
    let counts = origin.counts();
    writeln!(
        out,
        "accepted {} arrived {} served {} in_flight_max {} late_max_us {} late_mean_us {:.1}",
        counts.accepted,
        counts.arrived,
        counts.served,
        counts.in_flight_max,
        counts.late_max.as_micros(),
        counts.late_total.as_secs_f64() * 1e6 / (counts.served.max(1) as f64)
    )?;
    for moment in origin.arrivals() {
        writeln!(out, "{moment}")?;
    }
    Ok(())
}
