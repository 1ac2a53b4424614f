//! What is known of a service in a second.

use std::collections::BTreeMap;

use plimsoll_config::scale::Signal;
use plimsoll_model::finding::{Certainty, Finding, Tier};

/// Readings of a second, of which a decision is made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScaleReadings {
    /// Seconds since the beginning.
    pub at_s: u32,
    /// The second, from the same beginning, at whose end the signals were measured; `at_s` if they are not late.
    pub measured_s: u32,
    /// Replicas that are ordered: ready ones, and those that start.
    pub replicas: u32,
    /// Replicas that answer.
    pub ready: u32,
    /// Ready replicas of which no metric is known.
    pub unmeasured: u32,
    /// Values of the signals; one that could not be read is absent.
    pub signals: SignalValues,
    /// Seconds since 1970 of the beginning; `None` where nobody knows the date.
    pub began_unix_s: Option<i64>,
    /// Second of the day of the beginning, where the date is unknown.
    pub began_day_s: u32,
    /// A limit that all replicas share, if one was named.
    pub shared: Option<SharedTier>,
    /// How long each replica is paid already, s; empty where replicas are paid by the second.
    pub ages_s: Vec<u32>,
}

/// Values of the signals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SignalValues {
    /// Requests that arrived, 1/s.
    pub offered: Option<f64>,
    /// Requests that were answered, 1/s.
    pub served: Option<f64>,
    /// Requests that were refused, or waited too long, 1/s.
    pub shed: Option<f64>,
    /// Requests that wait.
    pub queue: Option<f64>,
    /// Requests that are answered or wait.
    pub in_flight: Option<f64>,
    /// 95th percentile of the response time, s.
    pub latency: Option<f64>,
    /// Mean CPU of the ready replicas, as a share of what they have.
    pub cpu: Option<f64>,
    /// Other series by name.
    pub series: BTreeMap<String, f64>,
}

/// CPU from which a replica has none to spare.
const CPU_FULL: f64 = 0.98;

impl SignalValues {
    /// The value of a signal; `None` if it is missing or no number.
    pub fn get(&self, signal: &Signal) -> Option<f64> {
        let value = match signal {
            Signal::Offered => self.offered,
            Signal::Served => self.served,
            Signal::Queue => self.queue,
            Signal::InFlight => self.in_flight,
            Signal::Latency => self.latency,
            Signal::Cpu => self.cpu,
            Signal::Series(name) => self.series.get(name).copied(),
        };
        value.filter(|value| value.is_finite() && *value >= 0.0)
    }

    /// Why a signal shows no longer how much is missing; `in_flight_max` is the limit of all ready replicas.
    pub(crate) fn saturation(&self, signal: &Signal, in_flight_max: f64) -> Option<String> {
        let value = self.get(signal)?;
        match signal {
            Signal::Cpu if value >= CPU_FULL => Some(format!(
                "cpu is at {} %",
                crate::whole::short(value * 100.0)
            )),
            Signal::InFlight if value >= in_flight_max && self.queue.is_none() => Some(format!(
                "in_flight is at its limit of {}",
                crate::whole::short(in_flight_max)
            )),
            // What is answered never exceeds what can be.
            Signal::Served if self.shed.is_some_and(|shed| shed > 0.0) => Some(format!(
                "served is at {}/s while requests are refused",
                crate::whole::short(value)
            )),
            _ => None,
        }
    }
}

/// A limit that more replicas do not raise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedTier {
    /// Its name, such as `pgbouncer pool size`.
    pub name: String,
}

/// Rules that name something in front of or behind all replicas, beside those of stores.
const SHARED_RULES: [&str; 4] = ["J9", "J10", "P11", "J11"];

impl SharedTier {
    /// The first limit of a run that all replicas share; `None` where none is suspected. What only follows from another
    /// limit does not count.
    pub fn of_findings(findings: &[Finding]) -> Option<Self> {
        let first = findings.iter().find(|finding| {
            finding.certainty >= Certainty::Suspected && finding.consequence_of.is_none()
        })?;
        let is_shared =
            first.tier == Some(Tier::Store) || SHARED_RULES.contains(&first.rule.as_str());
        is_shared.then(|| Self {
            name: format!("{} ({})", first.limit, first.rule),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: &str, limit: &str, tier: Tier) -> Finding {
        Finding {
            rule: rule.to_owned(),
            limit: limit.to_owned(),
            machine: None,
            tier: Some(tier),
            certainty: Certainty::Suspected,
            score: 0.9,
            sentence: String::new(),
            remedy: String::new(),
            evidence: Vec::new(),
            consequence_of: None,
            consequence_of_machine: None,
            intervention: None,
        }
    }

    #[test]
    fn stores_and_pools_are_shared_and_machines_are_not() {
        for (rule, limit, tier) in [
            ("P1", "PostgreSQL `max_connections`", Tier::Store),
            ("P2", "PostgreSQL CPU", Tier::Store),
            ("P3", "row lock", Tier::Store),
            ("P11", "pgbouncer pool size", Tier::Proxy),
            ("Q1", "MySQL `max_connections`", Tier::Store),
            ("Q2", "MySQL CPU", Tier::Store),
            ("Q6", "InnoDB row locks", Tier::Store),
            ("K1", "Redis single thread", Tier::Store),
            ("K4", "Redis maxclients", Tier::Store),
            ("J9", "named dependency", Tier::Runtime),
        ] {
            let shared = SharedTier::of_findings(&[finding(rule, limit, tier)]).unwrap();
            assert!(
                shared.name.contains(limit) && shared.name.contains(rule),
                "{shared:?}"
            );
        }
        for (rule, tier) in [
            ("C1", Tier::Machine),
            ("J1", Tier::Runtime),
            ("R1", Tier::Runtime),
        ] {
            assert_eq!(
                SharedTier::of_findings(&[finding(rule, "x", tier)]),
                None,
                "{rule}"
            );
        }
        let mut doubtful = finding("P2", "x", Tier::Store);
        doubtful.certainty = Certainty::Possible;
        assert_eq!(SharedTier::of_findings(&[doubtful]), None);
        // The first limit is that of the replicas: another one would not bind yet.
        let both = [
            finding("C1", "CPU", Tier::Machine),
            finding("P2", "x", Tier::Store),
        ];
        assert_eq!(SharedTier::of_findings(&both), None);
    }
}
