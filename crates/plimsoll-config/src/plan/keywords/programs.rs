//! Keys of external scripts.

use crate::document::Shape::{Count, Duration, OneOrMore, Text};
use crate::document::{KeywordTable, word};

/// An external script.
pub(crate) static PROCESS: KeywordTable = KeywordTable {
    name: "process",
    meaning: "An external script that drives virtual users by lines of JSON.",
    words: &[
        word!(
            "command",
            OneOrMore(&Text),
            "Executable and arguments, without a shell; started in the folder of the plan file."
        ),
        word!(
            "processes",
            Count(1, 64),
            "Worker processes per event loop. Default: 1."
        ),
        word!(
            "data",
            OneOrMore(&Text),
            "Names of the data sets whose rows its users receive."
        ),
        word!(
            "timeout",
            Duration,
            "Time-out of a reply of the script. Default: 10s."
        ),
    ],
};
