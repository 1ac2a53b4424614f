//! The talk with the Redis that edges share.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use plimsoll_hub::channels::{Position, Refusal};

use super::entry::{Entry, entries};
use super::{Post, Shared};
use crate::hub::redis::link::{Link, PATIENCE, Place};
use crate::hub::redis::resp::command;
use crate::hub::redis::value::Value;
use crate::hub::redis::{CATCHING_UP, PAUSES};
use crate::hub::world::World;
use crate::pool::lock;
use crate::running::Control;

const OPEN: &str = include_str!("open.lua");
const POST: &str = include_str!("post.lua");
/// Messages that are read at once.
const READ_MAX: &str = "200";
/// How long Redis waits for the next message before it says that there is none, ms.
const BLOCK_MS: &str = "1000";
/// Messages whose place was asked for and not told.
const ASKED_MAX: usize = 1024;
/// When nothing was asked for so long, Redis is asked whether it is there.
const SILENCE: Duration = Duration::from_secs(5);

/// Shares as long as the configuration says so.
pub(crate) async fn keep_sharing(control: &Control) {
    loop {
        let hub = control.hub();
        let shared = hub.and_then(|hub| Some((hub.world.shared.clone()?, hub)));
        let Some((shared, hub)) = shared else {
            control.shared_changed.notified().await;
            continue;
        };
        let mut sharing = pin!(share(&hub.world, &shared, &*control.hooks.tell));
        while control
            .hub()
            .is_some_and(|now| Arc::ptr_eq(&now.world, &hub.world))
        {
            tokio::select! {
                never = &mut sharing => match never {},
                () = control.shared_changed.notified() => {}
            }
        }
        shared.part(&hub.world);
    }
}

/// Joins the order, and again whenever Redis was gone.
async fn share(world: &World, shared: &Shared, tell: &(dyn Fn(&str) + Send + Sync)) -> Infallible {
    let address = format!("{}:{}", shared.config.host, shared.config.port);
    let mut session = Session {
        world,
        shared,
        tell,
        address: &address,
        is_there: None,
        is_told_of_refusal: false,
        asked: VecDeque::new(),
        skew_ms: 0,
    };
    let mut pause = PAUSES.0;
    loop {
        let why = match session.run().await {
            Ok(never) => match never {},
            Err(why) => why,
        };
        shared.part(world);
        for post in session.asked.drain(..) {
            shared.reply(world, post, Err(Refusal::Unsure));
        }
        if session.is_there != Some(false) {
            tell(&format!(
                "Redis at {address}, which the hub shares, is not there: {why}; nothing is published, and it is tried again and again"
            ));
            pause = PAUSES.0;
        }
        session.is_there = Some(false);
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(PAUSES.1);
    }
}

impl Shared {
    /// The order is not followed any more: who waits for a place gets none.
    fn part(&self, world: &World) {
        let posts = {
            let mut posts = lock(&self.posts);
            self.is_joined.store(false, Ordering::Release);
            std::mem::take(&mut *posts)
        };
        for post in posts {
            self.reply(world, post, Err(Refusal::Away));
        }
    }

    /// The keys in Redis: what is known of the order, and the order. They are of one slot of a cluster.
    fn keys(&self) -> [String; 2] {
        let name = &self.config.name;
        [format!("{{{name}}}:order"), format!("{{{name}}}:messages")]
    }
}

/// What is known over several connections.
struct Session<'a> {
    world: &'a World,
    shared: &'a Shared,
    tell: &'a (dyn Fn(&str) + Send + Sync),
    address: &'a str,
    /// Whether it was there last; `None` before anybody has looked.
    is_there: Option<bool>,
    is_told_of_refusal: bool,
    /// Messages whose place was asked for, in the order of the answers.
    asked: VecDeque<Post>,
    /// What is to be added to a moment of Redis, ms.
    skew_ms: i64,
}

/// The order when it was joined.
struct Joined {
    epoch: u64,
    at: u64,
    /// Up to here messages are not there any more.
    forgotten: u64,
}

impl Session<'_> {
    async fn run(&mut self) -> Result<Infallible, String> {
        let config = &self.shared.config;
        let place = Place {
            host: &config.host,
            port: config.port,
            user: config.user.as_deref(),
            password: config.password.as_deref(),
        };
        let mut posting = Link::open(&place).await?;
        let mut reading = Link::open(&place).await?;
        let joined = self.join(&mut posting).await?;
        let script = posting.ask(&["SCRIPT", "LOAD", POST]).await?;
        let script = script.text().unwrap_or_default().to_owned();
        self.begin(&joined).await;
        self.catch_up(&mut reading, joined.at).await?;
        self.shared.is_joined.store(true, Ordering::Release);
        if self.is_there != Some(true) {
            self.is_there = Some(true);
            (self.tell)(&format!("the hub shares Redis at {}", self.address));
        }
        let (world, shared) = (self.world, self.shared);
        let mut asked = std::mem::take(&mut self.asked);
        let ended = tokio::select! {
            ended = self.read(&mut reading) => ended,
            ended = post(world, shared, &mut posting, &script, &mut asked) => ended,
        };
        self.asked = asked;
        ended
    }

    async fn join(&mut self, link: &mut Link) -> Result<Joined, String> {
        let told = link.ask(&["INFO", "server"]).await?;
        let mut lines = told.text().unwrap_or_default().lines();
        let process = lines
            .find_map(|line| line.strip_prefix("run_id:"))
            .ok_or("it does not say which process it is")?;
        let [known, messages] = self.shared.keys();
        let words = ["EVAL", OPEN, "2", &known, &messages, process];
        let told = link.ask(&words).await?;
        let numbers = told.list().unwrap_or_default().iter().map(Value::number);
        let numbers: Option<Vec<u64>> = numbers.collect();
        let Some([epoch, at, count, now_ms]) = numbers.as_deref() else {
            return Err("it does not say what the order is".to_owned());
        };
        self.skew_ms = self.world.now_ms().cast_signed() - now_ms.cast_signed();
        Ok(Joined {
            epoch: *epoch,
            at: *at,
            forgotten: at.saturating_sub(*count),
        })
    }

    /// Goes on in the order, or begins anew if that cannot be.
    async fn begin(&self, joined: &Joined) {
        let known = self.shared.epoch.load(Ordering::Acquire);
        let at = self.shared.at();
        if known == joined.epoch && (joined.forgotten..=joined.at).contains(&at) {
            // The last session may have ended in the middle of it.
            return self.world.tell_of_losses().await;
        }
        let position = Position {
            epoch: joined.epoch,
            offset: joined.forgotten,
        };
        self.begin_anew(position, known != 0).await;
    }

    /// Goes on at another place. If something was missed, all clients are told.
    async fn begin_anew(&self, position: Position, is_loss: bool) {
        // The place first: a shard that follows the order already must not take a former one's for it.
        self.shared.at.store(position.offset, Ordering::Release);
        self.shared.epoch.store(position.epoch, Ordering::Release);
        if is_loss {
            self.shared.counts.lost.fetch_add(1, Ordering::Relaxed);
            (self.tell)(&format!(
                "messages that Redis at {} held were missed; all clients of the hub are told",
                self.address
            ));
        }
        self.world.begin_anew(position);
        self.world.tell_of_losses().await;
    }

    /// Reads what was there already.
    async fn catch_up(&mut self, link: &mut Link, up_to: u64) -> Result<(), String> {
        while self.shared.at() < up_to {
            let answer = self.ask_for_more(link, &["COUNT", READ_MAX]).await?;
            if self.take_all(&answer).await? == 0 {
                break;
            }
        }
        Ok(())
    }

    async fn read(&mut self, link: &mut Link) -> Result<Infallible, String> {
        let words = ["COUNT", READ_MAX, "BLOCK", BLOCK_MS];
        loop {
            let answer = self.ask_for_more(link, &words).await?;
            if self.take_all(&answer).await? == 0 {
                self.check(link).await?;
            }
        }
    }

    async fn ask_for_more(&self, link: &mut Link, how: &[&str]) -> Result<Value, String> {
        let [_, messages] = self.shared.keys();
        let after = format!("{}-1", self.shared.at());
        let what = ["STREAMS", messages.as_str(), after.as_str()];
        let words = ["XREAD"].iter().chain(how).chain(&what).copied();
        link.ask(&words.collect::<Vec<_>>()).await
    }

    /// Nothing came: is it still the order that this edge follows?
    async fn check(&self, link: &mut Link) -> Result<(), String> {
        let [known, _] = self.shared.keys();
        let told = link.ask(&["HMGET", &known, "epoch", "at"]).await?;
        let (epoch, at) = (self.shared.epoch.load(Ordering::Acquire), self.shared.at());
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
    async fn take_all(&mut self, answer: &Value) -> Result<usize, String> {
        let entries = entries(answer).ok_or("in the order stands what no edge wrote")?;
        for entry in &entries {
            self.take(entry).await?;
        }
        Ok(entries.len())
    }

    async fn take(&mut self, entry: &Entry<'_>) -> Result<(), String> {
        let epoch = self.shared.epoch.load(Ordering::Acquire);
        if entry.epoch != epoch {
            return Err("the order is another than it was".to_owned());
        }
        let before = entry.place.saturating_sub(1);
        if before > self.shared.at() {
            // It was read too late.
            let offset = before;
            self.begin_anew(Position { epoch, offset }, true).await;
        }
        let taken = loop {
            // It is remembered from when Redis took it, whenever this edge reads it.
            let now_ms = self.world.now_ms();
            let at_ms = entry.at_ms.saturating_add_signed(self.skew_ms).min(now_ms);
            let taken = self
                .world
                .take(at_ms, entry.channel, entry.data, entry.place);
            if taken != Err(Refusal::Behind) {
                break taken;
            }
            tokio::time::sleep(CATCHING_UP).await;
        };
        self.shared.at.store(entry.place, Ordering::Release);
        self.shared.counts.read.fetch_add(1, Ordering::Relaxed);
        if let Err(why) = taken
            && !self.is_told_of_refusal
        {
            self.is_told_of_refusal = true;
            (self.tell)(&format!(
                "a shared message to the channel `{}` is not sent: {why}; others are not told of",
                entry.channel
            ));
        }
        Ok(())
    }
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
    let [known, messages] = shared.keys();
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
