//! Every word of a plan file, in tables: the reader, the JSON Schema and the reference page are made from them.

/// A literal, so that what it borrows lives as long as the table.
macro_rules! word {
    ($name:literal, $shape:expr, $meaning:expr $(,)?) => {
        $crate::plan::words::Word {
            name: $name,
            shape: $shape,
            meaning: $meaning,
        }
    };
}

pub(crate) use word;

mod requests;
mod steps;

pub(crate) use requests::{BODY_FILE, CAPTURE, EXPECT, GRAPHQL, MATCH, PART};
pub(crate) use steps::{CHOICE, METHODS, RESOURCE, STEP, THINK};

use Shape::{
    Count, Duration, Either, Free, ListOf, MapOf, Number, Objective, Of, OneOf, OneOrMore, Range,
    Rate, Size, Status, Steps, Switch, Template, Text,
};

/// The words of one kind of map.
#[derive(Debug)]
pub(crate) struct Table {
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
    Of(&'static Table),
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

impl Table {
    /// Its words.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.words.iter().map(|word| word.name).collect()
    }
}

const HEADERS: Shape = MapOf(&Template);
const OBJECTIVE: Shape = OneOrMore(&Objective);

/// The whole file.
pub(crate) static PLAN: Table = Table {
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
            "What counts as good, for all steps outside `once`: `p95 < 800ms`, `errors < 1%`."
        ),
        word!(
            "thresholds",
            MapOf(&OBJECTIVE),
            "Objectives of parts: `everything`, `journey NAME`, `step LABEL`, `group NAME`; also in k6's wording: `p(95)<800`, `med<200`, `max<2000` (ms), `rate<0.01`."
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
            OneOrMore(&Text),
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
            "How much load: one of users, rate, sessions, connections, phases, find."
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
            MapOf(&Free),
            "What else is looked at: names of programs and where they tell of themselves."
        ),
    ],
};

/// One kind of user.
pub(crate) static JOURNEY: Table = Table {
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
            OneOrMore(&Text),
            "The program that says what its users do, instead of steps: executable and arguments."
        ),
    ],
};

/// Rows that users take.
pub(crate) static DATA: Table = Table {
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

/// How much load.
pub(crate) static LOAD: Table = Table {
    name: "load",
    meaning: "How much load; one of users, rate, sessions, connections, phases, find.",
    words: &[
        word!(
            "users",
            Count(1, 10_000_000),
            "Users that are there at once, each of whom goes on until the load ends."
        ),
        word!(
            "within",
            Duration,
            "Time in which the users come, one after another; all at once without it."
        ),
        word!("hold", Duration, "How long all users stay."),
        word!(
            "iterations",
            Count(1, u64::MAX),
            "Iterations of all users together, after which the load ends; with it `hold` is 1h unless said."
        ),
        word!(
            "rate",
            Rate,
            "Arrivals per second, `300/s`, or a way from one rate to another, `50/s..300/s`: of users where there are steps, else of requests."
        ),
        word!(
            "sessions",
            Rate,
            "Users that come per second, go through their journey and leave."
        ),
        word!(
            "connections",
            Count(1, 1_000_000),
            "Without steps: connections, each of which asks again when it has its answer."
        ),
        word!(
            "think",
            Duration,
            "With `connections`: the pause between an answer and the next request."
        ),
        word!("for", Duration, "How long."),
        word!(
            "spacing",
            OneOf(&["poisson", "even"]),
            "How arrivals are spread; `poisson` by default."
        ),
        word!(
            "phases",
            ListOf(&Of(&PHASE)),
            "Load that changes over time."
        ),
        word!(
            "find",
            Of(&FIND),
            "Search the highest load that meets the objective."
        ),
    ],
};

/// One stretch of a load.
pub(crate) static PHASE: Table = Table {
    name: "phase",
    meaning: "One stretch of a load; one of users, rate, sessions, spike.",
    words: &[
        word!(
            "users",
            Range,
            "Users: `100`, `0..100`, or `..100` from where the phase before ended."
        ),
        word!("rate", Rate, "Arrivals per second: `100/s`, `0/s..100/s`."),
        word!("sessions", Rate, "As `rate`."),
        word!(
            "spike",
            Either(&[Range, Rate]),
            "At once to this many users, or to this rate (`500/s`)."
        ),
        word!("for", Duration, "How long."),
        word!(
            "mix",
            MapOf(&Number),
            "Weights of the journeys in this phase; journeys that are not named get none. For users only."
        ),
    ],
};

/// What is searched.
pub(crate) static FIND: Table = Table {
    name: "find",
    meaning: "What is searched; one of users, sessions, rate.",
    words: &[
        word!(
            "users",
            Range,
            "The highest number of users, within `100..20000` if given; `true` leaves the range open."
        ),
        word!(
            "sessions",
            Rate,
            "The highest rate of users, within `1/s..300/s` if given; `true` leaves the range open."
        ),
        word!("rate", Rate, "Without steps: the highest rate of requests."),
        word!(
            "objective",
            OBJECTIVE,
            "What counts as good; the plan's objective without it."
        ),
        word!("quick", Switch, "At most 4 minutes, with a wider interval."),
        word!(
            "thorough",
            Switch,
            "Longer trials, a narrow interval, a soak."
        ),
    ],
};

/// When a run ends early.
pub(crate) static ABORT: Table = Table {
    name: "abort",
    meaning: "When a run ends early.",
    words: &[
        word!(
            "when",
            Text,
            "What must not be: `errors > 50%`, `p95 > 5s`."
        ),
        word!(
            "over",
            Duration,
            "Over how long it must be so; 10s by default."
        ),
    ],
};

/// How connections are made and kept.
pub(crate) static TRANSPORT: Table = Table {
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
            "Connections open at most; 10,000 by default."
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
            Count(1, 2),
            "Version of HTTP: 1 (default), or 2 where the target offers it."
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
pub(crate) static TABLES: [&Table; 18] = [
    &PLAN, &JOURNEY, &STEP, &THINK, &CHOICE, &RESOURCE, &EXPECT, &MATCH, &CAPTURE, &BODY_FILE,
    &PART, &GRAPHQL, &DATA, &LOAD, &PHASE, &FIND, &ABORT, &TRANSPORT,
];
