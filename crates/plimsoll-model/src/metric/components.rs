//! Metrics of scraped components. Each carries `at`, the address of the component. Named as in the receivers of
//! OpenTelemetry's collector, where they have a name.

/// A setting of a component, by `setting`, `of` (what it belongs to, where a component has several) and `file` (the
/// file and line that sets it, where known).
pub const SETTING: &str = "plimsoll.part.setting";

/// Connections of nginx by `state` (active, reading, writing, waiting).
pub const NGINX_CONNECTIONS: &str = "nginx.connections_current";
/// Connections that nginx accepted.
pub const NGINX_ACCEPTED: &str = "nginx.connections_accepted";
/// Connections that nginx accepted and closed immediately, because `worker_connections` were used up.
pub const NGINX_DROPPED: &str = "plimsoll.nginx.connections_dropped";
/// Requests that nginx began.
pub const NGINX_REQUESTS: &str = "nginx.requests";

/// Connections of clients to HAProxy.
pub const HAPROXY_CONNECTIONS: &str = "plimsoll.haproxy.connections";
/// Limit of HAProxy's client connections.
pub const HAPROXY_CONNECTIONS_LIMIT: &str = "plimsoll.haproxy.connections_limit";
/// Share of the time that HAProxy's threads were idle.
pub const HAPROXY_IDLE: &str = "plimsoll.haproxy.idle";
/// Sessions by `proxy` and `server` (FRONTEND and BACKEND for the proxy as a whole).
pub const HAPROXY_SESSIONS: &str = "haproxy.sessions.count";
/// Most sessions, where there is a limit, by `proxy` and `server`.
pub const HAPROXY_SESSIONS_LIMIT: &str = "plimsoll.haproxy.sessions_limit";
/// Requests that wait for a server, by `proxy` and `server`.
pub const HAPROXY_QUEUE: &str = "haproxy.requests.queued";
/// Sessions that began, by `proxy` and `server`.
pub const HAPROXY_SESSIONS_BEGUN: &str = "haproxy.sessions.total";
/// Connections to a server that failed, by `proxy` and `server`.
pub const HAPROXY_CONNECT_ERRORS: &str = "haproxy.connections.errors";
/// Invalid responses of servers, by `proxy` and `server`.
pub const HAPROXY_ANSWER_ERRORS: &str = "haproxy.responses.errors";
/// Connections to servers that were tried again, by `proxy` and `server`.
pub const HAPROXY_RETRIES: &str = "haproxy.connections.retries";
/// Transfers that clients gave up, by `proxy` and `server`.
pub const HAPROXY_CLIENT_ABORTS: &str = "plimsoll.haproxy.client_aborts";
/// Responses with status 5xx, by `proxy` and `server`.
pub const HAPROXY_SERVER_ERRORS: &str = "plimsoll.haproxy.server_errors";
/// HTTP requests received, by `proxy` and `server`.
pub const HAPROXY_REQUESTS: &str = "haproxy.requests.total";
/// Mean time of the last 1,024 requests, by `proxy`, `server` and `phase` (queue, connect, answer, total).
pub const HAPROXY_TIME: &str = "plimsoll.haproxy.time";
/// Weight of a server by `proxy` and `server`; 0 for a backup server.
pub const HAPROXY_WEIGHT: &str = "plimsoll.haproxy.weight";

/// Executions of a command by Redis, by `command`.
pub const REDIS_COMMAND_CALLS: &str = "plimsoll.redis.command.calls";
/// Time that Redis' main thread spent on a command, by `command`.
pub const REDIS_COMMAND_TIME: &str = "plimsoll.redis.command.time";
/// Clients connected to Redis.
pub const REDIS_CLIENTS: &str = "redis.clients.connected";
/// Clients that wait in a blocking command.
pub const REDIS_CLIENTS_BLOCKED: &str = "redis.clients.blocked";
/// Connections that Redis refused at `maxclients`.
pub const REDIS_REJECTED: &str = "redis.connections.rejected";
/// Commands that Redis executed.
pub const REDIS_COMMANDS: &str = "redis.commands.processed";
/// Keys that Redis evicted at `maxmemory`.
pub const REDIS_EVICTED: &str = "redis.keys.evicted";
/// Lookups that found their key.
pub const REDIS_HITS: &str = "redis.keyspace.hits";
/// Lookups that did not.
pub const REDIS_MISSES: &str = "redis.keyspace.misses";
/// Memory of Redis.
pub const REDIS_MEMORY: &str = "redis.memory.used";
/// Commands refused because memory was full and no key could be evicted.
pub const REDIS_OUT_OF_MEMORY: &str = "plimsoll.redis.out_of_memory";
/// CPU time of the thread that executes commands.
pub const REDIS_MAIN_THREAD: &str = "plimsoll.redis.main_thread.cpu";
/// Time that the latest fork stopped Redis.
pub const REDIS_FORK: &str = "redis.latest_fork";
/// Writes of the append-only file that had to wait for the disk.
pub const REDIS_FSYNC_DELAYED: &str = "plimsoll.redis.aof_delayed_fsync";

/// Connections to memcached.
pub const MEMCACHED_CONNECTIONS: &str = "memcached.connections.current";
/// Times that memcached refused a connection, or stopped accepting, because its connections were used up.
pub const MEMCACHED_REFUSED: &str = "plimsoll.memcached.connections_refused";
/// Items that memcached evicted for lack of memory.
pub const MEMCACHED_EVICTIONS: &str = "memcached.evictions";
/// Memory of memcached's items.
pub const MEMCACHED_MEMORY: &str = "memcached.bytes";
/// Lookups that found their item.
pub const MEMCACHED_HITS: &str = "plimsoll.memcached.hits";
/// Lookups that did not.
pub const MEMCACHED_MISSES: &str = "plimsoll.memcached.misses";

/// Lines of a log that report a failure, by `class`.
pub const LOG_FAILURES: &str = "plimsoll.log.failures";
/// The same by `class` and `of`, the upstream or server that the line names.
pub const LOG_FAILURES_OF: &str = "plimsoll.log.failures_of";

/// Time that a component took to respond to a scrape.
pub const PROBE_ANSWER_TIME: &str = "plimsoll.probe.answer_time";
