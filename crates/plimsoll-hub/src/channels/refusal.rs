//! What is not done.

use thiserror::Error;

use crate::pattern::ChannelNameError;

/// Why something was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HubRefusal {
    /// No channel may have this name.
    #[error(transparent)]
    Name(#[from] ChannelNameError),
    /// There are as many channels as may be.
    #[error("the hub's limit of channels is reached")]
    TooManyChannels,
    /// The channel has as many subscribers as it may have.
    #[error("the channel's limit of subscribers is reached")]
    TooManySubscribers,
    /// The client has as many subscriptions as it may have.
    #[error("the client's limit of subscriptions is reached")]
    TooManySubscriptions,
    /// The client already has this subscription.
    #[error("already subscribed to the channel")]
    Subscribed,
    /// Data is longer than the channel allows.
    #[error("the data is longer than {0} bytes")]
    DataTooLong(usize),
    /// Data is not JSON.
    #[error("the data is not JSON")]
    NotJson,
    /// More often than the channel allows.
    #[error("publish rate limit of the channel exceeded")]
    TooOften,
    /// The client may not read the channel.
    #[error("reading this channel is not permitted")]
    NotReadable,
    /// Clients may not publish here.
    #[error("clients may not publish to this channel")]
    NotAllowed,
    /// The application says no, and not why.
    #[error("the application denied the request")]
    Denied,
    /// The application cannot be asked.
    #[error("the application does not answer; try again later")]
    Unanswered,
    /// The client does not wait for answers.
    #[error("too many requests are waiting for the application; wait for its answers")]
    TooManyPending,
    /// No application takes messages.
    #[error("this hub has no message hook")]
    NoMessageHook,
    /// What hubs share is away.
    #[error("the hubs' shared backend is unavailable, nothing was published; try again later")]
    SharedLogUnavailable,
    /// What hubs share went away while it took the message.
    #[error(
        "the hubs' shared backend became unavailable meanwhile: the message may or may not have been published"
    )]
    Unsure,
    /// What was published before has not reached the clients' loops.
    #[error("messages are published faster than they are delivered; try again later")]
    Behind,
}
