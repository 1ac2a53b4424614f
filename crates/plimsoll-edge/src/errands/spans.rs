//! Spans on their way to the collector: gathered, sent, tried again for a while, and counted.

use std::time::Duration;

use hyper::StatusCode;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::Errands;
use crate::check::Tell;
use crate::outbound;
use crate::overview::Watch;
use crate::trace::{Span, otlp};

/// Requests that are told of at once.
const SPANS_MAX: usize = 512;
/// Longest time that they are gathered.
const GATHER: Duration = Duration::from_secs(1);
/// Time for the collector.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Time for it at the end.
const LAST_TIMEOUT: Duration = Duration::from_secs(2);
/// Pauses before it is tried again.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// Tells for ever.
pub(super) async fn keep_telling(
    watch: &Watch,
    errands: &Errands,
    tell: &Tell,
    spans: &mut mpsc::Receiver<Vec<Span>>,
) {
    let mut failing = false;
    while let Some(mut batch) = spans.recv().await {
        // More of them in one go, but nobody waits for long.
        let gathering = async {
            while batch.len() < SPANS_MAX
                && let Some(more) = spans.recv().await
            {
                batch.extend(more);
            }
        };
        let _ = timeout(GATHER, gathering).await;
        let sent = send_again(errands, &batch).await;
        let count = batch.len() as u64;
        match sent {
            Ok(()) => {
                watch.told.spans_sent.add(count);
                failing = false;
            }
            Err(why) => {
                watch.told.spans_lost.add(count);
                if !failing {
                    tell(&format!("the collector takes no spans: {why}"));
                }
                failing = true;
            }
        }
    }
    // No loop is left to tell anything; whoever ends the errands does so now.
    std::future::pending::<()>().await;
}

async fn send_again(errands: &Errands, batch: &[Span]) -> Result<(), String> {
    let mut why = Err(String::new());
    for pause in PAUSES.iter().map(Some).chain([None]) {
        why = match send(errands, batch, TIMEOUT).await {
            Ok(()) => return Ok(()),
            Err((why, may_repeat)) if may_repeat => Err(why),
            Err((why, _)) => return Err(why),
        };
        if let Some(pause) = pause {
            tokio::time::sleep(*pause).await;
        }
    }
    why
}

/// Sends once; whether it makes sense to do so again stands with the fault.
async fn send(errands: &Errands, batch: &[Span], timeout: Duration) -> Result<(), (String, bool)> {
    let Some(traces) = errands.traces() else {
        return Err(("there is no collector any more".to_owned(), false));
    };
    let instance = std::process::id().to_string();
    let json = otlp::request(batch, &traces.service, &instance);
    match outbound::post(&traces.to, json, timeout).await {
        Ok(status) if status.is_success() => Ok(()),
        Ok(status) => {
            let may_repeat = matches!(
                status,
                StatusCode::TOO_MANY_REQUESTS
                    | StatusCode::BAD_GATEWAY
                    | StatusCode::SERVICE_UNAVAILABLE
                    | StatusCode::GATEWAY_TIMEOUT
            );
            Err((format!("it answered {status}"), may_repeat))
        }
        Err(why) => Err((why, true)),
    }
}

/// Tells what is left when everything else has ended.
pub(super) async fn tell_rest(
    watch: &Watch,
    errands: &Errands,
    spans: &mut mpsc::Receiver<Vec<Span>>,
) {
    let mut rest = Vec::new();
    while let Ok(batch) = spans.try_recv() {
        rest.extend(batch);
    }
    if !rest.is_empty() && send(errands, &rest, LAST_TIMEOUT).await.is_ok() {
        watch.told.spans_sent.add(rest.len() as u64);
    }
}
