//! Words of what a request says and what is made of its answer.

use super::Shape::{
    Count, Duration, Either, Free, MapOf, Of, OneOf, OneOrMore, Switch, Template, Text,
};
use super::{KeywordTable, Shape};

pub(super) const MATCHED: Shape = Either(&[Template, Of(&MATCH)]);

/// A body from a file.
pub(crate) static BODY_FILE: KeywordTable = KeywordTable {
    name: "body_file",
    meaning: "A body from a file.",
    words: &[
        word!("file", Text, "The file, from the plan file's folder."),
        word!(
            "template",
            Switch,
            "Fill its holes `{{ … }}`; false by default."
        ),
        word!("type", Text, "Content-Type."),
    ],
};

/// One part of a multipart body.
pub(crate) static MULTIPART_PART: KeywordTable = KeywordTable {
    name: "part",
    meaning: "One part of a multipart body.",
    words: &[
        word!("file", Text, "The file that is its content."),
        word!("text", Template, "Its content."),
        word!("name", Text, "File name; the file's own by default."),
        word!("type", Text, "Content-Type of the part."),
    ],
};

/// A GraphQL request.
pub(crate) static GRAPHQL: KeywordTable = KeywordTable {
    name: "graphql",
    meaning: "A GraphQL request.",
    words: &[
        word!("query", Template, "The query."),
        word!("variables", MapOf(&Free), "Its variables."),
        word!("operation", Template, "Name of the operation."),
    ],
};

/// What makes an answer good.
pub(crate) static EXPECT: KeywordTable = KeywordTable {
    name: "expect",
    meaning: "What makes the first answer good.",
    words: &[
        word!(
            "status",
            Either(&[Shape::Status, OneOrMore(&Shape::Status)]),
            "`200`, `[200, 302]`, `2xx`."
        ),
        word!(
            "location",
            MATCHED,
            "The header Location; compared by path and query when a path is given."
        ),
        word!("contains", OneOrMore(&Template), "What the body contains."),
        word!(
            "lacks",
            OneOrMore(&Template),
            "What the body does not contain."
        ),
        word!(
            "regex",
            OneOrMore(&Text),
            "A regular expression that the body matches."
        ),
        word!(
            "json",
            MapOf(&MATCHED),
            "First values of JSON paths: `{ $.user.name: ada }`."
        ),
        word!("header", MapOf(&MATCHED), "Values of headers."),
        word!("within", Duration, "Response time at most."),
    ],
};

/// What a value must be.
pub(crate) static MATCH: KeywordTable = KeywordTable {
    name: "match",
    meaning: "What a value must be, where a bare value means that it equals.",
    words: &[
        word!("equals", Template, "Equals."),
        word!("contains", Template, "Contains."),
        word!("lacks", Template, "Does not contain."),
        word!("regex", Text, "Matches a regular expression."),
        word!("present", Switch, "Is there, or is not."),
    ],
};

/// A value kept of an answer.
pub(crate) static CAPTURE: KeywordTable = KeywordTable {
    name: "capture",
    meaning: "Where a value stands in an answer; one of regex, json, css, header, cookie.",
    words: &[
        word!(
            "regex",
            Text,
            "First group of a regular expression, or the whole match, in the body."
        ),
        word!("json", Text, "JSON path (RFC 9535) in the body."),
        word!("css", Text, "CSS selector in the body."),
        word!("header", Text, "A header."),
        word!(
            "cookie",
            Text,
            "A cookie that the user holds after the answer."
        ),
        word!(
            "attribute",
            Text,
            "With `css`: the attribute; the text without it."
        ),
        word!(
            "pick",
            Either(&[
                OneOf(&["first", "last", "random"]),
                Count(1, u32::MAX as u64)
            ]),
            "Which of several; `first` by default."
        ),
        word!("default", Template, "Kept when nothing is found."),
    ],
};
