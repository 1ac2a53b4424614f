//! Active checks: each server of a pool that wants them is asked now and then whether it is well.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::edge::Check;
use plimsoll_wire::head;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::clock::{Nanoseconds, nanoseconds};
use crate::lock::lock;
use crate::notice::Tell;
use crate::overview::Watch;
use crate::pool::server::Server;
use crate::upstream::{Upstream, tls_fault};

/// How often it is looked who is due.
const LOOK: Duration = Duration::from_millis(50);
/// Longest head of an answer that is read.
const HEAD_LEN_MAX: usize = 16 * 1024;

/// Checks for ever.
pub(crate) async fn keep(watch: Arc<Watch>, tell: Tell) {
    let mut asked: HashMap<usize, Nanoseconds> = HashMap::new();
    loop {
        let now = watch.clock.now();
        let pools = lock(&watch.pools).clone();
        // A server that is gone is forgotten.
        asked.retain(|id, _| {
            pools
                .iter()
                .flat_map(|pool| &pool.servers)
                .any(|one| one.id == *id)
        });
        for server in pools.iter().flat_map(|pool| &pool.servers) {
            if let Some(fault) = server.take_news() {
                tell(&format!("server {}: {fault}", server.name));
            }
        }
        for pool in &pools {
            let Some(check) = &pool.config.check else {
                continue;
            };
            for server in &pool.servers {
                let is_due = asked
                    .get(&server.id)
                    .is_none_or(|last| now.saturating_sub(*last) >= nanoseconds(check.every));
                if is_due {
                    asked.insert(server.id, now);
                    let one = ask(
                        Arc::clone(&watch),
                        Arc::clone(server),
                        check.clone(),
                        Arc::clone(&tell),
                    );
                    tokio::spawn(one);
                }
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn ask(watch: Arc<Watch>, server: Arc<Server>, check: Check, tell: Tell) {
    let Some(&address) = server.addresses.first() else {
        return;
    };
    let asking = is_well(address, &server, check.path.as_deref());
    let good = matches!(
        tokio::time::timeout(check.timeout, asking).await,
        Ok(Some(()))
    );
    if server.checked(watch.clock.now(), good, &check) {
        let what = if good {
            "is well again"
        } else {
            "fails its checks and gets no requests"
        };
        tell(&format!("server {} {what}", server.name));
    }
}

/// Asks once; `None` is no.
async fn is_well(address: SocketAddr, server: &Server, path: Option<&str>) -> Option<()> {
    let mut stream = match Upstream::connect(address, server.secure.clone()).await {
        Ok(stream) => stream,
        Err(error) => {
            server.note_fault(tls_fault(&error)?);
            return None;
        }
    };
    let host = &server.authority;
    let Some(path) = path else {
        return Some(());
    };
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: plimsoll-edge\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    stream.flush().await.ok()?;
    let mut answer = Vec::new();
    loop {
        let seen = answer.len();
        if stream.read_buf(&mut answer).await.ok()? == 0 || answer.len() > HEAD_LEN_MAX {
            return None;
        }
        if let Some(end) = head::find_end(&answer, seen).ok()? {
            let head = head::parse(&answer[..end]).ok()?;
            return (200..400).contains(&head.status).then_some(());
        }
    }
}
