//! Spans on their way to the collector: gathered, sent, tried again for a while, and counted.

use std::pin::pin;
use std::time::Duration;

use hyper::StatusCode;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::control::BackgroundTasks;
use crate::notice::NoticeSink;
use crate::outbound;
use crate::overview::OverviewSource;
use crate::trace::{RequestSpan, otlp};

/// Requests that are told of at once.
const SPANS_MAX: usize = 512;
/// Longest time that they are gathered.
const GATHER: Duration = Duration::from_secs(1);
/// Time for the collector.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Time for all that is left at the end.
const LAST_TIMEOUT: Duration = Duration::from_secs(2);
/// Pauses before it is tried again; the end cuts them short.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// Tells until no loop is left that could say more, or for a while longer when everything else ends.
pub(super) async fn keep_exporting(
    watch: &OverviewSource,
    tasks: &BackgroundTasks,
    report: &NoticeSink,
    spans: &mut mpsc::Receiver<Vec<RequestSpan>>,
    mut is_ending: watch::Receiver<bool>,
) {
    let mut exporting = pin!(export_all(watch, tasks, report, spans, is_ending.clone()));
    tokio::select! {
        () = &mut exporting => return,
        () = ended(&mut is_ending) => {}
    }
    // What is being sent is sent to its end: cut off, it would be lost or told twice.
    let _ = timeout(LAST_TIMEOUT, exporting).await;
}

/// Waits until everything else has ended.
async fn ended(is_ending: &mut watch::Receiver<bool>) {
    // Whoever could say so is gone: that is the end as well.
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
        // More of them in one go, but nobody waits for long; at the end there is nothing more to wait for.
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

/// Sends, and tries again after a pause; once everything else has ended, once.
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

/// Sends once; whether it makes sense to do so again stands with the fault.
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
