//! Wake-up bits: of the streams by number, and of the connection itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Wake, Waker};

use plimsoll_model::plan::STREAMS_MAX;

/// Streams whose bits fit one word.
const WORD_LEN: usize = 64;

const WORDS: usize = (STREAMS_MAX as usize).div_ceil(WORD_LEN);

/// The bits of one connection. Only its loop's thread touches them; they are atomic because wakers may be sent.
#[derive(Debug, Default)]
pub(super) struct Wakes {
    connection: AtomicBool,
    streams: [AtomicU64; WORDS],
}

impl Wakes {
    /// Whether the connection was woken since the last call.
    pub(super) fn take_connection(&self) -> bool {
        self.connection.swap(false, Ordering::Relaxed)
    }

    pub(super) fn connection_is_woken(&self) -> bool {
        self.connection.load(Ordering::Relaxed)
    }

    /// Whether anything is to be polled.
    pub(super) fn has_any(&self) -> bool {
        let has_stream = |word: &AtomicU64| word.load(Ordering::Relaxed) != 0;
        self.connection.load(Ordering::Relaxed) || self.streams.iter().any(has_stream)
    }

    /// Takes one stream that was woken.
    pub(super) fn take_stream(&self) -> Option<usize> {
        for (index, word) in self.streams.iter().enumerate() {
            let bits = word.load(Ordering::Relaxed);
            if bits != 0 {
                let bit = bits.trailing_zeros() as usize;
                word.store(bits & (bits - 1), Ordering::Relaxed);
                return Some(index * WORD_LEN + bit);
            }
        }
        None
    }

    pub(super) fn wake_stream(&self, index: usize) {
        self.streams[index / WORD_LEN].fetch_or(1 << (index % WORD_LEN), Ordering::Relaxed);
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.connection.store(true, Ordering::Relaxed);
    }
}

struct StreamWake {
    wakes: Arc<Wakes>,
    index: usize,
}

impl Wake for StreamWake {
    fn wake(self: Arc<Self>) {
        self.wakes.wake_stream(self.index);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wakes.wake_stream(self.index);
    }
}

/// Wakes the stream of this number.
pub(super) fn stream_waker(wakes: &Arc<Wakes>, index: usize) -> Waker {
    let wakes = Arc::clone(wakes);
    Arc::new(StreamWake { wakes, index }).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wake_up_is_taken_once() {
        let wakes = Arc::new(Wakes::default());
        assert!(!wakes.has_any());
        for index in [99, 3, 64, 3] {
            stream_waker(&wakes, index).wake();
        }
        Waker::from(Arc::clone(&wakes)).wake_by_ref();
        assert!(wakes.has_any());
        let taken: Vec<usize> = std::iter::from_fn(|| wakes.take_stream()).collect();
        assert_eq!(taken, [3, 64, 99]);
        assert!(wakes.take_connection() && !wakes.take_connection());
        assert!(!wakes.has_any());
    }
}
