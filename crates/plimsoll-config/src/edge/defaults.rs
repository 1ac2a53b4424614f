//! Default values.

use std::net::SocketAddr;
use std::time::Duration;

use super::{
    Action, BalancingPolicy, CACHE_LEN, Caching, Ceiling, Class, Compress, CompressCoding,
    EdgeConfig, EdgeLimits, Eject, Fallback, HubConfig, ListenerConfig, PoolConfig, RateAlert,
    RouteConfig, RouteMatch, ServerConfig, ServerTls, Timeouts, WaitingRoomConfig,
};

impl Fallback {
    /// A fallback with the content of a file; its extension gives the media type.
    pub fn new(name: &str, content: Vec<u8>) -> Self {
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let media_type = match ending.to_ascii_lowercase().as_str() {
            "json" => "application/json",
            "txt" => "text/plain; charset=utf-8",
            _ => "text/html; charset=utf-8",
        };
        Self {
            name: name.to_owned(),
            content,
            media_type: media_type.to_owned(),
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(2),
            first_byte: Duration::from_mins(1),
            idle: Duration::from_mins(1),
            total: None,
            keep_alive: Duration::from_mins(1),
            tunnel: Duration::from_hours(1),
        }
    }
}

impl Default for EdgeLimits {
    fn default() -> Self {
        Self {
            connections_max: 65_536,
            per_address_max: 0,
            head_len_max: 32 * 1024,
            body_len_max: 64 << 20,
            memory_max: 512 << 20,
            head_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_mins(1),
            write_timeout: Duration::from_secs(30),
        }
    }
}

impl Default for Eject {
    fn default() -> Self {
        Self {
            failures: 5,
            lasting: Duration::from_secs(30),
            share_max: 0.5,
        }
    }
}

impl Default for WaitingRoomConfig {
    fn default() -> Self {
        Self {
            page: None,
            most: 10_000,
            retry: Duration::from_secs(10),
            stay: Duration::from_mins(10),
        }
    }
}

impl Default for Compress {
    fn default() -> Self {
        let types = [
            "text/html",
            "text/css",
            "text/plain",
            "text/javascript",
            "text/xml",
            "text/csv",
            "text/markdown",
            "text/vtt",
            "application/javascript",
            "application/json",
            "application/ld+json",
            "application/manifest+json",
            "application/problem+json",
            "application/xml",
            "application/xhtml+xml",
            "application/rss+xml",
            "application/atom+xml",
            "application/wasm",
            "image/svg+xml",
            "image/x-icon",
            "image/bmp",
            "font/ttf",
            "font/otf",
        ];
        Self {
            codings: vec![
                CompressCoding::Zstd,
                CompressCoding::Brotli,
                CompressCoding::Gzip,
            ],
            level: 4,
            types: types.map(str::to_owned).to_vec(),
            len_min: 1024,
            cpu_share: 0.5,
        }
    }
}

impl Default for RateAlert {
    fn default() -> Self {
        Self {
            webhook: None,
            every: Duration::from_mins(1),
            history: 60,
            factor: 4.0,
            least_per_second: 1.0,
        }
    }
}

impl PoolConfig {
    /// A pool of these servers with the defaults of everything else.
    pub fn new(name: &str, servers: Vec<ServerConfig>) -> Self {
        Self {
            name: name.to_owned(),
            servers,
            load_balancer: BalancingPolicy::default(),
            ceiling: Ceiling::default(),
            queue: None,
            queue_timeout: Duration::from_millis(500),
            timeouts: Timeouts::default(),
            idle_max: 256,
            check: None,
            eject: Eject::default(),
            slow_start: Duration::from_secs(30),
            retry_share: 0.1,
            objective: Duration::from_millis(500),
            tls: ServerTls::default(),
            zone: None,
        }
    }
}

impl RouteConfig {
    /// A route of all requests to one pool.
    pub fn everything(pool: usize) -> Self {
        Self {
            matches: RouteMatch::default(),
            action: Action::Pool(pool),
            fallback: None,
            learned_fallback: None,
            waiting: None,
            compress: None,
            access: None,
            path_parameters: None,
            case_ignored: false,
            class: Class::default(),
            rewrite: None,
            request_headers: Vec::new(),
            steering_headers: Vec::new(),
            answer_headers: Vec::new(),
            rate: None,
            cache: Some(Caching::default()),
            fragments: None,
        }
    }
}

impl EdgeConfig {
    /// One listener, one pool, and a route of all requests to it.
    pub fn single_pool(address: SocketAddr, pool: PoolConfig) -> Self {
        Self {
            listen: vec![ListenerConfig {
                address,
                tls: Vec::new(),
                proxy_protocol: false,
            }],
            pools: vec![pool],
            routes: vec![RouteConfig::everything(0)],
            admin: None,
            access_log: None,
            cores: None,
            trusted: Vec::new(),
            limits: EdgeLimits::default(),
            access: None,
            crawlers: Vec::new(),
            rate_alert: None,
            traces: None,
            user: None,
            drain: Duration::from_secs(30),
            resolvers: Vec::new(),
            zone: None,
            acme: None,
            cache: Some(CACHE_LEN),
            cache_disk: None,
            hub: None,
        }
    }

    /// One listener and a hub; every other request is refused.
    pub fn only_hub(address: SocketAddr, hub: HubConfig) -> Self {
        Self {
            pools: Vec::new(),
            routes: Vec::new(),
            hub: Some(hub),
            ..Self::single_pool(address, PoolConfig::new("", Vec::new()))
        }
    }
}
