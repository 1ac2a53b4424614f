//! Keys of loads and abort conditions.

use super::OBJECTIVE;
use crate::document::Shape::{
    Count, Duration, Either, ListOf, MapOf, Number, Of, OneOf, Range, Rate, Switch, Text,
};
use crate::document::{KeywordTable, word};

/// The load.
pub(crate) static LOAD: KeywordTable = KeywordTable {
    name: "load",
    meaning: "The load; one of users, rate, sessions, connections, phases, replay, find.",
    words: &[
        word!(
            "users",
            Count(1, 10_000_000),
            "Concurrent users, each of which repeats its journey until the load ends."
        ),
        word!(
            "within",
            Duration,
            "Ramp-up time, over which users start one after another. Default: all at once."
        ),
        word!(
            "connect",
            Rate,
            "With `users`, instead of `within`: users started per second, `120/s`."
        ),
        word!(
            "hold",
            Duration,
            "How long the load lasts once all users have started."
        ),
        word!(
            "iterations",
            Count(1, u64::MAX),
            "Total iterations of all users, after which the load ends. `hold` then defaults to 1h."
        ),
        word!(
            "rate",
            Rate,
            "Arrival rate, `300/s`, or a ramp from one rate to another, `50/s..300/s`: of users where there are steps, else of requests."
        ),
        word!(
            "sessions",
            Rate,
            "Arrival rate of users that go through their journey once and leave."
        ),
        word!(
            "connections",
            Count(1, 1_000_000),
            "Without steps: connections, each of which sends its next request when the response is complete (closed loop)."
        ),
        word!(
            "think",
            Duration,
            "With `connections`: pause between a response and the next request."
        ),
        word!("for", Duration, "Duration of the load."),
        word!(
            "spacing",
            OneOf(&["poisson", "even"]),
            "Distribution of arrivals. Default: `poisson`."
        ),
        word!(
            "phases",
            ListOf(&Of(&PHASE)),
            "Phases of a load that changes over time."
        ),
        word!(
            "replay",
            Text,
            "File of recorded requests that are replayed in order, with their gaps: CSV with the columns `at` (seconds) and `path`."
        ),
        word!(
            "speed",
            Text,
            "With `replay`: speed relative to the recording, `3x`. Default: `1x`."
        ),
        word!(
            "window",
            OneOf(&["all", "busiest hour"]),
            "With `replay`: section of the file. Default: `all`."
        ),
        word!(
            "find",
            Of(&FIND),
            "Search for the highest load that meets the objective."
        ),
    ],
};

/// One phase of a load.
pub(crate) static PHASE: KeywordTable = KeywordTable {
    name: "phase",
    meaning: "One phase of a load; one of users, rate, sessions, spike.",
    words: &[
        word!(
            "users",
            Range,
            "Users: `100`, `0..100`, or `..100` from the end of the previous phase."
        ),
        word!("rate", Rate, "Arrival rate: `100/s`, `0/s..100/s`."),
        word!("sessions", Rate, "As `rate`."),
        word!(
            "spike",
            Either(&[Range, Rate]),
            "Step change to this number of users, or to this rate (`500/s`)."
        ),
        word!("for", Duration, "Duration of the phase."),
        word!(
            "mix",
            MapOf(&Number),
            "Weights of the journeys in this phase; journeys not listed get no users."
        ),
    ],
};

/// Load search.
pub(crate) static FIND: KeywordTable = KeywordTable {
    name: "find",
    meaning: "Load search; one of users, sessions, rate.",
    words: &[
        word!(
            "users",
            Range,
            "Searches the highest number of users; in a range such as `100..20000`, or `true` for any."
        ),
        word!(
            "sessions",
            Rate,
            "Searches the highest arrival rate of users; in a range such as `1/s..300/s`, or `true` for any."
        ),
        word!(
            "rate",
            Rate,
            "Without steps: searches the highest request rate."
        ),
        word!(
            "objective",
            OBJECTIVE,
            "Objective that the load must meet. Default: the objective of the plan."
        ),
        word!(
            "quick",
            Switch,
            "At most 4 minutes, with a wider confidence interval."
        ),
        word!(
            "thorough",
            Switch,
            "Longer trials, a narrower confidence interval, and a soak."
        ),
    ],
};

/// Abort condition.
pub(crate) static ABORT: KeywordTable = KeywordTable {
    name: "abort",
    meaning: "Condition that ends a run early.",
    words: &[
        word!("when", Text, "The condition: `errors > 50%`, `p95 > 5s`."),
        word!(
            "over",
            Duration,
            "How long the condition must hold. Default: 10s."
        ),
    ],
};
