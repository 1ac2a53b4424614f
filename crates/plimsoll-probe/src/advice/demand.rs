//! What users need at once: requests, connections, CPU time.

use std::time::Duration;

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
            source: format!("assumed: {}", assumption()),
            is_given: true,
        }
    }

    /// Users who each pause for so long between a response and their next request.
    pub fn pausing(users: u64, pause: Duration) -> Self {
        let pause_s = pause.as_secs_f64();
        let rate = users as f64 / (pause_s + TAKES_S);
        Self {
            rate,
            in_flight: rate * TAKES_S,
            source: format!(
                "each pauses {pause_s} s between a response and the next request, which is assumed to take {TAKES_S} s"
            ),
            ..Self::assumed(users)
        }
    }

    /// Users who each hold a connection, such as a WebSocket, and send as many requests as an average visitor.
    pub fn connected(users: u64) -> Self {
        let assumed = Self::assumed(users);
        Self {
            connections: 2.0 * users as f64,
            source: format!(
                "each with a WebSocket beside its requests; {}",
                assumed.source
            ),
            ..assumed
        }
    }

    /// Requests per second of users of whom each sends as many as an average visitor. `source` tells where the rate comes
    /// from.
    pub fn of_rate(rate: f64, source: &str) -> Self {
        let users = crate::parse::whole((rate * REQUEST_INTERVAL_S).ceil()).max(1);
        Self {
            rate,
            in_flight: rate * TAKES_S,
            source: format!("{source}; assumed: {}", assumption()),
            ..Self::assumed(users)
        }
    }

    /// Users who arrive at a rate per second, one request each, and stay connected until all are there.
    pub fn arriving(users: f64, rate: f64, source: &str) -> Self {
        Self {
            rate,
            in_flight: rate * TAKES_S,
            source: format!(
                "{source}; assumed: one request each that takes {TAKES_S} s, and all of them stay connected"
            ),
            ..Self::assumed(crate::parse::whole(users.ceil()).max(1))
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

/// What an average visitor does.
fn assumption() -> String {
    format!("each sends a request every {REQUEST_INTERVAL_S:.0} s that takes {TAKES_S} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_of_rates_arrivals_and_pauses() {
        // 3,000 users with a pause of 9.5 s and responses of 0.5 s: one request every 10 s each.
        let pausing = Demand::pausing(3000, Duration::from_millis(9500));
        assert!((pausing.rate - 300.0).abs() < 1e-9 && (pausing.in_flight - 150.0).abs() < 1e-9);
        let rate = Demand::of_rate(300.0, "300 req/s");
        assert_eq!(rate.users, 3000);
        let arriving = Demand::arriving(12_000.0, 200.0 / 3.0, "12,000 logins");
        assert_eq!(arriving.users, 12_000);
        assert!((arriving.in_flight - 100.0 / 3.0).abs() < 1e-9);
        assert!((Demand::connected(500).connections - 1000.0).abs() < 1e-9);
    }

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
