//! Metrics of application runtimes. Each carries `at`, the address of the component.

/// Processes of PHP-FPM by `state` (active, idle, all).
pub const PHP_FPM_PROCESSES: &str = "plimsoll.php_fpm.processes";
/// Requests that wait for a process of PHP-FPM; not reported for a Unix socket.
pub const PHP_FPM_QUEUE: &str = "plimsoll.php_fpm.queue";
/// Requests that PHP-FPM began.
pub const PHP_FPM_REQUESTS: &str = "plimsoll.php_fpm.requests";
/// Times that PHP-FPM reached `pm.max_children`.
pub const PHP_FPM_AT_LIMIT: &str = "plimsoll.php_fpm.max_children_reached";
/// Requests that took longer than PHP-FPM's `request_slowlog_timeout`.
pub const PHP_FPM_SLOW: &str = "plimsoll.php_fpm.slow_requests";
/// Whether PHP-FPM had no free process to serve its status page: 1 or 0.
pub const PHP_FPM_SILENT: &str = "plimsoll.php_fpm.silent";

/// Time that the event loop of Node was not idle.
pub const NODE_ACTIVE: &str = "plimsoll.node.event_loop.active";
/// Longest delay by the event loop since the last sample.
pub const NODE_DELAY: &str = "plimsoll.node.event_loop.delay";
/// Resident memory of Node.
pub const NODE_MEMORY: &str = "plimsoll.node.memory";

/// Requests that wait for a thread of Puma.
pub const PUMA_BACKLOG: &str = "plimsoll.puma.backlog";
/// Requests that Puma could accept immediately.
pub const PUMA_CAPACITY: &str = "plimsoll.puma.pool_capacity";
/// Requests that Puma handled.
pub const PUMA_REQUESTS: &str = "plimsoll.puma.requests";

/// Time that a JVM's collector stopped it, by `kind` (young, full, concurrent).
pub const JVM_GC_TIME: &str = "plimsoll.jvm.gc.time";
/// Collections of a JVM, by `kind`.
pub const JVM_GC_COUNT: &str = "plimsoll.jvm.gc.count";
/// Longest garbage collection pause of a JVM in this second, as far as reported: the last one, or the mean.
pub const JVM_GC_PAUSE: &str = "plimsoll.jvm.gc.pause";
/// Time that a JVM spent in safepoints, for garbage collection or other reasons.
pub const JVM_STOPPED: &str = "plimsoll.jvm.stopped";
/// Memory of a JVM's old generation that is used.
pub const JVM_OLD_USED: &str = "plimsoll.jvm.old.used";
/// The same after the last collection of the whole heap.
pub const JVM_OLD_AFTER: &str = "plimsoll.jvm.old.used_after_full";
/// Most memory of a JVM's old generation.
pub const JVM_OLD_LIMIT: &str = "plimsoll.jvm.old.limit";
/// Threads of a JVM.
pub const JVM_THREADS: &str = "plimsoll.jvm.threads";
/// Threads of a pool of a JVM, by `pool`: the name of its threads without their numbers.
pub const JVM_POOL: &str = "plimsoll.jvm.pool.threads";
/// Of these, those that handle a request; from Jolokia.
pub const JVM_POOL_BUSY: &str = "plimsoll.jvm.pool.busy";
/// Limit of the threads of a pool; from Jolokia.
pub const JVM_POOL_LIMIT: &str = "plimsoll.jvm.pool.limit";
/// Connections to a JVM that are not accepted yet, or have unread bytes.
pub const JVM_WAITING: &str = "plimsoll.jvm.connections_waiting";

/// Requests that uWSGI's workers can handle concurrently.
pub const UWSGI_PLACES: &str = "plimsoll.uwsgi.places";
/// Requests in progress in uWSGI's workers.
pub const UWSGI_BUSY: &str = "plimsoll.uwsgi.busy";
/// Connections that wait until a worker of uWSGI accepts them; not reported for a Unix socket.
pub const UWSGI_QUEUE: &str = "plimsoll.uwsgi.queue";
/// Requests that uWSGI handled.
pub const UWSGI_REQUESTS: &str = "plimsoll.uwsgi.requests";
/// Workers of uWSGI that were killed because a request took too long.
pub const UWSGI_HARAKIRI: &str = "plimsoll.uwsgi.harakiri";

/// Share of the CPU that a Go program may use that its collector took.
pub const GO_GC_SHARE: &str = "plimsoll.go.gc.share";
/// Collections of a Go program.
pub const GO_GC_COUNT: &str = "plimsoll.go.gc.count";
/// How long goroutines that could run waited for a thread in this second, at the 99th percentile.
pub const GO_SCHEDULER_DELAY: &str = "plimsoll.go.scheduler.delay";
/// Goroutines.
pub const GO_GOROUTINES: &str = "plimsoll.go.goroutines";
/// Goroutines by `of`, the innermost function of the application's own in which they are.
pub const GO_GOROUTINES_AT: &str = "plimsoll.go.goroutines_at";
/// Live memory of a Go program's heap.
pub const GO_HEAP: &str = "plimsoll.go.heap";
