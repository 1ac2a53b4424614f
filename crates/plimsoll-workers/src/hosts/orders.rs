//! What a worker that was sent to a host gets on its standard input: one line.

use std::fmt;
use std::io::{self, BufRead, Write};

use plimsoll_model::load_hosts::WorkerPlace;
use serde::{Deserialize, Serialize};

use crate::network;

/// Longest line, bytes.
const LEN_MAX: u64 = 16 << 10;

/// What a worker needs to join.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerOrders {
    /// Where the coordinator is, `HOST:PORT`.
    pub join: String,
    /// The token: a secret.
    pub token: String,
    /// Name of the worker.
    pub name: String,
    /// Its region.
    pub region: Option<String>,
    /// Whether targets with public addresses may be loaded.
    pub owns_targets: bool,
    /// The network of the coordinator.
    network: Option<String>,
}

/// Without the token.
impl fmt::Debug for WorkerOrders {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WorkerOrders")
            .field("join", &self.join)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl WorkerOrders {
    /// Orders of a coordinator in the network of this process.
    pub(super) fn new(
        join: String,
        token: String,
        place: &WorkerPlace,
        owns_targets: bool,
    ) -> Self {
        Self {
            join,
            token,
            name: place.name.clone(),
            region: place.region.clone(),
            owns_targets,
            network: network::of_this_process(),
        }
    }

    /// Whether the coordinator is in the network of this process: through a port that `ssh` forwards, its address does not
    /// show that.
    pub fn is_near(&self) -> bool {
        self.network.is_some() && self.network == network::of_this_process()
    }

    /// Writes the line.
    pub(super) fn send(&self, mut stream: impl Write) -> io::Result<()> {
        let mut line = serde_json::to_string(self)?;
        line.push('\n');
        stream.write_all(line.as_bytes())?;
        stream.flush()
    }

    /// Reads the line.
    ///
    /// # Errors
    /// When the stream ends before, or has something else; no error quotes it.
    pub fn receive(stream: impl BufRead) -> io::Result<Self> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let mut line = String::new();
        stream.take(LEN_MAX).read_line(&mut line)?;
        if !line.ends_with('\n') {
            return Err(invalid("the input ended before the orders of the run"));
        }
        serde_json::from_str(&line).map_err(|_| invalid("the input has no orders of a run"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_arrive_and_are_not_shown() {
        let place = WorkerPlace {
            ssh: "me@host".parse().unwrap(),
            name: "eu1".to_owned(),
            region: Some("eu\n".to_owned()),
        };
        let token = "plimsoll1-secret".to_owned();
        let mut orders = WorkerOrders::new("127.0.0.1:7400".to_owned(), token, &place, true);
        assert!(orders.is_near());
        let mut line = Vec::new();
        orders.send(&mut line).unwrap();
        assert_eq!(line.split_inclusive(|&byte| byte == b'\n').count(), 1);
        assert_eq!(WorkerOrders::receive(&line[..]).unwrap(), orders);
        assert!(!format!("{orders:?}").contains("secret"));
        orders.network = Some("elsewhere".to_owned());
        assert!(!orders.is_near());
        let cut = WorkerOrders::receive(&line[..line.len() - 1]).unwrap_err();
        assert!(cut.to_string().contains("ended before"), "{cut}");
        let other = WorkerOrders::receive(&b"{\"token\":\"secret\"}\n"[..]).unwrap_err();
        assert!(!other.to_string().contains("secret"), "{other}");
        let endless = WorkerOrders::receive(io::BufReader::new(io::repeat(b'x')));
        assert!(endless.is_err());
    }
}
