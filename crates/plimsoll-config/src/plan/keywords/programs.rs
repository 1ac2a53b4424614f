//! Words of programs that stand beside the plan.

use super::KeywordTable;
use super::Shape::{Count, Duration, OneOrMore, Text};

/// A program that says what users do.
pub(crate) static PROCESS: KeywordTable = KeywordTable {
    name: "process",
    meaning: "A program that says what users do, by lines of JSON.",
    words: &[
        word!(
            "command",
            OneOrMore(&Text),
            "Executable and arguments, without a shell; started in the plan file's folder."
        ),
        word!(
            "processes",
            Count(1, 64),
            "How many of it each event loop starts; 1 by default."
        ),
        word!(
            "data",
            OneOrMore(&Text),
            "Names of the data whose rows its users are handed."
        ),
        word!(
            "timeout",
            Duration,
            "How long it may take to say what a user does; 10s by default."
        ),
    ],
};
