//! Files that are written from templates, and put back byte for byte.
//!
//! A file is written in place, so that its owner, its links and a mount on it stay. Its content before is copied into the
//! folder of the experiment first, and the copy is on disk before the file is touched.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use plimsoll_model::experiment::TemplateFile;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::applied::{Applied, ContentMark, FileBefore, WrittenFile};
use super::command::CommandSpec;
use super::fault::{ApplyFault, ApplyFaultKind};
use super::processes;
use super::stage::{Reversal, Stage};

/// Longest file that is replaced, bytes.
const FILE_LEN_MAX: u64 = 64 << 20;
/// How names of copies begin.
const COPY_PREFIX: &str = "before-";
/// How names of contents begin that somebody else wrote meanwhile.
const FOUND_PREFIX: &str = "found-";

/// Writes a file of a setup, and makes the service read it.
pub(super) fn apply(
    stage: &mut Stage,
    cell: usize,
    (setup, index): (usize, usize),
) -> Result<(), ApplyFault> {
    let experiment = std::sync::Arc::clone(&stage.experiment);
    let template = &experiment.setups[setup].files[index];
    let path = stage.path(&template.to);
    let lines = template.lines.iter();
    let content: String = lines.filter_map(|line| stage.text(cell, line)).collect();
    let fault = |error: io::Error| {
        ApplyFault::new(
            ApplyFaultKind::File,
            path.display().to_string(),
            format!("the file is not written: {error}"),
            "valid: a regular file of at most 64 MiB, or none, in a folder that exists and may be written to",
        )
    };
    let before = copy_of(stage, &path).map_err(fault)?;
    let written = WrittenFile {
        path: path.clone(),
        cell,
        setup,
        index,
        written: ContentMark::of(content.as_bytes()),
        before,
    };
    let entry = stage.journal.add(Applied::File(written.clone()), true)?;
    let file = match open_reserved(&written, content.len() as u64) {
        Ok(file) => file,
        Err(error) => {
            // Then it is as it was.
            stage.journal.reverted(entry);
            return Err(fault(error));
        }
    };
    fill(&file, content.as_bytes()).map_err(fault)?;
    if let Err(refused) = check(stage, &written, template) {
        // The service has not read it, and need not read it again.
        if restore(&stage.context.folder, &written).is_ok() {
            stage.journal.reverted(entry);
        }
        return Err(refused);
    }
    reload(stage, cell, setup, template)
}

/// Lets the service's own check judge a file before the service reads it.
fn check(stage: &mut Stage, file: &WrittenFile, template: &TemplateFile) -> Result<(), ApplyFault> {
    let Some(command) = &template.check else {
        return Ok(());
    };
    let words = stage.words(file.cell, &command.words);
    let output = stage.output(&format!("check-{}-{}", file.setup + 1, file.index + 1));
    let base = stage.context.base.clone();
    let spec = CommandSpec {
        words: &words,
        unset: &[],
        folder: &base,
        within: command.within,
        output: &output,
    };
    let place = format!("check of {}", template.to);
    stage
        .run_command(&spec)
        .map_err(|failure| failure.fault(ApplyFaultKind::Check, &place, &output))
}

/// Makes a running service read a file. One that is started here reads it when it starts.
fn reload(
    stage: &mut Stage,
    cell: usize,
    setup: usize,
    template: &TemplateFile,
) -> Result<(), ApplyFault> {
    let Some(command) = &template.reload else {
        return Ok(());
    };
    if !stage.experiment.setups[setup].command.is_empty() {
        return Ok(());
    }
    let words = stage.words(cell, &command.words);
    let output = stage.output(&format!("reload-{}", setup + 1));
    let base = stage.context.base.clone();
    let spec = CommandSpec {
        words: &words,
        unset: &[],
        folder: &base,
        within: command.within,
        output: &output,
    };
    let place = format!("reload of {}", template.to);
    stage
        .run_command(&spec)
        .map_err(|failure| failure.fault(ApplyFaultKind::File, &place, &output))
}

/// Copies a file into the folder of the experiment; `None` when there is no file.
fn copy_of(stage: &Stage, path: &Path) -> io::Result<Option<FileBefore>> {
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A dangling link would be written through, and could not be put back.
            return if fs::symlink_metadata(path).is_ok() {
                Err(io::Error::other("it is a link to nothing"))
            } else {
                Ok(None)
            };
        }
        Err(error) => return Err(error),
    };
    let content = content_of(path)?;
    let copy = format!("{COPY_PREFIX}{}", processes::token()?);
    keep(&stage.context.folder.join(&copy), &content)?;
    Ok(Some(FileBefore {
        copy,
        mark: Some(ContentMark::of(&content)),
        mode: about.mode() & 0o7777,
        owner: about.uid(),
        group: about.gid(),
        modified: about.modified()?,
    }))
}

/// The content of a regular file.
fn content_of(path: &Path) -> io::Result<Vec<u8>> {
    let about = fs::metadata(path)?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut content = Vec::new();
    File::open(path)?
        .take(FILE_LEN_MAX + 1)
        .read_to_end(&mut content)?;
    if content.len() as u64 > FILE_LEN_MAX {
        return Err(io::Error::other("it is longer than 64 MiB"));
    }
    Ok(content)
}

/// Writes a file that only we may read; it is on disk when this returns.
fn keep(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Opens and empties a file that will have `len` bytes. Room for these and for the content before is reserved first: what is
/// on a full disk must be put back. After an error the file is as it was.
fn open_reserved(file: &WrittenFile, len: u64) -> io::Result<File> {
    let opened = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&file.path)?;
    let mark = file.before.as_ref().and_then(|before| before.mark);
    let room = len.max(mark.map_or(0, |mark| mark.len));
    if let Err(error) = reserve(&opened, room) {
        if file.before.is_none() {
            fs::remove_file(&file.path)?;
        }
        return Err(error);
    }
    opened.set_len(0)?;
    // Emptied, it has given its room away.
    reserve(&opened, room)?;
    Ok(opened)
}

/// Keeps room for a file, whose length stays. File systems that cannot do so are trusted.
fn reserve(file: &File, len: u64) -> io::Result<()> {
    if len == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, len) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT)) => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn open_emptied(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
}

fn fill(mut file: &File, content: &[u8]) -> io::Result<()> {
    file.write_all(content)?;
    file.sync_all()
}

/// Puts a file back, if the experiment names it.
pub(super) fn put_back(
    stage: &mut Stage,
    file: &WrittenFile,
    reversal: &mut Reversal,
) -> Result<(), ApplyFault> {
    let folder = stage.context.folder.clone();
    let experiment = std::sync::Arc::clone(&stage.experiment);
    let template = experiment
        .setups
        .get(file.setup)
        .and_then(|setup| setup.files.get(file.index))
        .filter(|template| stage.path(&template.to) == file.path);
    let journal = stage.journal.path().to_owned();
    let stays = |problem: String| {
        let by_hand = match &file.before {
            None => "delete it".to_owned(),
            Some(before) => format!("copy {} over it", folder.join(&before.copy).display()),
        };
        ApplyFault::new(
            ApplyFaultKind::NotRestored,
            file.path.display().to_string(),
            problem,
            format!("{by_hand}, then delete {}", journal.display()),
        )
    };
    let Some(template) = template else {
        return Err(stays("the experiment does not name this file".to_owned()));
    };
    let put_back = || -> io::Result<Option<PathBuf>> {
        let found = keep_foreign(&folder, file)?;
        restore(&folder, file)?;
        Ok(found)
    };
    let found = put_back().map_err(|error| stays(format!("it is not put back: {error}")))?;
    let path = file.path.display();
    reversal.restored.push(match found {
        None => format!("the file {path} changed"),
        Some(found) => {
            let kept = format!("that content is kept as {}", found.display());
            let note = format!("{path} was changed by something else during the trial; {kept}");
            reversal.notes.push(note);
            format!("the file {path} changed, and by something else as well: {kept}")
        }
    });
    reload(stage, file.cell, file.setup, template).map_err(|fault| {
        ApplyFault::new(
            ApplyFaultKind::NotRestored,
            fault.place().to_owned(),
            format!("the file is put back, and the service has not read it: {fault}"),
            "start the service if it is gone, else make it read the file; the same command then goes on",
        )
    })
}

/// Keeps a content that is neither ours nor that from before; returns where.
fn keep_foreign(folder: &Path, file: &WrittenFile) -> io::Result<Option<PathBuf>> {
    let content = match content_of(&file.path) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if content.is_empty() || ContentMark::of(&content) == file.written {
        return Ok(None);
    }
    if let Some(before) = &file.before
        && fs::read(folder.join(&before.copy))?.starts_with(&content)
    {
        return Ok(None);
    }
    let path = folder.join(format!("{FOUND_PREFIX}{}", processes::token()?));
    keep(&path, &content)?;
    Ok(Some(path))
}

fn restore(folder: &Path, file: &WrittenFile) -> io::Result<()> {
    let Some(before) = &file.before else {
        return match fs::remove_file(&file.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        };
    };
    let copy = folder.join(&before.copy);
    // Read before the file is emptied.
    let content = fs::read(&copy)?;
    let is_whole = before
        .mark
        .is_none_or(|mark| mark == ContentMark::of(&content));
    if !is_whole {
        return Err(io::Error::other("its copy was changed"));
    }
    let restored = open_emptied(&file.path)?;
    fill(&restored, &content)?;
    let about = fs::metadata(&file.path)?;
    if (about.uid(), about.gid()) != (before.owner, before.group) {
        chown(&file.path, Some(before.owner), Some(before.group))?;
    }
    fs::set_permissions(&file.path, Permissions::from_mode(before.mode))?;
    restored.set_modified(before.modified)?;
    restored.sync_all()?;
    verify(&file.path, &content, before)
}

/// Whether a file is as it was before.
fn verify(path: &Path, content: &[u8], before: &FileBefore) -> io::Result<()> {
    let about = fs::metadata(path)?;
    let is_equal = content_of(path)? == content
        && about.mode() & 0o7777 == before.mode
        && (about.uid(), about.gid()) == (before.owner, before.group);
    if is_equal {
        Ok(())
    } else {
        Err(io::Error::other("something else writes to it"))
    }
}

/// Removes copies that nothing needs any more.
pub(super) fn remove_copies(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten();
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(COPY_PREFIX) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
