//! What users need at once: requests, connections, CPU time.

/// A user sends one request in this time, s ...
const REQUEST_INTERVAL_S: f64 = 10.0;
/// ... and each response takes this long: the average of visitors of a web site.
const TAKES_S: f64 = 0.5;
/// Users for whom limits are judged where nobody gave their number: a limit below binds early.
pub const USERS_EARLY: u64 = 500;

/// What a number of users needs at once, on average.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Users at once.
    pub users: u64,
    /// Requests per second of all of them.
    pub rate: f64,
    /// Requests of all of them that are in progress at once.
    pub in_flight: f64,
    /// Connections of all of them.
    pub connections: f64,
    /// CPU seconds that their requests take in a second, where that was measured.
    pub cpus: Option<f64>,
    /// Where the numbers come from, as a part of a sentence.
    pub source: String,
    /// Whether the number of users was given, and not only what they do.
    pub is_given: bool,
}

impl Demand {
    /// The demand of users of whom only their number is known: one connection each, and the requests of an average
    /// visitor.
    pub fn assumed(users: u64) -> Self {
        let rate = users as f64 / REQUEST_INTERVAL_S;
        Self {
            users,
            rate,
            in_flight: rate * TAKES_S,
            connections: users as f64,
            cpus: None,
            source: format!(
                "assumed: each sends a request every {REQUEST_INTERVAL_S:.0} s that takes {TAKES_S} s"
            ),
            is_given: true,
        }
    }

    /// The demand that a limit must meet not to bind early, where no number of users is given.
    pub fn early() -> Self {
        Self {
            is_given: false,
            ..Self::assumed(USERS_EARLY)
        }
    }

    /// Users for whom a limit suffices of which all users need `needed`.
    pub(super) fn users_for(&self, limit: f64, needed: f64) -> u64 {
        if needed > 0.0 {
            crate::parse::whole(self.users as f64 * limit / needed)
        } else {
            u64::MAX
        }
    }

    /// Workers that the users need: one for each request in progress, at least one.
    pub(super) fn workers(&self) -> f64 {
        self.in_flight.ceil().max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_thousand_users_have_a_hundred_and_fifty_requests_in_progress() {
        let demand = Demand::assumed(3000);
        assert!((demand.rate - 300.0).abs() < 1e-9);
        assert!((demand.workers() - 150.0).abs() < 1e-9);
        assert_eq!(demand.users_for(1.0, demand.in_flight), 20);
        assert_eq!(demand.users_for(1.0, 0.0), u64::MAX);
        assert!(!Demand::early().is_given);
    }
}
