//! Metrics of poolers, of servers that run applications, and of pages of figures. Each carries `at`, where it was asked.

/// A level that a page of figures tells, by `name` and `of`, its labels.
pub const FIGURES_LEVEL: &str = "plimsoll.figures.level";
/// A counter that a page of figures tells, by `name` and `of`, its labels.
pub const FIGURES_INCREASE: &str = "plimsoll.figures.increase";

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
/// Requests that Apache carried out.
pub const APACHE_REQUESTS: &str = "apache.requests";
/// Whether Apache had no worker left to answer about itself: 1 or 0.
pub const APACHE_SILENT: &str = "plimsoll.apache.silent";

/// Requests that gunicorn's workers can carry out at once.
pub const GUNICORN_PLACES: &str = "plimsoll.gunicorn.places";
/// Connections that gunicorn's workers have taken.
pub const GUNICORN_TAKEN: &str = "plimsoll.gunicorn.connections_taken";
/// Connections that wait until a worker of gunicorn takes them.
pub const GUNICORN_WAITING: &str = "plimsoll.gunicorn.connections_waiting";

/// Threads of Varnish that carry out requests.
pub const VARNISH_THREADS: &str = "plimsoll.varnish.threads";
/// Connections and requests that wait for a thread of Varnish.
pub const VARNISH_QUEUE: &str = "plimsoll.varnish.queue";
/// Times that Varnish wanted more threads than it may have.
pub const VARNISH_AT_LIMIT: &str = "plimsoll.varnish.threads_limited";
/// Connections and requests that Varnish dropped because its queue was full.
pub const VARNISH_DROPPED: &str = "plimsoll.varnish.dropped";
/// Requests to Varnish.
pub const VARNISH_REQUESTS: &str = "plimsoll.varnish.requests";
/// Look-ups in Varnish's cache that found something.
pub const VARNISH_HITS: &str = "plimsoll.varnish.hits";
/// Look-ups in Varnish's cache that found nothing.
pub const VARNISH_MISSES: &str = "plimsoll.varnish.misses";
/// Objects that Varnish threw away to make room.
pub const VARNISH_NUKED: &str = "plimsoll.varnish.nuked";
