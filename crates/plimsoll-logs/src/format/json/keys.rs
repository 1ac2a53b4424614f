//! Names of fields in structured logs, and what they mean.

use crate::value::Unit;

/// The object that a member is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Root,
    /// `request`, `req`, `httpRequest`, `http.request`.
    Request,
    /// Headers of the request.
    Headers,
    /// `response`, `res`, `http.response`.
    Response,
    /// `http` of Elastic's common schema.
    Http,
    /// `client`, `source`.
    Client,
    Url,
    UserAgent,
    Event,
}

/// Where a value belongs. The number orders names of one meaning: the lowest that is there counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The beginning of a request.
    Began(u8),
    /// A moment that is an end, unless the writer of the log says otherwise.
    Moment(u8),
    Address(u8),
    Forwarded(u8),
    Method(u8),
    Path(u8),
    Query(u8),
    RequestLine,
    Status(u8),
    Host(u8),
    Bytes(u8),
    Referer,
    Agent(u8),
    /// A duration whose unit the name tells.
    Lasted(Unit),
    /// A duration whose unit depends on who wrote the log.
    LastedSomehow,
    Cache,
    UpstreamAddress,
    UpstreamResponse(Unit),
    UpstreamConnect(Unit),
    UpstreamHeader(Unit),
    /// Only a sign of who wrote the log.
    Sign,
}

/// Who wrote a structured log, as far as that decides what its fields mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dialect {
    #[default]
    Unknown,
    /// `duration` in seconds.
    Caddy,
    /// `duration` in milliseconds, `start_time`.
    Envoy,
    /// `timestamp` is a beginning, `latency` has its unit.
    GoogleLoadBalancer,
    /// `Duration` in nanoseconds, `StartUTC`.
    Traefik,
    /// `req`, `res`, `responseTime` in milliseconds.
    Pino,
    /// `time` is a beginning; bytes are written as `\u00HH`.
    Plimsoll,
}

impl Dialect {
    /// Who writes a field of this name, if only one does: a name that applications use too, such as `bytes_read` or
    /// `authority`, would give their durations another unit.
    pub(crate) fn of(scope: Scope, key: &[u8]) -> Option<Self> {
        Some(match (scope, key) {
            (Scope::Root, b"StartUTC" | b"StartLocal" | b"DownstreamStatus") => Self::Traefik,
            (Scope::Root, b"httpRequest") => Self::GoogleLoadBalancer,
            (Scope::Root, b"response_flags" | b"upstream_cluster") => Self::Envoy,
            (Scope::Root, b"responseTime") => Self::Pino,
            (Scope::Root, b"resp_headers" | b"common_log") | (Scope::Request, b"remote_port") => {
                Self::Caddy
            }
            _ => return None,
        })
    }

    /// Which of the names this is that lines of Plimsoll's edge have together, as a bit.
    pub(crate) fn sign_of_plimsoll(key: &[u8]) -> u8 {
        match key {
            b"target" => 1,
            b"agent" => 2,
            b"total_ms" => 4,
            b"reason" => 8,
            _ => 0,
        }
    }

    /// Unit of a `duration` or `latency` that is a bare number.
    pub(crate) fn duration_unit(self) -> Option<Unit> {
        match self {
            Self::Caddy | Self::GoogleLoadBalancer => Some(Unit::Seconds),
            Self::Envoy | Self::Pino | Self::Plimsoll => Some(Unit::Milliseconds),
            Self::Traefik => Some(Unit::Nanoseconds),
            Self::Unknown => None,
        }
    }

    /// Whether `time` or `timestamp` is the beginning of the request. Google: "the time when the first proxy received
    /// the request" (Cloud Load Balancing, log fields).
    pub(crate) fn moment_is_begin(self) -> bool {
        matches!(self, Self::GoogleLoadBalancer | Self::Plimsoll)
    }
}

/// The object that a member with an object as its value opens.
pub(crate) fn opened(scope: Scope, key: &[u8]) -> Option<Scope> {
    Some(match (scope, key) {
        (Scope::Root, b"request" | b"req" | b"httpRequest" | b"http_request")
        | (Scope::Http, b"request") => Scope::Request,
        (Scope::Root, b"response" | b"res" | b"http_response") | (Scope::Http, b"response") => {
            Scope::Response
        }
        (Scope::Root, b"http") => Scope::Http,
        (Scope::Root | Scope::Request, b"headers" | b"header" | b"request_headers") => {
            Scope::Headers
        }
        (Scope::Root | Scope::Request, b"client" | b"source" | b"remote") => Scope::Client,
        (Scope::Root | Scope::Request, b"url" | b"uri") => Scope::Url,
        (Scope::Root, b"user_agent" | b"userAgent") => Scope::UserAgent,
        (Scope::Root, b"event") => Scope::Event,
        // Wrappers of log collectors.
        (Scope::Root, b"jsonPayload" | b"json" | b"data" | b"fields" | b"message" | b"nginx") => {
            Scope::Root
        }
        _ => return None,
    })
}

/// Where the value of a member belongs.
pub(crate) fn slot(scope: Scope, key: &[u8]) -> Option<Slot> {
    match scope {
        Scope::Root => of_request(key).or_else(|| of_root(key)),
        Scope::Http => of_request(key).or_else(|| of_response(key)),
        Scope::Request => of_request(key),
        Scope::Response => of_response(key),
        Scope::Headers => of_header(key),
        Scope::Client => of_client(key),
        Scope::Url => of_url(key),
        Scope::UserAgent => (key == b"original").then_some(Slot::Agent(0)),
        Scope::Event => match key {
            b"duration" => Some(Slot::Lasted(Unit::Nanoseconds)),
            b"start" => Some(Slot::Began(2)),
            _ => None,
        },
    }
}

fn of_root(key: &[u8]) -> Option<Slot> {
    Some(match key {
        b"StartUTC" => Slot::Began(0),
        b"start_time" | b"startTime" | b"request_start" | b"request_time_start" => Slot::Began(1),
        b"began" | b"started_at" | b"startedAt" | b"start" => Slot::Began(2),
        b"StartLocal" => Slot::Began(3),
        b"time_iso8601" => Slot::Moment(0),
        b"msec" => Slot::Moment(1),
        b"time_local" => Slot::Moment(2),
        b"timestamp" => Slot::Moment(3),
        b"time" => Slot::Moment(4),
        b"@timestamp" => Slot::Moment(5),
        b"ts" => Slot::Moment(6),
        b"datetime" | b"date_time" | b"dateTime" => Slot::Moment(7),
        b"date" | b"t" => Slot::Moment(8),
        b"ClientHost" => Slot::Address(2),
        b"DownstreamStatus" => Slot::Status(0),
        b"OriginStatus" => Slot::Status(8),
        b"DownstreamContentSize" => Slot::Bytes(0),
        b"RequestHost" => Slot::Host(2),
        b"Duration" | b"duration_ns" | b"duration_nano" | b"event.duration" => {
            Slot::Lasted(Unit::Nanoseconds)
        }
        b"ServiceURL" | b"ServiceAddr" | b"upstream_addr" | b"upstream_host" | b"server" => {
            Slot::UpstreamAddress
        }
        b"OriginDuration" => Slot::UpstreamResponse(Unit::Nanoseconds),
        b"upstream_response_time" => Slot::UpstreamResponse(Unit::Seconds),
        b"upstream_service_time" => Slot::UpstreamResponse(Unit::Milliseconds),
        b"upstream_connect_time" => Slot::UpstreamConnect(Unit::Seconds),
        b"upstream_header_time" => Slot::UpstreamHeader(Unit::Seconds),
        b"upstream_cache_status" | b"cache_status" | b"cache" | b"x_cache" => Slot::Cache,
        b"http.request.method" => Slot::Method(1),
        b"url.path" => Slot::Path(5),
        b"url.original" => Slot::Path(0),
        b"url.query" => Slot::Query(1),
        b"http.response.status_code" => Slot::Status(1),
        b"client.ip" | b"source.ip" | b"client.address" => Slot::Address(3),
        b"user_agent.original" => Slot::Agent(0),
        b"response_flags" | b"upstream_cluster" | b"resp_headers" | b"bytes_read" => Slot::Sign,
        _ => return of_response(key).or_else(|| of_lasted(key)),
    })
}

fn of_lasted(key: &[u8]) -> Option<Slot> {
    Some(Slot::Lasted(match key {
        // nginx' own name: seconds.
        b"request_time"
        | b"duration_s"
        | b"duration_seconds"
        | b"duration_sec"
        | b"request_duration_seconds"
        | b"elapsed_seconds"
        | b"response_time_s"
        | b"response_time_seconds"
        | b"latency_seconds" => Unit::Seconds,
        b"duration_ms"
        | b"durationMs"
        | b"response_time_ms"
        | b"responseTimeMs"
        | b"responseTime"
        | b"latency_ms"
        | b"latencyMs"
        | b"elapsed_ms"
        | b"elapsedMs"
        | b"total_ms"
        | b"request_time_ms"
        | b"request_duration_ms"
        | b"time_taken_ms"
        | b"service_ms"
        | b"took_ms" => Unit::Milliseconds,
        b"duration_us" | b"latency_us" | b"response_time_us" | b"request_time_us"
        | b"elapsed_us" | b"duration_micros" => Unit::Microseconds,
        b"latency_ns" | b"elapsed_ns" => Unit::Nanoseconds,
        b"duration" | b"latency" | b"elapsed" | b"response_time" | b"took" | b"service"
        | b"time_taken" | b"request_duration" | b"dur" => return Some(Slot::LastedSomehow),
        _ => return None,
    }))
}

/// Names in a request object, and those that a flat log has for them.
fn of_request(key: &[u8]) -> Option<Slot> {
    Some(match key {
        b"request" | b"request_line" | b"requestLine" | b"message.request" => Slot::RequestLine,
        b"request_method" | b"method" | b"RequestMethod" | b"http_method" | b"verb"
        | b"requestMethod" | b"req_method" | b":method" => Slot::Method(0),
        b"request_uri" | b"requestUri" | b"originalUrl" | b"original_url" => Slot::Path(0),
        b"uri" | b"RequestPath" | b"target" | b"u" => Slot::Path(1),
        b"url" | b"requestUrl" | b"request_url" | b"requestURL" => Slot::Path(2),
        b"path"
        | b":path"
        | b"request_path"
        | b"requestPath"
        | b"x_envoy_original_path"
        | b"x-envoy-original-path" => Slot::Path(3),
        b"query" | b"query_string" | b"queryString" | b"args" | b"request_query"
        | b"request_args" | b"search" => Slot::Query(0),
        b"http_host" | b"authority" | b":authority" => Slot::Host(0),
        b"host" => Slot::Host(1),
        b"vhost" | b"virtual_host" | b"server_name" | b"domain" => Slot::Host(3),
        b"http_referer" | b"referer" | b"referrer" | b"http_referrer" | b"request_Referer" => {
            Slot::Referer
        }
        b"http_user_agent"
        | b"user_agent"
        | b"userAgent"
        | b"agent"
        | b"request_User-Agent"
        | b"User-Agent"
        | b"user-agent"
        | b"useragent"
        | b"ua" => Slot::Agent(0),
        b"http_x_forwarded_for"
        | b"x_forwarded_for"
        | b"x-forwarded-for"
        | b"xForwardedFor"
        | b"X-Forwarded-For"
        | b"request_X-Forwarded-For"
        | b"x_forward_for"
        | b"x-forward-for"
        | b"forwarded_for"
        | b"xff"
        | b"fwd" => Slot::Forwarded(0),
        b"true_client_ip" | b"true-client-ip" | b"real_ip" | b"realip" | b"x_real_ip"
        | b"http_x_real_ip" | b"cf_connecting_ip" => Slot::Forwarded(1),
        b"client_ip" | b"clientIp" | b"clientIP" | b"clientip" => Slot::Address(0),
        b"remote_addr" | b"remoteAddr" | b"remote_ip" | b"remoteIp" | b"remoteIP"
        | b"remote_address" | b"remoteAddress" | b"RemoteAddr" => Slot::Address(1),
        b"ClientAddr"
        | b"client_addr"
        | b"client_address"
        | b"clientAddress"
        | b"peer"
        | b"source_ip"
        | b"sourceIp"
        | b"src_ip"
        | b"downstream_remote_address"
        | b"c_ip" => Slot::Address(3),
        b"ip" | b"client" | b"remote_host" | b"remoteHost" | b"remote" | b"addr" => {
            Slot::Address(4)
        }
        // Google puts what belongs to the answer into `httpRequest` too.
        b"status" => Slot::Status(2),
        b"responseSize" => Slot::Bytes(1),
        b"latency" => Slot::LastedSomehow,
        b"cacheHit" => Slot::Sign,
        _ => return None,
    })
}

fn of_response(key: &[u8]) -> Option<Slot> {
    Some(match key {
        b"status" => Slot::Status(2),
        b"status_code" | b"statusCode" | b"response_code" | b"response_status"
        | b"responseCode" | b"responseStatus" => Slot::Status(3),
        b"code" | b"response" | b"http_status" | b"sc_status" => Slot::Status(4),
        b"body_bytes_sent" => Slot::Bytes(1),
        b"bytes_sent" | b"size" | b"bytes" | b"response_size" | b"resp_size"
        | b"content_length" | b"contentLength" | b"length" => Slot::Bytes(2),
        _ => return None,
    })
}

fn of_header(key: &[u8]) -> Option<Slot> {
    let is = |name: &str| key.eq_ignore_ascii_case(name.as_bytes());
    if is("user-agent") {
        Some(Slot::Agent(1))
    } else if is("x-forwarded-for") {
        Some(Slot::Forwarded(2))
    } else if is("host") || is(":authority") {
        Some(Slot::Host(2))
    } else if is("referer") {
        Some(Slot::Referer)
    } else {
        None
    }
}

fn of_client(key: &[u8]) -> Option<Slot> {
    match key {
        b"ip" | b"address" | b"addr" | b"host" => Some(Slot::Address(2)),
        _ => None,
    }
}

fn of_url(key: &[u8]) -> Option<Slot> {
    Some(match key {
        b"original" | b"full" => Slot::Path(0),
        b"path" | b"pathname" => Slot::Path(4),
        b"query" | b"search" => Slot::Query(1),
        b"domain" | b"hostname" => Slot::Host(2),
        _ => return None,
    })
}
