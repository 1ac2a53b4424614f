//! The upstream connection: reused or new, and replaced when a retry is safe.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use plimsoll_config::edge::Timeouts;
use plimsoll_net::upstream::{Upstream, tls_error};
use tokio::io::AsyncWrite as _;

use super::{Exchange, ExchangeEnd, Side, UpstreamFailure};
use crate::balance::{Permit, PoolRequest};

/// Most servers that one request is sent to.
const ATTEMPTS_MAX: u8 = 2;

type Connecting = Pin<Box<dyn Future<Output = io::Result<Upstream>>>>;

/// The server of an exchange: permission to use it, and the connection, established or in progress.
#[derive(Default)]
pub(super) struct UpstreamLink {
    permit: Option<Permit>,
    /// What the pool was asked for.
    pool_request: Option<PoolRequest>,
    attempts: u8,
    stream: Option<Upstream>,
    connecting: Option<Connecting>,
    /// Index of the server's address that is tried.
    address: usize,
    /// The connection has carried a request before.
    is_used: bool,
}

impl std::fmt::Debug for UpstreamLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link")
            .field("stream", &self.stream)
            .field("connecting", &self.connecting.is_some())
            .finish_non_exhaustive()
    }
}

impl UpstreamLink {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    #[inline]
    pub(super) fn is_connecting(&self) -> bool {
        self.connecting.is_some()
    }

    #[inline]
    pub(super) fn stream(&mut self) -> Option<&mut Upstream> {
        self.stream.as_mut()
    }

    pub(super) fn take(&mut self) -> Option<Upstream> {
        self.stream.take()
    }

    /// Keeps what the pool was asked for, to ask again.
    pub(super) fn set_pool_request(&mut self, pool_request: PoolRequest) {
        self.pool_request = Some(pool_request);
    }

    /// Permission to use a server.
    #[inline]
    pub(super) fn permit(&self) -> Option<&Permit> {
        self.permit.as_ref()
    }

    pub(super) fn set_permit(&mut self, permit: Permit) {
        self.permit = Some(permit);
    }

    #[inline]
    pub(super) fn take_permit(&mut self) -> Option<Permit> {
        self.permit.take()
    }

    /// Timeouts of the pool.
    #[inline]
    pub(super) fn timeouts(&self) -> Timeouts {
        let permit = self.permit.as_ref();
        permit.map_or_else(Timeouts::default, |permit| permit.pool.config.timeouts)
    }

    /// Whether the client's stickiness cookie named this server.
    pub(super) fn is_named(&self, server_hash: u64) -> bool {
        self.pool_request
            .is_some_and(|pool_request| pool_request.sticky == Some(server_hash))
    }

    /// Releases memory that a TLS stream still holds for written bytes.
    #[inline]
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Some(stream @ Upstream::Tls(_)) => Pin::new(stream).poll_flush(cx),
            _ => Poll::Ready(Ok(())),
        }
    }
}

impl Exchange {
    /// Takes or opens a connection to the server of the permit.
    pub(crate) fn link_up(&mut self, side: &Side<'_>) {
        let Some(permit) = &self.link.permit else {
            return;
        };
        self.record.admitted(permit);
        let may_repeat = self.facts.is_idempotent && self.upload.is_received();
        match side.event_loop.take_idle(&permit.server, may_repeat) {
            Some(stream) => {
                self.link.stream = Some(stream);
                self.link.is_used = true;
                self.record.reused();
            }
            None => self.connect(side),
        }
    }

    fn connect(&mut self, side: &Side<'_>) {
        let Some(permit) = &self.link.permit else {
            return;
        };
        side.event_loop.figures.connects.increment();
        let addresses = &permit.server.addresses;
        let address = addresses[self.link.address % addresses.len()];
        self.link.is_used = false;
        self.link.stream = None;
        let secure = permit.server.secure.clone();
        self.link.connecting = Some(Box::pin(Upstream::connect(address, secure)));
        self.waits.restart();
    }

    /// Waits for the connection; whether it is established.
    pub(super) fn poll_connection(
        &mut self,
        cx: &mut Context<'_>,
        side: &mut Side<'_>,
    ) -> Result<bool, ExchangeEnd> {
        while let Some(connecting) = &mut self.link.connecting {
            match connecting.as_mut().poll(cx) {
                Poll::Pending => return Ok(false),
                Poll::Ready(Ok(stream)) => {
                    self.link.connecting = None;
                    self.link.stream = Some(stream);
                    self.record.connected(side.event_loop.clock.now());
                }
                Poll::Ready(Err(error)) => {
                    if let (Some(tls_error), Some(permit)) = (tls_error(&error), &self.link.permit)
                    {
                        permit.server.note_error(tls_error);
                    }
                    self.connection_failed(side, UpstreamFailure::NoConnection)?;
                }
            }
        }
        Ok(true)
    }

    /// The connection failed: nothing was sent, so any request may go to another server.
    pub(super) fn connection_failed(
        &mut self,
        side: &mut Side<'_>,
        failure: UpstreamFailure,
    ) -> Result<(), ExchangeEnd> {
        self.link.connecting = None;
        side.event_loop.figures.connects_failed.increment();
        let addresses = self
            .link
            .permit
            .as_ref()
            .map_or(0, |permit| permit.server.addresses.len());
        self.link.address += 1;
        if self.link.address < addresses {
            self.connect(side);
            return Ok(());
        }
        self.blame(side);
        self.elsewhere(side, failure)
    }

    /// The server closed the connection before it answered.
    pub(super) fn ended_unanswered(&mut self, side: &mut Side<'_>) -> Result<(), ExchangeEnd> {
        let may_repeat = self.facts.is_idempotent && self.upload.is_repeatable();
        if self.link.is_used && may_repeat {
            // The server closed an idle connection while the request was in flight: normal, and not a failure.
            self.upload.restart();
            self.link.address = 0;
            self.connect(side);
            return Ok(());
        }
        self.blame(side);
        if may_repeat {
            return self.elsewhere(side, UpstreamFailure::Reset);
        }
        Err(self.failure(UpstreamFailure::Reset))
    }

    /// Tries another server, if there is one and the retry budget allows it.
    fn elsewhere(
        &mut self,
        side: &mut Side<'_>,
        failure: UpstreamFailure,
    ) -> Result<(), ExchangeEnd> {
        self.link.attempts += 1;
        let (Some(permit), Some(pool_request)) =
            (self.link.permit.take(), &mut self.link.pool_request)
        else {
            return Err(self.failure(failure));
        };
        if self.link.attempts >= ATTEMPTS_MAX || !permit.pool.may_retry() {
            return Err(self.failure(failure));
        }
        pool_request.avoid = Some(permit.server.id);
        let pool = permit.pool.clone();
        drop(permit);
        let Some(permit) = pool.enter_again(pool_request) else {
            return Err(self.failure(failure));
        };
        side.event_loop.figures.retries.increment();
        self.link.permit = Some(permit);
        self.upload.restart();
        self.link.address = 0;
        self.link_up(side);
        Ok(())
    }

    /// Reports a failure of the server to its pool.
    pub(super) fn blame(&self, side: &Side<'_>) {
        let Some(permit) = &self.link.permit else {
            return;
        };
        let now = side.event_loop.clock.now();
        let sample = self.record.sample(now, permit.in_flight, true);
        permit.pool.answered(permit, now, sample, false);
    }
}
