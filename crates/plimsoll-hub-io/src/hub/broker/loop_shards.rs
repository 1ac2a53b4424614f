//! All channels as the clients of one loop reach them.

use plimsoll_hub::channels::{ChannelRef, Channels, HubRefusal};
use plimsoll_hub::command_handler::{Offer, OfferOutcome, Shards};
use plimsoll_net::lock::lock;

use super::{Broker, SHARDS};
use crate::hub::shared::PublishingClient;

/// All channels, for the clients of a loop.
pub(crate) struct FromLoop<'a> {
    pub(crate) broker: &'a Broker,
    pub(crate) event_loop: usize,
}

impl Shards for FromLoop<'_> {
    fn publish(&mut self, offer: &Offer<'_>) -> Result<OfferOutcome, HubRefusal> {
        let name = offer.channel;
        let Some(shared) = &self.broker.shared else {
            return self.broker.publish_offer(offer).map(|_| OfferOutcome::Done);
        };
        offer.examine(&mut lock(self.broker.shard(name)))?;
        let publisher = PublishingClient {
            event_loop: self.event_loop,
            visit: offer.visit,
            id: offer.id,
        };
        shared.post_for(&publisher, name, offer.data)?;
        Ok(OfferOutcome::Deferred)
    }

    fn by_name<T>(&mut self, name: &str, act: impl FnOnce(&mut Channels) -> T) -> T {
        let mut shard = lock(self.broker.shard(name));
        if let Some(at) = self.broker.read_up_to() {
            // Progress of other shards counts too: everything up to there is in the channels.
            shard.advance(at);
        }
        act(&mut shard)
    }

    fn at_one_moment<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        let broker = self.broker;
        broker.at_one_moment(|| act(self))
    }

    fn by_channel<T>(&mut self, channel: ChannelRef, act: impl FnOnce(&mut Channels) -> T) -> T {
        let broker = self.broker;
        let index = Channels::shard_of(channel, broker.first_epoch, SHARDS);
        act(&mut lock(
            &broker.shards[usize::try_from(index).unwrap_or_default()],
        ))
    }
}
