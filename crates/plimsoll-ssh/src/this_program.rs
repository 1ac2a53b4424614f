//! The bytes of this program.

use std::fs::File;
use std::io::{self, Read, Write};

use plimsoll_model::hexadecimal::hexadecimal;
use sha2::{Digest as _, Sha256};

use crate::error::SshError;

/// This program, as the kernel has it: its file may have been replaced since.
const PATH: &str = "/proc/self/exe";

/// Bytes that are read at once.
const PIECE_LEN: usize = 64 << 10;

/// This program's length and hash, which are read once for all machines.
#[derive(Clone, Debug)]
pub struct ThisProgram {
    path: &'static str,
    len: u64,
    sum: String,
}

impl ThisProgram {
    /// Reads it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read() -> Result<Self, SshError> {
        Self::of_file(PATH)
    }

    pub(crate) fn of_file(path: &'static str) -> Result<Self, SshError> {
        let mut hash = Sha256::new();
        let mut len = 0;
        copy(path, |piece| {
            len += piece.len() as u64;
            hash.update(piece);
            Ok(())
        })
        .map_err(SshError::Program)?;
        Ok(Self {
            path,
            len,
            sum: hexadecimal(&hash.finalize()),
        })
    }

    /// Its bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Its SHA-256, in hexadecimal digits.
    pub(crate) fn sum(&self) -> &str {
        &self.sum
    }

    /// Writes all of it. `progress` takes the bytes so far and all bytes.
    pub(crate) fn send(
        &self,
        mut stream: impl Write,
        progress: &dyn Fn(u64, u64),
    ) -> io::Result<()> {
        let mut sent = 0;
        copy(self.path, |piece| {
            stream.write_all(piece)?;
            sent += piece.len() as u64;
            progress(sent, self.len);
            Ok(())
        })
    }
}

/// Calls `take` with each piece of a file.
fn copy(path: &str, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; PIECE_LEN];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            len => take(&buffer[..len])?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_that_of_the_standard() {
        let empty = hexadecimal(&Sha256::digest(b""));
        assert_eq!(
            empty,
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }

    #[test]
    fn this_program_is_sent_whole() {
        let this = ThisProgram::read().unwrap();
        let mut copy = Vec::new();
        let last = std::cell::Cell::new((0, 0));
        this.send(&mut copy, &|sent, all| last.set((sent, all)))
            .unwrap();
        assert_eq!(last.get(), (this.len(), copy.len() as u64));
        assert_eq!(hexadecimal(&Sha256::digest(&copy)), this.sum());
        let missing = ThisProgram::of_file("/nowhere/program").unwrap_err();
        assert!(matches!(missing, SshError::Program(_)), "{missing}");
    }
}
