//! Texts of the files that processes name, and of those that these include.

use crate::files::Files;

/// Files that a pattern matches at most.
const INCLUDED_MAX: usize = 256;

/// The text of a file in the process's root. A failure is noted, unless the file is missing or not readable.
pub(crate) fn text_for(files: &mut Files, pid: u32, path: &str) -> Option<String> {
    let read = files.text_of(pid, path);
    or_announce(files, pid, path, read)
}

/// The same of a file that is named relative to the folder in which the process runs.
pub(crate) fn text_beside(files: &mut Files, pid: u32, path: &str) -> Option<String> {
    let read = files.text_beside(pid, path);
    or_announce(files, pid, path, read)
}

/// The same of a file that is named by its whole path, or relative to that folder.
pub(crate) fn text_named(files: &mut Files, pid: u32, path: &str) -> Option<String> {
    if path.starts_with('/') {
        text_for(files, pid, path)
    } else {
        text_beside(files, pid, path)
    }
}

fn or_announce<T>(
    files: &mut Files,
    pid: u32,
    path: &str,
    read: Result<T, crate::untrusted::OpenError>,
) -> Option<T> {
    match read {
        Ok(read) => Some(read),
        Err(error) => {
            if !error.is_plain() {
                // Of many files that a process names, one represents all failures of the same kind.
                files.announce(
                    &format!("not read {pid} {error}"),
                    &format!("{path}, named by pid {pid}, was not read: {error}"),
                );
            }
            None
        }
    }
}

/// Names and texts of the files that match a pattern with `*` or `?` in its last component.
pub(crate) fn texts_for(files: &mut Files, pid: u32, pattern: &str) -> Vec<(String, String)> {
    let (folder, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
    if !name.contains(['*', '?']) {
        let text = text_for(files, pid, pattern);
        return text
            .map(|text| (pattern.to_owned(), text))
            .into_iter()
            .collect();
    }
    let names = files.names_of(pid, folder);
    let mut found = or_announce(files, pid, folder, names).unwrap_or_default();
    found.retain(|have| matches(name.as_bytes(), have.as_bytes()));
    found.sort_unstable();
    if found.len() > INCLUDED_MAX {
        files.announce(
            &format!("many files {pid}"),
            &format!(
                "{pattern}, named by pid {pid}, matches {} files: only the first {INCLUDED_MAX} are read",
                found.len()
            ),
        );
    }
    let paths = found
        .into_iter()
        .take(INCLUDED_MAX)
        .map(|have| format!("{folder}/{have}"));
    paths
        .filter_map(|path| Some((path.clone(), text_for(files, pid, &path)?)))
        .collect()
}

/// Whether a name fits a pattern with `*` and `?`, in as many steps at most as both have bytes, multiplied.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    // Position of the last star, and the end of its match in the name.
    let mut star: Option<(usize, usize)> = None;
    while from < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(&byte) if byte == b'?' || byte == name[from] => {
                at += 1;
                from += 1;
            }
            // The last star must match more.
            _ => match star {
                Some((place, taken)) => {
                    star = Some((place, taken + 1));
                    at = place + 1;
                    from = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_names() {
        let fit = |pattern: &str, name: &str| matches(pattern.as_bytes(), name.as_bytes());
        for (pattern, name) in [
            ("*.conf", "a.conf"),
            ("*.conf", ".conf"),
            ("a?c*", "abc"),
            ("*a*b*", "xxaxxbxx"),
            ("**", ""),
            ("", ""),
        ] {
            assert!(fit(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("*.conf", "a.conf~"), ("?", ""), ("a*b", "ac"), ("", "a")] {
            assert!(!fit(pattern, name), "{pattern} {name}");
        }
        // A backtracking search over all stars would never end here.
        let pattern = format!("{}b", "*a".repeat(120));
        assert!(!fit(&pattern, &"a".repeat(255)));
    }
}
