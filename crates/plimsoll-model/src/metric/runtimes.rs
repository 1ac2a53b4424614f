//! Metrics of what runs applications. Each carries `at`, where it was asked.

/// Processes of PHP-FPM by `state` (active, idle, all).
pub const PHP_FPM_PROCESSES: &str = "plimsoll.php_fpm.processes";
/// Requests that wait for a process of PHP-FPM; not told of a Unix socket.
pub const PHP_FPM_QUEUE: &str = "plimsoll.php_fpm.queue";
/// Requests that PHP-FPM began.
pub const PHP_FPM_REQUESTS: &str = "plimsoll.php_fpm.requests";
/// Times that PHP-FPM wanted more processes than it may have.
pub const PHP_FPM_AT_LIMIT: &str = "plimsoll.php_fpm.max_children_reached";
/// Requests that took longer than PHP-FPM's `request_slowlog_timeout`.
pub const PHP_FPM_SLOW: &str = "plimsoll.php_fpm.slow_requests";
/// Whether PHP-FPM had no process to answer about itself: 1 or 0.
pub const PHP_FPM_SILENT: &str = "plimsoll.php_fpm.silent";

/// Time that the event loop of Node was not idle.
pub const NODE_ACTIVE: &str = "plimsoll.node.event_loop.active";
/// Longest time that something had to wait for the event loop since it was asked last.
pub const NODE_DELAY: &str = "plimsoll.node.event_loop.delay";
/// Resident memory of Node.
pub const NODE_MEMORY: &str = "plimsoll.node.memory";

/// Requests that wait for a thread of Puma.
pub const PUMA_BACKLOG: &str = "plimsoll.puma.backlog";
/// Requests that Puma could take at once.
pub const PUMA_CAPACITY: &str = "plimsoll.puma.pool_capacity";
/// Requests that Puma carried out.
pub const PUMA_REQUESTS: &str = "plimsoll.puma.requests";
