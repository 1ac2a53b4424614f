//! Changes a setting of the service for some trials, and reverts it in every case.
//!
//! The revert is on disk before the change is applied ([`journal`]). The change is reverted when its guard is dropped:
//! at the end, at an error, at an interrupt, in a panic. Where the program had no time for it, its next start finds the
//! journal.

pub mod command;
pub mod journal;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use plimsoll_model::component::{Component, Login, Tunable};
use plimsoll_probe::tunables;
use serde::{Deserialize, Serialize};

use journal::Journal;

/// Attempts to revert a change: a component under load may refuse the connection.
const TRIES: u32 = 20;
/// Time between them.
const BETWEEN: Duration = Duration::from_millis(250);

/// A change, and how to revert it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Change {
    /// A setting of a component.
    Setting {
        /// Which.
        #[serde(rename = "lever")]
        tunable: Tunable,
        /// Its value before.
        from: String,
        /// Its value meanwhile.
        to: String,
    },
    /// The limit of open files of a process.
    OpenFiles {
        /// The process.
        pid: u32,
        /// Its start, in clock ticks since boot.
        started: u64,
        /// Soft and hard limit before.
        from: (u64, u64),
        /// Soft and hard limit meanwhile.
        to: (u64, u64),
    },
    /// A setting of the kernel, for the whole machine.
    Kernel {
        /// Which, as `sysctl` has it.
        name: String,
        /// Its value before.
        from: String,
        /// Its value meanwhile.
        to: String,
    },
    /// Commands of the user's, each a program with its arguments.
    Commands {
        /// The command that raises the limit.
        #[serde(rename = "relax")]
        apply: Vec<String>,
        /// What puts it back.
        undo: Vec<String>,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting { tunable, from, to } => match from.as_str() {
                "" => write!(f, "{tunable} set to {to}"),
                from => write!(f, "{tunable} raised from {from} to {to}"),
            },
            Self::OpenFiles { pid, from, to, .. } => write!(
                f,
                "the limit of open files of process {pid} raised from {} to {}",
                from.0, to.0
            ),
            Self::Kernel { name, from, to } => {
                write!(f, "{name} of this machine raised from {from} to {to}")
            }
            Self::Commands { apply, .. } => write!(f, "`{}` executed", apply.join(" ")),
        }
    }
}

/// Why a change or its revert failed.
#[derive(Debug, thiserror::Error)]
pub enum InterventionError {
    /// The component or the system refuses.
    #[error(transparent)]
    Refused(#[from] tunables::TunableError),
    /// A command of the user's did not do it.
    #[error(transparent)]
    Command(#[from] command::CommandError),
    /// What puts it back could not be written down first, so that nothing was changed.
    #[error("cannot write {path}, the journal for reverting the change: {source}")]
    Journal {
        /// The journal.
        path: String,
        /// The error of the system.
        source: std::io::Error,
    },
}

/// What is needed to change something.
#[derive(Clone, Debug, Default)]
pub struct ComponentAccess {
    /// Parts, with their logins; these are never written down.
    pub components: Vec<Component>,
    /// Environment of commands.
    pub environment: Vec<(String, String)>,
}

impl ComponentAccess {
    /// The login for the component of a tunable, if known.
    fn login(&self, tunable: &Tunable) -> Option<&Login> {
        let is_it = |component: &&Component| {
            component.kind == tunable.kind && component.place == tunable.place
        };
        self.components.iter().find(is_it)?.login.as_ref()
    }
}

impl Change {
    /// What a person does to put it back.
    pub fn manual_undo(&self) -> String {
        match self {
            Self::Setting { tunable, from, .. } => tunables::manual_command(tunable, from),
            Self::OpenFiles { pid, from, .. } => {
                format!("`prlimit --pid {pid} --nofile={}:{}`", from.0, from.1)
            }
            Self::Kernel { name, from, .. } => format!("`sysctl -w {name}=\"{from}\"`"),
            Self::Commands { undo, .. } => format!("`{}`", undo.join(" ")),
        }
    }

    pub(crate) fn carry_out(&self, access: &ComponentAccess) -> Result<(), InterventionError> {
        match self {
            Self::Setting { tunable, to, .. } => {
                tunables::apply(tunable, access.login(tunable), to)?;
            }
            Self::OpenFiles {
                pid, started, to, ..
            } => set_open_files(*pid, *started, *to)?,
            Self::Kernel { name, to, .. } => tunables::set_kernel_setting(name, to)?,
            Self::Commands { apply, .. } => command::run(apply, &access.environment)?,
        }
        Ok(())
    }

    /// Reverts it. A process that has ended meanwhile needs no revert.
    ///
    /// # Errors
    /// When the component or the system refuses at every attempt.
    pub fn undo(&self, access: &ComponentAccess) -> Result<(), InterventionError> {
        let once = || -> Result<(), InterventionError> {
            match self {
                Self::Setting { tunable, from, .. } => {
                    tunables::apply(tunable, access.login(tunable), from)?;
                }
                Self::OpenFiles {
                    pid, started, from, ..
                } => {
                    // A process that has ended took its limits with it.
                    if tunables::open_files(*pid).is_ok_and(|now| now.started == *started) {
                        set_open_files(*pid, *started, *from)?;
                    }
                }
                Self::Kernel { name, from, .. } => tunables::set_kernel_setting(name, from)?,
                Self::Commands { undo, .. } => command::run(undo, &access.environment)?,
            }
            Ok(())
        };
        let is_command = matches!(self, Self::Commands { .. });
        let mut put_back = once();
        for _ in 1..TRIES {
            // What a command did when it failed is known to its user alone: it is not done again.
            if put_back.is_ok() || is_command {
                break;
            }
            std::thread::park_timeout(BETWEEN);
            put_back = once();
        }
        put_back
    }
}

fn set_open_files(
    pid: u32,
    started: u64,
    (soft, hard): (u64, u64),
) -> Result<(), tunables::TunableError> {
    let limits = tunables::OpenFiles {
        started,
        soft,
        hard,
    };
    tunables::set_open_files(pid, limits)
}

/// Something that is changed until this is let go of.
#[derive(Debug)]
pub struct Changed<'a> {
    change: Change,
    access: &'a ComponentAccess,
    journal: Option<Journal>,
}

impl<'a> Changed<'a> {
    /// Writes the journal for the revert, then applies the change.
    ///
    /// # Errors
    /// When either fails; nothing is changed then.
    pub fn make(
        change: Change,
        access: &'a ComponentAccess,
        journal: &Path,
    ) -> Result<Self, InterventionError> {
        let written =
            Journal::write(journal, &change).map_err(|source| InterventionError::Journal {
                path: journal.display().to_string(),
                source,
            })?;
        // From here on it is reverted, also when the change fails half-way.
        let changed = Self {
            change,
            access,
            journal: Some(written),
        };
        match changed.change.carry_out(access) {
            Ok(()) => Ok(changed),
            Err(error) => {
                changed.forget_or_put_back(&error);
                Err(error)
            }
        }
    }

    /// After a change that failed: a refused setting was not applied, a command may have been applied in part.
    fn forget_or_put_back(mut self, error: &InterventionError) {
        let is_undone = match error {
            InterventionError::Refused(refused) => !refused.is_open(),
            InterventionError::Command(_) | InterventionError::Journal { .. } => false,
        };
        if is_undone && let Some(journal) = self.journal.take() {
            journal.remove();
        }
    }

    /// Reverts it.
    ///
    /// # Errors
    /// When that fails; the journal stays for the next start.
    pub fn put_back(mut self) -> Result<(), InterventionError> {
        self.undo_once()
    }

    fn undo_once(&mut self) -> Result<(), InterventionError> {
        let Some(journal) = self.journal.take() else {
            return Ok(());
        };
        self.change.undo(self.access)?;
        journal.remove();
        Ok(())
    }
}

impl Drop for Changed<'_> {
    fn drop(&mut self) {
        // Its journal stays where this fails.
        let _ = self.undo_once();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use plimsoll_model::component::{ComponentAddress, ComponentKind};
    use plimsoll_testkit::program::Redis;

    use super::journal::{Leftover, put_back_leftovers};
    use super::*;

    fn change(redis: &Redis) -> Change {
        let place = ComponentAddress::Tcp {
            host: redis.address.ip().to_string(),
            port: redis.address.port(),
        };
        Change::Setting {
            tunable: Tunable {
                kind: ComponentKind::Redis,
                place,
                setting: "maxclients".to_owned(),
                of: String::new(),
            },
            from: "100".to_owned(),
            to: "400".to_owned(),
        }
    }

    fn now(change: &Change) -> String {
        let Change::Setting { tunable, .. } = change else {
            unreachable!("it is a setting");
        };
        tunables::value_of(tunable, None).unwrap()
    }

    #[test]
    fn a_change_ends_with_whoever_made_it() {
        let redis = Redis::start("maxclients 100");
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("a.undo");
        let (change, access) = (change(&redis), ComponentAccess::default());
        let made = || Changed::make(change.clone(), &access, &journal).unwrap();
        let changed = made();
        assert_eq!((now(&change).as_str(), journal.exists()), ("400", true));
        changed.put_back().unwrap();
        assert_eq!((now(&change).as_str(), journal.exists()), ("100", false));
        // An error leaves through here, and so does a panic.
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _changed = made();
            assert_eq!(now(&change), "1", "it is 400, so that this panics");
        }));
        assert!(panicked.is_err());
        assert_eq!((now(&change).as_str(), journal.exists()), ("100", false));
    }

    #[test]
    fn what_was_left_changed_is_put_back_by_the_next_start() {
        let redis = Redis::start("maxclients 100");
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("a.undo");
        let (change, access) = (change(&redis), ComponentAccess::default());
        // As a program does that is killed then.
        let written = Journal::write(&journal, &change).unwrap();
        change.carry_out(&access).unwrap();
        drop(written);
        assert_eq!(now(&change), "400");
        let found = put_back_leftovers(folder.path(), &access, None);
        assert_eq!(found, [Leftover::PutBack(change.to_string())]);
        assert_eq!((now(&change).as_str(), journal.exists()), ("100", false));
    }

    #[test]
    fn what_is_refused_leaves_nothing_behind() {
        let redis = Redis::start("maxclients 100\nrequirepass hidden");
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("a.undo");
        let access = ComponentAccess::default();
        let refused = Changed::make(change(&redis), &access, &journal);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("NOAUTH"), "{refused}");
        assert!(!journal.exists());
        let nowhere = folder.path().join("absent/a.undo");
        let refused = Changed::make(change(&redis), &access, &nowhere);
        assert!(matches!(refused, Err(InterventionError::Journal { .. })));
    }
}
