//! Required tests that the edge need not pass, each with its reason: `docs/cache-exceptions.md`.
//!
//! Tests of the packaged edition that a newer one changed are under a separate heading, and are exceptions for the packaged
//! edition only: with a checkout, they must pass, or not be required any more.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};

pub(super) const PAGE: &str = "docs/cache-exceptions.md";

/// Maximum number of exceptions.
const COUNT_MAX: usize = 5;
/// Heading of tests that a newer edition changed.
const OTHERWISE: &str = "## Asked otherwise by the newest edition";

/// Tests by their ids, with the reasons.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Exceptions(Vec<(String, String)>);

impl Exceptions {
    /// Reads the page, for the packaged edition or a checkout; where there is none, there are none.
    pub(super) fn find(root: &Path, is_checkout: bool) -> Result<Self> {
        let path = root.join(PAGE);
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
        Self::read(&text, is_checkout)
    }

    /// Reads lines such as ``- `test-id`: reason``, which may go on in lines that are indented.
    fn read(text: &str, is_checkout: bool) -> Result<Self> {
        let (text, otherwise) = text.split_once(OTHERWISE).unwrap_or((text, ""));
        let mut all = Self::entries(text)?;
        ensure!(
            all.len() <= COUNT_MAX,
            "{PAGE} lists {} exceptions, at most {COUNT_MAX} are valid: mend some",
            all.len()
        );
        if !is_checkout {
            all.extend(Self::entries(otherwise)?);
        }
        Ok(Self(all))
    }

    fn entries(text: &str) -> Result<Vec<(String, String)>> {
        let mut all: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("- `") {
                let Some((id, reason)) = rest.split_once("`: ") else {
                    bail!("{PAGE}: `{line}` is not an exception; write - `test-id`: reason");
                };
                all.push((id.to_owned(), reason.trim().to_owned()));
            } else if let (Some(more), Some((_, reason))) =
                (line.strip_prefix("  "), all.last_mut())
            {
                reason.push(' ');
                reason.push_str(more.trim());
            }
        }
        Ok(all)
    }

    pub(super) fn reason(&self, id: &str) -> Option<&str> {
        let (_, reason) = self.0.iter().find(|(known, _)| known == id)?;
        Some(reason)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(id, _)| id.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_reasons_of_several_lines() {
        let text = "# Exceptions\n\nText with `code`.\n\n- `a-b`: because\n  it is so\n- `c`: why not\n\nAfter.\n";
        let exceptions = Exceptions::read(text, false).unwrap();
        assert_eq!(exceptions.reason("a-b"), Some("because it is so"));
        assert_eq!(exceptions.reason("c"), Some("why not"));
        assert_eq!(exceptions.reason("d"), None);
        assert_eq!(exceptions.ids().count(), 2);
    }

    #[test]
    fn an_exception_needs_a_reason_and_is_rare() {
        assert!(Exceptions::read("- `a`\n", false).is_err());
        let many = "- `a`: b\n".repeat(6);
        assert!(Exceptions::read(&many, false).is_err());
    }

    #[test]
    fn what_is_asked_otherwise_excuses_nothing_in_a_checkout() {
        let text = format!("- `a`: b\n\n{OTHERWISE}\n\n{}", "- `c`: d\n".repeat(6));
        let packaged = Exceptions::read(&text, false).unwrap();
        assert_eq!(packaged.reason("c"), Some("d"));
        let newest = Exceptions::read(&text, true).unwrap();
        assert_eq!((newest.reason("a"), newest.reason("c")), (Some("b"), None));
    }
}
