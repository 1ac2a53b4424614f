//! The servers behind the caches: nginx, which logs each request, and for slow pages an application of the test kit behind it.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use plimsoll_harness::definition::Chapter;
use plimsoll_harness::origin::OriginProcess;
use plimsoll_harness::running::RunningServer;
use plimsoll_harness::template::Values;

use crate::bench::Bench;
use crate::edge::open_to_readers;

pub(super) struct CacheOrigin {
    /// `None` once it is killed.
    nginx: Option<RunningServer>,
    port: u16,
    log: PathBuf,
    _pages: tempfile::TempDir,
    _application: Option<OriginProcess>,
}

impl CacheOrigin {
    /// Responds to every path immediately, with so many bytes as the chapter says.
    pub(super) fn quick(bench: &Bench, chapter: &Chapter) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::write(
            folder.path().join("page"),
            "x".repeat(chapter.number("bytes")?),
        )?;
        open_to_readers(folder.path())?;
        let values = chapter.values().with("pages", folder.path().display());
        Self::start(bench, "quick", folder, &values, None)
    }

    /// Takes so many milliseconds for each page as the chapter says.
    pub(super) fn slow(bench: &Bench, chapter: &Chapter) -> Result<Self> {
        let micros = chapter.number::<u32>("page_ms")? * 1_000;
        let words = format!("--law deterministic --servers 512 --mean-us {micros}");
        let application = bench.origin(bench.client_core, &words)?;
        let url = application.url().trim_end_matches('/').to_owned();
        let values = chapter.values().with("application", url);
        Self::start(
            bench,
            "slow",
            tempfile::tempdir()?,
            &values,
            Some(application),
        )
    }

    fn start(
        bench: &Bench,
        name: &str,
        pages: tempfile::TempDir,
        values: &Values,
        application: Option<OriginProcess>,
    ) -> Result<Self> {
        let nginx = bench.start(name, bench.client_core, values)?;
        Ok(Self {
            port: nginx.port(),
            log: nginx.folder().join("fetches"),
            nginx: Some(nginx),
            _pages: pages,
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
