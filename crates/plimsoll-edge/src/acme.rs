//! Certificates by ACME (RFC 8555). That a name is ours is proven in the TLS handshake (TLS-ALPN-01, RFC 8737), where
//! the edge listens already: no route is touched, and no other port is needed than the clients'.
//!
//! What is obtained is put into files, which are used as all certificates are: whoever watches them takes up what is
//! new. So a start never waits for an authority; what is stored is used as long as it is valid.

mod order;
mod state;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use plimsoll_config::edge::{Acme, AcmeCertificate};

use crate::clock;
use crate::control::Control;
use crate::tls::certificate::{load, validity};
pub(crate) use state::prepare;

/// Longest time for one order.
const ORDER_TIMEOUT: Duration = Duration::from_mins(5);
/// Time to the next try after one that failed: the first, and the longest. Authorities allow few failures an hour.
const AGAIN: (Duration, Duration) = (Duration::from_mins(2), Duration::from_hours(6));
/// How often it is looked at least who is due.
const CHECK_INTERVAL: Duration = Duration::from_mins(10);

/// When a certificate is tried again, and how long after that.
#[derive(Clone, Copy, Debug)]
struct RetryState {
    until: SystemTime,
    next: Duration,
}

/// Sees to all certificates for ever.
pub(crate) async fn keep(control: Arc<Control>) {
    let mut waiting: HashMap<PathBuf, RetryState> = HashMap::new();
    loop {
        let mut wait = CHECK_INTERVAL;
        if let Some(acme) = control.acme() {
            for certificate in &acme.certificates {
                let next = |waiting: &HashMap<PathBuf, RetryState>| {
                    let waiting = waiting.get(&certificate.files.cert);
                    waiting.map_or_else(|| due(certificate), |retry| Some(retry.until))
                };
                let now = clock::wall();
                if next(&waiting).is_none_or(|due| due <= now) {
                    see_to(&control, &acme, certificate, &mut waiting).await;
                }
                let left = next(&waiting).and_then(|due| due.duration_since(clock::wall()).ok());
                wait = wait.min(left.unwrap_or_default());
            }
        }
        tokio::select! {
            () = tokio::time::sleep(wait.max(Duration::from_secs(1))) => {}
            () = control.acme_changed.notified() => {}
        }
    }
}

/// When a stored certificate is to be renewed: when two thirds of its time are over. `None` is at once.
fn due(certificate: &AcmeCertificate) -> Option<SystemTime> {
    let loaded = load(&certificate.files).ok()?;
    let (from, until) = validity(&loaded.key)?;
    let whole = until.duration_since(from).ok()?;
    let covers = certificate.names.iter().all(|name| loaded.is_for(name));
    covers.then_some(from + whole * 2 / 3)
}

async fn see_to(
    control: &Control,
    acme: &Acme,
    certificate: &AcmeCertificate,
    waiting: &mut HashMap<PathBuf, RetryState>,
) {
    let names = certificate.names.join(", ");
    let obtaining = order::obtain(acme, certificate, &control.challenges);
    let obtained = tokio::time::timeout(ORDER_TIMEOUT, obtaining).await;
    let obtained = obtained.unwrap_or_else(|_| Err("the order timed out".to_owned()));
    control.challenges.forget(&certificate.names);
    let is_of_use = || due(certificate).is_some_and(|due| due > clock::wall());
    let obtained = obtained.and_then(|()| {
        let useless = || "the issued certificate is not usable".to_owned();
        is_of_use().then_some(()).ok_or_else(useless)
    });
    match obtained {
        Ok(()) => {
            waiting.remove(&certificate.files.cert);
            control.reload_certificates();
            (control.hooks.report)(&format!("certificate obtained for {names}"));
        }
        Err(why) => {
            let path = certificate.files.cert.clone();
            let next = waiting.get(&path).map_or(AGAIN.0, |retry| retry.next);
            let until = clock::wall() + next;
            (control.hooks.report)(&format!(
                "cannot obtain a certificate for {names}: {why}; next attempt in {} minutes",
                next.as_secs() / 60
            ));
            let next = (next * 2).min(AGAIN.1);
            waiting.insert(path, RetryState { until, next });
        }
    }
}
