//! What a client may do, and who else decides.

use crate::channels::HubRefusal;
use crate::protocol::SubscriptionRequest;

/// What a client wants and somebody else decides.
#[derive(Clone, Copy, Debug)]
pub enum ClientRequest<'a> {
    /// To read a channel.
    Subscribe(&'a SubscriptionRequest),
    /// To publish JSON to a channel.
    Publish(&'a str, &'a str),
    /// To be heard by the application: JSON.
    Send(&'a str),
}

/// What a client may do. A channel's rule must allow it too.
pub trait Rights {
    /// Whether it may read a channel.
    fn may_subscribe(&self, channel: &str) -> bool;

    /// Whether it may publish to a channel that takes messages of clients.
    fn may_publish(&self, channel: &str) -> bool;

    /// Who it is, where presence is kept.
    fn user(&self) -> Option<&str> {
        None
    }

    /// Whether somebody else decides about everything that it publishes.
    fn defers_publications(&self) -> bool {
        false
    }

    /// Whether somebody else is asked about a wish. What is answered later, [`Desk::fulfil`](super::Desk::fulfil)
    /// and [`Desk::publish`](super::Desk::publish) do.
    ///
    /// # Errors
    /// When there is nobody to ask, or too much waits for answers.
    fn defer(&mut self, request: ClientRequest<'_>, _id: Option<&str>) -> Result<bool, HubRefusal> {
        match request {
            ClientRequest::Send(_) => Err(HubRefusal::NoMessageHook),
            ClientRequest::Subscribe(_) | ClientRequest::Publish(..) => Ok(false),
        }
    }

    /// It does not want to read a channel any more, whatever is answered.
    fn withdraw(&mut self, _channel: &str) {}

    /// It presents a token: what that lets it do, it may from now on, and nothing else.
    ///
    /// # Errors
    /// In words, when the token is not good; then nothing has changed.
    fn present(&mut self, token: &str) -> Result<(), &'static str>;
}

/// Everybody may do everything that a channel's rule allows.
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
