//! Reads numbers of workers that are applied by signals.

use std::time::Duration;

use plimsoll_model::experiment::WorkerSignals;

use super::{PROCESSES_VALID, processes};
use crate::document::Shape::{Count, Either, Text};
use crate::document::{DocumentNode, SettingsMap as _, settings, time};
use crate::experiment::required;
use crate::experiment::scope::ExperimentScope;

/// Default time for a signal: gunicorn lets a worker finish for 30 s.
const SIGNAL_TIME: Duration = Duration::from_secs(40);

settings! {
    /// Worker processes of a running gunicorn, unicorn or Puma cluster: the signal TTIN adds one and TTOU ends one, until
    /// there are as many. As many as before are there again after the trial.
    struct WorkerSettings, WORKERS "workers" {
        /// File with the process id of the server: `/run/gunicorn.pid`.
        "pid_file": Text;
        /// Number of workers: `"{{ workers }}"`.
        "to": Either(&[Count(1, 1024), Text]);
        /// Time limit for each signal to have its effect.
        within: Duration = SIGNAL_TIME, "within": time().within(
            Duration::from_millis(1),
            Duration::from_hours(24),
            "1ms to 24h"
        );
    }
}

/// Reads the workers of a server.
pub(super) fn signals(
    scope: &ExperimentScope<'_, '_>,
    node: &DocumentNode,
) -> Option<WorkerSignals> {
    let reader = scope.reader;
    let fields = reader.fields(node, &WORKERS)?;
    let pid_file = required(reader, &fields, "pid_file", "/run/gunicorn.pid");
    let pid_file = pid_file.and_then(|node| reader.word(node, "the name of a file"));
    let to = required(reader, &fields, "to", "\"{{ AXIS }}\"");
    let to = to.and_then(|node| scope.each(node, PROCESSES_VALID, processes));
    let within = WorkerSettings::read(reader, &fields).within;
    Some(WorkerSignals {
        pid_file: pid_file?,
        to: to?,
        within,
    })
}
