//! The edge in front of a case: our release binary with the configuration of the case, on free ports.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use plimsoll_harness::port::free_ports;
use plimsoll_harness::server::{ChildServer, Recipe, pinned};

use crate::exchange::exchange;

const START: Duration = Duration::from_secs(20);

/// A running edge. Ends when dropped.
pub(crate) struct CaseEdge {
    port: u16,
    admin_port: u16,
    _server: ChildServer,
}

impl CaseEdge {
    /// Starts it on this core. The configuration finds its own addresses in `CASE_EDGE` and `CASE_ADMIN`, and the port
    /// of the application in `CASE_PORT`.
    pub(crate) fn start(
        plimsoll: &Path,
        configuration: &Path,
        to: u16,
        core: usize,
        folder: &Path,
    ) -> Result<Self> {
        let ports = free_ports(2)?;
        let (port, admin_port) = (ports[0], ports[1]);
        let stem = configuration.file_stem().unwrap_or_default();
        let recipe = Recipe {
            name: &stem.to_string_lossy(),
            program: &plimsoll.display().to_string(),
            user: None,
            arguments: vec![
                "edge".to_owned(),
                "--config".to_owned(),
                configuration.display().to_string(),
            ],
            environment: vec![
                ("CASE_PORT", to.to_string()),
                ("CASE_EDGE", format!("127.0.0.1:{port}")),
                ("CASE_ADMIN", format!("127.0.0.1:{admin_port}")),
            ],
        };
        let mut server = ChildServer::start(pinned(recipe, core), folder)?;
        server.wait(START, || {
            exchange(admin_port, "/healthz", "", None).is_ok_and(|answer| answer.status == 200)
        })?;
        Ok(Self {
            port,
            admin_port,
            _server: server,
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn admin_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.admin_port)
    }
}
