//! Two connections joined after an upgrade: bytes pass both ways, uninterpreted.

use std::task::{Context, Poll};

use plimsoll_net::client_socket::{poll_read, poll_write};
use plimsoll_net::upstream::Upstream;
use tokio::io::AsyncWrite as _;

use crate::client::channel::ClientChannel;
use crate::event_loop::EventLoop;
use crate::message::outgoing::Outgoing;

/// The server connection and the bytes in flight.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each end ends, and is told of the other's end, by itself"
)]
pub(crate) struct Tunnel {
    server: Upstream,
    to_server: Outgoing,
    to_client: Outgoing,
    client_ended: bool,
    server_ended: bool,
    /// End of stream was passed on.
    server_shut_down: bool,
    client_shut_down: bool,
    idle_ticks: u64,
    fresh: bool,
}

impl Tunnel {
    /// `early` is data that the client sent behind its request.
    pub(crate) fn new(server: Upstream, early: Vec<u8>, idle_ticks: u64) -> Self {
        Self {
            server,
            to_server: Outgoing::from(early),
            to_client: Outgoing::default(),
            client_ended: false,
            server_ended: false,
            server_shut_down: false,
            client_shut_down: false,
            idle_ticks,
            fresh: true,
        }
    }

    /// Memory held for bytes in flight.
    pub(crate) fn memory(&self) -> usize {
        self.to_server.memory() + self.to_client.memory()
    }

    /// Passes bytes until both directions have ended, or one peer is gone.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut ClientChannel,
        event_loop: &EventLoop,
        deadline: usize,
    ) -> Poll<()> {
        let mut moved = std::mem::take(&mut self.fresh);
        loop {
            let up = self.up(cx, client, event_loop);
            let down = self.down(cx, client, event_loop);
            match (up, down) {
                (Err(()), _) | (_, Err(())) => return Poll::Ready(()),
                (Ok(false), Ok(false)) => break,
                _ => moved = true,
            }
        }
        let flushes = [
            client.poll_flush(cx),
            std::pin::Pin::new(&mut self.server).poll_flush(cx),
        ];
        if flushes
            .iter()
            .any(|flush| matches!(flush, Poll::Ready(Err(_))))
        {
            return Poll::Ready(());
        }
        if self.server_shut_down && self.client_shut_down {
            return Poll::Ready(());
        }
        if moved {
            event_loop.set_deadline(deadline, self.idle_ticks);
        }
        Poll::Pending
    }

    /// From the client to the server; whether anything moved.
    fn up(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut ClientChannel,
        event_loop: &EventLoop,
    ) -> Result<bool, ()> {
        if !self.to_server.is_empty() {
            match poll_write(&mut self.server, cx, self.to_server.left(), &[]) {
                Poll::Ready(Ok(count)) if count > 0 => self.to_server.advance(count),
                Poll::Ready(_) => return Err(()),
                Poll::Pending => return Ok(false),
            }
            release_if_written(&mut self.to_server);
            return Ok(true);
        }
        if self.client_ended {
            if self.server_shut_down {
                return Ok(false);
            }
            let shutdown = std::pin::Pin::new(&mut self.server).poll_shutdown(cx);
            self.server_shut_down = shutdown.is_ready();
            return Ok(self.server_shut_down);
        }
        let mut shared = event_loop.shared.borrow_mut();
        match client.poll_read(cx, &mut shared) {
            Poll::Ready(Ok(0)) => self.client_ended = true,
            Poll::Ready(Ok(count)) => {
                event_loop.figures.bytes_in.add(count as u64);
                let bytes = &shared[..count];
                let written = match poll_write(&mut self.server, cx, bytes, &[]) {
                    Poll::Ready(Ok(written)) => written,
                    Poll::Ready(Err(_)) => return Err(()),
                    Poll::Pending => 0,
                };
                self.to_server.append(&bytes[written..]);
            }
            Poll::Ready(Err(_)) => return Err(()),
            Poll::Pending => return Ok(false),
        }
        Ok(true)
    }

    /// From the server to the client; whether anything moved.
    fn down(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut ClientChannel,
        event_loop: &EventLoop,
    ) -> Result<bool, ()> {
        if !self.to_client.is_empty() {
            match client.poll_write(cx, self.to_client.left(), &[]) {
                Poll::Ready(Ok(count)) if count > 0 => self.to_client.advance(count),
                Poll::Ready(_) => return Err(()),
                Poll::Pending => return Ok(false),
            }
            release_if_written(&mut self.to_client);
            return Ok(true);
        }
        if self.server_ended {
            if self.client_shut_down {
                return Ok(false);
            }
            self.client_shut_down = client.poll_shutdown(cx).is_ready();
            return Ok(self.client_shut_down);
        }
        let mut shared = event_loop.shared.borrow_mut();
        match poll_read(&mut self.server, cx, &mut shared) {
            Poll::Ready(Ok(0)) => self.server_ended = true,
            Poll::Ready(Ok(count)) => {
                event_loop.figures.bytes_out.add(count as u64);
                let bytes = &shared[..count];
                let written = match client.poll_write(cx, bytes, &[]) {
                    Poll::Ready(Ok(written)) => written,
                    Poll::Ready(Err(_)) => return Err(()),
                    Poll::Pending => 0,
                };
                self.to_client.append(&bytes[written..]);
            }
            Poll::Ready(Err(_)) => return Err(()),
            Poll::Pending => return Ok(false),
        }
        Ok(true)
    }
}

/// An idle tunnel holds no memory for bytes.
fn release_if_written(outgoing: &mut Outgoing) {
    if outgoing.is_empty() {
        *outgoing = Outgoing::default();
    }
}
