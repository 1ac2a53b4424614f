//! Messages from Redis Pub/Sub: a message published to a channel goes to the hub's channel of the same name.

pub(super) mod link;
pub(super) mod resp;
pub(super) mod value;

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::edge::HubRedis;
use plimsoll_hub::HubRefusal;
use tokio::io::AsyncReadExt as _;

use super::InUse;
use super::broker::Broker;
use super::dial::PATIENCE;
use link::{RedisEndpoint, authentication};
use resp::{MalformedResp, RespReply};

/// Idle time after which Redis is pinged.
const SILENCE: Duration = Duration::from_secs(10);
/// Pauses between two attempts, the first and the longest.
pub(super) const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));
/// Pause while the loops catch up. Redis buffers messages meanwhile, within its own limit.
pub(super) const CATCHING_UP: Duration = Duration::from_millis(2);
/// Size of one read.
const READ_LEN: usize = 64 * 1024;

/// Listens as long as it is configured; a reload without changes interrupts nothing.
pub(crate) async fn keep_listening(in_use: InUse<'_>) {
    loop {
        let hub = in_use.hub();
        let wanted = hub.and_then(|hub| Some((hub.config.redis.clone()?, hub)));
        let Some((config, hub)) = wanted else {
            in_use.changed.notified().await;
            continue;
        };
        let listening = listen(&hub.broker, &config, &**in_use.report);
        tokio::pin!(listening);
        let is_same = || {
            in_use.hub().is_some_and(|now| {
                Arc::ptr_eq(&now.broker, &hub.broker) && now.config.redis.as_ref() == Some(&config)
            })
        };
        while is_same() {
            tokio::select! {
                never = &mut listening => match never {},
                () = in_use.changed.notified() => {}
            }
        }
    }
}

/// Listens, and reports when Redis becomes unavailable and available again.
async fn listen(
    broker: &Broker,
    config: &HubRedis,
    report: &(dyn Fn(&str) + Send + Sync),
) -> Infallible {
    let address = format!("{}:{}", config.host, config.port);
    let mut session = RedisSession {
        broker,
        report,
        address: &address,
        is_refusal_reported: false,
        is_there: None,
    };
    let mut pause = PAUSES.0;
    loop {
        let why = session.run(config).await;
        if session.is_there != Some(false) {
            report(&format!(
                "Redis at {address} is unavailable: {why}; retrying"
            ));
            pause = PAUSES.0;
        }
        session.is_there = Some(false);
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(PAUSES.1);
    }
}

/// State that outlives a connection.
struct RedisSession<'a> {
    broker: &'a Broker,
    report: &'a (dyn Fn(&str) + Send + Sync),
    address: &'a str,
    is_refusal_reported: bool,
    /// Whether it was available last; `None` before the first attempt.
    is_there: Option<bool>,
}

impl RedisSession<'_> {
    /// One connection until it ends; returns why.
    async fn run(&mut self, config: &HubRedis) -> String {
        match self.serve(config).await {
            Ok(never) => match never {},
            Err(why) => why,
        }
    }

    async fn serve(&mut self, config: &HubRedis) -> Result<Infallible, String> {
        let in_words = |error: std::io::Error| error.to_string();
        let place = RedisEndpoint {
            host: &config.host,
            port: config.port,
            user: config.user.as_deref(),
            password: config.password.as_deref(),
            tls: config.tls.as_ref(),
        };
        let mut stream = link::open(&place).await?;
        let mut commands = authentication(&place).unwrap_or_default();
        let patterns = config.patterns.iter().map(String::as_str);
        let words = ["PSUBSCRIBE"].into_iter().chain(patterns);
        commands.extend(resp::command(&words.collect::<Vec<_>>()));
        link::send(&mut stream, &commands).await?;
        let mut held = Vec::new();
        let mut is_asked = false;
        let mut late = pin!(tokio::time::sleep(PATIENCE));
        loop {
            held.reserve(READ_LEN);
            let patience = if is_asked { PATIENCE } else { SILENCE };
            let reading = tokio::time::timeout(patience, stream.read_buf(&mut held));
            let read = tokio::select! {
                // Even if other data arrives meanwhile.
                () = &mut late, if self.is_there != Some(true) => {
                    return Err(format!("no authentication within {PATIENCE:?}"));
                }
                read = reading => read,
            };
            match read {
                Ok(Ok(0)) => return Err("it closed the connection".to_owned()),
                Ok(read) => {
                    read.map_err(in_words)?;
                    is_asked = false;
                }
                Err(_) if is_asked => return Err(format!("no answer within {PATIENCE:?}")),
                Err(_) => {
                    let ping = resp::command(&["PING"]);
                    link::send(&mut stream, &ping).await?;
                    is_asked = true;
                }
            }
            let taken = self.take_all(&held).await?;
            held.drain(..taken);
            if held.is_empty() {
                held.shrink_to(READ_LEN);
            }
        }
    }

    /// Handles complete messages; returns the number of bytes consumed.
    async fn take_all(&mut self, held: &[u8]) -> Result<usize, String> {
        let mut at = 0;
        loop {
            match resp::read(&held[at..]) {
                Ok(None) => return Ok(at),
                Ok(Some((len, reply))) => {
                    self.take(reply).await?;
                    at += len;
                }
                Err(MalformedResp) => return Err("malformed reply".to_owned()),
            }
        }
    }

    async fn take(&mut self, reply: RespReply<'_>) -> Result<(), String> {
        match reply {
            RespReply::Error(error) => Err(String::from_utf8_lossy(error).into_owned()),
            RespReply::Array(texts) => {
                match texts[..] {
                    [b"pmessage", _, channel, data] => self.publish(channel, data).await,
                    [b"psubscribe", ..] if self.is_there != Some(true) => {
                        self.is_there = Some(true);
                        let message = format!(
                            "messages from Redis at {} are published to the hub",
                            self.address
                        );
                        (self.report)(&message);
                    }
                    _ => {}
                }
                Ok(())
            }
            RespReply::Other => Ok(()),
        }
    }

    /// Data that is not JSON becomes a string.
    async fn publish(&mut self, channel: &[u8], data: &[u8]) {
        let channel = String::from_utf8_lossy(channel);
        let data = String::from_utf8_lossy(data);
        let done = loop {
            let done = match self.broker.publish(&channel, &data) {
                Err(HubRefusal::NotJson) => {
                    let quoted = serde_json::Value::from(&*data).to_string();
                    self.broker.publish(&channel, &quoted)
                }
                done => done,
            };
            match done {
                Err(HubRefusal::Behind) => tokio::time::sleep(CATCHING_UP).await,
                done => break done,
            }
        };
        if let Err(why) = done
            && !self.is_refusal_reported
        {
            self.is_refusal_reported = true;
            (self.report)(&format!(
                "a message from Redis to the channel `{channel}` was not published: {why}; further ones are not reported"
            ));
        }
    }
}
