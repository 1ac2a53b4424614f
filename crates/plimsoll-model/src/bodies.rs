//! Bytes of response bodies by content coding.

use serde::{Deserialize, Serialize};

/// Bodies of one content coding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyBytes {
    /// Answers, redirects included.
    pub answers: u64,
    /// Bytes as transferred: without heads and chunk sizes, in their content coding.
    pub bytes: u64,
    /// Of these, bytes of bodies that were decoded, as transferred.
    #[serde(default)]
    pub decoded_from: u64,
    /// The same bodies, decoded.
    #[serde(default)]
    pub decoded: u64,
}

/// Bodies by content coding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bodies {
    /// Without a coding, or in one that is not counted.
    #[serde(default)]
    pub other: BodyBytes,
    /// In gzip.
    #[serde(default)]
    pub gzip: BodyBytes,
    /// In brotli.
    #[serde(default)]
    pub brotli: BodyBytes,
}

impl BodyBytes {
    fn merge(&mut self, more: Self) {
        self.answers += more.answers;
        self.bytes += more.bytes;
        self.decoded_from += more.decoded_from;
        self.decoded += more.decoded;
    }

    /// How many times longer the decoded bodies are; `None` where none was decoded.
    pub fn ratio(&self) -> Option<f64> {
        (self.decoded_from > 0).then(|| self.decoded as f64 / self.decoded_from as f64)
    }
}

impl Bodies {
    /// Whether there was no answer.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the bodies of another loop or another second.
    pub fn merge(&mut self, more: &Self) {
        self.other.merge(more.other);
        self.gzip.merge(more.gzip);
        self.brotli.merge(more.brotli);
    }

    /// Each coding that was there, by its name in HTTP; bodies without one as `other`.
    pub fn by_coding(&self) -> Vec<(&'static str, BodyBytes)> {
        [
            ("other", self.other),
            ("gzip", self.gzip),
            ("br", self.brotli),
        ]
        .into_iter()
        .filter(|(_, bodies)| bodies.answers > 0)
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_add_up_by_coding() {
        let gzipped = Bodies {
            gzip: BodyBytes {
                answers: 1,
                bytes: 100,
                decoded_from: 100,
                decoded: 700,
            },
            ..Bodies::default()
        };
        let mut all = gzipped;
        all.merge(&gzipped);
        assert_eq!(all.by_coding(), [("gzip", all.gzip)]);
        assert_eq!(
            (all.gzip.answers, all.gzip.bytes, all.gzip.ratio()),
            (2, 200, Some(7.0))
        );
        assert!(Bodies::default().is_empty() && all.other.ratio().is_none());
    }
}
