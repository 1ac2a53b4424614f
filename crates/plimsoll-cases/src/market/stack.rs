//! The market's processes, joined by links with the delays of their topology.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::clock::{Stopwatch, pause};
use plimsoll_harness::port::{free_port, free_ports};
use plimsoll_harness::running::RunningServer;
use plimsoll_harness::template::Values;

use super::region::{NEAR, REGIONS};
use crate::case::{Case, open_to_all};
use crate::database::{DatabasePlace, MariaDb};

/// How long a replica may take to follow.
const FOLLOW: Duration = Duration::from_secs(30);

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
pub(super) struct MarketStack<'a> {
    pub(super) case: &'a Case,
    pub(super) delivery: Delivery,
    /// Where the clients of each region come in.
    pub(super) client_ports: Vec<u16>,
    /// Of the clients.
    pub(super) core: usize,
    _servers: Vec<RunningServer>,
    _databases: Vec<MariaDb>,
    pub(super) folder: tempfile::TempDir,
}

/// What it takes to start a process of the market.
struct Starter<'a> {
    case: &'a Case,
    settings: MarketSettings,
    folder: &'a std::path::Path,
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

/// A port, the port it leads to, and the round trip between them.
type Link = (u16, u16, Duration);

impl<'a> MarketStack<'a> {
    /// Starts stores, links, servers and, where they tell, the feed or the hubs.
    pub(super) fn start(
        case: &'a Case,
        settings: MarketSettings,
        cores: (usize, usize),
    ) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("market-").tempdir()?;
        open_to_all(folder.path())?;
        let starter = Starter {
            case,
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
        let mut linked = Vec::new();
        for round_trip in &places {
            linked.push(starter.link_stores(stores, *round_trip, &mut links)?);
        }
        let client_ports = free_ports(REGIONS.len())?;
        // Where clients come to, and where the server is if there is a hub before it.
        let ports = free_ports(2 * places.len())?;
        for (place, region) in REGIONS.iter().enumerate() {
            let (server, distance) = match settings.topology {
                Topology::SingleRegion => (0, region.round_trip()),
                _ => (place, NEAR),
            };
            links.push((client_ports[place], ports[server * 2], distance));
        }
        servers.push(starter.links("links", &links)?);
        for (place, stores) in linked.iter().enumerate() {
            servers.extend(starter.place(place, *stores, &ports[place * 2..place * 2 + 2])?);
        }
        if settings.delivery == Delivery::Feed {
            servers.push(starter.start(("feed", "feed"), &starter.values(stores))?);
        }
        Ok(Self {
            case,
            delivery: settings.delivery,
            client_ports,
            core: cores.0,
            _servers: servers,
            _databases: databases,
            folder,
        })
    }
}

impl Starter<'_> {
    fn start(&self, names: (&str, &str), values: &Values) -> Result<RunningServer> {
        self.case
            .start(names, self.folder, Some(self.cores.1), values)
    }

    /// The stores as those see them who are beside them.
    fn stores(&self) -> Result<(Stores, Vec<RunningServer>, Vec<MariaDb>)> {
        let place = DatabasePlace {
            case: self.case,
            folder: self.folder,
            core: Some(self.cores.1),
        };
        let first = MariaDb::empty(&place, "database", 1)?;
        let redis = self.start(("redis", "redis"), &Values::default())?;
        let mut stores = Stores {
            database: first.port(),
            replica: first.port(),
            redis: redis.port(),
        };
        let (mut servers, mut databases) = (vec![redis], vec![first]);
        let schema = self.case.folder.join("database/schema.sql");
        let schema = std::fs::read_to_string(&schema)
            .with_context(|| format!("cannot read {}", schema.display()))?;
        if self.settings.topology == Topology::Replicas {
            // One stands for the replicas of all regions: they hold the same, and each is beside its readers.
            let replica = MariaDb::empty(&place, "replica", 2)?;
            let port = free_port()?;
            let farthest = REGIONS.iter().map(|region| region.round_trip()).max();
            let link = (port, stores.database, farthest.unwrap_or_default());
            servers.push(self.links("replication", &[link])?);
            follow(&replica, port)?;
            databases[0].query(&schema)?;
            wait_for_pools(&replica)?;
            stores.replica = replica.port();
            databases.push(replica);
        } else {
            databases[0].query(&schema)?;
        }
        Ok((stores, servers, databases))
    }

    /// The stores as a server so far away sees them, and the links to them.
    fn link_stores(
        &self,
        stores: Stores,
        round_trip: Duration,
        links: &mut Vec<Link>,
    ) -> Result<Stores> {
        if self.settings.topology == Topology::SingleRegion {
            return Ok(stores);
        }
        let mut link = |to: u16| {
            let port = free_port()?;
            links.push((port, to, round_trip));
            anyhow::Ok(port)
        };
        Ok(Stores {
            database: link(stores.database)?,
            redis: link(stores.redis)?,
            replica: match self.settings.topology {
                Topology::Replicas => stores.replica,
                _ => link(stores.database)?,
            },
        })
    }

    fn links(&self, name: &str, links: &[Link]) -> Result<RunningServer> {
        let words = links.iter().map(|(listen, to, round_trip)| {
            let millis = round_trip.as_millis();
            format!("127.0.0.1:{listen}=127.0.0.1:{to}@{millis}ms")
        });
        let words: Vec<String> = words.collect();
        let (last, ..) = links
            .last()
            .context("a process of links has at least one")?;
        let values = Values::default().with("links", words.join(" "));
        let values = values.with("port", last);
        let core = Some(self.cores.0);
        self.case.start(("links", name), self.folder, core, &values)
    }

    /// A server, and the hub before it where there is one. Clients come to the first port.
    fn place(&self, place: usize, stores: Stores, ports: &[u16]) -> Result<Vec<RunningServer>> {
        let has_hub = self.settings.delivery == Delivery::Hub;
        let port = if has_hub { ports[1] } else { ports[0] };
        let values = self.values(stores).with("port", port);
        let mut servers = vec![self.start(("market", &format!("server-{place}")), &values)?];
        if has_hub {
            let name = format!("hub-{place}");
            let values = Values::default()
                .with("port", ports[0])
                .with("market", port);
            let values = values.with("redis", stores.redis).with("name", &name);
            servers.push(self.start(("hub", &name), &values)?);
        }
        Ok(servers)
    }

    /// What the market's own processes are told.
    fn values(&self, stores: Stores) -> Values {
        let MarketSettings {
            calls, delivery, ..
        } = self.settings;
        let is = |wanted, yes: &'static str, no| if delivery == wanted { yes } else { no };
        Values::default()
            .with("calls", calls.name())
            .with("database", stores.database)
            .with("replica", stores.replica)
            .with("redis", stores.redis)
            .with("broadcast", is(Delivery::Feed, "feed", "prediction"))
            .with("hub", is(Delivery::Hub, "yes", ""))
    }
}

/// Lets a database follow another, reached at this port, from the first change on.
fn follow(replica: &MariaDb, port: u16) -> Result<()> {
    let order = format!(
        "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='root', MASTER_USE_GTID=slave_pos; \
         START SLAVE"
    );
    replica.query(&order).map(drop)
}

/// Waits until a replica has the pools that it follows.
fn wait_for_pools(replica: &MariaDb) -> Result<()> {
    let stopwatch = Stopwatch::start();
    while !replica
        .query("SELECT COUNT(*) FROM market.pools")
        .is_ok_and(|output| output.trim() == "60")
    {
        ensure!(
            stopwatch.elapsed() < FOLLOW,
            "the replica does not follow: {}",
            replica.query("SHOW SLAVE STATUS\\G").unwrap_or_default()
        );
        pause(Duration::from_millis(50));
    }
    Ok(())
}
