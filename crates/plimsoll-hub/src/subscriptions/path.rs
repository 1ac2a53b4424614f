//! Paths of subscriptions: segments are percent-encoded once, as RFC 6570 expands simple variables.

use std::fmt::Write as _;

use super::PATH;

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All subscriptions.
    All,
    /// Those of a topic selector.
    Topic(String),
    /// The one of a subscriber and a topic selector.
    One {
        /// The topic selector.
        topic: String,
        /// The id of the subscriber.
        subscriber: String,
    },
}

impl Selection {
    /// Reads the path of a request, without its query; `None` if nothing can be there.
    pub fn read(path: &str) -> Option<Self> {
        let rest = path.strip_prefix(PATH)?;
        if rest.is_empty() {
            return Some(Self::All);
        }
        let segments = rest.strip_prefix('/')?;
        match segments.split_once('/') {
            None => Some(Self::Topic(decoded(segments)?)),
            Some((topic, subscriber)) => Some(Self::One {
                topic: decoded(topic)?,
                subscriber: decoded(subscriber)?,
            }),
        }
    }

    /// Whether it means a subscription.
    pub(super) fn means(&self, of_topic: &str, of_subscriber: &str) -> bool {
        match self {
            Self::All => true,
            Self::Topic(topic) => topic == of_topic,
            Self::One { topic, subscriber } => topic == of_topic && subscriber == of_subscriber,
        }
    }
}

/// A value in a path: everything but unreserved characters is encoded.
pub(super) fn encoded(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("a string can always be written");
        }
    }
    out
}

/// The value of a segment; `None` if it is empty, another segment follows, or an escape is invalid.
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => hex(rest.next()?)? << 4 | hex(rest.next()?)?,
            b'/' => return None,
            byte => byte,
        });
    }
    let value = String::from_utf8(bytes).ok()?;
    (!value.is_empty()).then_some(value)
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}
