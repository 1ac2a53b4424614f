//! The protocol with a shared NATS: a `JetStream` stream in memory whose sequence numbers are the offsets.
//!
//! The epoch of the stream is part of the subject it accepts, so a message for an ended stream is accepted by no one.
//! One connection sends requests and posts; the other reads the deliveries of a consumer without acknowledgements, with
//! flow control and heartbeats.

mod connection;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::atomic::Ordering;

use plimsoll_hub::channels::HubRefusal;
use plimsoll_net::clock;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::entry::{self, OrderEntry};
use super::session::{IN_FLIGHT_MAX, JoinedOrder, SILENCE, SharedSession};
use super::{Post, SharedHub};
use crate::hub::broker::Broker;
use crate::hub::dial::PATIENCE;
use crate::hub::sources::nats::PING;
use crate::hub::sources::nats::protocol::NatsOp;
use connection::NatsConnection;

/// Heartbeat interval of an idle consumer, ns.
const SIGN_OF_LIFE_NS: u64 = 1_000_000_000;
/// Attempts to create a stream that another edge creates at the same time.
const TRIES: u32 = 3;
/// Error code: no such stream.
const NOT_FOUND: u64 = 404;
/// Error code: the stream exists with other settings.
const NAME_IS_TAKEN: u64 = 10_058;
/// The subject that a consumer delivers to.
const MESSAGES: &str = "messages";
/// Prefix of the reply subject of a flow-control request.
const FLOW: &[u8] = b"$JS.FC.";

/// One session of the two connections; returns why it ended.
pub(super) async fn run(session: &mut SharedSession<'_>) -> Result<Infallible, String> {
    let config = &session.shared.config;
    let mut posting = NatsConnection::open(config).await?;
    let mut reading = NatsConnection::open(config).await?;
    posting.listen("*").await?;
    // A consumer delivers nothing to a subscription that matches only by a wildcard.
    reading.listen(MESSAGES).await?;
    // Both clocks are assumed to agree: the server has no request for its time.
    session.skew_ms = session.broker.now_ms().cast_signed() - unix_us().cast_signed() / 1000;
    let joined = join(session, &mut posting).await?;
    session.begin(&joined).await;
    let from = session.shared.at() + 1;
    consume(session.shared, &mut posting, &reading, from).await?;
    // What is read from now on belongs to this stream only if it has not been replaced meanwhile.
    if join(session, &mut posting).await?.epoch != joined.epoch {
        return Err("the stream was replaced by another".to_owned());
    }
    while session.shared.at() < joined.at {
        if read_more(session, &mut reading).await? {
            // Nothing more is stored: the last entry was removed.
            break;
        }
    }
    session.arrive();
    let (broker, shared) = (session.broker, session.shared);
    let mut in_flight = std::mem::take(&mut session.in_flight);
    let ended = tokio::select! {
        ended = read(session, &mut reading) => ended,
        ended = post(broker, shared, &mut posting, &mut in_flight) => ended,
    };
    session.in_flight = in_flight;
    ended
}

/// Wall-clock time, µs since 1970.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "below 2^53 until the year 2255"
)]
fn unix_us() -> u64 {
    (clock::unix_s() * 1e6) as u64
}

/// The subject of a stream's messages.
fn subject(shared: &SharedHub, epoch: u64) -> String {
    format!("{}.order.{epoch}", shared.config.name)
}

/// Finds the stream, or creates one.
async fn join(
    session: &SharedSession<'_>,
    connection: &mut NatsConnection,
) -> Result<JoinedOrder, String> {
    let shared = session.shared;
    let config = &shared.config;
    let known = shared.epoch.load(Ordering::Acquire);
    for _ in 0..TRIES {
        let about = format!("$JS.API.STREAM.INFO.{}", config.name);
        let answer = connection.request(&about, &Value::Null).await?;
        if let Some(joined) = parse_order(shared, &answer) {
            return Ok(joined);
        }
        if answer["error"]["code"] != NOT_FOUND {
            return Err(why(&answer, "the existing stream was not created by edges"));
        }
        // An epoch that no earlier stream had, even if the clock was set back.
        let epoch = unix_us().max(known + 1);
        let order = json!({
            "name": config.name, "subjects": [subject(shared, epoch)], "storage": "memory",
            "retention": "limits", "discard": "old", "num_replicas": 1,
            "max_msgs": config.messages_max, "max_bytes": config.bytes_max,
            "max_consumers": -1, "max_age": 0, "max_msg_size": -1,
        });
        let make = format!("$JS.API.STREAM.CREATE.{}", config.name);
        let answer = connection.request(&make, &order).await?;
        if let Some(joined) = parse_order(shared, &answer) {
            return Ok(joined);
        }
        // Another edge may have created it meanwhile; the next attempt finds it.
        if answer["error"]["err_code"] != NAME_IS_TAKEN {
            return Err(why(&answer, "the stream cannot be created"));
        }
    }
    Err("the stream cannot be created".to_owned())
}

/// Parses the state of a stream, if edges created it.
fn parse_order(shared: &SharedHub, answer: &Value) -> Option<JoinedOrder> {
    let subject = answer["config"]["subjects"][0].as_str()?;
    let (before, epoch) = subject.rsplit_once('.')?;
    if before.strip_suffix(".order")? != shared.config.name {
        return None;
    }
    let state = &answer["state"];
    let at = state["last_seq"].as_u64()?;
    let forgotten = match state["messages"].as_u64()? {
        0 => at,
        _ => state["first_seq"].as_u64()?.saturating_sub(1),
    };
    Some(JoinedOrder {
        epoch: epoch.parse::<u64>().ok().filter(|epoch| *epoch > 0)?,
        at,
        forgotten,
    })
}

fn why(answer: &Value, otherwise: &str) -> String {
    let description = answer["error"]["description"].as_str();
    description.unwrap_or(otherwise).to_owned()
}

/// Creates a consumer that delivers all messages from an offset on to the other connection.
async fn consume(
    shared: &SharedHub,
    connection: &mut NatsConnection,
    reading: &NatsConnection,
    from: u64,
) -> Result<(), String> {
    let name = &shared.config.name;
    let wanted = json!({
        "stream_name": name,
        "config": {
            "deliver_subject": reading.place(MESSAGES), "deliver_policy": "by_start_sequence",
            "opt_start_seq": from, "ack_policy": "none", "max_deliver": 1, "replay_policy": "instant",
            "flow_control": true, "idle_heartbeat": SIGN_OF_LIFE_NS, "mem_storage": true, "num_replicas": 1,
        },
    });
    let answer = connection
        .request(&format!("$JS.API.CONSUMER.CREATE.{name}"), &wanted)
        .await?;
    if answer["error"].is_null() {
        Ok(())
    } else {
        Err(why(&answer, "the stream cannot be read"))
    }
}

async fn read(
    session: &mut SharedSession<'_>,
    connection: &mut NatsConnection,
) -> Result<Infallible, String> {
    loop {
        read_more(session, connection).await?;
    }
}

/// Waits for data and handles complete messages. Returns whether the server was idle.
async fn read_more(
    session: &mut SharedSession<'_>,
    connection: &mut NatsConnection,
) -> Result<bool, String> {
    // A consumer whose stream is gone falls silent without a notice.
    if !connection.nats.line.more(PATIENCE).await? {
        return Err(format!(
            "the stream is gone: no data and no heartbeat for {PATIENCE:?}"
        ));
    }
    let epoch = session.shared.epoch.load(Ordering::Acquire);
    let mut is_idle = false;
    while let Some(op) = connection.nats.received().await? {
        match op {
            NatsOp::Message { reply, .. } if reply.starts_with(FLOW) => {
                let answer = [b"PUB ", reply, b" 0\r\n\r\n"].concat();
                connection.nats.line.send(&answer).await?;
            }
            // A heartbeat.
            NatsOp::Message { reply: b"", .. } => is_idle = true,
            NatsOp::Message { reply, data, .. } => {
                let read = entry::of_nats(reply, data);
                let (place, at_ms, channel, data) =
                    read.ok_or("the stream holds an entry that no edge wrote")?;
                let entry = OrderEntry {
                    place,
                    epoch,
                    at_ms,
                    channel: &channel,
                    data,
                };
                session.take(&entry).await?;
            }
            _ => {}
        }
    }
    Ok(is_idle)
}

/// Requests the offsets of publications.
async fn post(
    broker: &Broker,
    shared: &SharedHub,
    connection: &mut NatsConnection,
    in_flight: &mut VecDeque<Post>,
) -> Result<Infallible, String> {
    let subject = subject(shared, shared.epoch.load(Ordering::Acquire));
    let mut is_asked = false;
    // Replies arrive in the order of the messages; the number of each is in its reply subject.
    let (mut next, mut settled) = (0_u64, 0_u64);
    let mut late = pin!(tokio::time::sleep(PATIENCE));
    loop {
        let mut commands = Vec::new();
        if in_flight.is_empty() {
            late.as_mut().reset(Instant::now() + PATIENCE);
        }
        for post in shared.take(IN_FLIGHT_MAX - in_flight.len()) {
            let message = entry::for_nats(&post.channel, &post.data);
            if message.len() > connection.len_max {
                let refusal = HubRefusal::DataTooLong(
                    connection
                        .len_max
                        .saturating_sub(message.len() - post.data.len()),
                );
                shared.reply(broker, post, Err(refusal));
                continue;
            }
            connection.publish(&mut commands, &subject, next, message.as_bytes());
            next += 1;
            // From here on the outcome is unknown until the server replies.
            in_flight.push_back(post);
        }
        if !commands.is_empty() {
            connection.nats.line.send(&commands).await?;
        }
        let is_idle = in_flight.is_empty() && !is_asked;
        let patience = if is_idle { SILENCE } else { PATIENCE };
        tokio::select! {
            // Even if other data arrives meanwhile.
            () = &mut late, if !in_flight.is_empty() => {
                return Err(format!("no answer within {PATIENCE:?}"));
            }
            more = connection.nats.line.more(patience) => {
                if more? {
                    is_asked = false;
                } else if is_idle {
                    is_asked = true;
                    connection.nats.line.send(PING.as_bytes()).await?;
                } else {
                    return Err(format!("no answer within {PATIENCE:?}"));
                }
            }
            () = shared.ready.notified(), if in_flight.len() < IN_FLIGHT_MAX => {}
        }
        while let Some((number, answer)) = connection.answer().await? {
            if number != Some(settled) {
                return Err("unexpected reply".to_owned());
            }
            settled += 1;
            late.as_mut().reset(Instant::now() + PATIENCE);
            settle(broker, shared, in_flight, &answer)?;
        }
    }
}

/// Handles the reply with one offset.
fn settle(
    broker: &Broker,
    shared: &SharedHub,
    in_flight: &mut VecDeque<Post>,
    answer: &Value,
) -> Result<(), String> {
    let Some(post) = in_flight.pop_front() else {
        return Err("unexpected reply".to_owned());
    };
    let place = answer["seq"].as_u64().filter(|place| *place > 0);
    if let (Some(place), true) = (place, answer["error"].is_null()) {
        shared.reply(broker, post, Ok(place));
        return Ok(());
    }
    // A rejection is definite.
    shared.reply(broker, post, Err(HubRefusal::SharedLogUnavailable));
    Err(why(answer, "it assigned no offset to a message"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_config::edge::{HubShared, HubSharedKind};

    #[test]
    fn an_order_is_known_by_its_subject() {
        let shared = SharedHub::new(HubShared {
            kind: HubSharedKind::Nats,
            host: "a".to_owned(),
            port: 1,
            user: None,
            password: None,
            tls: None,
            name: "live".to_owned(),
            messages_max: 1,
            bytes_max: 1,
        });
        let of = |subject: &str, state: Value| {
            let answer = json!({ "config": { "subjects": [subject] }, "state": state });
            parse_order(&shared, &answer).map(|it| (it.epoch, it.forgotten, it.at))
        };
        let empty = json!({ "messages": 0, "first_seq": 0, "last_seq": 0 });
        let purged = json!({ "messages": 0, "first_seq": 8, "last_seq": 7 });
        let some = json!({ "messages": 3, "first_seq": 5, "last_seq": 7 });
        assert_eq!(of("live.order.17", empty.clone()), Some((17, 0, 0)));
        assert_eq!(of("live.order.17", purged), Some((17, 7, 7)));
        assert_eq!(of("live.order.17", some), Some((17, 4, 7)));
        for other in [
            "live.order.0",
            "live.order.x",
            "other.order.17",
            "live.17",
            "live",
        ] {
            assert_eq!(of(other, empty.clone()), None, "{other}");
        }
    }
}
