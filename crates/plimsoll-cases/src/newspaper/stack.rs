//! The newspaper's servers: the articles, the site, and the edge in front; started in order, stopped together.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use plimsoll_harness::port::free_ports;
use plimsoll_harness::server::{ChildServer, Recipe};

use crate::exchange::exchange;

const START: Duration = Duration::from_secs(20);

/// Articles that the site has; the feed asks for one after the other.
const ARTICLES: u32 = 10_000;

/// How the site is to be started.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewspaperSettings {
    /// Processes that render.
    pub(super) workers: u8,
    /// Elements of a page.
    pub(super) nodes: u16,
}

/// The running site. Ends when dropped, its folder last.
pub(super) struct NewspaperStack {
    port: u16,
    articles_port: u16,
    _site: ChildServer,
    _articles: ChildServer,
    folder: tempfile::TempDir,
}

/// The edge before it.
pub(super) struct NewspaperEdge {
    port: u16,
    admin_port: u16,
    _server: ChildServer,
}

impl NewspaperStack {
    /// Starts the articles and the site. `case` is the folder of the case.
    pub(super) fn start(settings: NewspaperSettings, case: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("newspaper-").tempdir()?;
        let ports = free_ports(2)?;
        let (articles_port, port) = (ports[0], ports[1]);
        let environment = vec![
            ("NODE_ENV", "production".to_owned()),
            ("NEWS_PORT", port.to_string()),
            ("NEWS_ARTICLES_PORT", articles_port.to_string()),
            ("NEWS_WORKERS", settings.workers.to_string()),
            ("NEWS_NODES", settings.nodes.to_string()),
        ];
        let node = |name: &'static str, port: u16| -> Result<ChildServer> {
            let recipe = Recipe {
                name,
                program: "node",
                user: None,
                arguments: vec![
                    case.join("site")
                        .join(format!("{name}.js"))
                        .display()
                        .to_string(),
                ],
                environment: environment.clone(),
            };
            let mut server = ChildServer::start(recipe, folder.path())?;
            server.wait(START, || is_healthy(port))?;
            Ok(server)
        };
        let articles = node("articles", articles_port)?;
        let site = node("site", port)?;
        std::fs::write(folder.path().join("feed"), feed())?;
        Ok(Self {
            port,
            articles_port,
            _site: site,
            _articles: articles,
            folder,
        })
    }

    /// Starts the edge before it, with the case's configuration.
    pub(super) fn edge(&self, plimsoll: &Path, case: &Path) -> Result<NewspaperEdge> {
        let ports = free_ports(2)?;
        let (port, admin_port) = (ports[0], ports[1]);
        let recipe = Recipe {
            name: "edge",
            program: &plimsoll.display().to_string(),
            user: None,
            arguments: vec![
                "edge".to_owned(),
                "--config".to_owned(),
                case.join("edge.yaml").display().to_string(),
            ],
            environment: vec![
                ("NEWS_PORT", self.port.to_string()),
                ("NEWS_ARTICLES_PORT", self.articles_port.to_string()),
                ("NEWS_EDGE", format!("127.0.0.1:{port}")),
                ("NEWS_ADMIN", format!("127.0.0.1:{admin_port}")),
            ],
        };
        let mut server = ChildServer::start(recipe, self.folder.path())?;
        server.wait(START, || {
            exchange(admin_port, "/healthz", "", None).is_ok_and(|answer| answer.status == 200)
        })?;
        Ok(NewspaperEdge {
            port,
            admin_port,
            _server: server,
        })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
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

impl NewspaperEdge {
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn admin_port(&self) -> u16 {
        self.admin_port
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(super) fn admin_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.admin_port)
    }
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

fn is_healthy(port: u16) -> bool {
    exchange(port, "/health", "", None).is_ok_and(|answer| answer.status == 200)
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
