//! The functions of templates in a plan.

use plimsoll_model::journey::Function;

/// A function of templates.
pub(crate) struct FunctionWord {
    pub(crate) name: &'static str,
    pub(crate) does: Does,
    /// Minimum and maximum number of arguments.
    pub(crate) arguments: (usize, usize),
    pub(crate) example: &'static str,
    pub(crate) meaning: &'static str,
}

/// When and how a function is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    /// For each user, at run time.
    Compute(Function),
    /// Environment variable, when the plan is read.
    Environment,
    /// Content of a file, when the plan is read.
    File,
}

const fn word(
    name: &'static str,
    does: Does,
    arguments: (usize, usize),
    example: &'static str,
    meaning: &'static str,
) -> FunctionWord {
    FunctionWord {
        name,
        does,
        arguments,
        example,
        meaning,
    }
}

/// Maximum arguments of `pick`.
const PICK_MAX: usize = 1000;

/// Every function.
pub(crate) static FUNCTIONS: [FunctionWord; 13] = [
    word(
        "env",
        Does::Environment,
        (1, 2),
        "env('API_KEY')",
        "Environment variable; the second argument is its default. The value is never stored with the run.",
    ),
    word(
        "file",
        Does::File,
        (1, 1),
        "file('answer.c')",
        "Content of a file, relative to the folder of the plan file.",
    ),
    word(
        "random_int",
        Does::Compute(Function::RandomInt),
        (2, 2),
        "random_int(1, 100)",
        "Random integer between two bounds, both included, from the seed.",
    ),
    word(
        "random_string",
        Does::Compute(Function::RandomString),
        (1, 1),
        "random_string(8)",
        "Random letters and digits of this length, from the seed.",
    ),
    word(
        "uuid",
        Does::Compute(Function::Uuid),
        (0, 0),
        "uuid()",
        "Random UUID (version 4), from the seed.",
    ),
    word(
        "pick",
        Does::Compute(Function::Pick),
        (1, PICK_MAX),
        "pick('red', 'green')",
        "One of the arguments at random, from the seed.",
    ),
    word(
        "now",
        Does::Compute(Function::Now),
        (0, 0),
        "now()",
        "Unix time in seconds.",
    ),
    word(
        "now_ms",
        Does::Compute(Function::NowMs),
        (0, 0),
        "now_ms()",
        "Unix time in milliseconds.",
    ),
    word(
        "urlencode",
        Does::Compute(Function::Urlencode),
        (1, 1),
        "urlencode(title)",
        "Percent-encoded for a path segment or query value.",
    ),
    word(
        "unescape",
        Does::Compute(Function::Unescape),
        (1, 1),
        "unescape(link)",
        "HTML entities decoded.",
    ),
    word(
        "base64",
        Does::Compute(Function::Base64),
        (1, 1),
        "base64(name)",
        "Base64.",
    ),
    word(
        "sha256",
        Does::Compute(Function::Sha256),
        (1, 1),
        "sha256(name)",
        "SHA-256 in hexadecimal.",
    ),
    word(
        "json",
        Does::Compute(Function::Json),
        (1, 1),
        "json(name)",
        "Escaped as a JSON string, without quotes.",
    ),
];

/// Names of all functions.
pub(crate) fn function_names() -> Vec<&'static str> {
    FUNCTIONS.iter().map(|function| function.name).collect()
}
