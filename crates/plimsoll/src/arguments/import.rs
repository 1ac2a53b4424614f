//! Arguments of `import` and `record`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use plimsoll_import::log::Format;

use super::socket_address;

/// The source of an imported plan.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Import a browser recording (HAR 1.2)
    Har(HarArguments),
    /// Import access logs of one or several servers, in any order; gzip and zstd are unpacked
    Log(LogArguments),
    /// Import a script of k6
    K6(ScriptArguments),
    /// Import a test plan of JMeter (.jmx)
    Jmeter(ScriptArguments),
    /// Import a Postman collection (v2.1)
    Postman(ScriptArguments),
    /// Import an OpenAPI document (3.0 or 3.1, YAML or JSON)
    Openapi(ScriptArguments),
    /// Import curl command lines
    Curl(ScriptArguments),
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
    /// URL of the site [default: the site of the first page visited]
    #[arg(long, value_name = "URL")]
    pub(crate) target: Option<String>,
    /// Also keep requests to this host, as NAME or NAME:PORT; repeatable
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Vec<String>,
    /// Folder for the plan and the files of bodies that are no text, instead of the plan on standard output
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Exit with code 2 if the plan lacks anything of the recording
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ScriptArguments {
    /// The script; `-` reads standard input. For curl, also the command line itself, in quotes
    #[arg(value_name = "FILE")]
    pub(crate) script: String,
    /// URL of the site, instead of the one that the script names
    #[arg(long, value_name = "URL")]
    pub(crate) target: Option<String>,
    /// File with values of variables: an exported environment of Postman, or properties of JMeter
    #[arg(long, value_name = "FILE")]
    pub(crate) env: Option<PathBuf>,
    /// Folder for the plan and the files it names, instead of the plan on standard output
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Exit with code 2 if the plan lacks anything of the script
    #[arg(long)]
    pub(crate) strict: bool,
    /// Seed of values that are made up
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct LogArguments {
    /// The logs; `-` reads standard input
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Log format: a name, or a line of the server's configuration [default: detected]
    #[arg(long, value_name = "FORMAT", value_parser = log_format, long_help = log_format_help())]
    pub(crate) format: Option<Format>,
    /// URL of the site [default: the host named in the log]
    #[arg(long, value_name = "URL")]
    pub(crate) target: Option<String>,
    /// Also import unsafe requests (POST, PUT, PATCH, DELETE), without their bodies
    #[arg(long)]
    pub(crate) with_unsafe: bool,
    /// Part of the log that sets the load
    #[arg(long, value_enum, default_value_t = LogWindow::All)]
    pub(crate) window: LogWindow,
    /// Replay the requests with their gaps: at the speed 1x, at 3x, or busiest-hour
    #[arg(long, value_name = "SPEED", value_parser = replay, num_args = 0..=1, default_missing_value = "1x")]
    pub(crate) replay: Option<ReplayArgument>,
    /// Write the requests of the replay to this file instead of the plan
    #[arg(long, value_name = "FILE.csv", requires = "replay")]
    pub(crate) rows: Option<PathBuf>,
}

fn log_format(text: &str) -> Result<Format, String> {
    Format::parse(text).map_err(|error| error.to_string())
}

/// The formats by name, and what else is taken.
fn log_format_help() -> String {
    let names: Vec<String> = Format::described()
        .map(|(name, about)| format!("- {name}: {about}"))
        .collect();
    format!(
        "Log format: a name, or a line of the server's configuration [default: detected]\n\n{}\n\n\
         A line of configuration is that of nginx (log_format main '…';), Apache (LogFormat \"…\" name), \
         HAProxy (log-format \"…\") or a format string of Envoy",
        names.join("\n")
    )
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogWindow {
    /// The whole log
    All,
    /// The hour with the most pages
    BusiestHour,
}

/// How a log is replayed.
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
                "`{text}` is not a speed; valid: 0.01x to 1000x, such as 1x or 3x, or busiest-hour"
            )
        })
}

#[derive(Debug, Args)]
pub(crate) struct RecordArguments {
    /// The site to visit
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// File for the plan [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Start this Chromium-based browser [default: the first one found]
    #[arg(long, value_name = "PROGRAM", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with = "proxy")]
    pub(crate) browser: Option<PathBuf>,
    /// Start no browser; listen as a proxy on this address until Ctrl-C
    #[arg(long, value_name = "ADDRESS", value_parser = socket_address)]
    pub(crate) proxy: Option<SocketAddr>,
    /// File for the CA certificate that the browser must trust, for https with --proxy
    #[arg(
        long,
        value_name = "FILE",
        requires = "proxy",
        default_value = "plimsoll-record.pem"
    )]
    pub(crate) certificate: PathBuf,
    /// Also keep requests to this host; repeatable
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Vec<String>,
    /// Tunnel the browser to this host too, without recording, as NAME or NAME:PORT, or `*` for all public hosts;
    /// repeatable. Other hosts are refused
    #[arg(long, value_name = "HOST")]
    pub(crate) pass: Vec<String>,
    /// PEM file with certificate authorities for the site, instead of the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
}
