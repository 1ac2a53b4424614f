//! Messages from Redis Pub/Sub: a message published to a channel goes to the hub's channel of the same name.

pub(super) mod link;
pub(super) mod resp;
pub(super) mod value;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::edge::HubRedis;
use plimsoll_hub::HubRefusal;

use super::InUse;
use super::broker::Broker;
use super::dial::{PATIENCE, PAUSES};
use link::{RedisConnection, RedisEndpoint};
use value::RespValue;

/// Pause while the loops catch up. Redis buffers messages meanwhile, within its own limit.
pub(super) const CATCHING_UP: Duration = Duration::from_millis(2);

/// Listens as long as it is configured; a reload without changes interrupts nothing.
pub async fn keep_listening(in_use: InUse<'_>) {
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
        let why = match session.run(config).await {
            Ok(never) => match never {},
            Err(why) => why,
        };
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
    async fn run(&mut self, config: &HubRedis) -> Result<Infallible, String> {
        let place = RedisEndpoint {
            host: &config.host,
            port: config.port,
            user: config.user.as_deref(),
            password: config.password.as_deref(),
            tls: config.tls.as_ref(),
        };
        let mut link = RedisConnection::connect(&place).await?;
        let mut commands = place.authentication().unwrap_or_default();
        let patterns = config.patterns.iter().map(String::as_str);
        let words = ["PSUBSCRIBE"].into_iter().chain(patterns);
        commands.extend(resp::command(&words.collect::<Vec<_>>()));
        link.send(&commands).await?;
        let subscribing = async {
            while !self.take(link.next().await?).await? {}
            Ok::<_, String>(())
        };
        // Even if other data arrives meanwhile.
        let subscribed = tokio::time::timeout(PATIENCE, subscribing).await;
        subscribed.map_err(|_| format!("no authentication within {PATIENCE:?}"))??;
        self.is_there = Some(true);
        (self.report)(&format!(
            "messages from Redis at {} are published to the hub",
            self.address
        ));
        let ping = resp::command(&["PING"]);
        let mut is_asked = false;
        loop {
            while let Some(reply) = link.received()? {
                self.take(reply).await?;
            }
            link.line.more_or_ping(&mut is_asked, &ping).await?;
        }
    }

    /// Handles a reply; whether it confirms a subscription.
    async fn take(&mut self, reply: RespValue) -> Result<bool, String> {
        if let RespValue::Error(error) = reply {
            return Err(error);
        }
        let texts = reply.list().unwrap_or_default();
        let texts: Vec<&[u8]> = texts.iter().filter_map(RespValue::bytes).collect();
        if let [b"pmessage", _, channel, data] = texts[..] {
            self.publish(channel, data).await;
        }
        Ok(matches!(texts[..], [b"psubscribe", ..]))
    }

    async fn publish(&mut self, channel: &[u8], data: &[u8]) {
        let channel = String::from_utf8_lossy(channel);
        let done = publish(self.broker, &channel, &String::from_utf8_lossy(data)).await;
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

/// Publishes a message of another program. Reading pauses while the loops are behind. Data that is not JSON becomes a
/// string.
pub(super) async fn publish(broker: &Broker, channel: &str, data: &str) -> Result<(), HubRefusal> {
    loop {
        let done = match broker.publish(channel, data) {
            Err(HubRefusal::NotJson) => {
                let quoted = serde_json::Value::from(data).to_string();
                broker.publish(channel, &quoted)
            }
            done => done,
        };
        match done {
            Err(HubRefusal::Behind) => tokio::time::sleep(CATCHING_UP).await,
            done => return done.map(drop),
        }
    }
}
