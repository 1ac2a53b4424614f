//! Programs that show a machine to monitoring, from the system's packages.

use std::net::SocketAddr;

use super::{Program, folder, write};
use crate::port;

/// `node_exporter` of Debian, with all interfaces: Debian leaves out the loopback interface.
#[derive(Debug)]
pub struct NodeExporter {
    /// The program.
    pub program: Program,
    /// The address of its page, `/metrics`.
    pub address: SocketAddr,
}

impl NodeExporter {
    /// Starts it.
    #[must_use]
    pub fn start() -> Self {
        let address = port::unused();
        let listen = format!("--web.listen-address={address}");
        let command = [
            "prometheus-node-exporter",
            &listen,
            "--collector.netdev.device-exclude=^$",
        ];
        Self {
            program: Program::start(folder(), &command, "Listening on"),
            address,
        }
    }
}

/// Prometheus, which scrapes one exporter every second.
#[derive(Debug)]
pub struct Prometheus {
    /// The program.
    pub program: Program,
    /// The address of its API and pages.
    pub address: SocketAddr,
}

impl Prometheus {
    /// Starts it for the exporter at this address, which is the label `instance` of its series.
    #[must_use]
    pub fn scraping(exporter: SocketAddr) -> Self {
        let (folder, address) = (folder(), port::unused());
        let configuration = folder.path().join("prometheus.yml");
        let text = format!(
            "global: {{ scrape_interval: 1s, scrape_timeout: 1s }}\n\
             scrape_configs:\n  - job_name: node\n    static_configs: [{{ targets: ['{exporter}'] }}]\n"
        );
        write(&configuration, &text);
        let file = format!("--config.file={}", configuration.display());
        let data = format!(
            "--storage.tsdb.path={}",
            folder.path().join("data").display()
        );
        let listen = format!("--web.listen-address={address}");
        let command = ["prometheus", &file, &data, &listen, "--log.level=info"];
        Self {
            program: Program::start(folder, &command, "Server is ready"),
            address,
        }
    }
}
