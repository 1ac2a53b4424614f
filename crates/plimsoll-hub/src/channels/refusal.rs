//! Why the hub rejects a command.

use thiserror::Error;

use crate::pattern::ChannelNameError;

/// Why the hub rejected a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HubRefusal {
    /// The name is not permitted.
    #[error(transparent)]
    Name(#[from] ChannelNameError),
    /// The limit of channels is reached.
    #[error("the hub's limit of channels is reached")]
    TooManyChannels,
    /// The channel's limit of subscribers is reached.
    #[error("the channel's limit of subscribers is reached")]
    TooManySubscribers,
    /// The client's limit of subscriptions is reached.
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
    /// The publish rate limit is exceeded.
    #[error("publish rate limit of the channel exceeded")]
    TooOften,
    /// The client may not read the channel.
    #[error("reading this channel is not permitted")]
    NotReadable,
    /// Clients may not publish here.
    #[error("clients may not publish to this channel")]
    NotAllowed,
    /// The application denied it without a reason.
    #[error("the application denied the request")]
    Denied,
    /// The application is unavailable.
    #[error("the application does not answer; try again later")]
    Unanswered,
    /// The client has too many pending requests.
    #[error("too many requests are waiting for the application; wait for its answers")]
    TooManyPending,
    /// No message hook is configured.
    #[error("this hub has no message hook")]
    NoMessageHook,
    /// The shared backend is unavailable.
    #[error("the hubs' shared backend is unavailable, nothing was published; try again later")]
    SharedLogUnavailable,
    /// The shared backend became unavailable while it took the message.
    #[error(
        "the hubs' shared backend became unavailable meanwhile: the message may or may not have been published"
    )]
    Unsure,
    /// Earlier messages have not reached the event loops yet.
    #[error("messages are published faster than they are delivered; try again later")]
    Behind,
    /// A channel of an update holds all the messages that it can until its interval ends; other channels have it.
    #[error(
        "a channel cannot hold more messages until its interval ends; the others have the message"
    )]
    TooManyHeld,
}
