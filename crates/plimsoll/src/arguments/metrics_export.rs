//! Where metrics go while a command runs.

use clap::Args;
use plimsoll_export::{ExportHeader, ExportRequest};

/// Exports of a run while it goes on.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct MetricsExportArguments {
    /// Send the metrics of each second to what you already watch, such as remote-write=http://127.0.0.1:9090 or jsonl=FILE;
    /// kinds: remote-write, scrape, otlp, influx, statsd, hlog, jsonl, grafana; repeatable
    #[arg(long = "export", id = "metrics_export", value_name = "KIND=TARGET")]
    pub(crate) requests: Vec<ExportRequest>,
    /// Header of the requests of such a kind, for example 'grafana=Authorization: Bearer TOKEN'; repeatable
    #[arg(
        long = "export-header",
        id = "metrics_export_header",
        value_name = "KIND=NAME: VALUE",
        requires = "metrics_export"
    )]
    pub(crate) headers: Vec<ExportHeader>,
}
