//! Any text is a configuration of the edge, or is refused with a reason.
#![no_main]

use std::net::SocketAddr;

use libfuzzer_sys::fuzz_target;
use plimsoll_config::document::{FileError, Surroundings};
use plimsoll_config::edge::{Action, ServerConfig, read};

struct Empty;

impl Surroundings for Empty {
    fn file(&self, path: &str, _len_max: u64) -> Result<Vec<u8>, FileError> {
        if path.len() % 2 == 0 {
            Ok(b"<p>soon".to_vec())
        } else {
            Err(FileError::Unreadable("no such file".to_owned()))
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name.len() % 2 == 0).then(|| "value".to_owned())
    }
}

fn lookup(server: &ServerConfig, _name_servers: &[SocketAddr]) -> Result<Vec<SocketAddr>, String> {
    if server.host.len() % 2 == 0 {
        Ok(vec![([192, 0, 2, 1], server.port).into()])
    } else {
        Err("no such host".to_owned())
    }
}

fuzz_target!(|text: &str| {
    match read(text, &Empty, &lookup) {
        Ok(edge) => {
            for route in &edge.routes {
                if let Action::Pool(index) = route.action {
                    assert!(index < edge.pools.len());
                }
            }
        }
        Err(diagnostics) => assert!(!diagnostics.to_string().is_empty()),
    }
});
