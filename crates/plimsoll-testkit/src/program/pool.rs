//! A server in Java with a connection pool (`HikariCP`) to PostgreSQL, from the system's packages. It exposes the pool
//! by JMX, which Jolokia's own core converts to JSON, and on a page in the format of Micrometer.

use std::net::SocketAddr;

use super::databases::{Postgres, carry_out};
use super::{Program, folder, write};
use crate::port;

const SERVER: &str = include_str!("pool/Main.java");
/// Debian's folder of Java libraries.
const LIBRARIES: [&str; 6] = [
    "HikariCP",
    "jolokia-core",
    "json-simple",
    "postgresql",
    "slf4j-api",
    "slf4j-nop",
];

/// A server with a pool.
#[derive(Debug)]
pub struct Hikari {
    /// The program.
    pub program: Program,
    /// Its address.
    pub address: SocketAddr,
    /// The address of its metrics.
    pub admin: SocketAddr,
}

impl Hikari {
    /// Compiles and starts it with a pool size, and a statement for each request.
    #[must_use]
    pub fn start(database: &Postgres, connections: u32, statement: &str) -> Self {
        let (folder, address, admin) = (folder(), port::unused(), port::unused());
        let source = folder.path().join("Main.java");
        write(&source, SERVER);
        let path = folder.path().display().to_string();
        let libraries = LIBRARIES.map(|name| format!("/usr/share/java/{name}.jar"));
        let libraries = libraries.join(":");
        let source = source.display().to_string();
        carry_out(&["javac", "-cp", &libraries, "-d", &path, &source]);
        let classes = format!("{path}:{libraries}");
        let url = format!("jdbc:postgresql://{}/postgres", database.address);
        let [port, own, most] = [
            address.port().to_string(),
            admin.port().to_string(),
            connections.to_string(),
        ];
        let host = address.ip().to_string();
        let command = [
            "java",
            "-Dsun.net.httpserver.nodelay=true",
            "-cp",
            &classes,
            "Main",
            &port,
            &own,
            &url,
            "postgres",
            &most,
            statement,
            &host,
        ];
        Self {
            program: Program::start(folder, &command, "ready"),
            address,
            admin,
        }
    }

    /// The URL of Jolokia.
    #[must_use]
    pub fn jolokia(&self) -> String {
        format!("http://{}/jolokia", self.admin)
    }

    /// The URL of its metrics page.
    #[must_use]
    pub fn page(&self) -> String {
        format!("http://{}/actuator/prometheus", self.admin)
    }
}
