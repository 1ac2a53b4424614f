//! Hosts that carry a load, as a file of hosts names them: how many workers each of them gets, and what part of the load a
//! region has.

use std::fmt;

use crate::ssh::SshDestination;
use crate::worker::WORKERS_MAX;

/// Longest name of a worker or region, characters.
pub const NAME_MAX: usize = 64;

/// The whole of a load, in the unit of shares of regions.
pub const WHOLE_PERMILLE: u32 = 1000;

/// A host that carries workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadHost {
    /// How it is reached.
    pub ssh: SshDestination,
    /// Name of its workers; `None` for that of the host.
    pub name: Option<String>,
    /// Where it is.
    pub region: Option<String>,
    /// How many workers it carries; `None` for its turn of those that no host claims, and for one where no number is wanted.
    pub workers: Option<u32>,
}

/// The part of a load that the workers of a region carry together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionShare {
    /// The region.
    pub region: String,
    /// Its part, in thousandths; those of all regions are [`WHOLE_PERMILLE`] together.
    pub permille: u32,
}

/// The content of a file of hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadHosts {
    /// The hosts, in the order of the file.
    pub hosts: Vec<LoadHost>,
    /// Parts of regions; empty where all workers carry equal parts.
    pub shares: Vec<RegionShare>,
}

/// A worker that is to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerPlace {
    /// Its host.
    pub ssh: SshDestination,
    /// Its name, which no other worker has.
    pub name: String,
    /// Where it is.
    pub region: Option<String>,
}

/// Why the hosts of a file do not carry as many workers as are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacesError {
    /// More workers than a load may have.
    TooMany {
        /// So many.
        workers: u64,
    },
    /// Fewer are wanted than there are hosts, or than hosts claim.
    TooFew {
        /// So many are wanted.
        wanted: u32,
        /// So few are possible.
        least: u64,
    },
    /// More are wanted than hosts claim, and no host is without a number.
    Unclaimed {
        /// So many are wanted.
        wanted: u32,
        /// So many are claimed.
        claimed: u64,
    },
}

impl fmt::Display for PlacesError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany { workers } => write!(
                formatter,
                "the hosts would carry {workers} workers; valid: at most {WORKERS_MAX}"
            ),
            Self::TooFew { wanted, least } => write!(
                formatter,
                "{wanted} workers are fewer than the hosts need; valid: from {least}, or a file with fewer hosts"
            ),
            Self::Unclaimed { wanted, claimed } => write!(
                formatter,
                "{wanted} workers are more than the {claimed} of `workers:` in the file, which every host has; valid: {claimed}, or a \
                 host without `workers`"
            ),
        }
    }
}

impl std::error::Error for PlacesError {}

/// Whether a text may name a worker or a region: 1 to 64 letters, digits, `.`, `_` and `-`.
pub fn is_label(text: &str) -> bool {
    (1..=NAME_MAX).contains(&text.len()) && text.chars().all(is_of_label)
}

fn is_of_label(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-".contains(c)
}

impl LoadHosts {
    /// The workers to start, host by host: as many as each claims; the rest of `wanted` is dealt to the others in turn, each
    /// of which has at least one.
    ///
    /// # Errors
    /// When so many are not possible.
    pub fn places(&self, wanted: Option<u32>) -> Result<Vec<WorkerPlace>, PlacesError> {
        let counts = self.counts(wanted)?;
        let mut places: Vec<WorkerPlace> = Vec::new();
        for (host, count) in self.hosts.iter().zip(counts) {
            for _ in 0..count {
                places.push(WorkerPlace {
                    ssh: host.ssh.clone(),
                    name: unused_name(&places, &name_of(host)),
                    region: host.region.clone(),
                });
            }
        }
        Ok(places)
    }

    /// Workers of each host.
    fn counts(&self, wanted: Option<u32>) -> Result<Vec<u32>, PlacesError> {
        let claimed: u64 = self
            .hosts
            .iter()
            .filter_map(|host| host.workers)
            .map(u64::from)
            .sum();
        let open = self
            .hosts
            .iter()
            .filter(|host| host.workers.is_none())
            .count() as u64;
        let least = claimed + open;
        let all = wanted.map_or(least, u64::from);
        if all > u64::from(WORKERS_MAX) {
            return Err(PlacesError::TooMany { workers: all });
        }
        if let Some(wanted) = wanted.filter(|_| all < least) {
            return Err(PlacesError::TooFew { wanted, least });
        }
        if let Some(wanted) = wanted.filter(|_| open == 0 && all > claimed) {
            return Err(PlacesError::Unclaimed { wanted, claimed });
        }
        let rest = all - claimed;
        let mut dealt = 0;
        let count = |host: &LoadHost| {
            host.workers.unwrap_or_else(|| {
                let turn = dealt;
                dealt += 1;
                // Every `open`-th of the rest; at most WORKERS_MAX, so it fits.
                let count = (rest - turn).div_ceil(open);
                u32::try_from(count).unwrap_or(WORKERS_MAX)
            })
        };
        Ok(self.hosts.iter().map(count).collect())
    }
}

/// The name of a host's workers.
fn name_of(host: &LoadHost) -> String {
    let of_host = || {
        let plain = host.ssh.host().chars();
        let plain = plain.map(|c| if is_of_label(c) { c } else { '_' });
        // Room for a number behind it.
        plain.take(NAME_MAX - 4).collect()
    };
    host.name.clone().unwrap_or_else(of_host)
}

/// The name, with a number where another place has it.
fn unused_name(places: &[WorkerPlace], name: &str) -> String {
    let is_used = |name: &str| places.iter().any(|place| place.name == name);
    let numbered = (2..).map(|number: u32| {
        let short = name.get(..NAME_MAX - 4).unwrap_or(name);
        format!("{short}-{number}")
    });
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names
        .find(|name| !is_used(name))
        .unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn host(ssh: &str, workers: Option<u32>) -> LoadHost {
        LoadHost {
            ssh: ssh.parse().unwrap(),
            name: None,
            region: Some("eu".to_owned()),
            workers,
        }
    }

    fn hosts(hosts: &[LoadHost]) -> LoadHosts {
        LoadHosts {
            hosts: hosts.to_vec(),
            shares: Vec::new(),
        }
    }

    fn names(hosts: &LoadHosts, wanted: Option<u32>) -> Vec<String> {
        let places = hosts.places(wanted).unwrap();
        places.into_iter().map(|place| place.name).collect()
    }

    #[test]
    fn workers_are_dealt_to_hosts_that_claim_none() {
        let file = hosts(&[
            host("me@a", None),
            host("b:22", Some(1)),
            host("[fd00::1]", None),
        ]);
        assert_eq!(names(&file, None), ["a", "b", "fd00__1"]);
        let names = names(&file, Some(6));
        assert_eq!(names, ["a", "a-2", "a-3", "b", "fd00__1", "fd00__1-2"]);
        assert_eq!(
            file.places(Some(6)).unwrap()[0].region.as_deref(),
            Some("eu")
        );
    }

    #[test]
    fn numbers_that_do_not_add_up_are_refused() {
        let claimed = hosts(&[host("a", Some(2)), host("b", Some(3))]);
        assert_eq!(names(&claimed, Some(5)).len(), 5);
        let (wanted, claims) = (6, 5);
        let refused = PlacesError::Unclaimed {
            wanted,
            claimed: claims,
        };
        assert_eq!(claimed.places(Some(wanted)), Err(refused));
        let refused = PlacesError::TooFew {
            wanted: 4,
            least: 5,
        };
        assert_eq!(claimed.places(Some(4)), Err(refused));
        let many = hosts(&[host("a", Some(256)), host("b", None)]);
        assert_eq!(
            many.places(None),
            Err(PlacesError::TooMany { workers: 257 })
        );
    }

    #[test]
    fn labels_are_plain() {
        for text in ["eu", "japan-east.1", "A_b"] {
            assert!(is_label(text), "{text}");
        }
        for text in ["", "a b", "é", "a:b", &"x".repeat(65)] {
            assert!(!is_label(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn places_are_as_many_as_wanted_with_names_of_their_own(
            claims in prop::collection::vec(prop::option::of(1_u32..6), 1..12),
            more in 0_u32..40,
        ) {
            let each: Vec<LoadHost> = claims.iter().map(|&claim| host("a", claim)).collect();
            let file = hosts(&each);
            let least = file.places(None).unwrap().len();
            let open = claims.iter().filter(|claim| claim.is_none()).count();
            let wanted = u32::try_from(least).unwrap() + if open > 0 { more } else { 0 };
            let places = file.places(Some(wanted)).unwrap();
            prop_assert_eq!(places.len(), wanted as usize);
            let names: std::collections::BTreeSet<_> = places.iter().map(|place| &place.name).collect();
            prop_assert_eq!(names.len(), places.len());
            prop_assert!(places.iter().all(|place| is_label(&place.name)));
        }
    }
}
