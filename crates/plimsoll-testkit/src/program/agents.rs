//! `plimsoll agent`, as it runs beside a service. The test kit depends on nothing that it tests: the caller has the executable.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::{Program, folder};
use crate::port;

/// An agent with its key and its token in a folder of its own.
#[derive(Debug)]
pub struct Agent {
    /// The program.
    pub program: Program,
    /// Where readers reach it.
    pub address: SocketAddr,
    /// The file with its token.
    pub token_file: PathBuf,
}

impl Agent {
    /// Starts it by this executable, with a name for its machine.
    #[must_use]
    pub fn start(plimsoll: &Path, name: &str) -> Self {
        let (folder, address) = (folder(), port::unused());
        let token_file = folder.path().join("token");
        let state = format!("XDG_STATE_HOME={}", folder.path().join("state").display());
        let (plimsoll, token) = (
            plimsoll.display().to_string(),
            token_file.display().to_string(),
        );
        let listen = address.to_string();
        let command = [
            "env",
            &state,
            &plimsoll,
            "agent",
            "--listen",
            &listen,
            "--name",
            name,
            "--token-file",
            &token,
        ];
        Self {
            program: Program::start(folder, &command, " listens on "),
            address,
            token_file,
        }
    }

    /// The flags by which a command reads it.
    #[must_use]
    pub fn flags(&self) -> [String; 4] {
        [
            "--agent".to_owned(),
            self.address.to_string(),
            "--agent-token-file".to_owned(),
            self.token_file.display().to_string(),
        ]
    }
}
