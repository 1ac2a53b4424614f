//! The tested caches, each configured as in the suite's own containers; ours with its defaults.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use plimsoll_harness::packages::{Tool, see_to};
use plimsoll_harness::server::{ChildServer, Recipe, is_listening};

use crate::page::version;

const START: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SuiteCache {
    /// Our edge
    Edge,
    Nginx,
    Varnish,
    Haproxy,
}

/// What is started, where.
pub(super) struct StartContext<'a> {
    /// A folder of its own.
    pub(super) folder: &'a Path,
    pub(super) port: u16,
    pub(super) origin: u16,
    /// Our release binary, and more words of its command line.
    pub(super) plimsoll: &'a Path,
    pub(super) words: &'a [String],
}

impl SuiteCache {
    pub(super) const ALL: [Self; 4] = [Self::Edge, Self::Nginx, Self::Varnish, Self::Haproxy];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Edge => "plimsoll edge",
            Self::Nginx => "nginx",
            Self::Varnish => "Varnish",
            Self::Haproxy => "HAProxy",
        }
    }

    /// Installs it if it is missing.
    pub(super) fn install(self) -> Result<()> {
        match self {
            Self::Edge => Ok(()),
            Self::Nginx => see_to(&[Tool::new("nginx", "nginx-light")]),
            Self::Varnish => see_to(&[Tool::new("varnishd", "varnish")]),
            Self::Haproxy => see_to(&[Tool::new("haproxy", "haproxy")]),
        }
    }

    /// Its version as it prints it.
    pub(super) fn version(self, plimsoll: &Path) -> String {
        let text = match self {
            Self::Edge => version(&plimsoll.display().to_string(), "--version"),
            Self::Nginx => version("nginx", "-v"),
            Self::Varnish => version("varnishd", "-V"),
            Self::Haproxy => version("haproxy", "-v"),
        };
        text.unwrap_or_else(|| self.name().to_owned())
    }

    /// Starts it in front of the origin.
    pub(super) fn start(self, place: &StartContext<'_>) -> Result<ChildServer> {
        let (program, arguments) = match self {
            Self::Edge => (place.plimsoll.to_owned(), edge(place)),
            Self::Nginx => (PathBuf::from("nginx"), nginx(place)?),
            Self::Varnish => (PathBuf::from("varnishd"), varnish(place)),
            Self::Haproxy => (PathBuf::from("haproxy"), haproxy(place)?),
        };
        let recipe = Recipe {
            name: "subject",
            program: &program.display().to_string(),
            user: None,
            arguments,
            environment: Vec::new(),
        };
        let mut server = ChildServer::start(recipe, place.folder)?;
        server.wait(START, || is_listening(place.port))?;
        Ok(server)
    }
}

fn edge(place: &StartContext<'_>) -> Vec<String> {
    let line = format!(
        "edge --listen 127.0.0.1:{} --to http://127.0.0.1:{} --access-log off",
        place.port, place.origin
    );
    let words = line.split(' ').map(ToOwned::to_owned);
    words.chain(place.words.iter().cloned()).collect()
}

fn nginx(place: &StartContext<'_>) -> Result<Vec<String>> {
    let folder = place.folder.display();
    let text = format!(
        "daemon off;\n{}pid {folder}/nginx.pid;\nerror_log stderr error;\n\
         events {{ worker_connections 4096; }}\n\
         http {{\n  access_log off;\n  client_body_temp_path {folder}/body;\n  fastcgi_temp_path {folder}/fastcgi;\n  \
         uwsgi_temp_path {folder}/uwsgi;\n  scgi_temp_path {folder}/scgi;\n  proxy_temp_path {folder}/proxy;\n  \
         proxy_cache_path {folder}/cache levels=1:2 keys_zone=pages:8m max_size=1000m inactive=600m;\n  \
         server {{\n    listen 127.0.0.1:{};\n    location / {{\n      proxy_pass http://127.0.0.1:{};\n      \
         proxy_cache pages;\n      proxy_cache_revalidate on;\n      proxy_http_version 1.1;\n    }}\n  }}\n}}\n",
        if rustix::process::geteuid().is_root() {
            "user root;\n"
        } else {
            ""
        },
        place.port,
        place.origin,
    );
    let path = place.folder.join("nginx.conf");
    std::fs::write(&path, text)?;
    Ok(vec!["-c".to_owned(), path.display().to_string()])
}

/// No lifetime, no grace for what comes without one, and copies kept for an hour to be asked about again.
fn varnish(place: &StartContext<'_>) -> Vec<String> {
    let line = format!(
        "-F -j none -a 127.0.0.1:{} -b 127.0.0.1:{} -p default_ttl=0 -p default_grace=0 -p default_keep=3600 -s \
         malloc,64M -n {}",
        place.port,
        place.origin,
        place.folder.join("varnish").display()
    );
    line.split(' ').map(ToOwned::to_owned).collect()
}

fn haproxy(place: &StartContext<'_>) -> Result<Vec<String>> {
    let text = format!(
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client 1m\n  timeout server 1m\n\
         cache pages\n  total-max-size 4\n  max-object-size 10000\n  max-age 240\n  process-vary on\n  \
         max-secondary-entries 12\n\
         frontend web\n  bind 127.0.0.1:{}\n  filter cache pages\n  http-request cache-use pages\n  \
         http-response cache-store pages\n  default_backend app\n\
         backend app\n  server app 127.0.0.1:{}\n",
        place.port, place.origin,
    );
    let path = place.folder.join("haproxy.cfg");
    std::fs::write(&path, text)?;
    Ok(vec![
        "-db".to_owned(),
        "-f".to_owned(),
        path.display().to_string(),
    ])
}
