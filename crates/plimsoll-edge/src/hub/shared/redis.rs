//! The talk with the Redis that edges share.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::atomic::Ordering;

use plimsoll_hub::channels::Refusal;

use super::entry::entries;
use super::session::{ASKED_MAX, Joined, SILENCE, Session};
use super::{Post, Shared};
use crate::hub::dial::PATIENCE;
use crate::hub::redis::link::{Link, Place};
use crate::hub::redis::resp::command;
use crate::hub::redis::value::Value;
use crate::hub::world::World;

const OPEN: &str = include_str!("open.lua");
const POST: &str = include_str!("post.lua");
/// Messages that are read at once.
const READ_MAX: &str = "200";
/// How long Redis waits for the next message before it says that there is none, ms.
const BLOCK_MS: &str = "1000";

/// One life of the two connections; why it ended.
pub(super) async fn run(session: &mut Session<'_>) -> Result<Infallible, String> {
    let config = &session.shared.config;
    let place = Place {
        host: &config.host,
        port: config.port,
        user: config.user.as_deref(),
        password: config.password.as_deref(),
        tls: config.tls.as_ref(),
    };
    let mut posting = Link::open(&place).await?;
    let mut reading = Link::open(&place).await?;
    let joined = join(session, &mut posting).await?;
    let script = posting.ask(&["SCRIPT", "LOAD", POST]).await?;
    let script = script.text().unwrap_or_default().to_owned();
    session.begin(&joined).await;
    catch_up(session, &mut reading, joined.at).await?;
    session.arrive();
    let (world, shared) = (session.world, session.shared);
    let mut asked = std::mem::take(&mut session.asked);
    let ended = tokio::select! {
        ended = read(session, &mut reading) => ended,
        ended = post(world, shared, &mut posting, &script, &mut asked) => ended,
    };
    session.asked = asked;
    ended
}

async fn join(session: &mut Session<'_>, link: &mut Link) -> Result<Joined, String> {
    let told = link.ask(&["INFO", "server"]).await?;
    let mut lines = told.text().unwrap_or_default().lines();
    let process = lines
        .find_map(|line| line.strip_prefix("run_id:"))
        .ok_or("it does not say which process it is")?;
    let [known, messages] = keys(session.shared);
    let words = ["EVAL", OPEN, "2", &known, &messages, process];
    let told = link.ask(&words).await?;
    let numbers = told.list().unwrap_or_default().iter().map(Value::number);
    let numbers: Option<Vec<u64>> = numbers.collect();
    let Some([epoch, at, count, now_ms]) = numbers.as_deref() else {
        return Err("it does not say what the order is".to_owned());
    };
    session.skew_ms = session.world.now_ms().cast_signed() - now_ms.cast_signed();
    Ok(Joined {
        epoch: *epoch,
        at: *at,
        forgotten: at.saturating_sub(*count),
    })
}

/// The keys: what is known of the order, and the order. They are of one slot of a cluster.
fn keys(shared: &Shared) -> [String; 2] {
    let name = &shared.config.name;
    [format!("{{{name}}}:order"), format!("{{{name}}}:messages")]
}

/// Reads what was there already.
async fn catch_up(session: &mut Session<'_>, link: &mut Link, up_to: u64) -> Result<(), String> {
    while session.shared.at() < up_to {
        let answer = ask_for_more(session.shared, link, &["COUNT", READ_MAX]).await?;
        if take_all(session, &answer).await? == 0 {
            break;
        }
    }
    Ok(())
}

async fn read(session: &mut Session<'_>, link: &mut Link) -> Result<Infallible, String> {
    let words = ["COUNT", READ_MAX, "BLOCK", BLOCK_MS];
    loop {
        let answer = ask_for_more(session.shared, link, &words).await?;
        if take_all(session, &answer).await? == 0 {
            check(session.shared, link).await?;
        }
    }
}

async fn ask_for_more(shared: &Shared, link: &mut Link, how: &[&str]) -> Result<Value, String> {
    let [_, messages] = keys(shared);
    let after = format!("{}-1", shared.at());
    let what = ["STREAMS", messages.as_str(), after.as_str()];
    let words = ["XREAD"].iter().chain(how).chain(&what).copied();
    link.ask(&words.collect::<Vec<_>>()).await
}

/// Nothing came: is it still the order that this edge follows?
async fn check(shared: &Shared, link: &mut Link) -> Result<(), String> {
    let [known, _] = keys(shared);
    let told = link.ask(&["HMGET", &known, "epoch", "at"]).await?;
    let (epoch, at) = (shared.epoch.load(Ordering::Acquire), shared.at());
    match told.list() {
        Some([one, other])
            if one.number() == Some(epoch) && other.number().is_some_and(|it| it >= at) =>
        {
            Ok(())
        }
        _ => Err("the order is another than it was".to_owned()),
    }
}

/// Hands on what was read; how many messages that were.
async fn take_all(session: &mut Session<'_>, answer: &Value) -> Result<usize, String> {
    let entries = entries(answer).ok_or("in the order stands what no edge wrote")?;
    for entry in &entries {
        session.take(entry).await?;
    }
    Ok(entries.len())
}

/// Asks for the places of what is published.
async fn post(
    world: &World,
    shared: &Shared,
    link: &mut Link,
    script: &str,
    asked: &mut VecDeque<Post>,
) -> Result<Infallible, String> {
    let epoch = shared.epoch.load(Ordering::Acquire).to_string();
    let (count, bytes) = (
        shared.config.messages_max.to_string(),
        shared.config.bytes_max.to_string(),
    );
    let [known, messages] = keys(shared);
    loop {
        let posts = shared.take(ASKED_MAX - asked.len());
        if !posts.is_empty() {
            let said = posts.iter().flat_map(|post| {
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
            let said: Vec<u8> = said.collect();
            // From here on nobody knows what became of them until Redis says so.
            asked.extend(posts);
            link.send(&said).await?;
        }
        if asked.is_empty() {
            tokio::select! {
                () = shared.ready.notified() => {}
                () = tokio::time::sleep(SILENCE) => {
                    link.ask(&["PING"]).await?;
                }
            }
            continue;
        }
        tokio::select! {
            answer = tokio::time::timeout(PATIENCE, link.next()) => {
                let answer = answer.map_err(|_| format!("no answer within {PATIENCE:?}"))??;
                settle(world, shared, asked, answer)?;
            }
            () = shared.ready.notified(), if asked.len() < ASKED_MAX => {}
        }
    }
}

/// One place is told.
fn settle(
    world: &World,
    shared: &Shared,
    asked: &mut VecDeque<Post>,
    answer: Value,
) -> Result<(), String> {
    let Some(post) = asked.pop_front() else {
        return Err("it answers what was not asked".to_owned());
    };
    if let Some(place) = answer.number() {
        shared.reply(world, post, Ok(place));
        return Ok(());
    }
    // A refusal is certain.
    shared.reply(world, post, Err(Refusal::Away));
    match answer {
        Value::Error(error) => Err(error),
        _ => Err("it gives a message no place".to_owned()),
    }
}
