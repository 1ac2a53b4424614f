//! Output files: runs, reports, tables. They hold data of a service that not every user of the machine should read.
//!
//! A new file can be read by its owner and its group (0640), a new folder be entered by them (0750), however permissive
//! the umask is; a stricter umask holds. An existing file keeps its mode.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Mode of new files.
const FILE_MODE: u32 = 0o640;
/// Mode of new folders.
const FOLDER_MODE: u32 = 0o750;

/// Makes a folder, and those above it.
///
/// # Errors
/// When one of them cannot be made.
pub fn create_folder(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(path)
}

/// Makes a file that is appended to; there must be none, and no link.
///
/// # Errors
/// When something is there, or it cannot be made.
pub fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(FILE_MODE)
        .open(path)
}

/// Makes a file, or empties the one that is there.
///
/// # Errors
/// When it cannot be made.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(FILE_MODE)
        .open(path)
}

/// Writes a file, or truncates an existing one.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    create(path)?.write_all(content)
}

/// Writes a file atomically, and creates its folder.
///
/// # Errors
/// When it cannot be written; an existing file is unchanged then.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let temporary = path.with_file_name(name);
    let written = write_beside(&temporary, path, content);
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_beside(temporary: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    // A leftover of a killed run, or a planted link: neither is written through.
    match fs::remove_file(temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = create_new(temporary)?;
    if let Ok(there) = fs::metadata(path)
        && there.is_file()
    {
        file.set_permissions(there.permissions())?;
    }
    file.write_all(content)?;
    fs::rename(temporary, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_file_that_is_there_keeps_its_mode_and_links_are_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let report = folder.path().join("a/report.html");
        write_whole(&report, b"one").unwrap();
        assert_eq!(mode(&report) & !0o640, 0);
        fs::set_permissions(&report, fs::Permissions::from_mode(0o604)).unwrap();
        let other = folder.path().join("other");
        fs::write(&other, "untouched").unwrap();
        symlink(&other, folder.path().join("a/report.html.part")).unwrap();
        write_whole(&report, b"two").unwrap();
        assert_eq!(
            (mode(&report), fs::read(&report).unwrap()),
            (0o604, b"two".to_vec())
        );
        assert_eq!(fs::read(&other).unwrap(), b"untouched");
        assert!(create_new(&report).is_err(), "nothing is overwritten");
        write(&report, b"three").unwrap();
        assert_eq!(
            (mode(&report), fs::read(&report).unwrap()),
            (0o604, b"three".to_vec())
        );
    }
}
