//! A YAML document that a person wrote, read with places: the part that plan files and the edge's file share.
//!
//! The text becomes a tree whose nodes know their place. A reader takes values from the nodes by tables of keys, and
//! collects all errors of the document, each with line and column. Which keys there are, and what they mean, is up to the
//! modules of the files. Files and environment are accessed through [`Surroundings`].

mod diagnostic;
mod keywords;
mod reader;
mod reference;
mod schema;
pub(crate) mod settings;
mod source;
mod template;
#[cfg(test)]
mod test_surroundings;
mod tree;

pub use diagnostic::{Diagnostic, Diagnostics};
pub(crate) use keywords::{KeywordTable, Shape, Word, word};
pub(crate) use reader::{DocumentReader, MapFields, required};
pub(crate) use reference::section;
pub(crate) use schema::schema_of;
pub(crate) use settings::{
    Choice, Count, SettingKind, SettingsMap, count, count_as, count64, each, file, number, one_of,
    rate, rate_above_zero, settings, share, size, size_as, switch, text, time, time_or_zero,
};
pub(crate) use template::{Expression, Spot, TemplateSegment};
#[cfg(test)]
pub(crate) use test_surroundings::TestSurroundings;
pub(crate) use tree::{DocumentKey, DocumentNode, NodeKind};

use plimsoll_model::price::HeldResources;

/// Access to the files and the environment of a document.
pub trait Surroundings {
    /// The content of a file; `path` is as written, relative to the document.
    ///
    /// # Errors
    /// When it cannot be read, or is longer than `len_max` bytes.
    fn file(&self, path: &str, len_max: u64) -> Result<Vec<u8>, FileError>;

    /// An environment variable.
    fn variable(&self, name: &str) -> Option<String>;

    /// The CPUs and the memory of the machine on which the document is used; `None` where they are unknown.
    fn machine(&self) -> Option<HeldResources> {
        None
    }
}

/// Why a file that a document names was not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The error of the operating system.
    #[error("{0}")]
    Unreadable(String),
    /// Its length in bytes.
    #[error("the file has {0} bytes")]
    TooLong(u64),
}
