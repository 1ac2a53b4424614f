//! The faults that the study found, as switches.

use clap::ValueEnum;

/// The component of the tutor that a plan loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TutorComponent {
    Web,
    Engine,
}

impl TutorComponent {
    pub(super) const ALL: [Self; 2] = [Self::Web, Self::Engine];

    /// Name in the table, and of its plan in the folder of the case.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Engine => "engine",
        }
    }
}

/// One fault of the tutor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum InjectedFault {
    /// HAProxy sends each server at most 20 concurrent requests
    ServerMaxconn,
    /// Passwords are checked on the event loop
    SyncBcrypt,
    /// A connection to memcached is opened for each call
    MemcachedPerCall,
    /// 12 queries per compile, 9 of them to learn what the tables look like
    OrmQueries,
    /// No index on (`assignment_id`, `save_time`)
    MissingIndex,
    /// Templates are read and compiled for each page
    TemplatesPerRequest,
}

impl InjectedFault {
    pub(super) const ALL: [Self; 6] = [
        Self::SyncBcrypt,
        Self::MemcachedPerCall,
        Self::MissingIndex,
        Self::TemplatesPerRequest,
        Self::ServerMaxconn,
        Self::OrmQueries,
    ];

    /// The component that it affects, and with whose plan it is measured.
    pub(super) fn component(self) -> TutorComponent {
        match self {
            Self::ServerMaxconn | Self::OrmQueries => TutorComponent::Engine,
            _ => TutorComponent::Web,
        }
    }

    /// Name on the command line and in the site's environment.
    pub(super) fn name(self) -> String {
        self.to_possible_value()
            .expect("no fault is hidden from the command line")
            .get_name()
            .to_owned()
    }

    /// What the table calls it.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::ServerMaxconn => "server `maxconn` 20 in HAProxy",
            Self::SyncBcrypt => "bcrypt on the event loop",
            Self::MemcachedPerCall => "a connection to memcached per call",
            Self::OrmQueries => "12 queries per compile instead of 3",
            Self::MissingIndex => "no index on (assignment_id, save_time)",
            Self::TemplatesPerRequest => "template files read per request",
        }
    }

    /// Rules of `plimsoll limit` that name it.
    pub(super) fn rules(self) -> &'static [&'static str] {
        match self {
            Self::ServerMaxconn => &["H1"],
            // A thread that is used up, or the event loop on it.
            Self::SyncBcrypt | Self::TemplatesPerRequest => &["J1", "C3"],
            Self::MemcachedPerCall => &["J11", "K6"],
            Self::OrmQueries => &["N+1"],
            Self::MissingIndex => &["Q3", "Q4"],
        }
    }

    /// A word of a finding or of the advice beside it that names it as well: a statement, or a column without an index.
    pub(super) fn word(self) -> Option<&'static str> {
        match self {
            Self::OrmQueries => Some("SHOW "),
            Self::MissingIndex => Some("save_time"),
            _ => None,
        }
    }

    /// Whether it is a setting of the Node processes; the others are settings of HAProxy and MariaDB.
    pub(super) fn is_of_the_site(self) -> bool {
        !matches!(self, Self::ServerMaxconn | Self::MissingIndex)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The site refuses a name that it does not know; the two lists must agree.
    #[test]
    fn the_site_knows_the_same_names() {
        let site = include_str!("../../../../cases/tutor/site/settings.js");
        for fault in InjectedFault::ALL {
            let quoted = format!("'{}'", fault.name());
            assert_eq!(site.contains(&quoted), fault.is_of_the_site(), "{quoted}");
        }
    }
}
