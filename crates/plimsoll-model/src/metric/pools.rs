//! Metrics of pools of connections and threads that a program holds. Each carries `at`, where it was asked.

/// Places of a pool of connections that are used, by `to` (database, http) and `pool`.
pub const POOL_USED: &str = "plimsoll.pool.used";
/// Most places of a pool of connections, by `to` and `pool`.
pub const POOL_LIMIT: &str = "plimsoll.pool.limit";
/// Requests that wait for a place of a pool of connections, by `to` and `pool`.
pub const POOL_WAITING: &str = "plimsoll.pool.waiting";
/// Times that a request had to wait for a place, by `to` and `pool`, where that is counted.
pub const POOL_WAITS: &str = "plimsoll.pool.waits";
/// Value of `to` of a pool of connections to a database.
pub const TO_DATABASE: &str = "database";
/// Value of `to` of a pool of connections to a service over HTTP.
pub const TO_HTTP: &str = "http";

/// Longest time that a task had to wait for a thread of libuv's pool since it was asked last.
pub const NODE_POOL_WAIT: &str = "plimsoll.node.thread_pool.wait";
/// Threads of libuv's pool.
pub const NODE_POOL_THREADS: &str = "plimsoll.node.thread_pool.threads";

/// Threads of Python by `state` (active, idle; lock: the one that has the interpreter's), at one look.
pub const PYTHON_THREADS: &str = "plimsoll.python.threads";
/// Active threads of Python by `of`, the innermost call of the application's own, at one look.
pub const PYTHON_CALLS: &str = "plimsoll.python.calls";

/// Tasks that wait for a thread of .NET's pool.
pub const DOTNET_QUEUE: &str = "dotnet.thread_pool.queue.length";
/// Threads of .NET's pool.
pub const DOTNET_THREADS: &str = "dotnet.thread_pool.thread.count";

/// Time of requests at nginx as its access log tells, the 95th percentile of a second, by `phase`: request (from its
/// first byte to the last of the answer), connect, header and response (of the upstream).
pub const NGINX_TIME: &str = "plimsoll.nginx.time";
/// Answers of nginx as its access log tells, by `status`, those from 400 on.
pub const NGINX_ERRORS: &str = "plimsoll.nginx.errors";
