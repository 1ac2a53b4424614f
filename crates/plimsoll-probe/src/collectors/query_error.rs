//! Why a database does not answer a question: the way to it, or its own refusal.

use std::io;

use super::link::{ScrapeError, shortly};

/// What went wrong.
#[derive(Debug)]
pub(super) enum QueryError {
    /// Nothing that can be asked is there.
    Scrape(ScrapeError),
    /// It was asked, and says no.
    Rejected {
        /// Its code: five letters of SQL, or a number.
        code: String,
        /// What it says.
        message: String,
    },
}

impl From<ScrapeError> for QueryError {
    fn from(error: ScrapeError) -> Self {
        Self::Scrape(error)
    }
}

impl From<io::Error> for QueryError {
    fn from(error: io::Error) -> Self {
        Self::Scrape(error.into())
    }
}

impl QueryError {
    /// What it means for an eye; `denied` are the codes of those who may not ask.
    pub(super) fn into_scrape_error(self, denied: &[&str]) -> ScrapeError {
        match self {
            Self::Scrape(error) => error,
            Self::Rejected { code, message } if denied.contains(&code.as_str()) => {
                ScrapeError::Denied(shortly(&message))
            }
            Self::Rejected { message, .. } => ScrapeError::Strange(shortly(&message)),
        }
    }

    /// It was asked and said something else than expected.
    pub(super) fn strange(bytes: &[u8]) -> Self {
        Self::Scrape(ScrapeError::Strange(shortly(&String::from_utf8_lossy(
            bytes,
        ))))
    }
}
