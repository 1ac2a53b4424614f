//! Message sources besides publishers: Redis streams, NATS subjects, PostgreSQL notifications. Each source is a task of
//! its own that reconnects forever.

pub(super) mod nats;
mod postgres;
mod stream;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use plimsoll_config::edge::{HubSource, HubSourceKind, ServerTls};
use plimsoll_hub::HubRefusal;
use tokio::io::AsyncReadExt as _;
use tokio::task::JoinHandle;

use super::InUse;
use super::broker::Broker;
use super::dial::{self, PATIENCE};
use super::redis::{CATCHING_UP, PAUSES};
use super::view::SourceView;
use crate::lock::lock;
use crate::notice::NoticeSink;
use crate::upstream::Upstream;

/// Idle time after which a source is checked.
const SILENCE: Duration = Duration::from_secs(10);
/// Size of one read.
const READ_LEN: usize = 64 * 1024;

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
pub(crate) async fn run_sources(in_use: InUse<'_>) {
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

    /// Publishes a message of a source under a name. Pauses reading while the loops are behind. Data that is not JSON
    /// becomes a string.
    async fn publish(&mut self, name: &str, data: &str) {
        let channel = self.source.config.channel_of(name);
        let done = loop {
            let done = match self.broker.publish(&channel, data) {
                Err(HubRefusal::NotJson) => {
                    let quoted = serde_json::Value::from(data).to_string();
                    self.broker.publish(&channel, &quoted)
                }
                done => done,
            };
            match done {
                Err(HubRefusal::Behind) => tokio::time::sleep(CATCHING_UP).await,
                done => break done.map(drop),
            }
        };
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

/// A buffered connection.
pub(super) struct BufferedConnection {
    stream: Upstream,
    held: Vec<u8>,
    /// Bytes of `held` that were consumed.
    taken: usize,
}

impl BufferedConnection {
    pub(super) async fn open(host: &str, port: u16) -> Result<Self, String> {
        Ok(Self {
            stream: Upstream::Plain(dial::connect(host, port).await?),
            held: Vec::new(),
            taken: 0,
        })
    }

    /// Upgrades to TLS.
    ///
    /// # Errors
    /// A message; also when data arrived before the handshake, which anyone on the path could have injected.
    pub(super) async fn secure(self, host: &str, tls: &ServerTls) -> Result<Self, String> {
        let (Upstream::Plain(stream), true) = (self.stream, self.taken == self.held.len()) else {
            return Err("unexpected data before the TLS handshake".to_owned());
        };
        Ok(Self {
            stream: dial::secure(stream, host, tls).await?,
            held: Vec::new(),
            taken: 0,
        })
    }

    /// Whether the traffic stays on this host.
    fn is_near(&self) -> bool {
        match &self.stream {
            Upstream::Plain(stream) => stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()),
            Upstream::Tls(_) => false,
        }
    }

    pub(super) async fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        super::redis::link::send(&mut self.stream, bytes).await
    }

    /// Received bytes that are not yet consumed.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.held[self.taken..]
    }

    /// Consumes this many bytes.
    pub(super) fn advance(&mut self, len: usize) {
        self.taken += len;
    }

    /// Waits for more data; whether some arrived in time. Cancel-safe.
    pub(super) async fn more(&mut self, patience: Duration) -> Result<bool, String> {
        self.held.drain(..self.taken);
        self.taken = 0;
        if self.held.is_empty() {
            self.held.shrink_to(READ_LEN);
        }
        self.held.reserve(READ_LEN);
        match tokio::time::timeout(patience, self.stream.read_buf(&mut self.held)).await {
            Err(_) => Ok(false),
            Ok(Ok(0)) => Err("it closed the connection".to_owned()),
            Ok(Ok(_)) => Ok(true),
            Ok(Err(error)) => Err(error.to_string()),
        }
    }

    /// Waits for more data, which must arrive in time.
    pub(super) async fn must_have_more(&mut self) -> Result<(), String> {
        if self.more(PATIENCE).await? {
            return Ok(());
        }
        Err(format!("no answer within {PATIENCE:?}"))
    }

    /// Waits for more data; sends `question` as a liveness check when the connection is idle for long. `is_asked` is
    /// kept between calls.
    async fn more_or_ping(&mut self, is_asked: &mut bool, question: &[u8]) -> Result<(), String> {
        let patience = if *is_asked { PATIENCE } else { SILENCE };
        if self.more(patience).await? {
            *is_asked = false;
            return Ok(());
        }
        if *is_asked {
            return Err(format!("no answer within {PATIENCE:?}"));
        }
        *is_asked = true;
        self.send(question).await
    }
}
