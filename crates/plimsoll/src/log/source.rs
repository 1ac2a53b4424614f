//! Opens logs, compressed or not.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::bufread::MultiGzDecoder;
use plimsoll_lab::input;

use crate::explain::CliError;

/// Time-out for a silent pipe: a program that decompresses or filters a log may need a while.
const PATIENCE: Duration = Duration::from_mins(1);
/// Bytes of a buffer.
const BUFFER_LEN: usize = 256 << 10;
/// Memory that a zstd file may demand, as a power of two: 64 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 26;
/// Bytes at the beginning of a log by which its format is detected.
const HEAD_LEN: u64 = 256 << 10;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Fails when a file is given twice, under one name or two: its requests would count twice.
///
/// # Errors
/// Names the second one.
pub(super) fn check_once(paths: &[PathBuf]) -> Result<(), CliError> {
    let mut places = HashSet::new();
    for path in paths {
        // What cannot be found is reported when it is opened.
        let place = path.canonicalize().unwrap_or_else(|_| path.clone());
        if !places.insert(place) {
            let text = format!(
                "{} is given twice: its requests would count twice",
                path.display()
            );
            return Err(CliError::usage(text).remedy("give each log once"));
        }
    }
    Ok(())
}

/// A log whose beginning was read.
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// The first bytes, decompressed, until the format is known.
    pub(super) head: Vec<u8>,
    /// What follows the head; `None` for a regular file, which is opened again.
    rest: Option<Box<dyn BufRead>>,
}

impl Source {
    /// Opens a log and reads its beginning. A regular file is closed again: hundreds of rotated ones would be too many.
    pub(super) fn open(path: &Path) -> Result<Self, CliError> {
        let (mut reader, is_regular) = open(path)?;
        let mut head = Vec::new();
        // What is damaged further on is reported when it is read.
        let read = reader.by_ref().take(HEAD_LEN).read_to_end(&mut head);
        if let Err(error) = read
            && head.is_empty()
        {
            return Err(read_error(path, &error));
        }
        Ok(Self {
            path: path.to_owned(),
            head,
            rest: (!is_regular).then_some(reader),
        })
    }

    /// Whether the head may be only a part of the log.
    pub(super) fn is_longer_than_head(&self) -> bool {
        self.head.len() as u64 >= HEAD_LEN
    }

    /// Gives the memory of the head back if the log is opened again.
    pub(super) fn forget_head(&mut self) {
        if self.rest.is_none() {
            self.head = Vec::new();
        }
    }

    /// The same log without its head; `None` if it cannot be opened again.
    pub(super) fn again(&self) -> Option<Self> {
        self.rest.is_none().then(|| Self {
            path: self.path.clone(),
            head: Vec::new(),
            rest: None,
        })
    }

    /// The log from its beginning.
    pub(super) fn into_reader(self) -> Result<Box<dyn BufRead>, CliError> {
        match self.rest {
            Some(rest) => Ok(Box::new(io::Cursor::new(self.head).chain(rest))),
            None => Ok(open(&self.path)?.0),
        }
    }
}

/// A whole file, of `len_max` bytes at most.
pub(super) fn whole(path: &Path, len_max: u64) -> Result<Vec<u8>, CliError> {
    let mut content = Vec::new();
    let file = input::open(path, PATIENCE).map_err(|error| read_error(path, &error))?;
    file.take(len_max + 1)
        .read_to_end(&mut content)
        .map_err(|error| read_error(path, &error))?;
    if content.len() as u64 > len_max {
        let text = format!("{} is larger than {} MiB", path.display(), len_max >> 20);
        return Err(CliError::usage(text));
    }
    Ok(content)
}

/// Error of a log.
pub(super) fn read_error(path: &Path, error: &io::Error) -> CliError {
    CliError::usage(format!("cannot read {}: {error}", path.display()))
}

/// A reader of decompressed bytes, and whether the file can be opened again.
fn open(path: &Path) -> Result<(Box<dyn BufRead>, bool), CliError> {
    let wrong = |error: io::Error| read_error(path, &error);
    let (mut reader, is_regular): (Box<dyn BufRead>, bool) = if path.as_os_str() == "-" {
        (
            Box::new(BufReader::with_capacity(BUFFER_LEN, io::stdin())),
            false,
        )
    } else {
        let file = input::open(path, PATIENCE).map_err(wrong)?;
        let is_regular = file.len().is_some();
        (
            Box::new(BufReader::with_capacity(BUFFER_LEN, file)),
            is_regular,
        )
    };
    let start = reader.fill_buf().map_err(wrong)?;
    if start.starts_with(&GZIP) {
        let decoder = MultiGzDecoder::new(reader);
        reader = Box::new(BufReader::with_capacity(BUFFER_LEN, decoder));
    } else if start.starts_with(&ZSTD) {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(reader).map_err(wrong)?;
        decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(wrong)?;
        reader = Box::new(BufReader::with_capacity(BUFFER_LEN, decoder));
    }
    Ok((reader, is_regular))
}
