//! What a person types for the edge.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use plimsoll_config::edge::Ceiling;

use super::duration_above_zero;

/// What the edge stands in front of, and how.
#[derive(Debug, Args)]
pub(crate) struct EdgeArguments {
    /// Address to take requests at
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// A server to pass requests to; several share the load
    #[arg(long, value_name = "URL", required = true)]
    pub(crate) to: Vec<String>,
    /// Event loops, one core each [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) cores: Option<u32>,
    /// Requests that may be with one server at once: a number, or `adaptive` to learn it from latencies
    #[arg(long, value_name = "N|adaptive", default_value = "adaptive", value_parser = ceiling, help_heading = "Overload")]
    pub(crate) max_in_flight: Ceiling,
    /// Requests that may wait for a server [default: as many as will be served in time]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000), help_heading = "Overload")]
    pub(crate) queue: Option<u32>,
    /// How long a request may wait for a server
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero, default_value = "500ms", help_heading = "Overload")]
    pub(crate) queue_timeout: Duration,
    /// A page that browsers get when no server has room
    #[arg(long, value_name = "FILE", help_heading = "Overload")]
    pub(crate) fallback: Option<PathBuf>,
    /// Where finished requests are written: a file, `-` for the standard output, or `off`
    #[arg(long, value_name = "FILE|-|off", default_value = "off", help_heading = "Seeing it")]
    pub(crate) access_log: String,
    /// How a line of the access log looks
    #[arg(long, value_enum, default_value_t = LogFormatArgument::Json, help_heading = "Seeing it")]
    pub(crate) log_format: LogFormatArgument,
    /// Keep copies of answers: `off` passes every request on
    #[arg(long, value_enum, default_value_t = CacheArgument::Off, help_heading = "Cache")]
    pub(crate) cache: CacheArgument,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CacheArgument {
    /// No copies
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormatArgument {
    /// One JSON object a line, with phases and reasons
    Json,
    /// As web servers have always written it
    Combined,
}

fn ceiling(text: &str) -> Result<Ceiling, String> {
    if text == "adaptive" {
        return Ok(Ceiling::Adaptive);
    }
    match text.parse() {
        Ok(limit @ 1..=1_000_000) => Ok(Ceiling::Fixed(limit)),
        _ => Err("valid: a number from 1 to 1000000, or `adaptive`".to_owned()),
    }
}
