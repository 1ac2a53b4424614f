//! Data files of benchmarks and case studies: TOML, read into types that name every field.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use serde::de::DeserializeOwned;

/// Reads a file below the root of the repository.
///
/// # Errors
///
/// If it cannot be read, or does not fit the type: with file, line, and the valid words.
pub fn read<T: DeserializeOwned>(root: &Path, path: &str) -> Result<T> {
    let text = std::fs::read_to_string(root.join(path))
        .with_context(|| format!("cannot read {path}: it is part of the repository"))?;
    toml::from_str(&text).map_err(|error| anyhow!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn errors_name_file_and_line() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.toml"), "x = 1\ny = \"no\"\n").unwrap();
        let error = read::<BTreeMap<String, u32>>(folder.path(), "a.toml").unwrap_err();
        assert!(error.to_string().starts_with("a.toml: "), "{error}");
        assert!(error.to_string().contains("line 2"), "{error}");
        let error = read::<BTreeMap<String, u32>>(folder.path(), "b.toml").unwrap_err();
        assert!(error.to_string().contains("b.toml"), "{error}");
    }
}
