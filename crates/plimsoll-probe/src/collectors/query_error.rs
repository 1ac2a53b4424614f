//! Why a database query failed: the connection, or a refusal.

use std::io;

use super::link::{ScrapeError, shortly};

/// What went wrong.
#[derive(Debug)]
pub(super) enum QueryError {
    /// The connection failed.
    Scrape(ScrapeError),
    /// The server refused.
    Rejected {
        /// Its code: five letters of SQL, or a number.
        code: String,
        /// Its message.
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
    /// Conversion to a scrape error; `denied` are the codes of denied access.
    pub(super) fn into_scrape_error(self, denied: &[&str]) -> ScrapeError {
        match self {
            Self::Scrape(error) => error,
            Self::Rejected { code, message } if denied.contains(&code.as_str()) => {
                ScrapeError::Denied(shortly(&message))
            }
            Self::Rejected { message, .. } => ScrapeError::Strange(shortly(&message)),
        }
    }

    /// The response was unexpected.
    pub(super) fn strange(bytes: &[u8]) -> Self {
        Self::Scrape(ScrapeError::Strange(shortly(&String::from_utf8_lossy(
            bytes,
        ))))
    }
}
