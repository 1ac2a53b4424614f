//! Browsers that watch the page: each receives the whole hour at once, then a document a second.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::body::Bytes;
use plimsoll_net::clock;
use plimsoll_net::lock::lock;
use plimsoll_page::events::EventBody;
use tokio::sync::{Notify, mpsc};
use tokio::time::MissedTickBehavior;

use crate::control::AdminState;
use crate::status::{Moment, Recorder};

/// Documents that may wait for a viewer: half a minute.
const QUEUE_LEN: usize = 32;
/// Viewers at the same time; there must be connections left for commands.
const VIEWERS_MAX: usize = 32;
/// Interval of snapshots.
const INTERVAL: Duration = Duration::from_secs(1);

/// The recorded hour, and who watches it.
#[derive(Debug, Default)]
pub(super) struct Viewers {
    recorder: Mutex<Recorder>,
    viewers: Mutex<Vec<Viewer>>,
}

#[derive(Debug)]
struct Viewer {
    queue: mpsc::Sender<Bytes>,
    /// Ends its connection, also one that is stuck in a write.
    hang_up: Arc<Notify>,
}

impl Viewer {
    /// Hands it a document; who does not read is let go, connects again, and then has everything.
    fn send(&self, message: &Bytes) -> bool {
        let is_sent = self.queue.try_send(message.clone()).is_ok();
        if !is_sent {
            self.hang_up.notify_one();
        }
        is_sent
    }
}

impl Viewers {
    /// Takes a snapshot each second, and hands it to all viewers.
    pub(super) async fn keep_sampling(self: Arc<Self>, state: AdminState) {
        let mut interval = tokio::time::interval(INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            interval.tick().await;
            self.sample(&state);
        }
    }

    fn sample(&self, state: &AdminState) {
        let moment = Moment {
            at: state.clock().now(),
            wall: clock::wall(),
        };
        let mut recorder = lock(&self.recorder);
        recorder.observe(moment, state.sample(), &state.surroundings());
        if recorder.wants_channels() && !lock(&self.viewers).is_empty() {
            let hub = state.hub();
            recorder.observe_channels(moment, hub.map(|hub| hub.largest()).unwrap_or_default());
        }
        // Nobody comes as long as the recorder is locked.
        if self.count() > 0 {
            self.send(&event(&recorder.change()));
        }
    }

    /// How many there are; who has left is forgotten.
    fn count(&self) -> usize {
        let mut viewers = lock(&self.viewers);
        viewers.retain(|viewer| !viewer.queue.is_closed());
        viewers.len()
    }

    /// Hands a document to all of them.
    fn send(&self, message: &Bytes) {
        lock(&self.viewers).retain(|viewer| viewer.send(message));
    }

    /// How the edge stands, as JSON; `None` within the first second.
    pub(super) fn status(&self) -> Option<String> {
        lock(&self.recorder).status()
    }

    /// A stream that begins with the whole hour; `None` if there are too many viewers.
    pub(super) fn watch(&self, hang_up: Arc<Notify>) -> Option<EventBody> {
        let (queue, receiver) = mpsc::channel(QUEUE_LEN);
        // Before the next snapshot, so that none is missing in between.
        let recorder = lock(&self.recorder);
        let mut viewers = lock(&self.viewers);
        viewers.retain(|viewer| !viewer.queue.is_closed());
        if viewers.len() >= VIEWERS_MAX || queue.try_send(event(&recorder.full())).is_err() {
            return None;
        }
        viewers.push(Viewer { queue, hang_up });
        Some(EventBody(receiver))
    }
}

/// A server-sent event.
fn event(document: &str) -> Bytes {
    Bytes::from(format!("data: {document}\n\n"))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::net::SocketAddr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http_body_util::Either;
    use hyper::Response;
    use hyper::service::service_fn;
    use tokio::io::{
        AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines,
    };
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::timeout;

    use super::*;
    use crate::admin::{AdminResponse, serve_connection};

    /// The system's buffers of a connection hold a few of these.
    const DOCUMENT_LEN: usize = 1 << 20;
    /// Documents after which a viewer that reads none must be gone.
    const DOCUMENTS_MAX: usize = 200;
    /// Longest time of the whole test.
    const PATIENCE: Duration = Duration::from_mins(2);

    /// A document that counts as long as somebody holds it.
    struct CountedDocument {
        text: Vec<u8>,
        alive: Arc<AtomicUsize>,
    }

    impl AsRef<[u8]> for CountedDocument {
        fn as_ref(&self) -> &[u8] {
            &self.text
        }
    }

    impl Drop for CountedDocument {
        fn drop(&mut self) {
            self.alive.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn document(alive: &Arc<AtomicUsize>) -> Bytes {
        alive.fetch_add(1, Ordering::Relaxed);
        let mut text = b"data: ".to_vec();
        text.resize(DOCUMENT_LEN, b'x');
        text.extend_from_slice(b"\n\n");
        Bytes::from_owner(CountedDocument {
            text,
            alive: Arc::clone(alive),
        })
    }

    /// Whoever connects is a viewer.
    async fn serve(listener: TcpListener, viewers: Arc<Viewers>) {
        while let Ok((stream, _)) = listener.accept().await {
            let viewers = Arc::clone(&viewers);
            tokio::spawn(async move {
                let hang_up = Arc::new(Notify::new());
                let stuck = Arc::clone(&hang_up);
                let service = service_fn(move |_| {
                    let events = viewers.watch(Arc::clone(&hang_up)).unwrap();
                    let response: AdminResponse = Response::new(Either::Right(events));
                    async move { Ok::<_, Infallible>(response) }
                });
                serve_connection(stream, service, &stuck).await;
            });
        }
    }

    async fn connect(address: SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = b"GET /events HTTP/1.1\r\nHost: a\r\n\r\n";
        stream.write_all(request).await.unwrap();
        stream
    }

    /// Length of the next document.
    async fn next_len(lines: &mut Lines<BufReader<TcpStream>>) -> usize {
        loop {
            let line = lines.next_line().await.unwrap();
            let line = line.expect("the stream goes on");
            if line.starts_with("data: ") {
                return line.len();
            }
        }
    }

    #[test]
    fn a_viewer_that_does_not_read_is_let_go_and_holds_nothing_up() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let test = async {
            let viewers = Arc::<Viewers>::default();
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(serve(listener, Arc::clone(&viewers)));
            let mut stuck = connect(address).await;
            // The beginning of its stream has come, and nobody takes it.
            stuck.readable().await.unwrap();
            let mut reading = BufReader::new(connect(address).await).lines();
            next_len(&mut reading).await;
            assert_eq!(viewers.count(), 2);
            let alive = Arc::<AtomicUsize>::default();
            let (mut sent, mut most) = (0, 0);
            while viewers.count() > 1 {
                assert!(sent < DOCUMENTS_MAX, "{sent} documents wait for it");
                viewers.send(&document(&alive));
                sent += 1;
                // The other one has it at once.
                assert_eq!(next_len(&mut reading).await, DOCUMENT_LEN);
                most = most.max(alive.load(Ordering::Relaxed));
            }
            // Those of its queue, and of the writes that go on.
            assert!(most <= QUEUE_LEN + 4, "{most} documents at once");
            let mut rest = Vec::new();
            // It ends, cut off or not.
            let _ = stuck.read_to_end(&mut rest).await;
            assert!(
                rest.len() < (sent - QUEUE_LEN) * DOCUMENT_LEN,
                "{} bytes of {sent} documents",
                rest.len()
            );
            let left = alive.load(Ordering::Relaxed);
            assert!(left <= 2, "{left} documents are left");
        };
        runtime.block_on(async { timeout(PATIENCE, test).await.unwrap() });
    }
}
