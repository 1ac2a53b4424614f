//! Rate alerts: monitors request rates and reports when one leaves its usual range.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::edge::{Endpoint, RateAlert};
use plimsoll_net::clock::{self, Nanoseconds, nanoseconds};
use plimsoll_net::lock::lock;
use plimsoll_net::notice::NoticeSink;
use plimsoll_net::outbound;
use plimsoll_proxy::telemetry::access_log_entry::rfc3339;
use tokio::sync::Semaphore;

use crate::control::BackgroundTasks;
use crate::overview::{OverviewSource, RateAlertView};
use crate::rate_alert::{AlertChange, Detector, Sensitivity, Usual};

/// Longest interval between checks whether a window is complete.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time limit of a webhook call.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Delays before retries.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];
/// Webhook calls per minute.
const PER_MINUTE: u32 = 20;
/// Concurrent webhook calls.
const AT_ONCE: usize = 4;

/// Kind and name of what is counted.
type AlertKey = (&'static str, String);

#[derive(Debug, Default)]
struct AlertState {
    detector: Detector,
    before: Option<u64>,
    raised: u64,
}

/// Background task: monitors all rates.
pub(super) async fn keep_watching(
    watch: &Arc<OverviewSource>,
    tasks: &BackgroundTasks,
    report: &NoticeSink,
) {
    let mut watched: HashMap<AlertKey, AlertState> = HashMap::new();
    let mut messenger = Messenger::new(watch, report);
    let mut due: Option<Nanoseconds> = None;
    let mut counted_at = watch.clock.now();
    loop {
        let Some(alert) = tasks.rate_alert() else {
            watched.clear();
            due = None;
            lock(&watch.rate_alerts).clear();
            tokio::time::sleep(POLL_INTERVAL).await;
            continue;
        };
        let now = watch.clock.now();
        let every = nanoseconds(alert.every);
        if let Some(at) = due.filter(|at| *at > now) {
            tokio::time::sleep(Duration::from_nanos(at - now).min(POLL_INTERVAL)).await;
            continue;
        }
        due = Some(next_due(due, now, every));
        let window = now.saturating_sub(counted_at);
        counted_at = now;
        count(watch, &alert, window, &mut watched, &mut messenger);
    }
}

/// When the next window ends: a period after the last one was due, so that delays do not accumulate. After a long delay it
/// is a period from now, since a window of a moment shows nothing.
fn next_due(due: Option<Nanoseconds>, now: Nanoseconds, every: Nanoseconds) -> Nanoseconds {
    let due = due.unwrap_or(now);
    if now.saturating_sub(due) > every / 2 {
        now + every
    } else {
        due + every
    }
}

/// What came in a window, as the count of a period. A thread that stood still ends its window late: what came meanwhile is
/// more than in a period, and no surge.
fn in_period(count: u64, every: Nanoseconds, window: Nanoseconds) -> u64 {
    let window = u128::from(window.max(1));
    let count = (u128::from(count) * u128::from(every) + window / 2) / window;
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Counts what came since the last call, in a window of so many nanoseconds.
fn count(
    watch: &OverviewSource,
    alert: &RateAlert,
    window: Nanoseconds,
    watched: &mut HashMap<AlertKey, AlertState>,
    messenger: &mut Messenger,
) {
    let seconds = alert.every.as_secs_f64();
    let set = Sensitivity {
        history: alert.history as usize,
        factor: alert.factor,
        least: alert.least_per_second * seconds,
    };
    let totals = totals(watch);
    watched.retain(|key, _| totals.iter().any(|(known, _)| known == key));
    for (key, total) in &totals {
        let state = watched.entry(key.clone()).or_default();
        // The first sample has no window: what came before monitoring is not a rate.
        let Some(before) = state.before.replace(*total) else {
            continue;
        };
        let count = in_period(
            total.saturating_sub(before),
            nanoseconds(alert.every),
            window,
        );
        let Some(change) = state.detector.count(count, set) else {
            continue;
        };
        state.raised += u64::from(matches!(change, AlertChange::Raised(_)));
        messenger.report_change(alert, key, count as f64 / seconds, change);
    }
    let views = totals.iter().filter_map(|(key, _)| {
        let state = watched.get(key)?;
        Some(RateAlertView {
            kind: key.0,
            name: key.1.clone(),
            is_alarmed: state.detector.is_alarmed(),
            history: state.detector.history(),
            raised: state.raised,
        })
    });
    *lock(&watch.rate_alerts) = views.collect();
}

/// Total requests so far, by route and by pool.
fn totals(watch: &OverviewSource) -> Vec<(AlertKey, u64)> {
    let routes = lock(&watch.routes).clone();
    let pools = lock(&watch.pools).clone();
    let mut totals: Vec<(AlertKey, u64)> = Vec::new();
    for route in &routes {
        let mut name = route.name();
        if totals.iter().any(|((_, known), _)| *known == name) {
            name = format!("{name} ({})", totals.len() + 1);
        }
        totals.push((("route", name), route.count()));
    }
    for (index, pool) in pools.iter().enumerate() {
        let of_pool = routes.iter().filter(|route| route.pool() == Some(index));
        let sum = of_pool.map(|route| route.count()).sum();
        totals.push((("pool", pool.config.name.clone()), sum));
    }
    totals
}

/// Sends webhook calls within limits.
struct Messenger {
    watch: Arc<OverviewSource>,
    report: NoticeSink,
    places: Arc<Semaphore>,
    minute: Nanoseconds,
    sent: u32,
}

impl Messenger {
    fn new(watch: &Arc<OverviewSource>, report: &NoticeSink) -> Self {
        Self {
            watch: Arc::clone(watch),
            report: Arc::clone(report),
            places: Arc::new(Semaphore::new(AT_ONCE)),
            minute: 0,
            sent: 0,
        }
    }

    fn report_change(&mut self, alert: &RateAlert, key: &AlertKey, rate: f64, change: AlertChange) {
        let (event, usual) = match change {
            AlertChange::Raised(usual) => ("raised", usual),
            AlertChange::Ended(usual) => ("ended", usual),
        };
        let seconds = alert.every.as_secs_f64();
        let (low, high) = (usual.low / seconds, usual.high / seconds);
        let (kind, name) = key;
        let what = if event == "raised" {
            "is out of its usual range"
        } else {
            "is in its usual range again"
        };
        (self.report)(&format!(
            "the rate of the {kind} {name} {what}: {rate:.1}/s, usually {low:.1} to {high:.1}/s"
        ));
        if let Some(webhook) = &alert.webhook {
            let json = message(event, key, rate, Usual { low, high }, seconds);
            self.send(webhook.clone(), json);
        }
    }

    fn send(&mut self, to: Endpoint, json: String) {
        let now = self.watch.clock.now();
        if now.saturating_sub(self.minute) >= nanoseconds(Duration::from_mins(1)) {
            self.minute = now;
            self.sent = 0;
        }
        self.sent += 1;
        let place = Arc::clone(&self.places).try_acquire_owned();
        let Some(place) = place.ok().filter(|_| self.sent <= PER_MINUTE) else {
            self.watch.exports.webhooks_failed.increment();
            (self.report)("the webhook was not called: too many messages at once");
            return;
        };
        let (watch, report) = (Arc::clone(&self.watch), Arc::clone(&self.report));
        tokio::spawn(async move {
            match post_again(&to, json).await {
                Ok(()) => watch.exports.webhooks_sent.increment(),
                Err(why) => {
                    watch.exports.webhooks_failed.increment();
                    report(&format!("the webhook did not accept an alert: {why}"));
                }
            }
            drop(place);
        });
    }
}

async fn post_again(to: &Endpoint, json: String) -> Result<(), String> {
    let mut why = String::new();
    for pause in PAUSES.iter().map(Some).chain([None]) {
        match outbound::post(to, json.clone(), TIMEOUT).await {
            Ok(status) if status.is_success() => return Ok(()),
            Ok(status) => why = format!("status {status}"),
            Err(error) => why = error,
        }
        if let Some(pause) = pause {
            tokio::time::sleep(*pause).await;
        }
    }
    Err(why)
}

fn message(event: &str, key: &AlertKey, rate: f64, usual: Usual, seconds: f64) -> String {
    let direction = if rate > usual.high {
        "above"
    } else if rate < usual.low {
        "below"
    } else {
        "within"
    };
    serde_json::json!({
        "format_version": "1.0",
        "source": "plimsoll-edge",
        "event": event,
        "subject": key.0,
        "name": key.1,
        "direction": direction,
        "rate_per_second": rate,
        "usual_per_second": { "low": usual.low, "high": usual.high },
        "period_seconds": seconds,
        "at": rfc3339(clock::wall()),
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanoseconds = 1_000_000_000;

    #[test]
    fn windows_follow_one_another_and_none_is_a_moment() {
        assert_eq!(next_due(None, 7, SECOND), SECOND + 7);
        // Late, and not later each time.
        assert_eq!(next_due(Some(SECOND), SECOND + 300, SECOND), 2 * SECOND);
        // After a stall of three periods.
        let resumed = 4 * SECOND + SECOND / 10;
        assert_eq!(next_due(Some(SECOND), resumed, SECOND), resumed + SECOND);
    }

    #[test]
    fn a_thread_that_stood_still_counts_no_surge() {
        assert_eq!(in_period(600, SECOND, SECOND), 600);
        assert_eq!(in_period(600, SECOND, SECOND + 700), 600);
        assert_eq!(in_period(3000, SECOND, 5 * SECOND), 600);
        assert_eq!(in_period(300, SECOND, SECOND / 2), 600);
        assert_eq!(in_period(u64::MAX, SECOND, 0), u64::MAX);
    }
}
