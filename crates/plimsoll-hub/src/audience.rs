//! The subscribers of one event loop, and their subscriptions.

mod delivery;
mod disconnect;
mod limits;
mod missed;
mod next;
mod slot;
mod visit;

use bytes::Bytes;
use hashbrown::HashTable;
use plimsoll_wire::websocket::deflate::Deflater;
use slab::Slab;

use crate::channels::{ChannelRef, HubRefusal, Subscription};
use crate::message::ClientFormat;
use crate::rate::RateAllowance;
#[cfg(test)]
pub(crate) use limits::limits_of_tests;
pub use limits::{AudienceLimits, Slow};
use missed::Pinned;
pub(crate) use missed::len_of;
use next::NextOffset;
use slot::{ClientSlot, SlotItem};
pub use visit::ClientVisit;

/// Compressed bytes that cost one command.
const INFLATED_LEN: usize = 1024;

/// A client of this loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(u32);

impl ClientId {
    /// Its index, unique as long as it is connected; reused afterwards.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where the bytes of a client are written.
pub trait Outlet {
    /// Writes as much as possible and returns how much: 0 if the client is not ready, or gone.
    fn write(&mut self, client: ClientId, bytes: &[u8]) -> usize;
}

/// Counters since the loop began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AudienceCounters {
    /// Messages written to clients, or queued for them.
    pub delivered: u64,
    /// Messages dropped because clients were slow.
    pub dropped: u64,
    /// Clients disconnected because they were slow.
    pub disconnected: u64,
    /// Resubscriptions that recovered all missed messages.
    pub recovered: u64,
    /// Resubscriptions that could not recover.
    pub unrecovered: u64,
}

/// A subscription that ended: the arguments of [`Channels::leave`](crate::channels::Channels::leave).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedSubscription {
    /// The channel.
    pub channel: ChannelRef,
    /// Whether it was the last one of this loop.
    pub is_last: bool,
}

/// The subscribers of a loop.
#[derive(Debug)]
pub struct Audience {
    limits: AudienceLimits,
    clients: Slab<AudienceClient>,
    channels: Slab<Members>,
    by_epoch: HashTable<u32>,
    /// Clients to be disconnected.
    condemned: Vec<ClientId>,
    deflater: Option<Deflater>,
    counts: AudienceCounters,
    /// Bytes of replayed history that are queued for clients.
    missed_bytes: Pinned,
    /// Clients so far.
    visits: u64,
}

#[derive(Debug)]
struct AudienceClient {
    subscriptions: Vec<MemberIndex>,
    /// Queued output, if any.
    slot: Option<Box<ClientSlot>>,
    commands: RateAllowance,
    /// Sequence number among all clients so far.
    visit: u64,
    format: ClientFormat,
    /// Offset of the last update of several channels that it was given, if it reads Mercure.
    update: u64,
    is_condemned: bool,
    /// It accepts patches.
    takes_patches: bool,
}

/// Location of a client's subscription.
#[derive(Clone, Copy, Debug)]
struct MemberIndex {
    /// Index of the channel.
    channel: u32,
    /// Index among the channel's members.
    member: u32,
}

#[derive(Debug)]
struct Members {
    channel: ChannelRef,
    members: Vec<Member>,
}

/// One subscription.
#[derive(Clone, Copy, Debug)]
struct Member {
    client: ClientId,
    /// Index among the client's subscriptions.
    subscription: u32,
    next: NextOffset,
}

impl Audience {
    /// Without clients.
    pub fn new(limits: AudienceLimits) -> Self {
        Self {
            limits,
            clients: Slab::new(),
            channels: Slab::new(),
            by_epoch: HashTable::new(),
            condemned: Vec::new(),
            deflater: None,
            counts: AudienceCounters::default(),
            missed_bytes: Pinned::default(),
            visits: 0,
        }
    }

    /// Applies new limits; queued output stays.
    pub fn follow(&mut self, limits: AudienceLimits) {
        self.limits = limits;
    }

    /// Adds a client.
    pub fn enter(&mut self, now_ms: u64, format: ClientFormat) -> ClientId {
        self.visits += 1;
        let client = AudienceClient {
            subscriptions: Vec::new(),
            visit: self.visits,
            slot: None,
            commands: RateAllowance::full(self.limits.commands, now_ms),
            format,
            update: 0,
            is_condemned: false,
            takes_patches: false,
        };
        let index = self.clients.insert(client);
        ClientId(u32::try_from(index).expect("a process has fewer sockets than 2^32"))
    }

    /// The number of clients.
    pub fn len(&self) -> usize {
        self.clients.len()
    }

    /// Whether there are no clients.
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// The counters.
    pub fn counts(&self) -> AudienceCounters {
        self.counts
    }

    /// Whether the rate limit allows a client another command; counts it.
    pub fn may_command(&mut self, now_ms: u64, client: ClientId) -> bool {
        let rate = self.limits.commands;
        let client = self.clients.get_mut(client.index());
        client.is_some_and(|client| client.commands.take(rate, now_ms))
    }

    /// Whether the rate limit allows inflating a message of a client.
    pub fn may_inflate(&mut self, now_ms: u64, client: ClientId) -> bool {
        let rate = self.limits.commands;
        let client = self.clients.get_mut(client.index());
        client.is_some_and(|client| client.commands.is_there(rate, now_ms))
    }

    /// Charges an inflated message by its compressed length: one more command for each whole KiB. The cost depends on
    /// this length, however small the result is.
    pub fn charge_inflated(&mut self, client: ClientId, len: usize) {
        if let Some(client) = self.clients.get_mut(client.index()) {
            client.commands.charge((len / INFLATED_LEN) as f32);
        }
    }

    /// Takes the clients to be disconnected because they were slow.
    pub fn take_condemned(&mut self) -> Vec<ClientId> {
        std::mem::take(&mut self.condemned)
    }

    /// Whether output is queued for a client.
    pub fn is_waiting(&self, client: ClientId) -> bool {
        let client = self.clients.get(client.index());
        client.is_some_and(|client| client.slot.is_some())
    }

    /// Whether a client may have another subscription.
    ///
    /// # Errors
    /// When it has reached its limit.
    pub fn may_subscribe(&self, client: ClientId) -> Result<(), HubRefusal> {
        let client = self.clients.get(client.index());
        match client {
            Some(client) if client.subscriptions.len() < self.limits.subscriptions_max => Ok(()),
            _ => Err(HubRefusal::TooManySubscriptions),
        }
    }

    /// Whether a client has any subscription.
    pub fn has_any(&self, client: ClientId) -> bool {
        let client = self.clients.get(client.index());
        client.is_some_and(|client| !client.subscriptions.is_empty())
    }

    /// The subscriptions of a client.
    pub fn channels_of(&self, client: ClientId) -> Vec<ChannelRef> {
        let client = self.clients.get(client.index());
        let places = client.map_or(&[][..], |client| &client.subscriptions);
        let channels = places.iter().map(|place| place.channel as usize);
        channels.map(|at| self.channels[at].channel).collect()
    }

    /// Whether a client is subscribed to a channel.
    pub fn is_subscribed(&self, client: ClientId, channel: ChannelRef) -> bool {
        let (Some(index), Some(client)) = (self.find(channel), self.clients.get(client.index()))
        else {
            return false;
        };
        client
            .subscriptions
            .iter()
            .any(|place| place.channel == index)
    }

    /// Adds a subscription, and sends what the client missed. Later deliveries of messages that it received this way
    /// are skipped.
    ///
    /// # Errors
    /// When the client is already subscribed, or has reached its limit: then the channel must be left again.
    pub fn subscribe(
        &mut self,
        client: ClientId,
        subscription: &Subscription,
        outlet: &mut impl Outlet,
    ) -> Result<(), HubRefusal> {
        self.join(client, subscription)?;
        self.give_missed(client, &subscription.missed, outlet);
        Ok(())
    }

    /// Adds a subscription; what the client missed is still to be sent.
    ///
    /// # Errors
    /// As for [`Audience::subscribe`].
    pub(crate) fn join(
        &mut self,
        client: ClientId,
        subscription: &Subscription,
    ) -> Result<(), HubRefusal> {
        self.may_subscribe(client)?;
        let index = self.channel_index(subscription.channel);
        let member = {
            let place = &self.clients[client.index()];
            let is_there = place
                .subscriptions
                .iter()
                .any(|place| place.channel == index);
            if is_there {
                return Err(HubRefusal::Subscribed);
            }
            Member {
                client,
                subscription: count(place.subscriptions.len()),
                next: NextOffset::unsure(subscription.position.offset + 1),
            }
        };
        let members = &mut self.channels[index as usize].members;
        if members.is_empty() {
            // Most channels of a million have one subscriber.
            members.reserve_exact(1);
        }
        members.push(member);
        let place = MemberIndex {
            channel: index,
            member: count(members.len() - 1),
        };
        self.clients[client.index()].subscriptions.push(place);
        match subscription.is_recovered {
            Some(true) => self.counts.recovered += 1,
            Some(false) => self.counts.unrecovered += 1,
            None => {}
        }
        Ok(())
    }

    fn channel_index(&mut self, channel: ChannelRef) -> u32 {
        if let Some(index) = self.find(channel) {
            return index;
        }
        let members = Members {
            channel,
            members: Vec::new(),
        };
        let index = count(self.channels.insert(members));
        let channels = &self.channels;
        self.by_epoch.insert_unique(hash(channel), index, |&index| {
            hash(channels[index as usize].channel)
        });
        index
    }

    fn find(&self, channel: ChannelRef) -> Option<u32> {
        let found = self.by_epoch.find(hash(channel), |&index| {
            self.channels[index as usize].channel == channel
        });
        found.copied()
    }

    /// Ends a subscription, and drops what is queued for it; `None` if there was none.
    pub fn unsubscribe(
        &mut self,
        client: ClientId,
        channel: ChannelRef,
    ) -> Option<EndedSubscription> {
        let index = self.find(channel)?;
        let place = self.clients.get_mut(client.index())?;
        let at = place
            .subscriptions
            .iter()
            .position(|place| place.channel == index)?;
        if let Some(slot) = &mut place.slot {
            let (forgotten, is_empty) = slot.forget(channel);
            self.counts.delivered -= forgotten;
            if is_empty {
                place.slot = None;
            }
        }
        Some(self.remove(client, at))
    }

    /// Removes a client. The returned subscriptions must be reported to the channels.
    pub fn leave(&mut self, client: ClientId) -> Vec<EndedSubscription> {
        let Some(place) = self.clients.get(client.index()) else {
            return Vec::new();
        };
        let left = (0..place.subscriptions.len())
            .rev()
            .map(|at| self.remove(client, at))
            .collect();
        self.clients.remove(client.index());
        self.condemned.retain(|&condemned| condemned != client);
        left
    }

    /// Removes a subscription. The last of each list moves to the free index.
    fn remove(&mut self, client: ClientId, at: usize) -> EndedSubscription {
        let subscriptions = &mut self.clients[client.index()].subscriptions;
        let place = subscriptions.swap_remove(at);
        if let Some(moved) = subscriptions.get(at) {
            let members = &mut self.channels[moved.channel as usize].members;
            members[moved.member as usize].subscription = count(at);
        }
        if subscriptions.is_empty() {
            *subscriptions = Vec::new();
        }
        let channel = &mut self.channels[place.channel as usize];
        channel.members.swap_remove(place.member as usize);
        if let Some(moved) = channel.members.get(place.member as usize) {
            let moved_place = &mut self.clients[moved.client.index()].subscriptions;
            moved_place[moved.subscription as usize].member = place.member;
        }
        let left = EndedSubscription {
            channel: channel.channel,
            is_last: channel.members.is_empty(),
        };
        if left.is_last {
            self.channels.remove(place.channel as usize);
            let entry = self
                .by_epoch
                .find_entry(hash(left.channel), |&index| index == place.channel);
            if let Ok(entry) = entry {
                entry.remove();
            }
        }
        left
    }

    /// Sends bytes to one client only: replies, pongs, heads. If its queue is full, the client is disconnected.
    pub fn send(&mut self, id: ClientId, bytes: Bytes, outlet: &mut impl Outlet) {
        let Some(client) = self.clients.get_mut(id.index()) else {
            return;
        };
        if client.is_condemned {
            return;
        }
        let written = match client.slot {
            Some(_) => 0,
            None => outlet.write(id, &bytes),
        };
        if written == bytes.len() {
            return;
        }
        let slot = client.slot.get_or_insert_default();
        if !slot.push(SlotItem::Own(bytes), written, &self.limits) {
            client.is_condemned = true;
            self.condemned.push(id);
        }
    }

    /// Writes queued output once the client is writable again; whether the queue is empty.
    pub fn flush(&mut self, id: ClientId, outlet: &mut impl Outlet) -> bool {
        let Some(client) = self.clients.get_mut(id.index()) else {
            return true;
        };
        let Some(slot) = &mut client.slot else {
            return true;
        };
        let format = client.format;
        let is_empty = slot.flush(format, &mut self.deflater, |bytes| outlet.write(id, bytes));
        if is_empty {
            client.slot = None;
        }
        is_empty
    }
}

#[cfg(test)]
impl Audience {
    /// Whether no channel has members.
    pub(crate) fn has_no_channel(&self) -> bool {
        self.channels.is_empty() && self.by_epoch.is_empty()
    }

    /// Bytes of replayed history that are queued for clients.
    pub(crate) fn missed_bytes(&self) -> usize {
        self.missed_bytes.bytes()
    }

    /// The longest queue of a client, in messages and bytes.
    pub(crate) fn longest_wait(&self) -> (usize, usize) {
        let waiting = self
            .clients
            .iter()
            .filter_map(|(_, client)| client.slot.as_ref());
        waiting.fold((0, 0), |(messages, bytes), slot| {
            let (more_messages, more_bytes) = slot.waiting();
            (messages.max(more_messages), bytes.max(more_bytes))
        })
    }
}

/// Epochs are assigned by the hub, in sequence: hashing them needs no secret.
fn hash(channel: ChannelRef) -> u64 {
    let spread = channel.epoch.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    spread ^ spread >> 32
}

fn count(len: usize) -> u32 {
    u32::try_from(len).expect("a process has fewer subscriptions of a kind than 2^32")
}

#[cfg(test)]
mod tests;
