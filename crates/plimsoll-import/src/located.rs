//! Documents of JSON and YAML as one tree whose values know their place, for importers that name what is lost.

mod json;
mod yaml;

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Located {
    /// Byte of the source at which it begins.
    pub(crate) at: usize,
    pub(crate) value: LocatedValue,
}

/// A value of a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LocatedValue {
    Null,
    Bool(bool),
    /// As written.
    Number(String),
    Text(String),
    List(Vec<Located>),
    /// In the order of the source; each key with its byte.
    Map(Vec<(LocatedKey, Located)>),
}

/// A key of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocatedKey {
    pub(crate) at: usize,
    pub(crate) text: String,
}

/// Why a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocatedError {
    /// Byte of the source.
    pub(crate) at: usize,
    pub(crate) message: String,
}

pub(crate) use json::read as json;
pub(crate) use yaml::read as yaml;

/// A value as JSON text, without blanks.
pub(crate) fn to_json(value: &Located) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    match &value.value {
        LocatedValue::Null => "null".to_owned(),
        LocatedValue::Bool(value) => value.to_string(),
        LocatedValue::Number(number) => number.clone(),
        LocatedValue::Text(text) => quoted(text),
        LocatedValue::List(items) => {
            let items: Vec<String> = items.iter().map(to_json).collect();
            format!("[{}]", items.join(","))
        }
        LocatedValue::Map(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| format!("{}:{}", quoted(&key.text), to_json(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
    }
}

impl Located {
    /// The value of a key, if this is a map that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entries()
            .find(|(name, _)| name.text == key)
            .map(|(_, value)| value)
    }

    /// The value below several keys.
    pub(crate) fn path(&self, keys: &[&str]) -> Option<&Self> {
        keys.iter().try_fold(self, |value, key| value.get(key))
    }

    /// The text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            LocatedValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A text, number or boolean as text.
    pub(crate) fn scalar(&self) -> Option<String> {
        match &self.value {
            LocatedValue::Text(text) | LocatedValue::Number(text) => Some(text.clone()),
            LocatedValue::Bool(value) => Some(value.to_string()),
            _ => None,
        }
    }

    /// Whether it is `true`.
    pub(crate) fn is_true(&self) -> bool {
        self.value == LocatedValue::Bool(true)
    }

    /// The values of a list; none of anything else.
    pub(crate) fn items(&self) -> &[Self] {
        match &self.value {
            LocatedValue::List(items) => items,
            _ => &[],
        }
    }

    /// The entries of a map; none of anything else.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &(LocatedKey, Self)> {
        let entries: &[_] = match &self.value {
            LocatedValue::Map(entries) => entries,
            _ => &[],
        };
        entries.iter()
    }
}
