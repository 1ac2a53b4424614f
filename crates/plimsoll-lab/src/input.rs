//! Files named by the user: regular ones, and pipes such as `<(command)`, that do not block the reader.
//!
//! Opening a pipe waits for its writer, a device may never end, and either may hide behind the name of a file. So
//! nothing that blocks is opened, and a silent pipe is an error after a while.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

/// Something that can be read to its end.
#[derive(Debug)]
pub struct InputFile {
    file: File,
    /// Length of a regular file; a pipe has none.
    len: Option<u64>,
    patience: Duration,
    has_begun: bool,
}

/// Opens a regular file or a pipe; a pipe must deliver data within every `patience`.
///
/// # Errors
/// When it cannot be opened, or is a folder, a device or a socket.
pub fn open(path: &Path, patience: Duration) -> io::Result<InputFile> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags())
        .open(path)?;
    let about = file.metadata()?;
    let kind = about.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() && !kind.is_fifo() {
        let what = if kind.is_char_device() || kind.is_block_device() {
            "it is a device"
        } else {
            "it is neither a file nor a pipe"
        };
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    Ok(InputFile {
        file,
        len: kind.is_file().then_some(about.len()),
        patience,
        has_begun: false,
    })
}

fn flags() -> i32 {
    (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed()
}

impl InputFile {
    /// Bytes of a regular file; `None` of a pipe.
    pub fn len(&self) -> Option<u64> {
        self.len
    }

    /// Whether it is a regular file without content.
    pub fn is_empty(&self) -> bool {
        self.len == Some(0)
    }

    /// Waits until something can be read, or the last writer has gone.
    fn wait(&self) -> io::Result<()> {
        let timeout = Timespec {
            tv_sec: self.patience.as_secs().cast_signed(),
            tv_nsec: self.patience.subsec_nanos().into(),
        };
        let mut polled = [PollFd::new(&self.file, PollFlags::IN)];
        loop {
            match poll(&mut polled, Some(&timeout)) {
                Ok(0) => {
                    let text = format!(
                        "no data arrived on this pipe for {} s",
                        self.patience.as_secs()
                    );
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Read for InputFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match rustix::io::read(self.file.as_fd(), &mut *buffer) {
                // Nobody has opened the pipe for writing so far.
                Ok(0) if self.len.is_none() && !self.has_begun => {
                    self.wait()?;
                    self.has_begun = true;
                }
                Ok(len) => {
                    self.has_begun = true;
                    return Ok(len);
                }
                Err(rustix::io::Errno::AGAIN) => {
                    self.wait()?;
                    self.has_begun = true;
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    const SOON: Duration = Duration::from_millis(50);

    fn pipe(folder: &Path) -> std::path::PathBuf {
        let path = folder.join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        path
    }

    #[test]
    fn what_never_ends_or_never_begins_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (path, expected) in [
            (Path::new("/dev/zero"), "a device"),
            (Path::new("/dev/null"), "a device"),
            (folder.path(), "directory"),
        ] {
            let error = open(path, SOON).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
        let path = pipe(folder.path());
        let error = open(&path, SOON).unwrap().read(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_pipe_is_read_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = pipe(folder.path());
        let mut reading = open(&path, Duration::from_mins(1)).unwrap();
        let writer = std::thread::spawn(move || {
            let mut file = OpenOptions::new().write(true).open(path).unwrap();
            file.write_all(&vec![7; 200_000]).unwrap();
        });
        let mut read = Vec::new();
        reading.read_to_end(&mut read).unwrap();
        assert_eq!(read, vec![7; 200_000]);
        writer.join().unwrap();
    }
}
