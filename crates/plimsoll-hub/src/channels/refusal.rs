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
    #[error("there are as many channels as there may be")]
    TooManyChannels,
    /// The channel has as many subscribers as it may have.
    #[error("the channel has as many subscribers as it may have")]
    TooManySubscribers,
    /// The client has as many subscriptions as it may have.
    #[error("there are as many subscriptions as there may be")]
    TooManySubscriptions,
    /// The client already has this subscription.
    #[error("the channel is already subscribed to")]
    Subscribed,
    /// Data is longer than the channel allows.
    #[error("the data is longer than {0} bytes")]
    DataTooLong(usize),
    /// Data is not JSON.
    #[error("the data is not JSON")]
    NotJson,
    /// More often than the channel allows.
    #[error("published more often than the channel allows")]
    TooOften,
    /// The client may not read the channel.
    #[error("this channel may not be read")]
    NotReadable,
    /// Clients may not publish here.
    #[error("clients may not publish to this channel")]
    NotAllowed,
    /// The application says no, and not why.
    #[error("the application does not allow it")]
    Denied,
    /// The application cannot be asked.
    #[error("the application does not answer; try again later")]
    Unanswered,
    /// The client does not wait for answers.
    #[error("too much waits for the application; wait for its answers")]
    TooManyPending,
    /// No application takes messages.
    #[error("this hub hands no messages to an application")]
    NoMessageHook,
    /// What hubs share is away.
    #[error("what the hubs share is away, so nothing is published; try again later")]
    SharedLogUnavailable,
    /// What hubs share went away while it took the message.
    #[error("what the hubs share went away meanwhile: the message may have been published, or not")]
    Unsure,
    /// What was published before has not reached the clients' loops.
    #[error("messages are published faster than they are handed out; try again later")]
    Behind,
}
