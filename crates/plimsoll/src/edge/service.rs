//! systemd protocols: socket activation and readiness notification. Without a service manager they do nothing.

use listenfd::ListenFd;
use plimsoll_edge::{EdgePhase, Handed};
use sd_notify::NotifyState;

use crate::explain::CliError;
use crate::screen::eprint;

/// Maximum number of sockets that are taken over.
const SOCKETS_MAX: usize = 64;

/// The sockets that systemd passed (`LISTEN_FDS`, `LISTEN_PID`, `LISTEN_FDNAMES`). Call it before any thread starts: the
/// variables are removed from the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "only the command line reads the environment"
)]
pub(super) fn handed() -> Result<Vec<Handed>, CliError> {
    let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut names = names.split(':');
    let mut sockets = ListenFd::from_env();
    let count = sockets.len();
    let remedy = "use at most 64 `ListenStream=` with a port or an address in the .socket unit";
    if count > SOCKETS_MAX {
        return Err(CliError::usage(format!(
            "the service manager passed {count} sockets; valid: at most {SOCKETS_MAX}"
        ))
        .remedy(remedy));
    }
    let mut handed = Vec::new();
    for place in 0..count {
        let name = names.next().filter(|name| !name.is_empty());
        let name = name.unwrap_or("unnamed").to_owned();
        match sockets.take_tcp_listener(place) {
            Ok(Some(listener)) => handed.push(Handed { name, listener }),
            Ok(None) => {}
            Err(error) => {
                let what =
                    format!("the socket `{name}` from the service manager cannot be used: {error}");
                return Err(CliError::usage(what).remedy(remedy));
            }
        }
    }
    Ok(handed)
}

/// Notifies the service manager of the edge's phase (`NOTIFY_SOCKET`).
pub(super) fn notify(phase: EdgePhase) {
    let result = match phase {
        EdgePhase::Ready => sd_notify::notify(&[NotifyState::Ready]),
        EdgePhase::Reloading => NotifyState::monotonic_usec_now()
            .and_then(|now| sd_notify::notify(&[NotifyState::Reloading, now])),
        EdgePhase::Stopping => sd_notify::notify(&[NotifyState::Stopping]),
    };
    if let Err(error) = result {
        eprint(&format!("cannot notify the service manager: {error}"));
    }
}
