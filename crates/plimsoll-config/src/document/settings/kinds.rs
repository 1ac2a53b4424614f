//! Kinds of values that settings have: their shape, their reader, and how the reference writes them.

use std::fmt::Display;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::SettingKind;
use crate::document::Shape;
use crate::document::reader::DocumentReader;
use crate::document::tree::DocumentNode;
use crate::units;

/// A duration.
pub(crate) struct Time {
    is_above_zero: bool,
    within: Option<(Duration, Duration, &'static str)>,
}

/// A duration above zero.
pub(crate) const fn time() -> Time {
    Time {
        is_above_zero: true,
        within: None,
    }
}

/// A duration that may be zero.
pub(crate) const fn time_or_zero() -> Time {
    Time {
        is_above_zero: false,
        within: None,
    }
}

impl Time {
    /// From `least` to `most`, which `valid` names.
    pub(crate) const fn within(self, least: Duration, most: Duration, valid: &'static str) -> Self {
        Self {
            within: Some((least, most, valid)),
            ..self
        }
    }

    #[expect(clippy::unused_self, reason = "a method of each kind")]
    pub(crate) const fn shape(&self) -> Shape {
        Shape::Duration
    }
}

impl SettingKind for Time {
    type Value = Duration;

    fn read(&self, reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Duration> {
        let time = if self.is_above_zero {
            reader.duration_above_zero(node)?
        } else {
            reader.duration(node)?
        };
        match self.within {
            Some((least, most, valid)) if !(least..=most).contains(&time) => {
                let text = units::duration_text(time);
                reader.report(node, format!("{text} is out of range"), valid);
                None
            }
            _ => Some(time),
        }
    }

    fn written(&self, value: &Duration) -> String {
        units::duration_text(*value)
    }
}

/// A whole number of 32 bits, in a type that has all of them.
pub(crate) struct Count<T> {
    least: u32,
    most: u32,
    of: PhantomData<T>,
}

/// A whole number of 32 bits within a range.
pub(crate) const fn count(range: RangeInclusive<u32>) -> Count<u32> {
    count_as(range)
}

/// The same in a wider type.
pub(crate) const fn count_as<T>(range: RangeInclusive<u32>) -> Count<T> {
    Count {
        least: *range.start(),
        most: *range.end(),
        of: PhantomData,
    }
}

impl<T> Count<T> {
    pub(crate) const fn shape(&self) -> Shape {
        Shape::Count(self.least as u64, self.most as u64)
    }
}

impl<T: From<u32> + Display> SettingKind for Count<T> {
    type Value = T;

    fn read(&self, reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<T> {
        reader.count32(node, self.least..=self.most).map(T::from)
    }

    fn written(&self, value: &T) -> String {
        value.to_string()
    }
}

/// A whole number of 64 bits.
pub(crate) struct Count64 {
    least: u64,
    most: u64,
}

/// A whole number of 64 bits within a range.
pub(crate) const fn count64(range: RangeInclusive<u64>) -> Count64 {
    Count64 {
        least: *range.start(),
        most: *range.end(),
    }
}

impl Count64 {
    pub(crate) const fn shape(&self) -> Shape {
        Shape::Count(self.least, self.most)
    }
}

impl SettingKind for Count64 {
    type Value = u64;

    fn read(&self, reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<u64> {
        reader.count(node, self.least..=self.most)
    }

    fn written(&self, value: &u64) -> String {
        value.to_string()
    }
}

/// A size in bytes.
pub(crate) struct Size<T> {
    least: u64,
    most: u64,
    valid: &'static str,
    of: PhantomData<T>,
}

/// A size within a range of bytes.
pub(crate) const fn size(range: RangeInclusive<u64>) -> Size<u64> {
    size_as(range)
}

/// The same in another type, which has the whole range.
pub(crate) const fn size_as<T>(range: RangeInclusive<u64>) -> Size<T> {
    Size {
        least: *range.start(),
        most: *range.end(),
        valid: "a size such as 64KiB",
        of: PhantomData,
    }
}

impl<T> Size<T> {
    /// With another example.
    pub(crate) const fn such_as(self, valid: &'static str) -> Self {
        Self { valid, ..self }
    }

    #[expect(clippy::unused_self, reason = "a method of each kind")]
    pub(crate) const fn shape(&self) -> Shape {
        Shape::Size
    }
}

impl<T: TryFrom<u64> + Into<u64> + Copy> SettingKind for Size<T> {
    type Value = T;

    fn read(&self, reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<T> {
        let size = reader.value(node, self.valid, units::size)?;
        if (self.least..=self.most).contains(&size) {
            return T::try_from(size).ok();
        }
        let [size, least, most] = [size, self.least, self.most].map(units::size_text);
        reader.report(
            node,
            format!("{size} is out of range"),
            format!("a size from {least} to {most}"),
        );
        None
    }

    fn written(&self, value: &T) -> String {
        units::size_text((*value).into())
    }

    fn range(&self) -> String {
        let most = units::size_text(self.most);
        match self.least {
            0 => format!("up to {most}"),
            least => format!("{} to {most}", units::size_text(least)),
        }
    }
}

/// A share of a whole.
pub(crate) struct Share(&'static str);

/// A share; `valid` has an example.
pub(crate) const fn share(valid: &'static str) -> Share {
    Share(valid)
}

impl Share {
    #[expect(clippy::unused_self, reason = "a method of each kind")]
    pub(crate) const fn shape(&self) -> Shape {
        Shape::Text
    }
}

impl SettingKind for Share {
    type Value = f64;

    fn read(&self, reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<f64> {
        reader.value(node, self.0, units::share)
    }

    fn written(&self, value: &f64) -> String {
        format!("{}%", value * 100.0)
    }
}

/// A rate per second.
pub(crate) struct PerSecond {
    valid: &'static str,
    is_above_zero: bool,
}

/// A rate; `valid` has an example.
pub(crate) const fn rate(valid: &'static str) -> PerSecond {
    PerSecond {
        valid,
        is_above_zero: false,
    }
}

/// A rate above zero; `valid` has an example.
pub(crate) const fn rate_above_zero(valid: &'static str) -> PerSecond {
    PerSecond {
        valid,
        is_above_zero: true,
    }
}

impl PerSecond {
    #[expect(clippy::unused_self, reason = "a method of each kind")]
    pub(crate) const fn shape(&self) -> Shape {
        Shape::Rate
    }
}

impl SettingKind for PerSecond {
    type Value = f64;

    fn read(&self, reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<f64> {
        if self.is_above_zero {
            reader.value(node, self.valid, units::rate_above_zero)
        } else {
            reader.value(node, self.valid, units::rate)
        }
    }

    fn written(&self, value: &f64) -> String {
        format!("{value}/s")
    }
}

/// A number, not negative.
pub(crate) struct Number;

/// A number, not negative.
pub(crate) const fn number() -> Number {
    Number
}

impl Number {
    #[expect(clippy::unused_self, reason = "a method of each kind")]
    pub(crate) const fn shape(&self) -> Shape {
        Shape::Number
    }
}

impl SettingKind for Number {
    type Value = f64;

    fn read(&self, reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<f64> {
        reader.number(node)
    }

    fn written(&self, value: &f64) -> String {
        value.to_string()
    }
}

/// `true` or `false`.
pub(crate) struct Switch;

/// `true` or `false`.
pub(crate) const fn switch() -> Switch {
    Switch
}

impl Switch {
    #[expect(clippy::unused_self, reason = "a method of each kind")]
    pub(crate) const fn shape(&self) -> Shape {
        Shape::Switch
    }
}

impl SettingKind for Switch {
    type Value = bool;

    fn read(&self, reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<bool> {
        reader.switch(node)
    }

    fn written(&self, value: &bool) -> String {
        value.to_string()
    }
}

/// One of several words; made by [`one_of`].
pub(crate) struct Choice<T: 'static> {
    pub(crate) names: &'static [&'static str],
    pub(crate) words: &'static [(&'static str, T)],
}

/// One of several words, each with its value: `one_of!["json" => LogFormat::Json, …]`.
macro_rules! one_of {
    ($($word:literal => $value:expr),+ $(,)?) => {
        $crate::document::Choice {
            names: &[$($word),+],
            words: &[$(($word, $value)),+],
        }
    };
}

pub(crate) use one_of;

impl<T> Choice<T> {
    pub(crate) const fn shape(&self) -> Shape {
        Shape::OneOf(self.names)
    }
}

impl<T: Copy + PartialEq> SettingKind for Choice<T> {
    type Value = T;

    fn read(&self, reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<T> {
        reader.one_of(node, self.words)
    }

    fn written(&self, value: &T) -> String {
        let word = self.words.iter().find(|(_, of)| of == value);
        word.map_or_else(String::new, |(word, _)| format!("`{word}`"))
    }
}

/// A text that is not empty.
pub(crate) struct Text {
    valid: &'static str,
    check: Option<TextCheck>,
}

/// What must hold of a text, and what it is then called.
type TextCheck = (fn(&str) -> bool, &'static str);

/// A text that is not empty; `valid` describes it.
pub(crate) const fn text(valid: &'static str) -> Text {
    Text { valid, check: None }
}

impl Text {
    /// A text of which `is` holds: else it is not `what`.
    pub(crate) const fn that(self, is: fn(&str) -> bool, what: &'static str) -> Self {
        Self {
            check: Some((is, what)),
            ..self
        }
    }

    #[expect(clippy::unused_self, reason = "a method of each kind")]
    pub(crate) const fn shape(&self) -> Shape {
        Shape::Text
    }
}

impl SettingKind for Text {
    type Value = String;

    fn read(&self, reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<String> {
        let text = reader.word(node, self.valid)?;
        match self.check {
            Some((is, what)) if !is(&text) => {
                reader.report(node, format!("`{text}` is not {what}"), self.valid);
                None
            }
            _ => Some(text),
        }
    }

    fn written(&self, value: &String) -> String {
        format!("`{value}`")
    }
}

/// One text, or a list of them.
pub(crate) struct Each(Text);

/// One text, or a list of them; an invalid one is left out.
pub(crate) const fn each(text: Text) -> Each {
    Each(text)
}

impl Each {
    #[expect(clippy::unused_self, reason = "a method of each kind")]
    pub(crate) const fn shape(&self) -> Shape {
        Shape::OneOrMore(&Shape::Text)
    }
}

impl SettingKind for Each {
    type Value = Vec<String>;

    fn read(&self, reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Vec<String>> {
        let items = reader.one_or_more(node).iter();
        Some(items.filter_map(|item| self.0.read(reader, item)).collect())
    }

    fn written(&self, value: &Vec<String>) -> String {
        let texts: Vec<String> = value.iter().map(|text| self.0.written(text)).collect();
        texts.join(", ")
    }
}

/// The name of a file.
pub(crate) struct File(&'static str);

/// The name of a file, which is opened later; `valid` describes it.
pub(crate) const fn file(valid: &'static str) -> File {
    File(valid)
}

impl File {
    #[expect(clippy::unused_self, reason = "a method of each kind")]
    pub(crate) const fn shape(&self) -> Shape {
        Shape::Text
    }
}

impl SettingKind for File {
    type Value = PathBuf;

    fn read(&self, reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<PathBuf> {
        reader.word(node, self.0).map(PathBuf::from)
    }

    fn written(&self, value: &PathBuf) -> String {
        format!("`{}`", value.display())
    }
}
