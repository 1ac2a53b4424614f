//! Metrics of connection and thread pools in a program. Each carries `at`, the address of the program.

/// Connections in use of a connection pool, by `to` (database, http) and `pool`.
pub const POOL_USED: &str = "plimsoll.pool.used";
/// Size limit of a connection pool, by `to` and `pool`.
pub const POOL_LIMIT: &str = "plimsoll.pool.limit";
/// Requests that wait for a connection of a pool, by `to` and `pool`.
pub const POOL_WAITING: &str = "plimsoll.pool.waiting";
/// Times that a request waited for a connection, by `to` and `pool`, where that is counted.
pub const POOL_WAITS: &str = "plimsoll.pool.waits";
/// Value of `to` of a pool of connections to a database.
pub const TO_DATABASE: &str = "database";
/// Value of `to` of a pool of connections to a service over HTTP.
pub const TO_HTTP: &str = "http";

/// Longest wait of a task for a thread of libuv's pool since the last sample.
pub const NODE_POOL_WAIT: &str = "plimsoll.node.thread_pool.wait";
/// Threads of libuv's pool.
pub const NODE_POOL_THREADS: &str = "plimsoll.node.thread_pool.threads";

/// Python threads by `state` (active, idle; lock: the one that holds the interpreter's lock), in one sample.
pub const PYTHON_THREADS: &str = "plimsoll.python.threads";
/// Active Python threads by `of`, the innermost call of the application's own code, in one sample.
pub const PYTHON_CALLS: &str = "plimsoll.python.calls";

/// Tasks that wait for a thread of .NET's pool.
pub const DOTNET_QUEUE: &str = "dotnet.thread_pool.queue.length";
/// Threads of .NET's pool.
pub const DOTNET_THREADS: &str = "dotnet.thread_pool.thread.count";

/// Time of requests in nginx from its access log, 95th percentile of a second, by `phase`: request (from its first
/// byte to the last of the answer), connect, header and response (of the upstream).
pub const NGINX_TIME: &str = "plimsoll.nginx.time";
/// Responses of nginx from its access log, by `status`, from 400 on.
pub const NGINX_ERRORS: &str = "plimsoll.nginx.errors";
