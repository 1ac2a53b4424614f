//! All keys of a plan file, in tables from which the reader, the JSON Schema and the reference page are generated.

mod loads;
mod programs;
mod requests;
mod sockets;
mod steps;

use plimsoll_model::plan::STREAMS_MAX;

use super::watch;
use crate::document::Shape::{
    Count, Duration, Either, Free, ListOf, MapOf, Number, Objective, Of, OneOf, OneOrMore, Size,
    Status, Steps, Switch, Template, Text,
};
use crate::document::{KeywordTable, Shape, word};
pub(crate) use loads::{ABORT, FIND, LOAD, PHASE};
pub(crate) use programs::PROCESS;
pub(crate) use requests::{BODY_FILE, CAPTURE, EXPECT, GRAPHQL, MATCH, MULTIPART_PART};
pub(crate) use sockets::{AWAIT, BEAT, MESSAGE, RECONNECT, SUBSCRIBE};
pub(crate) use steps::{CHOICE, METHODS, RESOURCE, STEP, THINK};

const HEADERS: Shape = MapOf(&Template);
const OBJECTIVE: Shape = OneOrMore(&Objective);
const THRESHOLDS: Shape = Either(&[OBJECTIVE, MapOf(&OBJECTIVE)]);
const PROCESS_SHAPE: Shape = Either(&[OneOrMore(&Text), Of(&PROCESS)]);

/// The whole file.
pub(crate) static PLAN: KeywordTable = KeywordTable {
    name: "plan",
    meaning: "A plan file.",
    words: &[
        word!(
            "target",
            Text,
            "URL of the target: `https://host:port`. A path in it is the prefix of the path of every step. `--target` overrides it."
        ),
        word!(
            "name",
            Text,
            "Short name for files and headings. Default: the file name."
        ),
        word!(
            "objective",
            OBJECTIVE,
            "Service-level objective for all steps outside `once`: `p95 < 800ms`, `errors < 1%`; for messages that WebSockets receive: `broadcast p99 < 500ms`, `reach > 99.99%`."
        ),
        word!(
            "thresholds",
            THRESHOLDS,
            "Objectives of the whole run, as a text or a list; or by scope: `everything`, `journey NAME`, `step LABEL`, `group NAME`. The notation of k6 is accepted: `p(95)<800`, `med<200`, `avg<300`, `min<50`, `max<2000` (ms), `rate<0.01`. An average covers successful responses only. Broadcasts and reach are only valid under `everything`."
        ),
        word!(
            "abort",
            ListOf(&Of(&ABORT)),
            "Conditions that end the run early."
        ),
        word!(
            "good",
            Status,
            "Status codes that count as success where a step has no `expect`. Default: 2xx,3xx."
        ),
        word!("headers", HEADERS, "Headers of every request."),
        word!(
            "journeys",
            MapOf(&Of(&JOURNEY)),
            "Journeys (kinds of virtual users), by name."
        ),
        word!(
            "once",
            Steps,
            "For a plan with one journey: steps that a user takes once, at the start."
        ),
        word!(
            "steps",
            Steps,
            "For a plan with one journey: steps that a user repeats."
        ),
        word!(
            "iterations",
            Count(1, u32::MAX as u64),
            "For a plan with one journey: iterations per user."
        ),
        word!(
            "cookies",
            Switch,
            "For a plan with one journey: whether each user keeps cookies. Default: true."
        ),
        word!(
            "cache",
            Switch,
            "For a plan with one journey: whether each user has a cache like a browser. Default: false."
        ),
        word!(
            "connections",
            Count(1, 6),
            "For a plan with one journey: connections per user."
        ),
        word!(
            "process",
            PROCESS_SHAPE,
            "For a plan with one journey: external script that drives the users, with its arguments."
        ),
        word!(
            "data",
            MapOf(&Of(&DATA)),
            "Data sets whose rows users take, by name. In a text, `{{ NAME.COLUMN }}` is replaced by a value of the row."
        ),
        word!(
            "load",
            Either(&[Of(&LOAD), ListOf(&Of(&PHASE))]),
            "The load; one of users, rate, sessions, connections, phases, replay, find."
        ),
        word!("transport", Of(&TRANSPORT), "Settings of connections."),
        word!(
            "warmup",
            Duration,
            "Warm-up time, which is recorded but excluded from the verdict."
        ),
        word!(
            "seed",
            Count(0, u64::MAX),
            "Seed of the random numbers. Default: a random seed, which is printed."
        ),
        word!(
            "cores",
            Count(1, 256),
            "Event loops of the load generator. Default: 1."
        ),
        word!(
            "tick",
            Duration,
            "Batch interval: requests due within it are sent together. This saves CPU time, but delays a request by up to this time."
        ),
        word!(
            "classes",
            ListOf(&Duration),
            "Bounds of the response-time classes in the report: fast below the first, slow above the second. Default: [800ms, 1200ms]."
        ),
        word!(
            "watch",
            Either(&[OneOf(&["auto", "none"]), MapOf(&Free)]),
            watch::MEANING
        ),
    ],
};

/// A journey.
pub(crate) static JOURNEY: KeywordTable = KeywordTable {
    name: "journey",
    meaning: "One journey: a kind of virtual user.",
    words: &[
        word!(
            "weight",
            Number,
            "Share of the users, relative to the weights of the other journeys. Default: 1."
        ),
        word!(
            "once",
            Steps,
            "Steps that a user takes once, at the start, with separate statistics. A user whose `once` fails leaves."
        ),
        word!("steps", Steps, "Steps that a user repeats."),
        word!(
            "iterations",
            Count(1, u32::MAX as u64),
            "Iterations per user. Default: until the load ends."
        ),
        word!(
            "cookies",
            Switch,
            "Whether each user keeps cookies. Default: true."
        ),
        word!(
            "cache",
            Switch,
            "Whether each user has a cache like a browser. Default: false."
        ),
        word!(
            "headers",
            HEADERS,
            "Headers of every request of this journey."
        ),
        word!(
            "connections",
            Count(1, 6),
            "Connections per user and origin. Default: 6 for journeys with pages, else 1."
        ),
        word!(
            "process",
            PROCESS_SHAPE,
            "External script that drives the users instead of steps: executable and arguments, or a map with options."
        ),
    ],
};

/// A data set.
pub(crate) static DATA: KeywordTable = KeywordTable {
    name: "data",
    meaning: "Data set whose rows users take; one of csv, json, rows.",
    words: &[
        word!(
            "csv",
            Text,
            "CSV file; its first line has the names of the columns."
        ),
        word!(
            "json",
            Text,
            "JSON file with a list of objects, or one object per line."
        ),
        word!(
            "rows",
            ListOf(&Free),
            "Inline rows: maps; scalars form the column `value`."
        ),
        word!(
            "pick",
            OneOf(&["in order", "random", "unique"]),
            "Order in which rows are taken. `unique` never takes a row twice. Default: `in order`."
        ),
        word!(
            "at_end",
            OneOf(&["stop", "recycle", "error"]),
            "For `pick: unique`, when the rows run out: the user leaves, rows are reused, or the run ends. Default: the user leaves."
        ),
        word!(
            "each",
            OneOf(&["user", "iteration"]),
            "Whether a user keeps one row, or takes a new one for each iteration. Default: the user keeps it."
        ),
        word!(
            "delimiter",
            Text,
            "Column separator of a CSV file. Default: a comma."
        ),
    ],
};

/// Settings of connections.
pub(crate) static TRANSPORT: KeywordTable = KeywordTable {
    name: "transport",
    meaning: "Settings of connections.",
    words: &[
        word!(
            "timeout",
            Duration,
            "Time-out of a request, counted from its due time. Default: 30s."
        ),
        word!(
            "connect_timeout",
            Duration,
            "Connect time-out. Default: the request time-out."
        ),
        word!(
            "max_connections",
            Count(1, 1_000_000),
            "Maximum open connections. Default: 10,000; a million where users hold WebSockets."
        ),
        word!(
            "requests_per_connection",
            Count(0, u32::MAX as u64),
            "Requests per connection before it is closed; 0 is unlimited."
        ),
        word!(
            "insecure",
            Switch,
            "Whether invalid certificates are accepted; the report notes it."
        ),
        word!(
            "ca_file",
            Text,
            "PEM file of the trusted CA certificates. Default: those of the system."
        ),
        word!(
            "http",
            Either(&[Count(1, 2), OneOf(&["prior-knowledge"])]),
            "HTTP version: 1; 2 (over TLS if the target negotiates it, else 1.1); or `prior-knowledge` (2, and for `http://` targets without negotiation). Default: 1."
        ),
        word!(
            "streams",
            Count(1, STREAMS_MAX as u64),
            "Maximum concurrent requests per HTTP/2 connection, within the limit of the target. Default: 100 with steps, 1 without."
        ),
        word!(
            "sources",
            OneOrMore(&Text),
            "Local addresses to connect from, in round-robin order."
        ),
        word!(
            "max_body",
            Size,
            "Maximum size of a response body. Default: 1GiB."
        ),
    ],
};

/// All tables, in the order of the reference.
pub(crate) static TABLES: [&KeywordTable; 24] = [
    &PLAN,
    &JOURNEY,
    &PROCESS,
    &STEP,
    &THINK,
    &CHOICE,
    &RESOURCE,
    &EXPECT,
    &MATCH,
    &CAPTURE,
    &BODY_FILE,
    &MULTIPART_PART,
    &GRAPHQL,
    &MESSAGE,
    &AWAIT,
    &SUBSCRIBE,
    &RECONNECT,
    &BEAT,
    &DATA,
    &LOAD,
    &PHASE,
    &FIND,
    &ABORT,
    &TRANSPORT,
];
