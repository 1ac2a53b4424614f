//! Connection quotas of users and tokens.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use plimsoll_config::edge;
use plimsoll_net::lock::lock;
use ring::digest;

/// Key of a quota: a digest, so that no token is stored.
type QuotaKey = [u8; 32];

/// Connection counts by key, over all loops.
#[derive(Debug, Default)]
pub(crate) struct ConnectionQuota(Mutex<HashMap<QuotaKey, u32>>);

/// Quotas.
#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    per_user: Option<u32>,
    per_token: Option<u32>,
    quota: Arc<ConnectionQuota>,
}

/// A counted connection; the count is released when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionSlot(Arc<QuotaEntry>);

#[derive(Debug)]
struct QuotaEntry {
    key: QuotaKey,
    quota: Arc<ConnectionQuota>,
}

impl ConnectionLimits {
    pub(crate) fn new(config: &edge::HubConfig, quota: &Arc<ConnectionQuota>) -> Self {
        Self {
            per_user: config.per_user,
            per_token: config.per_token,
            quota: Arc::clone(quota),
        }
    }

    /// Counts a connection of a user with a token; `before` are the slots that it already holds.
    ///
    /// # Errors
    /// A message when a quota is exhausted.
    pub(crate) fn enter(
        &self,
        user: Option<&str>,
        token: Option<&str>,
        before: &[ConnectionSlot],
    ) -> Result<Vec<ConnectionSlot>, &'static str> {
        let mut places = Vec::new();
        for (max, kind, name, why) in [
            (
                self.per_user,
                "user",
                user,
                "too many connections of this user",
            ),
            (
                self.per_token,
                "token",
                token,
                "too many connections with this token",
            ),
        ] {
            if let (Some(max), Some(name)) = (max, name) {
                let key = key(kind, name);
                let known = before.iter().find(|place| place.0.key == key).cloned();
                let place = known.or_else(|| self.quota.enter(key, max));
                places.push(place.ok_or(why)?);
            }
        }
        Ok(places)
    }
}

impl ConnectionQuota {
    fn enter(self: &Arc<Self>, key: QuotaKey, max: u32) -> Option<ConnectionSlot> {
        let mut counts = lock(&self.0);
        let count = counts.entry(key).or_default();
        if *count >= max {
            return None;
        }
        *count += 1;
        drop(counts);
        Some(ConnectionSlot(Arc::new(QuotaEntry {
            key,
            quota: Arc::clone(self),
        })))
    }
}

fn key(kind: &str, name: &str) -> QuotaKey {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(kind.as_bytes());
    context.update(b" ");
    context.update(name.as_bytes());
    let digest = context.finish();
    digest.as_ref().first_chunk().copied().unwrap_or_default()
}

impl Drop for QuotaEntry {
    fn drop(&mut self) {
        let mut counts = lock(&self.quota.0);
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_so_many_connections_and_leaves_no_trace() {
        let quota = Arc::<ConnectionQuota>::default();
        let mut config = edge::HubConfig::at("/live").unwrap();
        config.per_user = Some(2);
        config.per_token = Some(1);
        let bounds = ConnectionLimits::new(&config, &quota);
        let first = bounds.enter(Some("eve"), Some("a"), &[]).unwrap();
        let again = bounds.enter(Some("eve"), Some("a"), &[]).unwrap_err();
        assert!(again.contains("with this token"), "{again}");
        // The same connection presents its token again, or another.
        let same = bounds.enter(Some("eve"), Some("a"), &first).unwrap();
        let other = bounds.enter(Some("eve"), Some("b"), &first).unwrap();
        let second = bounds.enter(Some("eve"), Some("c"), &[]).unwrap();
        let third = bounds.enter(Some("eve"), None, &[]).unwrap_err();
        assert!(third.contains("of this user"), "{third}");
        // A user is not a token, and clients without a user name are not counted.
        let named = bounds.enter(None, Some("eve"), &[]).unwrap();
        assert!(bounds.enter(None, None, &[]).unwrap().is_empty());
        drop(first);
        assert!(bounds.enter(None, Some("a"), &[]).is_err(), "still held");
        drop((same, other));
        let third = bounds.enter(Some("eve"), Some("a"), &[]).unwrap();
        drop((second, named, third));
        assert!(lock(&quota.0).is_empty());
    }
}
