//! The upstream connection: reused or new, and replaced when a retry is safe.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use plimsoll_net::upstream::{Upstream, tls_error};
use tokio::io::AsyncWrite as _;

use super::{Exchange, ExchangeEnd, ExchangeWait, Side, UpstreamFailure};

/// Most servers that one request is sent to.
const ATTEMPTS_MAX: u8 = 2;

type Connecting = Pin<Box<dyn Future<Output = io::Result<Upstream>>>>;

/// An upstream connection, established or in progress.
#[derive(Default)]
pub(crate) struct UpstreamLink {
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
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    #[inline]
    pub(crate) fn is_connecting(&self) -> bool {
        self.connecting.is_some()
    }

    #[inline]
    pub(crate) fn stream(&mut self) -> Option<&mut Upstream> {
        self.stream.as_mut()
    }

    pub(crate) fn take(&mut self) -> Option<Upstream> {
        self.stream.take()
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
        let Some(permit) = &self.permit else {
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
        let Some(permit) = &self.permit else {
            return;
        };
        side.event_loop.figures.connects.increment();
        let addresses = &permit.server.addresses;
        let address = addresses[self.link.address % addresses.len()];
        self.link.is_used = false;
        self.link.stream = None;
        let secure = permit.server.secure.clone();
        self.link.connecting = Some(Box::pin(Upstream::connect(address, secure)));
        self.waits = ExchangeWait::Nothing;
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
                    if let (Some(tls_error), Some(permit)) = (tls_error(&error), &self.permit) {
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

    /// The server closed the connection; `is_clean` when it did so properly.
    pub(super) fn server_ended(
        &mut self,
        side: &mut Side<'_>,
        is_clean: bool,
    ) -> Result<(), ExchangeEnd> {
        if self.answer.has_begun() {
            return self.answer_ended(side, is_clean);
        }
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
        self.attempts += 1;
        let (Some(permit), Some(pool_request)) = (self.permit.take(), &mut self.pool_request)
        else {
            return Err(self.failure(failure));
        };
        if self.attempts >= ATTEMPTS_MAX || !permit.pool.may_retry() {
            return Err(self.failure(failure));
        }
        pool_request.avoid = Some(permit.server.id);
        let pool = permit.pool.clone();
        drop(permit);
        let Some(permit) = pool.enter_again(pool_request) else {
            return Err(self.failure(failure));
        };
        side.event_loop.figures.retries.increment();
        self.permit = Some(permit);
        self.upload.restart();
        self.link.address = 0;
        self.link_up(side);
        Ok(())
    }

    /// Reports a failure of the server to its pool.
    pub(super) fn blame(&self, side: &Side<'_>) {
        let Some(permit) = &self.permit else {
            return;
        };
        let now = side.event_loop.clock.now();
        let sample = self.record.sample(now, permit.in_flight, true);
        permit.pool.answered(permit, now, sample, false);
    }
}
