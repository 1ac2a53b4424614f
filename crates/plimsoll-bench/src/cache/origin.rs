//! The servers behind the caches: nginx, which logs each request, and for slow pages an application of the test kit behind
//! it with a fixed time per request, regardless of concurrency.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use plimsoll_harness::origin::OriginProcess as Application;
use plimsoll_harness::port::free_port;

use super::caches::CachePrograms;
use crate::context::BenchContext;
use crate::server::BenchServer;

/// Requests that the application may serve at once.
const AT_ONCE: &str = "512";

pub(super) struct CacheOrigin {
    /// `None` once it is killed.
    nginx: Option<BenchServer>,
    port: u16,
    log: PathBuf,
    _folder: tempfile::TempDir,
    _application: Option<Application>,
}

impl CacheOrigin {
    /// Responds to every path immediately with this many bytes and a lifetime: an hour below `/hour/`, and
    /// as in `cache_control` elsewhere.
    pub(super) fn quick(ground: &BenchContext, bytes: usize, cache_control: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("page"), "x".repeat(bytes))?;
        // nginx reads it as another user when it is started by root.
        let public = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path(), public)?;
        let locations = format!(
            "root {};\n    open_file_cache max=10;\n    \
             location / {{ add_header Cache-Control \"{cache_control}\"; try_files /page =404; }}\n    \
             location /hour/ {{ add_header Cache-Control \"max-age=3600\"; try_files /page =404; }}\n",
            folder.path().display()
        );
        Self::start(ground, folder, &locations, None)
    }

    /// Takes so many milliseconds for each page.
    pub(super) fn slow(
        ground: &BenchContext,
        programs: &CachePrograms,
        millis: u32,
        cache_control: &str,
    ) -> Result<Self> {
        let words = [
            "--law",
            "deterministic",
            "--servers",
            AT_ONCE,
            "--mean-us",
            &(millis * 1_000).to_string(),
        ];
        let application = Application::start(&programs.origin, Some(ground.client_core), &words)?;
        let url = application.url().trim_end_matches('/').to_owned();
        let locations = format!(
            "location / {{\n      proxy_pass {url};\n      add_header Cache-Control \"{cache_control}\";\n    }}\n"
        );
        Self::start(ground, tempfile::tempdir()?, &locations, Some(application))
    }

    fn start(
        ground: &BenchContext,
        folder: tempfile::TempDir,
        locations: &str,
        application: Option<Application>,
    ) -> Result<Self> {
        let log = folder.path().join("fetches");
        let port = free_port()?;
        let http = format!(
            "  log_format moments '$msec';\n  default_type text/html;\n  server {{\n    \
             listen 127.0.0.1:{port} backlog=4096;\n    access_log {} moments;\n    {locations}  }}\n",
            log.display()
        );
        let nginx = BenchServer::nginx_with(ground.client_core, tempfile::tempdir()?, port, &http)?;
        Ok(Self {
            nginx: Some(nginx),
            port,
            log,
            _folder: folder,
            _application: application,
        })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Stops it immediately; its port refuses connections from then on.
    pub(super) fn kill(&mut self) {
        self.nginx = None;
    }

    /// When it answered, in seconds of the Unix epoch, in order.
    pub(super) fn moments(&self) -> Result<Vec<f64>> {
        let text = std::fs::read_to_string(&self.log).context("the origin wrote no log")?;
        let moments: std::result::Result<Vec<f64>, _> = text.lines().map(str::parse).collect();
        moments.context("the origin's log holds what is no moment")
    }

    /// Answers it gave so far.
    pub(super) fn fetches(&self) -> Result<usize> {
        Ok(self.moments()?.len())
    }
}
