//! Accepts clients, and connects each to the target when its request is there.

use std::rc::Rc;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::spawn_local;

use super::connection::Connection;
use super::{OpenLink, Relay};

/// Pause when the system has no descriptor for another client, ns.
const PAUSE_NS: u64 = 10_000_000;

/// Accepts clients of a link.
pub(super) async fn accept(relay: Rc<Relay>, link: Rc<OpenLink>, listener: TcpListener) {
    loop {
        let Ok((near, _)) = listener.accept().await else {
            // Ending connections free descriptors.
            let moment_ns = relay.clock.now() + PAUSE_NS;
            relay.timers.until(moment_ns).await;
            continue;
        };
        let accepted_ns = relay.clock.now();
        let Some(place) = place(&relay).await else {
            return;
        };
        let served = serve(
            Rc::clone(&relay),
            Rc::clone(&link),
            (near, accepted_ns),
            place,
        );
        spawn_local(served);
    }
}

/// A place among the connections; waits for one where there is none.
async fn place(relay: &Relay) -> Option<OwnedSemaphorePermit> {
    if let Ok(place) = Arc::clone(&relay.places).try_acquire_owned() {
        return Some(place);
    }
    relay.waited.set(relay.waited.get() + 1);
    Arc::clone(&relay.places).acquire_owned().await.ok()
}

/// Serves a client from its handshake to its end.
async fn serve(
    relay: Rc<Relay>,
    link: Rc<OpenLink>,
    (near, accepted_ns): (TcpStream, u64),
    _place: OwnedSemaphorePermit,
) {
    let schedule = link.schedule.borrow_mut().open(accepted_ns);
    {
        let mut totals = link.totals.borrow_mut();
        totals.connections += 1;
        totals.open += 1;
    }
    relay.timers.until(schedule.request_arrives_ns()).await;
    match TcpStream::connect(link.to).await {
        Ok(far) => {
            // Small writes must not wait for more: the delay is the link's alone.
            let _ = (near.set_nodelay(true), far.set_nodelay(true));
            let connection =
                Connection::new((Rc::clone(&relay), Rc::clone(&link)), (near, far), schedule);
            connection.carry().await;
        }
        Err(error) => {
            let arrives_ns = schedule.refusal_arrives_ns(relay.clock.now());
            relay.timers.until(arrives_ns).await;
            // The client was connected by this machine: a reset is the nearest to a refusal.
            let _ = near.set_zero_linger();
            let mut totals = link.totals.borrow_mut();
            totals.unreachable += 1;
            totals.unreachable_reason = Some(error.to_string());
        }
    }
    link.totals.borrow_mut().open -= 1;
}
