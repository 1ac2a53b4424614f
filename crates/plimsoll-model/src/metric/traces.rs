//! Metrics of requests from spans. Each carries `at`, where spans were received; all but the first two carry
//! `service` and `route`.

/// Spans received.
pub const TRACE_SPANS: &str = "plimsoll.trace.spans";
/// Of these, those dropped for lack of space, or that belong to no request.
pub const TRACE_SPANS_LOST: &str = "plimsoll.trace.spans_lost";
/// Shortest time from the end of a span, by its service's clock, to its arrival, by this machine's clock.
pub const TRACE_CLOCK: &str = "plimsoll.trace.clock";
/// Requests that were traced.
pub const TRACE_REQUESTS: &str = "plimsoll.trace.requests";
/// Of these, requests that failed through the service's fault.
pub const TRACE_FAILED: &str = "plimsoll.trace.failed";
/// Time that requests took.
pub const TRACE_TIME: &str = "plimsoll.trace.time";
/// Database statements that requests executed, without BEGIN, COMMIT and the like.
pub const TRACE_QUERIES: &str = "plimsoll.trace.queries";
/// The same, with statements of one form counted once for each request.
pub const TRACE_QUERY_FORMS: &str = "plimsoll.trace.query_forms";
/// Executions of statements that a request repeats, by `statement`.
pub const TRACE_REPEATED: &str = "plimsoll.trace.repeated";
/// Time that transactions were open.
pub const TRACE_HELD: &str = "plimsoll.trace.held";
/// Of this, time spent waiting for another service.
pub const TRACE_HELD_REMOTE: &str = "plimsoll.trace.held_remote";
/// Calls, by `kind` (itself, database, connecting, cache, http, rpc, messaging, step) and `component`.
pub const TRACE_CALLS: &str = "plimsoll.trace.calls";
/// Time of these in which none of their child spans ran, by `kind` and `component`.
pub const TRACE_OWN_TIME: &str = "plimsoll.trace.own_time";
/// The same, with each moment divided among all calls that ran in it, by `kind` and `component`.
pub const TRACE_SHARED_TIME: &str = "plimsoll.trace.shared_time";
/// Calls that failed, by `kind` and `component`.
pub const TRACE_CALLS_FAILED: &str = "plimsoll.trace.calls_failed";
/// Calls that were temporarily refused, by `kind`, `component` and `status` (429, 503).
pub const TRACE_REFUSED: &str = "plimsoll.trace.refused";
/// Requests with such a call, by `kind`, `component` and `ended` (good, failed).
pub const TRACE_REACHED: &str = "plimsoll.trace.reached";
/// Requests with such a call that failed, by `kind`, `component` and `ended` (good, failed).
pub const TRACE_BROKEN: &str = "plimsoll.trace.broken";
