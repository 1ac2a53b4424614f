//! A link with a known delay: forwarded connections whose data arrives late.
//!
//! For kernels without netem, and for several delays on one machine. Losses and bandwidth limits are not
//! simulated: the round-trip time is what distinguishes topologies.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, sleep_until};

/// Most bytes of one piece on its way.
const PIECE_LEN: usize = 16 << 10;
/// Most pieces in transit in one direction: beyond it the sender waits, as on a long pipe.
const PIECES_MAX: usize = 256;

/// A link: its listener, its destination, and its round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedLink {
    /// The listening address.
    pub listen: SocketAddr,
    /// The destination.
    pub to: SocketAddr,
    /// The round-trip time.
    pub round_trip: Duration,
}

impl DelayedLink {
    /// Reads `LISTEN=TO@MILLISECONDS`, such as `127.0.0.1:7000=127.0.0.1:6379@77`.
    ///
    /// # Errors
    /// A sentence that names the form.
    pub fn read(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is no link: write LISTEN=TO@MILLISECONDS, such as 127.0.0.1:7000=127.0.0.1:6379@77"
            )
        };
        let (listen, rest) = text.split_once('=').ok_or_else(wrong)?;
        let (to, delay) = rest.split_once('@').ok_or_else(wrong)?;
        Ok(Self {
            listen: listen.parse().map_err(|_| wrong())?,
            to: to.parse().map_err(|_| wrong())?,
            round_trip: Duration::from_millis(delay.parse().map_err(|_| wrong())?),
        })
    }

    /// Binds the listener.
    ///
    /// # Errors
    /// When the address is in use.
    pub async fn open(self) -> io::Result<OpenLink> {
        Ok(OpenLink {
            listener: TcpListener::bind(self.listen).await?,
            link: self,
        })
    }
}

/// A bound link.
#[derive(Debug)]
pub struct OpenLink {
    listener: TcpListener,
    link: DelayedLink,
}

impl OpenLink {
    /// Its address.
    ///
    /// # Errors
    /// When the socket is gone.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Forwards until the runtime ends.
    pub async fn forward(self) {
        loop {
            // Without descriptors nothing can be accepted; ending connections free some.
            match self.listener.accept().await {
                Ok((near, _)) => {
                    tokio::spawn(join(near, self.link));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }
}

/// One connection. On a real link the first byte waits for the handshake, which takes a round trip; here the near side
/// is connected at once, so its first bytes are delayed for that, too.
async fn join(near: TcpStream, link: DelayedLink) {
    let begin = Instant::now() + link.round_trip;
    let one_way = link.round_trip / 2;
    sleep_until(begin - one_way).await;
    let Ok(far) = TcpStream::connect(link.to).await else {
        return;
    };
    // Small writes must not be delayed: the delay is ours alone.
    let _ = near.set_nodelay(true);
    let _ = far.set_nodelay(true);
    let (near_read, near_write) = near.into_split();
    let (far_read, far_write) = far.into_split();
    for (from, to, not_before) in [
        (near_read, far_write, begin),
        (far_read, near_write, Instant::now()),
    ] {
        let (sender, receiver) = channel(PIECES_MAX);
        tokio::spawn(take(from, sender, one_way, not_before));
        tokio::spawn(bring(to, receiver));
    }
}

/// Reads, and assigns each piece its arrival time.
async fn take(
    mut from: OwnedReadHalf,
    sender: Sender<(Instant, Vec<u8>)>,
    one_way: Duration,
    not_before: Instant,
) {
    let mut buffer = vec![0; PIECE_LEN];
    // The end is transmitted like data: as an empty piece.
    while let Ok(count) = from.read(&mut buffer).await {
        let at = Instant::now().max(not_before) + one_way;
        if sender.send((at, buffer[..count].to_vec())).await.is_err() || count == 0 {
            break;
        }
    }
}

async fn bring(mut to: OwnedWriteHalf, mut pieces: Receiver<(Instant, Vec<u8>)>) {
    while let Some((at, piece)) = pieces.recv().await {
        sleep_until(at).await;
        if piece.is_empty() || to.write_all(&piece).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::Shutdown;

    use super::*;

    const ROUND_TRIP: Duration = Duration::from_millis(80);

    /// An echo server that ends when its client does, behind a link; returns the link's address.
    fn echo() -> SocketAddr {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let to = server.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in server.incoming().flatten() {
                std::thread::spawn(move || {
                    let mut reader = stream.try_clone().unwrap();
                    let _ = io::copy(&mut reader, &mut &stream);
                    let _ = stream.shutdown(Shutdown::Write);
                });
            }
        });
        let (sender, address) = std::sync::mpsc::sync_channel(1);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let link = DelayedLink {
                    listen: "127.0.0.1:0".parse().unwrap(),
                    to,
                    round_trip: ROUND_TRIP,
                };
                let open = link.open().await.unwrap();
                sender.send(open.address().unwrap()).unwrap();
                open.forward().await;
            });
        });
        address.recv().unwrap()
    }

    #[test]
    fn what_is_said_takes_a_round_trip_and_the_first_word_two() {
        let mut stream = std::net::TcpStream::connect(echo()).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut received = [0; 4];
        let mut timed_echo = |stream: &mut std::net::TcpStream| {
            let begin = Instant::now();
            stream.write_all(b"word").unwrap();
            stream.read_exact(&mut received).unwrap();
            assert_eq!(&received, b"word");
            begin.elapsed()
        };
        // A timer never fires early by more than its tick, a millisecond.
        let tick = Duration::from_millis(2);
        assert!(timed_echo(&mut stream) + tick >= ROUND_TRIP * 2);
        assert!(timed_echo(&mut stream) + tick >= ROUND_TRIP);
    }

    #[test]
    fn everything_arrives_in_order_and_so_does_the_end() {
        let stream = std::net::TcpStream::connect(echo()).unwrap();
        let sent: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
        let received = std::thread::scope(|scope| {
            scope.spawn(|| {
                (&stream).write_all(&sent).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
            });
            let mut buffer = Vec::new();
            (&stream).read_to_end(&mut buffer).unwrap();
            buffer
        });
        assert!(
            received == sent,
            "{} of {} bytes",
            received.len(),
            sent.len()
        );
    }

    #[test]
    fn links_are_read() {
        let link = DelayedLink::read("127.0.0.1:7000=127.0.0.1:6379@77").unwrap();
        assert_eq!(link.listen.port(), 7_000);
        assert_eq!(link.to.port(), 6_379);
        assert_eq!(link.round_trip, Duration::from_millis(77));
        for wrong in ["", "127.0.0.1:1", "127.0.0.1:1=127.0.0.1:2", "a=b@c"] {
            assert!(
                DelayedLink::read(wrong).unwrap_err().contains("LISTEN=TO@"),
                "{wrong}"
            );
        }
    }
}
