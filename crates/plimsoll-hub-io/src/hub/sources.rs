//! Message sources besides publishers: Redis streams, NATS subjects, PostgreSQL notifications. Each source is a task of
//! its own that reconnects forever.

pub(super) mod nats;
mod postgres;
mod stream;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use plimsoll_config::edge::{HubSource, HubSourceKind};
use plimsoll_net::lock::lock;
use plimsoll_net::notice::NoticeSink;
use tokio::task::JoinHandle;

use super::InUse;
use super::broker::Broker;
use super::dial::PAUSES;
use super::redis::publish;
use super::view::SourceView;

/// A source and its totals.
#[derive(Debug)]
pub(super) struct SourceState {
    config: HubSource,
    is_there: AtomicBool,
    /// Messages published.
    messages: AtomicU64,
    /// Messages rejected by the hub.
    refused: AtomicU64,
    /// Connection losses.
    losses: AtomicU64,
}

impl SourceState {
    /// Snapshot for display.
    pub(super) fn view(&self) -> SourceView {
        let names = self.config.names.join(" ");
        SourceView {
            name: format!("{}: {names}", self.config.title()),
            is_there: self.is_there.load(Ordering::Relaxed),
            messages: self.messages.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            losses: self.losses.load(Ordering::Relaxed),
        }
    }
}

/// A task that ends with this.
struct AbortOnDrop(JoinHandle<Infallible>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A running source.
struct SourceListener {
    broker: Arc<Broker>,
    source: Arc<SourceState>,
    _task: AbortOnDrop,
}

/// Listens as long as it is configured; a reload without changes interrupts nothing.
pub async fn run_sources(in_use: InUse<'_>) {
    let mut all = Vec::new();
    loop {
        follow(&mut all, in_use);
        in_use.changed.notified().await;
    }
}

/// Stops removed sources and starts new ones.
fn follow(all: &mut Vec<SourceListener>, in_use: InUse<'_>) {
    let Some(hub) = in_use.hub() else {
        return all.clear();
    };
    let (broker, wanted) = (&hub.broker, &hub.config.sources);
    all.retain(|listener| {
        Arc::ptr_eq(broker, &listener.broker) && wanted.contains(&listener.source.config)
    });
    for config in wanted {
        if all.iter().all(|listener| listener.source.config != *config) {
            all.push(start_listener(broker, config, in_use.report));
        }
    }
    let sources = all.iter().map(|listener| Arc::clone(&listener.source));
    *lock(&broker.sources) = sources.collect();
}

/// Starts a source.
fn start_listener(broker: &Arc<Broker>, config: &HubSource, report: &NoticeSink) -> SourceListener {
    let source = Arc::new(SourceState {
        config: config.clone(),
        is_there: AtomicBool::new(false),
        messages: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        losses: AtomicU64::new(0),
    });
    let mut session = SourceSession {
        broker: Arc::clone(broker),
        source: Arc::clone(&source),
        report: Arc::clone(report),
        is_refusal_reported: false,
        was_there: None,
    };
    let listening = async move { session.listen().await };
    SourceListener {
        broker: Arc::clone(broker),
        source,
        _task: AbortOnDrop(tokio::spawn(listening)),
    }
}

/// State of a source that outlives a connection.
struct SourceSession {
    broker: Arc<Broker>,
    source: Arc<SourceState>,
    report: NoticeSink,
    is_refusal_reported: bool,
    /// Whether it was available last; `None` before the first attempt.
    was_there: Option<bool>,
}

impl SourceSession {
    /// Listens, and reports when the source becomes unavailable and available again.
    async fn listen(&mut self) -> Infallible {
        let mut pause = PAUSES.0;
        loop {
            let source = Arc::clone(&self.source);
            let config = &source.config;
            let ended = match &config.kind {
                HubSourceKind::RedisStream { group } => stream::listen(self, config, group).await,
                HubSourceKind::Nats => nats::listen(self, config).await,
                HubSourceKind::Postgres { database } => {
                    postgres::listen(self, config, database).await
                }
            };
            let why = match ended {
                Ok(never) => match never {},
                Err(why) => why,
            };
            source.is_there.store(false, Ordering::Relaxed);
            if self.was_there != Some(false) {
                let title = config.title();
                (self.report)(&format!("{title} is unavailable: {why}; retrying"));
                source.losses.fetch_add(1, Ordering::Relaxed);
                pause = PAUSES.0;
            }
            self.was_there = Some(false);
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(PAUSES.1);
        }
    }

    /// The source is connected, and its messages are received from now on.
    fn arrive(&mut self) {
        self.source.is_there.store(true, Ordering::Relaxed);
        if self.was_there != Some(true) {
            self.was_there = Some(true);
            let title = self.source.config.title();
            (self.report)(&format!("messages from {title} are published to the hub"));
        }
    }

    /// Publishes a message of a source under a name.
    async fn publish(&mut self, name: &str, data: &str) {
        let channel = self.source.config.channel_of(name);
        let done = publish(&self.broker, &channel, data).await;
        let count = match done {
            Ok(()) => &self.source.messages,
            Err(_) => &self.source.refused,
        };
        count.fetch_add(1, Ordering::Relaxed);
        if let Err(why) = done
            && !self.is_refusal_reported
        {
            self.is_refusal_reported = true;
            let title = self.source.config.title();
            (self.report)(&format!(
                "a message from {title} to the channel `{channel}` was not published: {why}; further ones are not reported"
            ));
        }
    }
}
