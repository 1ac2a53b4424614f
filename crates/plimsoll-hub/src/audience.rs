//! The clients of one loop, and what each of them subscribed to.

mod delivery;
mod farewell;
mod limits;
mod missed;
mod next;
mod slot;
mod visit;

use std::sync::Arc;

use bytes::Bytes;
use hashbrown::HashTable;
use plimsoll_wire::websocket::deflate::Deflater;
use slab::Slab;

use crate::channels::{ChannelRef, HubRefusal, Subscription};
use crate::message::{ClientFormat, HubMessage};
use crate::rate::RateAllowance;
use delivery::DeliveryContext;
pub use limits::{AudienceLimits, Slow};
use missed::Pinned;
use next::NextOffset;
use slot::{ClientSlot, SlotItem};
pub use visit::ClientVisit;

/// Bytes of a compressed message that count as a command.
const INFLATED_LEN: usize = 1024;

/// A client of this loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(u32);

impl ClientId {
    /// The place it has as long as it lives; another may have it afterwards.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a client's bytes go.
pub trait Outlet {
    /// Writes what is taken at once and says how much that was: 0 if the client must be waited for, or is gone.
    fn write(&mut self, client: ClientId, bytes: &[u8]) -> usize;
}

/// What has happened since the loop began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AudienceCounters {
    /// Messages written to clients, or waiting for them.
    pub delivered: u64,
    /// Messages that clients did not get, for they were slow.
    pub dropped: u64,
    /// Clients disconnected, for they were slow.
    pub disconnected: u64,
    /// Subscriptions of clients that returned and got all that they had missed.
    pub recovered: u64,
    /// Those that could not.
    pub unrecovered: u64,
}

/// A subscription that ended: what [`Channels::leave`](crate::channels::Channels::leave) is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedSubscription {
    /// The channel.
    pub channel: ChannelRef,
    /// Whether it was the last of this loop.
    pub is_last: bool,
}

/// The clients of a loop.
#[derive(Debug)]
pub struct Audience {
    limits: AudienceLimits,
    clients: Slab<AudienceClient>,
    channels: Slab<Members>,
    by_epoch: HashTable<u32>,
    /// Clients to be closed.
    condemned: Vec<ClientId>,
    deflater: Option<Deflater>,
    counts: AudienceCounters,
    /// Bytes of histories that wait for clients.
    missed_bytes: Pinned,
    /// Clients that have ever come.
    visits: u64,
}

#[derive(Debug)]
struct AudienceClient {
    subscriptions: Vec<MemberIndex>,
    /// What waits to be written, if anything does.
    slot: Option<Box<ClientSlot>>,
    commands: RateAllowance,
    /// Which of all that ever came.
    visit: u64,
    format: ClientFormat,
    is_condemned: bool,
    /// It can do with what has changed.
    takes_patches: bool,
}

/// Where a client's subscription stands.
#[derive(Clone, Copy, Debug)]
struct MemberIndex {
    /// Index of the channel.
    channel: u32,
    /// Index among its members.
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
    /// Nobody yet.
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

    /// Follows other limits; what waits already stays.
    pub fn follow(&mut self, limits: AudienceLimits) {
        self.limits = limits;
    }

    /// A client has come.
    pub fn enter(&mut self, now_ms: u64, format: ClientFormat) -> ClientId {
        self.visits += 1;
        let client = AudienceClient {
            subscriptions: Vec::new(),
            visit: self.visits,
            slot: None,
            commands: RateAllowance::full(self.limits.commands, now_ms),
            format,
            is_condemned: false,
            takes_patches: false,
        };
        let index = self.clients.insert(client);
        ClientId(u32::try_from(index).expect("a process has fewer sockets than 2^32"))
    }

    /// Clients that there are.
    pub fn len(&self) -> usize {
        self.clients.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// What has happened.
    pub fn counts(&self) -> AudienceCounters {
        self.counts
    }

    /// Whether a client may say something now.
    pub fn may_command(&mut self, now_ms: u64, client: ClientId) -> bool {
        let rate = self.limits.commands;
        let client = self.clients.get_mut(client.index());
        client.is_some_and(|client| client.commands.take(rate, now_ms))
    }

    /// Whether a client may have a message inflated now.
    pub fn may_inflate(&mut self, now_ms: u64, client: ClientId) -> bool {
        let rate = self.limits.commands;
        let client = self.clients.get_mut(client.index());
        client.is_some_and(|client| client.commands.is_there(rate, now_ms))
    }

    /// A message was inflated that had so many bytes on the wire. It counts as one more command for each whole KiB of
    /// them: what it costs depends on them, however little comes of it.
    pub fn charge_inflated(&mut self, client: ClientId, len: usize) {
        if let Some(client) = self.clients.get_mut(client.index()) {
            client.commands.charge((len / INFLATED_LEN) as f32);
        }
    }

    /// Clients that are to be closed since this was asked last, for they were slow.
    pub fn take_condemned(&mut self) -> Vec<ClientId> {
        std::mem::take(&mut self.condemned)
    }

    /// Whether something waits for a client to read.
    pub fn is_waiting(&self, client: ClientId) -> bool {
        let client = self.clients.get(client.index());
        client.is_some_and(|client| client.slot.is_some())
    }

    /// Whether a client may subscribe to one channel more.
    ///
    /// # Errors
    /// When it has as many as it may.
    pub fn may_subscribe(&self, client: ClientId) -> Result<(), HubRefusal> {
        let client = self.clients.get(client.index());
        match client {
            Some(client) if client.subscriptions.len() < self.limits.subscriptions_max => Ok(()),
            _ => Err(HubRefusal::TooManySubscriptions),
        }
    }

    /// Whether a client subscribed to anything.
    pub fn has_any(&self, client: ClientId) -> bool {
        let client = self.clients.get(client.index());
        client.is_some_and(|client| !client.subscriptions.is_empty())
    }

    /// What a client subscribed to.
    pub fn channels_of(&self, client: ClientId) -> Vec<ChannelRef> {
        let client = self.clients.get(client.index());
        let places = client.map_or(&[][..], |client| &client.subscriptions);
        let channels = places.iter().map(|place| place.channel as usize);
        channels.map(|at| self.channels[at].channel).collect()
    }

    /// Whether a client subscribed to a channel.
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

    /// A client is given a subscription and what it missed. Messages that are still on their way here and that it has
    /// been given so are skipped.
    ///
    /// # Errors
    /// When it has it already, or has too many: then the channel must be told that it left.
    pub fn subscribe(
        &mut self,
        client: ClientId,
        subscription: &Subscription,
        outlet: &mut impl Outlet,
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
        self.give_missed(client, &subscription.missed, outlet);
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

    /// A client wants no more of a channel, nor what still waits for it; `None` if it had no subscription.
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

    /// A client is gone. What it leaves must be told to the channels.
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

    /// Removes a client's subscription. The last of each list takes the free place, and is told so.
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

    /// Hands a message to everybody here who subscribed to its channel, and says to how many.
    pub fn deliver(&mut self, message: &Arc<HubMessage>, outlet: &mut impl Outlet) -> usize {
        let Some(index) = self.find(message.channel()) else {
            return 0;
        };
        let mut given = 0;
        for member in &mut self.channels[index as usize].members {
            if message.is_notice() {
                self.counts.unrecovered += 1;
            } else if message.offset() < member.next.offset() {
                continue;
            }
            given += 1;
            let client = &mut self.clients[member.client.index()];
            let mut delivery = DeliveryContext {
                limits: &self.limits,
                deflater: &mut self.deflater,
                condemned: &mut self.condemned,
                counts: &mut self.counts,
            };
            member.next = delivery.give((member.client, member.next), client, message, outlet);
        }
        given
    }

    /// Writes a client what is for it alone: answers, pongs, heads. If it does not fit its slot, the client is closed.
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

    /// Writes what waited, for the client reads again; whether all of it is gone.
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
    /// Whether nothing is kept of any channel.
    pub(crate) fn has_no_channel(&self) -> bool {
        self.channels.is_empty() && self.by_epoch.is_empty()
    }

    /// Bytes of histories that wait for clients.
    pub(crate) fn missed_bytes(&self) -> usize {
        self.missed_bytes.bytes()
    }

    /// Most messages, and most bytes, that wait for a client.
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

/// Epochs are ours and follow each other: spreading them needs no secret.
fn hash(channel: ChannelRef) -> u64 {
    let spread = channel.epoch.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    spread ^ spread >> 32
}

fn count(len: usize) -> u32 {
    u32::try_from(len).expect("a process has fewer subscriptions of a kind than 2^32")
}

#[cfg(test)]
mod tests;
