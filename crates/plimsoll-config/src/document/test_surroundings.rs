//! Files, environment and machine of tests.

use std::collections::BTreeMap;

use plimsoll_model::price::HeldResources;

use super::{FileError, Surroundings};

/// What a test puts around a document; nothing by default.
#[derive(Debug, Default)]
pub(crate) struct TestSurroundings {
    pub(crate) files: BTreeMap<&'static str, Vec<u8>>,
    pub(crate) variables: BTreeMap<&'static str, &'static str>,
    pub(crate) machine: Option<HeldResources>,
}

impl TestSurroundings {
    /// Only files.
    pub(crate) fn with_files<'c>(
        files: impl IntoIterator<Item = (&'static str, &'c [u8])>,
    ) -> Self {
        let files = files.into_iter();
        Self {
            files: files
                .map(|(path, content)| (path, content.to_vec()))
                .collect(),
            ..Self::default()
        }
    }
}

impl Surroundings for TestSurroundings {
    fn file(&self, path: &str, len_max: u64) -> Result<Vec<u8>, FileError> {
        let found = self.files.get(path);
        let content = found.ok_or_else(|| FileError::Unreadable("no such file".to_owned()))?;
        let len = content.len() as u64;
        if len > len_max {
            return Err(FileError::TooLong(len));
        }
        Ok(content.clone())
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).map(|value| (*value).to_owned())
    }

    fn machine(&self) -> Option<HeldResources> {
        self.machine
    }
}
