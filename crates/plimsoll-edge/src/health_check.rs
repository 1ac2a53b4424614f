//! Active health checks: each server of a pool that configures them is probed at an interval.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::edge::Check;
use plimsoll_net::clock::{Nanoseconds, nanoseconds};
use plimsoll_net::lock::lock;
use plimsoll_net::notice::NoticeSink;
use plimsoll_net::upstream::{Upstream, tls_error};
use plimsoll_proxy::balance::server::UpstreamServer;
use plimsoll_wire::head;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::overview::OverviewSource;

/// How often due checks are looked up.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Longest response head that is read.
const HEAD_LEN_MAX: usize = 16 * 1024;

/// Runs the checks forever.
pub(crate) async fn keep(watch: Arc<OverviewSource>, report: NoticeSink) {
    let mut last_checks: HashMap<usize, Nanoseconds> = HashMap::new();
    loop {
        let now = watch.clock.now();
        let pools = lock(&watch.pools).clone();
        // Forget servers that no longer exist.
        last_checks.retain(|id, _| {
            pools
                .iter()
                .flat_map(|pool| &pool.servers)
                .any(|server| server.id == *id)
        });
        for server in pools.iter().flat_map(|pool| &pool.servers) {
            if let Some(error) = server.take_news() {
                report(&format!("server {}: {error}", server.name));
            }
        }
        for pool in &pools {
            let Some(check) = &pool.config.check else {
                continue;
            };
            for server in &pool.servers {
                let is_due = last_checks
                    .get(&server.id)
                    .is_none_or(|last| now.saturating_sub(*last) >= nanoseconds(check.every));
                if is_due {
                    last_checks.insert(server.id, now);
                    let task = run_check(
                        Arc::clone(&watch),
                        Arc::clone(server),
                        check.clone(),
                        Arc::clone(&report),
                    );
                    tokio::spawn(task);
                }
            }
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn run_check(
    watch: Arc<OverviewSource>,
    server: Arc<UpstreamServer>,
    check: Check,
    report: NoticeSink,
) {
    let Some(&address) = server.addresses.first() else {
        return;
    };
    let probe = is_well(address, &server, check.path.as_deref());
    let good = matches!(
        tokio::time::timeout(check.timeout, probe).await,
        Ok(Some(()))
    );
    if server.checked(watch.clock.now(), good, &check) {
        let what = if good {
            "is healthy again"
        } else {
            "fails its health checks and receives no requests"
        };
        report(&format!("server {} {what}", server.name));
    }
}

/// One probe; `None` when it fails.
async fn is_well(address: SocketAddr, server: &UpstreamServer, path: Option<&str>) -> Option<()> {
    let mut stream = match Upstream::connect(address, server.secure.clone()).await {
        Ok(stream) => stream,
        Err(error) => {
            server.note_error(tls_error(&error)?);
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
        let scanned = answer.len();
        if stream.read_buf(&mut answer).await.ok()? == 0 || answer.len() > HEAD_LEN_MAX {
            return None;
        }
        if let Some(end) = head::find_end(&answer, scanned).ok()? {
            let head = head::parse(&answer[..end]).ok()?;
            return (200..400).contains(&head.status).then_some(());
        }
    }
}
