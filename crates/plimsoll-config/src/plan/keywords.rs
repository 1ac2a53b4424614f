//! Every word of a plan file, in tables: the reader, the JSON Schema and the reference page are made from them.

/// A literal, so that what it borrows lives as long as the table.
macro_rules! word {
    ($name:literal, $shape:expr, $meaning:expr $(,)?) => {
        $crate::plan::keywords::Word {
            name: $name,
            shape: $shape,
            meaning: $meaning,
        }
    };
}

pub(crate) use word;

use plimsoll_model::plan::STREAMS_MAX;

mod loads;
mod programs;
mod requests;
mod sockets;
mod steps;

pub(crate) use loads::{ABORT, FIND, LOAD, PHASE};
pub(crate) use programs::PROCESS;
pub(crate) use requests::{BODY_FILE, CAPTURE, EXPECT, GRAPHQL, MATCH, MULTIPART_PART};
pub(crate) use sockets::{AWAIT, BEAT, MESSAGE, RECONNECT, SUBSCRIBE};
pub(crate) use steps::{CHOICE, METHODS, RESOURCE, STEP, THINK};

use Shape::{
    Count, Duration, Either, Free, ListOf, MapOf, Number, Objective, Of, OneOf, OneOrMore, Size,
    Status, Steps, Switch, Template, Text,
};

/// The words of one kind of map.
#[derive(Debug)]
pub(crate) struct KeywordTable {
    /// Name in the schema and the reference.
    pub(crate) name: &'static str,
    /// What such a map is.
    pub(crate) meaning: &'static str,
    pub(crate) words: &'static [Word],
}

/// One word and what may stand behind it.
#[derive(Debug)]
pub(crate) struct Word {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) meaning: &'static str,
}

/// What may stand behind a word.
#[derive(Debug)]
pub(crate) enum Shape {
    /// One value as it stands.
    Text,
    /// A text with holes `{{ … }}`.
    Template,
    /// `800ms`.
    Duration,
    /// `300/s`.
    Rate,
    /// A number, or a way from one to another: `100`, `0..100`.
    Range,
    /// `64MiB`.
    Size,
    /// Statuses: `2xx,404`.
    Status,
    /// `p95 < 800ms`.
    Objective,
    /// A whole number between two.
    Count(u64, u64),
    /// A number, not negative.
    Number,
    /// `true` or `false`.
    Switch,
    /// One of some words.
    OneOf(&'static [&'static str]),
    /// A map of this table.
    Of(&'static KeywordTable),
    /// A list of steps.
    Steps,
    /// A list.
    ListOf(&'static Shape),
    /// One, or a list.
    OneOrMore(&'static Shape),
    /// A map from names of the user's choice.
    MapOf(&'static Shape),
    /// Any of these.
    Either(&'static [Shape]),
    /// Any value.
    Free,
}

impl KeywordTable {
    /// Its words.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.words.iter().map(|word| word.name).collect()
    }
}

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
            "Where requests go: `https://host:port`; a path behind it stands before the path of every step. `--target` overrides it."
        ),
        word!(
            "name",
            Text,
            "Short name for files and headings; without it the name of the file."
        ),
        word!(
            "objective",
            OBJECTIVE,
            "What counts as good, for all steps outside `once`: `p95 < 800ms`, `errors < 1%`; of what WebSockets hear: `broadcast p99 < 500ms`, `reach > 99.99%`."
        ),
        word!(
            "thresholds",
            THRESHOLDS,
            "Objectives of everything, as a text or a list; or of parts: `everything`, `journey NAME`, `step LABEL`, `group NAME`; also in k6's wording: `p(95)<800`, `med<200`, `avg<300`, `min<50`, `max<2000` (ms), `rate<0.01`. An average is one of good answers. Broadcasts and reach are bounded under `everything`."
        ),
        word!("abort", ListOf(&Of(&ABORT)), "When the run ends early."),
        word!(
            "good",
            Status,
            "Statuses that count as good where a step expects none itself; 2xx,3xx by default."
        ),
        word!("headers", HEADERS, "Headers of every request."),
        word!("journeys", MapOf(&Of(&JOURNEY)), "Kinds of users, by name."),
        word!(
            "once",
            Steps,
            "For a plan of one journey: what a user does first."
        ),
        word!(
            "steps",
            Steps,
            "For a plan of one journey: what a user does again and again."
        ),
        word!(
            "iterations",
            Count(1, u32::MAX as u64),
            "For a plan of one journey: iterations of each user."
        ),
        word!(
            "cookies",
            Switch,
            "For a plan of one journey: keep cookies per user; true by default."
        ),
        word!(
            "cache",
            Switch,
            "For a plan of one journey: keep a cache per user as a browser does; false by default."
        ),
        word!(
            "connections",
            Count(1, 6),
            "For a plan of one journey: connections per user."
        ),
        word!(
            "process",
            PROCESS_SHAPE,
            "For a plan of one journey: the program that says what users do, and its arguments."
        ),
        word!(
            "data",
            MapOf(&Of(&DATA)),
            "Rows that users take, by name; `{{ NAME.COLUMN }}` in a text stands for a value of the row."
        ),
        word!(
            "load",
            Either(&[Of(&LOAD), ListOf(&Of(&PHASE))]),
            "How much load: one of users, rate, sessions, connections, phases, replay, find."
        ),
        word!(
            "transport",
            Of(&TRANSPORT),
            "How connections are made and kept."
        ),
        word!(
            "warmup",
            Duration,
            "Leading time that is recorded and not judged."
        ),
        word!(
            "seed",
            Count(0, u64::MAX),
            "Seed of all randomness; drawn and printed without it."
        ),
        word!(
            "cores",
            Count(1, 256),
            "Event loops of the generator; 1 by default."
        ),
        word!(
            "tick",
            Duration,
            "Send what is due within this time in one go: cheaper, up to this much late."
        ),
        word!(
            "classes",
            ListOf(&Duration),
            "Bounds of the answer classes in the report: fast below the first, slow above the second; [800ms, 1200ms] by default."
        ),
        word!(
            "watch",
            Either(&[OneOf(&["auto", "none"]), MapOf(&Free)]),
            "What else is looked at: `host: local`, `process: [nginx, node]` (names), `pid: 4711`, `edge: 127.0.0.1:9191` (the admin address of an edge), and parts of the service where they tell of themselves: `nginx: http://127.0.0.1:8080/nginx_status`, `haproxy: unix:/run/haproxy/admin.sock`, `redis: 127.0.0.1:6379` (or `valkey`; with a login `{ at: …, user: …, password: … }`), `memcached: 127.0.0.1:11211`, `postgres: postgres://eye:…@127.0.0.1:5432` (a role in `pg_monitor`), `mariadb: mysql://eye:…@127.0.0.1:3306` (or `mysql`; an account with `PROCESS`); each also by its socket, `unix:PATH`; `php-fpm: unix:/run/php/php-fpm.sock:/status`; `puma: 127.0.0.1:9293` (its control server; the token as `password`); `node: unix:/tmp/plimsoll-node-4711.sock` (after `plimsoll watch --node-module`); `nginx-log: /var/log/nginx/error.log`, `haproxy-log: /var/log/haproxy.log`, `nginx-access-log: /var/log/nginx/access.log` (with `$request_time` and `$upstream_header_time` in its `log_format`), `php-fpm-slowlog: /var/log/php-fpm.slow.log` (by their tail). `apache: http://127.0.0.1/server-status`; `pgbouncer: pgbouncer://eye:…@127.0.0.1:6432` (one of its `stats_users`); `gunicorn: 127.0.0.1:8000` (where it listens on this machine); `uwsgi: 127.0.0.1:1717` (its stats server); `jvm: /tmp/hsperfdata_shop/4711` (the file of its counters) or `jvm: http://127.0.0.1:8778/jolokia`; `go: http://127.0.0.1:8080/debug/vars` (or `/metrics`, or `/debug/pprof/goroutine?debug=1`); `varnish: varnishstat -j -t 0` (a command, without a shell); `python: 4711` (the number of a process whose stacks `py-spy` reads where it is installed, or a command that prints them); `mongodb: mongodb://eye:…@127.0.0.1:27017` (a user with `clusterMonitor`); `prometheus: { url: http://127.0.0.1:9100/metrics, series: [node_load1, 'http_requests_total{code=\"500\"}', 'go_gc_*'] }` (or `openmetrics`; series by name, beginning and labels; pools of connections and .NET's threads are known by their names and taken without being chosen); `otlp: 127.0.0.1:4318` (where spans of services that are traced are received). `auto` (also `auto: true` beside names) looks for these on this machine. Other programs (`envoy`, …) may stand here; they are not looked at yet, and that is said."
        ),
    ],
};

/// One kind of user.
pub(crate) static JOURNEY: KeywordTable = KeywordTable {
    name: "journey",
    meaning: "One kind of user.",
    words: &[
        word!(
            "weight",
            Number,
            "Share of the users beside the other journeys' weights; 1 by default."
        ),
        word!(
            "once",
            Steps,
            "What a user does first, once, with statistics of its own. A user whose `once` fails leaves."
        ),
        word!("steps", Steps, "What a user does again and again."),
        word!(
            "iterations",
            Count(1, u32::MAX as u64),
            "Iterations of each user; until the load ends without it."
        ),
        word!("cookies", Switch, "Keep cookies per user; true by default."),
        word!(
            "cache",
            Switch,
            "Keep a cache per user as a browser does; false by default."
        ),
        word!(
            "headers",
            HEADERS,
            "Headers of every request of this journey."
        ),
        word!(
            "connections",
            Count(1, 6),
            "Connections per user and origin; 6 for journeys with pages, else 1."
        ),
        word!(
            "process",
            PROCESS_SHAPE,
            "The program that says what its users do, instead of steps: executable and arguments, or more of it."
        ),
    ],
};

/// Rows that users take.
pub(crate) static DATA: KeywordTable = KeywordTable {
    name: "data",
    meaning: "Rows that users take; one of csv, json, rows.",
    words: &[
        word!(
            "csv",
            Text,
            "A CSV file whose first line names the columns."
        ),
        word!(
            "json",
            Text,
            "A JSON file with a list of objects, or one object a line."
        ),
        word!(
            "rows",
            ListOf(&Free),
            "The rows themselves: maps; single values have the column `value`."
        ),
        word!(
            "pick",
            OneOf(&["in order", "random", "unique"]),
            "Which row comes next; `in order` by default. `unique` gives no row twice."
        ),
        word!(
            "at_end",
            OneOf(&["stop", "recycle", "error"]),
            "For unique rows, at their end: the user leaves (default), rows are given out again, or the run ends."
        ),
        word!(
            "each",
            OneOf(&["user", "iteration"]),
            "Who takes a row: a user for good (default), or each iteration a new one."
        ),
        word!(
            "delimiter",
            Text,
            "What stands between the columns of a CSV file; a comma by default."
        ),
    ],
};

/// How connections are made and kept.
pub(crate) static TRANSPORT: KeywordTable = KeywordTable {
    name: "transport",
    meaning: "How connections are made and kept.",
    words: &[
        word!(
            "timeout",
            Duration,
            "A request not answered this long after it was due has failed; 30s by default."
        ),
        word!(
            "connect_timeout",
            Duration,
            "A connection not made in this time has failed; the time-out by default."
        ),
        word!(
            "max_connections",
            Count(1, 1_000_000),
            "Connections open at most; 10,000 by default, a million where users hold WebSockets."
        ),
        word!(
            "requests_per_connection",
            Count(0, u32::MAX as u64),
            "Requests on one connection before it is closed; 0 for no bound."
        ),
        word!(
            "insecure",
            Switch,
            "Accept any certificate; the report says so."
        ),
        word!(
            "ca_file",
            Text,
            "Certificates to trust instead of the system's, a PEM file."
        ),
        word!(
            "http",
            Either(&[Count(1, 2), OneOf(&["prior-knowledge"])]),
            "Version of HTTP: 1 (default); 2 over TLS where the target chooses it, else 1.1; `prior-knowledge` as 2, and to `http://` targets without asking."
        ),
        word!(
            "streams",
            Count(1, STREAMS_MAX as u64),
            "Requests under way on one connection of HTTP/2 at once, at most, within what the target allows; 100 with steps, 1 without."
        ),
        word!(
            "sources",
            OneOrMore(&Text),
            "Local addresses to connect from, used in turn."
        ),
        word!("max_body", Size, "Longest body accepted; 1GiB by default."),
    ],
};

/// Every table, in the order of the reference.
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
