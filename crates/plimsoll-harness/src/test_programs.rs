//! Programs that the tests start, and their Debian packages: `test-programs.toml`.

use anyhow::Result;

use crate::packages::see_to_all;

const TOOLS: &str = include_str!("../test-programs.toml");

/// Installs missing programs, or fails with one line that lists them.
///
/// # Errors
///
/// If programs are missing, and this process may not install them or the installation fails.
pub fn install() -> Result<()> {
    see_to_all(&toml::from_str(TOOLS)?)
}
