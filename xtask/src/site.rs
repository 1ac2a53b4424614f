//! `cargo xtask site`: the documentation as a site, by mdBook.
//!
//! The pages are staged with the layout of the repository, so that every link between files of the repository is also one of
//! the site.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use plimsoll_harness::step::execute;
use plimsoll_harness::workspace::{Workspace, cargo};

use crate::markdown;

/// Builds the pages; its tests are those of its own project.
const MDBOOK_VERSION: &str = "0.5.4";

/// What is staged, beside the pages at the root: folders of pages, and those of files that pages link to.
const FOLDERS: [&str; 5] = ["benchmarks", "cases", "docs", "integrations", "packaging"];

/// The chapter of the summary below which the decisions are listed.
const DECISIONS: &str = "decisions/README.md";

/// Pages that mdBook makes without a page of ours.
const MADE: [&str; 3] = ["404.html", "print.html", "toc.html"];

/// Installs mdBook if needed, builds the site, and checks its links.
pub(crate) fn build() -> Result<()> {
    let workspace = Workspace::find()?;
    let mdbook = install(&workspace)?;
    let site = workspace.target().join("site");
    stage(&workspace, &site)?;
    execute(
        Command::new(mdbook)
            .arg("build")
            .arg(&site)
            .stdin(Stdio::null()),
    )?;
    let book = site.join("book");
    let count = check(&book)?;
    println!("{count} pages: {}", book.join("index.html").display());
    Ok(())
}

fn install(workspace: &Workspace) -> Result<PathBuf> {
    let root = workspace.target().join("tools/mdbook");
    execute(
        cargo()
            .args(["install", "mdbook", "--locked", "--quiet"])
            .args(["--version", MDBOOK_VERSION])
            // Neither the server nor the watcher of files.
            .args(["--no-default-features", "--features", "search"])
            .arg("--root")
            .arg(&root)
            .env("CARGO_PROFILE_RELEASE_LTO", "off")
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
            .stdin(Stdio::null()),
    )
    .context("missing: mdBook, which cargo installs")?;
    Ok(root.join("bin/mdbook"))
}

/// Copies the pages and the files that they link to, and writes the summary of the whole.
fn stage(workspace: &Workspace, site: &Path) -> Result<()> {
    if site.exists() {
        fs::remove_dir_all(site).with_context(|| format!("cannot empty {}", site.display()))?;
    }
    let output = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(workspace.root())
        .output()
        .context("cannot run git, which lists the pages")?;
    ensure!(output.status.success(), "git ls-files failed");
    let listed = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    let files: Vec<&str> = listed.split('\0').filter(|path| is_staged(path)).collect();
    for path in &files {
        let from = workspace.root().join(path);
        let to = site.join("src").join(index(path));
        let folder = to.parent().context("a file has a folder")?;
        fs::create_dir_all(folder)?;
        if !from.exists() {
            // Deleted and not committed yet.
        } else if has_ending(path, "md") {
            fs::write(&to, with_indexes(&fs::read_to_string(&from)?))?;
        } else {
            fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
        }
    }
    let docs = workspace.root().join("docs");
    fs::copy(docs.join("book.toml"), site.join("book.toml")).context("docs/book.toml")?;
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).context("docs/SUMMARY.md")?;
    let decisions = decisions(workspace, &files)?;
    fs::write(
        site.join("src/SUMMARY.md"),
        staged_summary(&summary, &decisions),
    )?;
    Ok(())
}

fn is_staged(path: &str) -> bool {
    match path.split_once('/') {
        None => has_ending(path, "md") || path == "LICENSE",
        Some((folder, _)) => FOLDERS.contains(&folder) && path != "docs/SUMMARY.md",
    }
}

/// Links of a page with the page of each folder under the name that servers show by themselves.
fn with_indexes(text: &str) -> String {
    let mut parts = text.split("](");
    let mut page = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (target, rest) = part.split_once(')').unwrap_or((part, ""));
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        page.push_str("](");
        page.push_str(&index(path));
        if !anchor.is_empty() {
            page.push('#');
            page.push_str(anchor);
        }
        if part.contains(')') {
            page.push(')');
            page.push_str(rest);
        }
    }
    page
}

/// A path, with `index.md` for `README.md`.
fn index(path: &str) -> String {
    match path.strip_suffix("README.md") {
        Some(folder) if folder.is_empty() || folder.ends_with('/') => format!("{folder}index.md"),
        _ => path.to_owned(),
    }
}

fn has_ending(path: &str, ending: &str) -> bool {
    path.rsplit_once('.')
        .is_some_and(|(_, found)| found == ending)
}

/// Path and title of each decision, in their order.
fn decisions(workspace: &Workspace, files: &[&str]) -> Result<Vec<(String, String)>> {
    let paths: BTreeSet<&&str> = files
        .iter()
        .filter(|path| path.starts_with("docs/decisions/0"))
        .collect();
    let mut decisions = Vec::new();
    for path in paths {
        let text = fs::read_to_string(workspace.root().join(path))
            .with_context(|| format!("cannot read {path}"))?;
        let title = markdown::title(&text).with_context(|| format!("{path} has no heading"))?;
        decisions.push(((*path).to_owned(), title));
    }
    Ok(decisions)
}

/// The summary with paths from the root of the repository, and the decisions below their chapter.
fn staged_summary(summary: &str, decisions: &[(String, String)]) -> String {
    let mut staged = String::new();
    for line in summary.lines() {
        let rooted = line.replace("](", "](docs/").replace("](docs/../", "](");
        let _ = writeln!(staged, "{}", with_indexes(&rooted));
        if line.contains(DECISIONS) {
            for (path, title) in decisions {
                let title = title.replace(['[', ']'], "");
                let _ = writeln!(staged, "  - [{title}]({path})");
            }
        }
    }
    staged
}

/// Follows the links of all pages, and fails with those that lead nowhere; the number of pages.
fn check(book: &Path) -> Result<usize> {
    let pages = pages(book)?;
    let mut broken = Vec::new();
    for page in &pages {
        let html = fs::read_to_string(page)?;
        let folder = page.parent().unwrap_or(book);
        for link in targets(&html) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() {
                page.clone()
            } else {
                plain(&folder.join(path))
            };
            let name = || {
                page.strip_prefix(book)
                    .unwrap_or(page)
                    .display()
                    .to_string()
            };
            if !target.exists() {
                broken.push(format!("{}: {link}", name()));
            } else if !anchor.is_empty() && target.extension().is_some_and(|it| it == "html") {
                let there = fs::read_to_string(&target)?;
                if !there.contains(&format!("id=\"{anchor}\"")) {
                    broken.push(format!("{}: {link}", name()));
                }
            }
        }
    }
    broken.dedup();
    if !broken.is_empty() {
        bail!("links that lead nowhere:\n{}", broken.join("\n"));
    }
    Ok(pages.len())
}

/// The pages below a folder, without those that only mdBook has.
fn pages(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?
    {
        let entry = entry?;
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            found.extend(pages(&path)?);
        } else if has_ending(&name, "html") && !MADE.contains(&name.as_str()) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Targets of links, scripts, styles and images inside the site, but not those in code.
fn targets(html: &str) -> impl Iterator<Item = &str> {
    html.split("<code")
        .enumerate()
        .map(|(index, part)| match index {
            0 => part,
            _ => part.split_once("</code>").map_or("", |(_, rest)| rest),
        })
        .flat_map(|part| {
            ["href=\"", "src=\""]
                .into_iter()
                .flat_map(move |attribute| part.split(attribute).skip(1))
        })
        .filter_map(|rest| rest.split('"').next())
        .filter(|target| !target.is_empty() && !target.contains(':') && !target.starts_with("//"))
        .map(|target| target.split('?').next().unwrap_or(target))
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_that_of_the_whole_repository() {
        let decisions = [(
            "docs/decisions/0001-x.md".to_owned(),
            "0001. [X]".to_owned(),
        )];
        let summary = "[P](../README.md)\n- [A](a.md)\n- [Decisions](decisions/README.md)\n";
        assert_eq!(
            staged_summary(summary, &decisions),
            "[P](index.md)\n- [A](docs/a.md)\n- [Decisions](docs/decisions/index.md)\n  - [0001. X](docs/decisions/0001-x.md)\n"
        );
    }

    #[test]
    fn links_that_lead_nowhere_are_named() {
        let book = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(book.path().join(name), text).unwrap();
        put(
            "a.html",
            "<a href=\"b.html#x\"></a><a href=\"https://example.org/\"></a><img src=\"./c.png\"><code><a href=\"z\"></code>",
        );
        put("b.html", "<h2 id=\"x\">x</h2><a href=\"#x\"></a>");
        put("c.png", "");
        assert_eq!(check(book.path()).unwrap(), 2);
        put("d.html", "<a href=\"b.html#y\"></a><a href=\"e.html\"></a>");
        let error = check(book.path()).unwrap_err().to_string();
        assert_eq!(
            error,
            "links that lead nowhere:\nd.html: b.html#y\nd.html: e.html"
        );
    }
}
