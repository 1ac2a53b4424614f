//! The stream of documents that a page reads: server-sent events over HTTP.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame};
use tokio::sync::mpsc;

/// The body of a response whose events come one by one, each whole and ready to be sent; it ends with its sender.
#[derive(Debug)]
pub struct EventBody(pub mpsc::Receiver<Bytes>);

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let message = self.0.poll_recv(context);
        message.map(|message| message.map(|message| Ok(Frame::data(message))))
    }
}
