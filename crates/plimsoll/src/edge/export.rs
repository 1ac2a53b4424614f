//! `--export` of an edge: its metrics and those of its host, each second, to other programs.

use std::thread::JoinHandle;

use plimsoll_config::edge::EdgeConfig;
use plimsoll_edge::EdgeHandle;
use plimsoll_lab::progress::StopFlag;
use plimsoll_model::metric;
use plimsoll_model::reading::{Readings, label};
use plimsoll_probe::{EdgeSource, OwnEdge, ProbePlan};

use crate::arguments::MetricsExportArguments;
use crate::explain::CliError;
use crate::metrics_export::WatchExport;
use crate::screen::eprint;

/// The exports of an edge. They end when this is dropped, with the last full second.
#[derive(Debug)]
pub(super) struct EdgeExport {
    stop: StopFlag,
    thread: Option<JoinHandle<()>>,
}

impl EdgeExport {
    /// Starts them; `None` without any.
    ///
    /// # Errors
    /// When there is no room for a thread.
    pub(super) fn start(
        arguments: &MetricsExportArguments,
        edge: &EdgeConfig,
        running: &EdgeHandle,
    ) -> Result<Option<Self>, CliError> {
        let mut servers = edge.pools.iter().flat_map(|pool| &pool.servers);
        let target = servers.next().map(|server| server.name.clone());
        let Some(export) = WatchExport::start(arguments, target.as_deref(), "edge") else {
            return Ok(None);
        };
        let plan = ProbePlan {
            pids: vec![std::process::id()],
            edge: Some(EdgeSource::Own(OwnEdge::new(running.metrics_reader()))),
            ..ProbePlan::default()
        };
        let stop = StopFlag::default();
        let flag = stop.clone();
        let thread = std::thread::Builder::new()
            .name("edge-export".to_owned())
            .spawn(move || follow(plan, &flag, export))?;
        Ok(Some(Self {
            stop,
            thread: Some(thread),
        }))
    }
}

impl Drop for EdgeExport {
    fn drop(&mut self) {
        self.stop.raise();
        if let Some(thread) = self.thread.take() {
            // A panicked thread has reported that on stderr.
            let _ = thread.join();
        }
    }
}

/// Exports each second until a stop is requested.
fn follow(plan: ProbePlan, stop: &StopFlag, export: WatchExport) {
    let agents = Vec::new();
    let watched =
        plimsoll_lab::watch::watch(plan, agents, u32::MAX, stop, &mut |readings, notes| {
            for text in notes {
                eprint(&format!("note: {text}"));
            }
            if let Some(readings) = readings {
                export.take(&without_generator(readings));
            }
        });
    if let Err(error) = watched {
        eprint(&format!(
            "warning: --export has ended: {error}; the edge goes on"
        ));
    }
    let _ = export.finish();
}

/// The readings without those of a load generator: there is none, and the edge is the target.
fn without_generator(readings: &Readings) -> Readings {
    let is_of_service = |name: &str| label(name, "process") != Some(metric::GENERATOR);
    let mut readings = readings.clone();
    readings.values.retain(|name, _| is_of_service(name));
    readings.new_series.retain(|name, _| is_of_service(name));
    readings
}
