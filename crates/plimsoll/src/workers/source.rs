//! Where the workers of a load come from: they join a port, or are started on the hosts of a file.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use plimsoll_model::load_hosts::{RegionShare, WorkerPlace};
use plimsoll_model::plan::Plan;
use plimsoll_model::region_loops::loops_by_region;
use plimsoll_model::worker::LOOPS_MAX;
use plimsoll_workers::{Coordinator, DialAddress, HostWorkers, HostsOptions};

use crate::arguments::{CarriedByArguments, DialledAddress, WorkersPlace};
use crate::explain::CliError;
use crate::plan_file;
use crate::screen::eprint;
use crate::worker;

/// Hosts that the introduction names at most.
const NAMED_MAX: usize = 8;

/// Where workers come from.
#[derive(Debug)]
pub(super) enum WorkerSource {
    /// They are started by hand.
    Listen { at: SocketAddr, workers: u32 },
    /// They are started on hosts, at these places.
    Hosts {
        places: Vec<WorkerPlace>,
        /// Parts of their regions; empty where all carry equal parts.
        shares: Vec<RegionShare>,
        /// Where they dial; `None` for a port that `ssh` forwards.
        dialled: Option<DialledAddress>,
    },
}

impl WorkerSource {
    /// What the arguments ask for; `None` for a load of this machine.
    pub(super) fn of(arguments: &CarriedByArguments) -> Result<Option<Self>, CliError> {
        let source = match &arguments.on {
            // Pods are not started here.
            None | Some(WorkersPlace::Kubernetes) => return Ok(None),
            Some(WorkersPlace::Listen(at)) => Self::listen(*at, arguments)?,
            Some(WorkersPlace::Hosts(path)) => Self::hosts(path, arguments)?,
        };
        let workers = source.workers();
        if let Some(least) = arguments.allow_fewer.filter(|&least| least > workers) {
            return Err(CliError::usage(format!(
                "--allow-fewer {least} is more than the {workers} workers of this load"
            ))
            .remedy(format!("give 1 to {workers}")));
        }
        Ok(Some(source))
    }

    fn listen(at: SocketAddr, arguments: &CarriedByArguments) -> Result<Self, CliError> {
        let Some(workers) = arguments.workers else {
            return Err(CliError::usage(
                "--on listen:PORT waits for workers, and their number is missing",
            )
            .remedy("give --workers N"));
        };
        if arguments.on_address.is_some() {
            return Err(CliError::usage(
                "--on-address is for hosts and pods: workers that are started by hand join the address that they are given",
            )
            .remedy("leave it out"));
        }
        Ok(Self::Listen { at, workers })
    }

    fn hosts(path: &Path, arguments: &CarriedByArguments) -> Result<Self, CliError> {
        let file = plan_file::read_hosts(path)?;
        let places = file.places(arguments.workers).map_err(|error| {
            CliError::usage(format!("{}: {error}", path.display()))
                .remedy("change --workers, or `workers` of the hosts in the file")
        })?;
        Ok(Self::Hosts {
            places,
            shares: file.shares,
            dialled: arguments.on_address.clone(),
        })
    }

    /// How many workers.
    pub(super) fn workers(&self) -> u32 {
        match self {
            Self::Listen { workers, .. } => *workers,
            Self::Hosts { places, .. } => u32::try_from(places.len()).unwrap_or(u32::MAX),
        }
    }

    /// Whether so many workers with `each` event loops can carry a load, in the parts of their regions.
    pub(super) fn check(&self, each: u32) -> Result<(), CliError> {
        check_loops(self.workers(), each)?;
        if let Self::Hosts { places, shares, .. } = self
            && !shares.is_empty()
        {
            let regions = places.iter().map(|place| place.region.as_deref());
            let regions: Vec<Option<&str>> = regions.collect();
            loops_by_region(shares, &regions, each, LOOPS_MAX)
                .map_err(|error| CliError::usage(error.to_string()))?;
        }
        Ok(())
    }

    /// Where the coordinator listens.
    pub(super) fn listens_at(&self) -> SocketAddr {
        match self {
            Self::Listen { at, .. } => *at,
            Self::Hosts { dialled: None, .. } => (Ipv4Addr::LOCALHOST, 0).into(),
            Self::Hosts {
                dialled: Some(dialled),
                ..
            } => SocketAddr::new(own_or_any(dialled.host()), dialled.port()),
        }
    }

    /// Begins to start the workers of hosts; `None` for those that are started by hand.
    pub(super) fn start(
        self,
        coordinator: &Coordinator,
        plan: &Plan,
    ) -> Result<Option<HostWorkers>, CliError> {
        let Self::Hosts {
            places,
            shares,
            dialled,
        } = self
        else {
            return Ok(None);
        };
        coordinator.share_by_region(shares);
        introduce(&places);
        let options = HostsOptions {
            places,
            dial: match dialled {
                Some(dialled) => DialAddress::Direct(dialled.text()),
                None => DialAddress::Forwarded(coordinator.address()),
            },
            token: coordinator.token().to_owned(),
            // A public target that came this far has been confirmed by the user of both machines.
            owns_targets: worker::has_public_target(plan),
        };
        let hosts = HostWorkers::start(options, Arc::new(eprint))?;
        Ok(Some(hosts))
    }
}

/// Whether so many workers with `each` event loops are not too many.
pub(super) fn check_loops(workers: u32, each: u32) -> Result<(), CliError> {
    if each.saturating_mul(workers) <= LOOPS_MAX {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "{workers} workers with {each} event loops each are too many: at most {LOOPS_MAX} loops carry a load"
    ))
    .remedy("give fewer --cores or --workers"))
}

/// The address, if this machine has it; else any: the workers' way here may lead through another one, and a name is theirs to
/// resolve.
fn own_or_any(host: &str) -> IpAddr {
    match host.parse::<IpAddr>() {
        Ok(ip) if TcpListener::bind((ip, 0)).is_ok() => ip,
        Ok(IpAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
        Ok(IpAddr::V4(_)) | Err(_) => Ipv4Addr::UNSPECIFIED.into(),
    }
}

/// `starting 3 workers over ssh: eu1, eu2 and us1`.
fn introduce(places: &[WorkerPlace]) {
    let names: Vec<&str> = places.iter().map(|place| place.name.as_str()).collect();
    let shown = names[..names.len().min(NAMED_MAX)].join(", ");
    let more = match names.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let workers = if names.len() == 1 {
        "worker"
    } else {
        "workers"
    };
    eprint(&format!(
        "starting {} {workers} over ssh: {shown}{more}; this program is sent to each of them, and removed as soon as it runs",
        names.len()
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coordinator_listens_where_it_is_dialled() {
        let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
        assert_eq!(own_or_any("127.0.0.1"), loopback);
        let any = IpAddr::from(Ipv4Addr::UNSPECIFIED);
        // No machine has an address of a documentation's network.
        for host in ["192.0.2.1", "load.example"] {
            assert_eq!(own_or_any(host), any, "{host}");
        }
        let any = IpAddr::from(Ipv6Addr::UNSPECIFIED);
        assert_eq!(own_or_any("2001:db8::1"), any);
    }
}
