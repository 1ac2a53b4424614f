//! Settings that are written once: a field, its default, its range and its text in one table.
//!
//! [`settings`] makes of such a table the struct that other crates see, the keys of the schema and the reference, and the
//! reader. A key whose value needs more than its node (other keys, names of pools) is read by hand: its row has the word
//! `later` where others have their reader.

mod kinds;

use super::keywords::KeywordTable;
use super::reader::{DocumentReader, MapFields};
use super::tree::{DocumentNode, NodeKind};
pub(crate) use kinds::{
    Choice, Count, count, count_as, count64, each, file, number, one_of, rate, rate_above_zero,
    share, size, size_as, switch, text, time, time_or_zero,
};

/// How a value is written: what a reader accepts, and how the reference writes it.
pub(crate) trait SettingKind {
    type Value;

    /// Reads a value; `None` when it is invalid, which is reported.
    fn read(&self, reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Self::Value>;

    /// A value as a person writes it.
    fn written(&self, value: &Self::Value) -> String;

    /// The valid range, for texts with `{range}`.
    fn range(&self) -> String {
        String::new()
    }
}

/// A field of a struct: a value, or a value that may be missing.
pub(crate) trait SettingField<V>: Sized {
    fn of(value: V) -> Self;
    fn value(&self) -> Option<&V>;
}

impl<V> SettingField<V> for V {
    fn of(value: V) -> Self {
        value
    }

    fn value(&self) -> Option<&V> {
        Some(self)
    }
}

impl<V> SettingField<V> for Option<V> {
    fn of(value: V) -> Self {
        Some(value)
    }

    fn value(&self) -> Option<&V> {
        self.as_ref()
    }
}

/// A map of a document whose keys are the rows of a table of settings.
pub(crate) trait SettingsMap: Sized {
    const TABLE: &'static KeywordTable;

    /// The defaults of all fields.
    fn defaults() -> Self;

    /// The fields of a map; a missing or invalid one has its default.
    fn read(reader: &DocumentReader<'_>, fields: &MapFields<'_>) -> Self;

    /// Reads a map.
    fn from_map(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Self> {
        let fields = reader.fields(node, Self::TABLE)?;
        Some(Self::read(reader, &fields))
    }

    /// Reads a map, or `true` for the defaults; nothing for `false`.
    fn from_switch_or_map(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Self> {
        if matches!(node.kind, NodeKind::Scalar { .. }) {
            return reader.switch(node)?.then(Self::defaults);
        }
        Self::from_map(reader, node)
    }
}

/// A field: what its key has, else its default.
pub(crate) fn field<V, F: SettingField<V>>(
    fields: &MapFields<'_>,
    key: &str,
    default: F,
    read: impl FnOnce(&DocumentNode) -> Option<V>,
) -> F {
    fields.get(key).and_then(read).map_or(default, F::of)
}

/// The items of a list, or of one item; an invalid one is left out.
pub(crate) fn items<V>(
    fields: &MapFields<'_>,
    reader: &DocumentReader<'_>,
    key: &str,
    read: impl Fn(&DocumentNode) -> Option<V>,
) -> Option<Vec<V>> {
    let items = reader.one_or_more(fields.get(key)?).iter();
    Some(items.filter_map(read).collect())
}

/// The text of a row with its range and its default. A text that has a default itself keeps it.
pub(crate) fn describe<K: SettingKind>(
    meaning: &str,
    kind: &K,
    default: &impl SettingField<K::Value>,
) -> String {
    let text = meaning.replace("{range}", &kind.range());
    let default = default.value().map(|value| kind.written(value));
    let Some(default) = default.filter(|text| !text.is_empty()) else {
        return text;
    };
    if text.contains("{default}") {
        return text.replace("{default}", &default);
    }
    if text.contains("Default") {
        return text;
    }
    format!("{text} Default: {default}.")
}

/// A struct, its defaults, the keys of its map and their reader, by rows that are fields:
///
/// ```text
/// /// Time-outs of upstream requests.
/// #[derive(Clone, Debug, PartialEq)]
/// pub struct Timeouts, TIMEOUTS "timeouts" {
///     /// Connect time-out.
///     connect: Duration = Duration::from_secs(2), "connect": time();
/// }
/// ```
///
/// The comment of a row is the text of the reference; `{range}` stands for the range of the value, and the default
/// follows, or replaces `{default}`. Other rows are:
///
/// - `field: Type = default;` is set by the program;
/// - `field: Type = default, "key": kind, unsaid;` has a default that the reference omits;
/// - `field: Type = default, "key": Shape => read;` is read by a function;
/// - `field: Vec<Type> = default, "key": Shape => each read;` is a list whose items are read by a function;
/// - `field: Type = default, "key": Shape => later;` is read after the others;
/// - `"key": Shape;` is a key without a field.
macro_rules! settings {
    (
        $(#[doc = $about:literal])+
        $(#[derive($($derive:ident),+ $(,)?)])?
        $vis:vis struct $name:ident, $table:ident $section:literal { $($rows:tt)* }
    ) => {
        $crate::document::settings! {
            @row
            {
                [$(#[doc = $about])+]
                [$(#[derive($($derive),+)])?]
                $vis struct $name $table $section concat!($($about),+)
            }
            [] [] [] []
            $($rows)*
        }
    };
    // A key without a field.
    (@row $head:tt [$($fields:tt)*] [$($words:tt)*] [$($defaults:tt)*] [$($values:tt)*]
        $(#[doc = $text:literal])+
        $key:literal: $shape:expr;
        $($rest:tt)*
    ) => {
        $crate::document::settings! {
            @row $head
            [$($fields)*]
            [$($words)*
                $crate::document::word!($key, $shape, concat!($($text),+).trim_ascii_start()),]
            [$($defaults)*]
            [$($values)*]
            $($rest)*
        }
    };
    // A field without a key.
    (@row $head:tt [$($fields:tt)*] [$($words:tt)*] [$($defaults:tt)*] [$($values:tt)*]
        $(#[doc = $text:literal])+
        $field:ident: $type:ty = $default:expr;
        $($rest:tt)*
    ) => {
        $crate::document::settings! {
            @row $head
            [$($fields)* $(#[doc = $text])+ $field: $type,]
            [$($words)*]
            [$($defaults)* $field: $default,]
            [$($values)* $field: [$default],]
            $($rest)*
        }
    };
    // A value of a kind.
    (@row $head:tt [$($fields:tt)*] [$($words:tt)*] [$($defaults:tt)*] [$($values:tt)*]
        $(#[doc = $text:literal])+
        $field:ident: $type:ty = $default:expr, $key:literal: $kind:expr;
        $($rest:tt)*
    ) => {
        $crate::document::settings! {
            @row $head
            [$($fields)* $(#[doc = $text])+ $field: $type,]
            [$($words)* $crate::document::Word {
                name: $key,
                shape: ($kind).shape(),
                meaning: concat!($($text),+).trim_ascii_start(),
                describe: |meaning| {
                    let default: $type = $default;
                    $crate::document::settings::describe(meaning, &$kind, &default)
                },
            },]
            [$($defaults)* $field: $default,]
            [$($values)* $field: [$key, $default, $kind],]
            $($rest)*
        }
    };
    // The same, with a default that the reference omits.
    (@row $head:tt [$($fields:tt)*] [$($words:tt)*] [$($defaults:tt)*] [$($values:tt)*]
        $(#[doc = $text:literal])+
        $field:ident: $type:ty = $default:expr, $key:literal: $kind:expr, unsaid;
        $($rest:tt)*
    ) => {
        $crate::document::settings! {
            @row $head
            [$($fields)* $(#[doc = $text])+ $field: $type,]
            [$($words)* $crate::document::word!($key, ($kind).shape(), concat!($($text),+).trim_ascii_start()),]
            [$($defaults)* $field: $default,]
            [$($values)* $field: [$key, $default, $kind],]
            $($rest)*
        }
    };
    // A value that is read after the others.
    (@row $head:tt [$($fields:tt)*] [$($words:tt)*] [$($defaults:tt)*] [$($values:tt)*]
        $(#[doc = $text:literal])+
        $field:ident: $type:ty = $default:expr, $key:literal: $shape:expr => later;
        $($rest:tt)*
    ) => {
        $crate::document::settings! {
            @row $head
            [$($fields)* $(#[doc = $text])+ $field: $type,]
            [$($words)*
                $crate::document::word!($key, $shape, concat!($($text),+).trim_ascii_start()),]
            [$($defaults)* $field: $default,]
            [$($values)* $field: [$default],]
            $($rest)*
        }
    };
    // A list whose items have a reader of their own.
    (@row $head:tt [$($fields:tt)*] [$($words:tt)*] [$($defaults:tt)*] [$($values:tt)*]
        $(#[doc = $text:literal])+
        $field:ident: $type:ty = $default:expr, $key:literal: $shape:expr => each $read:expr;
        $($rest:tt)*
    ) => {
        $crate::document::settings! {
            @row $head
            [$($fields)* $(#[doc = $text])+ $field: $type,]
            [$($words)*
                $crate::document::word!($key, $shape, concat!($($text),+).trim_ascii_start()),]
            [$($defaults)* $field: $default,]
            [$($values)* $field: [$key, $default => each $read],]
            $($rest)*
        }
    };
    // A value with a reader of its own, whose reference is made from data.
    (@row $head:tt [$($fields:tt)*] [$($words:tt)*] [$($defaults:tt)*] [$($values:tt)*]
        $(#[doc = $text:literal])+
        $field:ident: $type:ty = $default:expr, $key:literal: $shape:expr => $read:expr, $meaning:expr;
        $($rest:tt)*
    ) => {
        $crate::document::settings! {
            @row $head
            [$($fields)* $(#[doc = $text])+ $field: $type,]
            [$($words)* $crate::document::word!($key, $shape, $meaning),]
            [$($defaults)* $field: $default,]
            [$($values)* $field: [$key, $default => $read],]
            $($rest)*
        }
    };
    // A value with a reader of its own.
    (@row $head:tt [$($fields:tt)*] [$($words:tt)*] [$($defaults:tt)*] [$($values:tt)*]
        $(#[doc = $text:literal])+
        $field:ident: $type:ty = $default:expr, $key:literal: $shape:expr => $read:expr;
        $($rest:tt)*
    ) => {
        $crate::document::settings! {
            @row $head
            [$($fields)* $(#[doc = $text])+ $field: $type,]
            [$($words)*
                $crate::document::word!($key, $shape, concat!($($text),+).trim_ascii_start()),]
            [$($defaults)* $field: $default,]
            [$($values)* $field: [$key, $default => $read],]
            $($rest)*
        }
    };
    (@row
        {
            [$($about:tt)*] [$($attributes:tt)*]
            $vis:vis struct $name:ident $table:ident $section:literal $meaning:expr
        }
        [$($(#[doc = $text:literal])+ $field:ident: $type:ty,)*]
        [$($words:tt)*] [$($defaults:tt)*] [$($place:ident: $value:tt,)*]
    ) => {
        $($about)*
        $($attributes)*
        $vis struct $name { $($(#[doc = $text])+ $vis $field: $type,)* }

        #[doc = concat!("Keys of `", $section, "`.")]
        pub(crate) static $table: $crate::document::KeywordTable = $crate::document::KeywordTable {
            name: $section,
            meaning: $meaning.trim_ascii_start(),
            words: &[$($words)*],
        };

        impl $crate::document::SettingsMap for $name {
            const TABLE: &'static $crate::document::KeywordTable = &$table;

            fn defaults() -> Self {
                Self { $($defaults)* }
            }

            fn read(
                reader: &$crate::document::DocumentReader<'_>,
                fields: &$crate::document::MapFields<'_>,
            ) -> Self {
                Self { $($place: $crate::document::settings!(@value reader fields $value),)* }
            }
        }
    };
    (@value $reader:ident $fields:ident [$default:expr]) => {
        $default
    };
    (@value $reader:ident $fields:ident [$key:literal, $default:expr, $kind:expr]) => {
        $crate::document::settings::field($fields, $key, $default, |node| {
            $crate::document::SettingKind::read(&$kind, $reader, node)
        })
    };
    (@value $reader:ident $fields:ident [$key:literal, $default:expr => each $read:expr]) => {
        $crate::document::settings::items($fields, $reader, $key, |node| $read($reader, node))
            .unwrap_or_else(|| $default)
    };
    (@value $reader:ident $fields:ident [$key:literal, $default:expr => $read:expr]) => {
        $crate::document::settings::field($fields, $key, $default, |node| $read($reader, node))
    };
}

pub(crate) use settings;

#[cfg(test)]
mod tests;
