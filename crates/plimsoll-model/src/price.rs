//! What running a service costs, by prices that a person wrote. None is looked up.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Parts of a profile of demand at most: a week of minutes.
pub const DEMAND_PARTS_MAX: usize = 7 * 24 * 60;
/// Bytes of a GB, as providers count traffic.
const BYTES_PER_GB: f64 = 1e9;
/// Bytes of a GiB, as providers count memory.
const BYTES_PER_GIB: f64 = (1_u64 << 30) as f64;

/// Prices of what a service uses; one that is zero is not charged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Currency, any text.
    pub currency: String,
    /// Of a machine for an hour.
    #[serde(default)]
    pub machine_hour: f64,
    /// Of a CPU for an hour.
    #[serde(default)]
    pub cpu_hour: f64,
    /// Of a GiB of memory for an hour.
    #[serde(default)]
    pub gib_hour: f64,
    /// Of a GB (10⁹ bytes) that is sent out.
    #[serde(default)]
    pub gb_out: f64,
    /// Of a request.
    #[serde(default)]
    pub request: f64,
    /// Demand that a month is priced for: rates per second of equally long parts of it, repeated to its end. Empty for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub demand: Vec<f64>,
}

/// What a service holds while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldResources {
    /// Machines.
    pub machines: f64,
    /// CPUs, of all machines together.
    pub cpus: f64,
    /// Memory, bytes, of all machines together.
    pub memory: u64,
}

impl HeldResources {
    /// What a machine with these facts has that may be used there; no memory where it is unknown.
    pub fn of_machine(facts: &BTreeMap<String, String>) -> Self {
        let fact = |name: &str| facts.get(name)?.parse::<f64>().ok();
        let cpus = fact("cores_allowed")
            .or_else(|| fact("cores"))
            .unwrap_or(1.0);
        let memory = facts.get("memory_bytes");
        Self {
            machines: 1.0,
            cpus: fact("cgroup_cpu_quota").map_or(cpus, |quota| quota.min(cpus)),
            memory: memory.and_then(|bytes| bytes.parse().ok()).unwrap_or(0),
        }
    }
}

impl Price {
    /// Of an hour of these resources, without what requests cost.
    pub fn per_hour(&self, held: HeldResources) -> f64 {
        self.machine_hour * held.machines
            + self.cpu_hour * held.cpus
            + self.gib_hour * held.memory as f64 / BYTES_PER_GIB
    }

    /// Of a request that sends out `bytes_out` bytes on average, without the resources that are held.
    pub fn per_request(&self, bytes_out: f64) -> f64 {
        self.of_traffic(1.0, bytes_out)
    }

    /// Of these requests, with the bytes that all of them send out together.
    pub fn of_traffic(&self, requests: f64, bytes_out: f64) -> f64 {
        self.request * requests + self.gb_out * bytes_out / BYTES_PER_GB
    }

    /// Whether requests or traffic have a price.
    pub fn has_traffic(&self) -> bool {
        self.request > 0.0 || self.gb_out > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_may_be_used_up_to_its_quota() {
        let facts = |facts: &[(&str, &str)]| -> BTreeMap<String, String> {
            let facts = facts.iter();
            facts
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let whole = [("cores", "16"), ("memory_bytes", "1024")];
        let held = HeldResources::of_machine(&facts(&whole));
        assert_eq!((held.machines, held.cpus, held.memory), (1.0, 16.0, 1024));
        let limited = [
            ("cores", "16"),
            ("cores_allowed", "4"),
            ("cgroup_cpu_quota", "2.50"),
        ];
        let held = HeldResources::of_machine(&facts(&limited));
        assert_eq!((held.cpus, held.memory), (2.5, 0));
        let unknown = HeldResources::of_machine(&facts(&[]));
        assert_eq!((unknown.cpus, unknown.memory), (1.0, 0));
    }

    #[test]
    fn everything_held_and_sent_has_its_price() {
        let price = Price {
            currency: "EUR".to_owned(),
            machine_hour: 0.1,
            cpu_hour: 0.04,
            gib_hour: 0.005,
            gb_out: 0.09,
            request: 2e-7,
            demand: Vec::new(),
        };
        let held = HeldResources {
            machines: 2.0,
            cpus: 8.0,
            memory: 32 << 30,
        };
        assert!((price.per_hour(held) - (0.2 + 0.32 + 0.16)).abs() < 1e-12);
        assert!((price.per_request(1e6) - (2e-7 + 9e-5)).abs() < 1e-15);
        assert!((price.of_traffic(1e6, 2e9) - (0.2 + 0.18)).abs() < 1e-12);
        assert!(price.has_traffic() && !Price::default().has_traffic());
        assert!(Price::default().per_hour(held).abs() < 1e-300);
    }
}
