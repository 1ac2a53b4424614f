//! Cache of verdicts.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use plimsoll_net::clock::{Nanoseconds, nanoseconds};
use ring::digest;

use super::{HookKind, HookVerdict, Passed};

/// Maximum number of cached verdicts.
const ANSWERS_MAX: usize = 16_384;
/// Longest cached body, bytes.
const LEN_MAX: usize = 4 * 1024;

/// Cache key: a digest, so that no secret is kept in memory.
pub(super) type HookCacheKey = [u8; 32];

/// Verdicts, ordered by expiry.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    answers: HashMap<HookCacheKey, (Nanoseconds, HookVerdict)>,
    order: VecDeque<(Nanoseconds, HookCacheKey)>,
}

/// Covers everything the application receives, so that equal requests share a verdict.
pub(super) fn key(kind: HookKind, passed: &Passed, body: &str) -> HookCacheKey {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(&[kind as u8]);
    for (name, value) in passed.iter() {
        for chunk in [name.as_str().as_bytes(), value.as_bytes()] {
            context.update(&chunk.len().to_le_bytes());
            context.update(chunk);
        }
    }
    context.update(body.as_bytes());
    let digest = context.finish();
    digest.as_ref().first_chunk().copied().unwrap_or_default()
}

impl Remembered {
    pub(super) fn get(&self, key: &HookCacheKey, now: Nanoseconds) -> Option<HookVerdict> {
        let (until, verdict) = self.answers.get(key)?;
        (*until > now).then(|| verdict.clone())
    }

    /// Caches a verdict for a while. Failures are not cached.
    pub(super) fn keep(
        &mut self,
        key: HookCacheKey,
        now: Nanoseconds,
        age: Duration,
        verdict: &HookVerdict,
    ) {
        while let Some(&(until, oldest)) = self.order.front()
            && (until <= now || self.order.len() >= ANSWERS_MAX)
        {
            self.order.pop_front();
            if self
                .answers
                .get(&oldest)
                .is_some_and(|(at, _)| *at == until)
            {
                self.answers.remove(&oldest);
            }
        }
        let len = match verdict {
            HookVerdict::Yes(body) => body.len(),
            HookVerdict::No(why) => why.as_ref().map_or(0, String::len),
            HookVerdict::Down => return,
        };
        if len <= LEN_MAX {
            let until = now.saturating_add(nanoseconds(age));
            self.order.push_back((until, key));
            self.answers.insert(key, (until, verdict.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::body::Bytes;
    use hyper::header::{COOKIE, HeaderValue};

    use super::*;

    const AGE: Duration = Duration::from_nanos(10);

    #[test]
    fn answers_hold_for_the_same_question_and_a_while() {
        let cookie =
            |value: &'static str| -> Passed { [(COOKIE, HeaderValue::from_static(value))].into() };
        let first = key(HookKind::Connect, &cookie("a"), "{}");
        for other in [
            key(HookKind::Subscribe, &cookie("a"), "{}"),
            key(HookKind::Connect, &cookie("b"), "{}"),
            key(HookKind::Connect, &cookie("a"), "{ }"),
            key(HookKind::Connect, &[].into(), "{}"),
        ] {
            assert_ne!(first, other);
        }
        let mut known = Remembered::default();
        let yes = HookVerdict::Yes(Bytes::from_static(b"{}"));
        known.keep(first, 100, AGE, &yes);
        assert_eq!(known.get(&first, 109), Some(yes.clone()));
        assert_eq!(known.get(&first, 110), None);
        // A newer verdict remains valid when the older one expires.
        known.keep(first, 105, AGE, &HookVerdict::No(None));
        known.keep([7; 32], 111, AGE, &yes);
        assert_eq!(known.get(&first, 112), Some(HookVerdict::No(None)));
        known.keep([8; 32], 111, AGE, &HookVerdict::Down);
        assert_eq!(known.get(&[8; 32], 112), None);
    }

    #[test]
    fn memory_is_bounded() {
        let mut known = Remembered::default();
        let numbered = |number: u64| {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&number.to_le_bytes());
            key
        };
        for number in 0..20_000 {
            known.keep(
                numbered(number),
                number,
                Duration::from_secs(9),
                &HookVerdict::No(None),
            );
        }
        assert_eq!(known.answers.len(), ANSWERS_MAX);
        assert_eq!(known.order.len(), ANSWERS_MAX);
        assert!(known.get(&numbered(19_999), 20_000).is_some());
        let long = HookVerdict::Yes(Bytes::from(vec![b' '; LEN_MAX + 1]));
        known.keep([9; 32], 20_000, AGE, &long);
        assert_eq!(known.get(&[9; 32], 20_001), None);
    }
}
