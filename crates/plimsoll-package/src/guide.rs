//! Commands of docs/guides/installing.md: the checks execute them as they are printed.

use anyhow::{Context as _, Result, ensure};

use crate::release::Release;

const GUIDE: &str = "docs/guides/installing.md";

/// The lines of the first block of commands below a heading.
pub(crate) fn commands(release: &Release, heading: &str) -> Result<String> {
    let text = std::fs::read_to_string(release.workspace.root().join(GUIDE))
        .with_context(|| format!("cannot read {GUIDE}"))?;
    let commands = parse(&text, heading)
        .with_context(|| format!("{GUIDE} has no block `sh` below `## {heading}`"))?;
    ensure!(
        !commands.contains("plimsoll-0.") && !commands.contains("plimsoll_0.")
            || commands.contains(&release.version),
        "{GUIDE} names another version than {} below `## {heading}`",
        release.version
    );
    Ok(commands)
}

fn parse(text: &str, heading: &str) -> Option<String> {
    let mark = format!("\n## {heading}\n");
    let section = text.split_once(&mark)?.1;
    let section = section.split("\n## ").next()?;
    let block = section.split_once("```sh\n")?.1;
    Some(block.split_once("\n```")?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../../../docs/guides/installing.md");

    #[test]
    fn every_package_has_its_commands_of_this_version() {
        for heading in [
            "Verify the files",
            "The archive",
            "Debian and Ubuntu",
            "npm",
            "pip",
            "Container image",
            "Kubernetes",
        ] {
            let commands = parse(TEXT, heading).unwrap_or_else(|| panic!("{heading}"));
            assert!(!commands.is_empty(), "{heading}");
        }
        let version = env!("CARGO_PKG_VERSION");
        for name in [
            format!("plimsoll-{version}-x86_64-linux.tar.gz"),
            format!("plimsoll_{version}-1_amd64.deb"),
            format!("plimsoll-{version}.tgz"),
            format!("plimsoll-{version}-image.tar"),
            format!("plimsoll-edge-{version}.tgz"),
            format!("plimsoll-agent-{version}.tgz"),
        ] {
            assert!(
                TEXT.contains(&name),
                "docs/guides/installing.md lacks {name}"
            );
        }
    }

    #[test]
    fn the_block_below_its_heading_is_found() {
        let text = "# A\n\n## npm\n\nText.\n\n```sh\nnpx a\nnpx b\n```\n\n## pip\n\n```sh\npip c\n```\n\n## none\n";
        assert_eq!(parse(text, "npm").as_deref(), Some("npx a\nnpx b"));
        assert_eq!(parse(text, "pip").as_deref(), Some("pip c"));
        assert_eq!(parse(text, "none"), None);
        assert_eq!(parse(text, "n"), None);
    }
}
