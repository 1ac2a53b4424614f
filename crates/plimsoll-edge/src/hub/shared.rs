//! Channels that several edges share through a Redis or a NATS.
//!
//! Every message takes its place in one stream, which numbers, stores and trims in one step. Each edge reads
//! the whole stream and hands on what its clients want; what it was given to publish it hears there too, like everybody.
//! An edge that dies takes nothing with it, and one that comes reads what is still there before it lets clients in.
//!
//! ```text
//!  POST /publish ─► desk::Posts ─► posts ─► the stream ─► reader of every edge ─► World ─► its clients
//!  a client ──────┘      ▲             │
//!                        └─ its place ─┘
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
use tokio::sync::{Notify, oneshot};

use super::broker::Broker;
use super::inbox::Letter;
use crate::lock::lock;
pub(crate) use session::keep_sharing;

/// Most messages that wait for their place.
const POSTS_MAX: usize = 16_384;
/// Most bytes of them.
const BYTES_MAX: usize = 64 << 20;

/// What edges share, as far as this one knows it.
#[derive(Debug)]
pub(super) struct SharedHub {
    config: HubShared,
    /// The life of the order; 0 before it is known.
    epoch: AtomicU64,
    /// The last place that this edge has read.
    at: AtomicU64,
    /// It is there, and all that was in the order is read.
    is_joined: AtomicBool,
    posts: Mutex<VecDeque<Post>>,
    bytes: AtomicUsize,
    /// Told when there is something to post.
    ready: Notify,
    pub(super) counts: SharedCounts,
}

/// What has happened.
#[derive(Debug, Default)]
pub(super) struct SharedCounts {
    /// Messages that were given a place for this edge.
    pub(super) posted: AtomicU64,
    /// Messages that were not, or of which that is not known.
    pub(super) refused: AtomicU64,
    /// Messages read.
    pub(super) read: AtomicU64,
    /// How often messages were missed, which all clients were told.
    pub(super) lost: AtomicU64,
}

/// A message that wants a place.
#[derive(Debug)]
struct Post {
    channel: String,
    data: String,
    reply: ReplyTo,
}

/// Who wants to know it.
#[derive(Debug)]
enum ReplyTo {
    Publisher(oneshot::Sender<Result<Position, HubRefusal>>),
    /// A client of a loop, and the id that it gave.
    Client(usize, ClientVisit, Option<String>),
}

/// Who publishes, and where the answer goes.
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

    /// Whether it was ever joined: before that nothing is known of any channel.
    pub(super) fn is_known(&self) -> bool {
        self.epoch.load(Ordering::Acquire) != 0
    }

    pub(super) fn is_joined(&self) -> bool {
        self.is_joined.load(Ordering::Acquire)
    }

    /// The last place that this edge has read: all that is there up to it is in the channels.
    pub(super) fn at(&self) -> u64 {
        self.at.load(Ordering::Acquire)
    }

    /// Asks for a message's place, for whoever publishes at the admin address.
    ///
    /// # Errors
    /// When nobody can be asked now.
    pub(super) fn post(
        &self,
        channel: &str,
        data: &str,
    ) -> Result<oneshot::Receiver<Result<Position, HubRefusal>>, HubRefusal> {
        let (sender, receiver) = oneshot::channel();
        self.put(channel, data, ReplyTo::Publisher(sender))?;
        Ok(receiver)
    }

    /// The same for a client.
    ///
    /// # Errors
    /// When nobody can be asked now.
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
        // Asked under the lock, so that nothing comes in when it was emptied at the end of a session.
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

    /// Takes up to so many.
    fn take(&self, count: usize) -> Vec<Post> {
        let mut posts = lock(&self.posts);
        let count = count.min(posts.len());
        posts.drain(..count).collect()
    }

    /// Tells whoever published what became of it.
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
                // Who does not wait any more does not want to know.
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
