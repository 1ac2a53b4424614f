//! One request on a connection of HTTP/2, and its response.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use h2::client::ResponseFuture;
use h2::{Reason, RecvStream};
use http::HeaderMap;
use plimsoll_model::outcome::Outcome;
use plimsoll_wire::error::Http1Error;
use plimsoll_wire::head::HeadLimits;
use plimsoll_wire::response::Expected;

use super::message::{self, AnswerHead};
use crate::answer_error;

/// Receives the parts of responses.
pub(crate) trait Take {
    /// The head of a response. `len` is its length in the form of HTTP/1.1, which `write` produces.
    fn head(&mut self, request: u32, answer: &AnswerHead, len: u64, write: &dyn Fn(&mut Vec<u8>));
    /// Bytes of its body, in order.
    fn content(&mut self, request: u32, bytes: &[u8]);
}

/// Whether a failed request may be retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    Never,
    /// If it is idempotent: the target may have processed it.
    IfIdempotent,
    /// The target reports that it was not processed.
    Always,
}

/// Why a request has no complete response.
#[derive(Debug)]
pub(crate) struct StreamFailure {
    pub(crate) outcome: Outcome,
    pub(crate) again: Again,
    /// Empty where the outcome is explanation enough.
    pub(crate) reason: String,
}

impl StreamFailure {
    fn protocol(reason: &str) -> Self {
        Self {
            outcome: Outcome::Protocol,
            again: Again::Never,
            reason: reason.to_owned(),
        }
    }

    /// The response is beyond a limit.
    fn refused(error: Http1Error) -> Self {
        Self {
            outcome: answer_error::outcome(error),
            again: Again::Never,
            reason: answer_error::reason(error),
        }
    }

    /// The connection ended.
    fn cut(has_head: bool) -> Self {
        let (outcome, again) = if has_head {
            (Outcome::BodyCut, Again::Never)
        } else {
            (Outcome::Reset, Again::IfIdempotent)
        };
        Self {
            outcome,
            again,
            reason: String::new(),
        }
    }

    fn new(error: &h2::Error, has_head: bool, limits: HeadLimits) -> Self {
        if error.is_io() {
            return Self::cut(has_head);
        }
        let is_calmed = error.reason() == Some(Reason::ENHANCE_YOUR_CALM);
        if !error.is_remote() && is_calmed && !has_head {
            // h2 ends a connection on which a head is far beyond the limit.
            return Self::refused(Http1Error::HeadTooLong(limits.len));
        }
        if !error.is_remote() {
            return Self::protocol(&format!("the response is not valid HTTP/2: {error}"));
        }
        // A stream above the last id of GOAWAY, or a refused one, was not processed.
        let is_unprocessed = error.is_go_away() || error.reason() == Some(Reason::REFUSED_STREAM);
        let code = error.reason().unwrap_or(Reason::NO_ERROR);
        let what = if error.is_go_away() {
            "the target is closing the connection (GOAWAY)"
        } else {
            "the target reset the stream"
        };
        Self {
            outcome: Outcome::Reset,
            again: if is_unprocessed && !has_head {
                Again::Always
            } else {
                Again::Never
            },
            reason: format!("{what}: {code:?}"),
        }
    }
}

/// One request.
pub(super) struct Http2Stream {
    pub(super) request: u32,
    phase: AnswerPhase,
    answer: AnswerHead,
    content_len: u64,
    expected: Expected,
}

enum AnswerPhase {
    Head(ResponseFuture),
    Body(RecvStream),
}

impl Http2Stream {
    pub(super) fn new(request: u32, answer: ResponseFuture, expected: Expected) -> Self {
        Self {
            request,
            phase: AnswerPhase::Head(answer),
            answer: AnswerHead::default(),
            content_len: 0,
            expected,
        }
    }

    /// Registers for wake-ups from now on.
    pub(super) fn listen(&mut self, waker: &Waker) -> Result<(), ()> {
        let AnswerPhase::Head(answer) = &mut self.phase else {
            return Ok(());
        };
        // A request just being sent has no events yet.
        match Pin::new(answer).poll(&mut Context::from_waker(waker)) {
            Poll::Pending => Ok(()),
            Poll::Ready(_) => Err(()),
        }
    }

    /// The result after the connection has ended.
    pub(super) fn cut(&self) -> StreamFailure {
        StreamFailure::cut(matches!(self.phase, AnswerPhase::Body(_)))
    }

    /// Collects events; returns its result when it has ended.
    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
        take: &mut impl Take,
    ) -> Option<Result<AnswerHead, StreamFailure>> {
        loop {
            match &mut self.phase {
                AnswerPhase::Head(answer) => {
                    let Poll::Ready(answer) = Pin::new(answer).poll(context) else {
                        return None;
                    };
                    let (head, body) = match answer {
                        Ok(answer) => answer.into_parts(),
                        Err(error) => return Some(Err(self.failure(&error, false))),
                    };
                    self.phase = AnswerPhase::Body(body);
                    if let Err(failure) = self.take_head(head.status.as_u16(), &head.headers, take)
                    {
                        return Some(Err(failure));
                    }
                }
                AnswerPhase::Body(body) => {
                    let Poll::Ready(data) = body.poll_data(context) else {
                        return None;
                    };
                    let bytes = match data {
                        Some(Ok(bytes)) => bytes,
                        // A response may arrive before the whole request is sent: the target then does not need the
                        // rest (RFC 9113, 8.1).
                        Some(Err(error))
                            if error.is_remote()
                                && error.is_reset()
                                && error.reason() == Some(Reason::NO_ERROR) =>
                        {
                            return Some(Ok(self.take_answer()));
                        }
                        Some(Err(error)) => return Some(Err(self.failure(&error, true))),
                        None => return Some(Ok(self.take_answer())),
                    };
                    self.content_len += bytes.len() as u64;
                    if self.content_len > self.expected.body_len_max {
                        return Some(Err(StreamFailure::refused(Http1Error::BodyTooLong)));
                    }
                    take.content(self.request, &bytes);
                    // Releases no more capacity than was received.
                    let _ = body.flow_control().release_capacity(bytes.len());
                }
            }
        }
    }

    /// The answer, which is complete.
    fn take_answer(&mut self) -> AnswerHead {
        AnswerHead {
            body_len: self.content_len,
            ..std::mem::take(&mut self.answer)
        }
    }

    fn failure(&self, error: &h2::Error, has_head: bool) -> StreamFailure {
        StreamFailure::new(error, has_head, self.expected.head)
    }

    fn take_head(
        &mut self,
        status: u16,
        headers: &HeaderMap,
        take: &mut impl Take,
    ) -> Result<(), StreamFailure> {
        self.answer =
            AnswerHead::new(status, headers, self.expected.head).map_err(StreamFailure::refused)?;
        let len = message::written_len(headers);
        take.head(self.request, &self.answer, len, &|out| {
            message::write(status, headers, out);
        });
        Ok(())
    }
}
