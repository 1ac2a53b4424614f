//! Metrics of connection poolers, application servers and metrics pages. Each carries `at`, the address of the
//! component.

/// A gauge of the application, by `name` and `of`, its own labels: of a metrics page, or received.
pub const FIGURES_LEVEL: &str = "plimsoll.figures.level";
/// A counter of the application, by `name` and `of`, its own labels: of a metrics page, or received.
pub const FIGURES_INCREASE: &str = "plimsoll.figures.increase";
/// The limit that the plan gives a gauge of the application, by `name` and `of`, its own labels.
pub const FIGURES_LIMIT: &str = "plimsoll.figures.limit";

/// Lines that the receiver of StatsD received.
pub const STATSD_LINES: &str = "plimsoll.statsd.lines";
/// Of these, lines that it left out: invalid ones, and those of too many meters.
pub const STATSD_LINES_LOST: &str = "plimsoll.statsd.lines_lost";
/// Datagrams that the kernel dropped because they were not read in time.
pub const STATSD_DROPPED: &str = "plimsoll.statsd.datagrams_dropped";

/// Clients of pgbouncer by `pool` (database/role) and `state` (active, waiting).
pub const PGBOUNCER_CLIENTS: &str = "plimsoll.pgbouncer.clients";
/// Sessions of pgbouncer in the database, by `pool` and `state` (active, idle).
pub const PGBOUNCER_SESSIONS: &str = "plimsoll.pgbouncer.sessions";
/// How long the client that waits longest has waited, by `pool`.
pub const PGBOUNCER_WAIT: &str = "plimsoll.pgbouncer.wait";
/// Time that clients waited for a session, by `database`.
pub const PGBOUNCER_WAIT_TIME: &str = "plimsoll.pgbouncer.wait_time";
/// Transactions, by `database`.
pub const PGBOUNCER_TRANSACTIONS: &str = "plimsoll.pgbouncer.transactions";

/// Workers of Apache by `state` (busy, idle).
pub const APACHE_WORKERS: &str = "apache.workers";
/// Requests that Apache handled.
pub const APACHE_REQUESTS: &str = "apache.requests";
/// Whether Apache had no free worker to serve its status page: 1 or 0.
pub const APACHE_SILENT: &str = "plimsoll.apache.silent";

/// Requests that gunicorn's workers can handle concurrently.
pub const GUNICORN_PLACES: &str = "plimsoll.gunicorn.places";
/// Connections that gunicorn's workers have accepted.
pub const GUNICORN_TAKEN: &str = "plimsoll.gunicorn.connections_taken";
/// Connections that wait until a worker of gunicorn accepts them.
pub const GUNICORN_WAITING: &str = "plimsoll.gunicorn.connections_waiting";

/// Threads of Varnish that handle requests.
pub const VARNISH_THREADS: &str = "plimsoll.varnish.threads";
/// Connections and requests that wait for a thread of Varnish.
pub const VARNISH_QUEUE: &str = "plimsoll.varnish.queue";
/// Times that Varnish reached its thread limit.
pub const VARNISH_AT_LIMIT: &str = "plimsoll.varnish.threads_limited";
/// Connections and requests that Varnish dropped because its queue was full.
pub const VARNISH_DROPPED: &str = "plimsoll.varnish.dropped";
/// Requests to Varnish.
pub const VARNISH_REQUESTS: &str = "plimsoll.varnish.requests";
/// Lookups in Varnish's cache that found an object.
pub const VARNISH_HITS: &str = "plimsoll.varnish.hits";
/// Lookups in Varnish's cache that found none.
pub const VARNISH_MISSES: &str = "plimsoll.varnish.misses";
/// Objects that Varnish evicted to make room.
pub const VARNISH_NUKED: &str = "plimsoll.varnish.nuked";
