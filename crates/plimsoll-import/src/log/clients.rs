//! How requests are assigned to visits, and whether that is possible.

use plimsoll_logs::LogEntry;

/// Pages from which a log with a single address is remarkable.
const SINGLE_PAGES_MIN: u64 = 20;

/// What identifies the client of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    AddressAndAgent,
    Address,
    /// Too many pages have no address: nothing can be concluded from an agent alone.
    Unknown,
}

/// Counts of pages by what the log knows of their client.
#[derive(Debug, Default)]
pub(super) struct Clients {
    with_agent: u64,
    without_agent: u64,
    unknown: u64,
    first_address: Option<String>,
    has_several: bool,
}

impl Clients {
    pub(super) fn count(&mut self, entry: &LogEntry<'_>) {
        let Some(address) = &entry.address else {
            self.unknown += 1;
            return;
        };
        if entry.agent.is_some() {
            self.with_agent += 1;
        } else {
            self.without_agent += 1;
        }
        match &self.first_address {
            None => self.first_address = Some(address.to_string()),
            Some(first) => self.has_several |= first != address,
        }
    }

    /// Pages that belong to visits.
    pub(super) fn identified(&self) -> u64 {
        self.with_agent + self.without_agent
    }

    pub(super) fn identity(&self) -> Identity {
        if self.identified() < self.unknown || self.identified() == 0 {
            Identity::Unknown
        } else if self.with_agent >= self.without_agent {
            Identity::AddressAndAgent
        } else {
            Identity::Address
        }
    }

    /// How visits were separated, and what makes that doubtful.
    pub(super) fn notes(&self) -> Vec<String> {
        let pages = self.identified() + self.unknown;
        let mut notes = Vec::new();
        notes.push(match self.identity() {
            Identity::AddressAndAgent => {
                "visits were separated by client address and user agent".to_owned()
            }
            Identity::Address => {
                "visits were separated by client address alone: most requests have no user agent"
                    .to_owned()
            }
            Identity::Unknown => {
                return vec![format!(
                    "visits cannot be separated: {} of {pages} pages have no client address; each page is a visit of its own, without think times",
                    self.unknown
                )];
            }
        });
        if self.unknown > 0 {
            notes.push(format!(
                "{} of {pages} pages have no client address: pages per visit and think times are those of the others",
                self.unknown
            ));
        }
        if let Some(address) = self.first_address.as_ref()
            && !self.has_several
            && pages >= SINGLE_PAGES_MIN
        {
            notes.push(format!(
                "all pages come from one address ({address}): if that is a proxy, visits are wrong; log the client, for example X-Forwarded-For"
            ));
        }
        notes
    }
}
