//! The newspaper's servers: the articles, the site, and the edge in front; started in order, stopped together.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use plimsoll_harness::running::RunningServer;
use plimsoll_harness::template::Values;

use crate::case::Case;

/// Articles that the site has; the feed asks for one after the other.
const ARTICLES: u32 = 10_000;

/// How the site is to be started.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewspaperSettings {
    /// The core of all that render; all cores if there is none.
    pub(super) core: Option<usize>,
    /// Processes that render.
    pub(super) workers: u8,
    /// Elements of a page.
    pub(super) nodes: u16,
}

impl NewspaperSettings {
    pub(super) fn values(self) -> Values {
        let values = Values::default().with("workers", self.workers);
        values.with("nodes", self.nodes)
    }
}

/// The running site. Ends when dropped, its folder last.
pub(super) struct NewspaperStack<'a> {
    case: &'a Case,
    site: RunningServer,
    articles: RunningServer,
    folder: tempfile::TempDir,
}

/// The running articles. Ends when dropped, its folder last.
pub(super) struct NewspaperArticles {
    server: RunningServer,
    _folder: tempfile::TempDir,
}

impl NewspaperArticles {
    pub(super) fn url(&self) -> String {
        self.server.url()
    }
}

impl<'a> NewspaperStack<'a> {
    /// Starts the articles and the site.
    pub(super) fn start(case: &'a Case, settings: NewspaperSettings) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("newspaper-").tempdir()?;
        let values = settings.values();
        let articles = case.start(("articles", "articles"), folder.path(), None, &values)?;
        let values = values.with("articles", articles.port());
        let site = case.start(("site", "site"), folder.path(), settings.core, &values)?;
        std::fs::write(folder.path().join("feed"), feed())?;
        Ok(Self {
            case,
            site,
            articles,
            folder,
        })
    }

    /// Starts the edge before it, with the case's configuration.
    pub(super) fn edge(&self) -> Result<RunningServer> {
        let values = Values::default().with("site", self.site.port());
        let values = values.with("articles", self.articles.port());
        self.case
            .start(("edge", "edge"), self.folder.path(), None, &values)
    }

    pub(super) fn site(&self) -> &RunningServer {
        &self.site
    }

    /// File of the requested paths, one per line.
    pub(super) fn feed(&self) -> PathBuf {
        self.folder.path().join("feed")
    }

    /// Folder of its logs.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Starts the articles alone, on the port that `matrix.yaml` names.
pub(super) fn articles(case: &Case, settings: NewspaperSettings) -> Result<NewspaperArticles> {
    let folder = tempfile::Builder::new().prefix("newspaper-").tempdir()?;
    let values = settings
        .values()
        .with("port", case.matrix_port("articles")?);
    let server = case.start(("articles", "articles"), folder.path(), None, &values)?;
    Ok(NewspaperArticles {
        server,
        _folder: folder,
    })
}

/// All articles once, so that no two requests close to each other are for the same.
fn feed() -> String {
    let mut text = String::new();
    for place in 0..ARTICLES {
        // A step without a common factor with the number of articles meets each of them once.
        let id = u64::from(place) * 7919 % u64::from(ARTICLES);
        writeln!(text, "/articles/{id}").expect("a string takes every character");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_feed_asks_for_every_article_once() {
        let feed = feed();
        let mut lines: Vec<&str> = feed.lines().collect();
        assert_eq!(lines.len(), 10_000);
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), 10_000);
        assert!(lines.contains(&"/articles/9999"));
    }
}
