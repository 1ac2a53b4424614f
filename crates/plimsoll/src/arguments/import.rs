//! What is typed to make plans of recordings and logs.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use plimsoll_import::log::LogFileFormat;

/// From what a plan is made.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// A recording that a browser saved (HAR 1.2)
    Har(HarArguments),
    /// Access logs of a server, in the order of their time; `.gz` is read too
    Log(LogArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    #[command(subcommand)]
    pub(crate) what: ImportCommand,
}

#[derive(Debug, Args)]
pub(crate) struct HarArguments {
    /// The recording; `-` reads standard input
    pub(crate) file: PathBuf,
    /// The site [default: that of the first page that was shown]
    #[arg(long, value_name = "URL")]
    pub(crate) target: Option<String>,
    /// Keep requests to this host too, as NAME or NAME:PORT; may be given several times
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LogArguments {
    /// The logs; `-` reads standard input
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// How they are written [default: found out]
    #[arg(long, value_enum)]
    pub(crate) format: Option<LogFormat>,
    /// The site [default: the host that the log names]
    #[arg(long, value_name = "URL")]
    pub(crate) target: Option<String>,
    /// Take in requests that change things too (POST, PUT, PATCH, DELETE), without their bodies
    #[arg(long)]
    pub(crate) with_unsafe: bool,
    /// Which part sets the load
    #[arg(long, value_enum, default_value_t = LogWindow::All)]
    pub(crate) window: LogWindow,
    /// Send the same requests again with their gaps kept: 1x, 3x as fast, or busiest-hour
    #[arg(long, value_name = "SPEED", value_parser = replay, num_args = 0..=1, default_missing_value = "1x")]
    pub(crate) replay: Option<ReplayArgument>,
    /// Write the replayed requests to this file instead of into the plan
    #[arg(long, value_name = "FILE.csv", requires = "replay")]
    pub(crate) rows: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// combined, with further fields behind it or without
    Nginx,
    /// `common`, `combined`, `vhost_combined`
    Apache,
    /// option httplog
    Haproxy,
    /// and other logs with a line #Fields
    Cloudfront,
    /// one object a line
    Json,
}

impl From<LogFormat> for LogFileFormat {
    fn from(format: LogFormat) -> Self {
        match format {
            LogFormat::Nginx => Self::Nginx,
            LogFormat::Apache => Self::Apache,
            LogFormat::Haproxy => Self::Haproxy,
            LogFormat::Cloudfront => Self::Cloudfront,
            LogFormat::Json => Self::Json,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogWindow {
    /// The whole log
    All,
    /// The hour with most pages
    BusiestHour,
}

/// How a log is repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ReplayArgument {
    Speed(f64),
    BusiestHour,
}

fn replay(text: &str) -> Result<ReplayArgument, String> {
    if text == "busiest-hour" {
        return Ok(ReplayArgument::BusiestHour);
    }
    let speed = text.strip_suffix('x').unwrap_or(text).parse::<f64>().ok();
    speed
        .filter(|speed| (0.01..=1000.0).contains(speed))
        .map(ReplayArgument::Speed)
        .ok_or_else(|| {
            format!(
                "`{text}` is no speed; valid: 0.01x to 1000x, such as 1x or 3x, or busiest-hour"
            )
        })
}

#[derive(Debug, Args)]
pub(crate) struct RecordArguments {
    /// The site to visit
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Write the plan here [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Start this browser (Chromium or one of its kin) [default: the one that is found]
    #[arg(long, value_name = "PROGRAM", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with = "proxy")]
    pub(crate) browser: Option<PathBuf>,
    /// Start no browser; be a proxy on this address for one that is set to use it, until Ctrl-C
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) proxy: Option<SocketAddr>,
    /// Write the certificate that the browser must trust here, for https with --proxy
    #[arg(
        long,
        value_name = "FILE",
        requires = "proxy",
        default_value = "plimsoll-record.pem"
    )]
    pub(crate) certificate: PathBuf,
    /// Keep requests to this host too; may be given several times
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Vec<String>,
    /// Let the browser through to this host too, unread, as NAME or NAME:PORT, or `*` for all public ones; may be given
    /// several times. Other hosts are refused
    #[arg(long, value_name = "HOST")]
    pub(crate) pass: Vec<String>,
    /// Certificates to trust instead of the system's when the site is asked, a PEM file
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
}
