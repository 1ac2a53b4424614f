//! Why a world is not simulated.

use plimsoll_config::world::MissingDistance;

/// Why a world is not simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimulateError {
    /// Two regions have no round trip.
    #[error(transparent)]
    Distance(#[from] MissingDistance),
    /// A tier gets more than it can serve, and nothing refuses the rest: no mean would ever be steady.
    #[error(
        "tier `{tier}` is to serve {demand:.1} requests a second and carries {capacity:.1} at most: its queue would grow for ever"
    )]
    TooMuchDemand {
        /// The tier.
        tier: String,
        /// Requests per second that reach it.
        demand: f64,
        /// Requests per second that it carries at most.
        capacity: f64,
        /// Requests per second of clients that the world carries at most.
        rate_max: f64,
    },
}

impl SimulateError {
    /// What mends it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Distance(missing) => missing.remedy(),
            Self::TooMuchDemand { tier, rate_max, .. } => format!(
                "a load below {rate_max:.1}/s; more `servers` or `replicas`, or fewer blocking calls, in `{tier}`; a limit of its \
                 `queue` or a `timeout`, so that the rest is refused; or --for, which shows how the backlog grows"
            ),
        }
    }
}
