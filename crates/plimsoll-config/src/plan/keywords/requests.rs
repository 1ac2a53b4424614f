//! Keys of requests, expectations and captures.

use crate::document::Shape::{
    Count, Duration, Either, Free, MapOf, Of, OneOf, OneOrMore, Switch, Template, Text,
};
use crate::document::{KeywordTable, Shape, word};

pub(super) const MATCHED: Shape = Either(&[Template, Of(&MATCH)]);

/// A body from a file.
pub(crate) static BODY_FILE: KeywordTable = KeywordTable {
    name: "body_file",
    meaning: "A body from a file.",
    words: &[
        word!(
            "file",
            Text,
            "File, relative to the folder of the plan file."
        ),
        word!(
            "template",
            Switch,
            "Whether placeholders `{{ … }}` in the file are replaced. Default: false."
        ),
        word!("type", Text, "Content-Type."),
    ],
};

/// One part of a multipart body.
pub(crate) static MULTIPART_PART: KeywordTable = KeywordTable {
    name: "part",
    meaning: "One part of a multipart body.",
    words: &[
        word!("file", Text, "File with the content."),
        word!("text", Template, "The content."),
        word!("name", Text, "File name. Default: that of the file."),
        word!("type", Text, "Content-Type of the part."),
    ],
};

/// A GraphQL request.
pub(crate) static GRAPHQL: KeywordTable = KeywordTable {
    name: "graphql",
    meaning: "A GraphQL request.",
    words: &[
        word!("query", Template, "The query."),
        word!("variables", MapOf(&Free), "Variables of the query."),
        word!("operation", Template, "Name of the operation."),
    ],
};

/// Expectations on a response.
pub(crate) static EXPECT: KeywordTable = KeywordTable {
    name: "expect",
    meaning: "Conditions that the first response must meet.",
    words: &[
        word!(
            "status",
            Either(&[Shape::Status, OneOrMore(&Shape::Status)]),
            "`200`, `[200, 302]`, `2xx`."
        ),
        word!(
            "location",
            MATCHED,
            "The header Location; only path and query are compared when a path is given."
        ),
        word!(
            "contains",
            OneOrMore(&Template),
            "Text that the body must contain."
        ),
        word!(
            "lacks",
            OneOrMore(&Template),
            "Text that the body must not contain."
        ),
        word!(
            "regex",
            OneOrMore(&Text),
            "Regular expression that the body must match."
        ),
        word!(
            "json",
            MapOf(&MATCHED),
            "First value of each JSON path: `{ $.user.name: ada }`."
        ),
        word!("header", MapOf(&MATCHED), "Values of headers."),
        word!("within", Duration, "Maximum response time."),
    ],
};

/// Condition on a value.
pub(crate) static MATCH: KeywordTable = KeywordTable {
    name: "match",
    meaning: "Condition on a value; a plain value tests for equality.",
    words: &[
        word!("equals", Template, "Equals."),
        word!("contains", Template, "Contains."),
        word!("lacks", Template, "Does not contain."),
        word!("regex", Text, "Matches a regular expression."),
        word!("present", Switch, "Whether the value must be present."),
    ],
};

/// A captured value.
pub(crate) static CAPTURE: KeywordTable = KeywordTable {
    name: "capture",
    meaning: "Source of a value in a response; one of regex, json, css, header, cookie.",
    words: &[
        word!(
            "regex",
            Text,
            "Regular expression on the body: its first group, or the whole match without groups."
        ),
        word!("json", Text, "JSON path (RFC 9535) in the body."),
        word!("css", Text, "CSS selector in the body."),
        word!("header", Text, "A header."),
        word!(
            "cookie",
            Text,
            "A cookie of the user, as set after the response."
        ),
        word!(
            "attribute",
            Text,
            "With `css`: name of an attribute. Default: the text of the element."
        ),
        word!(
            "pick",
            Either(&[
                OneOf(&["first", "last", "random"]),
                Count(1, u32::MAX as u64)
            ]),
            "Which match is taken. Default: `first`."
        ),
        word!("default", Template, "Value when nothing matches."),
    ],
};
