//! Tables of the keys of a document, from which the reader, the JSON Schema and the reference page are generated.

/// A literal, so that its borrows live as long as the table.
macro_rules! word {
    ($name:literal, $shape:expr, $meaning:expr $(,)?) => {
        $crate::document::Word {
            name: $name,
            shape: $shape,
            meaning: $meaning,
            describe: str::to_owned,
        }
    };
}

pub(crate) use word;

/// The keys of one kind of map.
#[derive(Debug)]
pub(crate) struct KeywordTable {
    /// Name in the schema and the reference.
    pub(crate) name: &'static str,
    /// Meaning of the map.
    pub(crate) meaning: &'static str,
    pub(crate) words: &'static [Word],
}

/// One key and the shape of its value.
#[derive(Debug)]
pub(crate) struct Word {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) meaning: &'static str,
    /// Adds the range and the default to the meaning.
    pub(crate) describe: fn(&str) -> String,
}

impl Word {
    /// The meaning of the key, with its range and default.
    pub(crate) fn text(&self) -> String {
        (self.describe)(self.meaning)
    }
}

/// The shape of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// A plain scalar.
    Text,
    /// A text with placeholders `{{ … }}`.
    Template,
    /// `800ms`.
    Duration,
    /// `300/s`.
    Rate,
    /// A number, or a range: `100`, `0..100`.
    Range,
    /// `64MiB`.
    Size,
    /// Status codes: `2xx,404`.
    Status,
    /// `p95 < 800ms`.
    Objective,
    /// A whole number within bounds.
    Count(u64, u64),
    /// A number, not negative.
    Number,
    /// `true` or `false`.
    Switch,
    /// One of several words.
    OneOf(&'static [&'static str]),
    /// A map of this table.
    Of(&'static KeywordTable),
    /// A list of steps.
    Steps,
    /// A list.
    ListOf(&'static Shape),
    /// One, or a list.
    OneOrMore(&'static Shape),
    /// A map with user-defined keys.
    MapOf(&'static Shape),
    /// A map with the keys of this table, and with any others.
    MapWith(&'static KeywordTable),
    /// Any of these.
    Either(&'static [Shape]),
    /// Any value.
    Free,
}

impl KeywordTable {
    /// Names of its keys.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.words.iter().map(|word| word.name).collect()
    }
}
