//! What is wrong, and since when.

use std::collections::{BTreeMap, VecDeque};

use super::report::{PastCondition, WrongCondition};

/// A condition that occurs again within this time has not ended meanwhile, s.
const HOLD_S: f64 = 60.0;
/// Ended conditions that are kept.
const PAST_MAX: usize = 20;
/// How long they are kept, s.
const PAST_S: f64 = 3600.0;
/// Conditions that are followed.
pub(super) const OPEN_MAX: usize = 200;

/// Kinds of conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConditionKind {
    PoolDown,
    QueueFull,
    QueueTimeout,
    NoServer,
    Shed,
    MemoryFull,
    ServerDown,
    ServerEjected,
    ServerErrors,
    CertificateExpired,
    HubSource,
    HubShared,
    HubHooks,
    HubChannels,
    Connections,
    CacheDisk,
    CacheDiskErrors,
    CertificateExpires,
    HubHistory,
    HubSlowClients,
    RateAlert,
    LogLines,
    Spans,
    Webhooks,
}

impl ConditionKind {
    /// Its word in JSON.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::PoolDown => "pool_down",
            Self::QueueFull => "queue_full",
            Self::QueueTimeout => "queue_timeout",
            Self::NoServer => "no_server",
            Self::Shed => "shed",
            Self::MemoryFull => "memory_full",
            Self::ServerDown => "server_down",
            Self::ServerEjected => "server_ejected",
            Self::ServerErrors => "server_errors",
            Self::CertificateExpired => "certificate_expired",
            Self::HubSource => "hub_source",
            Self::HubShared => "hub_shared",
            Self::HubHooks => "hub_hooks",
            Self::HubChannels => "hub_channels",
            Self::Connections => "connections",
            Self::CacheDisk => "cache_disk",
            Self::CacheDiskErrors => "cache_disk_errors",
            Self::CertificateExpires => "certificate_expires",
            Self::HubHistory => "hub_history",
            Self::HubSlowClients => "hub_slow_clients",
            Self::RateAlert => "rate_alert",
            Self::LogLines => "log_lines",
            Self::Spans => "spans",
            Self::Webhooks => "webhooks",
        }
    }

    /// Whether users notice it now; otherwise it is a warning.
    pub(super) fn is_failure(self) -> bool {
        self <= Self::Connections
    }
}

/// A condition that holds now.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FoundCondition {
    pub(super) kind: ConditionKind,
    /// What it concerns; empty for the whole edge.
    pub(super) subject: String,
    pub(super) text: String,
    pub(super) remedy: String,
}

#[derive(Clone, Debug)]
struct Open {
    since: f64,
    latest: f64,
    text: String,
}

/// Conditions that hold, with their beginning, and those that have ended.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    open: BTreeMap<(ConditionKind, String), Open>,
    past: VecDeque<PastCondition>,
}

impl Conditions {
    /// Takes in what holds at a moment, s since 1970; returns it with its beginnings, what matters most first.
    pub(super) fn follow(&mut self, found: Vec<FoundCondition>, now: f64) -> Vec<WrongCondition> {
        let mut wrong: Vec<(ConditionKind, WrongCondition)> = Vec::new();
        for found in found.into_iter().take(OPEN_MAX) {
            let key = (found.kind, found.subject.clone());
            let open = self.open.entry(key).or_insert_with(|| Open {
                since: now,
                latest: now,
                text: String::new(),
            });
            open.latest = now;
            open.text.clone_from(&found.text);
            let condition = WrongCondition {
                kind: found.kind.name(),
                is_failure: found.kind.is_failure(),
                subject: found.subject,
                text: found.text,
                remedy: found.remedy,
                since: open.since,
            };
            wrong.push((found.kind, condition));
        }
        self.end(now);
        wrong.sort_by(|(kind, condition), (other_kind, other)| {
            (kind, &condition.subject).cmp(&(other_kind, &other.subject))
        });
        wrong.into_iter().map(|(_, condition)| condition).collect()
    }

    fn end(&mut self, now: f64) {
        let past = &mut self.past;
        self.open.retain(|(kind, subject), open| {
            let holds = now - open.latest <= HOLD_S;
            if !holds {
                past.push_front(PastCondition {
                    kind: kind.name(),
                    subject: subject.clone(),
                    text: open.text.clone(),
                    since: open.since,
                    until: open.latest,
                });
            }
            holds
        });
        past.truncate(PAST_MAX);
        past.retain(|condition| now - condition.until <= PAST_S);
    }

    /// Since when a kind of condition holds, whatever it concerns.
    pub(super) fn since(&self, kind: ConditionKind) -> Option<f64> {
        let of_kind = self.open.iter().filter(|((open, _), _)| *open == kind);
        of_kind.map(|(_, open)| open.since).min_by(f64::total_cmp)
    }

    /// What has ended within the last hour, the latest first.
    pub(super) fn past(&self) -> Vec<PastCondition> {
        self.past.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(kind: ConditionKind, subject: &str) -> FoundCondition {
        FoundCondition {
            kind,
            subject: subject.to_owned(),
            text: format!("{} {subject}", kind.name()),
            remedy: String::new(),
        }
    }

    #[test]
    fn a_condition_keeps_its_beginning_over_a_short_pause() {
        let mut conditions = Conditions::default();
        let mut since = |at: f64| {
            let wrong = conditions.follow(vec![found(ConditionKind::QueueFull, "app")], at);
            wrong.first().map(|condition| condition.since)
        };
        assert_eq!(since(100.0), Some(100.0));
        assert_eq!(since(150.0), Some(100.0));
        assert_eq!(conditions.since(ConditionKind::QueueFull), Some(100.0));
        assert!(conditions.follow(Vec::new(), 211.0).is_empty());
        let past = conditions.past();
        let past = past
            .first()
            .map(|condition| (condition.since, condition.until));
        assert_eq!(past, Some((100.0, 150.0)));
        let again = conditions.follow(vec![found(ConditionKind::QueueFull, "app")], 300.0);
        assert_eq!(again.first().map(|condition| condition.since), Some(300.0));
        conditions.follow(Vec::new(), 5_000.0);
        assert!(
            conditions.past().is_empty(),
            "what is older than an hour is left out"
        );
    }

    #[test]
    fn what_users_notice_is_first() {
        let mut conditions = Conditions::default();
        let wrong = conditions.follow(
            vec![
                found(ConditionKind::LogLines, ""),
                found(ConditionKind::ServerDown, "app b"),
                found(ConditionKind::ServerDown, "app a"),
                found(ConditionKind::PoolDown, "app"),
            ],
            1.0,
        );
        let order: Vec<&str> = wrong
            .iter()
            .map(|condition| condition.text.as_str())
            .collect();
        assert_eq!(
            order,
            [
                "pool_down app",
                "server_down app a",
                "server_down app b",
                "log_lines "
            ]
        );
        let failures: Vec<bool> = wrong.iter().map(|condition| condition.is_failure).collect();
        assert_eq!(failures, [true, true, true, false]);
    }
}
