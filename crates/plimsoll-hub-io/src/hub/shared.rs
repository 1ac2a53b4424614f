//! Channels that several edges share through a Redis or a NATS.
//!
//! Every message is appended to one stream, which numbers, stores and trims in one step. Each edge reads the whole
//! stream and delivers to its clients; an edge receives its own publications there too. An edge that dies loses nothing
//! of the stream, and a new one reads what is still stored before it admits clients.
//!
//! ```text
//!  POST /publish ─► pending posts ─► the stream ─► reader of every edge ─► Broker ─► its clients
//!  a client ──────┘      ▲               │
//!                        └─ its offset ──┘
//! ```

mod entry;
mod nats;
mod redis;
mod session;

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use plimsoll_config::edge::HubShared;
use plimsoll_hub::audience::ClientVisit;
use plimsoll_hub::channels::{HubRefusal, Position};
use plimsoll_net::lock::lock;
use tokio::sync::{Notify, oneshot};

use super::broker::Broker;
use super::inbox::Letter;
pub use session::keep_sharing;

/// Maximum number of messages that wait for their offset.
const POSTS_MAX: usize = 16_384;
/// Maximum size of these messages, bytes.
const BYTES_MAX: usize = 64 << 20;

/// The shared stream, as far as this edge knows it.
#[derive(Debug)]
pub(super) struct SharedHub {
    config: HubShared,
    /// The epoch of the stream; 0 before it is known.
    epoch: AtomicU64,
    /// The last offset that this edge has read.
    at: AtomicU64,
    /// The stream is available, and everything stored in it was read.
    is_joined: AtomicBool,
    posts: Mutex<VecDeque<Post>>,
    bytes: AtomicUsize,
    /// Notified when there is something to post.
    ready: Notify,
    pub(super) counts: SharedCounts,
}

/// Totals.
#[derive(Debug, Default)]
pub(super) struct SharedCounts {
    /// Messages that received an offset for this edge.
    pub(super) posted: AtomicU64,
    /// Messages that received none, or whose outcome is unknown.
    pub(super) refused: AtomicU64,
    /// Messages read.
    pub(super) read: AtomicU64,
    /// How often messages were missed and all clients notified.
    pub(super) lost: AtomicU64,
}

/// A message that waits for an offset.
#[derive(Debug)]
struct Post {
    /// Its channels, a line each.
    channel: String,
    data: String,
    reply: ReplyTo,
}

/// Recipient of the outcome.
#[derive(Debug)]
enum ReplyTo {
    Publisher(oneshot::Sender<Result<Position, HubRefusal>>),
    /// A client of a loop, and the id that it sent.
    Client(usize, ClientVisit, Option<String>),
}

/// The publisher, and where the outcome goes.
pub(super) struct PublishingClient<'a> {
    pub(super) event_loop: usize,
    pub(super) visit: ClientVisit,
    pub(super) id: Option<&'a str>,
}

impl SharedHub {
    pub(super) fn new(config: HubShared) -> Self {
        Self {
            config,
            epoch: AtomicU64::new(0),
            at: AtomicU64::new(0),
            is_joined: AtomicBool::new(false),
            posts: Mutex::default(),
            bytes: AtomicUsize::new(0),
            ready: Notify::new(),
            counts: SharedCounts::default(),
        }
    }

    /// Whether the stream was ever joined: before that no channel is known.
    pub(super) fn is_known(&self) -> bool {
        self.epoch.load(Ordering::Acquire) != 0
    }

    /// The position up to which this edge has read.
    pub(super) fn position(&self) -> Position {
        Position {
            epoch: self.epoch.load(Ordering::Acquire),
            offset: self.at(),
        }
    }

    /// Most messages that the stream stores.
    pub(super) fn messages_max(&self) -> u64 {
        self.config.messages_max
    }

    pub(super) fn is_joined(&self) -> bool {
        self.is_joined.load(Ordering::Acquire)
    }

    /// The last offset that this edge has read: everything up to it is in the channels.
    pub(super) fn at(&self) -> u64 {
        self.at.load(Ordering::Acquire)
    }

    /// Requests an offset on behalf of the admin address.
    ///
    /// # Errors
    /// When the stream is unavailable.
    pub(super) fn post(
        &self,
        channel: &str,
        data: &str,
    ) -> Result<oneshot::Receiver<Result<Position, HubRefusal>>, HubRefusal> {
        let (sender, receiver) = oneshot::channel();
        self.put(channel, data, ReplyTo::Publisher(sender))?;
        Ok(receiver)
    }

    /// Requests an offset on behalf of a client.
    ///
    /// # Errors
    /// When the stream is unavailable.
    pub(super) fn post_for(
        &self,
        from: &PublishingClient<'_>,
        channel: &str,
        data: &str,
    ) -> Result<(), HubRefusal> {
        let id = from.id.map(str::to_owned);
        let reply = ReplyTo::Client(from.event_loop, from.visit, id);
        self.put(channel, data, reply)
    }

    fn put(&self, channel: &str, data: &str, reply: ReplyTo) -> Result<(), HubRefusal> {
        let mut posts = lock(&self.posts);
        // Checked under the lock, so that nothing is added after it was emptied at the end of a session.
        if !self.is_joined() {
            return Err(HubRefusal::SharedLogUnavailable);
        }
        let bytes = self.bytes.load(Ordering::Relaxed);
        if posts.len() >= POSTS_MAX || bytes >= BYTES_MAX {
            return Err(HubRefusal::Behind);
        }
        let post = Post {
            channel: channel.to_owned(),
            data: data.to_owned(),
            reply,
        };
        self.bytes.fetch_add(post.size(), Ordering::Relaxed);
        posts.push_back(post);
        drop(posts);
        self.ready.notify_one();
        Ok(())
    }

    /// Takes up to `count` posts.
    fn take(&self, count: usize) -> Vec<Post> {
        let mut posts = lock(&self.posts);
        let count = count.min(posts.len());
        posts.drain(..count).collect()
    }

    /// Sends the outcome to the publisher.
    fn reply(&self, broker: &Broker, post: Post, done: Result<u64, HubRefusal>) {
        self.bytes.fetch_sub(post.size(), Ordering::Relaxed);
        let count = match done {
            Ok(_) => &self.counts.posted,
            Err(_) => &self.counts.refused,
        };
        count.fetch_add(1, Ordering::Relaxed);
        match post.reply {
            ReplyTo::Publisher(sender) => {
                let epoch = self.epoch.load(Ordering::Acquire);
                // The receiver is gone: nobody waits for the outcome.
                let _ = sender.send(done.map(|offset| Position { epoch, offset }));
            }
            ReplyTo::Client(event_loop, visit, id) => broker.inbox(event_loop).write(Letter {
                visit,
                channel: post.channel,
                id,
                done: done.map(drop),
            }),
        }
    }
}

impl Post {
    fn size(&self) -> usize {
        size_of::<Self>() + self.channel.len() + self.data.len()
    }
}
