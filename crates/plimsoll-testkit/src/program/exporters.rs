//! Programs that show a machine to monitoring, from the system's packages.

use std::net::SocketAddr;

use super::{Program, folder};
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
