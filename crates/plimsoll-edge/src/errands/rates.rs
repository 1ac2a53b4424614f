//! Watches the rates of requests, and tells when one leaves its usual range.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::edge::{Alarm, Endpoint};
use tokio::sync::Semaphore;

use crate::alarm::{Change, Detector, Sensitivity, Usual};
use crate::clock::{self, Nanoseconds, nanoseconds};
use crate::control::Errands;
use crate::lock::lock;
use crate::notice::Tell;
use crate::outbound;
use crate::overview::{AlarmView, Watch};
use crate::record::rfc3339;

/// How often it is looked whether a count is complete, at most.
const LOOK: Duration = Duration::from_millis(100);
/// Time for a webhook.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Pauses before it is tried again.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];
/// Messages to the webhook in a minute.
const PER_MINUTE: u32 = 20;
/// Messages on their way at once.
const AT_ONCE: usize = 4;

/// What is counted, by kind and name.
type Subject = (&'static str, String);

#[derive(Debug, Default)]
struct Watched {
    detector: Detector,
    before: Option<u64>,
    raised: u64,
}

/// Watches for ever.
pub(super) async fn keep_watching(watch: &Arc<Watch>, errands: &Errands, tell: &Tell) {
    let mut watched: HashMap<Subject, Watched> = HashMap::new();
    let mut messenger = Messenger::new(watch, tell);
    let mut due: Option<Nanoseconds> = None;
    loop {
        let Some(alarm) = errands.alarm() else {
            watched.clear();
            due = None;
            lock(&watch.alarms).clear();
            tokio::time::sleep(LOOK).await;
            continue;
        };
        let now = watch.clock.now();
        let every = nanoseconds(alarm.every);
        if let Some(at) = due.filter(|at| *at > now) {
            tokio::time::sleep(Duration::from_nanos(at - now).min(LOOK)).await;
            continue;
        }
        // From moment to moment, so that late looks do not add up.
        due = Some(due.unwrap_or(now).max(now.saturating_sub(every)) + every);
        count(watch, &alarm, &mut watched, &mut messenger);
    }
}

fn count(
    watch: &Watch,
    alarm: &Alarm,
    watched: &mut HashMap<Subject, Watched>,
    messenger: &mut Messenger,
) {
    let seconds = alarm.every.as_secs_f64();
    let set = Sensitivity {
        history: alarm.history as usize,
        factor: alarm.factor,
        least: alarm.least_per_second * seconds,
    };
    let totals = totals(watch);
    watched.retain(|subject, _| totals.iter().any(|(one, _)| one == subject));
    for (subject, total) in &totals {
        let one = watched.entry(subject.clone()).or_default();
        // What came before anybody watched is nobody's rate.
        let Some(before) = one.before.replace(*total) else {
            continue;
        };
        let count = total.saturating_sub(before);
        let Some(change) = one.detector.count(count, set) else {
            continue;
        };
        one.raised += u64::from(matches!(change, Change::Raised(_)));
        messenger.tell(alarm, subject, count as f64 / seconds, change);
    }
    let views = totals.iter().filter_map(|(subject, _)| {
        let one = watched.get(subject)?;
        Some(AlarmView {
            kind: subject.0,
            name: subject.1.clone(),
            is_alarmed: one.detector.is_alarmed(),
            raised: one.raised,
        })
    });
    *lock(&watch.alarms) = views.collect();
}

/// Requests so far, of routes and of pools.
fn totals(watch: &Watch) -> Vec<(Subject, u64)> {
    let routes = lock(&watch.routes).clone();
    let pools = lock(&watch.pools).clone();
    let mut totals: Vec<(Subject, u64)> = Vec::new();
    for route in &routes {
        let mut name = route.name();
        if totals.iter().any(|((_, one), _)| *one == name) {
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

/// Takes messages out, within bounds.
struct Messenger {
    watch: Arc<Watch>,
    tell: Tell,
    places: Arc<Semaphore>,
    minute: Nanoseconds,
    sent: u32,
}

impl Messenger {
    fn new(watch: &Arc<Watch>, tell: &Tell) -> Self {
        Self {
            watch: Arc::clone(watch),
            tell: Arc::clone(tell),
            places: Arc::new(Semaphore::new(AT_ONCE)),
            minute: 0,
            sent: 0,
        }
    }

    fn tell(&mut self, alarm: &Alarm, subject: &Subject, rate: f64, change: Change) {
        let (event, usual) = match change {
            Change::Raised(usual) => ("raised", usual),
            Change::Ended(usual) => ("ended", usual),
        };
        let seconds = alarm.every.as_secs_f64();
        let (low, high) = (usual.low / seconds, usual.high / seconds);
        let (kind, name) = subject;
        let what = if event == "raised" {
            "is out of its usual range"
        } else {
            "is in its usual range again"
        };
        (self.tell)(&format!(
            "the rate of the {kind} {name} {what}: {rate:.1}/s, usually {low:.1} to {high:.1}/s"
        ));
        if let Some(webhook) = &alarm.webhook {
            let json = message(event, subject, rate, Usual { low, high }, seconds);
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
            self.watch.told.webhooks_failed.increment();
            (self.tell)("the webhook is not called: too many messages at once");
            return;
        };
        let (watch, tell) = (Arc::clone(&self.watch), Arc::clone(&self.tell));
        tokio::spawn(async move {
            match post_again(&to, json).await {
                Ok(()) => watch.told.webhooks_sent.increment(),
                Err(why) => {
                    watch.told.webhooks_failed.increment();
                    tell(&format!("the webhook did not take an alarm: {why}"));
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
            Ok(status) => why = format!("it answered {status}"),
            Err(error) => why = error,
        }
        if let Some(pause) = pause {
            tokio::time::sleep(*pause).await;
        }
    }
    Err(why)
}

fn message(event: &str, subject: &Subject, rate: f64, usual: Usual, seconds: f64) -> String {
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
        "subject": subject.0,
        "name": subject.1,
        "direction": direction,
        "rate_per_second": rate,
        "usual_per_second": { "low": usual.low, "high": usual.high },
        "period_seconds": seconds,
        "at": rfc3339(clock::wall()),
    })
    .to_string()
}
