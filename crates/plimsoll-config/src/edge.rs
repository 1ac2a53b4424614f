//! The resolved settings of the edge: listeners, pools, routes and limits. Flags and files both result in these types.
//!
//! Each section of the file is a module with a table of its settings: fields, defaults, ranges and texts. [`read`] takes
//! the values of a file by these tables, and [`reference()`] prints them.

mod access;
mod acme;
mod admin;
mod caching;
mod compress;
mod fallback;
mod file;
mod fragments;
mod hub;
mod limits;
mod listeners;
mod network;
mod outward;
mod pools;
mod routes;
mod server;
mod server_tls;
mod waiting_room;

pub use access::{Countries, IpFilterConfig};
pub use acme::{Acme, AcmeCertificate};
pub use admin::{AccessLog, Admin, LogFormat};
pub use caching::{
    CACHE_LEN, CACHE_LENS, CacheDisk, CacheQuery, CacheSetCookie, Caching, DISK_LEN, DISK_LENS,
    is_cookie,
};
pub use compress::{Compress, CompressCoding};
pub use fallback::{Captured, Fallback, LearnedFallback};
pub use file::{CORES, EDGE_LEN_MAX, EdgeConfig, HostLookup, read, reference};
pub use fragments::{FragmentPages, Fragments};
pub use hub::{
    HubConfig, HubHooks, HubKey, HubRedis, HubRule, HubShared, HubSharedKind, HubSlow, HubSource,
    HubSourceKind, HubTokens,
};
pub use limits::EdgeLimits;
pub use listeners::{Certificate, ListenerConfig};
pub use network::Network;
pub use outward::{Endpoint, Parents, RateAlert, Traces};
pub use pools::{
    BalancingPolicy, CEILING_MAX, Ceiling, Check, Eject, HashKey, PoolConfig, QUEUE_LENS, Timeouts,
};
pub use routes::{
    Action, Class, HeaderEdit, PathMatch, PathParameters, Rate, Rewrite, RouteConfig, RouteMatch,
};
pub use server::{ServerConfig, ServerUrlError};
pub use server_tls::{Authorities, ServerTls};
pub use waiting_room::WaitingRoomConfig;
