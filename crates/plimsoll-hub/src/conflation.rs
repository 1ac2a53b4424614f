//! Conflation: at most one message in an interval; data that comes earlier is held and combined.

use serde_json::Value;

/// How a channel is conflated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflation {
    /// Time between two messages, ms; at least 1.
    pub interval_ms: u64,
    /// How data in between is combined.
    pub mode: Mode,
}

/// How data that comes too early is combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The newest replaces the previous one.
    Newest,
    /// Objects are merged recursively, key by key; the newer value wins. `null` is an ordinary value, as for clients
    /// that treat messages as merge patches (RFC 7396). Anything but an object replaces the previous value.
    Merge,
    /// All data is held, and the application aggregates it.
    Aggregate {
        /// Time limit of the application before the newest is sent, ms.
        patience_ms: u64,
    },
}

/// Held data.
#[derive(Debug)]
pub(crate) enum Pending {
    /// As it was published.
    Text(Box<str>),
    /// Merged, and the sum of the lengths.
    Merged(Value, usize),
    /// A list, and the sum of the lengths.
    Gathered(Vec<Box<str>>, usize),
}

/// Most items held for aggregation in one channel, and most bytes of them.
const GATHERED_MAX: usize = 10_000;
const GATHERED_LEN_MAX: usize = 1 << 20;

impl Pending {
    /// The first held data.
    pub(crate) fn new(data: &str) -> Self {
        Self::Text(data.into())
    }

    /// Appends newer data; whether there was room.
    pub(crate) fn gather(&mut self, data: &str) -> bool {
        if let Self::Gathered(all, len) = self {
            let has_room = all.len() < GATHERED_MAX && *len + data.len() <= GATHERED_LEN_MAX;
            if has_room {
                *len += data.len();
                all.push(data.into());
            }
            return has_room;
        }
        let before = std::mem::replace(self, Self::new("")).into_text();
        let len = before.len() + data.len();
        *self = Self::Gathered(vec![before.into(), data.into()], len);
        true
    }

    /// All as a JSON array, and the newest.
    pub(crate) fn into_all(self) -> (String, String) {
        let Self::Gathered(all, _) = self else {
            let newest = self.into_text();
            return (format!("[{newest}]"), newest);
        };
        let newest = all.last().map(|newest| String::from(&**newest));
        (format!("[{}]", all.join(",")), newest.unwrap_or_default())
    }

    /// Combines with newer data. Returns what must be sent separately, because both together would exceed `len_max`.
    pub(crate) fn take_in(&mut self, mode: Mode, data: &str, len_max: usize) -> Option<Self> {
        if mode == Mode::Newest {
            *self = Self::new(data);
            return None;
        }
        let (Some((mut older, older_len)), Ok(newer)) = (self.parsed(), serde_json::from_str(data))
        else {
            *self = Self::new(data);
            return None;
        };
        if !(older.is_object() && Value::is_object(&newer)) {
            *self = Self::new(data);
            return None;
        }
        let before = older_len + data.len() > len_max;
        let whole = before.then(|| older.clone());
        merge(&mut older, newer);
        let mut len = older_len + data.len();
        if len > len_max {
            // The sum is an upper bound: repeated keys are written once.
            len = older.to_string().len();
        }
        if len > len_max {
            *self = Self::new(data);
            return whole.map(|whole| Self::Merged(whole, 0));
        }
        *self = Self::Merged(older, len);
        None
    }

    fn parsed(&mut self) -> Option<(Value, usize)> {
        match self {
            Self::Text(text) => Some((serde_json::from_str(text).ok()?, text.len())),
            Self::Merged(value, len) => Some((value.take(), *len)),
            // The rule has changed since.
            Self::Gathered(..) => None,
        }
    }

    /// The text to be sent.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Text(text) => text.into(),
            Self::Merged(value, _) => value.to_string(),
            Self::Gathered(mut all, _) => all.pop().map_or_else(String::new, String::from),
        }
    }
}

/// Depth limit of merging; below it, the newer value wins.
const DEPTH_MAX: u8 = 32;

fn merge(older: &mut Value, newer: Value) {
    merge_at(older, newer, 0);
}

fn merge_at(older: &mut Value, newer: Value, depth: u8) {
    match (older, newer) {
        (Value::Object(older), Value::Object(newer)) if depth < DEPTH_MAX => {
            for (key, value) in newer {
                match older.get_mut(&key) {
                    Some(place) => merge_at(place, value, depth + 1),
                    None => {
                        older.insert(key, value);
                    }
                }
            }
        }
        (place, newer) => *place = newer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mode: Mode, data: &[&str], expected: &str) {
        let mut pending = Pending::new(data[0]);
        for data in &data[1..] {
            assert!(pending.take_in(mode, data, 1000).is_none());
        }
        assert_eq!(pending.into_text(), expected);
    }

    #[test]
    fn the_newest_stays_as_it_was_written() {
        check(
            Mode::Newest,
            &["1", "{\"b\": 1,\"a\":2}"],
            "{\"b\": 1,\"a\":2}",
        );
    }

    #[test]
    fn objects_are_merged_and_others_replaced() {
        check(
            Mode::Merge,
            &[
                r#"{"a":1,"o":{"x":1,"y":[1,2]}}"#,
                r#"{"b":2,"o":{"y":[3]}}"#,
                r#"{"a":null}"#,
            ],
            r#"{"a":null,"b":2,"o":{"x":1,"y":[3]}}"#,
        );
        check(Mode::Merge, &[r#"{"a":1}"#, "[1]"], "[1]");
        check(Mode::Merge, &["[1]", r#"{"a":1}"#], r#"{"a":1}"#);
    }

    #[test]
    fn what_is_gathered_stands_in_a_row() {
        let mut pending = Pending::new("1");
        assert!(pending.gather("{\"a\": 2}") && pending.gather("3"));
        let both = ("[1,{\"a\": 2},3]".to_owned(), "3".to_owned());
        assert_eq!(pending.into_all(), both);
        assert_eq!(
            Pending::new("1").into_all(),
            ("[1]".to_owned(), "1".to_owned())
        );
        let mut pending = Pending::new("0");
        let count = (0..20_000).filter(|_| pending.gather("1")).count();
        assert_eq!(count, GATHERED_MAX - 1);
        let mut pending = Pending::new("0");
        let long = "1".repeat(100_000);
        let count = (0..20).filter(|_| pending.gather(&long)).count();
        assert_eq!(count, 10);
        // The rule has changed since.
        assert_eq!(pending.into_text(), long);
    }

    #[test]
    fn what_does_not_fit_together_goes_out_apart() {
        let mut pending = Pending::new(r#"{"a":"aaaaaaaaaa"}"#);
        // Repeated keys do not add up.
        for _ in 0..10 {
            assert!(
                pending
                    .take_in(Mode::Merge, r#"{"a":"aaaaaaaaaa"}"#, 30)
                    .is_none()
            );
        }
        let first = pending.take_in(Mode::Merge, r#"{"b":"bbbbbbbbbb"}"#, 30);
        assert_eq!(
            first.map(Pending::into_text).as_deref(),
            Some(r#"{"a":"aaaaaaaaaa"}"#)
        );
        assert_eq!(pending.into_text(), r#"{"b":"bbbbbbbbbb"}"#);
    }
}
