//! What a service manager hands over and is told, by the protocols of systemd. Without one nothing happens.

use listenfd::ListenFd;
use plimsoll_edge::{EdgePhase, Handed};
use sd_notify::NotifyState;

use crate::explain::CliError;
use crate::screen::eprint;

/// Most sockets that are taken over.
const SOCKETS_MAX: usize = 64;

/// The sockets that were handed over (`LISTEN_FDS`, `LISTEN_PID`, `LISTEN_FDNAMES`). Before any thread starts: what is
/// taken is taken out of the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "the door is where the environment is read"
)]
pub(super) fn handed() -> Result<Vec<Handed>, CliError> {
    let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut names = names.split(':');
    let mut sockets = ListenFd::from_env();
    let count = sockets.len();
    let remedy = "let the unit have `ListenStream=` with a port or an address, at most 64";
    if count > SOCKETS_MAX {
        return Err(CliError::usage(format!("{count} sockets were handed over")).remedy(remedy));
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
                    format!("the socket `{name}` that was handed over cannot be used: {error}");
                return Err(CliError::usage(what).remedy(remedy));
            }
        }
    }
    Ok(handed)
}

/// Tells how far the edge is (`NOTIFY_SOCKET`).
pub(super) fn notify(phase: EdgePhase) {
    let result = match phase {
        EdgePhase::Ready => sd_notify::notify(&[NotifyState::Ready]),
        EdgePhase::Reloading => NotifyState::monotonic_usec_now()
            .and_then(|now| sd_notify::notify(&[NotifyState::Reloading, now])),
        EdgePhase::Stopping => sd_notify::notify(&[NotifyState::Stopping]),
    };
    if let Err(error) = result {
        eprint(&format!("the service manager cannot be told: {error}"));
    }
}
