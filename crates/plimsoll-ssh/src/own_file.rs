//! The file of a program that was sent.

use std::path::Path;

/// Begin of the names of programs that are sent.
pub(crate) const FILE_NAME: &str = "plimsoll-sent.";

/// Removes the file of this program where it was sent over `ssh`: a program that runs does not need it, and whatever ends it,
/// nothing is left. Another program's file is left alone.
pub fn remove_own_file() {
    if let Ok(program) = std::env::current_exe()
        && is_sent(&program)
    {
        // It may have been removed already.
        let _ = std::fs::remove_file(program);
    }
}

fn is_sent(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(FILE_NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_program_stays() {
        assert!(is_sent(Path::new("/tmp/plimsoll-sent.a1B2c3D4")));
        for path in ["/usr/bin/plimsoll", "/tmp/plimsoll-sent.x/plimsoll", "/"] {
            assert!(!is_sent(Path::new(path)), "{path}");
        }
    }
}
