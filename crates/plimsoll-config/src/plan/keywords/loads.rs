//! Words of how much load, and of when it ends early.

use super::Shape::{
    Count, Duration, Either, ListOf, MapOf, Number, Of, OneOf, Range, Rate, Switch, Text,
};
use super::{KeywordTable, OBJECTIVE};

/// How much load.
pub(crate) static LOAD: KeywordTable = KeywordTable {
    name: "load",
    meaning: "How much load; one of users, rate, sessions, connections, phases, replay, find.",
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
        word!(
            "connect",
            Rate,
            "With `users`, in place of `within`: how many come per second, `120/s`."
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
            "replay",
            Text,
            "A file of requests that are sent again in their order, with their gaps: CSV with the columns `at` (seconds) and `path`."
        ),
        word!(
            "speed",
            Text,
            "With `replay`: how many times faster than they were, `3x`; `1x` by default."
        ),
        word!(
            "window",
            OneOf(&["all", "busiest hour"]),
            "With `replay`: which part of the file; `all` by default."
        ),
        word!(
            "find",
            Of(&FIND),
            "Search the highest load that meets the objective."
        ),
    ],
};

/// One stretch of a load.
pub(crate) static PHASE: KeywordTable = KeywordTable {
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
            "Weights of the journeys in this phase; journeys that are not named get none."
        ),
    ],
};

/// What is searched.
pub(crate) static FIND: KeywordTable = KeywordTable {
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
pub(crate) static ABORT: KeywordTable = KeywordTable {
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
