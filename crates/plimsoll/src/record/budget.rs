//! Memory budget for buffered bodies of all connections together.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Longest body that is forwarded, bytes.
const BODY_LEN_MAX: usize = 256 << 20;
/// Bodies of all requests and responses in flight, MiB.
const HELD_MIB_MAX: usize = 512;
const MIB: usize = 1 << 20;

/// Why a body is not forwarded.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error("its body is longer than {} MiB", BODY_LEN_MAX / MIB)]
    TooLong,
    #[error("the bodies in flight exceed {HELD_MIB_MAX} MiB; load the page again")]
    TooMuch,
    #[error(transparent)]
    Broken(#[from] hyper::Error),
}

/// The budget.
#[derive(Clone)]
pub(super) struct BodyBudget(Arc<Semaphore>);

/// Bytes per chunk: bytes that a slow reader has not read still count.
const FRAME_LEN_MAX: usize = 64 << 10;

/// A whole body, and its share of the budget until it is forwarded.
pub(super) struct BufferedBody {
    pub(super) bytes: Bytes,
    _share: Option<OwnedSemaphorePermit>,
}

impl Body for BufferedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.bytes.is_empty() {
            return Poll::Ready(None);
        }
        let len = self.bytes.len().min(FRAME_LEN_MAX);
        Poll::Ready(Some(Ok(Frame::data(self.bytes.split_to(len)))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}

impl BodyBudget {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(HELD_MIB_MAX)))
    }

    /// Reads a body to its end, as long as there is room for it.
    pub(super) async fn collect(
        &self,
        mut body: impl Body<Data = Bytes, Error = hyper::Error> + Unpin,
    ) -> Result<BufferedBody, BodyError> {
        if body.size_hint().lower() > BODY_LEN_MAX as u64 {
            return Err(BodyError::TooLong);
        }
        let mut bytes = Vec::new();
        let mut share: Option<OwnedSemaphorePermit> = None;
        let mut mib = 0;
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame?.into_data() else {
                continue;
            };
            if bytes.len() + data.len() > BODY_LEN_MAX {
                return Err(BodyError::TooLong);
            }
            let wanted = (bytes.len() + data.len()).div_ceil(MIB);
            while mib < wanted {
                let more = Arc::clone(&self.0).try_acquire_owned();
                let more = more.map_err(|_| BodyError::TooMuch)?;
                match &mut share {
                    Some(share) => share.merge(more),
                    None => share = Some(more),
                }
                mib += 1;
            }
            bytes.extend_from_slice(&data);
        }
        Ok(BufferedBody {
            bytes: bytes.into(),
            _share: share,
        })
    }
}
