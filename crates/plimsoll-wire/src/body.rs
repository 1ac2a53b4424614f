//! The body of a response, decoded from its framing: sized, chunked, or up to the end of the connection.

use crate::chunked::ChunkedDecoder;
use crate::content_meter::ContentMeter;
use crate::error::Http1Error;
use crate::sink::Sink;

/// Reads one body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyState {
    /// Bytes still to come.
    Sized(u64),
    Chunked(ChunkedDecoder),
    UntilClose,
}

impl BodyState {
    pub(crate) fn chunked() -> Self {
        Self::Chunked(ChunkedDecoder::new())
    }

    pub(crate) fn is_complete(&self) -> bool {
        match self {
            Self::Sized(left) => *left == 0,
            Self::Chunked(chunked) => chunked.is_complete(),
            Self::UntilClose => false,
        }
    }

    /// Takes what belongs to the body from the start of `input`, and returns its length; `content`
    /// counts the decoded bytes, and `sink` receives them.
    #[inline]
    pub(crate) fn take(
        &mut self,
        input: &[u8],
        content: &mut ContentMeter,
        sink: &mut impl Sink,
    ) -> Result<usize, Http1Error> {
        match self {
            Self::Sized(left) => {
                let taken = usize::try_from(*left)
                    .unwrap_or(usize::MAX)
                    .min(input.len());
                *left -= taken as u64;
                content.add(&input[..taken], sink)?;
                Ok(taken)
            }
            Self::Chunked(chunked) => chunked.take(input, content, sink),
            Self::UntilClose => {
                content.add(input, sink)?;
                Ok(input.len())
            }
        }
    }
}
