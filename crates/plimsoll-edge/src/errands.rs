//! What the edge does besides requests, on a thread of its own: asks servers whether they are well, fetches fallbacks,
//! watches rates, takes over a folder of copies, lets time pass for the hub, listens to Redis and others for it and
//! shares one with other edges, and hands spans to the collector.

mod rates;
mod shells;
mod spans;
mod takeover;

use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot, watch};

use crate::acme;
use crate::check;
use crate::control::Control;
use crate::hub::{self, InUse};
use crate::names;
use crate::trace::Span;

/// Batches of spans that may wait for the collector.
pub(crate) const BATCHES_MAX: usize = 128;

/// Runs errands until `end` is told or dropped; spans that are there or on their way by then are still told.
pub(crate) fn run(
    runtime: &Runtime,
    control: &Arc<Control>,
    mut spans: mpsc::Receiver<Vec<Span>>,
    end: oneshot::Receiver<()>,
) {
    let (watch, errands, tell) = (&control.watch, &control.errands, &control.hooks.tell);
    let (ending, is_ending) = watch::channel(false);
    let in_use = |changed| InUse {
        hub: &watch.hub,
        changed,
        tell,
        clock: watch.clock,
    };
    let others = async {
        tokio::select! {
            () = check::keep(Arc::clone(watch), Arc::clone(tell)) => {}
            () = names::keep(Arc::clone(control)) => {}
            () = control.watch_certificates() => {}
            () = acme::keep(Arc::clone(control)) => {}
            () = shells::keep_fetching(watch, tell) => {}
            () = takeover::keep_taking_over(control) => {}
            () = rates::keep_watching(watch, errands, tell) => {}
            () = hub::keep_time(in_use(&control.hub_changed)) => {}
            () = hub::redis::keep_listening(in_use(&control.redis_changed)) => {}
            () = hub::sources::keep_hearing(in_use(&control.sources_changed)) => {}
            () = hub::shared::keep_sharing(in_use(&control.shared_changed)) => {}
            _ = end => {}
        }
        ending.send_replace(true);
    };
    // Not among the others: what ends with them is dropped where it stands, and spans on their way would be lost.
    let telling = spans::keep_telling(watch, errands, tell, &mut spans, is_ending);
    runtime.block_on(async { tokio::join!(others, telling) });
}
