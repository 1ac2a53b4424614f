//! Exports spans to the collector: batching, sending, retries, and counters.

use std::pin::pin;
use std::time::Duration;

use hyper::StatusCode;
use plimsoll_net::notice::NoticeSink;
use plimsoll_net::outbound;
use plimsoll_proxy::telemetry::trace::{RequestSpan, otlp};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::control::BackgroundTasks;
use crate::overview::OverviewSource;

/// Most requests in one batch.
const SPANS_MAX: usize = 512;
/// Longest time to fill a batch.
const GATHER: Duration = Duration::from_secs(1);
/// Time limit of an export.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for all remaining spans at shutdown.
const LAST_TIMEOUT: Duration = Duration::from_secs(2);
/// Delays before retries; shutdown cuts them short.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// Exports until no event loop is left that could produce spans; once everything else has ended, for a limited time.
pub(super) async fn keep_exporting(
    watch: &OverviewSource,
    tasks: &BackgroundTasks,
    report: &NoticeSink,
    spans: &mut mpsc::Receiver<Vec<RequestSpan>>,
    is_ending: watch::Receiver<bool>,
) {
    keep_exporting_for(LAST_TIMEOUT, (watch, tasks, report), spans, is_ending).await;
}

/// The same, with this time limit.
async fn keep_exporting_for(
    last_timeout: Duration,
    (watch, tasks, report): (&OverviewSource, &BackgroundTasks, &NoticeSink),
    spans: &mut mpsc::Receiver<Vec<RequestSpan>>,
    mut is_ending: watch::Receiver<bool>,
) {
    let mut exporting = pin!(export_all(watch, tasks, report, spans, is_ending.clone()));
    tokio::select! {
        () = &mut exporting => return,
        () = ended(&mut is_ending) => {}
    }
    // A send in flight is completed: cut off, its spans would be lost or exported twice.
    let _ = timeout(last_timeout, exporting).await;
}

/// Waits for shutdown.
async fn ended(is_ending: &mut watch::Receiver<bool>) {
    // A dropped sender also means shutdown.
    let _ = is_ending.wait_for(|is_ending| *is_ending).await;
}

async fn export_all(
    watch: &OverviewSource,
    tasks: &BackgroundTasks,
    report: &NoticeSink,
    spans: &mut mpsc::Receiver<Vec<RequestSpan>>,
    mut is_ending: watch::Receiver<bool>,
) {
    let mut failing = false;
    while let Some(mut batch) = spans.recv().await {
        // Batch more spans, but with a short delay; at shutdown there is nothing to wait for.
        let gathering = async {
            while batch.len() < SPANS_MAX
                && let Some(more) = spans.recv().await
            {
                batch.extend(more);
            }
        };
        let _ = timeout(GATHER, gathering).await;
        let sent = send_again(tasks, &batch, &mut is_ending).await;
        let count = batch.len() as u64;
        match sent {
            Ok(()) => {
                watch.exports.spans_sent.add(count);
                failing = false;
            }
            Err(why) => {
                watch.exports.spans_lost.add(count);
                if !failing {
                    report(&format!("the collector does not accept spans: {why}"));
                }
                failing = true;
            }
        }
    }
}

/// Sends with retries; during shutdown only once.
async fn send_again(
    tasks: &BackgroundTasks,
    batch: &[RequestSpan],
    is_ending: &mut watch::Receiver<bool>,
) -> Result<(), String> {
    let mut why = Err(String::new());
    for pause in PAUSES.iter().map(Some).chain([None]) {
        why = match send(tasks, batch).await {
            Ok(()) => return Ok(()),
            Err((why, may_repeat)) if may_repeat => Err(why),
            Err((why, _)) => return Err(why),
        };
        if *is_ending.borrow() {
            break;
        }
        if let Some(pause) = pause {
            let _ = timeout(*pause, ended(is_ending)).await;
        }
    }
    why
}

/// Sends once; the error carries whether a retry makes sense.
async fn send(tasks: &BackgroundTasks, batch: &[RequestSpan]) -> Result<(), (String, bool)> {
    let Some(traces) = tasks.traces() else {
        return Err(("the collector is no longer configured".to_owned(), false));
    };
    let instance = std::process::id().to_string();
    let json = otlp::request(batch, &traces.service, &instance);
    match outbound::post(&traces.to, json, TIMEOUT).await {
        Ok(status) if status.is_success() => Ok(()),
        Ok(status) => {
            let may_repeat = matches!(
                status,
                StatusCode::TOO_MANY_REQUESTS
                    | StatusCode::BAD_GATEWAY
                    | StatusCode::SERVICE_UNAVAILABLE
                    | StatusCode::GATEWAY_TIMEOUT
            );
            Err((format!("status {status}"), may_repeat))
        }
        Err(why) => Err((why, true)),
    }
}

#[cfg(test)]
mod tests;
