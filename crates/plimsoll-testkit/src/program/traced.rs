//! A shop with PostgreSQL and a rates service, both traced by OpenTelemetry's SDK for Node.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::databases::Postgres;
use super::packages::install;
use super::{Program, folder};
use crate::port;

/// A traced service.
#[derive(Debug)]
pub struct Traced {
    /// The program.
    pub program: Program,
    /// Its address.
    pub address: SocketAddr,
}

/// The query mode of the shop.
const TABLES: &str = "CREATE TABLE orders (id int PRIMARY KEY, seen int); INSERT INTO orders VALUES (1, 0); \
    CREATE TABLE items (id int PRIMARY KEY, name text); INSERT INTO items SELECT i, 'item ' || i FROM generate_series(1, 100) i";

/// The program's folder with its libraries, installed once from its lock file.
fn installed() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let source = own.join("src/program/traced");
        let folder = own.join("../../target/traced");
        install(&source, &folder, "server.cjs");
        folder
    })
}

impl Traced {
    /// The rates service: it has a delay in milliseconds and a concurrency limit, and responds 429 above a number of
    /// requests a second. It exports its spans as JSON.
    #[must_use]
    pub fn rates(otlp: SocketAddr, wait_ms: u32, at_once: u32, per_second: u32) -> Self {
        let words = [
            format!("WAIT_MS={wait_ms}"),
            format!("AT_ONCE={at_once}"),
            format!("PER_SECOND={per_second}"),
        ];
        let [wait, at_once, rate] = words.each_ref().map(String::as_str);
        Self::start(otlp, &["ROLE=rates", "ENCODING=http", wait, at_once, rate])
    }

    /// The shop, with a number of database sessions, in which it creates its tables. It exports its spans as protobuf,
    /// with the current semantic conventions for databases.
    #[must_use]
    pub fn shop(otlp: SocketAddr, database: &Postgres, sessions: u32, rates: SocketAddr) -> Self {
        database.execute(TABLES);
        let words = [
            format!("DATABASE={}", database.url()),
            format!("SESSIONS={sessions}"),
            format!("RATES={rates}"),
        ];
        let [database, sessions, rates] = words.each_ref().map(String::as_str);
        let names = "OTEL_SEMCONV_STABILITY_OPT_IN=database";
        let role = "ROLE=shop";
        Self::start(
            otlp,
            &[role, "ENCODING=proto", names, database, sessions, rates],
        )
    }

    fn start(otlp: SocketAddr, words: &[&str]) -> Self {
        let address = port::unused();
        let (otlp, port) = (format!("OTLP={otlp}"), format!("PORT={}", address.port()));
        let server = installed().join("server.cjs").display().to_string();
        let command: Vec<&str> = ["env", &otlp, &port]
            .into_iter()
            .chain(words.iter().copied())
            .chain(["node", &server])
            .collect();
        Self {
            program: Program::start(folder(), &command, "listening"),
            address,
        }
    }

    /// The URL of one query mode.
    #[must_use]
    pub fn url(&self, way: &str) -> String {
        format!("http://{}/{way}", self.address)
    }
}
