//! A file that holds whole records only, also when the disk is full for a while.

use crate::send_error::SendError;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The open file.
#[derive(Debug)]
pub(crate) struct RecordFile {
    file: File,
    /// Length up to the last whole record.
    len: u64,
}

impl RecordFile {
    /// Makes the file; never overwrites one.
    pub(crate) fn create(path: &Path) -> Result<Self, String> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o640)
            .open(path)
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::AlreadyExists => {
                    "the file exists, and files are never overwritten".to_owned()
                }
                _ => error.to_string(),
            })?;
        Ok(Self { file, len: 0 })
    }

    /// Appends all of a text or nothing.
    pub(crate) fn append(&mut self, text: &str) -> Result<(), SendError> {
        match self.file.write_all(text.as_bytes()) {
            Ok(()) => {
                self.len += text.len() as u64;
                Ok(())
            }
            Err(error) => {
                // Half a record would hide those that follow it.
                let _ = self.file.set_len(self.len);
                Err(SendError::passing(error.to_string()))
            }
        }
    }
}
