//! What spans tell of requests. Each carries `at`, where spans were received; all but the first two `service` and `route`.

/// Spans that came.
pub const TRACE_SPANS: &str = "plimsoll.trace.spans";
/// Of these, those without room, or without a request to which they belong.
pub const TRACE_SPANS_LOST: &str = "plimsoll.trace.spans_lost";
/// Least time from the end of a span, by its service's clock, to its coming, by this machine's.
pub const TRACE_CLOCK: &str = "plimsoll.trace.clock";
/// Requests that were traced.
pub const TRACE_REQUESTS: &str = "plimsoll.trace.requests";
/// Of these, requests that failed by the service's fault.
pub const TRACE_FAILED: &str = "plimsoll.trace.failed";
/// Time that requests took.
pub const TRACE_TIME: &str = "plimsoll.trace.time";
/// Statements of databases that requests carried out, without those that only hold others together.
pub const TRACE_QUERIES: &str = "plimsoll.trace.queries";
/// The same with those of one form in one request counted once.
pub const TRACE_QUERY_FORMS: &str = "plimsoll.trace.query_forms";
/// Times that a statement was carried out, by `statement`: of those that a request repeats.
pub const TRACE_REPEATED: &str = "plimsoll.trace.repeated";
/// Time that transactions were open.
pub const TRACE_HELD: &str = "plimsoll.trace.held";
/// Of this, time in which another service was waited for.
pub const TRACE_HELD_REMOTE: &str = "plimsoll.trace.held_remote";
/// Calls, by `kind` (itself, database, connecting, cache, http, rpc, messaging, step) and `component`.
pub const TRACE_CALLS: &str = "plimsoll.trace.calls";
/// Time of these in which nothing below them ran, by `kind` and `component`.
pub const TRACE_OWN_TIME: &str = "plimsoll.trace.own_time";
/// The same, with each moment divided among all that ran in it, by `kind` and `component`.
pub const TRACE_SHARED_TIME: &str = "plimsoll.trace.shared_time";
/// Calls that failed, by `kind` and `component`.
pub const TRACE_CALLS_FAILED: &str = "plimsoll.trace.calls_failed";
/// Calls that were refused for now, by `kind`, `component` and `status` (429, 503).
pub const TRACE_REFUSED: &str = "plimsoll.trace.refused";
/// Requests with a call at all, by `kind`, `component` and `ended` (good, failed).
pub const TRACE_REACHED: &str = "plimsoll.trace.reached";
/// Requests with a call that failed, by `kind`, `component` and `ended` (good, failed).
pub const TRACE_BROKEN: &str = "plimsoll.trace.broken";
