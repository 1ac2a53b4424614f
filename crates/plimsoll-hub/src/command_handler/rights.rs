//! Rights of a client, and decisions by the application.

use crate::channels::HubRefusal;
use crate::protocol::SubscriptionRequest;

/// A request that the application decides.
#[derive(Clone, Copy, Debug)]
pub enum ClientRequest<'a> {
    /// To read a channel.
    Subscribe(&'a SubscriptionRequest),
    /// To publish JSON to a channel.
    Publish(&'a str, &'a str),
    /// To pass JSON to the application.
    Send(&'a str),
}

/// Rights of a client. The rule of the channel must permit it too.
pub trait Rights {
    /// Whether it may read a channel.
    fn may_subscribe(&self, channel: &str) -> bool;

    /// Whether it may publish to a channel that accepts messages of clients.
    fn may_publish(&self, channel: &str) -> bool;

    /// Its user, where presence is on.
    fn user(&self) -> Option<&str> {
        None
    }

    /// Whether the application decides about all that it publishes.
    fn defers_publications(&self) -> bool {
        false
    }

    /// Whether the application is consulted about a request. Its later decision is carried out by
    /// [`CommandHandler::fulfil`](super::CommandHandler::fulfil) and
    /// [`CommandHandler::publish`](super::CommandHandler::publish).
    ///
    /// # Errors
    /// When there is no hook, or too many requests are pending.
    fn defer(&mut self, request: ClientRequest<'_>, _id: Option<&str>) -> Result<bool, HubRefusal> {
        match request {
            ClientRequest::Send(_) => Err(HubRefusal::NoMessageHook),
            ClientRequest::Subscribe(_) | ClientRequest::Publish(..) => Ok(false),
        }
    }

    /// Cancels a pending subscription to a channel.
    fn withdraw(&mut self, _channel: &str) {}

    /// Presents a token, which replaces all rights.
    ///
    /// # Errors
    /// The reason, when the token is invalid; then nothing has changed.
    fn present(&mut self, token: &str) -> Result<(), &'static str>;
}

/// Permits everything that the rule of the channel permits.
#[derive(Clone, Copy, Debug)]
pub struct OpenAccess;

impl Rights for OpenAccess {
    fn may_subscribe(&self, _channel: &str) -> bool {
        true
    }

    fn may_publish(&self, _channel: &str) -> bool {
        true
    }

    fn present(&mut self, _token: &str) -> Result<(), &'static str> {
        Err("this hub does not use tokens")
    }
}
