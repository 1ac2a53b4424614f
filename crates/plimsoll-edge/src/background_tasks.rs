//! Background tasks of the edge, on a thread of their own: health checks, fetching fallbacks, rate alerts, taking over
//! the directory of the disk cache, timers of the hub, its message sources (Redis and others) and its shared backend,
//! and export of spans.

mod learned_fallbacks;
mod rates;
mod spans;
mod takeover;

use std::sync::Arc;

use plimsoll_hub_io::hub;
use plimsoll_proxy::telemetry::trace::RequestSpan;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot, watch};

use crate::acme;
use crate::control::TaskState;
use crate::dns;
use crate::health_check;

/// Limit of batches that wait for the collector.
pub(crate) const BATCHES_MAX: usize = 128;

/// Runs the background tasks until `end` is signalled or dropped; spans queued by then are still exported.
pub(crate) fn run(
    runtime: &Runtime,
    state: &TaskState,
    mut spans: mpsc::Receiver<Vec<RequestSpan>>,
    end: oneshot::Receiver<()>,
) {
    let (watch, tasks, report) = (state.watch(), state.config(), state.notices());
    let (ending, is_ending) = watch::channel(false);
    let others = async {
        tokio::select! {
            () = health_check::keep(Arc::clone(watch), Arc::clone(report)) => {}
            () = dns::keep(state.server_names()) => {}
            () = state.certificates().watch() => {}
            () = acme::keep(state.acme()) => {}
            () = learned_fallbacks::keep_fetching(watch, report) => {}
            () = takeover::keep_taking_over(state.disk()) => {}
            () = rates::keep_watching(watch, tasks, report) => {}
            () = hub::keep_time(state.hub()) => {}
            () = hub::redis::keep_listening(state.hub_redis()) => {}
            () = hub::sources::run_sources(state.hub_sources()) => {}
            () = hub::shared::keep_sharing(state.hub_shared()) => {}
            _ = end => {}
        }
        ending.send_replace(true);
    };
    // Separate from the other tasks: those are dropped at any await point when they end, which would lose spans in
    // flight.
    let exporting = spans::keep_exporting(watch, tasks, report, &mut spans, is_ending);
    runtime.block_on(async { tokio::join!(others, exporting) });
}
