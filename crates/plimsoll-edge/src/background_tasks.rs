//! What the edge does besides requests, on a thread of its own: asks servers whether they are well, fetches fallbacks,
//! watches rates, takes over a folder of copies, lets time pass for the hub, listens to Redis and others for it and
//! shares one with other edges, and hands spans to the collector.

mod learned_fallbacks;
mod rates;
mod spans;
mod takeover;

use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot, watch};

use crate::acme;
use crate::control::Control;
use crate::dns;
use crate::health_check;
use crate::hub::{self, InUse};
use crate::trace::RequestSpan;

/// Batches of spans that may wait for the collector.
pub(crate) const BATCHES_MAX: usize = 128;

/// Runs errands until `end` is told or dropped; spans that are there or on their way by then are still told.
pub(crate) fn run(
    runtime: &Runtime,
    control: &Arc<Control>,
    mut spans: mpsc::Receiver<Vec<RequestSpan>>,
    end: oneshot::Receiver<()>,
) {
    let (watch, tasks, report) = (
        &control.watch,
        &control.background_tasks,
        &control.hooks.report,
    );
    let (ending, is_ending) = watch::channel(false);
    let in_use = |changed| InUse {
        hub: &watch.hub,
        changed,
        report,
        clock: watch.clock,
    };
    let others = async {
        tokio::select! {
            () = health_check::keep(Arc::clone(watch), Arc::clone(report)) => {}
            () = dns::keep(Arc::clone(control)) => {}
            () = control.watch_certificates() => {}
            () = acme::keep(Arc::clone(control)) => {}
            () = learned_fallbacks::keep_fetching(watch, report) => {}
            () = takeover::keep_taking_over(control) => {}
            () = rates::keep_watching(watch, tasks, report) => {}
            () = hub::keep_time(in_use(&control.hub_changed)) => {}
            () = hub::redis::keep_listening(in_use(&control.redis_changed)) => {}
            () = hub::sources::run_sources(in_use(&control.sources_changed)) => {}
            () = hub::shared::keep_sharing(in_use(&control.shared_changed)) => {}
            _ = end => {}
        }
        ending.send_replace(true);
    };
    // Not among the others: what ends with them is dropped where it stands, and spans on their way would be lost.
    let exporting = spans::keep_exporting(watch, tasks, report, &mut spans, is_ending);
    runtime.block_on(async { tokio::join!(others, exporting) });
}
