//! Executes the commands of a client on shards and audience, within its rights.

mod attendance;
mod rights;

use bytes::Bytes;

use crate::audience::{Audience, ClientId, ClientVisit, EndedSubscription, Outlet};
use crate::channels::{
    ChannelRef, Channels, HubRefusal, Published, Since, Subscriber, Subscription,
};
use crate::message::{ClientFormat, text_frame};
use crate::pattern::check_name;
use crate::protocol::{self, Command, Publication, SubscriptionRequest};
use crate::sse;
pub use attendance::Attendance;
pub use rights::{ClientRequest, OpenAccess, Rights};

/// Most users in the replies to one presence command.
const USERS_MAX: usize = 1000;

/// Access to all shards, wherever they are.
pub trait Shards {
    /// Publishes an offer of a client. Without a shared log: with [`Offer::publish`] in the shard of its channel; the
    /// result must be passed to the loops before the shard is used again, because a loop that gets a later message
    /// first takes it for complete. With a shared log: checks it, and requests its offset there.
    ///
    /// # Errors
    /// When it is not published.
    fn publish(&mut self, offer: &Offer<'_>) -> Result<OfferOutcome, HubRefusal>;

    /// Uses the shard for channels of this name.
    fn by_name<T>(&mut self, name: &str, act: impl FnOnce(&mut Channels) -> T) -> T;

    /// Uses the shard of a channel.
    fn by_channel<T>(&mut self, channel: ChannelRef, act: impl FnOnce(&mut Channels) -> T) -> T;

    /// Uses several shards at one moment: where channels share one order of offsets, none is assigned in between.
    fn at_one_moment<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        act(self)
    }
}

/// A message that a client wants to publish.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// The client.
    pub visit: ClientVisit,
    /// The channel.
    pub channel: &'a str,
    /// JSON.
    pub data: &'a str,
    /// The id of the reply, as JSON.
    pub id: Option<&'a str>,
    /// ms.
    pub now_ms: u64,
}

impl Offer<'_> {
    fn check(&self, channels: &Channels) -> Result<(), HubRefusal> {
        if channels.rule(self.channel).clients_publish {
            Ok(())
        } else {
            Err(HubRefusal::NotAllowed)
        }
    }

    /// Whether the application may be consulted about it.
    fn is_offered(&self, channels: &Channels) -> Result<(), HubRefusal> {
        self.check(channels)?;
        channels.check(self.channel, self.data)
    }

    /// Publishes it, if clients may publish to the channel.
    ///
    /// # Errors
    /// When it is not permitted.
    pub fn publish(&self, channels: &mut Channels) -> Result<Published, HubRefusal> {
        self.check(channels)?;
        channels.publish(self.now_ms, self.channel, self.data)
    }

    /// Checks it before it is added to the shared log.
    ///
    /// # Errors
    /// When it is not permitted.
    pub fn examine(&self, channels: &mut Channels) -> Result<(), HubRefusal> {
        self.check(channels)?;
        channels.examine(self.now_ms, self.channel, self.data)
    }
}

/// Result of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferOutcome {
    /// Published.
    Done,
    /// Pending; [`CommandHandler::answer`] sends the reply.
    Deferred,
}

/// The client of a command, and the time.
#[derive(Clone, Copy, Debug)]
pub struct Speaker<'a> {
    /// The client.
    pub client: ClientId,
    /// Its format.
    pub format: ClientFormat,
    /// Its loop and its user.
    pub subscriber: Subscriber<'a>,
    /// ms.
    pub now_ms: u64,
}

/// Executes commands of one client in its event loop.
#[derive(Debug)]
pub struct CommandHandler<'a, S, O> {
    /// All channels.
    pub shards: &'a mut S,
    /// The loop's subscribers.
    pub audience: &'a mut Audience,
    /// Where bytes go.
    pub outlet: &'a mut O,
}

impl<S: Shards, O: Outlet> CommandHandler<'_, S, O> {
    /// Executes a command and sends the replies; false if the rate limit is exceeded.
    pub fn take(&mut self, speaker: &Speaker<'_>, rights: &mut impl Rights, text: &str) -> bool {
        if !self.audience.may_command(speaker.now_ms, speaker.client) {
            self.refuse_flood(speaker);
            return false;
        }
        let command = match Command::read(text) {
            Ok(command) => command,
            Err(error) => {
                self.send(speaker, &protocol::failed(&error.to_string()));
                return true;
            }
        };
        if let Some(token) = &command.token {
            if let Err(why) = rights.present(token) {
                self.send(speaker, &protocol::unwelcome(command.id, why));
                return true;
            }
            self.revise(speaker, rights);
        }
        if let Some(takes_patches) = command.patches {
            self.audience.take_patches(speaker.client, takes_patches);
        }
        for wanted in &command.subscribe {
            self.want(speaker, rights, wanted, command.id);
        }
        for name in &command.unsubscribe {
            rights.withdraw(name);
            self.unsubscribe(speaker, name);
        }
        if let Some(publication) = &command.publish {
            self.offer(speaker, rights, publication, command.id);
        }
        if let Some(message) = command.send
            && let Err(refusal) = rights.defer(ClientRequest::Send(message.get()), command.id)
        {
            let reply = protocol::unwelcome(command.id, &refusal.to_string());
            self.send(speaker, &reply);
        }
        self.send_presence(speaker, rights, &command);
        let is_answered = !command.subscribe.is_empty()
            || command.publish.is_some()
            || command.send.is_some()
            || !command.presence.is_empty();
        if let Some(id) = command.id.filter(|_| !is_answered) {
            self.send(speaker, &protocol::done(id));
        }
        true
    }

    /// Replies that the rate limit of commands is exceeded.
    pub fn refuse_flood(&mut self, speaker: &Speaker<'_>) {
        let reply = protocol::failed("too many commands; wait and try again");
        self.send(speaker, &reply);
    }

    /// Sends the presence of channels that the client may read.
    fn send_presence(
        &mut self,
        speaker: &Speaker<'_>,
        rights: &impl Rights,
        command: &Command<'_>,
    ) {
        let mut users_left = USERS_MAX;
        for name in &command.presence {
            let may_know = rights.may_subscribe(name) || self.is_subscribed(speaker.client, name);
            let reply = if may_know {
                let presence = self
                    .shards
                    .by_name(name, |channels| channels.presence(name, users_left));
                users_left -= presence.users.as_ref().map_or(0, Vec::len);
                protocol::present(command.id, name, &presence)
            } else {
                protocol::refused(command.id, name, HubRefusal::NotReadable)
            };
            self.send(speaker, &reply);
        }
    }

    /// Ends subscriptions that changed rights do not permit any more, and notifies the client.
    fn revise(&mut self, speaker: &Speaker<'_>, rights: &impl Rights) {
        for channel in self.audience.channels_of(speaker.client) {
            let name = self.shards.by_channel(channel, |channels| {
                channels.name(channel).map(str::to_owned)
            });
            let Some(name) = name.filter(|name| !rights.may_subscribe(name)) else {
                continue;
            };
            self.unsubscribe(speaker, &name);
            self.send(
                speaker,
                &protocol::refused(None, &name, HubRefusal::NotReadable),
            );
        }
    }

    /// Subscribes a client, defers the decision to the application, or replies why not.
    fn want(
        &mut self,
        speaker: &Speaker<'_>,
        rights: &mut impl Rights,
        wanted: &SubscriptionRequest,
        id: Option<&str>,
    ) {
        let deferred = if rights.may_subscribe(&wanted.channel) {
            Ok(false)
        } else {
            self.may_defer(speaker, &wanted.channel)
                .and_then(|()| rights.defer(ClientRequest::Subscribe(wanted), id))
        };
        match deferred {
            Ok(true) => {}
            Ok(false) => self.fulfil(speaker, rights, wanted, id),
            Err(refusal) => {
                let reply = protocol::refused(id, &wanted.channel, refusal);
                self.send(speaker, &reply);
            }
        }
    }

    /// Whether a deferred decision about a subscription could succeed.
    fn may_defer(&mut self, speaker: &Speaker<'_>, name: &str) -> Result<(), HubRefusal> {
        check_name(name)?;
        self.audience.may_subscribe(speaker.client)?;
        if self.is_subscribed(speaker.client, name) {
            return Err(HubRefusal::Subscribed);
        }
        Ok(())
    }

    fn is_subscribed(&mut self, client: ClientId, name: &str) -> bool {
        let channel = self.shards.by_name(name, |channels| channels.find(name));
        channel.is_some_and(|channel| self.audience.is_subscribed(client, channel))
    }

    /// Subscribes a client, or replies why not.
    pub fn fulfil(
        &mut self,
        speaker: &Speaker<'_>,
        rights: &impl Rights,
        wanted: &SubscriptionRequest,
        id: Option<&str>,
    ) {
        if let Err(refusal) = self.subscribe(speaker, rights, wanted, id) {
            let reply = protocol::refused(id, &wanted.channel, refusal);
            self.send(speaker, &reply);
        }
    }

    /// Subscribes a client, replies, and sends what it missed.
    ///
    /// # Errors
    /// When it is not permitted, or a limit is reached.
    pub fn subscribe(
        &mut self,
        speaker: &Speaker<'_>,
        rights: &impl Rights,
        wanted: &SubscriptionRequest,
        id: Option<&str>,
    ) -> Result<(), HubRefusal> {
        let name = &*wanted.channel;
        let subscription = self.join(speaker, rights, (name, wanted.since.into()), 0)?;
        // The reply is sent before the replay.
        if let Some(reply) = protocol::subscribed(id, name, &subscription) {
            self.send(speaker, &reply);
        }
        let missed = &subscription.missed;
        self.audience
            .give_missed(speaker.client, missed, self.outlet);
        Ok(())
    }

    /// Subscribes a client, and sends nothing. `queued` are the bytes that its other subscriptions will send.
    ///
    /// # Errors
    /// When it is not permitted, or a limit is reached.
    fn join(
        &mut self,
        speaker: &Speaker<'_>,
        rights: &impl Rights,
        (name, since): (&str, Since),
        queued: usize,
    ) -> Result<Subscription, HubRefusal> {
        if !rights.may_subscribe(name) {
            return Err(HubRefusal::NotReadable);
        }
        self.audience.may_subscribe(speaker.client)?;
        let now_ms = speaker.now_ms;
        // The same command may have presented a token with the user.
        let subscriber = Subscriber {
            user: rights.user(),
            ..speaker.subscriber
        };
        let speaker = &Speaker {
            subscriber,
            ..*speaker
        };
        let mut subscription = self.shards.by_name(name, |channels| {
            channels.subscribe_from(now_ms, name, since, subscriber)
        })?;
        let missed = &subscription.missed;
        if !self.audience.has_capacity_after(queued, missed) {
            subscription.forgo_missed();
            if since == Since::Earliest {
                subscription.is_recovered = Some(false);
            }
        }
        if self
            .audience
            .is_subscribed(speaker.client, subscription.channel)
        {
            // Another subscription of this loop exists: that of this client.
            self.leave(
                speaker,
                EndedSubscription {
                    channel: subscription.channel,
                    is_last: false,
                },
            );
            return Err(HubRefusal::Subscribed);
        }
        self.audience.join(speaker.client, &subscription)?;
        Ok(subscription)
    }

    fn unsubscribe(&mut self, speaker: &Speaker<'_>, name: &str) {
        let channel = self.shards.by_name(name, |channels| channels.find(name));
        let left = channel.and_then(|channel| self.audience.unsubscribe(speaker.client, channel));
        if let Some(left) = left {
            self.leave(speaker, left);
        }
    }

    /// Publishes an offer, defers the decision to the application, or replies why not.
    fn offer(
        &mut self,
        speaker: &Speaker<'_>,
        rights: &mut impl Rights,
        publication: &Publication<'_>,
        id: Option<&str>,
    ) {
        let (name, data) = (&*publication.channel, publication.data.get());
        if !rights.defers_publications() {
            return self.publish(speaker, rights, (name, data), id);
        }
        let offer = self.offer_of(speaker, (name, data), id);
        let deferred = self
            .shards
            .by_name(name, |channels| offer.is_offered(channels))
            .and_then(|()| rights.defer(ClientRequest::Publish(name, data), id));
        match deferred {
            Ok(true) => {}
            Ok(false) => self.publish(speaker, rights, (name, data), id),
            Err(refusal) => self.answer(offer.visit, name, id, Err(refusal)),
        }
    }

    fn offer_of<'a>(
        &self,
        speaker: &Speaker<'_>,
        (channel, data): (&'a str, &'a str),
        id: Option<&'a str>,
    ) -> Offer<'a> {
        Offer {
            visit: self.audience.visit(speaker.client),
            channel,
            data,
            id,
            now_ms: speaker.now_ms,
        }
    }

    /// Publishes JSON for a client where permitted, and replies.
    pub fn publish(
        &mut self,
        speaker: &Speaker<'_>,
        rights: &impl Rights,
        (name, data): (&str, &str),
        id: Option<&str>,
    ) {
        let offer = self.offer_of(speaker, (name, data), id);
        let visit = offer.visit;
        let published = if rights.may_publish(name) {
            self.shards.publish(&offer)
        } else {
            Err(HubRefusal::NotAllowed)
        };
        match published {
            Ok(OfferOutcome::Done) => self.answer(visit, name, id, Ok(())),
            Ok(OfferOutcome::Deferred) => {}
            Err(refusal) => self.answer(visit, name, id, Err(refusal)),
        }
    }

    /// Sends the result of an offer to its client, if it is still connected.
    pub fn answer(
        &mut self,
        visit: ClientVisit,
        name: &str,
        id: Option<&str>,
        done: Result<(), HubRefusal>,
    ) {
        let Some((client, format)) = self.audience.who(visit) else {
            return;
        };
        match (done, id) {
            (Err(refusal), _) => {
                self.send_to(client, format, &protocol::refused(id, name, refusal));
            }
            (Ok(()), Some(id)) => self.send_to(client, format, &protocol::done(id)),
            (Ok(()), None) => {}
        }
    }

    /// Prepares the end of a client: it receives no more messages, except a partially written one; a final message may
    /// be sent.
    pub fn retire(&mut self, speaker: &Speaker<'_>) {
        for left in self.audience.retire(speaker.client) {
            self.leave(speaker, left);
        }
    }

    /// Removes a client.
    pub fn dismiss(&mut self, speaker: &Speaker<'_>) {
        for left in self.audience.leave(speaker.client) {
            self.leave(speaker, left);
        }
    }

    fn leave(&mut self, speaker: &Speaker<'_>, left: EndedSubscription) {
        let (now_ms, subscriber) = (speaker.now_ms, speaker.subscriber);
        self.shards.by_channel(left.channel, |channels| {
            channels.leave(now_ms, left.channel, left.is_last, subscriber);
        });
    }

    /// Sends a text to one client only.
    pub fn send(&mut self, speaker: &Speaker<'_>, text: &str) {
        self.send_to(speaker.client, speaker.format, text);
    }

    fn send_to(&mut self, client: ClientId, format: ClientFormat, text: &str) {
        let bytes = match format {
            ClientFormat::WebSocket | ClientFormat::Deflated => text_frame(text),
            ClientFormat::Sse => Bytes::from(sse::event(None, text)),
            ClientFormat::Mercure => Bytes::from(sse::aside(text)),
        };
        self.audience.send(client, bytes, self.outlet);
    }
}

#[cfg(test)]
mod tests;
