//! Why a database does not answer a question: the way to it, or its own refusal.

use std::io;

use super::link::{Blind, shortly};

/// What went wrong.
#[derive(Debug)]
pub(super) enum Fault {
    /// Nothing that can be asked is there.
    Blind(Blind),
    /// It was asked, and says no.
    Said {
        /// Its code: five letters of SQL, or a number.
        code: String,
        /// What it says.
        message: String,
    },
}

impl From<Blind> for Fault {
    fn from(blind: Blind) -> Self {
        Self::Blind(blind)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Blind(error.into())
    }
}

impl Fault {
    /// What it means for an eye; `denied` are the codes of those who may not ask.
    pub(super) fn into_blind(self, denied: &[&str]) -> Blind {
        match self {
            Self::Blind(blind) => blind,
            Self::Said { code, message } if denied.contains(&code.as_str()) => {
                Blind::Denied(shortly(&message))
            }
            Self::Said { message, .. } => Blind::Strange(shortly(&message)),
        }
    }

    /// It was asked and said something else than expected.
    pub(super) fn strange(said: &[u8]) -> Self {
        Self::Blind(Blind::Strange(shortly(&String::from_utf8_lossy(said))))
    }
}
