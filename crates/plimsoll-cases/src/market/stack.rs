//! The market's processes, joined by links with the delays of their topology.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use plimsoll_harness::port::free_ports;
use plimsoll_harness::server::{ChildServer, Recipe, is_listening, is_root, pinned};

use super::region::{NEAR, REGIONS};
use super::stores::{Database, redis};
use crate::exchange::exchange;
use crate::ground::CaseContext;

const START: Duration = Duration::from_mins(1);

/// Where servers and stores are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topology {
    /// Servers and stores in one region.
    SingleRegion,
    /// Servers in each region, stores in one.
    FarStores,
    /// The same, and what is only read is read in the region itself.
    Replicas,
}

/// Whether a call of a store keeps its whole process waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreCalls {
    Blocking,
    Asynchronous,
}

/// How odds are broadcast to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// At each prediction, by the servers.
    AtOnce,
    /// Every three seconds: the feed publishes, the servers tell.
    Feed,
    /// At each prediction to the hub, which broadcasts every three seconds and holds the connections.
    Hub,
}

/// One way to run the market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MarketSettings {
    pub(super) topology: Topology,
    pub(super) calls: StoreCalls,
    pub(super) delivery: Delivery,
}

impl Topology {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SingleRegion => "(a) one place",
            Self::FarStores => "(b) servers per region",
            Self::Replicas => "(c) with read replicas",
        }
    }
}

impl StoreCalls {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Blocking => "blocking",
            Self::Asynchronous => "asynchronous",
        }
    }
}

impl Delivery {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AtOnce => "each prediction",
            Self::Feed => "every 3 s",
            Self::Hub => "hub, every 3 s",
        }
    }
}

impl MarketSettings {
    pub(super) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for topology in [
            Topology::SingleRegion,
            Topology::FarStores,
            Topology::Replicas,
        ] {
            for calls in [StoreCalls::Blocking, StoreCalls::Asynchronous] {
                for delivery in [Delivery::AtOnce, Delivery::Feed, Delivery::Hub] {
                    all.push(Self {
                        topology,
                        calls,
                        delivery,
                    });
                }
            }
        }
        all
    }

    pub(super) fn title(self) -> String {
        format!(
            "{}, {} stores, told {}",
            self.topology.name(),
            self.calls.name(),
            self.delivery.name()
        )
    }
}

/// A market that runs. Ends when dropped, its folder last.
pub(super) struct MarketStack {
    pub(super) delivery: Delivery,
    /// Where the clients of each region come in.
    pub(super) client_ports: Vec<u16>,
    _servers: Vec<ChildServer>,
    _databases: Vec<Database>,
    _folder: tempfile::TempDir,
}

/// What it takes to start a process of the market.
struct Starter<'a> {
    ground: &'a CaseContext,
    programs: &'a Path,
    settings: MarketSettings,
    folder: &'a Path,
    /// Of the clients and links, and of the servers and stores.
    cores: (usize, usize),
}

/// Where a server finds its stores.
#[derive(Clone, Copy)]
struct Stores {
    database: u16,
    replica: u16,
    redis: u16,
}

/// The links of one region's server.
struct Plan {
    stores: Stores,
    /// Of servers, in the order of their regions; one for all where there is one place.
    links: Vec<(u16, u16, Duration)>,
}

impl MarketStack {
    /// Starts stores, links, servers and, where they tell, the feed or the hubs.
    pub(super) fn start(
        ground: &CaseContext,
        programs: &Path,
        settings: MarketSettings,
        cores: (usize, usize),
    ) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("market-").tempdir()?;
        open_to_all(folder.path())?;
        let starter = Starter {
            ground,
            programs,
            settings,
            folder: folder.path(),
            cores,
        };
        let (stores, mut servers, databases) = starter.stores()?;
        let places: Vec<Duration> = match settings.topology {
            Topology::SingleRegion => vec![Duration::ZERO],
            _ => REGIONS.iter().map(|region| region.round_trip()).collect(),
        };
        let mut links = Vec::new();
        let mut fronts = Vec::new();
        let mut plans = Vec::new();
        for round_trip in &places {
            let plan = starter.plan(stores, *round_trip)?;
            links.extend(plan.links.iter().copied());
            plans.push(plan);
        }
        let client_ports = free_ports(REGIONS.len())?;
        let ports = free_ports(3 * places.len())?;
        for (place, region) in REGIONS.iter().enumerate() {
            let (server, distance) = match settings.topology {
                Topology::SingleRegion => (0, region.round_trip()),
                _ => (place, NEAR),
            };
            links.push((client_ports[place], ports[server * 3], distance));
        }
        servers.push(starter.link(&links)?);
        for (place, plan) in plans.iter().enumerate() {
            fronts.extend(starter.place(place, plan.stores, &ports[place * 3..place * 3 + 3])?);
        }
        servers.extend(fronts);
        if settings.delivery == Delivery::Feed {
            servers.push(starter.python("feed", stores, None)?);
        }
        Ok(Self {
            delivery: settings.delivery,
            client_ports,
            _servers: servers,
            _databases: databases,
            _folder: folder,
        })
    }
}

impl Starter<'_> {
    /// The stores as those see them who are beside them.
    fn stores(&self) -> Result<(Stores, Vec<ChildServer>, Vec<Database>)> {
        let core = self.cores.1;
        let store = &self.ground.store;
        let first = Database::start(self.folder, store, core, "database", 1)?;
        let (redis_server, redis_port) = redis(self.folder, core)?;
        let mut stores = Stores {
            database: first.port,
            replica: first.port,
            redis: redis_port,
        };
        let mut servers = vec![redis_server];
        let mut databases = vec![first];
        if self.settings.topology == Topology::Replicas {
            // One stands for the replicas of all regions: they hold the same, and each is beside its readers.
            let replica = Database::start(self.folder, store, core, "replica", 2)?;
            let port = free_ports(1)?[0];
            let farthest = REGIONS.iter().map(|region| region.round_trip()).max();
            servers.push(self.link_named(
                "replication",
                &[(port, stores.database, farthest.unwrap_or_default())],
            )?);
            replica.follow(port)?;
            databases[0].fill()?;
            replica.wait_for_pools()?;
            stores.replica = replica.port;
            databases.push(replica);
        } else {
            databases[0].fill()?;
        }
        Ok((stores, servers, databases))
    }

    /// The links between a server so far away and the stores.
    fn plan(&self, stores: Stores, round_trip: Duration) -> Result<Plan> {
        if self.settings.topology == Topology::SingleRegion {
            return Ok(Plan {
                stores,
                links: Vec::new(),
            });
        }
        let ports = free_ports(3)?;
        let mut linked = Stores {
            database: ports[0],
            replica: ports[1],
            redis: ports[2],
        };
        let mut links = vec![
            (linked.database, stores.database, round_trip),
            (linked.redis, stores.redis, round_trip),
        ];
        if self.settings.topology == Topology::Replicas {
            linked.replica = stores.replica;
        } else {
            links.push((linked.replica, stores.database, round_trip));
        }
        Ok(Plan {
            stores: linked,
            links,
        })
    }

    fn link(&self, links: &[(u16, u16, Duration)]) -> Result<ChildServer> {
        self.link_named("links", links)
    }

    fn link_named(&self, name: &str, links: &[(u16, u16, Duration)]) -> Result<ChildServer> {
        let arguments = links.iter().map(|(listen, to, round_trip)| {
            format!(
                "127.0.0.1:{listen}=127.0.0.1:{to}@{}",
                round_trip.as_millis()
            )
        });
        let recipe = Recipe {
            name,
            program: &self.programs.join("plimsoll-link").display().to_string(),
            user: None,
            arguments: arguments.collect(),
            environment: Vec::new(),
        };
        let mut server = ChildServer::start(pinned(recipe, self.cores.0), self.folder)?;
        let last = links
            .last()
            .context("a process of links has at least one")?
            .0;
        server.wait(START, || is_listening(last))?;
        Ok(server)
    }

    /// A server, and the hub before it where there is one. Clients come to the first port.
    fn place(&self, place: usize, stores: Stores, ports: &[u16]) -> Result<Vec<ChildServer>> {
        let is_behind_hub = self.settings.delivery == Delivery::Hub;
        let port = if is_behind_hub { ports[1] } else { ports[0] };
        let mut servers = vec![self.python(&format!("server-{place}"), stores, Some(port))?];
        if is_behind_hub {
            servers.push(self.hub(place, stores, ports)?);
        }
        Ok(servers)
    }

    /// A process of the market itself: a server at a port, or the feed.
    fn python(&self, name: &str, stores: Stores, port: Option<u16>) -> Result<ChildServer> {
        let MarketSettings {
            calls, delivery, ..
        } = self.settings;
        let at = |port: u16| format!("127.0.0.1:{port}");
        let mut environment = vec![
            ("MARKET_STORES", calls.name().to_owned()),
            ("MARKET_DATABASE", at(stores.database)),
            ("MARKET_REPLICA", at(stores.replica)),
            ("MARKET_REDIS", at(stores.redis)),
        ];
        let broadcast = if delivery == Delivery::Feed {
            "feed"
        } else {
            "prediction"
        };
        environment.push(("MARKET_BROADCAST", broadcast.to_owned()));
        if delivery == Delivery::Hub {
            environment.push(("MARKET_HUB", "yes".to_owned()));
        }
        if let Some(port) = port {
            environment.push(("MARKET_PORT", port.to_string()));
        }
        let script = self.ground.case.join("site/market.py");
        let recipe = Recipe {
            name,
            program: &self
                .ground
                .store
                .join("python/bin/python")
                .display()
                .to_string(),
            user: None,
            arguments: vec!["-B".to_owned(), script.display().to_string()],
            environment,
        };
        let mut server = ChildServer::start(pinned(recipe, self.cores.1), self.folder)?;
        if let Some(port) = port {
            server.wait(START, || {
                exchange(port, "/health", "", None).is_ok_and(|answer| answer.status == 200)
            })?;
        }
        Ok(server)
    }

    /// Our edge before a server: requests go through, clients of `/live` stay here.
    fn hub(&self, place: usize, stores: Stores, ports: &[u16]) -> Result<ChildServer> {
        let text = format!(
            "listen: 127.0.0.1:{}\nadmin: 127.0.0.1:{}\naccess_log: off\ncores: 1\ncache: off\npools:\n  \
             market: {{ servers: [\"http://127.0.0.1:{}\"] }}\nhub:\n  path: /live\n  redis: 127.0.0.1:{}\n  \
             channels: [{{ match: game-*, interval: 3s, history: 1 }}]\n",
            ports[0], ports[2], ports[1], stores.redis
        );
        let name = format!("hub-{place}");
        let file = self.folder.join(format!("{name}.yaml"));
        std::fs::write(&file, text)?;
        let recipe = Recipe {
            name: &name,
            program: &self.programs.join("plimsoll").display().to_string(),
            user: None,
            arguments: vec![
                "edge".to_owned(),
                "--config".to_owned(),
                file.display().to_string(),
            ],
            environment: Vec::new(),
        };
        let mut server = ChildServer::start(pinned(recipe, self.cores.1), self.folder)?;
        server.wait(START, || is_listening(ports[0]))?;
        Ok(server)
    }
}

/// Lets the users of the servers pass, and MariaDB make its socket; what is inside keeps its own rights.
pub(super) fn open_to_all(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = if is_root() { 0o777 } else { 0o700 };
    Ok(std::fs::set_permissions(
        folder,
        std::fs::Permissions::from_mode(mode),
    )?)
}
