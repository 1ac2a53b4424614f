//! HTTP/2 without TLS, with prior knowledge (RFC 9113, 3.3).
//!
//! Its preface parses as the head of an odd HTTP/1.1 request. It is recognized by its bytes, only at the start of a
//! connection. The upgrade mechanism is not offered: `Upgrade: h2c` is treated like any other upgrade.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::{DownstreamConnection, RequestStage};
use crate::http2;

/// The part of the preface that parses as a request head.
const PREFACE_HEAD: &[u8] = b"PRI * HTTP/2.0\r\n\r\n";

/// An HTTP/2 connection, served to its end.
pub(super) struct H2cConnection(Pin<Box<dyn Future<Output = ()>>>);

impl H2cConnection {
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl std::fmt::Debug for H2cConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frames").finish_non_exhaustive()
    }
}

impl DownstreamConnection {
    /// Whether the first head of a connection is the beginning of the HTTP/2 preface.
    pub(super) fn is_h2c_preface(&self, head: &[u8]) -> bool {
        head == PREFACE_HEAD && self.client.is_plain_socket()
    }

    /// Continues as HTTP/2; `bytes` are all received bytes.
    pub(super) fn serve_h2c(&mut self, bytes: &[u8]) {
        let Some(stream) = self.client.take_plain_socket() else {
            return;
        };
        let io = Rewound {
            start: bytes.to_vec(),
            at: 0,
            stream,
        };
        let (peer, event_loop) = ((*self.peer).clone(), Rc::clone(&self.event_loop));
        self.stage = RequestStage::H2c(H2cConnection(Box::pin(async move {
            http2::serve_counted(io, &peer, &event_loop, Self::begin_stream).await;
        })));
    }
}

/// A connection whose first bytes were already read.
struct Rewound {
    start: Vec<u8>,
    at: usize,
    stream: TcpStream,
}

impl AsyncRead for Rewound {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let rewound = self.get_mut();
        let left = &rewound.start[rewound.at..];
        if left.is_empty() {
            rewound.start = Vec::new();
            rewound.at = 0;
            return Pin::new(&mut rewound.stream).poll_read(cx, buffer);
        }
        let count = left.len().min(buffer.remaining());
        buffer.put_slice(&left[..count]);
        rewound.at += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Rewound {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
