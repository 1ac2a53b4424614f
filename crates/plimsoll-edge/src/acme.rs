//! Certificates by ACME (RFC 8555). Control of a name is proven in the TLS handshake (TLS-ALPN-01, RFC 8737) on the
//! listeners that exist anyway: no route and no further port is involved.
//!
//! Obtained certificates are written to files and loaded by the certificate watch like all others. So startup never
//! waits for a certificate authority, and a stored certificate is used as long as it is valid.

mod client;
mod order;
mod storage;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use plimsoll_config::edge::{Acme, AcmeCertificate};
use plimsoll_net::clock;
use plimsoll_proxy::tls::certificate::{load, validity};

use crate::control::AcmeState;
pub(crate) use storage::prepare;

/// Time limit of one order.
const ORDER_TIMEOUT: Duration = Duration::from_mins(5);
/// Delay before the next attempt after a failure: first and longest. Authorities allow few failures an hour.
const AGAIN: (Duration, Duration) = (Duration::from_mins(2), Duration::from_hours(6));
/// Longest interval between checks for due certificates.
const CHECK_INTERVAL: Duration = Duration::from_mins(10);

/// When a failed certificate is retried, and the delay after that.
#[derive(Clone, Copy, Debug)]
struct RetryState {
    until: SystemTime,
    next: Duration,
}

/// Background task: keeps all certificates valid.
pub(crate) async fn keep(state: AcmeState) {
    let mut waiting: HashMap<PathBuf, RetryState> = HashMap::new();
    loop {
        let mut wait = CHECK_INTERVAL;
        if let Some(acme) = state.config() {
            for certificate in &acme.certificates {
                let next = |waiting: &HashMap<PathBuf, RetryState>| {
                    let waiting = waiting.get(&certificate.files.cert);
                    waiting.map_or_else(|| due(certificate), |retry| Some(retry.until))
                };
                let now = clock::wall();
                if next(&waiting).is_none_or(|due| due <= now) {
                    see_to(&state, &acme, certificate, &mut waiting).await;
                }
                let left = next(&waiting).and_then(|due| due.duration_since(clock::wall()).ok());
                wait = wait.min(left.unwrap_or_default());
            }
        }
        tokio::select! {
            () = tokio::time::sleep(wait.max(Duration::from_secs(1))) => {}
            () = state.changed() => {}
        }
    }
}

/// When a stored certificate is to be renewed: after two thirds of its validity. `None` means now.
fn due(certificate: &AcmeCertificate) -> Option<SystemTime> {
    let loaded = load(&certificate.files).ok()?;
    let (from, until) = validity(&loaded.key)?;
    let whole = until.duration_since(from).ok()?;
    let covers = certificate.names.iter().all(|name| loaded.is_for(name));
    covers.then_some(from + whole * 2 / 3)
}

async fn see_to(
    state: &AcmeState,
    acme: &Acme,
    certificate: &AcmeCertificate,
    waiting: &mut HashMap<PathBuf, RetryState>,
) {
    let names = certificate.names.join(", ");
    let obtaining = order::obtain(acme, certificate, state.challenges());
    let obtained = tokio::time::timeout(ORDER_TIMEOUT, obtaining).await;
    let obtained = obtained.unwrap_or_else(|_| Err("the order timed out".to_owned()));
    state.challenges().forget(&certificate.names);
    let is_of_use = || due(certificate).is_some_and(|due| due > clock::wall());
    let obtained = obtained.and_then(|()| {
        let useless = || "the issued certificate is not usable".to_owned();
        is_of_use().then_some(()).ok_or_else(useless)
    });
    match obtained {
        Ok(()) => {
            waiting.remove(&certificate.files.cert);
            state.reload_files();
            state.report(&format!("certificate obtained for {names}"));
        }
        Err(why) => {
            let path = certificate.files.cert.clone();
            let next = waiting.get(&path).map_or(AGAIN.0, |retry| retry.next);
            let until = clock::wall() + next;
            state.report(&format!(
                "cannot obtain a certificate for {names}: {why}; next attempt in {} minutes",
                next.as_secs() / 60
            ));
            let next = (next * 2).min(AGAIN.1);
            waiting.insert(path, RetryState { until, next });
        }
    }
}
