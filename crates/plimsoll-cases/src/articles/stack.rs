//! The magazine's servers on one core: the database, the application, the edge in front of it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use plimsoll_harness::running::RunningServer;
use plimsoll_harness::step::execute;
use plimsoll_harness::template::Values;

use super::study::{ArticleBody, ArticlesSetup};
use crate::case::{Case, open_to_all};
use crate::database::{DatabasePlace, postgres};

/// Articles that are asked for, of 4,000: as many as the study's busiest minute had.
const FEED_ARTICLES: u32 = 235;

/// Where Debian keeps what the application needs.
const JARS: &str = "/usr/share/java/HikariCP.jar:/usr/share/java/postgresql.jar:\
                    /usr/share/java/slf4j-api.jar:/usr/share/java/slf4j-nop.jar";

/// The running magazine. Ends when dropped, its folder last.
pub(super) struct ArticlesStack<'a> {
    case: &'a Case,
    core: usize,
    pool: u8,
    application: Option<RunningServer>,
    database: RunningServer,
    folder: tempfile::TempDir,
}

impl<'a> ArticlesStack<'a> {
    /// Starts the database and compiles the application.
    pub(super) fn start(case: &'a Case, core: usize, pool: u8) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("articles-").tempdir()?;
        open_to_all(folder.path())?;
        let place = DatabasePlace {
            case,
            folder: folder.path(),
            core: Some(core),
        };
        let database = postgres(&place, "articles", None)?;
        execute(
            Command::new("javac")
                .args(["-cp", JARS, "-d"])
                .arg(folder.path().join("classes"))
                .arg(case.folder.join("site/Articles.java"))
                .stdin(Stdio::null()),
        )?;
        for body in ArticleBody::ALL {
            std::fs::write(folder.path().join(body.name()), feed(body))?;
        }
        Ok(Self {
            case,
            core,
            pool,
            application: None,
            database,
            folder,
        })
    }

    /// Starts the application anew: nobody is in line.
    pub(super) fn renew(&mut self) -> Result<()> {
        self.application = None;
        let values = Values::default()
            .with("jars", JARS)
            .with("database", self.database.port())
            .with("pool", self.pool);
        self.application = Some(self.server("application", &values)?);
        Ok(())
    }

    fn server(&self, name: &str, values: &Values) -> Result<RunningServer> {
        let core = Some(self.core);
        self.case
            .start((name, name), self.folder.path(), core, values)
    }

    /// Starts the edge in front of the application.
    pub(super) fn edge(&self, way: ArticlesSetup) -> Result<RunningServer> {
        let values = Values::default().with("application", self.application()?.port());
        self.server("edge", &values.with("configuration", way.configuration()))
    }

    pub(super) fn application(&self) -> Result<&RunningServer> {
        let application = self.application.as_ref();
        application.context("the application is not started")
    }

    /// File of the requested paths, one per line.
    pub(super) fn feed(&self, body: ArticleBody) -> PathBuf {
        self.folder.path().join(body.name())
    }

    /// Folder of its logs.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Articles out of all sections, each once.
fn feed(body: ArticleBody) -> String {
    let mut text = String::new();
    for place in 0..FEED_ARTICLES {
        writeln!(text, "{}{}", body.prefix(), place * 17).expect("a string takes every character");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_feed_stays_within_the_articles() {
        let feed = feed(ArticleBody::Short);
        assert_eq!(feed.lines().count(), 235);
        assert_eq!(feed.lines().last(), Some("/short/3978"));
    }
}
