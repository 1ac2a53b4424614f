//! The protocol with a shared Redis.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::atomic::Ordering;

use plimsoll_hub::channels::HubRefusal;

use super::entry::entries;
use super::session::{IN_FLIGHT_MAX, JoinedOrder, SILENCE, SharedSession};
use super::{Post, SharedHub};
use crate::hub::broker::Broker;
use crate::hub::dial::PATIENCE;
use crate::hub::redis::link::{RedisConnection, RedisEndpoint};
use crate::hub::redis::resp::command;
use crate::hub::redis::value::RespValue;

const OPEN: &str = include_str!("open.lua");
const POST: &str = include_str!("post.lua");
/// Messages that are read at once.
const READ_MAX: &str = "200";
/// How long Redis blocks for the next message, ms.
const BLOCK_MS: &str = "1000";

/// One session of the two connections; returns why it ended.
pub(super) async fn run(session: &mut SharedSession<'_>) -> Result<Infallible, String> {
    let config = &session.shared.config;
    let place = RedisEndpoint {
        host: &config.host,
        port: config.port,
        user: config.user.as_deref(),
        password: config.password.as_deref(),
        tls: config.tls.as_ref(),
    };
    let mut posting = RedisConnection::open(&place).await?;
    let mut reading = RedisConnection::open(&place).await?;
    let joined = join(session, &mut posting).await?;
    let script = posting.query(&["SCRIPT", "LOAD", POST]).await?;
    let script = script.text().unwrap_or_default().to_owned();
    session.begin(&joined).await;
    catch_up(session, &mut reading, joined.at).await?;
    session.arrive();
    let (broker, shared) = (session.broker, session.shared);
    let mut in_flight = std::mem::take(&mut session.in_flight);
    let ended = tokio::select! {
        ended = read(session, &mut reading) => ended,
        ended = post(broker, shared, &mut posting, &script, &mut in_flight) => ended,
    };
    session.in_flight = in_flight;
    ended
}

async fn join(
    session: &mut SharedSession<'_>,
    link: &mut RedisConnection,
) -> Result<JoinedOrder, String> {
    let answer = link.query(&["INFO", "server"]).await?;
    let mut lines = answer.text().unwrap_or_default().lines();
    let process = lines
        .find_map(|line| line.strip_prefix("run_id:"))
        .ok_or("its INFO has no run_id")?;
    let [known, messages] = keys(session.shared);
    let words = ["EVAL", OPEN, "2", &known, &messages, process];
    let answer = link.query(&words).await?;
    let numbers = answer
        .list()
        .unwrap_or_default()
        .iter()
        .map(RespValue::number);
    let numbers: Option<Vec<u64>> = numbers.collect();
    let Some([epoch, at, count, now_ms]) = numbers.as_deref() else {
        return Err("malformed state of the stream".to_owned());
    };
    session.skew_ms = session.broker.now_ms().cast_signed() - now_ms.cast_signed();
    Ok(JoinedOrder {
        epoch: *epoch,
        at: *at,
        forgotten: at.saturating_sub(*count),
    })
}

/// The keys: state of the stream, and the stream. Both are in the same cluster slot.
fn keys(shared: &SharedHub) -> [String; 2] {
    let name = &shared.config.name;
    [format!("{{{name}}}:order"), format!("{{{name}}}:messages")]
}

/// Reads what is already stored.
async fn catch_up(
    session: &mut SharedSession<'_>,
    link: &mut RedisConnection,
    up_to: u64,
) -> Result<(), String> {
    while session.shared.at() < up_to {
        let answer = fetch_more(session.shared, link, &["COUNT", READ_MAX]).await?;
        if take_all(session, &answer).await? == 0 {
            break;
        }
    }
    Ok(())
}

async fn read(
    session: &mut SharedSession<'_>,
    link: &mut RedisConnection,
) -> Result<Infallible, String> {
    let words = ["COUNT", READ_MAX, "BLOCK", BLOCK_MS];
    loop {
        let answer = fetch_more(session.shared, link, &words).await?;
        if take_all(session, &answer).await? == 0 {
            check(session.shared, link).await?;
        }
    }
}

async fn fetch_more(
    shared: &SharedHub,
    link: &mut RedisConnection,
    how: &[&str],
) -> Result<RespValue, String> {
    let [_, messages] = keys(shared);
    let after = format!("{}-1", shared.at());
    let what = ["STREAMS", messages.as_str(), after.as_str()];
    let words = ["XREAD"].iter().chain(how).chain(&what).copied();
    link.query(&words.collect::<Vec<_>>()).await
}

/// Nothing arrived: checks that the stream has not been replaced.
async fn check(shared: &SharedHub, link: &mut RedisConnection) -> Result<(), String> {
    let [known, _] = keys(shared);
    let answer = link.query(&["HMGET", &known, "epoch", "at"]).await?;
    let (epoch, at) = (shared.epoch.load(Ordering::Acquire), shared.at());
    match answer.list() {
        Some([stored_epoch, other])
            if stored_epoch.number() == Some(epoch)
                && other.number().is_some_and(|it| it >= at) =>
        {
            Ok(())
        }
        _ => Err("the stream was replaced by another".to_owned()),
    }
}

/// Applies what was read; returns the number of messages.
async fn take_all(session: &mut SharedSession<'_>, answer: &RespValue) -> Result<usize, String> {
    let entries = entries(answer).ok_or("the stream holds an entry that no edge wrote")?;
    for entry in &entries {
        session.take(entry).await?;
    }
    Ok(entries.len())
}

/// Requests the offsets of publications.
async fn post(
    broker: &Broker,
    shared: &SharedHub,
    link: &mut RedisConnection,
    script: &str,
    in_flight: &mut VecDeque<Post>,
) -> Result<Infallible, String> {
    let epoch = shared.epoch.load(Ordering::Acquire).to_string();
    let (count, bytes) = (
        shared.config.messages_max.to_string(),
        shared.config.bytes_max.to_string(),
    );
    let [known, messages] = keys(shared);
    loop {
        let posts = shared.take(IN_FLIGHT_MAX - in_flight.len());
        if !posts.is_empty() {
            let commands = posts.iter().flat_map(|post| {
                command(&[
                    "EVALSHA",
                    script,
                    "2",
                    &known,
                    &messages,
                    &epoch,
                    &post.channel,
                    &post.data,
                    &count,
                    &bytes,
                ])
            });
            let commands: Vec<u8> = commands.collect();
            // From here on the outcome is unknown until Redis replies.
            in_flight.extend(posts);
            link.send(&commands).await?;
        }
        if in_flight.is_empty() {
            tokio::select! {
                () = shared.ready.notified() => {}
                () = tokio::time::sleep(SILENCE) => {
                    link.query(&["PING"]).await?;
                }
            }
            continue;
        }
        tokio::select! {
            answer = tokio::time::timeout(PATIENCE, link.next()) => {
                let answer = answer.map_err(|_| format!("no answer within {PATIENCE:?}"))??;
                settle(broker, shared, in_flight, answer)?;
            }
            () = shared.ready.notified(), if in_flight.len() < IN_FLIGHT_MAX => {}
        }
    }
}

/// Handles the reply with one offset.
fn settle(
    broker: &Broker,
    shared: &SharedHub,
    in_flight: &mut VecDeque<Post>,
    answer: RespValue,
) -> Result<(), String> {
    let Some(post) = in_flight.pop_front() else {
        return Err("unexpected reply".to_owned());
    };
    if let Some(place) = answer.number() {
        shared.reply(broker, post, Ok(place));
        return Ok(());
    }
    // A rejection is definite.
    shared.reply(broker, post, Err(HubRefusal::SharedLogUnavailable));
    match answer {
        RespValue::Error(error) => Err(error),
        _ => Err("it assigned no offset to a message".to_owned()),
    }
}
