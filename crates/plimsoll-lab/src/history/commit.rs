//! The commit of a working folder, read from the files of git: no program is started.

use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

/// Longest `HEAD`, reference or `.git` file, bytes.
const REFERENCE_LEN_MAX: u64 = 4 << 10;
/// Longest `packed-refs`, bytes.
const PACKED_LEN_MAX: u64 = 64 << 20;
/// Folders above the working folder that are looked into.
const FOLDERS_MAX: usize = 64;

/// The commit that is checked out in the repository of `folder`; `None` outside of one, and before its first commit.
pub fn head_commit(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let git = folder
        .ancestors()
        .take(FOLDERS_MAX)
        .find_map(|folder| git_folder(&folder.join(".git")))?;
    let head = bounded(&git.join("HEAD"), REFERENCE_LEN_MAX)?;
    let head = head.trim();
    let Some(reference) = head.strip_prefix("ref:").map(str::trim) else {
        return commit_id(head);
    };
    if !is_reference(reference) {
        return None;
    }
    // A further worktree shares the references of its repository.
    let shared = bounded(&git.join("commondir"), REFERENCE_LEN_MAX)
        .map_or_else(|| git.clone(), |shared| git.join(shared.trim()));
    let loose = [&git, &shared].into_iter().find_map(|folder| {
        let text = bounded(&folder.join(reference), REFERENCE_LEN_MAX)?;
        commit_id(text.trim())
    });
    loose.or_else(|| packed(&shared.join("packed-refs"), reference))
}

/// The folder of git behind a `.git`, which is a folder, or a file that names it.
fn git_folder(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.to_owned());
    }
    let text = bounded(path, REFERENCE_LEN_MAX)?;
    let named = text.strip_prefix("gitdir:")?.trim();
    Some(path.parent()?.join(named))
}

/// Whether a name stays inside of the folder of git.
fn is_reference(name: &str) -> bool {
    name.starts_with("refs/")
        && Path::new(name)
            .components()
            .all(|component| matches!(component, Component::Normal(_)))
}

fn packed(path: &Path, reference: &str) -> Option<String> {
    let text = bounded(path, PACKED_LEN_MAX)?;
    text.lines().find_map(|line| {
        let (id, name) = line.split_once(' ')?;
        (name.trim() == reference).then(|| commit_id(id)).flatten()
    })
}

fn bounded(path: &Path, len_max: u64) -> Option<String> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(len_max + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= len_max).then_some(text)
}

/// A full id of SHA-1 or SHA-256.
fn commit_id(text: &str) -> Option<String> {
    let is_id = [40, 64].contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| text.to_ascii_lowercase())
}
