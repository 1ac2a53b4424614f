//! The magazine's servers on one core: the database, the application, the edge in front of it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use plimsoll_harness::port::free_ports;
use plimsoll_harness::server::{ChildServer, Recipe, pinned};
use plimsoll_harness::step::execute;

use super::study::{ArticleBody, ArticlesSetup};
use crate::edge::CaseEdge;
use crate::exchange::exchange;
use crate::ground::CaseContext;
use crate::postgres::{PostgresServer, Rows};

const START: Duration = Duration::from_secs(30);

/// Articles that are asked for, of 4,000: as many as the study's busiest minute had.
const FEED_ARTICLES: u32 = 235;

/// Where Debian keeps what the application needs.
const JARS: &str = "/usr/share/java/HikariCP.jar:/usr/share/java/postgresql.jar:\
                    /usr/share/java/slf4j-api.jar:/usr/share/java/slf4j-nop.jar";

/// The running magazine. Ends when dropped, its folder last.
pub(super) struct ArticlesStack {
    case: PathBuf,
    plimsoll: PathBuf,
    core: usize,
    pool: u8,
    application: Option<Application>,
    database: PostgresServer,
    folder: tempfile::TempDir,
}

struct Application {
    port: u16,
    _server: ChildServer,
}

impl ArticlesStack {
    /// Starts the database and compiles the application.
    pub(super) fn start(ground: &CaseContext, core: usize, pool: u8) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("articles-").tempdir()?;
        let files = ["schema.sql", "rows.sql"].map(|name| ground.case.join("database").join(name));
        let rows = Rows {
            name: "articles",
            files: &files,
        };
        let database = PostgresServer::start(&rows, core, folder.path(), &ground.store)?;
        execute(
            Command::new("javac")
                .args(["-cp", JARS, "-d"])
                .arg(folder.path().join("classes"))
                .arg(ground.case.join("site/Articles.java"))
                .stdin(Stdio::null()),
        )?;
        for body in ArticleBody::ALL {
            std::fs::write(folder.path().join(body.name()), feed(body))?;
        }
        Ok(Self {
            case: ground.case.clone(),
            plimsoll: ground.plimsoll(),
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
        let port = free_ports(1)?[0];
        let classes = self.folder.path().join("classes");
        let arguments = [
            // Otherwise each answer waits for an acknowledgement.
            "-Dsun.net.httpserver.nodelay=true".to_owned(),
            // Connections that wait for their next request are not closed under load.
            "-Dsun.net.httpserver.maxIdleConnections=8192".to_owned(),
            "-Xmx1g".to_owned(),
            "-cp".to_owned(),
            format!("{JARS}:{}", classes.display()),
            "Articles".to_owned(),
        ];
        let recipe = Recipe {
            name: "application",
            program: "java",
            user: None,
            arguments: arguments.into(),
            environment: vec![
                ("ARTICLES_PORT", port.to_string()),
                ("ARTICLES_DATABASE_PORT", self.database.port().to_string()),
                ("ARTICLES_POOL", self.pool.to_string()),
            ],
        };
        let mut server = ChildServer::start(pinned(recipe, self.core), self.folder.path())?;
        server.wait(START, || {
            exchange(port, "/health", "", None).is_ok_and(|answer| answer.status == 200)
        })?;
        self.application = Some(Application {
            port,
            _server: server,
        });
        Ok(())
    }

    /// Starts the edge in front of the application.
    pub(super) fn edge(&self, way: ArticlesSetup) -> Result<CaseEdge> {
        let configuration = self.case.join(way.configuration());
        CaseEdge::start(
            &self.plimsoll,
            &configuration,
            self.port()?,
            self.core,
            self.folder.path(),
        )
    }

    /// Of the application.
    pub(super) fn port(&self) -> Result<u16> {
        let application = self.application.as_ref();
        Ok(application.context("the application is not started")?.port)
    }

    /// Of the application.
    pub(super) fn url(&self) -> Result<String> {
        Ok(format!("http://127.0.0.1:{}", self.port()?))
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
